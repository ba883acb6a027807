/// Names for handlers that mean the same in every process of a job.
///
/// A handler is known at compile time. Its type has one static entry, which enters itself into a list before
/// main(). When a job starts the list is sorted by type name, and the place in it is the handler's number: an
/// id that two processes of the same program agree on although their code lies at different addresses.
/// digest() lets them make sure that it is the same program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <shunt/wire/batch.hpp>

namespace shunt {
inline namespace v1 {
namespace wire {

/// How the messages of a handler lie in a batch: the receiver compares a batch of another process with it.
struct message_layout {
  std::uint32_t plain = 0;   ///< bytes of a message; 0: they vary
  std::uint32_t routed = 0;  ///< bytes of a message with its route; 0: they vary
  std::uint32_t least = 0;   ///< where they vary, bytes that every message has: its captures

  /// Messages of one size, with routes where they need them.
  template <class Message>
  [[nodiscard]] static constexpr message_layout of() noexcept {
    return {sizeof(Message), sizeof(routed_message<Message>), 0};
  }
  /// Messages that never have a route.
  template <class Message>
  [[nodiscard]] static constexpr message_layout unrouted() noexcept {
    return {sizeof(Message), sizeof(Message), 0};
  }
  /// Messages of varying length: captures, then a payload.
  template <class Captures>
  [[nodiscard]] static constexpr message_layout varying_after() noexcept {
    return {0, 0, std::is_empty_v<Captures> ? 0 : sizeof(Captures)};
  }
};

/// One handler type. Static storage only: entries are never removed.
class handler {
 public:
  /// Unloads a batch. \param arrival  the receiver's own description of the batch.
  using unload_function = void (*)(void* arrival);

  /// \param name     as a person would write it
  /// \param mailbox  that its messages go through
  /// \param flags    batch_flag bits of its batches
  /// \param layout   how its messages lie in a batch
  /// \param owner    the type of object that it handles messages for, as its objects give it; empty: anything
  /// \param replies  of requests whose replies come back without their continuations: the handler of these replies
  handler(const std::type_info& type, std::string_view name, unload_function unload, std::uint8_t mailbox,
          std::uint8_t flags, message_layout layout, std::string_view owner = {},
          const handler* replies = nullptr) noexcept;
  handler(const handler&) = delete;
  handler& operator=(const handler&) = delete;

  /// Its number in this process's table, 0..65,534, after handler_table::number().
  [[nodiscard]] std::uint16_t id() const noexcept { return static_cast<std::uint16_t>(key_bits_ >> 32); }
  /// id() << 32 and the top bit: ready to be made into a key for "the same handler as before".
  [[nodiscard]] std::uint64_t key_bits() const noexcept { return key_bits_; }
  /// As a person would write it, for messages.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// See the constructor.
  [[nodiscard]] std::string_view owner() const noexcept { return owner_; }
  /// See the constructor.
  [[nodiscard]] std::uint8_t mailbox() const noexcept { return mailbox_; }
  /// Batch_flag bits of its batches.
  [[nodiscard]] std::uint8_t flags() const noexcept { return flags_; }
  /// How its messages lie in a batch.
  [[nodiscard]] const message_layout& layout() const noexcept { return layout_; }
  /// See the constructor; null: none.
  [[nodiscard]] const handler* replies() const noexcept { return replies_; }
  /// Calls the function that unloads a batch. \param arrival  as it wants it.
  void unload(void* arrival) const { unload_(arrival); }

 private:
  friend class handler_table;
  const std::type_info* type_;
  std::string_view name_;
  std::string_view owner_;
  unload_function unload_;
  std::uint64_t key_bits_ = std::uint64_t{1} << 63;
  std::uint8_t mailbox_;
  std::uint8_t flags_;
  message_layout layout_;
  const handler* replies_;
  handler* next_ = nullptr;
};

/// All handlers of the program.
class handler_table {
 public:
  /// Numbers the handlers. Any thread, any number of times; before the first send of a job.
  /// \throws shunt::error when the program has more than 65,535.
  static void number();
  /// \param id  that a handler has (contract).
  [[nodiscard]] static const handler& at(std::uint16_t id) noexcept;
  /// Handlers of the program, after number().
  [[nodiscard]] static std::size_t size() noexcept;
  /// The same in two processes only if their tables are.
  [[nodiscard]] static std::uint64_t digest() noexcept;
};

/// A type's name as the compiler writes it, without leading namespaces of ours.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  // "constexpr std::string_view shunt::v1::wire::type_name() [with T = X; std::string_view = ...]" (gcc),
  // "std::string_view shunt::wire::type_name() [T = X]" (clang)
  std::string_view text = __PRETTY_FUNCTION__;
  const auto start = text.find("T = ");
  text.remove_prefix(start == text.npos ? 0 : start + 4);
  const auto end = text.find("; std::string_view");
  return end == text.npos ? text.substr(0, text.size() - 1) : text.substr(0, end);
}

}  // namespace wire
}  // namespace v1
}  // namespace shunt
