#include <shunt/transport/network/watchdog.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>
#include <utility>

#include <shunt/transport/detail/watching.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// How often the watchdog looks, which is also how often it sends heartbeats.
constexpr milliseconds interval{200};
/// How much later than the rank before it a rank says what all ranks see at once.
constexpr milliseconds turn{1'500};
/// How long the output streams may take to be written out when the process ends.
constexpr milliseconds flush_limit{800};

/// Removes the files of shared memory that this process has mapped: amid MPI_Init or shmem_init a library has made
/// them, and removes their names only once all ranks have them.
void remove_shared_files() noexcept try {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.find("/dev/shm/");
    if (name == std::string::npos || line.ends_with(" (deleted)")) continue;
    for (const char* const own : {"mpich_shar_tmp", "ucx_shm_posix_", "vader_segment."}) {
      if (std::string_view(line).substr(name + 9).starts_with(own)) unlink(line.c_str() + name);
    }
  }
} catch (const std::exception&) {  // no memory for a line: the file stays
}

}  // namespace

void end_job(const std::string& name, int rank, const std::string& why) noexcept {
  std::this_thread::sleep_for(turn * std::clamp(rank, 0, 2));
  // Not by way of stdio: another thread may hold a stream's lock, and wait for ever with it.
  const std::string line = (name.empty() ? "" : name + ": ") + why + "; the job ends\n";
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  remove_shared_files();
  try {
    std::thread([] {
      std::this_thread::sleep_for(flush_limit);
      std::_Exit(EXIT_FAILURE);
    }).detach();
    std::fflush(nullptr);
  } catch (const std::exception&) {  // no thread to be had: what is not written out is lost
  }
  let_launcher_read();
  // Not MPI_Abort: this process may be amid MPI_Init or MPI_Finalize, or their like. An end without these, and with a
  // status that is not 0, is what every launcher takes as the end of the job.
  std::_Exit(EXIT_FAILURE);
}

watchdog::watchdog(const limits& time_limits, std::function<void()> beat)
    : limits_(time_limits), self_(detail::self_by_launcher()), beat_(std::move(beat)), thread_([this] { run(); }) {}

watchdog::~watchdog() {
  {
    const std::lock_guard held(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void watchdog::enter(const char* call, const char* missing_watchdog) {
  const std::lock_guard held(mutex_);
  call_ = call;
  missing_watchdog_ = missing_watchdog;
  waited_ = nanoseconds(0);
  last_ = clock::now();
}

void watchdog::leave() {
  const std::lock_guard held(mutex_);
  call_ = nullptr;
}

/// The thread: beats, or measures the wait that is under way. The mutex is open during a beat, which may take long.
void watchdog::run() noexcept {
  pthread_setname_np(pthread_self(), detail::watchdog_name);
  std::unique_lock held(mutex_);
  while (!changed_.wait_for(held, interval, [this] { return over_; })) {
    if (call_ == nullptr) {
      held.unlock();
      beat_();
      held.lock();
      continue;
    }
    if (limits_.gather.count() <= 0) continue;
    const auto now = clock::now();
    waited_ += std::min<nanoseconds>(now - last_, limits_.gather / detail::looks_a_deadline);
    last_ = now;
    if (waited_ >= limits_.gather) expire();
  }
}

/// Ends the job: the wait has reached its limit. Keeps the mutex, so that the waiting thread cannot go on meanwhile.
void watchdog::expire() noexcept {
  const std::string waiting = self_.rank < 0 ? "this process" : "rank " + std::to_string(self_.rank);
  const auto why = detail::explain(self_, detail::siblings("/proc", static_cast<int>(getpid())), missing_watchdog_);
  end_job(limits_.name, self_.rank,
          why + "; " + waiting + " has waited in " + call_ + " for " + detail::seconds(waited_) +
              " (--start-deadline, SHUNT_START_DEADLINE)");
}

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
