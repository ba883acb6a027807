/// What a superstep forbids: reads inside of it, and changes outside of any.
///
/// Inside, the job ends with an error where an element of any distributed object is read, and where a gather(),
/// scatter(), find() or another superstep begins. What a PE reads of its own part, by local(), own(), sum() and the
/// like, is right in a superstep that changes other objects, and wrong in one that changes this object, since changes
/// arrive meanwhile: the second is found. Bodies are lambdas that superstep() or bag::drain() is given, with the
/// lambdas in them. Functions that they call are looked into for what ends the job (check_reasons.hpp), not for reads
/// of the PE's own part, which may be of another object.
///
/// Outside, a change is found if the same function has made the object, as a local variable, and the change stands in
/// no lambda: no superstep can surround it then.
#include <clang/AST/ASTContext.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "check_program.hpp"
#include "check_reasons.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

using names = std::string_view;

/// Ends the job in a superstep, whatever the superstep changes.
constexpr auto refused = std::to_array<names>({
    "pgas::array::gather",
    "pgas::array::scatter",
    "pgas::gather",
    "pgas::scatter",
    "pgas::operator|",
    "pgas::superstep",
    "pgas::map::find",
    "pgas::map::gather",
    "pgas::set::contains",
    "pgas::bag::drain",
    "pgas::sparse_matrix::multiply",
    "pgas::sparse_matrix::transpose",
    "pgas::sparse_matrix::permute",
    "pgas::disjoint_sets::flatten",
});

/// Reads what this PE has of the object, at once.
constexpr auto own_reads = std::to_array<names>({
    "pgas::array::local",
    "pgas::array::own",
    "pgas::array::sum",
    "pgas::map::local",
    "pgas::map::find_local",
    "pgas::map::size",
    "pgas::multimap::local",
    "pgas::multimap::find_local",
    "pgas::multimap::keys",
    "pgas::multimap::size",
    "pgas::set::local",
    "pgas::set::contains_local",
    "pgas::set::size",
    "pgas::counting_set::local",
    "pgas::counting_set::count_local",
    "pgas::counting_set::size",
    "pgas::counting_set::total",
    "pgas::bag::local",
    "pgas::bag::size",
    "pgas::sparse_matrix::row",
    "pgas::sparse_matrix::each_entry",
    "pgas::sparse_matrix::entries",
    "pgas::disjoint_sets::local",
    "pgas::disjoint_sets::own",
    "pgas::disjoint_sets::count",
});

/// Changes an object; beside the operators of its elements.
constexpr auto changes = std::to_array<names>({
    "pgas::map::visit",
    "pgas::map::visit_if_present",
    "pgas::map::insert",
    "pgas::map::insert_or_assign",
    "pgas::map::erase",
    "pgas::multimap::insert",
    "pgas::multimap::visit",
    "pgas::multimap::visit_if_present",
    "pgas::multimap::erase",
    "pgas::set::insert",
    "pgas::set::erase",
    "pgas::counting_set::insert",
    "pgas::bag::insert",
    "pgas::sparse_matrix::add",
    "pgas::disjoint_sets::unite",
});

template <std::size_t N>
bool is_one_of(const std::array<names, N>& all, names name) {
  return std::ranges::find(all, name) != all.end();
}

/// The variable or member that an expression names, by its own name, a local reference or a structured binding.
const clang::ValueDecl* named(const clang::Expr* e) {
  if (!e) return nullptr;
  if (const auto* v = variable(e)) {
    const auto* made = referred_to(v);
    const auto* what = made && variable(made) != v ? named(made) : nullptr;
    return what ? what : v;
  }
  if (const auto* name = llvm::dyn_cast_or_null<clang::DeclRefExpr>(bare(e))) {
    const auto* bound = llvm::dyn_cast<clang::BindingDecl>(name->getDecl());
    return bound ? named(bound->getBinding()) : nullptr;
  }
  const auto* member = llvm::dyn_cast_or_null<clang::MemberExpr>(bare(e));
  return member ? member->getMemberDecl() : nullptr;
}

/// The object that a call changes; null for a call that changes none, or one without a name.
const clang::ValueDecl* changed_by(const clang::CallExpr* call) {
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
  if (!method) return nullptr;
  if (library_name(method->getParent()) == "pgas::element_changes") {
    const auto* element = llvm::dyn_cast_or_null<clang::CallExpr>(bare(object_of(call)));
    return element ? named(object_of(element)) : nullptr;
  }
  return is_one_of(changes, library_name(method)) ? named(object_of(call)) : nullptr;
}

bool is_element(const clang::Expr* e) { return library_name(class_of(e->getType())) == "pgas::array::element"; }

bool reads_element(const clang::CallExpr* call) {
  const auto* conversion = llvm::dyn_cast_or_null<clang::CXXConversionDecl>(call->getDirectCallee());
  if (conversion) return library_name(conversion->getParent()) == "pgas::array::element";
  // `h[i] += b[k]` reads b's element for the message.
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
  if (!method || library_name(method->getParent()) != "pgas::element_changes") return false;
  return std::ranges::any_of(arguments_of(call), is_element);
}

/// Whether a call of this name ends the job in a superstep.
bool is_refused(const std::string& name, const clang::CallExpr* call) {
  return is_one_of(refused, name) && !(name == "pgas::gather" && call->getNumArgs() < 2);  // of indices: | gathers
}
std::string spoken(const std::string& name) {
  return name == "pgas::operator|" ? "gather()" : name.substr(name.rfind(':') + 1) + "()";
}

/// What a statement of a function does that a superstep must not; "" for nothing.
std::string forbidden_by(const clang::Stmt* s) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(s);
  if (!call || !call->getDirectCallee()) return {};
  if (reads_element(call)) return "reads an array's element";
  const auto name = library_name(call->getDirectCallee());
  return is_refused(name, call) ? "calls " + spoken(name) : std::string();
}

class superstep {
 public:
  superstep(program& p, reasons& of_functions) : program_(p), reasons_(of_functions) {}

  void look(const clang::Stmt* body) {
    collect(body);
    for (const auto* call : calls_) {
      if (const auto* what = changed_by(call)) changed_.insert(what->getCanonicalDecl());
    }
    for (const auto* call : calls_) look_at(call);
  }

 private:
  void collect(const clang::Stmt* code) {
    each_own(code, [this](const clang::Stmt* s) {
      if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s)) calls_.push_back(call);
      if (const auto* inner = llvm::dyn_cast<clang::LambdaExpr>(s)) {
        for (const auto* f : call_operators(inner->getLambdaClass())) {
          if (program_.role_of(f) != role::program) continue;
          collected_.insert(f->getCanonicalDecl());
          collect(f->getBody());
        }
      }
    });
  }

  void look_at(const clang::CallExpr* call) {
    if (reads_element(call)) {
      return say(call,
                 "an array's element is read inside of a superstep, in which elements are only changed: gather() "
                 "what is needed before the superstep");
    }
    const auto* callee = call->getDirectCallee();
    if (!callee) return;
    const auto name = library_name(callee);
    if (name == "pgas::superstep" || name == "pgas::bag::drain") {
      say(call, spoken(name) + " begins a superstep inside of another one: end that before");
    } else if (is_refused(name, call)) {
      say(call, spoken(name) +
                    " is called inside of a superstep, in which objects are only changed: call it before or after");
    } else if (is_one_of(own_reads, name)) {
      const auto* what = named(object_of(call));
      if (!what || !changed_.contains(what->getCanonicalDecl())) return;
      say(call, spoken(name) + " reads `" + what->getNameAsString() +
                    "` inside of a superstep that changes it, while changes arrive: read it before or after");
    } else if (!collected_.contains(callee->getCanonicalDecl())) {
      const auto& why = reasons_.of(callee);
      if (why.empty()) return;
      say(call, called_as(callee) + " is called inside of a superstep" + why +
                    ", and in a superstep objects are only changed: do that before or after");
    }
  }
  void say(const clang::CallExpr* at, const std::string& text) { program_.say("supersteps", at->getExprLoc(), text); }

  program& program_;
  reasons& reasons_;
  std::vector<const clang::CallExpr*> calls_;
  std::set<const clang::Decl*> changed_;
  std::set<const clang::Decl*> collected_;  // lambdas, whose calls are among calls_
};

void look_outside(program& p, const body& b) {
  each_own(b.code, [&](const clang::Stmt* s) {
    const auto* call = llvm::dyn_cast<clang::CallExpr>(s);
    const auto* what = call ? llvm::dyn_cast_or_null<clang::VarDecl>(changed_by(call)) : nullptr;
    if (!what || !what->hasLocalStorage() || llvm::isa<clang::ParmVarDecl>(what)) return;
    if (what->getType()->isReferenceType() || what->getDeclContext() != b.function) return;
    p.say("supersteps", call->getExprLoc(),
          "`" + what->getNameAsString() +
              "` is changed outside of a superstep, in which alone changes are sent: put the loop into "
              "pgas::superstep(me, [&] { ... })");
  });
}

}  // namespace

void check_supersteps(program& p) {
  reasons of_functions(p, forbidden_by);
  for (const auto& b : p.bodies()) {
    if (p.role_of(b.function) == role::superstep) {
      superstep(p, of_functions).look(b.code);
    } else {
      look_outside(p, b);
    }
  }
}

}  // namespace shunt::translate::checks
