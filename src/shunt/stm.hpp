/// Module header of `stm`: transactions over shared variables, structures made of those, and the scheduler that knows
/// of them.
#pragma once

#include <shunt/stm/atomically.hpp>
#include <shunt/stm/named.hpp>
#include <shunt/stm/policies.hpp>
#include <shunt/stm/quiesce.hpp>
#include <shunt/stm/statistics.hpp>
#include <shunt/stm/tbqueue.hpp>
#include <shunt/stm/tchan.hpp>
#include <shunt/stm/tcounter.hpp>
#include <shunt/stm/tmap.hpp>
#include <shunt/stm/tmvar.hpp>
#include <shunt/stm/tpriority_queue.hpp>
#include <shunt/stm/tqueue.hpp>
#include <shunt/stm/transaction_class.hpp>
#include <shunt/stm/tsem.hpp>
#include <shunt/stm/tset.hpp>
#include <shunt/stm/tvar.hpp>
#include <shunt/stm/tx.hpp>
#include <shunt/stm/tx_item.hpp>
