/// A dispatcher's way to the others: the open train for each of them, and the wait for trains that come home.
///
/// A train departs when it is full; when its dispatcher has handled a batch, or has nothing else to do; and at once,
/// with one message, if the other worker sleeps. At most `trains` of a dispatcher are open or on their way: they are
/// its credit.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/message_batch.hpp>
#include <shunt/actor/detail/waiter.hpp>
#include <shunt/rail/endpoint.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// The open train of a destination, and the writer that fills it. A batch begins with a look at its actor's `full`.
struct open_batch : rail::outgoing {
  batch_writer writer;
};

/// The owner's thread only.
class outbox final : rail::credit {
 public:
  static constexpr std::size_t messages_a_train = 256;  // a train costs as much as some hundred messages: DESIGN.md
  static constexpr std::size_t bytes_a_train = 16384;   // so many of the longest messages, if few batches begin

  outbox(rail::train_inbox::wake_function wake, dispatcher& of, std::size_t dispatchers);

  /// Where the caller builds the arguments of a message for an actor of dispatcher number `to`. Building must neither
  /// wait nor send. nullptr: the caller must send() it.
  [[nodiscard]] std::byte* place(std::size_t to, actor_cell& c, std::uint64_t target, const message_ops& ops) {
    batch_writer& w = batches_[to].writer;
    if (!w.takes(c, target, ops) && !admit(c, target, ops)) return nullptr;
    return w.place();
  }
  /// The caller has built them: so many bytes.
  void built(std::size_t to, std::size_t bytes) noexcept {
    if (batches_[to].writer.advance(bytes)) depart(to);
  }

  /// A message for another dispatcher's actor, whatever its mailbox. May wait.
  /// \return false: it was not sent, the caller tries again. \throws as dispatcher::send()
  [[nodiscard]] bool send(envelope& m, call_site call);

  /// All open trains depart. \return whether there was any.
  bool depart_all() noexcept {
    return line_.depart_all(0, [this](std::size_t to) { depart(to); });
  }

  /// The endpoint, for what arrives.
  [[nodiscard]] rail::endpoint<open_batch>& line() noexcept { return line_; }
  /// Any thread may deliver there.
  [[nodiscard]] rail::train_inbox& inbox() noexcept { return line_.inbox(); }

 private:
  [[gnu::noinline]] bool admit(actor_cell& c, std::uint64_t target, const message_ops& ops);
  bool begin_batch(actor_cell& c, std::uint64_t target, const message_ops& ops);
  bool open(dispatcher& to);
  [[nodiscard]] bool has_become_full(const actor_cell& c) noexcept;
  [[gnu::noinline]] void depart(std::size_t to) noexcept;

  void wait(std::uint8_t channel, std::size_t trains, call_site call) override;
  /// Wakes all of them: a fiber may find no use for a train, as its mailbox has become full.
  void came_home(std::size_t /*trains*/) noexcept override { wake_all(waiting_); }

  dispatcher& of_;
  open_batch* batches_;               // line_'s, by dispatcher
  listed_waiter* waiting_ = nullptr;  // fibers that wait for a train
  rail::endpoint<open_batch> line_;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
