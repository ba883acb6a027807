/// Module header of `transport`: what carries trains between processes.
#pragma once

#include <shunt/transport/transport.hpp>
