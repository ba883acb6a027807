/// What is known of an actor whose messages are lambdas, before it becomes a class.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <string>
#include <string_view>
#include <vector>

namespace shunt::translate::class_form {

/// Why an actor stays as it is. Thrown where one reason is enough.
struct refusal {
  clang::SourceLocation at;
  std::string text;  ///< as finding::text
};

/// A lambda that handles a message or a reply.
struct handler {
  const clang::LambdaExpr* lambda = nullptr;
  std::vector<const clang::ParmVarDecl*> parts;  ///< one for each part; null: it takes none, or does not name it
  const clang::ParmVarDecl* extra = nullptr;     ///< the payload, or the reply; null if it does not take one
  const clang::ParmVarDecl* here = nullptr;
  bool uses_from = false;  ///< calls here.from()
};

enum class message_kind { one_way, payload, ask };

/// A send or an ask: a mailbox of the class.
struct message {
  message_kind kind = message_kind::one_way;
  const clang::CallExpr* call = nullptr;
  const clang::LambdaExpr* within = nullptr;  ///< the handler that sends it; null: the program
  unsigned old_mailbox = 0;
  unsigned mailbox = 0;  ///< of the class
  handler first;         ///< of the message
  handler reply;         ///< asks only
};

/// A call of `here` that does not send: "index", "count", "from".
struct here_call {
  const clang::CallExpr* call;
  std::string_view name;
  const clang::LambdaExpr* of;  ///< the handler that was given `here`
};

/// A local variable that is an actor.
struct actor {
  const clang::VarDecl* variable = nullptr;
  const clang::DeclStmt* statement = nullptr;
  const clang::CompoundStmt* scope = nullptr;  ///< the block of the statement
  const clang::NamedDecl* outer = nullptr;     ///< the function in which it is, or a variable at namespace scope

  unsigned mailboxes = 1;
  std::vector<clang::QualType> parts;
  std::vector<const clang::Expr*> symmetrics;  ///< the symmetric objects, as many as parts
  const clang::Expr* me = nullptr;             ///< where there are no parts
  const clang::Expr* order = nullptr;          ///< a mailbox_order, if one is given
  std::string qualifier;                       ///< "pgas::", as the declaration spells it

  std::vector<message> messages;
  std::vector<here_call> here_calls;
  std::vector<const clang::CallExpr*> dones;
  std::vector<const clang::CallExpr*> finishes;  ///< finish() and quiesce()
  std::vector<const clang::CallExpr*> endings;
  std::vector<refusal> refusals;
};

}  // namespace shunt::translate::class_form
