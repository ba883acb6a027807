/// Module header of `sched`: fibers, workers, parking, and reports of what is stuck.
///
/// A last parameter `where` is the line of the call, for errors (base/call_site.hpp): programs leave it out.
#pragma once

#include <shunt/sched/explore/explore.hpp>
#include <shunt/sched/explore/strategy.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/fiber_local.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sched/observe/late_stop.hpp>
#include <shunt/sched/observe/report.hpp>
#include <shunt/sched/poller.hpp>
#include <shunt/sched/runtime.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/sched/waits_forbidden.hpp>
