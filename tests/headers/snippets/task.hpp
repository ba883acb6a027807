/// What the code in the comments of module task takes for granted: see tools/snippets.py.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <shunt/task.hpp>
#include <shunt/task/senders.hpp>

namespace examples::task_coroutine {
extern shunt::future<long> x, y, sum;
}  // namespace examples::task_coroutine

namespace examples::task_fiber {
using namespace std::chrono_literals;
extern int peer;
void serve(int to, const std::stop_token& stop);
}  // namespace examples::task_fiber

namespace examples::task_finish {
extern std::vector<int> blocks;
void solve(int& block);
}  // namespace examples::task_finish

namespace examples::task_future {
extern std::vector<long> lower_half, upper_half;
long sum(const std::vector<long>& numbers);
void use(long number);
}  // namespace examples::task_future

namespace examples::task_railway {
struct order {
  int number;
  bool fine;
};
extern order next;
bool read(order& into);
bool check(const order& what);
template <typename Train>
void write(const Train& train);
void settle(const order& what);
bool more();
std::size_t fill(std::span<order> space);
extern shunt::railway<order> line;
extern shunt::railway<order>::loader& in;
}  // namespace examples::task_railway

namespace examples::task_launch {
void serve_one();
void serve_other();
}  // namespace examples::task_launch

namespace examples::task_task_group {
using namespace std::chrono_literals;
extern std::vector<std::string> mirrors;
void fetch(const std::string& mirror, const std::stop_token& stop);
extern std::vector<int> shelves;
void search(int shelf, const std::stop_token& stop);
}  // namespace examples::task_task_group

namespace examples::task_senders {
int word_count(const char* file);
extern shunt::task::fiber_scheduler pool;
extern shunt::future<int> ready;
}  // namespace examples::task_senders

namespace examples::task_when {
extern shunt::future<int> from_cache, from_disk;
shunt::future<std::string> read_file();
}  // namespace examples::task_when
