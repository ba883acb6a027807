/// What sorting, scans and the other functions over the items of all PEs make of random and of skewed ones, against
/// what the standard's algorithms make of the same, and how bags and balance() deal items out. Called as the
/// properties of keyed_properties.hpp are, on threads and between processes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas/containers.hpp>

#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace shunt::testing {

/// PE p has p % 4 times 37 items, so some have none; afterwards all have as many, in the same order.
inline void balances(pgas::pe& me) {
  std::vector<std::uint32_t> items(static_cast<std::size_t>(me.index() % 4) * 37);
  const auto before = static_cast<std::uint32_t>(me.scan(items.size()));
  std::iota(items.begin(), items.end(), before);
  const auto all = me.sum(std::uint64_t{items.size()});
  pgas::balance(me, items);
  const auto pes = static_cast<std::uint64_t>(me.count());
  expect(items.size() == all / pes + (static_cast<std::uint64_t>(me.index()) < all % pes ? 1 : 0));
  const auto first = me.scan(items.size());
  for (std::size_t k = 0; k != items.size(); ++k) expect(items[k] == first + k);
}

/// Inserted items are spread over all PEs, those of one PE as well.
inline void bag_spreads(pgas::pe& me) {
  const auto pes = static_cast<std::size_t>(me.count());
  pgas::bag<int> items(me);
  pgas::superstep(me, [&] {
    for (int i = 0; i != 3 * me.count(); ++i) items.insert(i);
  });
  expect(items.local().size() == 3 * pes);
  if (me.index() == 0) items.add(1);
  expect(items.size() == 3 * pes * pes + 1);
  pgas::bag<int> of_one(me);
  pgas::superstep(me, [&] {
    for (int i = 0; me.index() == 0 && i != 5 * me.count(); ++i) of_one.insert(i);
  });
  expect(of_one.local().size() == 5);
}

/// drain() works on what its work inserts, until nothing is left anywhere; the first item is on the last PE.
inline void bag_drains(pgas::pe& me) {
  pgas::bag<int> work(me);
  if (me.index() == me.count() - 1) work.add(10);  // each n > 0 becomes two of n - 1: 2^10 leaves
  std::uint64_t leaves = 0;
  work.drain([&](const int& n) {
    if (n == 0) {
      ++leaves;
    } else {
      work.insert(n - 1);
      work.insert(n - 1);
    }
  });
  expect(me.sum(leaves) == 1024);
  expect(me.count() == 1 || me.max(leaves) <= 1024 / static_cast<unsigned>(me.count()) + 1);
  expect(work.size() == 0);
}

/// How inputs of sorts differ. PE 2 has none, of `one_pe` every PE but the first.
enum class items_are { random, all_equal, few_different, ascending, descending, one_pe };
constexpr std::array all_items{items_are::random,    items_are::all_equal,  items_are::few_different,
                               items_are::ascending, items_are::descending, items_are::one_pe};

/// Items of PE p.
template <class T>
std::vector<T> items_of(int p, items_are what) {
  const bool none = what == items_are::one_pe ? p != 0 : p == 2;
  std::vector<T> items(none ? 0 : static_cast<std::size_t>(150 + 10 * (p % 5)));
  const counter_random random(static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(p));
  for (std::size_t i = 0; i != items.size(); ++i) {
    const auto any = random.at(i);
    switch (what) {
      case items_are::random:
      case items_are::one_pe: items[i] = static_cast<T>(static_cast<std::int64_t>(any)); break;
      case items_are::all_equal: items[i] = T(7); break;
      case items_are::few_different: items[i] = static_cast<T>(any % 3); break;
      case items_are::ascending: items[i] = static_cast<T>(i); break;
      case items_are::descending: items[i] = static_cast<T>(1000 - static_cast<int>(i)); break;
    }
  }
  return items;
}
/// Of all PEs, in the order of `less`.
template <class T, class Less>
std::vector<T> sorted_items(int pes, items_are what, Less less) {
  std::vector<T> all;
  for (int p = 0; p != pes; ++p) {
    const auto some = items_of<T>(p, what);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end(), less);
  return all;
}

/// sort(), and about as many items on each PE, also where all are equal.
template <class T, class Less = std::less<T>>
class sort_as_serial {
 public:
  explicit sort_as_serial(int pes, items_are what) : what_(what), serial_(sorted_items<T>(pes, what, Less())) {}
  void operator()(pgas::pe& me) const {
    auto items = items_of<T>(me.index(), what_);
    pgas::sort(me, items, Less());
    const auto first = me.scan(items.size());
    expect(me.sum(items.size()) == serial_.size());
    for (std::size_t k = 0; k != items.size(); ++k) expect(items[k] == serial_[first + k], std::to_string(first + k));
    expect(me.max(items.size()) <= 3 * serial_.size() / static_cast<std::size_t>(me.count()) + 8);
  }

 private:
  items_are what_;
  std::vector<T> serial_;
};

/// sort_by_key(): values go with their keys, equal ones too.
inline void sorts_by_key(pgas::pe& me) {
  for (const auto what : {items_are::random, items_are::few_different, items_are::one_pe}) {
    auto keys = items_of<std::uint32_t>(me.index(), what);
    std::vector<std::uint64_t> values(keys.size());
    std::ranges::transform(keys, values.begin(), [](std::uint32_t key) { return 3 * std::uint64_t{key}; });
    const auto sum = me.sum(std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
    pgas::sort_by_key(me, keys, values);
    expect(std::ranges::is_sorted(keys) && keys.size() == values.size());
    for (std::size_t k = 0; k != keys.size(); ++k) expect(values[k] == 3 * std::uint64_t{keys[k]});
    expect(me.sum(std::accumulate(values.begin(), values.end(), std::uint64_t{0})) == sum);
  }
}

/// top_k(): the greatest of all, on every PE.
class top_k_as_serial {
 public:
  explicit top_k_as_serial(int pes) {
    for (const auto what : all_items) serial_.push_back(sorted_items<std::int64_t>(pes, what, std::greater<>()));
  }
  void operator()(pgas::pe& me) const {
    for (std::size_t n = 0; n != all_items.size(); ++n) {
      const auto items = items_of<std::int64_t>(me.index(), all_items[n]);
      const auto& all = serial_[n];
      expect(pgas::top_k(me, items, 10) == std::vector<std::int64_t>(all.begin(), all.begin() + 10));
      expect(pgas::top_k(me, items, 0).empty());
    }
    const auto few = me.index() == 0 ? std::vector<int>{3, 9} : std::vector<int>();
    expect(pgas::top_k(me, few, 5, std::greater<int>()) == std::vector<int>{3, 9});
  }

 private:
  std::vector<std::vector<std::int64_t>> serial_;
};

/// The items of all PEs one after the other, on PE 0; elsewhere nothing.
inline std::vector<int> together(pgas::pe& me, const std::vector<int>& items) {
  std::vector<int> all;
  for (const auto& some : me.gather(std::span<const int>(items))) {
    if (me.index() == 0) all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// shuffle(): an order of the same items, each PE with as many of them, and the same order where one PE has had them
/// all as where all PEs have. \return that order on PE 0, elsewhere nothing
inline std::vector<int> shuffled(pgas::pe& me) {
  constexpr int all = 1000;
  std::vector<int> of_one;
  for (int i = me.index() == 0 ? 0 : all; i < all; ++i) of_one.push_back(i);
  auto of_all = of_one;
  pgas::balance(me, of_all);
  auto otherwise = of_all;
  pgas::shuffle(me, of_one, 42);
  pgas::shuffle(me, of_all, 42);
  pgas::shuffle(me, otherwise, 43);
  expect(of_one.size() <= all / static_cast<std::size_t>(me.count()) + 1);
  expect(of_one == of_all);
  const auto whole = together(me, of_one), other = together(me, otherwise);
  if (me.index() != 0) return {};
  expect(whole != other && !std::ranges::is_sorted(whole));
  auto in_order = whole;
  std::ranges::sort(in_order);
  for (int i = 0; i != all; ++i) expect(in_order[static_cast<std::size_t>(i)] == i);
  return whole;
}

/// Prefix sums with `+`, and another operation, of items that some PEs have none of.
inline void scans(pgas::pe& me) {
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
}

}  // namespace shunt::testing
