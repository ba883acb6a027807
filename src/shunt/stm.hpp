/// Module header of `stm`: transactions over shared variables, structures made of such variables, and a scheduler that
/// knows of transactions.
///
/// All names are in namespace shunt::stm. Those that programs write are in shunt:: as well:
///   tvar.hpp               tvar
///   tx.hpp                 tx, ro_tx, blocking_in_transaction
///   atomically.hpp         atomically, atomically_for, atomically_until, irrevocable, snapshot
///   transaction_class.hpp  transaction_class
///   structures/            tbqueue, tchan, tcounter, tmap, tmvar, tpriority_queue, tqueue, tsem, tset
#pragma once

#include <shunt/stm/atomically.hpp>
#include <shunt/stm/named.hpp>
#include <shunt/stm/policies.hpp>
#include <shunt/stm/quiesce.hpp>
#include <shunt/stm/statistics.hpp>
#include <shunt/stm/structures/tbqueue.hpp>
#include <shunt/stm/structures/tchan.hpp>
#include <shunt/stm/structures/tcounter.hpp>
#include <shunt/stm/structures/tmap.hpp>
#include <shunt/stm/structures/tmvar.hpp>
#include <shunt/stm/structures/tpriority_queue.hpp>
#include <shunt/stm/structures/tqueue.hpp>
#include <shunt/stm/structures/tsem.hpp>
#include <shunt/stm/structures/tset.hpp>
#include <shunt/stm/structures/tx_item.hpp>
#include <shunt/stm/transaction_class.hpp>
#include <shunt/stm/tvar.hpp>
#include <shunt/stm/tx.hpp>
