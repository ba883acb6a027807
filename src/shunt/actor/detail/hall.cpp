#include <shunt/actor/detail/hall.hpp>

#include <algorithm>
#include <cstdio>
#include <system_error>

#include <shunt/base/memory_limit.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

using std::chrono::steady_clock;

// --- beginning and end ---

hall::hall(settings wanted, sched::runtime* on)
    : wanted_(std::move(wanted)),
      own_(on == nullptr ? std::make_unique<sched::runtime>(wanted_.runtime) : nullptr),
      runtime_(on == nullptr ? own_.get() : on),
      outside_(&trains_came_home, this),
      outside_pool_(outside_, longest_message, 1024, 2048, 1024) {
  sched::detail::check_stack("actors: stack_bytes", wanted_.stack_bytes);
  const int workers = runtime_->workers();
  for (int i = 0; i < workers; ++i) stations_.push_back(std::make_unique<station>(*this, i, workers));
  if (own_ == nullptr) {
    start();
  } else {
    const auto work = [this] {
      try {
        runtime_->run([this] { start(); });
      } catch (...) {
        const std::scoped_lock held(lock_);
        if (failure_ == nullptr) failure_ = std::current_exception();
      }
      const std::scoped_lock held(lock_);
      run_over_ = true;
      wake_all(watching_);
    };
    try {
      thread_ = std::thread(work);
    } catch (const std::system_error& refused) {
      throw error(
          std::string("manager: cannot start its first thread: ") + refused.what() + "; " + thread_limit_in_force(),
          error::facts{-1, -1, refused.code().value()});
    }
  }
  const auto begun = [&] { return begun_ == workers + 1 || run_over_; };
  static_cast<void>(wait_until(begun, steady_clock::time_point::max(), "its workers"));
  std::exception_ptr failure;
  {
    const std::scoped_lock held(lock_);
    failure = failure_;
  }
  if (failure != nullptr) {
    end_stations();
    std::rethrow_exception(failure);
  }
}

/// A fiber of the runtime. All that is made here reports that it has begun, or why it could not: the constructor waits
/// for that.
void hall::start() {
  for (const auto& s : stations_) {
    try {
      // Without a stack as well: it waits for nothing.
      runtime_->spawn([at = s.get()] { at->begin(); }, {.worker = s->index(), .even_without_stack = true});
    } catch (...) {
      report_begun(std::current_exception());
    }
  }
  station& first = *stations_[0];
  try {
    runtime_->spawn(
        [this, &first] {
          ++first.fibers_;
          keep_time();
        },
        {.worker = 0, .name = "actors' clock", .even_without_stack = true});
  } catch (...) {
    report_begun(std::current_exception());
  }
}

void hall::report_begun(const std::exception_ptr& failure) noexcept {
  const std::scoped_lock held(lock_);
  ++begun_;
  if (failure != nullptr && failure_ == nullptr) failure_ = failure;
  wake_all(watching_);
}

hall::~hall() {
  if (wanted_.stop_after > std::chrono::nanoseconds::zero() && !stop(sched::after(wanted_.stop_after))) {
    std::string busy;
    for (const auto& s : stations_) s->append_busy(busy);
    say("the manager waits for handlers that do not end: of actors " + busy);
  }
  static_cast<void>(stop(steady_clock::time_point::max()));
  static_cast<void>(drain(steady_clock::time_point::max()));
  end_stations();
}

/// Those that have begun.
void hall::end_stations() {
  sched::waker clock;
  {
    const std::scoped_lock held(lock_);
    clock_over_ = true;
    clock = clock_;
    timers_.clear();
  }
  clock.wake();
  for (const auto& s : stations_) {
    if (s->has_begun()) s->at_home([at = s.get()] { at->leave(); });
  }
  if (own_ != nullptr) {
    thread_.join();
  } else {
    const auto left = [this] { return open_stations_.load(std::memory_order_acquire) == 0 && !clock_runs_; };
    static_cast<void>(wait_until(left, steady_clock::time_point::max(), "its workers"));
  }
}

void hall::station_begun() noexcept {
  const std::scoped_lock held(lock_);
  open_stations_.fetch_add(1, std::memory_order_acq_rel);  // pairs with end_stations()'s load
  ++begun_;
  wake_all(watching_);
}

void hall::station_left() noexcept {
  const std::scoped_lock held(lock_);
  open_stations_.fetch_sub(1, std::memory_order_acq_rel);  // pairs with end_stations()'s load
  wake_all(watching_);
}

// --- who waits for a change ---

void hall::wake_all(waiter*& list) noexcept {
  for (waiter* w = std::exchange(list, nullptr); w != nullptr;) {
    waiter* const next = w->next;
    w->wake();
    w = next;
  }
}

/// Counted among who waits for a change, from its first look to its last.
struct hall::watcher : waiter {
  explicit watcher(hall& in) : of(in) {
    of.watchers_.fetch_add(1, std::memory_order_acq_rel);  // as in idle(): one of the two sees the other
  }
  ~watcher() {
    of.watchers_.fetch_sub(1, std::memory_order_acq_rel);
    if (woken()) return;  // and so not listed any more
    const std::scoped_lock held(of.lock_);
    for (waiter** at = &of.watching_; *at != nullptr; at = &(*at)->next) {
      if (*at != this) continue;
      *at = next;
      return;
    }
  }
  hall& of;
};

bool hall::wait_until(const std::function<bool()>& so, steady_clock::time_point deadline, const char* what) {
  for (bool in_time = true;;) {
    watcher me(*this);
    {
      const std::scoped_lock held(lock_);
      if (so()) return true;
      if (!in_time) return false;
      me.next = std::exchange(watching_, &me);
    }
    in_time = me.sleep_until(deadline, what);
  }
}

void hall::idle() noexcept {
  // acq_rel: the exchanges on this word are in one order. Who idles last sees the counts of all who idled before; and
  // whoever waits sees them, if its own exchange came later, or is seen here.
  if (watchers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  const std::scoped_lock held(lock_);
  wake_all(watching_);
}

bool hall::quiet() const noexcept {
  std::uint64_t done = 0;
  for (const auto& s : stations_) done += s->done();
  std::uint64_t sent = sent_outside_.load(std::memory_order_relaxed);  // relaxed: S4, seen with what was counted done
  for (const auto& s : stations_) sent += s->sent();
  return done == sent;
}

bool hall::drain(steady_clock::time_point deadline) {
  return wait_until([this] { return quiet(); }, deadline, "messages to be handled");
}

bool hall::stop(steady_clock::time_point deadline) {
  // Nothing is born any more from here on, however long a station keeps its worker from what follows.
  for (const auto& s : stations_) s->close();
  for (const auto& s : stations_) s->at_home([at = s.get()] { at->end_all(); });
  return wait_until([this] { return living.load(std::memory_order_acquire) == 0 && quiet(); }, deadline,
                    "actors to end");
}

void hall::actor_ended() noexcept {
  living.fetch_sub(1,
                   std::memory_order_acq_rel);  // pairs with stop()'s load; who waits is woken when this engine idles
}

// --- names ---

station& hall::choose(int worker) {
  const auto count = stations_.size();
  if (worker < -1 || worker >= static_cast<int>(count)) {
    throw usage_error("spawn: worker " + std::to_string(worker) + " of 0.." + std::to_string(count - 1));
  }
  const auto index = worker >= 0 ? static_cast<std::size_t>(worker)
                                 : turn_.fetch_add(1, std::memory_order_relaxed) % count;  // relaxed: any order will do
  return *stations_[index];
}

void hall::bear(const std::string& name, const address& who, std::type_index is) {
  if (name.empty()) return;
  const std::scoped_lock held(lock_);
  names_.insert_or_assign(name, named{who, is});
}

address hall::find(const std::string& name, std::type_index is) const {
  const std::scoped_lock held(lock_);
  const auto found = names_.find(name);
  if (found == names_.end()) return {};
  if (found->second.is != is) {
    throw usage_error("find: actor `" + name + "` is of another class than the one asked for");
  }
  return found->second.who;
}

void hall::forget(const std::string& name, const cell& who) noexcept {
  if (name.empty()) return;
  const std::scoped_lock held(lock_);
  const auto found = names_.find(name);
  if (found != names_.end() && found->second.who.to == &who) names_.erase(found);
}

// --- senders that are none of our fibers ---

void hall::send_outside(slot& m) {
  cell& c = *m.to;
  for (;;) {
    waiter w;
    {
      const std::scoped_lock held(outside_lock_);
      for (rail::train* t = outside_.arrivals(); t != nullptr;) {
        rail::train* const next = t->next;
        outside_pool_.put(*t);
        t = next;
      }
      if (rail::train* const t = outside_pool_.take(0)) {
        loader load;
        load.begin(*t, 1);
        static_cast<void>(load.couple(c, m.which, *m.what));  // has room
        m.what->move_arguments(m.room_, load.place());
        static_cast<void>(load.step(m.what->bytes));
        load.end(*t);
        count_sent();
        return c.home->train_inbox_.deliver(*t);
      }
      if (!outside_armed_) {
        if (!outside_.arm()) continue;
        outside_armed_ = true;
      }
      if (sched::this_fiber::inside()) sched::this_fiber::require_wait("tell");  // sleep() below does not throw, then
      w.next = std::exchange(outside_waiting_, &w);
    }
    w.sleep("a train to come home");
  }
}

void hall::trains_came_home(void* self) noexcept {
  hall& me = *static_cast<hall*>(self);
  const std::scoped_lock held(me.outside_lock_);
  me.outside_.disarm();
  me.outside_armed_ = false;
  me.wake_all(me.outside_waiting_);
}

// --- what is told to people ---

void hall::dead(const dead_letter& what) noexcept {
  dead_letters.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  if (wanted_.on_dead_letter) wanted_.on_dead_letter(what);
}

bool hall::is_news(const std::string& text) {
  if (text.find(": deadlock: actor ") == text.npos) return true;
  const std::scoped_lock held(lock_);
  if (told_deadlock_ == text) return false;
  told_deadlock_ = text;
  return true;
}

void hall::say(const std::string& line) const noexcept {
  if (wanted_.report) {
    wanted_.report(line + '\n');
  } else {
    std::fprintf(stderr, "shunt: %s\n", line.c_str());
  }
}

// --- timers ---

void hall::schedule(const std::shared_ptr<timed>& what, steady_clock::time_point when) {
  sched::waker clock;  // nobody, if it need not be woken, or has not begun: then it looks at all timers
  {
    const std::scoped_lock held(lock_);
    if (clock_over_) return;
    const auto at = timers_.emplace(when, what);
    if (at == timers_.begin()) clock = clock_;
  }
  if (!clock) return;
  station& home = *stations_[0];
  if (station::here() == &home) return clock.wake();
  // By its station's train inbox, which is looked at before each batch: a worker that is never idle looks for wakes of
  // other threads every 64 switches only, which may be as many batches.
  home.at_home([clock] { clock.wake(); });
}

/// The clock's fiber.
void hall::keep_time() {
  try {
    sched::this_fiber::require_stack();
  } catch (...) {
    report_begun(std::current_exception());
    return stations_[0]->fiber_left();
  }
  {
    const std::scoped_lock held(lock_);
    clock_ = sched::this_fiber::self();
    clock_runs_ = true;
  }
  report_begun(nullptr);
  for (;;) {
    auto next = steady_clock::time_point::max();
    std::vector<std::shared_ptr<timed>> due;
    {
      const std::scoped_lock held(lock_);
      if (clock_over_) break;
      const auto now = sched::now();
      while (!timers_.empty() && timers_.begin()->first <= now) {
        const auto node = timers_.extract(timers_.begin());
        const auto& t = node.mapped();
        if (t->cancelled.load(std::memory_order_relaxed)) continue;  // relaxed: a cancel that races is late
        due.push_back(t);
        // The next full period from now: those that were missed do not come in a crowd.
        if (t->period.count() > 0) timers_.emplace(node.key() + t->period * ((now - node.key()) / t->period + 1), t);
      }
      if (!timers_.empty()) next = timers_.begin()->first;
    }
    for (const auto& t : due) t->fire(t);
    if (due.empty()) static_cast<void>(sched::this_fiber::park_until(next, "the next timer"));
  }
  stations_[0]->fiber_left();
  const std::scoped_lock held(lock_);
  clock_runs_ = false;
  wake_all(watching_);
}

// --- supervisors ---

auto supervisor_state::failure(const cell* who, const supervisor_state* child) -> verdict {
  {
    const std::scoped_lock held(lock_);
    if (given_up_) return verdict::end;
    const auto now = sched::now();
    std::erase_if(failures_, [&](auto then) { return now - then > within; });
    failures_.push_back(now);
    if (failures_.size() <= most) {
      if (all) wish_for_others(who, child, wish_anew);
      return verdict::anew;
    }
  }
  // Too often: this one has failed itself.
  const bool again = above != nullptr && above->failure(nullptr, this) == verdict::anew;
  const std::scoped_lock held(lock_);
  failures_.clear();
  given_up_ = !again;
  wish_for_others(who, child, again ? wish_anew : wish_end);
  return again ? verdict::anew : verdict::end;
}

/// Under lock_.
void supervisor_state::wish_for_others(const cell* who, const supervisor_state* child, duty w) {
  for (const auto& c : children_) {
    if (c.who == who) continue;
    c.who->home->at_home([to = c.who, life = c.life, w] { to->home->wish_for(*to, life, w); });
  }
  for (const auto& b : below_) {
    const auto other = b.lock();
    if (other == nullptr || other.get() == child) continue;
    const std::scoped_lock held(other->lock_);
    other->failures_.clear();
    other->given_up_ = w == wish_end;
    other->wish_for_all(w);
  }
}

void supervisor_state::adopt(cell& c, std::uint32_t life) {
  const std::scoped_lock held(lock_);
  if (given_up_) throw error("spawn: supervisor `" + name + "` has given up");
  children_.push_back({&c, life});
}

void supervisor_state::adopt(const std::shared_ptr<supervisor_state>& child) {
  const std::scoped_lock held(lock_);
  std::erase_if(below_, [](const auto& b) { return b.expired(); });
  below_.push_back(child);
}

void supervisor_state::forget(const cell& c) noexcept {
  const std::scoped_lock held(lock_);
  std::erase_if(children_, [&](const member& each) { return each.who == &c; });
}

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
