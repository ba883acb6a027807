/// What the code in the comments of module sync takes for granted: see tools/snippets.py.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include <shunt/sync.hpp>

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
