/// A batch that has arrived, as its handler's unloading loop sees it; and the handler that runs.
#pragma once

#include <cstddef>
#include <string>

#include <shunt/base/call_site.hpp>
#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/selector_state.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class pe_worker;
class outbound;

/// What an unloading function gets: the batch, and where it arrived.
struct arrival {
  pe_worker* at;
  outbound* out;  // the worker's
  selector_state* of;
  wire::batch_head* batch;
  std::byte* first;  // messages to unload
  std::byte* last;
  int from_worker;
  wire::route way;  // of the message under the handler: kept up to date for messages to people and for replies

  [[nodiscard]] bool routed() const noexcept { return (batch->flags & wire::routed) != 0; }
  /// For sending on behalf of the PE under the handler. \param named  the handler there asks for the sender
  [[nodiscard]] batch_key sender_bits(bool named) const noexcept;
  template <class Part>
  [[nodiscard]] Part& part() const noexcept;
};

/// The handler that runs on a worker now, if any. While one runs it forbids waiting: a handler runs between two
/// messages of its PE, and nothing else of the worker can run meanwhile.
class running_handler final : private sched::no_wait {
 public:
  /// Runs in a scope around the unloading of a train: waiting is forbidden in it.
  class forbidding {
   public:
    explicit forbidding(const running_handler& handlers) noexcept
        : before_(sched::this_worker::forbid_wait(&handlers)) {}
    ~forbidding() { sched::this_worker::forbid_wait(before_); }
    forbidding(const forbidding&) = delete;
    forbidding& operator=(const forbidding&) = delete;

   private:
    const sched::no_wait* const before_;
  };

  void begin(const arrival& at, const wire::handler& handler) noexcept {
    at_ = &at;
    handler_ = &handler;
  }
  void end() noexcept {
    at_ = nullptr;
    handler_ = nullptr;
  }
  [[nodiscard]] bool any() const noexcept { return at_ != nullptr; }
  /// What the calling fiber loads: handlers channel 1, programs channel 0 (outbound.B2).
  [[nodiscard]] std::uint8_t channel() const noexcept { return any() ? 1 : 0; }
  /// The PE on whose part the handler runs.
  [[nodiscard]] int pe() const noexcept { return at_->way.to; }
  [[nodiscard]] const wire::handler* entry() const noexcept { return handler_; }
  /// \throws error when a handler runs. \param call  as the program wrote it, "barrier()"
  void refuse_wait(call_site call) const {
    if (any()) refuse(call);
  }

 private:
  [[noreturn]] void refuse(call_site call) const override {
    throw error(error_number(901),
                "PE " + std::to_string(pe()) + ": handler " + std::string(handler_->name()) + " called " + call.name() +
                    ", which waits; a handler must not wait, it runs between two messages of its PE" + call.place(),
                call.where());
  }

  const arrival* at_ = nullptr;
  const wire::handler* handler_ = nullptr;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
