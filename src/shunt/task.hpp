/// Front of the room `task`: finish, async, promise, future, fork_join, parallel_for.
#pragma once

#include <shunt/task/finish.hpp>
#include <shunt/task/fork_join.hpp>
#include <shunt/task/future.hpp>
