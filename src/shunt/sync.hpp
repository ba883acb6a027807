/// Module header of `sync`: locks, channels and their like, for fibers and threads.
///
/// All names are in namespace shunt::sync. Those that programs write are in shunt:: as well:
///   mutex.hpp               mutex
///   shared_mutex.hpp        shared_mutex
///   condition_variable.hpp  condition_variable
///   semaphore.hpp           semaphore
///   latch.hpp               latch
///   barrier.hpp             barrier
///   once.hpp                once
///   channel.hpp             channel, send_result
///   select.hpp              select, select_for, select_until, try_select, on_receive, on_send
///
/// A fiber that waits for one of them leaves its worker to other fibers; a thread that waits sleeps. Each wait can have
/// a deadline, and reports of what is stuck (report_fibers(), SIGUSR1) name what a fiber waits for. None of them may be
/// waited for in a handler or in a transaction: that throws.
#pragma once

#include <shunt/sync/barrier.hpp>
#include <shunt/sync/channel.hpp>
#include <shunt/sync/condition_variable.hpp>
#include <shunt/sync/latch.hpp>
#include <shunt/sync/mutex.hpp>
#include <shunt/sync/once.hpp>
#include <shunt/sync/select.hpp>
#include <shunt/sync/semaphore.hpp>
#include <shunt/sync/shared_mutex.hpp>
