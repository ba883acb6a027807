#include <shunt/transport/shmem/carrier.hpp>

#include <shmem.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <shunt/base/error.hpp>
#include <shunt/base/exit_status.hpp>
#include <shunt/transport/network/watchdog.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {
namespace {

/// What OpenSHMEM's own exit handler must not do: shmem_finalize waits for all ranks, and a process that ends amid the
/// job would never end. Of the carrier of this process.
struct unfinished {
  bool is = false;           ///< shmem_init was called, and shmem_finalize was not
  bool over = false;         ///< shmem_finalize was called
  bool has_carrier = false;  ///< else its destructor has run, which says why the job ends
  int rank = -1;
  std::string name;  ///< of the application
};
unfinished& job() {
  static unfinished of_process;
  return of_process;
}

/// Handlers run in the reverse order of their registration, so this one runs before OpenSHMEM's.
void end_without_finalising(int status, void*) {
  if (!job().is) return;
  if (job().has_carrier) {
    network::end_job(
        job().name, job().rank,
        "rank " + std::to_string(job().rank) + " called exit(" + std::to_string(status) + ") amid the job");
  }
  std::fflush(nullptr);
  std::_Exit(status_of_failure(status));  // the launcher takes it as failure, and ends the other ranks
}

/// Puts back what signals did before: shmem_init of Open MPI catches some of these and does nothing. A rank that its
/// launcher wants to end would live on for a second, until the launcher kills it, and would report the others as lost.
class kept_signals {
 public:
  kept_signals() noexcept {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], nullptr, &before_[i]);
  }
  ~kept_signals() {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
  }
  kept_signals(const kept_signals&) = delete;
  kept_signals& operator=(const kept_signals&) = delete;

 private:
  static constexpr std::array<int, 6> numbers{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
  std::array<struct sigaction, numbers.size()> before_{};
};

/// Settings of Open MPI's OpenSHMEM that the user has not made. A launcher hands its own to the ranks by the same
/// variables, so they come first.
void prefer_settings() {
  const auto prefer = [](const char* name, const char* value) { static_cast<void>(::setenv(name, value, 0)); };
  // The standard's name, which Open MPI 4.1 does not read, for what it does.
  if (const char* const size = std::getenv("SHMEM_SYMMETRIC_SIZE")) prefer("SHMEM_SYMMETRIC_HEAP_SIZE", size);
  // Its hooks of mmap and the like crash in shmem_finalize.
  prefer("OMPI_MCA_memory", "^patcher");
  // Memory that UCX itself has made is the only one that it reaches directly from another process of the machine; to
  // any other one it sends messages, which wait until that process calls OpenSHMEM.
  prefer("OMPI_MCA_sshmem", "ucx");
  // Every other put that does not wait moves its messages: see let_library_work().
  prefer("OMPI_MCA_spml_ucx_nb_put_progress_thresh", "1");
}

}  // namespace

// --- the life of the job: shmem_init to shmem_finalize ---

shmem_carrier::shmem_carrier(const limits& time_limits)
    : network_carrier(engine_, liveness_, INT_MAX), liveness_(gate_, heartbeats_, time_limits) {
  constexpr const char* late = "has not called shunt::pgas::run() yet, or not come as far";
  auto& timer = liveness_.timer();
  const network::limited_wait wait(timer, "shmem_init", late);
  initialise();
  job().name = time_limits.name;
  job().rank = rank_;
  timer.enter("shmem_malloc", late);
  void* const memory = shmem_align(alignof(board), sizeof(board));
  if (memory == nullptr) {
    throw error(error_number(853),
                "the symmetric memory of OpenSHMEM has no room for " + std::to_string(sizeof(board)) +
                    " bytes: set SHMEM_SYMMETRIC_SIZE",
                {.rank = rank_});
  }
  board& own = *::new (memory) board;
  shmem_barrier_all();  // no rank puts anything into a board that is not built
  meetings_.open(own, rank_, ranks_);
  heartbeats_.open(gate_.enter(), own, rank_, ranks_);
  engine_.use(gate_.enter(), own, rank_, ranks_);
  timer.enter("the first exchange over OpenSHMEM", late);
  meet_processes();
  job().has_carrier = true;
}

/// Initialises OpenSHMEM, and makes sure that more than one thread may call it.
void shmem_carrier::initialise() {
  if (job().over) {
    throw usage_error(error_number(856),
                      "OpenSHMEM cannot begin again in a process: over the transport `shmem` it runs one job");
  }
  prefer_settings();
  int level = SHMEM_THREAD_SINGLE;
  int failed = 0;
  {
    const kept_signals kept;
    failed = shmem_init_thread(SHMEM_THREAD_SERIALIZED, &level);
  }
  if (failed == 0 && !job().is) {
    job().is = true;
    ::on_exit(end_without_finalising, nullptr);
  }
  if (failed != 0 || level < SHMEM_THREAD_SERIALIZED) {
    throw error(
        error_number(854),
        "this OpenSHMEM does not let several threads call it in turn: shmem_init_thread(SHMEM_THREAD_SERIALIZED) "
        "returned " +
            std::to_string(failed) + ", and level " + std::to_string(level));
  }
  rank_ = shmem_my_pe();
  ranks_ = shmem_n_pes();
}

shmem_carrier::~shmem_carrier() {
  job().has_carrier = false;
  const bool unwinding = is_unwinding();
  if (is_started() || !finalise(unwinding)) abandon();
}

/// The end of the job, in phases:
///
///   phase      a rank leaves it when              looked after by
///   gathering  all ranks are in the destructor    heartbeats
///   leaving    all ranks have ceased to watch     time; from here on a process may end
///   finalise   OpenSHMEM is done                  time
///
/// \return false: OpenSHMEM failed, or an exception is under way and the other ranks do not come.
bool shmem_carrier::finalise(bool unwinding) try {
  if (!meetings_.meet(meeting::leave, wait_at_end(unwinding))) return false;
  auto& timer = liveness_.timer();
  const network::limited_wait wait(timer, "the end of the job, after the last message", "has left OpenSHMEM");
  liveness_.stop_watching(gate_.enter());
  static_cast<void>(meetings_.meet(meeting::leave, [] { return true; }));
  give_memory_back();
  timer.enter("shmem_finalize, with every message processed,", "has left OpenSHMEM");
  job().is = false;
  job().over = true;
  shmem_finalize();
  return true;
} catch (const std::exception& thrown) {
  complain(thrown);
  return false;
}

// --- the life of a service: the rest is network_carrier's ---

std::vector<std::string> shmem_carrier::exchange(const std::string& mine) { return meetings_.all_gather(mine); }

void shmem_carrier::gather_to_stop() {
  static_cast<void>(meetings_.meet(meeting::talk, [this] {
    liveness_.beat_while_stopping();
    return true;
  }));
}

void shmem_carrier::end_all(const network::gate::pass&, int status) noexcept { shmem_global_exit(status); }

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
