/// The state of exceptions, which the C++ runtime keeps for each thread, and which must be kept for each fiber.
///
/// The ABI's `__cxa_eh_globals` holds the stack of caught exceptions and the count of uncaught ones. Two fibers that
/// stop inside their catch blocks push and pop one common stack; `throw;` then rethrows the other fiber's exception. So
/// the code that switches saves the pair for each execution. Only an execution with an exception in flight has anything
/// to save: the usual cost is two loads.
#pragma once

namespace shunt {
inline namespace v1 {
namespace context {

/// Layout of `__cxa_eh_globals` (Itanium C++ ABI: Exception Handling, 2.2.2).
struct exception_state {
  void* caught = nullptr;     ///< exceptions that are being handled, the last one first
  unsigned int uncaught = 0;  ///< exceptions that were thrown and not caught yet

  /// Whether a switch must carry it: an exception is on its way, or being handled.
  [[nodiscard]] bool any() const noexcept { return caught != nullptr || uncaught != 0; }
};

/// Any thread. The calling thread's state. Never inlined: by the rules of C++ a compiler may keep the address across a
/// switch, after which a fiber may be on another thread.
[[nodiscard, gnu::noinline]] exception_state& exceptions_of_this_thread() noexcept;

}  // namespace context
}  // namespace v1
}  // namespace shunt
