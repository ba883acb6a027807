/// Module header of `wire`: how goods lie in a train, and names of handlers that hold across processes.
#pragma once

#include <shunt/wire/batch.hpp>
#include <shunt/wire/handlers.hpp>
