/// Front of the typed actors: managers, references, mailboxes, supervisors.
#pragma once

#include <shunt/actor/mailbox.hpp>
#include <shunt/actor/manager.hpp>
#include <shunt/actor/ref.hpp>
#include <shunt/actor/supervisor.hpp>
