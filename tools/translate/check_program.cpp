#include "check_program.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <array>
#include <cstdint>

#include "source.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

constexpr std::string_view ours = "shunt::";

/// Where the functions of a sending call stand among its parameters, -1 for none.
struct shape {
  std::string_view name;
  unsigned parameters;  ///< 0: any number
  int work, reply, payload, message;
};
constexpr auto shapes = std::to_array<shape>({
    {"pgas::selector_of::send", 3, 1, -1, -1, -1},
    {"pgas::selector_of::send", 4, 2, -1, 1, -1},
    {"pgas::selector_of::send_through", 0, 2, -1, -1, -1},
    {"pgas::selector_of::ask", 0, 1, 2, -1, -1},
    {"pgas::selector_of::fetch", 0, 1, -1, -1, -1},
    {"pgas::here_of::send", 3, 1, -1, -1, -1},
    {"pgas::here_of::send", 4, 2, -1, 1, -1},
    {"pgas::here_of::send_through", 0, 2, -1, -1, -1},
    {"pgas::selector::send", 4, -1, -1, 2, -1},  // what stands in front of the items has their type
    {"pgas::selector::send", 0, -1, -1, -1, 1},
    {"pgas::selector::send_through", 0, -1, -1, -1, 2},
    {"pgas::selector::ask", 0, -1, -1, -1, 1},
    {"pgas::element_changes::update", 0, 0, -1, -1, -1},
    {"pgas::map::visit", 0, 1, -1, -1, -1},
    {"pgas::map::visit_if_present", 0, 1, -1, -1, -1},
    {"pgas::multimap::visit", 0, 1, -1, -1, -1},
    {"pgas::multimap::visit_if_present", 0, 1, -1, -1, -1},
});

mailbox_number first_template_number(const clang::FunctionDecl* f) {
  const auto* arguments = f->getTemplateSpecializationArgs();
  if (!arguments || arguments->size() == 0) return {};
  const auto& first = arguments->get(0);
  if (first.getKind() != clang::TemplateArgument::Integral) return {};
  return first.getAsIntegral().getZExtValue();
}

mailbox_number constant(const clang::Expr* e, const clang::ASTContext& context) {
  clang::Expr::EvalResult value;
  if (!e || e->isValueDependent() || !e->EvaluateAsInt(value, context)) return {};
  return value.Val.getInt().getZExtValue();
}

/// All functions with bodies, those of lambdas and instances of templates included.
class functions final : public clang::RecursiveASTVisitor<functions> {
 public:
  functions(const program& p, std::vector<body>& into) : program_(p), into_(into) {}
  // Instances are what is checked. Closure types are implicit, and so are the functions made of generic lambdas.
  [[nodiscard]] static bool shouldVisitTemplateInstantiations() { return true; }
  [[nodiscard]] static bool shouldVisitImplicitCode() { return true; }

  bool TraverseDecl(clang::Decl* d) {
    const bool ours_or_systems = d && !llvm::isa<clang::TranslationUnitDecl>(d) && !program_.is_users(d->getLocation());
    return ours_or_systems || RecursiveASTVisitor::TraverseDecl(d);
  }
  bool VisitFunctionDecl(clang::FunctionDecl* f) {
    if (f->doesThisDeclarationHaveABody() && !f->isDependentContext()) into_.push_back({f, f->getBody()});
    return true;
  }

 private:
  const program& program_;
  std::vector<body>& into_;
};

}  // namespace

std::string library_name(const clang::NamedDecl* name) {
  auto full = full_name(name);
  return full.starts_with(ours) ? full.substr(ours.size()) : std::string();
}

std::vector<const clang::CXXMethodDecl*> call_operators(const clang::CXXRecordDecl* type) {
  std::vector<const clang::CXXMethodDecl*> all;
  if (!type || !type->hasDefinition()) return all;
  const auto keep = [&all](const clang::FunctionDecl* f) {
    const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(f);
    if (method && method->hasBody() && !method->isDependentContext()) all.push_back(method);
  };
  for (const auto* d : type->decls()) {
    const auto* named = llvm::dyn_cast<clang::NamedDecl>(d);
    if (!named || named->getDeclName().getCXXOverloadedOperator() != clang::OO_Call) continue;
    if (const auto* several = llvm::dyn_cast<clang::FunctionTemplateDecl>(named)) {
      for (const auto* f : several->specializations()) keep(f);
    } else if (const auto* f = llvm::dyn_cast<clang::FunctionDecl>(named)) {
      keep(f);
    }
  }
  return all;
}

const clang::Expr* object_of(const clang::CallExpr* call) {
  if (const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(call)) return member->getImplicitObjectArgument();
  if (llvm::isa<clang::CXXOperatorCallExpr>(call) &&
      llvm::isa_and_nonnull<clang::CXXMethodDecl>(call->getDirectCallee()))
    return call->getNumArgs() == 0 ? nullptr : call->getArg(0);
  return nullptr;
}

std::vector<const clang::Expr*> arguments_of(const clang::CallExpr* call) {
  const bool object_first = llvm::isa<clang::CXXOperatorCallExpr>(call) && object_of(call);
  return {call->arg_begin() + (object_first ? 1 : 0), call->arg_end()};
}

void each_own(const clang::Stmt* code, llvm::function_ref<void(const clang::Stmt*)> f) {
  if (!code || llvm::isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr>(code)) return;
  f(code);
  if (const auto* made = llvm::dyn_cast<clang::LambdaExpr>(code)) {
    for (const auto* captured : made->capture_inits()) each_own(captured, f);
    return;
  }
  for (const auto* part : code->children()) each_own(part, f);
}

std::optional<sending> sending_of(const clang::Stmt* statement) {
  const auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(statement);
  const auto* callee = call ? llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee()) : nullptr;
  if (!callee) return {};
  const auto name = library_name(callee);
  if (name.empty()) return {};
  for (const auto& s : shapes) {
    if (s.name != name || (s.parameters != 0 && s.parameters != callee->getNumParams())) continue;
    const auto all = arguments_of(call);
    const auto argument = [&all](int i) {
      return i < 0 || static_cast<std::size_t>(i) >= all.size() ? nullptr : all[i];
    };
    sending found{call,
                  name.substr(name.rfind(':') + 1),
                  object_of(call),
                  argument(s.work),
                  argument(s.reply),
                  argument(s.payload),
                  argument(s.message),
                  first_template_number(callee)};
    if (name.ends_with("send_through")) found.mailbox = constant(argument(0), callee->getASTContext());
    return found;
  }
  return {};
}

mailbox_number mailbox_of_done(const clang::CallExpr* call, const clang::ASTContext& context) {
  const auto all = arguments_of(call);
  if (const auto said = first_template_number(call->getDirectCallee())) return said;
  return all.empty() ? mailbox_number() : constant(all[0], context);
}

program::program(const translate::source& s) : source_(s) {
  find_library();
  functions(*this, bodies_).TraverseDecl(context().getTranslationUnitDecl());
  sort_roles();
}

clang::ASTContext& program::context() const { return source_.context(); }

unsigned program::line(clang::SourceLocation at) const {
  return source_.manager().getPresumedLineNumber(source_.manager().getExpansionLoc(at));
}

void program::find_library() {
  constexpr llvm::StringRef inside = "/shunt/base/";  // which every module includes
  const auto& manager = source_.manager();
  for (auto f = manager.fileinfo_begin(); f != manager.fileinfo_end(); ++f) {
    const auto name = f->first.getName();
    if (const auto at = name.find(inside); at != llvm::StringRef::npos) {
      library_ = name.substr(0, at + llvm::StringRef("/shunt/").size()).str();
      return;
    }
  }
}

bool program::is_users(clang::SourceLocation at) const {
  const auto& manager = source_.manager();
  at = manager.getFileLoc(at);
  if (at.isInvalid() || manager.isInSystemHeader(at)) return false;
  if (manager.isWrittenInMainFile(at)) return true;
  const auto file = manager.getFilename(at);
  return !file.empty() && (library_.empty() || !file.starts_with(library_));
}

const clang::Stmt* program::users_body(const clang::FunctionDecl* function) const {
  const clang::FunctionDecl* defined = nullptr;
  if (!function || !function->hasBody(defined) || !is_users(defined->getLocation())) return nullptr;
  return defined->isDependentContext() ? nullptr : defined->getBody();
}

void program::note_calls(const clang::Stmt* statement) {
  const auto note = [this](const clang::Expr* e, role what) {
    // Of a function that is sent and called elsewhere too, the stricter role.
    if (const auto* type = e ? class_of(bare(e)->getType()) : nullptr) {
      auto& known = roles_.try_emplace(type, what).first->second;
      if (what == role::handler) known = what;
    }
  };
  if (auto s = sending_of(statement)) {
    note(s->work, role::handler);
    note(s->reply, role::reply);
    sendings_.push_back(std::move(*s));
    return;
  }
  const auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  if (!call || !call->getDirectCallee()) return;
  const auto name = library_name(call->getDirectCallee());
  if (name == "pgas::superstep" && call->getNumArgs() > 1) note(call->getArg(1), role::superstep);
  if (name == "pgas::bag::drain" && call->getNumArgs() > 0) note(call->getArg(0), role::superstep);
}

void program::sort_roles() {
  for (const auto& b : bodies_) {
    each_own(b.code, [this](const clang::Stmt* s) { note_calls(s); });
  }
}

role program::role_of(const clang::FunctionDecl* function) const {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
  if (!method) return role::program;
  if (method->getOverloadedOperator() == clang::OO_Call) {
    const auto at = roles_.find(method->getParent());
    return at == roles_.end() ? role::program : at->second;
  }
  const auto* name = method->getIdentifier();
  if (!name || !is_a(method->getParent(), "pgas::selector")) return role::program;
  if (name->isStr("process")) return role::handler;
  return name->isStr("replied") ? role::reply : role::program;
}

void program::say(const char* rule, clang::SourceLocation at, std::string text) {
  auto f = source_.say(at, std::move(text));
  findings_.try_emplace({f.file, f.line, f.column, rule}, f);
}

std::vector<finding> program::findings() const {
  std::vector<finding> all;
  for (const auto& [at, f] : findings_) all.push_back(f);
  return all;
}

}  // namespace shunt::translate::checks
