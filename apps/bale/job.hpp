/// What the applications share: the options of a job, progress on a terminal, and the report at the end.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <shunt/pgas.hpp>
#include <string>

namespace shunt::apps {

enum class form : std::uint8_t { lambda, class_ };

/// Options that every application takes; their values are read from SHUNT_… variables first.
class job {
 public:
  /// \param name  of the application, for messages
  job(CLI::App& options, std::string name);

  /// What the command line said. \throws usage_error for an --output that cannot be written.
  [[nodiscard]] const pgas::options& wanted();
  [[nodiscard]] form which() const noexcept { return form_ == "class" ? form::class_ : form::lambda; }
  [[nodiscard]] const std::string& form_name() const noexcept { return form_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] bool json() const noexcept { return json_; }

  /// One fact of the report: as "label  text" for people, as "key": value for programs.
  struct fact {
    std::string key;
    nlohmann::ordered_json value;
    std::string text;
  };

  /// PE 0 only. Prints the report on standard output, and into --output's file.
  void report(const std::vector<fact>& facts) const;

 private:
  std::string name_;
  pgas::options wanted_;
  std::string budget_, train_;
  unsigned deadline_ = 5;
  std::string form_ = "lambda";
  std::uint64_t seed_ = 1;
  bool json_ = false;
  std::string output_;
};

/// A line on a terminal that says how far a PE has come; nothing when standard error is no terminal.
class progress {
 public:
  /// \param shown  whether this PE is the one that speaks
  progress(std::string what, std::uint64_t whole, bool shown);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Cheap: looks at the clock every 64th call, and prints ten times a second.
  void operator()(std::uint64_t done) {
    if (shown_ && (++calls_ & 63) == 0) show(done);
  }
  void show(std::uint64_t done);

 private:
  std::string what_;
  std::uint64_t whole_;
  bool shown_;
  bool printed_ = false;
  unsigned calls_ = 0;
  std::chrono::steady_clock::time_point next_;
};

/// Facts about what moved.
[[nodiscard]] std::vector<job::fact> traffic_facts(const pgas::traffic& moved, double seconds);

/// "12.3 M", "1.50 G": three figures and a decimal unit.
[[nodiscard]] std::string with_unit(double value);
/// "1,612,010"
[[nodiscard]] std::string with_commas(std::uint64_t value);

}  // namespace shunt::apps
