/// All stations of one manager, and what they share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <typeindex>
#include <vector>

#include <shunt/actor/detail/station.hpp>
#include <shunt/actor/mailbox.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

/// A message that will be sent when its time has come. At most one of a timer is under way.
struct timed {
  virtual ~timed() = default;
  /// The clock's fiber. Sends, exempt from the mailbox's bound, unless the last one is still under way.
  virtual void fire(const std::shared_ptr<timed>& self) = 0;
  std::chrono::nanoseconds period{0};  // 0: once
  std::atomic<bool> cancelled{false};  // any thread's
  std::atomic<bool> under_way{false};
};

/// Who fails under it is made anew, until it is too often.
struct supervisor_state {
  enum class verdict : std::uint8_t { anew, end };

  std::string name;
  bool all = false;  // all for one
  std::size_t most = 0;
  std::chrono::nanoseconds within{0};
  std::shared_ptr<supervisor_state> above;

  /// Any thread. Of a child: `who`, or a supervisor below (null). Others are told what they have to do.
  verdict failure(const cell* who, const supervisor_state* below);
  void adopt(cell& c, std::uint32_t life);
  void adopt(const std::shared_ptr<supervisor_state>& below);
  void forget(const cell& c) noexcept;

 private:
  void wish_for_others(const cell* who, const supervisor_state* below, duty w);
  void wish_for_all(duty w) { wish_for_others(nullptr, nullptr, w); }

  struct member {
    cell* who;
    std::uint32_t life;
  };
  std::mutex lock_;
  std::vector<member> children_;
  std::vector<std::weak_ptr<supervisor_state>> below_;
  std::vector<std::chrono::steady_clock::time_point> failures_;
  bool given_up_ = false;
};

struct settings {
  sched::options runtime;
  std::size_t stack_bytes = 0;
  std::chrono::nanoseconds stop_after{0};
  std::function<void(const dead_letter&)> on_dead_letter;
  std::function<void(std::string_view)> report;
};

class hall {
 public:
  /// \param on  null: workers of its own.
  hall(settings wanted, sched::runtime* on);
  /// Ends all actors, and waits for that. Not in a handler.
  ~hall();
  hall(const hall&) = delete;
  hall& operator=(const hall&) = delete;

  /// Whether no message is on its way or in a handler. Whoever's done_ is read has stored it after the sent_ of all
  /// that its handlers sent: so if all done equal all sent, and done was read first, nothing is left (as in sched's
  /// crew::all_ended()).
  [[nodiscard]] bool quiet() const noexcept;
  /// An engine that goes idle: all that it counted is visible to who asks later, and who has asked is told.
  void idle() noexcept;
  [[nodiscard]] bool drain(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool stop(std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] station& choose(int worker);
  void bear(const std::string& name, const address& who, std::type_index is);
  [[nodiscard]] address find(const std::string& name, std::type_index is) const;
  void forget(const std::string& name, const cell& who) noexcept;
  void actor_ended() noexcept;
  void station_begun() noexcept;
  /// A station, or the clock, has begun; or could not, for that reason.
  void report_begun(const std::exception_ptr& failure) noexcept;
  void station_left() noexcept;

  void send_outside(slot& m);
  /// S4. relaxed: what hands the message over publishes it.
  void count_sent() noexcept { sent_outside_.fetch_add(1, std::memory_order_relaxed); }
  void dead(const dead_letter& what) noexcept;
  void say(const std::string& line) const noexcept;
  /// Whether an actor that ends with this text is told of. A deadlock fails all actors of its circle, one after the
  /// other and with the same text: it is told once in a row. Takes the lock.
  [[nodiscard]] bool is_news(const std::string& text);
  void schedule(const std::shared_ptr<timed>& what, std::chrono::steady_clock::time_point when);

  [[nodiscard]] const settings& wanted() const noexcept { return wanted_; }
  [[nodiscard]] sched::runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] const std::vector<std::unique_ptr<station>>& stations() const noexcept { return stations_; }

  std::atomic<std::uint64_t> dead_letters{0};
  std::atomic<std::uint64_t> restarts{0};
  std::atomic<std::uint64_t> living{0};

 private:
  struct watcher;
  static void trains_came_home(void* self) noexcept;
  void start();
  void end_stations();
  void keep_time();
  void wake_all(waiter*& list) noexcept;
  [[nodiscard]] bool wait_until(const std::function<bool()>& so, std::chrono::steady_clock::time_point deadline,
                                const char* what);

  settings wanted_;
  std::unique_ptr<sched::runtime> own_;
  sched::runtime* runtime_;
  std::vector<std::unique_ptr<station>> stations_;
  std::thread thread_;
  std::exception_ptr failure_;

  std::atomic<std::uint64_t> turn_{0};
  std::atomic<int> open_stations_{0};       // begun, and not left
  std::atomic<std::uint32_t> watchers_{0};  // who waits for a change; see idle()

  mutable std::mutex lock_;  // what follows
  waiter* watching_ = nullptr;
  int begun_ = 0;          // stations that have begun, or could not; and the clock
  bool run_over_ = false;  // of a runtime of its own
  bool clock_runs_ = false;
  struct named {
    address who;
    std::type_index is;
  };
  std::map<std::string, named, std::less<>> names_;
  std::multimap<std::chrono::steady_clock::time_point, std::shared_ptr<timed>> timers_;
  sched::waker clock_;
  bool clock_over_ = false;
  std::string told_deadlock_;  // the last one

  // Senders that are none of our fibers: trains of one message.
  std::mutex outside_lock_;
  std::atomic<std::uint64_t> sent_outside_{0};
  rail::train_inbox outside_;
  rail::train_pool outside_pool_;
  bool outside_armed_ = false;
  waiter* outside_waiting_ = nullptr;
};

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
