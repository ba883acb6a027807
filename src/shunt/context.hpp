/// Module header of `context`: the switch, stacks, backtraces, and the exceptions that a fiber carries.
#pragma once

#include <shunt/context/backtrace.hpp>
#include <shunt/context/exceptions.hpp>
#include <shunt/context/stack_pool.hpp>
#include <shunt/context/switch.hpp>
