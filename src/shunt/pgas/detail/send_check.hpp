/// Two mistakes that a job finds where it is told to (options::check): each would give a wrong answer in silence.
///
///   a captured address    the message holds the address of a variable on the sender's stack, or of a part
///   a forgotten finish()  a collective is called while messages of the same PE are under way: of a part that these may
///                         change; or of something else, and then the selector goes without finish()
///
/// Where a job checks, the fast path of send() finds no room in any buffer: it looks at `decoys`, which are empty. So
/// each send takes the cold path, which asks for a place (place_for) and builds the message there, as it does for one
/// that is handed over. Then the message is looked at, and goes on. A job that does not check runs the same
/// instructions as if there were no check.
///
/// Invariants
///   send_check.C1  Between place_for() and take() no other fiber of the worker runs: one message at a time is there.
///   send_check.C2  Only the worker's thread touches it.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/lent_buffers.hpp>
#include <shunt/pgas/detail/selector_state.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class send_check {
 public:
  /// A message of a send that the program has made, on its way to a buffer.
  struct built_message {
    int hop;
    handed_message what;
    std::vector<std::byte> bytes;
  };

  /// \param buffers  as many as the worker has on a channel
  send_check(bool on, std::size_t buffers, const selector_table& selectors);

  [[nodiscard]] bool on() const noexcept { return decoys_ != nullptr; }
  /// What the fast path of send() sees in place of the worker's buffers; null: it sees these.
  [[nodiscard]] send_buffer* decoys() const noexcept { return decoys_.get(); }

  /// \return where the caller builds the message, and a request's continuation behind it.
  [[nodiscard]] std::byte* place_for(int hop, const handed_message& message);
  /// Where place_for() let it be built.
  [[nodiscard]] std::byte* built() const noexcept { return const_cast<std::byte*>(bytes_.data()); }
  /// The message that has been built; place_for() was called just before.
  [[nodiscard]] built_message take() noexcept;
  /// Gives the memory back, for the next message.
  void give(built_message&& done) noexcept;

  /// \param selectors  of the calling thread's worker
  /// \param captures   of the message; not its route
  /// \throws usage_error if they hold an address that means nothing on PE `to`.
  static void look_at(const selector_table& selectors, int from, int to, batch_key key,
                      std::span<const std::byte> captures, const std::source_location& where);
  /// \param message  as place_for() gave it
  void look_at(const built_message& message) const;

 private:
  std::unique_ptr<send_buffer[]> decoys_;
  const selector_table& selectors_;
  int hop_ = 0;
  handed_message what_{};
  std::vector<std::byte> bytes_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
