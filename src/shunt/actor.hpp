/// Front of the room `actor`: messages that are variables.
#pragma once

#include <shunt/actor/core.hpp>
