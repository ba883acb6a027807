/// Module header of `task`: finish, async, futures, fibers with handles, groups, railways, fork_join, parallel_for,
/// coroutines.
#pragma once

#include <shunt/task/coroutine.hpp>
#include <shunt/task/fiber.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/fork_join.hpp>
#include <shunt/task/future.hpp>
#include <shunt/task/railway.hpp>
#include <shunt/task/task_group.hpp>
#include <shunt/task/when.hpp>
