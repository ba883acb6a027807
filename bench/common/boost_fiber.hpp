/// The settings of Boost.Fiber, for both tables alike.
#pragma once

#include <boost/fiber/fixedsize_stack.hpp>

namespace bench {

/// Stacks from malloc. A pool's are as fast, and take a page more: it writes into each one's low
/// end. With guard pages the kernel's limit on mappings ends at 32,000. Not a power of two: the
/// tops would share the cache's sets.
inline boost::fibers::fixedsize_stack boost_fiber_stacks() { return boost::fibers::fixedsize_stack(60 * 1024); }

}  // namespace bench
