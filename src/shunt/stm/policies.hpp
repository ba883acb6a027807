/// What the scheduler of transactions does, and what it is told not to.
#pragma once

namespace shunt {
inline namespace v1 {
namespace stm {

/// The same for all transactions of the process. Each can be switched off, to see what it is worth.
struct policies {
  /// For each class of transactions the number of workers (and threads) that it is allowed on is found by climbing on
  /// commits a second. Off: it is `workers`.
  bool adapt = true;
  int workers = 0;  ///< 0: all

  /// Whoever is alone in running transactions does so without atomic read-modify-writes, until another one comes.
  bool solo = true;

  /// Who has lost three times queues behind others that lost at the same variable, and goes on when the one before it
  /// has committed.
  bool queue_losers = true;

  /// Who has lost eight times, or half a millisecond's work, runs without others, in the order in which they came to
  /// that.
  /// Off: nothing bounds how often a transaction is run again.
  bool elders = true;
};

/// Any thread, at any time; for all transactions that begin from now on.
void set_policies(const policies& wanted);
[[nodiscard]] policies current_policies() noexcept;

}  // namespace stm
}  // namespace v1
}  // namespace shunt
