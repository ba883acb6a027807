/// What the code in the comments of module stm takes for granted: see tools/snippets.py.
#pragma once

#include <shunt/stm.hpp>

namespace examples::stm_transaction_class {
extern shunt::tvar<int> mine;
}  // namespace examples::stm_transaction_class
