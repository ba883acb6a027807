#include "shmem_program.hpp"

#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/IdentifierTable.h>
#include <clang/Lex/Lexer.h>

#include <set>
#include <string>
#include <string_view>

#include "loop_text.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// Words of C that C++ spells in another way.
struct word {
  std::string_view c, cpp;
};
constexpr word words[] = {{"restrict", "__restrict"},
                          {"_Bool", "bool"},
                          {"_Static_assert", "static_assert"},
                          {"_Thread_local", "thread_local"}};

/// `type` as a cast has it: "long*".
std::string cast_to(clang::QualType type, const clang::ASTContext& context) {
  auto name = type.getUnqualifiedType().getAsString(clang::PrintingPolicy(context.getLangOpts()));
  if (const auto at = name.find(" *"); at != std::string::npos) name.erase(at, 1);
  return '(' + name + ')';
}

class program_pieces final : public clang::RecursiveASTVisitor<program_pieces> {
 public:
  program_pieces(const source& s, edits& into, std::vector<finding>& findings)
      : source_(s), into_(into), findings_(findings) {}

  bool shouldVisitTemplateInstantiations() const { return false; }

  /// What C converts from void* by itself.
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* e) {
    if (source_.context().getLangOpts().CPlusPlus || e->getCastKind() != clang::CK_BitCast) return true;
    const auto from = e->getSubExpr()->getType(), to = e->getType();
    if (!from->isVoidPointerType() || !to->isPointerType() || to->isVoidPointerType()) return true;
    const auto* value = e->getSubExpr()->IgnoreImplicit();
    if (value->isNullPointerConstant(source_.context(), Expr::NPC_ValueDependentIsNull) != Expr::NPCK_NotNull)
      return true;
    if (!source_.is_here(value->getSourceRange())) {
      if (source_.manager().isWrittenInMainFile(source_.manager().getExpansionLoc(value->getBeginLoc())))
        findings_.push_back(
            source_.say(value->getBeginLoc(), "a macro converts from void*, which C++ does not: write a cast"));
      return true;
    }
    const auto [begin, end] = source_.bytes(value->getSourceRange());
    if (!cast_at_.insert(begin).second) return true;
    const bool primary =
        isa<clang::CallExpr, clang::DeclRefExpr, clang::ParenExpr, clang::MemberExpr, clang::ArraySubscriptExpr>(value);
    into_.insert(begin, cast_to(to, source_.context()) + (primary ? "" : "("));
    if (!primary) into_.insert(end, ")");
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* f) {
    if (!f->isMain() || !f->doesThisDeclarationHaveABody() || !source_.is_here(f->getSourceRange())) return true;
    if (source_.text().find("::launch(") != std::string::npos)
      return true;  // it is translated, or was never OpenSHMEM's
    if (!f->getReturnType()->isIntegerType() || (f->getNumParams() != 0 && f->getNumParams() != 2)) {
      findings_.push_back(source_.say(
          f->getLocation(), "main() has not the parameters (int argc, char** argv), or none: it is not called"));
      return true;
    }
    const auto name = fresh_name(source_, "shmem_main");
    const auto at = source_.bytes({f->getLocation(), f->getLocation()});
    into_.insert(source_.bytes(f->getSourceRange()).first, "static ");
    into_.replace(at.first, at.second, name);
    if (const auto* tried = dyn_cast<clang::CXXTryStmt>(f->getBody())) {
      end_with_zero(tried->getTryBlock());
      for (unsigned i = 0; i < tried->getNumHandlers(); ++i)
        end_with_zero(dyn_cast<clang::CompoundStmt>(tried->getHandler(i)->getHandlerBlock()));
    } else {
      end_with_zero(dyn_cast<clang::CompoundStmt>(f->getBody()));
    }
    const std::string line = source_.line_end();
    const auto& text = source_.text();
    into_.insert(text.size(), (text.ends_with('\n') ? "" : line) + line +
                                  "int main(int argc, char** argv) { return shmem::launch(argc, argv, " + name +
                                  "); }" + line);
    return true;
  }

  /// `restrict` and the like, wherever they stand.
  void spell_words() {
    if (source_.context().getLangOpts().CPlusPlus) return;
    const auto file = source_.manager().getMainFileID();
    const auto text = source_.manager().getBufferData(file);
    clang::Lexer lexer(source_.manager().getLocForStartOfFile(file), source_.context().getLangOpts(), text.begin(),
                       text.begin(), text.end());
    clang::Token token;
    for (bool last = false; !last;) {
      last = lexer.LexFromRawLexer(token);
      if (token.isNot(clang::tok::raw_identifier)) continue;
      const std::string_view name = token.getRawIdentifier();
      for (const auto& w : words) {
        if (name != w.c) continue;
        const auto at = source_.manager().getFileOffset(token.getLocation());
        into_.replace(at, at + name.size(), std::string(w.cpp));
      }
    }
  }

 private:
  /// main() returns 0 where it ends; other functions do not.
  void end_with_zero(const clang::CompoundStmt* block) {
    const auto* last = block && !block->body_empty() ? block->body_back() : nullptr;
    if (!block || clang::isa_and_nonnull<clang::ReturnStmt>(last)) return;
    const auto* call = dyn_cast_or_null<clang::CallExpr>(last);
    if (call && call->getDirectCallee() && call->getDirectCallee()->isNoReturn()) return;
    const auto at = source_.bytes({block->getRBracLoc(), block->getRBracLoc()}).first;
    const auto begin = source_.line_begin(at);
    const auto own = source_.indent_at(at);
    const auto beside = last && source_.is_here(last->getSourceRange())
                            ? source_.indent_at(source_.bytes(last->getSourceRange()).first)
                            : own + "  ";
    if (begin + own.size() == at) {
      into_.insert(begin, beside + "return 0;" + source_.line_end());
    } else {
      into_.insert(at, "return 0; ");
    }
  }

  const source& source_;
  edits& into_;
  std::vector<finding>& findings_;
  std::set<std::size_t> cast_at_;  // lists of initial values are visited twice
};

}  // namespace

bool uses_shmem(const source& s) {
  auto& context = s.context();
  return !context.getTranslationUnitDecl()->lookup(&context.Idents.get("shmem_init")).empty();
}

void write_shmem_program(const source& s, edits& into, std::vector<finding>& findings) {
  edits pieces;
  program_pieces all(s, pieces, findings);
  all.TraverseDecl(s.context().getTranslationUnitDecl());
  all.spell_words();
  into.add_outside(pieces);
}

}  // namespace shunt::translate
