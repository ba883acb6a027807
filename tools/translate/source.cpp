#include "source.hpp"

#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Lex/Lexer.h>
#include <clang/Tooling/ArgumentsAdjusters.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace shunt::translate {

namespace {

namespace tooling = clang::tooling;
namespace fs = std::filesystem;

/// Where Shunt's headers lie: beside the installed program, or in the tree that it was built from.
std::string headers() {
  static int inside = 0;
  const fs::path program = llvm::sys::fs::getMainExecutable("shunt-translate", &inside);
  const auto installed = program.parent_path().parent_path() / "include";
  return fs::exists(installed / "shunt" / "pgas.hpp") ? installed.string() : SHUNT_TRANSLATE_HEADERS;
}

std::unique_ptr<tooling::CompilationDatabase> commands(const std::string& file, const compile_options& options) {
  std::string problem;
  if (options.arguments.empty()) {
    auto found = options.build_folder.empty()
                     ? tooling::CompilationDatabase::autoDetectFromSource(file, problem)
                     : tooling::CompilationDatabase::loadFromDirectory(options.build_folder, problem);
    if (!found && !options.build_folder.empty()) throw std::runtime_error(problem);
    if (found && !found->getCompileCommands(file).empty()) return found;
  }
  auto arguments = options.arguments;
  if (arguments.empty()) {
    arguments = {"-I" + headers(), "-I" + headers() + "/shunt/pgas/openshmem",
                 "-I" + fs::absolute(file).parent_path().string()};
    if (!file.ends_with(".c")) arguments.insert(arguments.end(), {"-std=c++20", "-xc++"});
  }
  return std::make_unique<tooling::FixedCompilationDatabase>(".", arguments);
}

/// What a compiler says of a file, shortened.
class errors final : public clang::DiagnosticConsumer {
 public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& what) override {
    DiagnosticConsumer::HandleDiagnostic(level, what);
    if (level < clang::DiagnosticsEngine::Error || ++count_ > 3) return;
    llvm::SmallString<200> words;
    what.FormatDiagnostic(words);
    std::string place;
    if (what.hasSourceManager() && what.getLocation().isValid()) {
      const auto at = what.getSourceManager().getPresumedLoc(what.getLocation());
      place = std::string(at.getFilename()) + ':' + std::to_string(at.getLine()) + ':' +
              std::to_string(at.getColumn()) + ": ";
    }
    text_ += place + "error: " + words.str().str() + '\n';
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  int count_ = 0;
  std::string text_;
};

}  // namespace

source::source(const std::string& file, const compile_options& options) : file_(file) {
  const auto read = llvm::MemoryBuffer::getFile(file);
  if (!read) throw std::runtime_error(file + ": " + read.getError().message());
  text_ = (*read)->getBuffer().str();

  const auto known = commands(file, options);
  tooling::ClangTool tool(*known, {file});
  // Clang's own headers lie beside Clang, not beside this program.
  tool.appendArgumentsAdjuster(tooling::getInsertArgumentAdjuster(
      {"-resource-dir", SHUNT_TRANSLATE_RESOURCES, "-Wno-everything", "-fsyntax-only", "-DSHUNT_TRANSLATE"},
      tooling::ArgumentInsertPosition::END));
  errors said;
  tool.setDiagnosticConsumer(&said);
  std::vector<std::unique_ptr<clang::ASTUnit>> units;
  const int failed = tool.buildASTs(units);
  if (failed != 0 || units.empty() || said.getNumErrors() != 0) {
    throw std::runtime_error(said.text().empty() ? file + ": error: Clang cannot read this file\n" : said.text());
  }
  unit_ = std::move(units.front());
}

bool source::is_here(clang::SourceRange piece) const {
  return piece.isValid() && piece.getBegin().isFileID() && piece.getEnd().isFileID() &&
         manager().isWrittenInMainFile(piece.getBegin()) && manager().isWrittenInMainFile(piece.getEnd());
}

std::pair<std::size_t, std::size_t> source::bytes(clang::SourceRange piece) const {
  const auto end = clang::Lexer::getLocForEndOfToken(piece.getEnd(), 0, manager(), context().getLangOpts());
  return {manager().getFileOffset(piece.getBegin()), manager().getFileOffset(end)};
}

std::string source::letters(clang::SourceRange piece) const {
  const auto [begin, end] = bytes(piece);
  return text_.substr(begin, end - begin);
}

std::size_t source::line_begin(std::size_t at) const {
  const auto before = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  return before == std::string::npos ? 0 : before + 1;
}

std::string source::indent_at(std::size_t at) const {
  const auto begin = line_begin(at);
  const auto end = std::min(text_.find_first_not_of(" \t", begin), text_.size());
  return text_.substr(begin, end - begin);
}

const char* source::line_end() const noexcept { return text_.find("\r\n") == std::string::npos ? "\n" : "\r\n"; }

finding source::say(clang::SourceLocation at, std::string text) const {
  const auto place = manager().getPresumedLoc(manager().getExpansionLoc(at));
  if (place.isInvalid()) return {file_, 0, 0, std::move(text)};
  return {place.getFilename(), place.getLine(), place.getColumn(), std::move(text)};
}

}  // namespace shunt::translate
