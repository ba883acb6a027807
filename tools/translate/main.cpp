/// shunt-translate: finds mistakes in programs that use Shunt, and rewrites them from one form into another.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands.hpp"
#include "edits.hpp"
#include "options.hpp"

namespace {

using namespace shunt::translate;

/// How a run ends.
enum exit_code : int { clean = 0, found = 1, unusable = 2 };

struct command {
  const char* name;
  const char* help;
  outcome (*run)(const std::string&, const compile_options&);
  const char* kind;  ///< of its findings: "error", or "refused"
};

constexpr command known[] = {
    {"check", "Find mistakes that a compiler cannot see: captured pointers, waits in handlers, sends after done()",
     check, "error"},
    {"loops", "Turn loops over distributed arrays into supersteps and gathers", loops, "refused"},
    {"class", "Turn actors whose messages are lambdas into classes with process()", to_classes, "refused"},
    {"proxies", "Write the proxies of a header's interfaces, so that calls of actors look like calls", proxies,
     "refused"},
};

struct wishes {
  std::vector<std::string> files;
  compile_options compile;
  std::string out;
  bool in_place = false;
};

void write(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  if (!(file << text).flush()) throw std::runtime_error(name + ": cannot be written");
}

/// A file that the user did not name is written only where there is none, or the same.
void must_not_lose(const std::string& name, const std::string& text) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return;
  const std::string there{std::istreambuf_iterator<char>(file), {}};
  if (there != text) throw std::runtime_error(name + ": is there already, with another text: it is not overwritten");
}

int run(const command& c, wishes w) {
  int code = clean;
  if (!w.out.empty()) w.compile.out_folder = std::filesystem::absolute(w.out).parent_path().string();
  for (const auto& file : w.files) {
    try {
      const auto result = c.run(file, w.compile);
      for (const auto& f : result.findings) {
        std::fprintf(stderr, "%s:%u:%u: %s: %s\n", f.file.c_str(), f.line, f.column, c.kind, f.text.c_str());
        code = std::max<int>(code, found);
      }
      if (std::string_view(c.name) == "proxies") {
        w.out.empty() ? void(std::fputs(result.after.c_str(), stdout)) : write(w.out, result.after);
      } else if (result.after == result.before) {
        continue;
      } else {
        const auto name = result.name_after.empty() ? file : result.name_after;
        if (w.in_place) {
          if (name != file) must_not_lose(name, result.after);
          write(name, result.after);
        } else {
          std::fputs(unified_diff(file, name, result.before, result.after).c_str(), stdout);
        }
      }
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "%s", problem.what());
      if (!std::string_view(problem.what()).ends_with('\n')) std::fputc('\n', stderr);
      code = unusable;
    }
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // What stands behind `--` is the compiler's.
  int own = argc;
  for (int i = 1; i < argc && own == argc; ++i) {
    if (std::string_view(argv[i]) == "--") own = i;
  }
  CLI::App app("Finds mistakes in programs that use Shunt, and rewrites them from one form into another.",
               "shunt-translate");
  app.require_subcommand(1);
  app.footer(
      "A file is read with the flags of the compile_commands.json above it, with those behind `--`, or as C++20 with\n"
      "Shunt's headers. Exit status: 0; 1 for a finding or a refusal; 2 for a file that cannot be read or compiled.");
  wishes w;
  if (own < argc) w.compile.arguments.assign(argv + own + 1, argv + argc);
  int code = clean;
  for (const auto& c : known) {
    auto* sub = app.add_subcommand(c.name, c.help);
    auto* files = sub->add_option("FILE", w.files, "source files")->required();
    sub->add_option("-p,--build-dir", w.compile.build_folder, "the folder of a compile_commands.json")
        ->type_name("DIR");
    if (c.run == proxies) {
      files->expected(1);
      sub->add_option("--out", w.out, "the header to write, instead of stdout")->type_name("HEADER");
    } else if (c.run != check) {
      sub->add_flag("--in-place", w.in_place, "change the files, instead of printing a diff");
    }
    if (c.run == loops) {
      sub->add_flag("--reorder", w.compile.reorder, "floating-point numbers may be added in another order");
    }
    sub->callback([&code, &c, &w] { code = run(c, w); });
  }
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? clean : unusable;
  }
  return code;
}
