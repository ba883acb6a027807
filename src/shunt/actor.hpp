/// Module header of `actor`: messages that are variables, and typed actors.
#pragma once

#include <shunt/actor/core.hpp>
#include <shunt/actor/typed.hpp>
