/// Module header of `io`: sockets, pipes, files, signals, processes and time; a fiber waits, its worker
/// does not.
#pragma once

#include <shunt/io/address.hpp>
#include <shunt/io/bytes.hpp>
#include <shunt/io/child.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/io/file.hpp>
#include <shunt/io/limit.hpp>
#include <shunt/io/net.hpp>
#include <shunt/io/pipe.hpp>
#include <shunt/io/reactor.hpp>
#include <shunt/io/signals.hpp>
