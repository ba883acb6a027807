/// What people are told when a worker refuses something. Functions of facts: they throw, and change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/selector_state.hpp>
#include <shunt/pgas/detail/worker_facts.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// PE `from` sends to a PE that the job does not have.
[[noreturn, gnu::cold]] void refuse_destination(int from, int to, int pes, const std::source_location& where);

/// A message through an actor of PE `from` by a thread that is not this PE's worker.
[[noreturn, gnu::cold]] void refuse_thread(int from, const std::source_location& where);

/// A call that only the program of PE `pe` may make, by a task on another worker. \param call  "finish()"
[[noreturn, gnu::cold]] void refuse_call_in_task(int pe, const char* call);

/// A message holds an address that means nothing on PE `to`. \param what  "a variable on the sender's stack"
[[noreturn, gnu::cold]] void refuse_address(int from, int to, batch_key key, std::string_view what,
                                            const std::source_location& where);

/// A selector of PE `pe` goes without finish(), and a collective has been called amid its last messages.
[[noreturn, gnu::cold]] void refuse_no_finish(int pe, const selector_state& s, const message_under_way& last);

/// A collective takes as operand what messages of PE `pe` may still change. \param call  "reduce()"
[[noreturn, gnu::cold]] void refuse_operand(int pe, const char* call, const selector_state& s,
                                            const message_under_way& last);

/// A message does not fit into a train.
[[noreturn, gnu::cold]] void refuse_length(int from, std::size_t bytes, std::size_t capacity, batch_key key,
                                           const std::source_location& where);

/// Handlers have used up the trains of their worker. \param handler  that runs; null: none
[[noreturn, gnu::cold]] void refuse_budget(int from, const wire::handler* handler, const rail::train_pool& pool,
                                           std::size_t budget);

/// A task sends through a selector that its PE has destroyed.
[[noreturn, gnu::cold]] void refuse_gone(int from, const std::source_location& where);

/// A mailbox that was chosen while running does not exist, or carries another type. \param call  "send_through()"
[[noreturn, gnu::cold]] void refuse_mailbox(int pe, const char* call, std::size_t mailbox, const selector_state& s,
                                            const std::source_location& where);

/// A message to a mailbox of which this epoch's end has been announced.
[[noreturn, gnu::cold]] void refuse_closed_mailbox(int from, unsigned mailbox, const selector_state& s,
                                                   const std::source_location& where);

/// What gather, broadcast, reduce or scan collected is not what workers send. \param call  "reduce()"
[[noreturn, gnu::cold]] void refuse_collected(std::string_view call, const std::string& what);

/// superstep() inside of a superstep.
[[noreturn, gnu::cold]] void refuse_superstep(int pe, std::source_location where);

/// A change of element `i` of an object of `size`. \param amid  in a superstep: then the element is not there
[[noreturn, gnu::cold]] void refuse_change(int pe, bool amid, std::uint64_t i, std::uint64_t size,
                                           std::source_location where);

/// A read in a superstep. \param call  "gather()"
[[noreturn, gnu::cold]] void refuse_read_amid(int pe, const char* call, std::source_location where);

/// An element beyond an array of `size`.
[[noreturn, gnu::cold]] void refuse_element(int pe, std::uint64_t i, std::uint64_t size, std::source_location where);

/// An array that is too large for so many PEs.
[[noreturn, gnu::cold]] void refuse_array_size(int pe, int pes, std::uint64_t size);

/// A PE's rows of a sparse matrix have entries in more columns than it can number.
[[noreturn, gnu::cold]] void refuse_columns(int pe, std::size_t columns);

/// Two ranges of a call differ in length. \param call  "gather()"
[[noreturn, gnu::cold]] void refuse_lengths(int pe, const char* call, std::size_t one, std::size_t other,
                                            std::source_location where);

/// A key that a container's keys cannot be. \param bytes  of a key
[[noreturn, gnu::cold]] void refuse_key(const std::string& key, std::size_t bytes, std::source_location where);

/// A matrix or vector does not fit. \param call  "multiply()"
[[noreturn, gnu::cold]] void refuse_shape(int pe, const char* call, std::uint64_t wanted, std::uint64_t given,
                                          std::source_location where);

/// "PEs disagree: one is ONE while others are OTHERS; every PE must make ...". \param one, others  each with its
/// preposition
[[nodiscard]] std::string disagreement(const std::string& one, const std::string& others);

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
