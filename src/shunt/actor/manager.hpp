/// The manager: makes actors, finds them, and ends them. An actor is called by plain methods.
///
/// ```cpp
/// struct counter { int add(int by) { return sum += by; } int sum = 0; };
/// shunt::manager all;
/// auto co = all.spawn<counter>({.name = "co"});       // a shunt::ref<counter>
/// co.tell<&counter::add>(3);
/// int sum = all.await(co.ask<&counter::add>(4));      // 7; inside of a fiber: .get()
/// ```
///
/// An actor is an object of any class. Its methods are called one at a time, on fibers of the worker where it was
/// spawned: so they may wait, for whatever a fiber may wait for; messages wait in its mailbox meanwhile, and the
/// worker's other actors go on. An actor without messages costs its object, and some 350 bytes: no fiber and no
/// mailbox.
///
/// Memory: 64 bytes for each message that waits in a mailbox. A mailbox holds at most its capacity and 64, and what was
/// on its way when it became full: from each other worker 8,192 messages (512 for each worker, if those are more than
/// 16), from threads 1,024. What was needed at most is kept until the manager ends.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>

#include <shunt/actor/detail/implementations.hpp>
#include <shunt/actor/mailbox.hpp>
#include <shunt/actor/proxy.hpp>
#include <shunt/actor/ref.hpp>
#include <shunt/actor/supervisor.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

/// What a manager is made with.
struct manager_options {
  /// Of workers of its own. They do not report that all of them sleep: that is what actors do.
  sched::options runtime{.stuck_after = std::chrono::nanoseconds(0)};

  /// Of the fibers that run handlers; 0: the runtime's. There are as many as handlers that wait, and two a worker.
  std::size_t stack_bytes = 0;

  /// How long the destructor waits for handlers to end before it names those that do not, once. 0: it does not.
  std::chrono::nanoseconds stop_after{5'000'000'000};

  /// Called with each dead letter, by the thread that finds it. Must neither throw, wait nor send.
  std::function<void(const dead_letter&)> on_dead_letter{};

  /// Called with a line about an actor that ended by an exception without a supervisor, or whose supervisor gave up,
  /// and about handlers that do not end. Must neither throw nor wait. Null: they are written to stderr.
  std::function<void(std::string_view)> report{};
};

/// What an actor is made with.
struct actor_options {
  std::string name{};                         ///< for find(), messages and reports
  int worker = -1;                            ///< where it lives: 0..workers()-1; -1: the workers in turn
  std::uint32_t capacity = default_capacity;  ///< messages its mailbox holds, at least 1
  overflow when_full = overflow::suspend;     ///< what happens to a message for which there is no room
  supervisor under{};                         ///< decides when it fails; null: it ends then
  bool restarts = true;                       ///< false: it ends when it fails (OTP's temporary)
  /// The line that errors name: where the options are made, by braces. Programs leave it out.
  std::source_location where = std::source_location::current();
};

/// Any thread and any fiber may call anything, unless said otherwise.
class manager {
 public:
  /// With workers of its own, on threads that it starts. \throws what sched::runtime and its run() throw.
  explicit manager(manager_options wanted = {}, std::source_location where = std::source_location::current());
  /// The same, with the other options as they are by default.
  explicit manager(const sched::options& workers, std::source_location where = std::source_location::current());
  /// On the workers of `on`. A fiber of its run(), which must also end the manager. \throws usage_error elsewhere, or
  /// if there is a manager on these workers already.
  explicit manager(sched::runtime& on, manager_options wanted = {},
                   std::source_location where = std::source_location::current());

  /// Not a handler. As stop(), without a limit in time: all actors have ended, and all refs are void.
  ~manager();
  manager(const manager&) = delete;
  manager& operator=(const manager&) = delete;

  /// Workers that its actors live on, at least 1.
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(system_->dispatchers().size()); }

  /// Makes an actor: a T(arguments...), here and now. Under a supervisor the arguments are kept, and must be
  /// copyable. A name that a living actor has already means the new one from now on.
  /// \throws what T's constructor throws; usage_error for options out of range, or arguments that cannot be kept;
  ///         error after stop(), or if the supervisor has given up; std::bad_alloc.
  template <typename T, typename... A>
    requires std::constructible_from<T, A...> && std::is_nothrow_destructible_v<T>
  ref<T> spawn(actor_options how = {}, A&&... arguments) {
    using namespace detail;
    if (how.capacity == 0) refuse_capacity(how.where);
    dispatcher& at = system_->choose(how.worker, how.where);
    auto about = std::make_unique<lifecycle>();
    about->name = std::move(how.name);
    about->destroy = [](void* p) noexcept { static_cast<T*>(p)->~T(); };
    about->free = [](void* p) noexcept { ::operator delete(p, std::align_val_t(alignof(T))); };
    about->restarts = how.restarts;
    if (how.under && how.restarts) about->construct = maker<T, std::decay_t<A>...>(how.where, arguments...);
    about->supervisor = how.under.state_;
    void* const room = ::operator new(sizeof(T), std::align_val_t(alignof(T)));
    try {
      ::new (room) T(std::forward<A>(arguments)...);
    } catch (...) {
      about->free(room);
      throw;
    }
    return ref<T>(enter(at, std::move(about), room, how, std::type_index(typeid(T))));
  }

  /// Chosen for arguments of which no T is made.
  template <typename T, typename... A>
    requires(!(std::constructible_from<T, A...> && std::is_nothrow_destructible_v<T>))
  ref<T> spawn(actor_options = {}, A&&...) {
    static_assert(std::is_nothrow_destructible_v<T>, "spawn: the class needs a public destructor that does not throw");
    static_assert(std::constructible_from<T, A...> || !std::is_nothrow_destructible_v<T>,
                  "spawn: the class has no public constructor that takes these arguments: spawn<T>(options, A...)");
    return {};
  }

  /// From now on create<I>() makes a T(arguments...), each time with copies of them. An earlier implementation of the
  /// interface is replaced; actors that were made stay. `arguments` are kept until the manager ends.
  template <typename I, also_a<I> T, typename... A>
    requires std::constructible_from<T, const std::decay_t<A>&...>
  void implement(A&&... arguments) {
    implementations_.set(std::type_index(typeid(I)),
                         [this, kept = std::tuple<std::decay_t<A>...>(std::forward<A>(arguments)...)](
                             actor_options how) -> detail::address {
                           return std::apply(
                               [&](const auto&... k) {
                                 const ref<I> made = spawn<T>(std::move(how), k...);
                                 return made.address_;
                               },
                               kept);
                         });
  }
  /// Makes an actor of the class that implement<I>() has named. \throws what spawn() throws; usage_error: none was.
  template <typename I>
  ref<I> create(actor_options how = {}) {
    const auto make = implementations_.of(std::type_index(typeid(I)));
    if (make == nullptr) detail::throw_no_implementation(typeid(I), how.where);
    return ref<I>((*make)(std::move(how)));
  }

  /// \return the living actor of that name; a null ref if there is none. \throws usage_error if it was spawned as
  /// another class.
  template <typename T>
  [[nodiscard]] ref<T> find(const std::string& name,
                            std::source_location where = std::source_location::current()) const {
    return ref<T>(system_->names().find(name, std::type_index(typeid(T)), {"find", where}));
  }

  /// The actor ends before its next message; messages in its mailbox become dead letters, and fibers that asked get
  /// `unanswered`. Does not wait for it. Exempt from the mailbox's bound. Does nothing if it has ended.
  template <typename T>
  void stop(const ref<T>& actor, std::source_location where = std::source_location::current()) {
    actor.must_not_be_null({"stop", where});
    actor.address_.to->home->call_soon(
        [a = actor.address_] { a.to->home->actors().request(*a.to, a.incarnation(), detail::request_end); });
  }

  /// Not a handler. Waits until no message is in a mailbox, on its way, or in a handler. Messages that threads and
  /// fibers outside of handlers send meanwhile may count or not; timers that have not fired do not count.
  void drain(std::source_location where = std::source_location::current()) {
    static_cast<void>(system_->drain(std::chrono::steady_clock::time_point::max(), {"drain", where}));
  }
  /// The same, so long at most. \return whether no message was left.
  [[nodiscard]] bool drain_for(std::chrono::nanoseconds time,
                               std::source_location where = std::source_location::current()) {
    return system_->drain(sched::after(time), {"drain_for", where});
  }

  /// Not a handler. Ends all actors, each before its next message, and waits for that. From then on spawn() throws.
  void stop(std::source_location where = std::source_location::current()) {
    static_cast<void>(system_->stop(std::chrono::steady_clock::time_point::max(), {"stop", where}));
  }
  /// The same, so long at most. \return whether all have ended; if not, they still will.
  [[nodiscard]] bool stop_for(std::chrono::nanoseconds time,
                              std::source_location where = std::source_location::current()) {
    return system_->stop(sched::after(time), {"stop_for", where});
  }

  /// \throws usage_error for a negative number of restarts.
  [[nodiscard]] supervisor supervise(const supervisor_options& how = {},
                                     std::source_location where = std::source_location::current());

  /// Waits for the result, as future::get(). \return a value.
  template <typename T>
  static T await(const future<T>& f, std::source_location where = std::source_location::current()) {
    return f.get(where);
  }

  /// Dead letters so far: messages that no handler got.
  [[nodiscard]] std::uint64_t dead_letters() const noexcept {
    return system_->dead_letters.load(std::memory_order_relaxed);  // relaxed: a count
  }
  /// Restarts of actors.
  [[nodiscard]] std::uint64_t restarts() const noexcept {
    return system_->restarts.load(std::memory_order_relaxed);  // relaxed: a count
  }
  /// Actors that live.
  [[nodiscard]] std::uint64_t actors() const noexcept {
    return system_->living.load(std::memory_order_relaxed);  // relaxed: a count
  }

 private:
  template <typename T, typename... Kept, typename... A>
  [[nodiscard]] static std::function<void(void*)> maker(std::source_location where, const A&... arguments) {
    if constexpr ((... && std::is_constructible_v<Kept, const A&>) && (... && std::is_copy_constructible_v<Kept>) &&
                  std::is_constructible_v<T, const Kept&...>) {
      return [kept = std::tuple<Kept...>(arguments...)](void* at) {
        std::apply([at](const Kept&... k) { ::new (at) T(k...); }, kept);
      };
    } else {
      refuse_arguments(where);
    }
  }

  [[noreturn, gnu::cold]] static void refuse_capacity(std::source_location where);
  [[noreturn, gnu::cold]] static void refuse_arguments(std::source_location where);
  detail::address enter(detail::dispatcher& at, std::unique_ptr<detail::lifecycle> about, void* object,
                        const actor_options& how, std::type_index is);

  std::unique_ptr<detail::actor_system> system_;
  detail::implementations implementations_;
};

}  // namespace actor

using actor::actor_options;
using actor::manager;
using actor::manager_options;

}  // namespace v1
}  // namespace shunt
