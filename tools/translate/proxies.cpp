/// shunt-translate proxies: for each interface of a header the proxy that makes calls of actors look like calls.
///
/// An interface is a class with a pure virtual function. A method that returns nothing becomes a message (tell), one
/// with a result a question (ask), whose answer is a future: see shunt/actor/proxy.hpp.
#include <clang/AST/QualTypeNames.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <filesystem>

#include "commands.hpp"
#include "source.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// Writes the proxies of one file.
class writer final : public clang::RecursiveASTVisitor<writer> {
 public:
  explicit writer(const source& s) : source_(s), policy_(s.context().getLangOpts()) {
    policy_.SuppressTagKeyword = true;
    policy_.FullyQualifiedName = true;
  }

  bool VisitCXXRecordDecl(clang::CXXRecordDecl* r) {
    if (!r->isThisDeclarationADefinition() || !source_.is_here(r->getSourceRange()) || r->isLambda()) return true;
    const auto all = methods_of(r);
    if (std::ranges::none_of(all, [](const auto* m) { return m->isPureVirtual(); })) return true;
    if (const auto why = no_interface(r); !why.empty()) {
      findings_.push_back(source_.say(r->getLocation(), why));
    } else {
      write(r, all);
    }
    return true;
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<finding>& findings() const noexcept { return findings_; }

 private:
  static std::string no_interface(const clang::CXXRecordDecl* r) {
    const auto name = '`' + r->getNameAsString() + "` ";
    if (r->isDependentContext()) return name + "is a template: a proxy is of one class";
    if (r->getName().empty() || r->isInAnonymousNamespace())
      return name + "has no name outside of its file: put the interface into a named namespace";
    if (r->getParentFunctionOrMethod()) return name + "is local to a function: put it outside";
    return {};
  }

  /// Virtual functions, those of base classes too: each once, as the class has it.
  std::vector<const clang::CXXMethodDecl*> methods_of(const clang::CXXRecordDecl* r) const {
    std::vector<const clang::CXXMethodDecl*> all;
    for (const auto& base : r->bases()) {
      const auto* of = base.getType()->getAsCXXRecordDecl();
      if (of && of->hasDefinition() && base.getAccessSpecifier() == clang::AS_public) {
        const auto inherited = methods_of(of->getDefinition());
        all.insert(all.end(), inherited.begin(), inherited.end());
      }
    }
    for (const auto* m : r->methods()) {
      if (!m->isVirtual() || llvm::isa<clang::CXXDestructorDecl>(m)) continue;
      std::erase_if(all, [m](const clang::CXXMethodDecl* o) { return llvm::is_contained(m->overridden_methods(), o); });
      all.push_back(m);
    }
    return all;
  }

  void write(const clang::CXXRecordDecl* r, const std::vector<const clang::CXXMethodDecl*>& all) {
    const auto name = type_name(source_.context().getRecordType(r));
    std::string body;
    for (const auto* m : all) {
      if (const auto why = no_message(m); !why.empty()) {
        findings_.push_back(source_.say(m->getLocation(), why));
        return;
      }
      const bool overloaded =
          std::ranges::count_if(all, [m](const auto* o) { return o->getDeclName() == m->getDeclName(); }) > 1;
      body += method(m, name, overloaded);
    }
    text_ += "\n/// Calls of an actor behind the interface " + name + ".\ntemplate <>\nstruct shunt::actor::proxy<" +
             name + "> : shunt::proxy_of<" + name + "> {\n  using proxy_of::proxy_of;\n" + body + "};\n";
  }

  static std::string no_message(const clang::CXXMethodDecl* m) {
    const auto name = '`' + m->getNameAsString() + "` ";
    if (m->getAccess() != clang::AS_public) return name + "is not public: an actor cannot be sent it";
    if (m->getReturnType()->isReferenceType())
      return name + "returns a reference: an answer is a value, of another time than the call";
    if (!m->getDeclName().isIdentifier()) return name + "is an operator: give it a name";
    if (m->isVariadic()) return name + "takes any number of arguments: a message has a fixed number";
    return {};
  }

  std::string method(const clang::CXXMethodDecl* m, const std::string& interface, bool overloaded) {
    std::string parameters, arguments, types;
    unsigned number = 0;
    for (const auto* p : m->parameters()) {
      const auto name = p->getName().empty() ? "argument" + std::to_string(++number) : p->getNameAsString();
      const auto type = p->getType();
      const auto* before = parameters.empty() ? "" : ", ";
      types += before + type_name(type);
      parameters += before + type_name(type) + ' ' + name;
      if (p->hasDefaultArg() && !p->hasUninstantiatedDefaultArg() && source_.is_here(p->getDefaultArgRange()))
        parameters += " = " + source_.letters(p->getDefaultArgRange());
      const bool moves = !type->isLValueReferenceType() && !type->isScalarType();
      arguments += before + (moves ? "std::move(" + name + ')' : name);
    }
    const auto plain = "&" + interface + "::" + m->getNameAsString();
    const auto result = type_name(m->getReturnType());
    const auto which = overloaded ? "static_cast<" + result + " (" + interface + "::*)(" + types + ")" +
                                        (m->isConst() ? " const" : "") + ">(" + plain + ")"
                                  : plain;
    const bool answers = !m->getReturnType()->isVoidType();
    const auto head = "  " + (answers ? "[[nodiscard]] shunt::future<" + result + "> " : std::string("void ")) +
                      m->getNameAsString() + '(' + parameters + ") const {";
    const auto call = (answers ? "return ask<" : "tell<") + which + ">(" + arguments + ");";
    if (head.size() + call.size() + 3 <= 120) return head + ' ' + call + " }\n";
    if (call.size() > 114) {  // a cast between overloads
      const auto at = call.find(">(&") + 1;
      return head + "\n    " + call.substr(0, at) + "\n        " + call.substr(at) + "\n  }\n";
    }
    return head + "\n    " + call + "\n  }\n";
  }

  /// With all namespaces, and no blank before & and *.
  std::string type_name(clang::QualType type) const {
    auto name = clang::TypeName::getFullyQualifiedName(type, source_.context(), policy_);
    const auto end = name.find_last_not_of("&*");
    if (end != std::string::npos && end + 1 < name.size() && name[end] == ' ') name.erase(end, 1);
    return name;
  }

  const source& source_;
  clang::PrintingPolicy policy_;
  std::string text_;
  std::vector<finding> findings_;
};

}  // namespace

outcome proxies(const std::string& file, const compile_options& options) {
  namespace fs = std::filesystem;
  const source s(file, options);
  writer w(s);
  w.TraverseDecl(s.context().getTranslationUnitDecl());
  const auto name = options.out_folder.empty() ? fs::path(file).filename()
                                               : fs::absolute(file).lexically_relative(options.out_folder);
  std::string header = "/// Calls of actors behind the interfaces of " + name.filename().string() +
                       ". Written by shunt-translate proxies.\n#pragma once\n\n#include <shunt/actor.hpp>\n#include "
                       "<utility>\n\n#include \"" +
                       name.string() + "\"\n";
  auto findings = w.findings();
  if (w.text().empty() && findings.empty())
    findings.push_back({file, 1, 1, "the file has no interface: no class with a pure virtual function"});
  return {std::move(findings), s.text(), header + w.text()};
}

}  // namespace shunt::translate
