#include "bale/job.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <shunt/base/error.hpp>
#include <shunt/base/parse.hpp>

namespace shunt::apps {

job::job(CLI::App& options, std::string name) : name_(std::move(name)), wanted_(pgas::options_from_environment()) {
  wanted_.name = name_;
  options.add_option("--pes", wanted_.pes, "processing elements of the job (default: one a CPU)")
      ->check(CLI::Range(1, 65'536));
  options.add_option("--transport", wanted_.transport, "threads, mpi, or auto: mpi under a launcher")
      ->check(CLI::IsMember({"auto", "threads", "mpi"}));
  options.add_option("--workers", wanted_.workers, "worker threads of a process (default: the CPUs it may use)")
      ->check(CLI::Range(1, 4096));
  options.add_option("--budget", budget_, "bytes of trains a PE may own, e.g. 16M");
  options.add_option("--train", train_, "bytes a train carries (default: from the budget)");
  options.add_option("--hops", wanted_.hops, "1: trains go straight, 2: over an intermediate, 0: as needed")
      ->check(CLI::Range(0, 2));
  options.add_option("--deadline", deadline_, "seconds of silence after which a process counts as lost")
      ->check(CLI::Range(1, 86'400));
  options.add_option("--form", form_, "lambda or class: which of the two programs of it")
      ->check(CLI::IsMember({"lambda", "class"}));
  options.add_option("--seed", seed_, "of the random numbers; they do not depend on the number of PEs");
  options.add_flag("--json", json_, "report as one JSON object");
  options.add_option("--output", output_, "write the report into this file too");
  deadline_ = static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(wanted_.deadline).count());
}

const pgas::options& job::wanted() {
  if (!budget_.empty()) wanted_.budget = parse_bytes("--budget", budget_, 4096, std::uint64_t{1} << 40);
  if (!train_.empty()) wanted_.train_bytes = parse_bytes("--train", train_, 256, std::uint64_t{1} << 26);
  wanted_.deadline = std::chrono::seconds(deadline_);
  if (!output_.empty() && !std::ofstream(output_, std::ios::app)) {
    throw usage_error("--output " + output_ + ": " + std::strerror(errno));
  }
  return wanted_;
}

void job::report(const std::vector<fact>& facts) const {
  nlohmann::ordered_json object;
  std::size_t widest = 0;
  for (const auto& f : facts) {
    object[f.key] = f.value;
    widest = std::max(widest, f.key.size());
  }
  std::string text;
  for (const auto& f : facts) {
    std::string label = f.key;
    for (auto& c : label) c = c == '_' ? ' ' : c;
    text += fmt::format("{:<{}}  {}\n", label, widest, f.text);
  }
  const std::string out = json_ ? object.dump() + "\n" : text;
  std::fputs(out.c_str(), stdout);
  if (!output_.empty()) {
    std::ofstream file(output_);
    file << out;
    if (!file.flush()) throw error("--output " + output_ + ": " + std::strerror(errno));
  }
}

progress::progress(std::string what, std::uint64_t whole, bool shown)
    : what_(std::move(what)),
      whole_(whole),
      shown_(shown && whole > 0 && isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(500)) {}

progress::~progress() {
  if (printed_) std::fprintf(stderr, "\r\033[K");
}

void progress::show(std::uint64_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  printed_ = true;
  std::fprintf(stderr, "\r%s %3.0f %%\033[K", what_.c_str(),
               100.0 * static_cast<double>(done) / static_cast<double>(whole_));
  std::fflush(stderr);
}

std::string with_unit(double value) {
  const char* unit = "";
  for (const char* next : {" k", " M", " G", " T"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

std::string with_commas(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::vector<job::fact> traffic_facts(const pgas::traffic& moved, double seconds) {
  return {
      {"seconds", seconds, fmt::format("{:.6f}", seconds)},
      {"messages", moved.messages, with_commas(moved.messages)},
      {"messages_per_second", static_cast<double>(moved.messages) / seconds,
       with_unit(static_cast<double>(moved.messages) / seconds)},
      {"bytes", moved.bytes, with_unit(static_cast<double>(moved.bytes)) + "B"},
      {"trains", moved.trains, with_commas(moved.trains)},
      {"fill", moved.fill(), fmt::format("{:.1f} % of a train, on average", 100 * moved.fill())},
  };
}

}  // namespace shunt::apps
