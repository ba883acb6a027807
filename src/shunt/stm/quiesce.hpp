/// When nobody looks any more.
#pragma once

namespace shunt {
inline namespace v1 {

/// Any thread or fiber, outside of transactions. Waits, without giving the thread to other fibers, until every
/// transaction that ran when it was called has ended; deletes what this thread's transactions have replaced or
/// destroyed. For who took something out of all variables, and goes on to use it without transactions. \throws
/// usage_error inside one. Cost: some microseconds, and the longest body that runs.
void tx_quiesce();

}  // namespace v1
}  // namespace shunt
