/// Front of the room `task`: finish, async, promise, future.
#pragma once

#include <shunt/task/finish.hpp>
#include <shunt/task/future.hpp>
