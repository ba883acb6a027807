#include <shunt/transport/shmem/progress_engine.hpp>

#include <atomic>
#include <new>
#include <string>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {
namespace {

/// Polls that found a train, after which OpenSHMEM is called all the same: where a network emulates puts, others wait
/// for this rank to do so.
constexpr unsigned polls_between_moves = 16;

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }

/// Whether the sender of a ticket has put all: edge `laid`.
bool has_arrived(word& number, word ticket) { return look(number) == ticket + 1; }

}  // namespace

progress_engine::counter& progress_engine::counter_of(std::size_t channel) const noexcept {
  return *std::launder(reinterpret_cast<counter*>(memory_ + channel * sizeof(counter)));
}

word& progress_engine::granted_of(std::size_t channel, word ticket) const noexcept {
  std::byte* const row = memory_ + channels * sizeof(counter) + channel * row_;
  return *std::launder(reinterpret_cast<word*>(row + ticket % count_ * sizeof(word)));
}

word& progress_engine::arrived_of(std::size_t channel, word ticket) const noexcept {
  std::byte* const row = memory_ + channels * (sizeof(counter) + row_) + channel * row_;
  return *std::launder(reinterpret_cast<word*>(row + ticket % count_ * sizeof(word)));
}

rail::train& progress_engine::train_of(std::size_t channel, std::size_t index) const noexcept {
  std::byte* const trains = memory_ + channels * (sizeof(counter) + 2 * row_);
  return *std::launder(reinterpret_cast<rail::train*>(trains + (channel * count_ + index) * stride_));
}

std::size_t progress_engine::index_of(std::size_t channel, const rail::train& t) const noexcept {
  const auto* const first = reinterpret_cast<const std::byte*>(&train_of(channel, 0));
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&t) - first) / stride_;
}

/// Builds counters, positions and trains, and grants the first tickets. No rank puts anything before all have done so.
void progress_engine::start(const network::gate::pass&, const service& settings) {
  capacity_ = settings.capacity;
  count_ = settings.receive_trains;
  row_ = rounded(count_ * sizeof(word));
  stride_ = rounded(sizeof(rail::train) + capacity_);
  SHUNT_ASSERT(count_ < (std::size_t{1} << train_bits));
  queues_.assign(static_cast<std::size_t>(ranks_) * channels, {});
  active_.clear();
  active_.reserve(queues_.size());  // a train that found no place there would be lost
  const auto bytes = channels * (sizeof(counter) + 2 * row_ + count_ * stride_);
  memory_ = static_cast<std::byte*>(shmem_align(quiet_distance, bytes));
  if (memory_ == nullptr) {
    throw error(error_number(851),
                "the symmetric memory of OpenSHMEM has no room for the " + std::to_string(bytes) +
                    " bytes of trains that receive: set SHMEM_SYMMETRIC_SIZE, or use a smaller --train or --budget",
                {.rank = rank_});
  }
  for (std::size_t c = 0; c < channels; ++c) {
    auto& ring = rings_[c];
    ::new (static_cast<void*>(&counter_of(c))) counter{0};
    for (std::size_t i = 0; i < count_; ++i) {
      ::new (static_cast<void*>(&granted_of(c, i))) word{0};
      ::new (static_cast<void*>(&arrived_of(c, i))) word{0};
      auto& t = *::new (static_cast<void*>(&train_of(c, i))) rail::train;
      t.home = &ring.home;
      t.capacity = static_cast<std::uint32_t>(capacity_);
    }
    ring.trains.assign(count_, 0);
    ring.first = ring.granted = 0;
    for (std::size_t i = 0; i < count_; ++i) grant(c, i);
  }
  shmem_barrier_all();
}

/// Grants the next ticket of a channel a train that is at home (shmem.S2).
///
/// By a store, and senders read it by a get: an atomic call of OpenSHMEM that reads may be one that writes the same
/// number back, and then this store would be lost.
void progress_engine::grant(std::size_t channel, std::size_t index) {
  auto& ring = rings_[channel];
  const word ticket = ring.granted++;
  ring.trains[ticket % count_] = index;
  const word grant = ((ticket + 1) << train_bits) | index;
  // release: edge `grant`, the train is unloaded.
  std::atomic_ref<word>(granted_of(channel, ticket)).store(grant, std::memory_order_release);
}

void progress_engine::grant_trains_at_home() {
  for (std::size_t c = 0; c < channels; ++c) {
    for (rail::train* t = rings_[c].home.arrivals(); t != nullptr;) {
      rail::train* const following = t->next;
      grant(c, index_of(c, *t));
      t = following;
    }
  }
}

/// Each train goes to the end of its queue. A queue that had trains before waits for a grant: progress() looks for it,
/// by a get for each, and the trains of other ranks need not wait for those.
bool progress_engine::send_all(const network::gate::pass&, network::outbox& out) {
  rail::train* t = out.take_all();
  if (t == nullptr) return false;
  const std::size_t had = active_.size();
  while (t != nullptr) {
    rail::train* const following = t->next;
    const std::size_t which = std::size_t{t->head.rank} * channels + t->head.channel;
    auto& to = queues_[which];
    if (to.waiting.empty()) active_.push_back(which);
    to.waiting.push_back(*t);
    t = following;
  }
  static_cast<void>(advance_all(had));
  return true;
}

/// The queues of active_[from] and behind it. \return true: a train left.
bool progress_engine::advance_all(std::size_t from) {
  bool moved = false;
  for (std::size_t i = active_.size(); i-- > from;) {
    if (advance(active_[i])) moved = true;
    if (!queues_[active_[i]].waiting.empty()) continue;
    active_[i] = active_.back();  // which has had its turn
    active_.pop_back();
  }
  return moved;
}

/// Whether the first train of a queue, which has a ticket, may be put.
bool progress_engine::is_granted(send_queue& from, std::size_t channel, int to) {
  const auto known = [&] { return from.granted[from.ticket % count_] >> train_bits == from.ticket + 1; };
  if (from.granted.empty()) from.granted.assign(count_, 0);
  if (known()) return true;
  shmem_ulong_get(from.granted.data(), &granted_of(channel, 0), count_, to);
  if (!known()) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // edge `grant`
  return true;
}

/// Puts the trains of a queue, until one has to wait for its grant. \return true: one left.
bool progress_engine::advance(std::size_t which) {
  auto& from = queues_[which];
  const std::size_t channel = which % channels;
  const auto to = static_cast<int>(which / channels);
  bool moved = false;
  while (!from.waiting.empty()) {
    if (!from.has_ticket) {
      from.ticket = shmem_ulong_atomic_fetch_add(&counter_of(channel).next, 1, to);
      from.has_ticket = true;
    }
    if (!is_granted(from, channel, to)) break;
    put(from, channel, to, from.granted[from.ticket % count_] & ((word{1} << train_bits) - 1));
    moved = true;
  }
  return moved;
}

/// Puts the first train of a queue into the train that was granted to its ticket (shmem.S3), and sends it home: when
/// the call returns OpenSHMEM is done with the memory that it has put from.
void progress_engine::put(send_queue& from, std::size_t channel, int to, std::size_t index) {
  rail::train& t = from.waiting.pop_front();
  t.head.rank = static_cast<std::uint16_t>(rank_);
  shmem_putmem(train_of(channel, index).freight(), t.freight(), t.freight_bytes(), to);
  shmem_fence();  // edge `laid`: the freight is there before the word that tells of it
  shmem_ulong_p(&arrived_of(channel, from.ticket), from.ticket + 1, to);
  from.has_ticket = false;
  rail::send_home(t);
}

bool progress_engine::progress(const network::gate::pass& pass, network::outbox& out, rail::train_list& arrived) {
  grant_trains_at_home();
  const bool left = advance_all(0);
  const bool sent = send_all(pass, out);
  const bool received = take_received(arrived);
  if (!received || ++unmoved_ == polls_between_moves) {
    unmoved_ = 0;
    let_library_work(*board_, rank_);
    if (!received) return take_received(arrived) || left || sent;
  }
  return true;
}

/// Hands over what has arrived, in the order of tickets. \return true: something had.
bool progress_engine::take_received(rail::train_list& arrived) {
  bool any = false;
  for (std::size_t c = 0; c < channels; ++c) {
    auto& ring = rings_[c];
    while (ring.first < ring.granted) {
      if (!has_arrived(arrived_of(c, ring.first), ring.first)) break;
      rail::train& t = train_of(c, ring.trains[ring.first % count_]);
      ++ring.first;
      hand_over(c, t, arrived);
      any = true;
    }
  }
  return any;
}

void progress_engine::hand_over(std::size_t channel, rail::train& t, rail::train_list& arrived) const {
  if (t.head.bytes > capacity_ || t.head.channel != channel || t.head.rank >= ranks_ || t.head.rank == rank_) {
    throw error(error_number(852),
                "a damaged train arrived on channel " + std::to_string(channel) + ": its head says " +
                    std::to_string(t.head.bytes) + " bytes, channel " + std::to_string(t.head.channel) + " and rank " +
                    std::to_string(t.head.rank) +
                    ": the ranks do not run the same program, or the network changes data",
                {.rank = t.head.rank});
  }
  arrived.push_back(t);
}

void progress_engine::stop(const network::gate::pass&) {
  grant_trains_at_home();
  for (std::size_t c = 0; c < channels; ++c) {
    auto& ring = rings_[c];
    if (const word ready = ring.granted - ring.first; ready != count_) {
      throw error(error_number(810),
                  "stop() while " + std::to_string(count_ - ready) + " received trains are not unloaded",
                  {.rank = rank_});
    }
    if (has_arrived(arrived_of(c, ring.first), ring.first)) {
      const int from = train_of(c, ring.trains[ring.first % count_]).head.rank;
      throw error(error_number(811), "a train from rank " + std::to_string(from) + " arrived during stop()",
                  {.rank = from});
    }
  }
  shmem_free(memory_);
  memory_ = nullptr;
}

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
