/// Module header of `actor`: actors that are called by plain methods; references, mailboxes, supervisors and timers.
#pragma once

#include <shunt/actor/mailbox.hpp>
#include <shunt/actor/manager.hpp>
#include <shunt/actor/ref.hpp>
#include <shunt/actor/supervisor.hpp>
#include <shunt/actor/timers.hpp>
