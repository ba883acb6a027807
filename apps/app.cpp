#include "app.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <shunt/base/error.hpp>
#include <string>

namespace shunt::apps {
namespace {

bool rehearsing = false;  // main thread only, before anything is started

}  // namespace

bool parse(CLI::App& options, int argc, const char* const* argv) {
  // CLI11 would take the next word for the value of "--name=".
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw usage_error(std::string(word.substr(0, word.size() - 1)) + ": expected a value, found nothing");
    }
  }
  try {
    options.parse(argc, argv);
    return !rehearsing;
  } catch (const CLI::Success&) {  // --help and its kin
    std::fputs(options.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& bad) {
    // CLI11 puts some reports on several lines; users and scripts read one.
    std::string line = bad.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    throw usage_error(line + " (see --help)");
  }
}

void rehearse(const app& which, int argc, char** argv) {
  rehearsing = true;
  try {
    which.main(argc, argv);
  } catch (...) {
    rehearsing = false;
    throw;
  }
  rehearsing = false;
}

}  // namespace shunt::apps
