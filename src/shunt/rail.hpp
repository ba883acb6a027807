/// Module header of `rail`: trains, the inboxes they arrive in, and lines of stations.
#pragma once

#include <shunt/rail/endpoint.hpp>
#include <shunt/rail/inbox.hpp>
#include <shunt/rail/line.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>
