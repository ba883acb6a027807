/// Front of the room `transport`: what carries trains between processes.
#pragma once

#include <shunt/transport/transport.hpp>
