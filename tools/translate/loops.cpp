/// shunt-translate loops: natural loops over distributed arrays become supersteps and gathers.
///
/// A loop that changes elements keeps its text, and stands in a pgas::superstep(): each change becomes a message. A
/// loop that reads elements becomes two, with one gather() between them (inspector.hpp); where the loop only copies,
/// it becomes the gather(). Plain arrays that are marked (distributed.hpp) become pgas::array.
///
/// Calls of OpenSHMEM become messages (shmem_loops.hpp), and a program of OpenSHMEM one of Shunt (shmem_program.hpp).
///
/// What one PE's loop computes stays the same. The PEs' loops run side by side, as they did.
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <set>

#include "commands.hpp"
#include "edits.hpp"
#include "loop_plan.hpp"
#include "shmem_loops.hpp"
#include "shmem_program.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// The functions that are called inside of supersteps, by their bodies or by one another: their loops stand in one
/// already.
class called_inside final : public clang::RecursiveASTVisitor<called_inside> {
 public:
  bool VisitCallExpr(clang::CallExpr* call) {
    if (const auto* body = superstep_body(call)) add_calls_of(body->getBody());
    return true;
  }
  [[nodiscard]] bool contains(const clang::FunctionDecl* f) const { return found_.contains(f->getCanonicalDecl()); }

 private:
  void add_calls_of(const Stmt* body) {
    each_spelled(body, [this](const Stmt* part) {
      const auto* call = dyn_cast<clang::CallExpr>(part);
      const auto* f = call ? call->getDirectCallee() : nullptr;
      const clang::FunctionDecl* defined = nullptr;
      if (f && found_.insert(f->getCanonicalDecl()).second && f->hasBody(defined)) add_calls_of(defined->getBody());
      return true;
    });
  }
  std::set<const clang::FunctionDecl*> found_;
};

/// Finds the functions of a file that have a PE, and plans what their loops become.
class functions final : public clang::RecursiveASTVisitor<functions> {
 public:
  functions(const source& s, distributed_arrays& arrays, const called_inside& inside, plans& all)
      : source_(s), arrays_(arrays), inside_(inside), plans_(all) {}

  bool shouldVisitTemplateInstantiations() const { return false; }

  bool VisitFunctionDecl(clang::FunctionDecl* f) {
    const auto* method = dyn_cast<clang::CXXMethodDecl>(f);
    if (method && method->getParent()->isLambda()) return true;
    if (f->doesThisDeclarationHaveABody() && source_.is_here(f->getSourceRange()) && !inside_.contains(f))
      look_at(f->parameters(), f->getBody(), f->isDependentContext());
    return true;
  }
  /// A lambda with a PE of its own is the program of a PE: `pgas::run(options, [&](pgas::pe& me) { … })`.
  bool VisitLambdaExpr(clang::LambdaExpr* l) {
    const auto* f = l->getCallOperator();
    const bool program =
        std::ranges::any_of(f->parameters(), [](const auto* p) { return is_a(p->getType(), "pgas::pe"); });
    if (program && source_.is_here(l->getSourceRange()))
      look_at(f->parameters(), l->getBody(), f->isDependentContext());
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* v) {
    const auto* array = arrays_.of(v);
    if (array && array->plain && source_.is_here(v->getSourceRange())) plans_.declare(*array, v);
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* e) {
    const auto* array = arrays_.of(e->getDecl());
    if (array && array->plain) plans_.name(*array, e);
    return true;
  }

 private:
  void look_at(clang::ArrayRef<clang::ParmVarDecl*> parameters, const Stmt* body, bool is_template) {
    region here(source_, arrays_, plans_, body, is_template);
    for (const auto* p : parameters) here.know(p);
    here.look_at(body);
  }

  const source& source_;
  distributed_arrays& arrays_;
  const called_inside& inside_;
  plans& plans_;
};

/// Finds the functions of a file, for their calls of OpenSHMEM.
class shmem_functions final : public clang::RecursiveASTVisitor<shmem_functions> {
 public:
  shmem_functions(const source& s, shmem_loops& all) : source_(s), all_(all) {}

  bool shouldVisitTemplateInstantiations() const { return false; }

  bool VisitFunctionDecl(clang::FunctionDecl* f) {
    const auto* method = dyn_cast<clang::CXXMethodDecl>(f);
    const bool of_lambda = method && method->getParent()->isLambda();
    if (!of_lambda && f->doesThisDeclarationHaveABody() && source_.is_here(f->getSourceRange()))
      all_.look_at(f->getBody(), f->isDependentContext());
    return true;
  }
  bool VisitLambdaExpr(clang::LambdaExpr* l) {
    if (source_.is_here(l->getSourceRange())) all_.look_at(l->getBody(), l->getCallOperator()->isDependentContext());
    return true;
  }

 private:
  const source& source_;
  shmem_loops& all_;
};

/// "x.cpp", of "x.c" that becomes C++.
std::string name_as_cpp(const std::string& file) {
  return file.ends_with(".c") ? file.substr(0, file.size() - 1) + "cpp" : "";
}

}  // namespace

outcome loops(const std::string& file, const compile_options& options) {
  const source s(file, options);
  distributed_arrays arrays(s);
  plans all(s, options.reorder);
  called_inside inside;
  inside.TraverseDecl(s.context().getTranslationUnitDecl());
  functions(s, arrays, inside, all).TraverseDecl(s.context().getTranslationUnitDecl());
  edits changes;
  all.settle(changes);
  auto findings = all.findings();
  std::string name_after;
  if (uses_shmem(s)) {
    shmem_loops messages(s, options.reorder);
    shmem_functions(s, messages).TraverseDecl(s.context().getTranslationUnitDecl());
    changes.add(messages.changes());
    findings.insert(findings.end(), messages.findings().begin(), messages.findings().end());
    write_shmem_program(s, changes, findings);
    std::ranges::stable_sort(findings, {}, [](const finding& f) { return std::pair(f.line, f.column); });
    name_after = name_as_cpp(file);
  }
  return {std::move(findings), s.text(), changes.apply(s.text()), std::move(name_after)};
}

}  // namespace shunt::translate
