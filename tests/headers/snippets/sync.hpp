/// What the code in the comments of module sync takes for granted: see tools/snippets.py.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <shunt/sync.hpp>

namespace examples::sync_ticker {
using namespace std::chrono_literals;
extern std::stop_token stop;
void report(std::uint64_t ticks);
}  // namespace examples::sync_ticker

namespace examples::sync_rate_limiter {
extern std::string server;
void ask(const std::string& server);
}  // namespace examples::sync_rate_limiter

namespace examples::sync_mutex {
extern shunt::mutex guard;
extern std::map<std::string, int> seen;
}  // namespace examples::sync_mutex

namespace examples::sync_condition_variable {
extern shunt::mutex guard;
extern shunt::condition_variable not_empty;
extern std::deque<int> queue;
}  // namespace examples::sync_condition_variable

namespace examples::sync_once {
extern int table;
extern std::string file;
int read_table(const std::string& file);
}  // namespace examples::sync_once

namespace examples::sync_channel {
void print(const std::string& line);
}  // namespace examples::sync_channel

namespace examples::sync_select {
struct job {};
extern shunt::channel<job> jobs;
extern shunt::channel<int> signals;
void work_on(const std::optional<job>& next);
void stop(std::optional<int> which);
}  // namespace examples::sync_select
