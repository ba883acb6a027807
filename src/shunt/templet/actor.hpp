/// Actors that get messages. See engine.hpp for the whole picture.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/templet/detail/inbox.hpp>
#include <shunt/templet/message.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {

/// Called with each message that arrives. The actor has `arrived`, and all that it stands for, until it sends it on;
/// likewise the messages that arrived before and were not sent on. A handler may send. It may wait, which parks the
/// fiber: the worker goes on with its other fibers, and other workers with the actors that are queued here.
/// An exception that leaves a handler ends the run.
using handler = void (*)(message& arrived, actor& self);

/// Gets messages. Programs derive from it, or keep what belongs to it beside it.
class alignas(cache_line) actor {
 public:
  actor() noexcept = default;
  /// \param h  called with each message that arrives; see recv.
  explicit actor(handler h) noexcept : recv(h) {}
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  /// No message is on its way to it, and it does not run (contract).
  ~actor() { SHUNT_ASSERT(inbox_.idle()); }

  handler recv = nullptr;  ///< set before the first message is sent to it
  std::string name{};      ///< for errors; may stay empty

 private:
  friend class detail::loop;
  friend class detail::scheduler;
  friend bool access(const message& m, const actor& a) noexcept;
  friend void send(engine& e, message& m, actor& to);
  friend void ended(actor& a) noexcept;

  detail::inbox<message> inbox_;
  actor* next_ = nullptr;         // in scheduler::injected_first_
  const char* awaits_ = nullptr;  // written by the actor's handler; see must_end()
  actor* next_awaiting_ = nullptr;
  bool listed_ = false;
};

/// Whether actor `a` has `m`: whether a's handler may use it. For a's handler, or while nothing runs. Other callers
/// may ask, and learn what was so a moment ago. Cost: one load.
[[nodiscard]] inline bool access(const message& m, const actor& a) noexcept {
  // relaxed: what `m` brought came by edge `sent` of the inbox, to this activation of `a` or one before. That it was
  // sent away again is this actor's own doing.
  return m.where_.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(&a);
}

/// What must_end() asked for has come. In a's handler, or outside of runs.
inline void ended(actor& a) noexcept { a.awaits_ = nullptr; }

}  // namespace templet
}  // namespace v1
}  // namespace shunt
