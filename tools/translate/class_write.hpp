/// An actor's class, and its program's calls, as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "class_plan.hpp"
#include "class_text.hpp"

namespace shunt::translate::class_form {

/// What of the file becomes what.
using changes = std::vector<std::pair<byte_range, std::string>>;

/// \param finish_at_end  whether the actor's scope has to end with a finish()
/// \throws refusal
[[nodiscard]] changes written(const source& s, const plan& p, bool finish_at_end);

}  // namespace shunt::translate::class_form
