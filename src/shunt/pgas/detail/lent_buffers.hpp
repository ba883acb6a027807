/// Sends by tasks: on the thread of another worker than their PE's, perhaps.
///
///   send() finds no room ── the thread's own PE ──────────────────────────> the thread's buffers
///              │
///              └─ another worker's PE ── lends() ──> the thread's buffers, announced by this worker's end mark
///                           │ no
///                           └──> handed over to the PE's worker (task_sends.hpp)
#pragma once

#include <cstddef>
#include <source_location>
#include <span>
#include <type_traits>

#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/task_sends.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class outbound;

/// Padding may hold old addresses. It becomes 0, so that the words of a message may be looked at (send_check.hpp).
/// Where the compiler cannot do that, only messages without padding may be.
template <class Message>
inline constexpr bool may_be_read =
#if __has_builtin(__builtin_clear_padding)
    true;
#else
    std::has_unique_object_representations_v<Message>;
#endif
template <class Message>
void clear_padding([[maybe_unused]] Message* m) noexcept {
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(m);
#endif
}

/// A message of a task, as its buffer would hold it, on the way to the worker of its PE (task_sends.hpp).
struct handed_message {
  int from, to;
  batch_key key;
  std::size_t bytes, kept_bytes;
  bool may_be_read;  ///< its words may be looked at: see clear_padding()
  std::source_location where;

  /// Where a request's continuation lies, counted from the message.
  [[nodiscard]] static constexpr std::size_t kept_at(std::size_t bytes) noexcept {
    return wire::round_up(bytes, rail::good_alignment);
  }
  /// Bytes of the message and its continuation.
  [[nodiscard]] constexpr std::size_t whole() const noexcept {
    return kept_bytes == 0 ? bytes : kept_at(bytes) + kept_bytes;
  }
  /// In a fiber of that worker.
  void send(std::span<const std::byte> message) const;
  /// There is room in that buffer.
  void load_into(send_buffer& b, std::span<const std::byte> message) const noexcept;
};

/// What the calling thread's worker does for PEs of others.
class lent_buffers {
 public:
  /// Makes room in the calling thread's buffers. \return nullptr; or where the caller builds the message, to be handed
  /// over or looked at (send_check.hpp), and a request's continuation behind it. Then the caller calls handed_over(),
  /// and nothing in between.
  /// \throws usage_error unless the thread is a worker of the PE's process; what a send throws.
  static std::byte* make_room(int hop, const handed_message& message);
  [[gnu::cold, gnu::noinline]] static void handed_over(int from);
  /// The same, and the padding of the message may be looked at. A call of one word, as the fast path needs it.
  template <class Message>
  [[gnu::cold, gnu::noinline]] static void handed_over_as(int from) {
    if (std::byte* const built = to_be_looked_at()) clear_padding(reinterpret_cast<Message*>(built));
    handed_over(from);
  }
  /// The calling thread's. \throws usage_error unless that is a worker of the PE's process.
  [[nodiscard]] static outbound& of_thread(int from, const std::source_location& where);
  /// Whether PE `pe` belongs to another worker of this thread's job and process. \throws usage_error if to neither.
  [[nodiscard]] static bool is_task_of(int pe, const std::source_location& where);
  /// Whether a task of another worker's PE may load such messages here: this worker's end mark of the task's epoch is
  /// still to come, and no reply will. Between two epochs the task may be of either.
  [[nodiscard]] static bool lends(const outbound& here, batch_key key) noexcept;
  /// A task of another worker's PE sends, perhaps for the first time: that PE's object is complete, as if its program
  /// had sent.
  static void finish_construction_elsewhere(outbound& here, int pe, batch_key key);
  [[nodiscard]] static task_sends& sends_of(int pe);

 private:
  [[nodiscard]] static std::byte* find_room(outbound& here, int hop, const handed_message& message);
  static void send_checked(outbound& here);
  /// The message that has just been built; nullptr: it is not looked at.
  [[nodiscard]] static std::byte* to_be_looked_at() noexcept;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
