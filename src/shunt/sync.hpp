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
///   ticker.hpp              ticker
///   rate_limiter.hpp        rate_limiter
///   select.hpp              select, select_for, select_until, try_select, on_receive, on_send
///
/// A fiber that waits for one of them leaves its worker to other fibers; a thread that waits sleeps. All waits but
/// those for a barrier and for a call of once have forms with a deadline. Reports of what is stuck (report_fibers(),
/// SIGUSR1) name what a fiber waits for. A handler, and a fiber in a transaction, may take what is free; where it would
/// have to wait, the call throws.
///
/// A last parameter `where` is the line of the call, for errors (base/call_site.hpp): programs leave it out.
#pragma once

#include <shunt/sync/barrier.hpp>
#include <shunt/sync/channel.hpp>
#include <shunt/sync/condition_variable.hpp>
#include <shunt/sync/latch.hpp>
#include <shunt/sync/mutex.hpp>
#include <shunt/sync/once.hpp>
#include <shunt/sync/rate_limiter.hpp>
#include <shunt/sync/select.hpp>
#include <shunt/sync/semaphore.hpp>
#include <shunt/sync/shared_mutex.hpp>
#include <shunt/sync/ticker.hpp>
