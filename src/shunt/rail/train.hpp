/// A train: a fixed block of goods, filled in place, handed over by pointer, unloaded in place,
/// and sent home empty.
///
///   | next home capacity | head |  goods ... bytes  ... |  free  |
///   ^ stays here         ^ travels to another process as one block
///
/// Invariants
///   T1  A train has one holder at a time: a pool, an endpoint that fills it, an inbox, or the code that
///       unloads it. Only the holder touches it; holders change through an inbox (its edges make
///       the goods visible) or within one thread.
///   T2  A train never leaves the process; where it must, its head and goods are copied by a
///       network, and the train itself goes home.
///   T3  goods() is aligned to a cache line, and every good to its own type, at most good_alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <shunt/base/block.hpp>
#include <shunt/base/cache_line.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

class train_inbox;

/// Strictest alignment a good may ask for.
inline constexpr std::size_t good_alignment = 16;

/// What travels in front of the goods.
struct train_head {
  std::uint32_t bytes = 0;      ///< of goods that follow
  std::uint16_t from = 0;       ///< worker that loaded the train
  std::uint16_t to = 0;         ///< worker that unloads it
  std::uint8_t channel = 0;     ///< 0: loaded by programs, 1: by handlers, 2: messages between workers
  std::uint8_t empty = 0;       ///< 1: on its way home
  std::uint16_t rank = 0;       ///< of another process: the rank that it leaves for, then the rank that sent it
  std::uint16_t spare[2] = {};  ///< 0
};
static_assert(sizeof(train_head) == 16);

/// A block that travels: links, head, and the goods behind it.
struct alignas(cache_line) train {
  train* next = nullptr;        ///< link of whichever list holds the train (T1)
  train_inbox* home = nullptr;  ///< where it goes once unloaded
  std::uint32_t capacity = 0;   ///< bytes of goods that fit
  /// So that head and goods are contiguous, and goods begin a cache line.
  alignas(16) std::byte pad_[cache_line - 48] = {};
  train_head head;  ///< in front of the goods

  /// The first good's place; `capacity` bytes follow.
  [[nodiscard]] std::byte* goods() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(train); }
  /// The same, to be read.
  [[nodiscard]] const std::byte* goods() const noexcept {
    return reinterpret_cast<const std::byte*>(this) + sizeof(train);
  }
  /// The block that a network carries: head and goods, contiguous.
  [[nodiscard]] std::byte* freight() noexcept { return goods() - sizeof(train_head); }
  /// Bytes of freight().
  [[nodiscard]] std::size_t freight_bytes() const noexcept { return sizeof(train_head) + head.bytes; }
};
static_assert(sizeof(train) == cache_line);
static_assert(offsetof(train, head) == cache_line - sizeof(train_head));

/// Trains in order; owned by one thread.
class train_list {
 public:
  /// Whether it has none.
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// The oldest; null: none.
  [[nodiscard]] train* front() const noexcept { return first_; }
  /// The train is in no other list (T1).
  void push_back(train& t) noexcept {
    t.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &t;
    last_ = &t;
  }
  /// Likewise: it will be the first.
  void push_front(train& t) noexcept {
    if (first_ == nullptr) last_ = &t;
    t.next = first_;
    first_ = &t;
  }
  /// Not if empty() (contract).
  train& pop_front() noexcept {
    train& t = *first_;
    first_ = t.next;
    return t;
  }

 private:
  train* first_ = nullptr;
  train* last_ = nullptr;
};

/// The trains of one owner. One thread owns it: trains that other threads return arrive at the owner's train inbox.
///
/// A pool buys a train only when none is at home, and never more than its limit: the pool is the
/// credit of its owner. Channel 0 is for programs, which can wait: at most `regular` of its trains
/// are out. Channel 1 is for handlers, which cannot: it may go on to the limit, and the pool says
/// that it is over credit once more than `regular` of them are out. So may channel 2, of messages between workers.
class train_pool {
 public:
  /// \param capacity  bytes of goods a train carries; a multiple of the cache line
  /// \param regular   trains of one channel, at least 1
  /// \param limit     trains that exist at most, at least 2 * `regular`
  /// \param resting   as soon as so many are at home, the oldest of them is used rather than a new one
  /// \param yard      memory for all of them, bytes_for() large, aligned as a train is; null: the pool allocates it
  train_pool(train_inbox& home, std::size_t capacity, std::size_t regular, std::size_t limit, std::size_t resting,
             std::byte* yard = nullptr)
      : home_(&home),
        capacity_(capacity),
        regular_(regular),
        limit_(limit),
        resting_(resting),
        site_(yard),
        sites_(yard == nullptr ? 0 : limit) {}
  train_pool(const train_pool&) = delete;
  train_pool& operator=(const train_pool&) = delete;

  /// An empty train: a new one until `regular` have been bought or `resting` are at home, then the one that came home
  /// first. nullptr: no credit. Cost: a few ns; a system allocation the first times.
  ///
  /// First come first out, although the last one's memory is nearer: that one's lines lie dirty in
  /// the other core's cache, and fetching them from there takes longer than from the shared cache
  /// where a train that has rested has gone. So a deep ring of trains is faster than two.
  /// \param stays  the train will be unloaded by this thread: then the last one that stayed is best.
  [[nodiscard]] train* take(std::uint8_t channel, bool stays = false) noexcept {
    if (channel == 0 && out_[0] >= regular_) return nullptr;
    train_list& first = stays && !stayed_.empty() ? stayed_ : free_;
    if (&first == &free_) {
      if ((at_home_ == 0 || (bought_ < regular_ && at_home_ < resting_)) && !buy() && at_home_ == 0) {
        if (stayed_.empty()) return nullptr;
        rest(stayed_.pop_front());
      }
      --at_home_;
    }
    train* const t = &first.pop_front();
    t->head.channel = channel;
    t->head.empty = 0;
    ++out_[channel];
    return t;
  }

  /// Whether take() would give so many, one after another.
  [[nodiscard]] bool has(std::uint8_t channel, std::size_t count = 1) const noexcept {
    return (channel != 0 || out_[0] + count <= regular_) && out_[0] + out_[1] + out_[2] + count <= limit_;
  }

  /// A train of this pool that is empty again.
  /// \param stayed  as it was taken.
  void put(train& t, bool stayed = false) noexcept {
    --out_[t.head.channel];
    if (stayed) {
      stayed_.push_front(t);
    } else {
      rest(t);
    }
  }

  /// Trains that are not at home, of one channel.
  [[nodiscard]] std::size_t out(std::uint8_t channel) const noexcept { return out_[channel]; }
  /// Handlers use more than their regular trains: the owner should unload nothing that makes them send.
  [[nodiscard]] bool over_credit() const noexcept { return out_[1] > regular_; }
  /// Trains that handlers may have out before over_credit().
  [[nodiscard]] std::size_t regular() const noexcept { return regular_; }
  /// Trains in all, at most.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Bytes of goods a train.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Memory for so many trains.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t trains, std::size_t capacity) noexcept {
    return trains * (sizeof(train) + capacity);
  }
  /// Bytes bought so far: never more than limit() * (capacity() + sizeof(train)).
  [[nodiscard]] std::size_t bytes() const noexcept { return bought_ * train_bytes(); }

 private:
  [[nodiscard]] std::size_t train_bytes() const noexcept { return sizeof(train) + capacity_; }
  bool buy() noexcept;
  void rest(train& t) noexcept {
    free_.push_back(t);
    ++at_home_;
  }

  train_inbox* home_;
  std::size_t capacity_;
  std::size_t regular_;
  std::size_t limit_;
  std::size_t resting_;
  std::size_t out_[3] = {0, 0, 0};
  train_list free_;           // first come, first out
  std::size_t at_home_ = 0;   // in it
  train_list stayed_;         // last come, first out
  std::vector<block> yards_;  // trains lie side by side in each
  std::byte* site_;           // of the next train to buy, in the last yard
  std::size_t sites_;         // left there
  std::size_t bought_ = 0;
};

}  // namespace rail
}  // namespace v1
}  // namespace shunt
