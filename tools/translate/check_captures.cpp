/// What travels to another PE and holds a pointer or a reference: it means nothing there.
///
/// Looked at: the captures of a lambda that is sent, the members of a function object that is, messages that are
/// values, items of a payload, and what a request answers; each with its members, their members, and so on. The second
/// function of ask() is not looked at: it runs on the PE that asked. A pointer to a function counts: processes may load
/// the program at different addresses. So do addresses of globals: name the global in the handler instead.
///
/// Not seen: an address that was turned into an integer.
#include <clang/AST/ASTContext.h>

#include "check_program.hpp"
#include "source.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

constexpr int deepest = 12;  // members of members; no plain value has more

bool is_exempt(const clang::CXXRecordDecl* type) { return library_name(type) == "pgas::local_part"; }

/// Whether a value of this type holds a pointer. \param by  becomes the member that does, "a.b"; "" is the value itself
bool points(clang::QualType type, std::string& by, int depth = 0) {
  type = type.getCanonicalType();
  if (type->isAnyPointerType() || type->isReferenceType() || type->isMemberFunctionPointerType()) return true;
  if (const auto* array = type->getAsArrayTypeUnsafe()) return points(array->getElementType(), by, depth);
  const auto* record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || is_exempt(record) || depth > deepest) return false;
  for (const auto& base : record->bases()) {
    if (points(base.getType(), by, depth + 1)) return true;
  }
  for (const auto* field : record->fields()) {
    std::string inside;
    if (!points(field->getType(), inside, depth + 1)) continue;
    by = field->getName().str() + (inside.empty() ? "" : "." + inside);
    return true;
  }
  return false;
}

constexpr const char* advice =
    "which means nothing on another PE: capture a value, an index, or the local_part of a symmetric object; text and "
    "items travel as a payload";

class captures {
 public:
  captures(program& p, const sending& s) : program_(p), sending_(s) {}

  void look() {
    if (sending_.work) look_at_function(sending_.work);
    if (sending_.payload) look_at_items(sending_.payload->getType(), sending_.payload);
    if (sending_.message) look_at_message();
  }

 private:
  void say(clang::SourceLocation at, const std::string& text) { program_.say("captures", at, text); }
  [[nodiscard]] std::string spelled(clang::QualType type) const {
    type = type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
    if (const auto* record = class_of(type); record && !record->isLambda()) return full_name(record);
    return type.getAsString(clang::PrintingPolicy(program_.context().getLangOpts()));
  }
  [[nodiscard]] std::string call() const { return sending_.name + "()"; }

  void look_at_function(const clang::Expr* work) {
    const auto* there = bare(work);
    const auto type = there->getType();
    const auto* record = class_of(type);
    std::string by;
    if (record && record->isLambda()) {
      look_at_captures(record, lambda(work) ? clang::SourceLocation() : work->getBeginLoc());
    } else if (type->isFunctionType() || points(type.getNonReferenceType(), by)) {
      say(work->getBeginLoc(), "the function of " + call() +
                                   (by.empty() ? " is given by its address, " : " holds a pointer in `" + by + "`, ") +
                                   advice);
    }
    if (sending_.name == "ask" || sending_.name == "fetch") look_at_result(record, work);
  }

  /// \param instead  the place to name, where the lambda stands elsewhere
  void look_at_captures(const clang::CXXRecordDecl* closure, clang::SourceLocation instead) {
    for (const auto& one : closure->captures()) {
      const auto at = instead.isValid() ? instead : one.getLocation();
      const auto begin = "the lambda of " + call() + " captures ";
      if (one.capturesThis()) {
        say(at,
            begin + "`this`, which means nothing on another PE: capture the members that it needs, or use its part");
      } else if (one.capturesVariable()) {
        look_at_variable(one, at, begin);
      }
    }
  }
  void look_at_variable(const clang::LambdaCapture& one, clang::SourceLocation at, const std::string& begin) {
    const auto* captured = one.getCapturedVar();
    const auto name = "`" + captured->getNameAsString() + "`";
    const auto type = captured->getType().getNonReferenceType();
    std::string by;
    if (one.getCaptureKind() == clang::LCK_ByRef) {
      say(at, begin + name + " by reference, " + advice);
    } else if (type->isAnyPointerType()) {
      say(at, begin + "the pointer " + name + ", " + advice);
    } else if (points(type, by)) {
      say(at, begin + name + ", whose type " + spelled(type) + " holds a pointer, " + advice);
    }
  }

  void look_at_items(clang::QualType span, const clang::Expr* at) {
    const auto* type = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(class_of(span));
    if (!type || type->getTemplateArgs().size() == 0) return;
    const auto& item = type->getTemplateArgs()[0];
    std::string by;
    if (item.getKind() == clang::TemplateArgument::Type && points(item.getAsType(), by)) {
      say(at->getBeginLoc(), "the payload's items of type " + spelled(item.getAsType()) +
                                 " hold a pointer, which means nothing on another PE: send values");
    }
  }

  void look_at_message() {
    const auto* callee = sending_.call->getDirectCallee();
    const unsigned which = sending_.name == "send_through" ? 2 : 1;
    if (callee->getNumParams() <= which) return;
    const auto type = callee->getParamDecl(which)->getType().getNonReferenceType();
    const auto* record = class_of(type);
    const auto name = full_name(record);
    if (name == "std::span" || name == "std::basic_string_view") return look_at_items(type, sending_.message);
    std::string by;
    if (!points(type, by)) return;
    say(sending_.message->getBeginLoc(), "the message of " + call() + " has the type " + spelled(type) +
                                             ", which holds a pointer, and that means nothing on another PE: send a "
                                             "value or an index");
  }

  void look_at_result(const clang::CXXRecordDecl* function, const clang::Expr* work) {
    for (const auto* f : call_operators(function)) {
      const auto type = f->getReturnType().getNonReferenceType();
      std::string by;
      if (!points(type, by)) continue;
      say(work->getBeginLoc(), "the answer to " + call() + " has the type " + spelled(type) +
                                   ", which holds a pointer of the PE that answers: return a value");
    }
  }

  program& program_;
  const sending& sending_;
};

}  // namespace

void check_captures(program& p) {
  for (const auto& s : p.sendings()) captures(p, s).look();
}

}  // namespace shunt::translate::checks
