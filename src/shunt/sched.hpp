/// Front of the room `sched`: fibers, workers, parking.
#pragma once

#include <shunt/sched/fiber.hpp>
#include <shunt/sched/futex.hpp>
#include <shunt/sched/poller.hpp>
#include <shunt/sched/runtime.hpp>
