#include "bale/job.hpp"

#include <fmt/core.h>

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
  report_.add_options(options);
  deadline_ = static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(wanted_.deadline).count());
}

const pgas::options& job::wanted() {
  if (!budget_.empty()) wanted_.budget = parse_bytes("--budget", budget_, 4096, std::uint64_t{1} << 40);
  if (!train_.empty()) wanted_.train_bytes = parse_bytes("--train", train_, 256, std::uint64_t{1} << 26);
  wanted_.deadline = std::chrono::seconds(deadline_);
  report_.check();
  return wanted_;
}

progress::progress(std::string what, std::uint64_t whole, bool shown)
    : what_(std::move(what)), whole_(whole), line_(shown && whole > 0) {}

void progress::show(std::uint64_t done) {
  if (!line_.due()) return;
  line_.say(fmt::format("{} {:3.0f} %", what_, 100.0 * static_cast<double>(done) / static_cast<double>(whole_)));
}

std::vector<fact> traffic_facts(const pgas::traffic& moved, double seconds) {
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
