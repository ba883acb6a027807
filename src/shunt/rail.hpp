/// Front of the room `rail`: trains, and the inboxes they arrive in.
#pragma once

#include <shunt/rail/inbox.hpp>
#include <shunt/rail/platform.hpp>
#include <shunt/rail/train.hpp>
