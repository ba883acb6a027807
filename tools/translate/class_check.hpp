/// Whether handlers mean the same outside of their function, in a class.
#pragma once

#include <set>
#include <string>

#include "class_actor.hpp"
#include "source.hpp"

namespace shunt::translate::class_form {

/// The names that a class has from pgas::selector: they hide those of the namespaces. Empty if the file does not know
/// that template.
[[nodiscard]] std::set<std::string> names_of_selector(const source& s);

/// The names that a lambda declares: parameters, captures, variables in it.
[[nodiscard]] std::set<std::string> declared_in(const clang::LambdaExpr* l);

/// \param hidden  names that mean something else in the class
/// \throws refusal for a handler that uses what only its function knows, or has no class form
void check_handler(const source& s, const actor& a, const handler& h, const std::set<std::string>& hidden);

/// \throws refusal for a function before which no class can stand
void check_place(const source& s, const actor& a);

}  // namespace shunt::translate::class_form
