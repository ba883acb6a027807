#include <shunt/rail/line.hpp>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

void station::wake_all(progress& p) noexcept {
  // Cleared before they are woken: a station that falls asleep later sets it anew, and either this thread sees it
  // asleep below, or it sees what was published when it looks once more.
  // seq_cst: pair `slept`. Several stations store this flag. The exchange reads the last store, and synchronizes with
  // that station alone; the one whose store was overwritten is found asleep because of the order of all four.
  p.watched_.exchange(0, std::memory_order_seq_cst);
  for (station* const s : p.sleepers_) s->wake();
}

bool source::refresh() noexcept {
  if (!track_.wanted_.load(std::memory_order_seq_cst)) return false;  // edge `told`; seq_cst: see line::tell()
  auto least = progress::count;
  for (const progress* const sink : track_.sinks_) {
    const auto seen = sink->read();  // edge `emptied`
    if ((seen & progress::away) == 0) least = std::min(least, seen & progress::count);
  }
  if (least == progress::count) return false;  // nobody unloads; who left last has told, or is about to
  limit_ = least + track_.trains();
  return next_ != limit_;
}

poll_result source::look() noexcept {
  if (!track_.wanted_.load(std::memory_order_seq_cst))
    return poll_result::ended;  // edge `told`; seq_cst: see line::tell()
  return board() ? poll_result::train : poll_result::nothing;
}

void source::watch() noexcept {
  begin_watch();
  for (progress* const sink : track_.sinks_) station::watch(*sink);
  end_watch();
}

void source::end(bool by_failure) noexcept {
  if ((track_.loaded_.own() & progress::ended) != 0) return;
  publish(track_.loaded_, next_ | progress::ended | (by_failure ? progress::failed : 0));
}

std::uint64_t way::before() const noexcept {
  if (first_) return on_->loaded_.read();
  std::uint64_t least = progress::count, flags = 0;
  for (const progress* const p : before_) {
    const auto seen = p->read();  // edge `passed`
    const auto far = seen & progress::count;
    if (far < least) flags = 0;
    if (far <= least) {
      least = far;
      flags |= seen & ~progress::count;
    }
  }
  return least | flags;
}

bool way::refresh() noexcept {
  limit_ = before() & progress::count;
  return next_ != limit_;
}

bool stop::arrive_anywhere(std::uint64_t& goods) noexcept {
  if (row_ != 0 && here_->here(goods)) return true;
  row_ = most_in_a_row;
  for (std::size_t i = 0; i != ways_.size(); ++i) {
    turn_ = turn_ + 1 == ways_.size() ? 0 : turn_ + 1;
    if (!ways_[turn_].over_ && ways_[turn_].here(goods)) {
      here_ = &ways_[turn_];
      return true;
    }
  }
  return false;
}

poll_result stop::look() noexcept {
  std::uint64_t goods = 0;
  if (arrive(goods)) return poll_result::train;
  auto seen = poll_result::ended;
  for (way& w : ways_) {
    if (w.over_) continue;
    const auto before = w.before();  // after the look above: a train that left before the end was seen is found again
    if ((before & progress::count) != w.next_ || (before & progress::ended) == 0) {
      if (seen == poll_result::ended) seen = poll_result::nothing;
    } else if ((before & progress::failed) != 0) {
      seen = poll_result::failed;
    } else {
      w.over_ = true;
    }
  }
  return seen;
}

void stop::watch() noexcept {
  begin_watch();
  for (way& w : ways_) {
    if (w.first_) station::watch(w.on_->loaded_);
    for (progress* const p : w.before_) station::watch(*p);
  }
  end_watch();
}

void stop::end(bool by_failure) noexcept {
  for (way& w : ways_) {
    if ((w.own_->own() & progress::ended) != 0) continue;
    const auto before = w.before();
    const bool all = (before & progress::ended) != 0 && (before & progress::count) == w.next_;
    auto flags = progress::ended | (by_failure || (all && (before & progress::failed) != 0) ? progress::failed : 0);
    if (!all && sink_) flags |= progress::away;
    publish(*w.own_, w.next_ | flags);
    if (all) continue;
    // relaxed: only counts; whoever is the last tells.
    const bool last = sink_ && w.on_->gone_.fetch_add(1, std::memory_order_relaxed) + 1 == w.on_->sinks_.size();
    if (by_failure || !sink_ || last) line::tell(*w.on_);
  }
}

std::uint64_t stop::departed() const noexcept {
  std::uint64_t sum = 0;
  for (const way& w : ways_) sum += w.own_->read() & progress::count;
  return sum;
}

std::uint64_t stop::waiting() const noexcept {
  std::uint64_t sum = 0;
  for (const way& w : ways_) {
    const auto passed = w.own_->read() & progress::count;  // first: what left the source since then is waiting too
    sum += (w.on_->loaded_.read() & progress::count) - passed;
  }
  return sum;
}

source& line::add_source(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_signs) {
  sources_.emplace_back(new source(trains, train_bytes, alignment, with_signs));
  return *sources_.back();
}

stop& line::add_stop(const std::vector<station*>& after) {
  SHUNT_ASSERT(!after.empty());
  stops_.emplace_back(new stop);
  stop& made = *stops_.back();
  const auto way_on = [&](track& t) -> way& {
    for (way& w : made.ways_) {
      if (w.on_ == &t) return w;
    }
    made.ways_.push_back(way(t));
    t.sinks_.push_back(made.ways_.back().own_.get());
    station::listen(*made.ways_.back().own_, *t.owner_);
    return made.ways_.back();
  };
  for (station* const s : after) {
    if (auto* const from = dynamic_cast<source*>(s)) {
      static_cast<void>(way_on(from->track_));
      continue;
    }
    auto& from = static_cast<stop&>(*s);
    from.sink_ = false;
    for (way& behind : from.ways_) {
      way& w = way_on(*behind.on_);
      w.first_ = w.by_sign_ = false;
      w.before_.push_back(behind.own_.get());
      station::listen(*behind.own_, made);
      if (std::erase(behind.on_->sinks_, behind.own_.get()) != 0) station::forget(*behind.own_, *behind.on_->owner_);
    }
  }
  for (way& w : made.ways_) {
    if (w.first_) station::listen(w.on_->loaded_, made);
  }
  made.here_ = &made.ways_.front();
  return made;
}

void line::tell(track& t) noexcept {
  // A Dekker pair with the source that falls asleep: it stores `asleep`, then reads `wanted`; here the other way round.
  t.wanted_.store(false, std::memory_order_seq_cst);
  t.owner_->wake();
}

void line::stop_all() noexcept {
  for (const auto& s : sources_) tell(s->track_);
}

void line::fail(std::exception_ptr what) noexcept {
  const std::lock_guard hold(failure_lock_);
  if (!failure_) failure_ = std::move(what);
}

std::exception_ptr line::failure() const noexcept {
  const std::lock_guard hold(failure_lock_);
  return failure_;
}

}  // namespace rail
}  // namespace v1
}  // namespace shunt
