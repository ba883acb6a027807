/// Messages on their way to another worker. What lies one behind the other in a train and is alike, for one actor and
/// of one kind, shares a carriage: it says once what the messages have in common, and of each come its arguments.
///
///   train | carriage | arguments | arguments | ... | carriage | arguments | ...
///   carriage: to | which | kind | bytes that follow
///
/// A line that changes cores costs what many instructions cost, and eight calls with a number each take one.
///
/// Invariants
///   R1  A loader has a carriage, which takes one message more at least, or none, and takes() no message then.
///   R2  `left_` is what the train may still carry, without what the carriage being filled has taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <shunt/actor/detail/slot.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

struct carriage {
  cell* to;
  std::uint64_t which;  // as in a slot
  const kind* what;
  std::uint64_t bytes;

  [[nodiscard]] std::uint32_t life() const noexcept { return static_cast<std::uint32_t>(which); }
  [[nodiscard]] std::byte* arguments() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  /// One of its messages. L1
  void move_to(slot& s, std::byte* arguments) const noexcept {
    s.what = what;
    s.which = which;
    what->move_arguments(arguments, s.room_);
  }
};
static_assert(alignof(carriage) <= rail::good_alignment);
/// Bytes of a train that has room for any one message; whole lines.
inline constexpr std::size_t longest_message =
    (sizeof(carriage) + slot::room + cache_line - 1) / cache_line * cache_line;

// Of a train, asked for before they are loaded or unloaded: they come from another core.
inline constexpr std::size_t bytes_ahead = 8 * cache_line;

/// Fills a train. Its station's thread only.
class loader {
 public:
  /// A train of which nothing has been loaded, for so many messages.
  void begin(rail::train& t, std::size_t messages) noexcept {
    place_ = t.goods();
    limit_ = place_ + t.capacity;
    left_ = messages;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes_ahead, t.capacity); i += cache_line) {
      prefetch_to_write(reinterpret_cast<std::uintptr_t>(place_) + i);
    }
  }

  /// Whether the next message may be such a one, as it is.
  [[nodiscard]] bool takes(const cell& c, std::uint64_t which, const kind& what) const noexcept {
    return whose_ == &c && which_ == which && what_ == &what;
  }

  /// Begins a carriage. \return false: the train has no room for one with a message.
  [[nodiscard]] bool couple(cell& c, std::uint64_t which, const kind& what) noexcept {
    uncouple();
    const auto room = static_cast<std::size_t>(limit_ - place_);
    if (left_ == 0 || room < sizeof(carriage) + what.bytes) return false;
    open_ = ::new (static_cast<void*>(place_)) carriage{&c, which, &what, 0};
    place_ = open_->arguments();
    const auto most = room - sizeof(carriage);
    end_ = place_ + (left_ * what.bytes <= most ? left_ * what.bytes : most / what.bytes * what.bytes);
    whose_ = &c;
    which_ = which;
    what_ = &what;
    return true;
  }

  /// Where the arguments of the next message are to be.
  [[nodiscard]] std::byte* place() const noexcept {
    if (limit_ - place_ > static_cast<std::ptrdiff_t>(bytes_ahead)) {
      prefetch_to_write(reinterpret_cast<std::uintptr_t>(place_) + bytes_ahead);
    }
    return place_;
  }

  /// They are there, so many bytes. \return whether the train is full.
  [[nodiscard]] bool step(std::size_t bytes) noexcept {
    place_ += bytes;
    if (place_ != end_) [[likely]]
      return false;
    uncouple();
    return left_ == 0;
  }

  /// Nothing more.
  void end(rail::train& t) noexcept {
    uncouple();
    t.head.bytes = static_cast<std::uint32_t>(place_ - t.goods());
  }

 private:
  void uncouple() noexcept {
    if (whose_ == nullptr) return;
    open_->bytes = static_cast<std::uint64_t>(place_ - open_->arguments());
    left_ -= open_->bytes == what_->bytes ? 1 : open_->bytes / what_->bytes;
    whose_ = nullptr;
  }

  const cell* whose_ = nullptr;  // of the carriage; null: there is none. R1
  std::uint64_t which_ = 0;
  const kind* what_ = nullptr;
  std::byte* place_ = nullptr;  // of the next message, or carriage
  std::byte* end_ = nullptr;    // of what the carriage may hold
  carriage* open_ = nullptr;
  std::byte* limit_ = nullptr;  // of the train
  std::size_t left_ = 0;        // messages. R2
};

/// A train's messages, in their order. Each must be moved before the next step.
class unloader {
 public:
  explicit unloader(rail::train& t) noexcept
      : place_(t.goods()), end_(place_ + t.head.bytes), behind_(place_), line_(place_ + cache_line) {
    const auto* const far_enough = std::min(place_ + bytes_ahead, end_);
    for (const auto* line = place_; line < far_enough; line += cache_line) __builtin_prefetch(line);
  }

  /// \return false: there are no more.
  [[nodiscard]] bool next_carriage() noexcept {
    if (place_ == end_) return false;
    now_ = std::launder(reinterpret_cast<carriage*>(place_));
    place_ = now_->arguments();
    behind_ = place_ + now_->bytes;
    size_ = now_->what->bytes;
    return true;
  }
  /// Of this carriage.
  [[nodiscard]] bool more() const noexcept { return place_ != behind_; }
  [[nodiscard]] std::int64_t left() const noexcept {
    const auto bytes = static_cast<std::size_t>(behind_ - place_);
    return bytes == size_ ? 1 : static_cast<std::int64_t>(bytes / size_);
  }
  [[nodiscard]] const carriage& of() const noexcept { return *now_; }
  /// The next one's arguments are moved there, and what else it is.
  void move_to(slot& s) noexcept {
    if (place_ >= line_) {
      line_ += cache_line;
      if (const auto* const ahead = place_ + bytes_ahead; ahead < end_) __builtin_prefetch(ahead);
    }
    now_->move_to(s, place_);
    place_ += size_;
  }

 private:
  std::byte* place_;
  std::byte* end_;     // of the train's goods
  std::byte* behind_;  // the carriage
  std::byte* line_;    // the next one of which is the place where lines further ahead are asked for
  carriage* now_ = nullptr;
  std::size_t size_ = 0;  // of a message
};

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
