/// What the code in the comments of module io takes for granted: see tools/snippets.py.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <shunt/io.hpp>
#include <shunt/io/http.hpp>
#include <shunt/io/tls.hpp>
#include <shunt/task.hpp>

// Which the tests' packages have: Debian's libboost-dev and libssl-dev.
#include <boost/asio.hpp>
#include <boost/asio/serial_port.hpp>

namespace examples::io_asio {
extern std::string room;
}  // namespace examples::io_asio

namespace examples::io_name {
using namespace std::chrono_literals;
void use(const shunt::io::address& at);
}  // namespace examples::io_name

namespace examples::io_tls {
using namespace std::chrono_literals;
}  // namespace examples::io_tls

namespace examples::io_http {
using namespace std::chrono_literals;
}  // namespace examples::io_http

namespace examples::io_http_client {
namespace io = shunt::io;
namespace http = shunt::io::http;
extern const io::tls_context context;
}  // namespace examples::io_http_client

namespace examples::io_child {
using namespace std::chrono_literals;
void complain();
}  // namespace examples::io_child

namespace examples::io_deadline {
using namespace std::chrono_literals;
extern shunt::io::stream peer;
extern std::string line;
extern std::chrono::steady_clock::time_point at;
extern std::stop_token stop;
}  // namespace examples::io_deadline

namespace examples::io_signals {
void serve(shunt::io::listener& door);
}  // namespace examples::io_signals

namespace examples::io_buffer {
extern shunt::io::stream peer;
extern std::byte key[32];
extern char line[80];
}  // namespace examples::io_buffer

namespace examples::io_buffered {
extern shunt::io::stream peer;
}  // namespace examples::io_buffered
