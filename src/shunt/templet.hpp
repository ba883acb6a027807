/// Module header of `templet`: actors whose messages are variables of the program.
#pragma once

#include <shunt/templet/actor.hpp>
#include <shunt/templet/engine.hpp>
#include <shunt/templet/message.hpp>
#include <shunt/templet/simulate.hpp>
