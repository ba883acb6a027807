/// Waiting until no transaction sees what was unlinked.
#pragma once

#include <source_location>

namespace shunt {
inline namespace v1 {
namespace stm {

/// Any thread or fiber, outside of transactions. Waits, without giving the thread to other fibers, until every
/// transaction that ran when it was called has ended; deletes what this thread's transactions have replaced or
/// destroyed. Call it after taking an object out of all variables, before using that object without transactions.
/// \throws usage_error inside a transaction. Cost: some microseconds, and the longest body that runs.
void tx_quiesce(std::source_location where = std::source_location::current());

}  // namespace stm
}  // namespace v1
}  // namespace shunt
