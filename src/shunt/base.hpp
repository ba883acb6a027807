/// Module header of `base`: cache lines, fences, clock, division, times by size, CPUs, random numbers, errors, options,
/// names of functions, memory of small objects.
#pragma once

#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/block.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/base/chain.hpp>
#include <shunt/base/clock.hpp>
#include <shunt/base/divisor.hpp>
#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/futex.hpp>
#include <shunt/base/latency_histogram.hpp>
#include <shunt/base/owned_descriptor.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/base/quoted.hpp>
#include <shunt/base/random.hpp>
#include <shunt/base/spelling.hpp>
#include <shunt/base/symbols.hpp>
#include <shunt/base/thread_cache.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/base/wait_time.hpp>
