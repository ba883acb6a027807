/// Question: what do the calls cost whose public headers state a cost?
///
///   --what ITEM   what is measured
///   --updates N   how often, in a sample
///
/// costs.json ties the headers' sentences to the items.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "actors.hpp"
#include "fibers.hpp"
#include "files.hpp"
#include "parts.hpp"
#include "tasks.hpp"
#include "transactions.hpp"

namespace {

constexpr bench::cost_item items[] = {
    {"ticks", bench::ticks},
    {"counter_random", bench::counter_random_at},
    {"head_check", bench::head_check},
    {"heavy_fence", bench::heavy_fence},
    {"switch_to", bench::switch_to_and_back},
    {"backtrace_frame", bench::backtrace_a_frame},
    {"trim_nothing", bench::trim_with_nothing_to_do},
    {"trim_in_runs", bench::trim_in_runs},
    {"trim_alone", bench::trim_one_by_one},
    {"futex_wake", bench::futex_wake},
    {"yield_2", bench::yield_2},
    {"yield_50000", bench::yield_50000},
    {"yield_migrating", bench::yield_migrating},
    {"spawn", bench::spawn},
    {"has_runnable", bench::has_runnable},
    {"may_wait", bench::may_wait},
    {"require_stack", bench::require_stack},
    {"deadlock_fiber", bench::deadlock_a_fiber},
    {"fork_join", bench::fork_join},
    {"fork_join_migrating", bench::fork_join_migrating},
    {"parallel_for", bench::parallel_for},
    {"parallel_reduce", bench::parallel_reduce},
    {"finish", bench::finish},
    {"async", bench::async},
    {"co_await", bench::co_await_future},
    {"tell", bench::tell},
    {"ask_together", bench::ask_together},
    {"ask_in_handler", bench::ask_in_handler},
    {"ask_in_fiber", bench::ask_in_fiber},
    {"templet_send", bench::templet_send},
    {"tx_read", bench::among_others<bench::tx_read>},
    {"snapshot_read", bench::among_others<bench::snapshot_read>},
    {"snapshot_read_alone", bench::snapshot_read},
    {"atomically_read", bench::among_others<bench::atomically_read>},
    {"atomically_read_alone", bench::atomically_read},
    {"atomically_write", bench::among_others<bench::atomically_write>},
    {"atomically_write_alone", bench::atomically_write},
    {"tvar_store", bench::among_others<bench::tvar_store>},
    {"tvar_store_alone", bench::tvar_store},
    {"named", bench::named},
    {"file_read_helper", bench::file_read_helper},
    {"file_read_io_uring", bench::file_read_io_uring},
    {"blocking", bench::blocking},
};

const bench::cost_item& item_called(const char* what) {
  for (const auto& item : items) {
    if (std::strcmp(item.what, what) == 0) return item;
  }
  bench_bad_option(bench::costs_program, "--what", what);
  return items[0];
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto& item = item_called(options.what);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    const bench::cost found = item.measure(options.updates);
    if (round < options.warmup) continue;
    bench_report(found.seconds, (", \"operations\": " + std::to_string(found.operations)).c_str());
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
