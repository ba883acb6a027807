/// All dispatchers of one manager, and what they share: the beginning and the end, and the wait until all is quiet.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <shunt/actor/detail/actor_names.hpp>
#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/actor/detail/outside_senders.hpp>
#include <shunt/actor/detail/timers.hpp>
#include <shunt/actor/detail/waiter.hpp>
#include <shunt/actor/mailbox.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// See manager_options.
struct settings {
  sched::options runtime;
  std::size_t stack_bytes = 0;
  std::chrono::nanoseconds stop_after{0};
  std::function<void(const dead_letter&)> on_dead_letter;
  std::function<void(std::string_view)> report;
};

/// The call of spawn() that was given options made at that line. Options that a program makes without braces have a
/// line of the library's: it is not known then.
[[nodiscard, gnu::cold]] call_site spawn_call(const std::source_location& where) noexcept;

/// Edges
///   `idled`  idle -> watcher                     what the dispatcher has counted
///   `left`   dispatcher_left -> end_dispatchers  what the dispatcher wrote
///   `ended`  actor_ended -> stop                 what the actor wrote
///
/// Both ends of `idled` are read-modify-writes of watchers_, so the later one sees the earlier one. A dispatcher that
/// comes after the watcher finds it counted, and wakes it. Each such write continues the release sequences of those
/// before it.
class actor_system {
 public:
  /// \param on  null: workers of its own. \param call  for errors
  actor_system(settings wanted, sched::runtime* on, call_site call = "manager");
  /// Ends all actors, and waits for that. Not in a handler.
  ~actor_system();
  actor_system(const actor_system&) = delete;
  actor_system& operator=(const actor_system&) = delete;

  // --- waiting until all is quiet ---

  /// Whether no message is on its way or in a handler. A dispatcher stores its done_ after the sent_ of all that its
  /// handlers sent, and this reads done_ first: so if all done equal all sent, nothing is left.
  [[nodiscard]] bool quiet() const noexcept;
  /// A dispatcher goes idle: a thread that asks later sees all that it counted, and one that has asked is woken.
  void idle() noexcept;
  [[nodiscard]] bool drain(std::chrono::steady_clock::time_point deadline, call_site call = "drain");
  [[nodiscard]] bool stop(std::chrono::steady_clock::time_point deadline, call_site call = "stop");

  // --- what the parts report ---

  void actor_ended() noexcept;
  /// A dispatcher has begun, and then left.
  void dispatcher_begun() noexcept;
  void dispatcher_left() noexcept;
  /// The same of the clock.
  void clock_begun() noexcept;
  void clock_left() noexcept;
  /// A dispatcher, or the clock, could not begin, for that reason.
  void report_begun(const std::exception_ptr& failure) noexcept;
  /// activity_counts.D2, of controls.
  void count_sent() noexcept {
    sent_outside_.fetch_add(1, std::memory_order_relaxed);  // relaxed: what hands the message over publishes it
  }

  /// A message that no handler will get ends: a dead letter. `m` is empty afterwards. May wait, by the program's code.
  void end_dead(envelope& m, std::string_view actor, std::string_view why) noexcept;
  void say(const std::string& line) const noexcept;
  /// Whether the end of an actor with this text is reported. A deadlock fails all actors of its circle, one after the
  /// other and with the same text: it is reported once in a row. Takes the lock.
  [[nodiscard]] bool is_news(const std::string& text);

  /// \param worker  -1: any, in turn. \param where  of the actor's options. \throws usage_error if there is none of
  /// that number.
  [[nodiscard]] dispatcher& choose(int worker, std::source_location where = {});
  [[nodiscard]] const settings& wanted() const noexcept { return wanted_; }
  [[nodiscard]] sched::runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] const std::vector<std::unique_ptr<dispatcher>>& dispatchers() const noexcept { return dispatchers_; }
  [[nodiscard]] actor_names& names() noexcept { return names_; }
  [[nodiscard]] outside_senders& outside() noexcept { return outside_; }
  [[nodiscard]] timers& clock() noexcept { return timers_; }

  std::atomic<std::uint64_t> dead_letters{0};
  std::atomic<std::uint64_t> restarts{0};
  std::atomic<std::uint64_t> living{0};

 private:
  struct watcher;
  void run_on_own_workers();
  void start_thread(call_site call);
  void start();
  void end_dispatchers();
  [[nodiscard]] bool wait_until(const std::function<bool()>& so, std::chrono::steady_clock::time_point deadline,
                                const char* what, call_site call);

  settings wanted_;
  std::unique_ptr<sched::runtime> own_;
  sched::runtime* runtime_;
  outside_senders outside_;  // its rings outlive the dispatchers that look into them
  std::vector<std::unique_ptr<dispatcher>> dispatchers_;
  std::thread thread_;
  std::exception_ptr failure_;

  std::atomic<std::uint64_t> next_worker_{0};
  std::atomic<int> open_dispatchers_{0};    // begun, and not left
  std::atomic<std::uint32_t> watchers_{0};  // threads and fibers that wait for a change; see idle()
  std::atomic<std::uint64_t> sent_outside_{0};

  std::mutex lock_;  // guards what follows
  listed_waiter* watching_ = nullptr;
  int begun_ = 0;          // dispatchers that have begun, or could not; and the clock
  bool run_over_ = false;  // of a runtime of its own
  bool clock_runs_ = false;
  std::string told_deadlock_;  // the last one

  actor_names names_;
  timers timers_;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
