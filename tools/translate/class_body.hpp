/// The class as text: its messages, and its functions process() and replied().
#pragma once

#include <string>

#include "class_pieces.hpp"
#include "class_plan.hpp"

namespace shunt::translate::class_form {

/// How a handler calls a member of its class: `send`, or `this->send` where it has a `send` of its own.
[[nodiscard]] std::string own(const handler& h, const std::string& member);
/// What a handler calls the PE that sent its message.
[[nodiscard]] std::string sender_in(const source& s, const handler& h);

/// The structs and the class, each line ended.
/// \param inner  knows what becomes of the handlers' letters
[[nodiscard]] std::string class_text(const source& s, const plan& p, const pieces& inner);

}  // namespace shunt::translate::class_form
