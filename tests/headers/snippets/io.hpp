/// What the code in the comments of module io takes for granted: see tools/snippets.py.
#pragma once

#include <chrono>
#include <csignal>
#include <stop_token>
#include <string>

#include <shunt/io.hpp>

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

namespace examples::io_buffered {
extern shunt::io::stream peer;
}  // namespace examples::io_buffered
