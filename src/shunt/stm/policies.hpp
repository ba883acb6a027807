/// What the scheduler of transactions does, and how to switch parts of it off.
#pragma once

#include <source_location>

namespace shunt {
inline namespace v1 {
namespace stm {

/// For all transactions of the process. Each policy can be switched off, to see what it is worth.
struct policies {
  /// For each class of transactions the number of workers (and threads) that it is allowed on is found by hill climbing
  /// on commits a second. Off: the number is `workers`.
  bool adapt = true;
  int workers = 0;  ///< 0: all

  /// While one worker or thread is the only one that runs transactions, it runs them without atomic
  /// read-modify-writes, until another one comes.
  bool exclusive = true;

  /// A transaction that has lost three attempts queues behind others that lost at the same variable, and goes on when
  /// the one before it has committed.
  bool queue_losers = true;

  /// A transaction that has lost eight attempts, or half a millisecond's work, runs without others; the oldest of such
  /// transactions first. Off: nothing bounds the number of attempts.
  bool oldest_first = true;
};

/// Any thread, at any time, but one call at a time: of two that overlap each policy may be either's, and a class of
/// transactions may keep other ones than current_policies() says. For all transactions that begin after the call; one
/// that begins meanwhile may see some of the new policies. \throws usage_error if `workers` is negative.
void set_policies(const policies& wanted, std::source_location where = std::source_location::current());
/// Any thread, at any time. During a call of set_policies() a mixture of before and after.
[[nodiscard]] policies current_policies() noexcept;

}  // namespace stm
}  // namespace v1
}  // namespace shunt
