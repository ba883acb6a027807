/// Module header of `task`: structured tasks, futures, fibers with handles, parallel loops, railways, coroutines.
///
/// All names are in namespace shunt::task. Those that programs write are in shunt:: as well:
///   finish.hpp      finish, async
///   future.hpp      future, promise, async_value, broken_promise, future_value
///   when.hpp        when_all, when_any, when_any_result, then
///   task_group.hpp  task_group, with_timeout, with_deadline
///   fiber.hpp       fiber
///   launch.hpp      launch
///   fork_join.hpp   fork_join, parallel_for, parallel_reduce
///   coroutine.hpp   coroutine_task, start
///   railway.hpp     railway, railway_options, wait_profile, station_counts, railway_good
///
/// A last parameter `where` is the line of the call, for errors (base/call_site.hpp): programs leave it out.
#pragma once

#include <shunt/task/coroutine.hpp>
#include <shunt/task/fiber.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/fork_join.hpp>
#include <shunt/task/future.hpp>
#include <shunt/task/launch.hpp>
#include <shunt/task/railway.hpp>
#include <shunt/task/railway_options.hpp>
#include <shunt/task/task_group.hpp>
#include <shunt/task/when.hpp>
