/// Question: what do changes of distributed maps cost, and sorting?
///
/// --what insert | small | words | sort. --variant counting_set: words, into one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <shunt/pgas/containers.hpp>

#include "../common/shunt.hpp"
#include "work.hpp"

namespace {

template <class Map, class Keys>
void count_in_map(const char* program, const bench_options& options, shunt::pgas::pe& me, const Keys& keys) {
  Map counts(me);
  const auto wanted = me.sum(bench::weights(keys));
  bench::rounds(
      me, options, [&] { counts.clear(); },
      [&] {
        shunt::pgas::superstep(me, [&] {
          for (const auto& key : keys) {
            if constexpr (requires { counts.insert(key); }) {
              counts.insert(key);
            } else {
              ++counts[key];
            }
          }
        });
      },
      [&] {
        std::uint64_t sum = 0;
        for (const auto& [key, count] : counts.local()) sum += static_cast<std::uint64_t>(count) * bench::weight(key);
        bench::must_be(program, "sum of all keys", me.sum(sum), wanted);
        return std::string();
      });
}

void sort_keys(const char* program, const bench_options& options, shunt::pgas::pe& me,
               const std::vector<std::uint64_t>& keys) {
  std::vector<std::uint64_t> items;
  const auto wanted = me.sum(bench::weights(keys));
  bench::rounds(
      me, options, [&] { items = keys; }, [&] { shunt::pgas::sort(me, items); },
      [&] {
        const auto ends = me.gather(items.empty() ? std::uint64_t{0} : items.back());
        const bool in_order = std::is_sorted(items.begin(), items.end()) && std::is_sorted(ends.begin(), ends.end());
        bench::must_be(program, "in order", me.min(in_order ? 1 : 0), 1);
        bench::must_be(program, "sum of all items", me.sum(bench::weights(items)), wanted);
        return std::string();
      });
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const std::string what = options.what, variant = options.variant;
  const bool counting = variant == "counting_set";
  if (!variant.empty() && !counting) bench_bad_option(argv[0], "--variant", options.variant);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    using namespace shunt::pgas;
    const auto count = static_cast<std::size_t>(options.updates);
    if (what == "words") {
      const auto words = bench::zipf_words(me.index(), count);
      if (counting) {
        count_in_map<counting_set<std::string>>(argv[0], options, me, words);
      } else {
        count_in_map<map<std::string, std::uint64_t>>(argv[0], options, me, words);
      }
      return;
    }
    const auto keys = bench::random_keys(me.index(), count, static_cast<std::uint64_t>(options.table));
    if (what == "sort") return sort_keys(argv[0], options, me, keys);
    count_in_map<map<std::uint64_t, std::uint64_t>>(argv[0], options, me, keys);
  });
}
