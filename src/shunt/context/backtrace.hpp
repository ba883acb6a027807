/// Where an execution is: the return addresses on its stack.
#pragma once

#include <cstddef>
#include <span>

#include <shunt/context/switch.hpp>

namespace shunt {
inline namespace v1 {
namespace context {

/// Any thread. The backtrace of an execution that was prepared or has stopped, and that no thread resumes meanwhile.
/// Reads its stack, and neither writes nor runs there.
/// \param into  filled innermost first: where `e` goes on, then return addresses. An address may lie one byte behind
///              its function: look it up at one byte less.
/// \return how many addresses; 0 where the switch is Boost.Context's
/// Legal in a signal handler, where the C library finds unwind tables without a lock (glibc 2.35 and later with gcc
/// 12's libgcc). Cost: about 100 ns a frame.
std::size_t backtrace(const execution& e, std::span<const void*> into) noexcept;

/// Any thread. The backtrace of the caller, from its own return address on; otherwise the same.
[[gnu::noinline]] std::size_t backtrace(std::span<const void*> into) noexcept;

}  // namespace context
}  // namespace v1
}  // namespace shunt
