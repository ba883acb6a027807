/// The thread that watches this process's waits where the program does not (invariant network.N2 of carrier.hpp).
///
/// It does one of two things, every 200 ms:
///
///   the transport waits in a call that no heartbeat leaves (MPI_Init, MPI_Finalize)   measures time, against a limit
///   else                                                                              calls the beat function
///
/// Time counts in steps of at most a fifth of the limit, so a process that was itself stopped does not take that for
/// the silence of others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <shunt/transport/detail/siblings.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// Any thread. Says why on standard error, and ends this process with a status that every launcher takes as the end of
/// the job. A rank other than 0 waits first, since all ranks see the same loss: the first one to say it ends the job.
/// \param name  of the application; empty: none
/// \param rank  of this process; -1: unknown
[[noreturn]] void end_job(const std::string& name, int rank, const std::string& why) noexcept;

/// A thread that ends the process if a collective call takes longer than it may.
class watchdog {
 public:
  /// Starts the thread.
  /// \param beat  called by the thread when no limited wait is under way; must not throw
  watchdog(const limits& time_limits, std::function<void()> beat);
  /// Ends the thread.
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// The calling thread enters `call`, and leaves it before the limit `gather`, or this process ends. One thread at a
  /// time; a second enter() starts the time anew.
  /// \param missing_watchdog  what it means for another rank that it has no such thread
  void enter(const char* call, const char* missing_watchdog);
  /// The thread that called enter(): the wait is over.
  void leave();

  /// Of the application, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return limits_.name; }

 private:
  void run() noexcept;
  [[noreturn]] void expire() noexcept;

  const limits limits_;
  const detail::self self_;  // by the launcher's variables: MPI does not say it yet
  const std::function<void()> beat_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool over_ = false;
  const char* call_ = nullptr;  // null: no limited wait is under way
  const char* missing_watchdog_ = "";
  std::chrono::nanoseconds waited_{0};
  std::chrono::steady_clock::time_point last_{};  // when waited_ was brought up to date
  std::thread thread_;                            // last: it uses all of the above
};

/// A wait of a scope that has a limit.
class limited_wait {
 public:
  /// See watchdog::enter().
  limited_wait(watchdog& by, const char* call, const char* missing_watchdog) : by_(by) {
    by_.enter(call, missing_watchdog);
  }
  ~limited_wait() { by_.leave(); }
  limited_wait(const limited_wait&) = delete;
  limited_wait& operator=(const limited_wait&) = delete;

 private:
  watchdog& by_;
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
