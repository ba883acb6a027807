/// Finds the actors of a file whose messages are lambdas, and every use of them.
#pragma once

#include <map>
#include <vector>

#include "class_actor.hpp"
#include "source.hpp"

namespace shunt::translate::class_form {

/// All that a file has.
struct found_actors {
  std::vector<actor> actors;    ///< in the order of the file
  std::vector<refusal> others;  ///< actors that are no local variables
};

[[nodiscard]] found_actors find_actors(const source& s);

/// Lambdas and calls as templates make them of the ones that are written. A generic lambda is a template, too.
class instances {
 public:
  explicit instances(const source& s);
  /// What has been made of a lambda, itself included; by the place where it is written.
  [[nodiscard]] const std::vector<const clang::LambdaExpr*>& of(const clang::LambdaExpr* l) const;
  [[nodiscard]] const std::vector<const clang::CallExpr*>& of(const clang::CallExpr* c) const;

 private:
  class visitor;
  std::map<unsigned, std::vector<const clang::LambdaExpr*>> lambdas_;
  std::map<unsigned, std::vector<const clang::CallExpr*>> calls_;
};

}  // namespace shunt::translate::class_form
