#include <shunt/rail/line.hpp>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

void station::wake_all(progress& p) noexcept {
  // Cleared before the sleepers are woken: a station that falls asleep later sets it anew, and either this thread sees
  // it asleep below, or that station sees what was published when it polls once more.
  // seq_cst: pair `slept`. Several stations store this flag. The exchange reads the last store, and synchronizes with
  // that station alone; the one whose store was overwritten is found asleep because of the order of all four.
  p.watched_.exchange(0, std::memory_order_seq_cst);
  for (station* const s : p.sleepers_) s->wake();
}

bool source::refresh() noexcept {
  // acquire: edge `told` in. seq_cst: pair `stopped`.
  if (!ring_.wanted_.load(std::memory_order_seq_cst)) return false;
  auto least = progress::count;
  for (const progress* const sink : ring_.sinks_) {
    const auto seen = sink->read();  // edge `emptied`
    if ((seen & progress::left) == 0) least = std::min(least, seen & progress::count);
  }
  // Every sink has left. The last one has asked this source to stop, or is about to.
  if (least == progress::count) return false;
  limit_ = least + ring_.trains();
  return next_ != limit_;
}

poll_result source::poll() noexcept {
  if (unloads_) return poll_returned();
  // acquire: edge `told` in. seq_cst: pair `stopped`.
  if (!ring_.wanted_.load(std::memory_order_seq_cst)) return poll_result::ended;
  return board() ? poll_result::train : poll_result::nothing;
}

void source::prepare_to_wait() noexcept {
  begin_watch();
  for (progress* const sink : ring_.sinks_) station::watch(*sink);
  end_watch();
}

/// A train is back when each sink has passed it, except for those that left before it came; but one has. It never comes
/// when no sink is left that may still pass it.
poll_result source::poll_returned() const noexcept {
  if (unloaded_ == next_) return poll_result::ended;
  bool passed_by_one = false, passed_by_all = true, coming = false;
  for (const progress* const sink : ring_.sinks_) {
    const auto seen = sink->read();  // edge `emptied`
    const bool passed = (seen & progress::count) > unloaded_;
    passed_by_one |= passed;
    passed_by_all &= passed || (seen & progress::left) != 0;
    coming |= !passed && (seen & progress::ended) == 0;
  }
  if (passed_by_one && passed_by_all) return poll_result::train;
  return coming ? poll_result::nothing : poll_result::ended;
}

/// Position p is unloaded until position p + trains is loaded into the same memory.
void source::begin_unloading(bool here_too) noexcept {
  const auto used_again = next_ + (here_too ? 0 : 1);
  if (used_again > ring_.trains()) unloaded_ = std::max(unloaded_, used_again - ring_.trains());
  unloads_ = true;
}

source::returned_train source::unload_here() noexcept {
  if (next_ < ring_.trains() || next_ - ring_.trains() < unloaded_) return {nullptr, 0};
  unloaded_ = next_ - ring_.trains();
  return unload();
}

source::returned_train source::unload() noexcept {
  std::byte* const at = ring_.first() + unloaded_ % ring_.trains() * stride_;
  ++unloaded_;
  // relaxed: covered by edge `emptied`, through which the train was found to be here.
  const auto header = headers_ ? train_ring::header_of(at).load(std::memory_order_relaxed) : 1;
  return {at, static_cast<std::size_t>(header & train_ring::most_goods)};
}

void source::end(bool by_failure) noexcept {
  if ((ring_.loaded_.own() & progress::ended) != 0) return;
  publish(ring_.loaded_, next_ | progress::ended | (by_failure ? progress::failed : 0));
}

/// The count of the slowest station before this one. Flags count only from stations that are as slow: of a station that
/// has ended further on, trains may still come.
std::uint64_t ring_reader::before() const noexcept {
  if (behind_source_) return ring_->loaded_.read();
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

bool ring_reader::refresh() noexcept {
  limit_ = before() & progress::count;
  return next_ != limit_;
}

/// Several rings, of which the last one has no train, or has had most_in_a_row of them in a row: takes the next ring in
/// turn that has one.
bool unloader::arrive_elsewhere(std::uint64_t& goods) noexcept {
  row_left_ = most_in_a_row;
  for (std::size_t i = 0; i != readers_.size(); ++i) {
    current_ = current_ + 1 == readers_.size() ? 0 : current_ + 1;
    if (!readers_[current_].ended_ && readers_[current_].here(goods)) {
      reader_ = &readers_[current_];
      return true;
    }
  }
  return false;
}

/// A train of any ring comes first. Without one, this has ended when every ring has, and failed when one has.
poll_result unloader::poll() noexcept {
  std::uint64_t goods = 0;
  if (arrive(goods)) return poll_result::train;
  auto seen = poll_result::ended;
  for (ring_reader& r : readers_) {
    if (r.ended_) continue;
    // After arrive(): if a train left before the end, and arrive() did not see it, the counts differ.
    const auto before = r.before();
    if ((before & progress::count) != r.next_ || (before & progress::ended) == 0) {
      if (seen == poll_result::ended) seen = poll_result::nothing;
    } else if ((before & progress::failed) != 0) {
      seen = poll_result::failed;
    } else {
      r.ended_ = true;
    }
  }
  return seen;
}

void unloader::prepare_to_wait() noexcept {
  begin_watch();
  for (ring_reader& r : readers_) {
    if (r.behind_source_) station::watch(r.ring_->loaded_);
    for (progress* const p : r.before_) station::watch(*p);
  }
  end_watch();
}

/// Ring by ring: publishes the end with its flags, then asks the source to stop where no trains are wanted any more.
void unloader::end(bool by_failure) noexcept {
  for (ring_reader& r : readers_) {
    if ((r.progress_->own() & progress::ended) != 0) continue;
    const auto before = r.before();
    const bool all = (before & progress::ended) != 0 && (before & progress::count) == r.next_;
    auto flags = progress::ended | (by_failure || (all && (before & progress::failed) != 0) ? progress::failed : 0);
    if (!all && sink_) flags |= progress::left;
    publish(*r.progress_, r.next_ | flags);
    if (all) continue;
    // relaxed: only counts; the last sink asks the source to stop.
    const bool last =
        sink_ && r.ring_->departed_sinks_.fetch_add(1, std::memory_order_relaxed) + 1 == r.ring_->sinks_.size();
    if (by_failure || !sink_ || last) line::ask_to_stop(*r.ring_);
  }
}

std::uint64_t unloader::departed() const noexcept {
  std::uint64_t sum = 0;
  for (const ring_reader& r : readers_) sum += r.progress_->read() & progress::count;
  return sum;
}

void unloader::append_open_sources(std::vector<const waker*>& to) const {
  for (const ring_reader& r : readers_) {
    if ((r.ring_->loaded_.read() & progress::ended) == 0) to.push_back(waker_of(*r.ring_->owner_));
  }
}

std::uint64_t unloader::waiting() const noexcept {
  std::uint64_t sum = 0;
  for (const ring_reader& r : readers_) {
    // This one first: trains that leave the source meanwhile are waiting too.
    const auto passed = r.progress_->read() & progress::count;
    sum += (r.ring_->loaded_.read() & progress::count) - passed;
  }
  return sum;
}

source& line::add_source(std::size_t trains, std::size_t train_bytes, std::size_t alignment, bool with_headers) {
  sources_.emplace_back(new source(trains, train_bytes, alignment, with_headers));
  return *sources_.back();
}

/// For each station before the new one, and each ring that leads through it, the new station gets a reader. A station
/// that others come after is no sink any more.
unloader& line::add_unloader(const std::vector<station*>& after) {
  SHUNT_ASSERT(!after.empty());
  unloaders_.emplace_back(new unloader);
  unloader& made = *unloaders_.back();
  const auto reader_of = [&](train_ring& t) -> ring_reader& {
    for (ring_reader& r : made.readers_) {
      if (r.ring_ == &t) return r;
    }
    made.readers_.push_back(ring_reader(t));
    t.sinks_.push_back(made.readers_.back().progress_.get());
    station::add_sleeper(*made.readers_.back().progress_, *t.owner_);
    return made.readers_.back();
  };
  for (station* const s : after) {
    if (auto* const from = dynamic_cast<source*>(s)) {
      static_cast<void>(reader_of(from->ring_));
      continue;
    }
    auto& from = static_cast<unloader&>(*s);
    from.sink_ = false;
    for (ring_reader& behind : from.readers_) {
      ring_reader& r = reader_of(*behind.ring_);
      r.behind_source_ = r.by_header_ = false;
      r.before_.push_back(behind.progress_.get());
      station::add_sleeper(*behind.progress_, made);
      if (std::erase(behind.ring_->sinks_, behind.progress_.get()) != 0)
        station::remove_sleeper(*behind.progress_, *behind.ring_->owner_);
    }
  }
  for (ring_reader& r : made.readers_) {
    if (r.behind_source_) station::add_sleeper(r.ring_->loaded_, made);
  }
  made.reader_ = &made.readers_.front();
  made.only_ring_ = made.readers_.size() == 1;
  return made;
}

void line::ask_to_stop(train_ring& t) noexcept {
  // release: edge `told` out. seq_cst: pair `stopped`: before the look at `asleep` in wake().
  t.wanted_.store(false, std::memory_order_seq_cst);
  t.owner_->wake();
}

void line::stop_all() noexcept {
  for (const auto& s : sources_) ask_to_stop(s->ring_);
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
