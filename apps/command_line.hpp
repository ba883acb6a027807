/// The command line of an application. CLI11 parses it; its header takes longer to compile than an application, so only
/// command_line.cpp includes it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shunt::apps {

/// An option of a command line, which owns it.
class command_option {
 public:
  /// How often the user has given it; 0 before parse().
  [[nodiscard]] std::size_t count() const;
  /// "--pes".
  [[nodiscard]] std::string get_name() const;
  /// What --help says of it, in place of what it said. \return this
  command_option* description(const std::string& help);
  /// --help shows the variable's present value. \return this
  command_option* capture_default_str();
  /// The user may give one of the two. \return this
  command_option* excludes(command_option* other);

 private:
  friend class command_line;
  explicit command_option(CLI::Option* of) : of_(of) {}
  CLI::Option* of_;
};

/// The options of an application, and what --help says of it. option.hpp has the functions that add options with a
/// value.
class command_line {
 public:
  /// \param summary  one sentence
  /// \param name     "shunt run triangle"
  explicit command_line(const std::string& summary = {}, const std::string& name = {});
  ~command_line();
  command_line(const command_line&) = delete;
  command_line& operator=(const command_line&) = delete;

  /// An option without a value, which sets `to`.
  command_option* add_flag(const std::string& name, bool& to, const std::string& help);
  /// An option with one value.
  /// \param legal  for --help
  /// \param take   gets the value; throws usage_error unless it is legal
  /// \param shown  the variable's present value
  command_option* add_option(const std::string& name, const std::string& help, const std::string& legal,
                             std::function<void(const std::string&)> take, std::function<std::string()> shown);
  /// The option of that name, "--pes", which was added before.
  [[nodiscard]] command_option* get_option(const std::string& name);
  /// Called once the whole line is parsed, to refuse what makes no sense together.
  void final_callback(std::function<void()> check);

  /// For apps::parse(). \return false: the user asked for help, which is on stdout now. \throws usage_error
  [[nodiscard]] bool parse(int argc, const char* const* argv);

 private:
  command_option* keep(CLI::Option* made);

  std::unique_ptr<CLI::App> app_;
  std::deque<command_option> options_;  // a deque: their addresses stay
};

}  // namespace shunt::apps
