/// Messages of one thread outside for the actors of one dispatcher. They lie in a ring as they lie in a train
/// (message_batch.hpp), and the dispatcher sees each of them as soon as it is there.
///
///        taken_                      published_
///          v                             v
///   | free | batch head | args | args ...| free |      place = position modulo `capacity`
///
///   state_     publish(), sender    stop_watching(), dispatcher    must_watch(), dispatcher, after that
///   asleep     -> watched; deliver  breach of contract             nothing is there: asleep
///                                                                  something is there: -> watched; true
///   watched    watched; nothing     -> asleep                      its sender delivers it: watched; false
///
/// A ring that is watched lies in the dispatcher's inbox, or among the rings that it looks into. One that sleeps costs
/// the dispatcher nothing: its sender delivers it anew.
///
/// Invariants
///   message_ring.G1  Positions count bytes and only grow. The sender alone writes published_, the dispatcher taken_.
///       Bytes [taken_, published_) are the dispatcher's, the others the sender's. taken_ stays at the head of a
///       batch that may grow, so that G3 can be read there.
///   message_ring.G2  A batch does not pass the end of the ring, and takes half of the ring at most. Where less than
///       `longest_message` is left up to the end, the next batch begins at the ring's start. Both sides know that by
///       the positions.
///   message_ring.G3  message_batch::bytes is 0 while the batch may grow. It is set before a message behind the batch
///       is published: a dispatcher that finds 0 there knows that all that it has seen published belongs to the batch.
///   message_ring.G4  The dispatcher alone uses `next` of a ring that is watched, but for the sender that delivers it.
///
/// Edges
///   `sent`     publish -> look          the batches below published_; end_sender -> ended, likewise. A thread that
///                                       takes another ring may look: ring_list's lock hands that to the dispatcher
///   `emptied`  took -> the sender       the place of what was taken, which may be written anew
///   `handed`   stop_watching -> publish the ring's link in the inbox (G4)
///   `counted`  took -> done             what the messages have caused was counted before, see activity_counts.hpp
///
/// Pairs, each a store and then a look at the other side's store
///   `woken`    publish: published_, then state_; stop_watching, must_watch: state_, then published_
///   `room`     wait_for_room: waits_, then taken_; took: taken_, then waits_
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <shunt/actor/detail/message_batch.hpp>
#include <shunt/actor/detail/waiter.hpp>
#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// What the sender owes after publish().
enum class [[nodiscard]] after_publish : std::uint8_t { nothing, deliver };

/// The thread that has the ring is its sender, also through its fibers, which take turns. A ring changes its sender
/// under the lock of outside_senders.
class message_ring final : public rail::train {
 public:
  static constexpr std::uint8_t channel = 4;          // in the inbox, beside trains and controls
  static constexpr std::size_t capacity = 16 * 1024;  // bytes: about 2,000 of the shortest messages
  static constexpr int looks_before_stop = 1'000;     // at an empty ring, while its dispatcher has other things to do

  /// \param of  the dispatcher's number
  explicit message_ring(std::size_t of) noexcept : dispatcher(of) { head.channel = channel; }
  message_ring(const message_ring&) = delete;
  message_ring& operator=(const message_ring&) = delete;

  // --- the sender ---

  /// Where the sender builds the arguments of a message. Building must neither wait nor send. nullptr: there is no
  /// room.
  [[nodiscard]] std::byte* place(const actor_cell& c, std::uint64_t target, const message_ops& ops) noexcept {
    if (to_ == &c && target_ == target && ops_ == &ops && limit_ - written_ >= ops.bytes) [[likely]]
      return at(written_);
    return place_slowly(c, target, ops);
  }
  /// The sender has built them: so many bytes. The dispatcher sees the message from now on.
  after_publish publish(std::size_t bytes) noexcept {
    written_ += bytes;
    prefetch_to_write(reinterpret_cast<std::uintptr_t>(at(written_ + bytes_ahead)));
    if (asymmetric_) [[likely]] {
      published_.store(written_, std::memory_order_release);  // release: edge `sent` out
      asymmetric_fence::light();
      // relaxed: a look; the fence orders it behind the store, pair `woken`
      if (state_.load(std::memory_order_relaxed) == watched) [[likely]]
        return after_publish::nothing;
    } else {
      // An exchange, as ThreadSanitizer knows no fences. release: edge `sent` out. seq_cst: pair `woken`.
      published_.exchange(written_, std::memory_order_seq_cst);
      if (state_.load(std::memory_order_seq_cst) == watched) return after_publish::nothing;  // pair `woken`
    }
    // acquire: edge `handed` in.
    return state_.exchange(watched, std::memory_order_acquire) == asleep ? after_publish::deliver
                                                                         : after_publish::nothing;
  }
  /// Whether place() would return one for any message.
  [[nodiscard]] bool has_room() const noexcept {
    // acquire: edge `emptied` in. seq_cst: pair `room`.
    return written_ + 2 * longest_message <= taken_.load(std::memory_order_seq_cst) + capacity;
  }
  /// Returns when there was room, or throws what ends the wait. The caller looks again: it may be on another thread.
  void wait_for_room(call_site call);

  // --- the dispatcher ---

  [[nodiscard]] bool any() const noexcept {
    return published_.load(std::memory_order_relaxed) != read_;  // relaxed: a hint; look() follows
  }
  /// Up to where messages are there. Also a thread that takes another ring, for the dispatcher: ring_list.
  [[nodiscard]] std::uint64_t look() const noexcept {
    return published_.load(std::memory_order_acquire);  // acquire: edge `sent` in
  }
  /// Up to where messages are of senders that have ended.
  [[nodiscard]] std::uint64_t ended() const noexcept {
    return ended_.load(std::memory_order_acquire);  // acquire: edge `sent` in
  }
  [[nodiscard]] bool is_read(std::uint64_t end) const noexcept { return read_ >= end; }
  /// Where the thread that took the ring last has begun, or is to begin.
  [[nodiscard]] std::uint64_t begin() const noexcept {
    // relaxed: if a message behind it was seen, edge `sent` has handed it on; else it lies behind all that is read
    return begin_.load(std::memory_order_relaxed);
  }
  /// If a message behind begin() was seen, and not read yet (outside_senders.O3).
  [[nodiscard]] std::uint64_t begin_number() const noexcept { return begin_number_; }
  /// All that ring_reader returned has been moved away.
  void took() noexcept {
    done_.store(read_, std::memory_order_release);  // release: edge `counted` out
    if (reads_ != nullptr && batch_is_over()) reads_ = nullptr;
    // release: edge `emptied` out. seq_cst: pair `room`.
    taken_.store(reads_ == nullptr ? read_ : batch_begins_ - sizeof(message_batch), std::memory_order_seq_cst);
    if (waits_.load(std::memory_order_seq_cst)) [[unlikely]]  // pair `room`
      wake_senders();
  }
  /// For a ring without messages, first: the next message makes its sender deliver it. A fence follows, if fences are
  /// asymmetric, and then must_watch().
  void stop_watching() noexcept {
    // release: edge `handed` out. seq_cst: pair `woken`. An exchange, as ThreadSanitizer knows no fences.
    state_.exchange(asleep, std::memory_order_seq_cst);
  }
  /// \return whether the dispatcher watches the ring after all, as a message has come.
  [[nodiscard]] bool must_watch() noexcept {
    if (published_.load(std::memory_order_seq_cst) == read_) return false;  // pair `woken`
    // relaxed: decides which of the two goes on with the ring; if the sender does, its delivery hands the ring over
    return state_.exchange(watched, std::memory_order_relaxed) == asleep;
  }

  message_ring* next_watched = nullptr;  // the dispatcher's
  int empty_looks = 0;                   // the dispatcher's: in a row
  std::uint64_t seen = 0;                // the dispatcher's: of the last look()
  const std::size_t dispatcher;

  // --- outside_senders, under its lock ---

  [[nodiscard]] std::uint64_t done() const noexcept {
    return done_.load(std::memory_order_acquire);  // acquire: edge `counted` in
  }
  [[nodiscard]] std::uint64_t published() const noexcept {
    return published_.load(std::memory_order_relaxed);  // relaxed: see actor_system::quiet()
  }
  /// Whether the next thread may begin: the dispatcher has read a message of the last one, or that one has sent none.
  [[nodiscard]] bool may_begin() const noexcept {
    const auto begin = begin_.load(std::memory_order_relaxed);  // relaxed: under the lock
    return written_ == begin || done() > begin;
  }
  /// A thread takes the ring. \param number  of what its first message comes behind: ring_list::next_before()
  void begin_sender(std::uint64_t number) noexcept {
    begin_number_ = number;
    begin_.store(written_, std::memory_order_relaxed);  // relaxed: published with the thread's first message
  }
  /// The sending thread ends.
  void end_sender() noexcept { ended_.store(written_, std::memory_order_release); }  // release: edge `sent` out
  message_ring* next_free = nullptr;
  std::uint64_t noted = 0;  // of published(), when a thread took a ring last

 private:
  friend class ring_reader;
  enum : std::uint32_t { asleep, watched };

  [[nodiscard]] std::byte* at(std::uint64_t position) noexcept { return ring_ + position % capacity; }
  /// Where a batch begins whose head may not lie before `position`. message_ring.G2
  [[nodiscard]] static std::uint64_t begin_behind(std::uint64_t position) noexcept {
    const auto end = end_of_lap(position);
    return end - position < longest_message ? end : position;
  }
  [[nodiscard]] static std::uint64_t end_of_lap(std::uint64_t position) noexcept {
    return position - position % capacity + capacity;
  }
  /// Up to where a batch may grow whose head is there. message_ring.G2
  [[nodiscard]] static std::uint64_t limit_of(std::uint64_t begin) noexcept {
    return std::min(end_of_lap(begin), begin + capacity / 2);
  }
  /// The dispatcher. Whether all of the batch is read, and it grows no more.
  [[nodiscard]] bool batch_is_over() noexcept {
    const auto size = size_of(*reads_);
    if (size != 0) return read_ == batch_begins_ + size;
    return limit_of(batch_begins_ - sizeof(message_batch)) - read_ < reads_->ops->bytes;
  }
  /// Of a batch; see message_ring.G3.
  [[nodiscard]] static std::uint64_t size_of(message_batch& b) noexcept {
    // relaxed: message_ring.G3, what was read of published_ says how much may be read
    return std::atomic_ref(b.bytes).load(std::memory_order_relaxed);
  }
  [[gnu::noinline]] std::byte* place_slowly(const actor_cell& c, std::uint64_t target, const message_ops& ops) noexcept;
  [[gnu::noinline, gnu::cold]] void wake_senders() noexcept;

  // The dispatcher writes, the sender reads seldom.
  alignas(quiet_distance) std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> done_{0};
  std::uint64_t read_ = 0;          // the dispatcher's; done_ and taken_ follow
  std::uint64_t batch_begins_ = 0;  // the arguments of the batch that is read
  message_batch* reads_ = nullptr;  // that batch; null: a head comes next
  alignas(quiet_distance) std::atomic<std::uint32_t> state_{asleep};
  std::atomic<bool> waits_{false};  // fibers or a thread wait for room
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> begin_{0};
  std::uint64_t begin_number_ = 0;
  const bool asymmetric_ = asymmetric_fence::usable();
  spin_lock lock_;  // guards waiting_
  listed_waiter* waiting_ = nullptr;

  // The sender writes, the dispatcher reads published_.
  alignas(quiet_distance) std::atomic<std::uint64_t> published_{0};
  std::uint64_t written_ = 0;
  std::uint64_t limit_ = 0;         // the open batch may grow up to there as far as the sender knows
  std::uint64_t most_ = 0;          // the open batch may grow up to there at most. message_ring.G2
  const actor_cell* to_ = nullptr;  // of the open batch
  std::uint64_t target_ = 0;
  const message_ops* ops_ = nullptr;
  message_batch* open_ = nullptr;  // null: none has begun
  std::uint64_t opened_ = 0;       // where its arguments begin

  alignas(quiet_distance) std::byte ring_[capacity];
};

/// Reads what a ring has; as batch_reader, which reads a train. The caller moves each message out before it asks for
/// the next, and calls took() at the end.
class ring_reader {
 public:
  /// \param end  of what is read: what look() or ended() returned
  ring_reader(message_ring& from, std::uint64_t end) noexcept : ring_(from), end_(end) {}

  /// \return false: there are no more.
  [[nodiscard]] bool next_batch() noexcept;
  [[nodiscard]] bool more() const noexcept { return place_ != batch_end_; }
  [[nodiscard]] std::int64_t left() const noexcept {
    const auto bytes = static_cast<std::size_t>(batch_end_ - place_);
    return bytes == size_ ? 1 : static_cast<std::int64_t>(bytes / size_);
  }
  [[nodiscard]] const message_batch& batch() const noexcept { return *ring_.reads_; }
  void move_to(envelope& e) noexcept {
    if (reinterpret_cast<std::uintptr_t>(place_) % cache_line < size_) __builtin_prefetch(place_ + bytes_ahead);
    ring_.reads_->move_to(e, place_);
    place_ += size_;
  }

 private:
  message_ring& ring_;
  std::uint64_t end_;
  std::byte* place_ = nullptr;
  std::byte* batch_end_ = nullptr;  // of this batch, as far as it is read
  std::size_t size_ = 0;            // of a message
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
