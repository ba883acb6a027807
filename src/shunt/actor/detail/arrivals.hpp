/// What has arrived at a dispatcher: trains of messages, and controls. They wait in line, and are unloaded in order.
/// Rings of threads outside arrive as well; the dispatcher looks into them until they have been empty for long, or it
/// rests.
///
/// A batch unloads about as many messages as it handles, so these are in cache when their turn comes. It unloads all of
/// the line where some of it has waited for long, and everything up to the last control.
///
/// Invariants
///   arrivals.A1  Unloading a train calls no code of the program but the move constructors of arguments: what else has
///       arrived must not overtake the rest of the train. A message that is found dead is put aside, and ends
///       afterwards, between batches or turns.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/message_ring.hpp>
#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Something to do on the dispatcher's thread. Exempt from all bounds, as only the library sends it. Deletes itself.
struct control final : rail::train {
  explicit control(std::function<void()> f) : what(std::move(f)) { head.channel = channel; }
  static constexpr std::uint8_t channel = 3;
  std::function<void()> what;
};

/// The owner's thread only.
class arrivals {
 public:
  explicit arrivals(dispatcher& of) noexcept : of_(of) {}
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  /// Whether nothing waits to be unloaded, apart from the inbox.
  [[nodiscard]] bool empty() const noexcept { return in_line_.empty() && dead_.empty(); }
  /// Takes what is in the inbox: trains that have come home are at home then, others join the line.
  void take() noexcept;
  /// Unloads as much as a batch handles, and ends what is dead. May wait.
  void unload() noexcept;
  /// All actors have ended: deletes controls that came too late.
  void discard() noexcept;
  /// Whether a ring has something. A ring that has been empty for long is watched no more.
  [[nodiscard]] bool any_in_rings() noexcept { return first_watched_ != nullptr && look_into_rings(); }
  /// Before the dispatcher rests: no ring is watched any more. \return false: one has something.
  [[nodiscard]] bool stop_watching() noexcept { return first_watched_ == nullptr || stop_watching_empty(0); }
  /// Unloads all trains, and all rings. Controls stay in line, as they call code of the program.
  void unload_trains() noexcept;

 private:
  void unload_line() noexcept;
  std::int64_t unload_train(rail::train& t) noexcept;
  void unload_rings() noexcept;
  void unload_ring(message_ring& r, std::uint64_t end) noexcept;
  void unload_part(message_ring& r, std::uint64_t end) noexcept;
  template <class Reader>
  [[nodiscard]] std::int64_t unload_messages(Reader& from) noexcept;
  void count_unloaded(std::size_t dead_before) noexcept;
  void watch(message_ring& r) noexcept;
  [[nodiscard]] bool look_into_rings() noexcept;
  bool stop_watching_empty(int looks) noexcept;
  void obey(control& c) noexcept;
  [[nodiscard]] bool may_stay_in_line() noexcept;
  [[gnu::noinline, gnu::cold]] void end_dead() noexcept;

  /// A message that was found dead when it was unloaded. What ends with it is the program's code, which may send and
  /// wait.
  struct dead_message {
    envelope* message;
    actor_cell* cell;  // null: of an actor that had ended
    std::uint32_t incarnation;
    std::string_view why;
  };

  dispatcher& of_;
  rail::train_list in_line_;  // trains and controls that have arrived, to be unloaded
  int controls_in_line_ = 0;
  bool waits_ = false;  // a batch has left some of the line,
  std::chrono::steady_clock::time_point waits_since_{};
  message_ring* first_watched_ = nullptr;  // rings to be looked into
  message_ring* last_watched_ = nullptr;
  std::uint64_t unloaded_before_ = 0;  // of ring_list::next_before(), so many calls
  std::vector<dead_message> dead_;
  std::uint64_t brought_dead_ = 0;  // trains and looks into rings that brought them, and are not counted done yet
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
