#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <shunt/base/error.hpp>
#include <string_view>

namespace shunt::apps {

std::size_t command_option::count() const { return of_->count(); }
std::string command_option::get_name() const { return of_->get_name(); }
command_option* command_option::capture_default_str() {
  of_->capture_default_str();
  return this;
}
command_option* command_option::description(const std::string& help) {
  of_->description(help);
  return this;
}
command_option* command_option::excludes(command_option* other) {
  of_->excludes(other->of_);
  return this;
}

command_line::command_line(const std::string& summary, const std::string& name)
    : app_(std::make_unique<CLI::App>(summary, name)) {}
command_line::~command_line() = default;

command_option* command_line::keep(CLI::Option* made) { return &options_.emplace_back(command_option(made)); }

command_option* command_line::add_flag(const std::string& name, bool& to, const std::string& help) {
  return keep(app_->add_flag(name, to, help));
}

command_option* command_line::add_option(const std::string& name, const std::string& help, const std::string& legal,
                                         std::function<void(const std::string&)> take,
                                         std::function<std::string()> shown) {
  auto* const made = app_->add_option(name, CLI::callback_t([take = std::move(take)](const CLI::results_t& words) {
                                        take(words.at(0));  // CLI11 has refused none and several
                                        return true;
                                      }),
                                      help, false, std::move(shown));
  made->type_name(legal);
  return keep(made);
}

command_option* command_line::get_option(const std::string& name) {
  const CLI::Option* const wanted = app_->get_option(name);
  return &*std::find_if(options_.begin(), options_.end(), [&](const command_option& o) { return o.of_ == wanted; });
}

void command_line::final_callback(std::function<void()> check) { app_->final_callback(std::move(check)); }

bool command_line::parse(int argc, const char* const* argv) {
  // CLI11 would take the next word for the value of "--name=".
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw usage_error(error_number(1101),
                        std::string(word.substr(0, word.size() - 1)) + ": expected a value, found nothing");
    }
  }
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::Success&) {  // --help and its kin
    std::fputs(app_->help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& bad) {
    // CLI11 puts some reports on several lines; users and scripts read one.
    std::string line = bad.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    throw usage_error(error_number(1101), line + " (see --help)");
  }
}

}  // namespace shunt::apps
