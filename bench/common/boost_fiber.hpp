/// The settings of Boost.Fiber, for both tables alike.
#pragma once

#include <boost/fiber/pooled_fixedsize_stack.hpp>

namespace bench {

/// Pooled stacks of 64 KiB; blocks of at most 1,024 of them: the pool doubles its blocks, and the
/// kernel refuses one that is larger than its memory, though it is never touched.
inline boost::fibers::pooled_fixedsize_stack boost_fiber_stacks() {
  return boost::fibers::pooled_fixedsize_stack(64 * 1024, 32, 1024);
}

}  // namespace bench
