/// Front of the room `stm`: transactions over shared variables, and the scheduler that knows of them.
#pragma once

#include <shunt/stm/atomically.hpp>
#include <shunt/stm/policies.hpp>
#include <shunt/stm/quiesce.hpp>
#include <shunt/stm/statistics.hpp>
#include <shunt/stm/transaction_class.hpp>
#include <shunt/stm/tvar.hpp>
#include <shunt/stm/tx.hpp>
