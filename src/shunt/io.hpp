/// Module header of `io`: sockets, pipes, files, signals, processes and time. A fiber that waits for one of them parks;
/// its worker runs others. All names are in namespace shunt::io.
#pragma once

#include <shunt/io/address.hpp>
#include <shunt/io/buffer.hpp>
#include <shunt/io/buffered.hpp>
#include <shunt/io/child.hpp>
#include <shunt/io/deadline.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/file.hpp>
#include <shunt/io/io_error.hpp>
#include <shunt/io/name.hpp>
#include <shunt/io/net.hpp>
#include <shunt/io/pipe.hpp>
#include <shunt/io/reactor.hpp>
#include <shunt/io/signals.hpp>
