#include <shunt/pgas/containers/sort.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/containers/scan.hpp>
#include <support/expect.hpp>
#include <support/item_properties.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

template <class T, class Less = std::less<T>>
void expect_sorted(const pgas::options& job) {
  for (const auto what : all_items) {
    const sort_as_serial<T, Less> property(job.pes, what);
    pgas::run(job, std::ref(property));
  }
}

}  // namespace

TEST_CASE("sort: orders all items over all PEs, whatever they are") {
  for (const auto& job : all_jobs(tiny)) {
    if (job.pes != 1000) expect_sorted<std::int64_t>(job);
  }
  const sort_as_serial<std::int64_t> on_many_pes(300, items_are::random);
  pgas::run(small(300, 2), std::ref(on_many_pes));
  expect_sorted<std::uint8_t>(tiny(3, 2));
  expect_sorted<std::uint16_t>(tiny(3, 2));
  expect_sorted<double>(tiny(3, 2));
  expect_sorted<int, std::greater<>>(tiny(7, 2, 2));
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
  for (const auto& job : {tiny(1, 1), tiny(7, 3), tiny(64, 2, 2)}) pgas::run(job, sorts_by_key);
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
    const top_k_as_serial property(job.pes);
    pgas::run(job, std::ref(property));
  }
}

TEST_CASE("shuffle: one seed is one order, whatever the number of PEs") {
  std::vector<int> whole;
  for (const int pes : {1, 2, 3, 7, 64}) {
    std::vector<int> all;
    pgas::run(small(pes, 2), [&](pgas::pe& me) {
      const auto found = shuffled(me);
      if (me.index() == 0) all = found;
    });
    if (pes == 1) whole = all;
    CHECK(all == whole);
  }
  CHECK(whole.size() == 1000);
}

TEST_CASE("scan: prefix sums over the items of all PEs, with `+` and others") {
  for (const auto& job : all_jobs(tiny)) pgas::run(job, scans);
  CHECK_THAT(thrown_by([] {
               pgas::run(small(2, 1), [](pgas::pe& me) {
                 std::vector<int> items(3), into(2);
                 pgas::inclusive_scan(me, std::span<const int>(items), std::span<int>(into));
               });
             }),
             Catch::Contains("inclusive_scan() gets ranges of 3 and of 2 items"));
}
