/// Question: what do the same changes cost in a hash map that threads share, and the parallel sort of libstdc++?
///
/// The map: 256 shards, each a std::unordered_map under a lock of its own, chosen by the hash.
#include <omp.h>
#include <parallel/algorithm>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "../common/program.h"
#include "work.hpp"

namespace {

constexpr std::size_t shards = 256;

template <class Key>
struct alignas(128) shard {
  std::mutex lock;
  std::unordered_map<Key, std::uint64_t> counts;
};

template <class Key>
void count_in_map(const char* program, const bench_options& options, const std::vector<std::vector<Key>>& keys) {
  std::uint64_t wanted = 0;
  for (const auto& some : keys) wanted += bench::weights(some);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    const auto counts = std::make_unique<shard<Key>[]>(shards);
    const double start = bench_now();
#pragma omp parallel num_threads(static_cast<int>(keys.size()))
    for (const auto& key : keys[static_cast<std::size_t>(omp_get_thread_num())]) {
      auto& s = counts[bench::mixed(std::hash<Key>()(key)) % shards];
      const std::lock_guard hold(s.lock);
      ++s.counts[key];
    }
    const double seconds = bench_now() - start;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != shards; ++i) {
      for (const auto& [key, count] : counts[i].counts) sum += count * bench::weight(key);
    }
    if (sum != wanted) bench_wrong(program, "sum of all keys", sum, wanted);
    if (round >= options.warmup) bench_report(seconds, "");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int threads = options.pes > 0 ? static_cast<int>(options.pes) : 2;
  const std::string what = options.what;
  const auto count = static_cast<std::size_t>(options.updates);
  omp_set_num_threads(threads);
  if (what == "words") {
    std::vector<std::vector<std::string>> words;
    for (int t = 0; t < threads; ++t) words.push_back(bench::zipf_words(t, count));
    count_in_map(argv[0], options, words);
    return 0;
  }
  std::vector<std::vector<std::uint64_t>> keys;
  for (int t = 0; t < threads; ++t) {
    keys.push_back(bench::random_keys(t, count, static_cast<std::uint64_t>(options.table)));
  }
  if (what != "sort") {
    count_in_map(argv[0], options, keys);
    return 0;
  }
  std::vector<std::uint64_t> all;
  for (const auto& some : keys) all.insert(all.end(), some.begin(), some.end());
  const auto wanted = bench::weights(all);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    auto items = all;
    const double start = bench_now();
    __gnu_parallel::sort(items.begin(), items.end());
    const double seconds = bench_now() - start;
    if (!std::is_sorted(items.begin(), items.end())) bench_wrong(argv[0], "in order", 0, 1);
    if (bench::weights(items) != wanted) bench_wrong(argv[0], "sum of all items", bench::weights(items), wanted);
    if (round >= options.warmup) bench_report(seconds, "");
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
