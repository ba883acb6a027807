/// Module header of `actor`: actors that are called by plain methods; references, mailboxes, supervisors and timers.
///
/// All names are in namespace shunt::actor. Those that programs write are in shunt:: as well:
///   manager.hpp     manager, manager_options, actor_options
///   ref.hpp         ref, this_actor
///   proxy.hpp       proxy_of
///   mailbox.hpp     overflow, mailbox_full, unanswered, dead_letter, ended
///   supervisor.hpp  supervisor, supervisor_options, strategy
#pragma once

#include <shunt/actor/ref.hpp>

// ref.hpp first: of its errors compilers print the way by which it was included.
#include <shunt/actor/mailbox.hpp>
#include <shunt/actor/manager.hpp>
#include <shunt/actor/proxy.hpp>
#include <shunt/actor/supervisor.hpp>
#include <shunt/actor/timers.hpp>
