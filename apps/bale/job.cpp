#include "bale/job.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <functional>
#include <shunt/base/error.hpp>
#include <shunt/base/machine.hpp>
#include <system_error>

#include "option.hpp"

namespace shunt::apps {

job::job(command_line& options, std::string name, bool output, forms in)
    : name_(std::move(name)), wanted_(pgas::options_from_environment()) {
  wanted_.name = "shunt run " + name_;  // as the command calls it, in messages of its own
  count_option(options, "--pes", wanted_.pes, "processing elements of the job (default: one a CPU)", 1, 65'536);
  choice_option(options, "--transport", wanted_.transport,
                "threads, processes, mpi, shmem, or auto: what the launcher serves",
                {"auto", "threads", "processes", "mpi", "shmem"});
  count_option(options, "--workers", wanted_.workers, "worker threads of a process (default: the CPUs it may use)", 1,
               4096);
  bytes_option(options, "--budget", wanted_.budget, "bytes of trains a PE may own, e.g. 16M", 4096,
               std::uint64_t{1} << 40);
  bytes_option(options, "--train", wanted_.train_bytes, "bytes a train carries (default: from the budget)", 256,
               std::uint64_t{1} << 26);
  count_option(options, "--hops", wanted_.hops, "1: trains go straight, 2: over an intermediate, 0: as needed", 0, 2);
  count_option(options, "--deadline", deadline_, "seconds of silence after which a process counts as lost", 1, 86'400);
  count_option(options, "--start-deadline", start_deadline_,
               "seconds in which all processes must have started (default: 6 deadlines)", 1, 86'400);
  if (in == forms::two) choice_option(options, "--form", form_, "which of its two programs runs", {"lambda", "class"});
  if (in == forms::three) {
    choice_option(options, "--form", form_, "which of its three programs runs", {"lambda", "class", "natural"});
  }
  seed_given_ =
      count_option(options, "--seed", seed_, "of the random numbers; they do not depend on the number of PEs", 0);
  report_.add_options(options, output);
  deadline_ = static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(wanted_.deadline).count());
}

void job::add_checkpoint_options(command_line& options) {
  text_option(options, "--checkpoint", wanted_.checkpoint,
              "directory in which checkpoints are written; all machines share it");
  options.add_option(
      "--every", "how long after one has begun the next is due (default: only a signal has one written)", "TIME",
      [this](const std::string& text) { wanted_.every = parse_time("--every", text); },
      [this] { return wanted_.every ? std::to_string(wanted_.every->count()) + "ms" : ""; });
  text_option(options, "--restart", wanted_.restart,
              "directory whose last checkpoint is taken up; auto: that of --checkpoint, if it has one");
}

const pgas::options& job::wanted() {
  wanted_.deadline = std::chrono::seconds(deadline_);
  if (start_deadline_ != 0) wanted_.start_deadline = std::chrono::seconds(start_deadline_);
  report_.check();
  return wanted_;
}

bool job::has_processes() const {
  return wanted_.transport == "mpi" || wanted_.transport == "shmem" || wanted_.transport == "processes" ||
         (wanted_.transport == "auto" && pgas::under_launcher());
}

progress::progress(std::string what, std::uint64_t whole, bool shown)
    : what_(std::move(what)), whole_(whole), line_(shown && whole > 0) {}

void progress::show(std::uint64_t done) {
  if (!line_.due()) return;
  line_.say(fmt::format("{} {:3.0f} %", what_, 100.0 * static_cast<double>(done) / static_cast<double>(whole_)));
}

void expect_file(const std::string& path) {
  std::error_code none;  // what is not there, the reader reports
  const auto kind = std::filesystem::status(path, none).type();
  using type = std::filesystem::file_type;
  if (kind == type::fifo || kind == type::character || kind == type::socket) {
    throw usage_error(error_number(1105),
                      "--graph " + path + ": each process of the job would read a part of it; copy it to a file");
  }
}

void expect_same(pgas::pe& me, const std::string& file, std::uint64_t fingerprint) {
  if (me.max(fingerprint) == ~me.max(~fingerprint)) return;
  throw usage_error(error_number(1105),
                    file + ": the processes read different graphs; is it another file on another machine?");
}

memory_takers takers_beside(std::span<const memory_place> all, const memory_place& mine) {
  memory_takers by{0, 0, 0};
  for (const auto& one : all) {
    if (one.kernel != mine.kernel) continue;
    ++by.machine;
    if (one.container == mine.container) ++by.container;
    if (one.rank == mine.rank) ++by.process;
  }
  return by;
}

void require_memory(pgas::pe& me, const std::string& cause, double bytes) {
  const double here = me.count();
  memory_takers by{here, here, here};
  if (me.ranks() > 1) {  // else no PE need be told of all the others
    const std::hash<std::string> number;
    const memory_place mine{number(kernel_identity()), number(machine_identity()),
                            static_cast<std::uint64_t>(me.rank())};
    by = takers_beside(me.gather(mine), mine);
  }
  require_memory(cause, bytes, by, available_memory());
  me.barrier();  // all have asked before the first takes some
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
