/// What the rules of `shunt-translate check` look at: the functions of the user's files, the calls in them that send,
/// and which functions run as handlers or inside of a superstep.
///
/// Templates are looked at as the program uses them: every instance is a function of its own, the template itself is
/// none. So a template that nothing uses is not checked.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "finding.hpp"

namespace shunt::translate {

class source;

namespace checks {

/// "pgas::pe::barrier": the name of a function, class or variable of the library's; "" for others.
[[nodiscard]] std::string library_name(const clang::NamedDecl* name);
/// The functions that a class is called by, those made of templates included; only such as have a body.
[[nodiscard]] std::vector<const clang::CXXMethodDecl*> call_operators(const clang::CXXRecordDecl* type);
/// The object of a call of a member, written as `o.f()`, `o + x` or `(*this).f()`; null for others.
[[nodiscard]] const clang::Expr* object_of(const clang::CallExpr* call);
/// A call's arguments, without the object of a member that is an operator.
[[nodiscard]] std::vector<const clang::Expr*> arguments_of(const clang::CallExpr* call);
/// Calls f(statement) for a function's statements and expressions in the order in which they stand: also for what the
/// compiler adds, not for the bodies of lambdas, not for what is not evaluated.
void each_own(const clang::Stmt* code, llvm::function_ref<void(const clang::Stmt*)> f);

/// A mailbox, 0 the first; none: its number is not known before the program runs.
using mailbox_number = std::optional<std::uint64_t>;

/// A call that sends.
struct sending {
  const clang::CallExpr* call = nullptr;
  std::string name;                      ///< "send"
  const clang::Expr* object = nullptr;   ///< an actor, a `here`, an element, a container
  const clang::Expr* work = nullptr;     ///< what runs there; null for a message that is a value
  const clang::Expr* reply = nullptr;    ///< what runs here then, if anything
  const clang::Expr* payload = nullptr;  ///< a span or a text, if any
  const clang::Expr* message = nullptr;  ///< a value, where there is no `work`
  mailbox_number mailbox;
};
/// The call, if the statement is one of the library's that sends.
[[nodiscard]] std::optional<sending> sending_of(const clang::Stmt* statement);
/// The mailbox of a call of done().
[[nodiscard]] mailbox_number mailbox_of_done(const clang::CallExpr* call, const clang::ASTContext& context);

/// Why a function must not wait, or what it may do.
enum class role { program, handler, reply, superstep };

/// A function of the user's, or a lambda's.
struct body {
  const clang::FunctionDecl* function;
  const clang::Stmt* code;
};

/// A file and what it includes, and the findings so far.
class program {
 public:
  explicit program(const translate::source& s);

  [[nodiscard]] const std::vector<body>& bodies() const noexcept { return bodies_; }
  [[nodiscard]] const std::vector<sending>& sendings() const noexcept { return sendings_; }
  [[nodiscard]] clang::ASTContext& context() const;
  [[nodiscard]] const translate::source& source() const noexcept { return source_; }
  [[nodiscard]] unsigned line(clang::SourceLocation at) const;

  /// What a function is called for.
  [[nodiscard]] role role_of(const clang::FunctionDecl* function) const;
  /// Whether a place is in a file of the user's: not of the system's, not of the library's.
  [[nodiscard]] bool is_users(clang::SourceLocation at) const;
  /// The body of a function of the user's, or null.
  [[nodiscard]] const clang::Stmt* users_body(const clang::FunctionDecl* function) const;

  /// One finding of a rule a place: instances of a template have the same places.
  void say(const char* rule, clang::SourceLocation at, std::string text);
  /// In the order of files and lines.
  [[nodiscard]] std::vector<finding> findings() const;

 private:
  void find_library();
  void sort_roles();
  void note_calls(const clang::Stmt* statement);

  const translate::source& source_;
  std::string library_;  // the folder of its headers, "/usr/include/shunt/"; "": none is included
  std::vector<body> bodies_;
  std::vector<sending> sendings_;
  std::map<const clang::CXXRecordDecl*, role> roles_;  // of classes that are called
  std::map<std::tuple<std::string, unsigned, unsigned, std::string>, finding> findings_;
};

/// The rules; each stands in a file of its own, which says what it finds, and what it cannot.
void check_captures(program& p);
void check_waits(program& p);
void check_done(program& p);
void check_reads(program& p);
void check_supersteps(program& p);

}  // namespace checks
}  // namespace shunt::translate
