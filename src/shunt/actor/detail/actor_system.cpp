#include <shunt/actor/detail/actor_system.hpp>

#include <cstdio>
#include <system_error>
#include <utility>

#include <shunt/base/memory_limit.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

using std::chrono::steady_clock;

// --- beginning and end ---

/// Starts all that has to run, and waits until each part has reported that it has begun, or why it could not.
actor_system::actor_system(settings wanted, sched::runtime* on, call_site call)
    : wanted_(std::move(wanted)),
      own_(on == nullptr ? std::make_unique<sched::runtime>(wanted_.runtime, call.where({})) : nullptr),
      runtime_(on == nullptr ? own_.get() : on),
      timers_(*this) {
  sched::detail::check_stack({"actors: stack_bytes", call.where({})}, wanted_.stack_bytes);
  const int workers = runtime_->workers();
  for (int i = 0; i < workers; ++i) dispatchers_.push_back(std::make_unique<dispatcher>(*this, i, workers));
  own_ == nullptr ? start() : start_thread(call);
  const auto begun = [&] { return begun_ == workers + 1 || run_over_; };
  static_cast<void>(wait_until(begun, steady_clock::time_point::max(), "its workers", call));
  std::exception_ptr failure;
  {
    const std::scoped_lock held(lock_);
    failure = failure_;
  }
  if (failure != nullptr) {
    end_dispatchers();
    std::rethrow_exception(failure);
  }
}

void actor_system::start_thread(call_site call) {
  try {
    thread_ = std::thread([this] { run_on_own_workers(); });
  } catch (const std::system_error& refused) {
    throw error(error_number(502),
                std::string("manager: cannot start its first thread: ") + refused.what() + "; " +
                    thread_limit_in_force() + call.place(),
                error::facts{-1, -1, refused.code().value()}, call.where());
  }
}

void actor_system::run_on_own_workers() {
  try {
    runtime_->run([this] { start(); });
  } catch (...) {
    const std::scoped_lock held(lock_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
  const std::scoped_lock held(lock_);
  run_over_ = true;
  wake_all(watching_);
}

/// A fiber of the runtime: spawns what begins each dispatcher, and the clock. Each of them reports that it has begun.
void actor_system::start() {
  for (const auto& d : dispatchers_) {
    try {
      // Without a stack as well: it waits for nothing.
      runtime_->spawn([at = d.get()] { at->begin(); }, {.worker = d->index(), .even_without_stack = true});
    } catch (...) {
      report_begun(std::current_exception());
    }
  }
  try {
    runtime_->spawn([this] { timers_.run_clock(); },
                    {.worker = 0, .name = "actors' clock", .even_without_stack = true});
  } catch (...) {
    report_begun(std::current_exception());
  }
}

void actor_system::report_begun(const std::exception_ptr& failure) noexcept {
  const std::scoped_lock held(lock_);
  ++begun_;
  if (failure != nullptr && failure_ == nullptr) failure_ = failure;
  wake_all(watching_);
}

actor_system::~actor_system() {
  if (wanted_.stop_after > std::chrono::nanoseconds::zero() && !stop(sched::after(wanted_.stop_after))) {
    std::string busy;
    for (const auto& d : dispatchers_) d->actors().append_busy(busy);
    say("the manager waits for handlers that do not end: of actors " + busy);
  }
  static_cast<void>(stop(steady_clock::time_point::max()));
  static_cast<void>(drain(steady_clock::time_point::max()));
  end_dispatchers();
}

/// Ends those that have begun, and waits until they have left.
void actor_system::end_dispatchers() {
  timers_.close();
  for (const auto& d : dispatchers_) {
    if (d->has_begun()) d->call_soon([at = d.get()] { at->handlers().end(); });
  }
  if (own_ != nullptr) {
    thread_.join();
  } else {
    // acquire: edge `left` in
    const auto left = [this] { return open_dispatchers_.load(std::memory_order_acquire) == 0 && !clock_runs_; };
    static_cast<void>(wait_until(left, steady_clock::time_point::max(), "its workers", "manager"));
  }
}

void actor_system::dispatcher_begun() noexcept {
  const std::scoped_lock held(lock_);
  open_dispatchers_.fetch_add(1, std::memory_order_acq_rel);  // acq_rel: edge `left`
  ++begun_;
  wake_all(watching_);
}

void actor_system::dispatcher_left() noexcept {
  const std::scoped_lock held(lock_);
  open_dispatchers_.fetch_sub(1, std::memory_order_acq_rel);  // acq_rel: edge `left` out
  wake_all(watching_);
}

void actor_system::clock_begun() noexcept {
  const std::scoped_lock held(lock_);
  clock_runs_ = true;
  ++begun_;
  wake_all(watching_);
}

void actor_system::clock_left() noexcept {
  const std::scoped_lock held(lock_);
  clock_runs_ = false;
  wake_all(watching_);
}

// --- waiting for a change ---

/// A thread or fiber that waits for a change; counted in watchers_ from its first look to its last.
struct actor_system::watcher : listed_waiter {
  explicit watcher(actor_system& in) : of(in) {
    // acquire: edge `idled` in, from dispatchers that came before. A later one finds this watcher counted; it reads
    // nothing else of it but under the lock, so the release half is more than the edge needs.
    of.watchers_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~watcher() {
    // It continues the release sequence of edge `idled`, as any read-modify-write does: the lock orders the rest, so
    // acq_rel is more than the edge needs.
    of.watchers_.fetch_sub(1, std::memory_order_acq_rel);
    if (woken()) return;  // and so not listed any more
    const std::scoped_lock held(of.lock_);
    for (listed_waiter** at = &of.watching_; *at != nullptr; at = &(*at)->next) {
      if (*at != this) continue;
      *at = next;
      return;
    }
  }
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  actor_system& of;
};

bool actor_system::wait_until(const std::function<bool()>& so, steady_clock::time_point deadline, const char* what,
                              call_site call) {
  for (bool in_time = true;;) {
    watcher me(*this);
    {
      const std::scoped_lock held(lock_);
      if (so()) return true;
      if (!in_time) return false;
      me.next = std::exchange(watching_, &me);
    }
    in_time = me.wait_until(deadline, what, call);
  }
}

void actor_system::idle() noexcept {
  // release: edge `idled` out. The exchanges on this word are in one order: a watcher sees these counts if its own
  // exchange came later; if it came earlier, it is seen here. acquire: the dispatcher that idles last sees the counts
  // of all that idled before.
  if (watchers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  const std::scoped_lock held(lock_);
  wake_all(watching_);
}

bool actor_system::quiet() const noexcept {
  const ring_list& rings = outside_.rings();
  const std::scoped_lock held(rings.lock());
  std::uint64_t done = rings.done();
  for (const auto& d : dispatchers_) done += d->counts().done();
  std::uint64_t sent = sent_outside_.load(std::memory_order_relaxed);  // relaxed: seen with what was counted done
  sent += rings.published();
  for (const auto& d : dispatchers_) sent += d->counts().sent();
  return done == sent;
}

bool actor_system::drain(steady_clock::time_point deadline, call_site call) {
  return wait_until([this] { return quiet(); }, deadline, "messages to be handled", call);
}

bool actor_system::stop(steady_clock::time_point deadline, call_site call) {
  // No actor is spawned from here on, however long a handler keeps its worker from what follows.
  for (const auto& d : dispatchers_) d->actors().close();
  for (const auto& d : dispatchers_) d->call_soon([at = d.get()] { at->actors().end_all(); });
  // acquire: edge `ended` in
  return wait_until([this] { return living.load(std::memory_order_acquire) == 0 && quiet(); }, deadline,
                    "actors to end", call);
}

void actor_system::actor_ended() noexcept {
  // acq_rel: edge `ended` out. A watcher is woken when this dispatcher idles.
  living.fetch_sub(1, std::memory_order_acq_rel);
}

call_site spawn_call(const std::source_location& where) noexcept {
  if (std::string_view(where.file_name()).ends_with("shunt/actor/manager.hpp")) return "spawn";
  return {"spawn", where};
}

dispatcher& actor_system::choose(int worker, std::source_location where) {
  const auto count = dispatchers_.size();
  if (worker < -1 || worker >= static_cast<int>(count)) {
    const call_site call = spawn_call(where);
    throw usage_error(error_number(503),
                      "spawn: worker " + std::to_string(worker) + " of 0.." + std::to_string(count - 1) + call.place(),
                      call.where());
  }
  const auto index = worker >= 0
                         ? static_cast<std::size_t>(worker)
                         : next_worker_.fetch_add(1, std::memory_order_relaxed) % count;  // relaxed: any order will do
  return *dispatchers_[index];
}

// --- what is told to people ---

void actor_system::end_dead(envelope& m, std::string_view actor, std::string_view why) noexcept {
  const dead_letter as{actor, m.ops->method, why};
  dead_letters.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  if (wanted_.on_dead_letter) wanted_.on_dead_letter(as);
  m.ops->drop(m, as);
  m.ops = nullptr;
}

bool actor_system::is_news(const std::string& text) {
  if (text.find(": deadlock: actor ") == text.npos) return true;
  const std::scoped_lock held(lock_);
  if (told_deadlock_ == text) return false;
  told_deadlock_ = text;
  return true;
}

void actor_system::say(const std::string& line) const noexcept {
  if (wanted_.report) {
    wanted_.report(line + '\n');
  } else {
    std::fprintf(stderr, "shunt: %s\n", line.c_str());
  }
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
