#include <shunt/pgas/containers/sort.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/containers/scan.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

/// Items of PE p, as different as inputs are: random, all the same, few different, sorted, reversed; PE 2 has none.
template <class T>
std::vector<T> items_of(int p, int kind) {
  std::vector<T> items(p == 2 ? 0 : static_cast<std::size_t>(150 + 10 * (p % 5)));
  const shunt::counter_random random(static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(p));
  for (std::size_t i = 0; i != items.size(); ++i) {
    const auto any = random.at(i);
    switch (kind) {
      case 0: items[i] = static_cast<T>(static_cast<std::int64_t>(any)); break;
      case 1: items[i] = T(7); break;
      case 2: items[i] = static_cast<T>(any % 3); break;
      case 3: items[i] = static_cast<T>(i); break;
      default: items[i] = static_cast<T>(1000 - static_cast<int>(i)); break;
    }
  }
  return items;
}

template <class T, class Less = std::less<T>>
void expect_sorted(const pgas::options& job, int kind, Less less = {}) {
  std::vector<T> serial;
  for (int p = 0; p != job.pes; ++p) {
    const auto some = items_of<T>(p, kind);
    serial.insert(serial.end(), some.begin(), some.end());
  }
  std::sort(serial.begin(), serial.end(), less);
  pgas::run(job, [&](pgas::pe& me) {
    auto items = items_of<T>(me.index(), kind);
    pgas::sort(me, items, less);
    const auto first = me.scan(items.size());
    expect(me.sum(items.size()) == serial.size());
    for (std::size_t k = 0; k != items.size(); ++k) expect(items[k] == serial[first + k], std::to_string(first + k));
    // About the same number each, also where all are equal.
    expect(me.max(items.size()) <= 3 * serial.size() / static_cast<std::size_t>(me.count()) + 8);
  });
}

}  // namespace

TEST_CASE("sort: orders all items over all PEs, whatever they are") {
  for (const auto& job : all_jobs(tiny)) {
    if (job.pes == 1000) continue;  // below
    for (const int kind : {0, 1, 2, 3, 4}) expect_sorted<std::int64_t>(job, kind);
  }
  expect_sorted<std::int64_t>(small(300, 2), 0);
  for (const int kind : {0, 1, 2, 3, 4}) {
    expect_sorted<std::uint16_t>(tiny(3, 2), kind);
    expect_sorted<double>(tiny(3, 2), kind);
    expect_sorted<int, std::greater<>>(tiny(7, 2, 2), kind);
  }
}

TEST_CASE("sort: by digits, all widths and signs") {
  const shunt::counter_random random(9);
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> items(5000);
    for (std::size_t i = 0; i != items.size(); ++i) items[i] = static_cast<T>(random.at(i));
    items[17] = std::numeric_limits<T>::min();
    items[18] = std::numeric_limits<T>::max();
    auto serial = items;
    std::sort(serial.begin(), serial.end());
    pgas::detail::sort_local(items, std::less<T>(), pgas::detail::whole_item());
    CHECK(items == serial);
  };
  check(std::uint8_t{});
  check(std::int8_t{});
  check(std::int16_t{});
  check(std::uint32_t{});
  check(std::int32_t{});
  check(std::uint64_t{});
  check(std::int64_t{});
}

TEST_CASE("sort_by_key: values go with their keys") {
  for (const auto& job : {tiny(1, 1), tiny(7, 3), tiny(64, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      auto keys = items_of<std::uint32_t>(me.index(), 0);
      std::vector<std::uint64_t> values(keys.size());
      std::ranges::transform(keys, values.begin(), [](std::uint32_t key) { return 3 * std::uint64_t{key}; });
      const auto sum = me.sum(std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
      pgas::sort_by_key(me, keys, values);
      expect(std::ranges::is_sorted(keys) && keys.size() == values.size());
      for (std::size_t k = 0; k != keys.size(); ++k) expect(values[k] == 3 * std::uint64_t{keys[k]});
      expect(me.sum(std::accumulate(values.begin(), values.end(), std::uint64_t{0})) == sum);
    });
  }
  CHECK_THAT(thrown_by([] {
               pgas::run(small(2, 1), [](pgas::pe& me) {
                 std::vector<int> keys(3), values(2);
                 pgas::sort_by_key(me, keys, values);
               });
             }),
             Catch::Contains("sort_by_key() gets ranges of 3 and of 2 items") && Catch::Contains("sort.test.cpp"));
}

TEST_CASE("top_k: the greatest of all, on every PE") {
  for (const auto& job : all_jobs(tiny)) {
    std::vector<std::int64_t> serial;
    for (int p = 0; p != job.pes; ++p) {
      const auto some = items_of<std::int64_t>(p, 0);
      serial.insert(serial.end(), some.begin(), some.end());
    }
    std::sort(serial.begin(), serial.end(), std::greater<>());
    pgas::run(job, [&](pgas::pe& me) {
      const auto items = items_of<std::int64_t>(me.index(), 0);
      expect(pgas::top_k(me, items, 10) == std::vector<std::int64_t>(serial.begin(), serial.begin() + 10));
      expect(pgas::top_k(me, items, 0).empty());
      const auto few = me.index() == 0 ? std::vector<int>{3, 9} : std::vector<int>();
      expect(pgas::top_k(me, few, 5, std::greater<int>()) == std::vector<int>{3, 9});
    });
  }
}

TEST_CASE("shuffle: one seed is one order, whatever the number of PEs") {
  std::vector<int> whole;
  for (const int pes : {1, 2, 3, 7, 64}) {
    std::vector<int> all;
    pgas::run(small(pes, 2), [&](pgas::pe& me) {
      std::vector<int> items;
      for (int i = me.index() == 0 ? 0 : 1000; i < 1000; ++i) items.push_back(i);
      pgas::shuffle(me, items, 42);
      expect(items.size() <= 1000 / static_cast<std::size_t>(me.count()) + 1);
      for (const auto& some : me.gather(std::span<const int>(items))) {
        if (me.index() == 0) all.insert(all.end(), some.begin(), some.end());
      }
    });
    if (pes == 1) whole = all;
    CHECK(all == whole);
  }
  CHECK(!std::ranges::is_sorted(whole));
  std::ranges::sort(whole);
  for (int i = 0; i != 1000; ++i) CHECK(whole[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("scan: prefix sums over the items of all PEs, with `+` and others") {
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [](pgas::pe& me) {
      std::vector<long> items(static_cast<std::size_t>(me.index() % 3) * 4, 2);
      const auto before = static_cast<long>(me.scan(items.size()));
      auto exclusive = items;
      pgas::exclusive_scan(me, exclusive);
      auto inclusive = items;
      pgas::inclusive_scan(me, inclusive);
      std::vector<long> greatest(items.size());
      for (std::size_t k = 0; k != items.size(); ++k) items[k] = (before + static_cast<long>(k)) * 7 % 50;
      pgas::inclusive_scan(me, std::span<const long>(items), std::span<long>(greatest), -1L,
                           [](const long& a, const long& b) { return std::max(a, b); });
      for (std::size_t k = 0; k != items.size(); ++k) {
        const long at = before + static_cast<long>(k);
        expect(exclusive[k] == 2 * at && inclusive[k] == 2 * at + 2);
        long most = -1;
        for (long i = 0; i <= at; ++i) most = std::max(most, i * 7 % 50);
        expect(greatest[k] == most);
      }
    });
  }
  CHECK_THAT(thrown_by([] {
               pgas::run(small(2, 1), [](pgas::pe& me) {
                 std::vector<int> items(3), into(2);
                 pgas::inclusive_scan(me, std::span<const int>(items), std::span<int>(into));
               });
             }),
             Catch::Contains("inclusive_scan() gets ranges of 3 and of 2 items"));
}
