/// Messages on their way to another worker. Messages that follow each other in a train, and are for one actor and one
/// method, share a batch: its head says once what they have in common, and of each message only the arguments follow.
///
///   train | batch head | arguments | arguments | ... | batch head | arguments | ...
///   batch head: to | target | ops | bytes that follow
///
/// A cache line that changes cores costs as much as many instructions; eight calls with a number each take one line.
///
/// Invariants
///   message_batch.R1  A writer has an open batch, which has room for one message more at least; or it has none, and
///       takes() is false for every message.
///   message_batch.R2  `left_` is the number of messages that the train may still carry, without those of the open
///       batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <shunt/actor/detail/envelope.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// The head of a batch.
struct message_batch {
  actor_cell* to;
  std::uint64_t target;  // as in an envelope
  const message_ops* ops;
  std::uint64_t bytes;

  [[nodiscard]] std::uint32_t incarnation() const noexcept { return static_cast<std::uint32_t>(target); }
  [[nodiscard]] std::byte* arguments() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  /// envelope.L1. Moves one of its messages.
  void move_to(envelope& e, std::byte* from) const noexcept {
    e.ops = ops;
    e.target = target;
    ops->move_arguments(from, e.arguments);
  }
};
static_assert(alignof(message_batch) <= rail::good_alignment);
/// Bytes of a train that has room for any one message; whole lines.
inline constexpr std::size_t longest_message =
    (sizeof(message_batch) + envelope::capacity + cache_line - 1) / cache_line * cache_line;

/// Bytes of a train that are prefetched before they are written or read: they come from another core.
inline constexpr std::size_t bytes_ahead = 8 * cache_line;

/// Fills a train. Its dispatcher's thread only.
class batch_writer {
 public:
  /// Starts on an empty train, for so many messages at most.
  void begin(rail::train& t, std::size_t messages) noexcept {
    place_ = t.goods();
    limit_ = place_ + t.capacity;
    left_ = messages;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes_ahead, t.capacity); i += cache_line) {
      prefetch_to_write(reinterpret_cast<std::uintptr_t>(place_) + i);
    }
  }

  /// Whether the open batch takes such a message.
  [[nodiscard]] bool takes(const actor_cell& c, std::uint64_t target, const message_ops& ops) const noexcept {
    return to_ == &c && target_ == target && ops_ == &ops;
  }

  /// Begins a batch. \return false: the train has no room for one with a message.
  [[nodiscard]] bool begin_batch(actor_cell& c, std::uint64_t target, const message_ops& ops) noexcept {
    end_batch();
    const auto room = static_cast<std::size_t>(limit_ - place_);
    if (left_ == 0 || room < sizeof(message_batch) + ops.bytes) return false;
    open_ = ::new (static_cast<void*>(place_)) message_batch{&c, target, &ops, 0};
    place_ = open_->arguments();
    const auto most = room - sizeof(message_batch);
    end_ = place_ + (left_ * ops.bytes <= most ? left_ * ops.bytes : most / ops.bytes * ops.bytes);
    to_ = &c;
    target_ = target;
    ops_ = &ops;
    return true;
  }

  /// Where the caller builds the arguments of the next message.
  [[nodiscard]] std::byte* place() const noexcept {
    if (limit_ - place_ > static_cast<std::ptrdiff_t>(bytes_ahead)) {
      prefetch_to_write(reinterpret_cast<std::uintptr_t>(place_) + bytes_ahead);
    }
    return place_;
  }

  /// The caller has built them: so many bytes. \return whether the train is full.
  [[nodiscard]] bool advance(std::size_t bytes) noexcept {
    place_ += bytes;
    if (place_ != end_) [[likely]]
      return false;
    end_batch();
    return left_ == 0;
  }

  /// Closes the train.
  void end(rail::train& t) noexcept {
    end_batch();
    t.head.bytes = static_cast<std::uint32_t>(place_ - t.goods());
  }

 private:
  void end_batch() noexcept {
    if (to_ == nullptr) return;
    open_->bytes = static_cast<std::uint64_t>(place_ - open_->arguments());
    left_ -= open_->bytes == ops_->bytes ? 1 : open_->bytes / ops_->bytes;
    to_ = nullptr;
  }

  const actor_cell* to_ = nullptr;  // of the open batch; null: there is none. message_batch.R1
  std::uint64_t target_ = 0;
  const message_ops* ops_ = nullptr;
  std::byte* place_ = nullptr;  // of the next message, or batch
  std::byte* end_ = nullptr;    // of what the open batch may hold
  message_batch* open_ = nullptr;
  std::byte* limit_ = nullptr;  // of the train
  std::size_t left_ = 0;        // messages. message_batch.R2
};

/// Reads a train's messages, in their order. The caller moves each message out before it asks for the next.
class batch_reader {
 public:
  explicit batch_reader(rail::train& t) noexcept
      : place_(t.goods()), end_(place_ + t.head.bytes), batch_end_(place_), line_(place_ + cache_line) {
    const auto* const far_enough = std::min(place_ + bytes_ahead, end_);
    for (const auto* line = place_; line < far_enough; line += cache_line) __builtin_prefetch(line);
  }

  /// \return false: there are no more.
  [[nodiscard]] bool next_batch() noexcept {
    if (place_ == end_) return false;
    now_ = std::launder(reinterpret_cast<message_batch*>(place_));
    place_ = now_->arguments();
    batch_end_ = place_ + now_->bytes;
    size_ = now_->ops->bytes;
    return true;
  }
  /// Whether this batch has more messages.
  [[nodiscard]] bool more() const noexcept { return place_ != batch_end_; }
  /// How many more.
  [[nodiscard]] std::int64_t left() const noexcept {
    const auto bytes = static_cast<std::size_t>(batch_end_ - place_);
    return bytes == size_ ? 1 : static_cast<std::int64_t>(bytes / size_);
  }
  [[nodiscard]] const message_batch& batch() const noexcept { return *now_; }
  /// Moves the next message into the envelope.
  void move_to(envelope& e) noexcept {
    if (place_ >= line_) {
      line_ += cache_line;
      if (const auto* const ahead = place_ + bytes_ahead; ahead < end_) __builtin_prefetch(ahead);
    }
    now_->move_to(e, place_);
    place_ += size_;
  }

 private:
  std::byte* place_;
  std::byte* end_;        // of the train's messages
  std::byte* batch_end_;  // of this batch
  std::byte* line_;       // when place_ reaches it, a line further ahead is prefetched
  message_batch* now_ = nullptr;
  std::size_t size_ = 0;  // of a message
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
