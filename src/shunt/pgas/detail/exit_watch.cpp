#include <shunt/pgas/detail/exit_watch.hpp>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <shunt/pgas/detail/job.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// What the handlers know. A handler keeps the lock until the process ends, so that the job stays while it is told.
struct knowledge {
  std::mutex guard;
  bool watched = false;
  std::string name;
  job* running = nullptr;
};

knowledge& now() {
  static knowledge& only = *new knowledge;  // never destroyed: exit() destroys static objects beside its handlers
  return only;
}

void exit_amid(const char* call) noexcept {
  auto& known = now();
  known.guard.lock();
  if (!known.watched) return known.guard.unlock();
  if (known.running != nullptr) {
    known.running->exited(call);  // comes back only where the job is being ended anyway
    return known.guard.unlock();
  }
  // MPI is just being initialised, or finalised, by another thread: MPI_Abort is no choice.
  const char* const rank = transport::rank_by_launcher();
  const std::string name = rank == nullptr ? "this process" : std::string("rank ") + rank;
  std::fprintf(stderr, "%s%s%s called %s while the job began or ended; the job ends\n", known.name.c_str(),
               known.name.empty() ? "" : ": ", name.c_str(), call);
  std::fflush(nullptr);
  transport::let_launcher_read();
  std::_Exit(EXIT_FAILURE);
}

void register_exit_handler() {
#if defined(__GLIBC__)
  static_cast<void>(on_exit(
      [](int status, void*) {
        char call[32];
        std::snprintf(call, sizeof call, "exit(%d)", status);
        exit_amid(call);
      },
      nullptr));
#else
  static_cast<void>(std::atexit([] { exit_amid("exit()"); }));
#endif
}

/// Once a process: handlers cannot be taken back. Those that are registered later run before them.
void register_handlers() {
  static const bool done = [] {
    now();
    register_exit_handler();
    static_cast<void>(std::at_quick_exit([] { exit_amid("quick_exit()"); }));
    return true;
  }();
  static_cast<void>(done);
}

/// Once a process, when the network's library is initialised: it may have registered a handler that waits for other
/// ranks, as OpenSHMEM does.
void register_before_library() {
  static const bool done = [] {
    register_exit_handler();
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

exit_watch::exit_watch(bool wanted, const std::string& name) : mine_(wanted) {
  if (!mine_) return;
  register_handlers();
  const std::lock_guard held(now().guard);
  now().watched = true;
  now().name = name;
}

exit_watch::~exit_watch() {
  if (!mine_) return;
  const std::lock_guard held(now().guard);
  now().watched = false;
}

exit_watch::serving::serving(job* of) : mine_(of != nullptr) {
  if (!mine_) return;
  register_before_library();
  const std::lock_guard held(now().guard);
  now().running = of;
}

exit_watch::serving::~serving() {
  if (!mine_) return;
  const std::lock_guard held(now().guard);
  now().running = nullptr;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
