/// A distributed hash join: of two tables, all pairs of rows that have the same key.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <shunt/pgas/containers/map.hpp>

namespace shunt::apps {

/// A row of a table.
struct row {
  std::uint64_t key;
  std::uint64_t value;
};

/// What a pair adds to the sum by which answers are compared.
[[nodiscard]] constexpr std::uint64_t pair_sum(std::uint64_t key, std::uint64_t one, std::uint64_t other) noexcept {
  std::uint64_t x = key * 0x9E3779B97F4A7C15U ^ one * 0xD6E8FEB86659FD93U ^ other * 0xA0761D6478BD642FU;
  x ^= x >> 32U;
  return x * 0xE7037ED1A0B428DBU;
}

/// A key's rows of the first table, and what the second one's made of them.
struct joined {
  std::vector<std::uint64_t> first;
  std::uint64_t pairs = 0;
  std::uint64_t sum = 0;
};

/// Collective. Joins two tables of which this PE has some rows: the first one builds, the second one probes.
/// \param each  called with how many rows were sent
template <class Each>
void join(pgas::pe& me, std::span<const row> first, std::span<const row> second,
          pgas::map<std::uint64_t, joined>& by_key, Each each) {
  std::uint64_t sent = 0;
  pgas::superstep(me, [&] {
    for (const row& r : first) {
      by_key.visit(r.key, [value = r.value](joined& j) { j.first.push_back(value); });
      each(++sent);
    }
  });
  pgas::superstep(me, [&] {
    for (const row& r : second) {
      by_key.visit_if_present(r.key, [value = r.value](const std::uint64_t& key, joined& j) {
        for (const std::uint64_t one : j.first) j.sum += pair_sum(key, one, value);
        j.pairs += j.first.size();
      });
      each(++sent);
    }
  });
}

}  // namespace shunt::apps
