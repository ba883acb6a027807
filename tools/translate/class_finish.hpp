/// Where an actor's scope ends with messages that no finish() waited for. The lambda form's destructor finishes; that
/// of a class fails the job.
#pragma once

#include "class_actor.hpp"

namespace shunt::translate::class_form {

/// \return whether finish() has to be called at the end of the actor's scope
/// \throws refusal if it would have to be called elsewhere, before a return, break or goto
[[nodiscard]] bool ends_unfinished(const actor& a);

}  // namespace shunt::translate::class_form
