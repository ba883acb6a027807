#include <shunt/transport/detail/processes.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/exit_status.hpp>
#include <shunt/base/machine.hpp>
#include <shunt/transport/detail/alike.hpp>
#include <shunt/transport/detail/job_memory.hpp>
#include <shunt/transport/detail/process_watch.hpp>
#include <shunt/transport/detail/shared_trains.hpp>
#include <shunt/transport/detail/watching.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// How much later than the rank before it a rank says that another one is lost: all see that at once.
constexpr std::chrono::milliseconds loss_turn{350};

/// How long a rank has been seen stopped, in time that this process was running itself.
class stop_watch {
 public:
  /// \return the loss, once it has lasted for `deadline`
  std::optional<loss> look(const process_watch& processes, std::chrono::milliseconds deadline) {
    const std::lock_guard lock(guard_);
    const auto now = clock::now();
    const auto since = std::min<nanoseconds>(now - std::exchange(last_, now), nanoseconds(deadline) / looks_a_deadline);
    const auto stopped = processes.find_stopped();
    if (!stopped || stopped->rank != rank_) {
      rank_ = stopped ? stopped->rank : -1;
      lasted_ = nanoseconds(0);
      return std::nullopt;
    }
    lasted_ += since;
    if (deadline.count() <= 0 || lasted_ < deadline) return std::nullopt;
    return loss{rank_, stopped->why + " for " + seconds(lasted_)};
  }

 private:
  std::mutex guard_;
  clock::time_point last_ = clock::now();
  int rank_ = -1;
  nanoseconds lasted_{0};
};

class processes final : public carrier {
 public:
  processes(const process_of_job& self, const limits& time_limits)
      : rank_(self.rank),
        ranks_(self.ranks),
        limits_(time_limits),
        deadline_(time_limits.deadline),
        memory_(self.meeting, self.rank, self.ranks),
        // The descriptor itself stays, since the program may open the transport again.
        trains_(owned_descriptor(::fcntl(self.trains, F_DUPFD_CLOEXEC, 3))) {
    if (!memory_.is_file_of_trains(self.trains)) {
      throw usage_error(error_number(840), "SHUNT_JOB: its descriptor " + std::to_string(self.trains) +
                                               " is not the memory of the job's trains: a program between the launcher "
                                               "and this one has taken that number for a file of its own");
    }
    // No program that this one starts inherits them.
    for (const int fd : {self.meeting, self.trains}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    memory_.say_opened();
    static_cast<void>(memory_.meet([this](nanoseconds waited) { return await_start(waited); }));
    refuse_other_machines();
    launcher_.add(0, memory_.launchers_process());
    for (const int r : peers_of(rank_, ranks_)) watch_.add(r, memory_.process_of(r));
  }
  ~processes() override;

  std::string_view name() const noexcept override { return "processes"; }
  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  int ranks_here() const noexcept override { return ranks_; }

  std::vector<std::string> exchange(const std::string& mine) override { return memory_.exchange(mine, await_others()); }
  void start(const service& settings) override;
  void send(rail::train& loaded, int rank) override;
  bool poll(rail::train_list&) override { return false; }
  shared_place place_of(int worker) const noexcept override { return trains_.place_of(worker); }
  bool has_network() const noexcept override { return false; }
  nanoseconds patience() const noexcept override { return nanoseconds::max(); }
  std::optional<loss> beat() override {
    end_with_launcher();
    if (auto ended = watch_.find_ended()) return ended;
    if (const int r = memory_.find_left(); r >= 0) return loss{r, "left the job by an exception"};
    return stopped_.look(watch_, deadline_);
  }
  void stop() override;
  void abort(int status) noexcept override { std::_Exit(status_of_failure(status)); }

 private:
  [[nodiscard]] job_memory::look await_others();
  bool await_start(nanoseconds waited);
  void refuse_other_machines();
  void end_with_launcher() noexcept;
  [[noreturn]] void end_job(const std::string& why) noexcept;

  const int rank_;
  const int ranks_;
  const limits limits_;
  std::chrono::milliseconds deadline_;
  const int exceptions_ = std::uncaught_exceptions();
  bool started_ = false;
  job_memory memory_;
  shared_trains trains_;
  process_watch watch_;
  process_watch launcher_;
  stop_watch stopped_;
};

/// Ranks that know the same would all say it: each gives those before it time to end the job.
void processes::end_job(const std::string& why) noexcept {
  std::this_thread::sleep_for(loss_turn * std::min(rank_, 2));
  std::fprintf(stderr, "%s%s%s; the job ends\n", limits_.name.c_str(), limits_.name.empty() ? "" : ": ", why.c_str());
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);  // the launcher ends the others
}

/// While this rank waits for others outside a service. A rank may be lost after it has come, and then this one needs it
/// no more: so the job ends at the second look that finds a loss.
job_memory::look processes::await_others() {
  return [this, found = false](nanoseconds) mutable {
    const auto lost = beat();
    if (lost && found) end_job("rank " + std::to_string(lost->rank) + " " + lost->why);
    found = lost.has_value();
    return true;
  };
}

/// While this rank waits for others that have not opened the transport yet: one that has ended will never do so.
bool processes::await_start(nanoseconds waited) {
  if (memory_.is_over()) std::_Exit(EXIT_FAILURE);
  const bool late = limits_.gather.count() > 0 && waited >= limits_.gather;
  for (int r = 0; r < ranks_; ++r) {
    if (memory_.has_opened(r)) continue;
    const int process = memory_.started_process(r);
    const auto name = "rank " + std::to_string(r) + " (process " + std::to_string(process) + ") ";
    if (memory_.has_ended(r)) {
      if (memory_.has_opened(r)) continue;  // between the two looks, and ended at once
      end_job(name + "ended before it called shunt::pgas::run()");
    }
    if (!late) continue;
    process_watch other;
    other.add(r, process);
    end_job(name + (other.is_stopped(r) ? "is stopped" : "has not called shunt::pgas::run() yet, or not come as far") +
            "; rank " + std::to_string(rank_) + " has waited for " + seconds(waited) +
            " (--start-deadline, SHUNT_START_DEADLINE)");
  }
  return true;
}

/// Another namespace: a process's number means another process there, and the watch would look at the wrong one.
void processes::refuse_other_machines() {
  const auto all = exchange(machine_identity());
  for (int r = 0; r < ranks_; ++r) {
    if (all[static_cast<std::size_t>(r)] == all[0]) continue;
    throw usage_error(error_number(841), "rank " + std::to_string(r) +
                                             " runs in other namespaces than rank 0: processes of one job share those "
                                             "of processes, of the network and of memory");
  }
}

/// A launcher that is killed, or ends the job, cannot reach what its own processes have started.
void processes::end_with_launcher() noexcept {
  if (memory_.is_over() || launcher_.find_ended()) std::_Exit(EXIT_FAILURE);
}

/// No process may end while another one watches it: all leave together. After an exception the others may be elsewhere.
processes::~processes() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_;
  if (started_) {
    memory_.say_left();
    return;
  }
  const job_memory::look within_limit = [](nanoseconds waited) { return waited < unwinding_limit; };
  const bool met = memory_.meet_to_leave(unwinding ? within_limit : await_others());
  if (met) trains_.close();
}

void processes::start(const service& settings) {
  SHUNT_ASSERT(!started_);
  refuse_different(exchange(std::to_string(settings.capacity) + " bytes, " + std::to_string(settings.yard) +
                            " bytes a worker, " + std::to_string(settings.deadline.count()) + " ms"));
  const auto talk = [this](const std::string& mine) { return exchange(mine); };
  trains_.open(std::vector<bool>(static_cast<std::size_t>(ranks_), true), rank_, settings, talk);
  if (!trains_.why_not().empty()) {
    throw error(error_number(833),
                "the processes of this job cannot share the memory of their trains: " + trains_.why_not());
  }
  deadline_ = settings.deadline;
  started_ = true;
}

void processes::send(rail::train& loaded, int rank) {
  throw error(error_number(834),
              "the transport `processes` carries no train: one of " + std::to_string(loaded.head.bytes) +
                  " bytes for rank " + std::to_string(rank) + " belongs into the inbox of its worker",
              {.rank = rank});
}

void processes::stop() {
  SHUNT_ASSERT(started_);
  static_cast<void>(memory_.meet(await_others()));
  deadline_ = limits_.deadline;
  started_ = false;
}

/// The numbers of a text, which commas separate; none if it has anything else.
std::vector<int> numbers(std::string_view text) {
  std::vector<int> all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int n = 0;
    const auto [next, failed] = std::from_chars(at, end, n);
    if (failed != std::errc{} || n < 0) return {};
    all.push_back(n);
    if (next == end) return all;
    if (*next != ',') return {};
    at = next + 1;
  }
}

}  // namespace

std::optional<process_of_job> find_process_of_job() {
  const auto rank = environment::read(rank_variable);
  const auto job = environment::read(job_variable);
  if (!rank && !job) return std::nullopt;
  const auto self = numbers(rank.value_or(""));
  const auto about = numbers(job.value_or(""));
  if (self.size() != 1 || about.size() != 3 || about[0] < 1 || about[0] > most_processes || self[0] >= about[0]) {
    throw usage_error(error_number(835), "SHUNT_RANK is `" + rank.value_or("") + "` and SHUNT_JOB `" +
                                             job.value_or("") +
                                             "`: leave both to the launcher that starts the processes of a job");
  }
  return process_of_job{self[0], about[0], about[1], about[2]};
}

std::unique_ptr<carrier> open_processes(const process_of_job& self, const limits& time_limits) {
  return std::make_unique<processes>(self, time_limits);
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
