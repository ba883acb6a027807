/// What random changes by all PEs make of the containers with keys, against what the same changes make of standard
/// containers. The module's tests run these properties on threads, tests/ranks/containers_ranks.cpp between processes.
///
/// A property is made once a process, for a number of PEs, and called by the program of each PE. Every third PE changes
/// nothing, a quarter of all changes concern one key, and among the texts are such of 1 byte and of 10,000, which take
/// several trains.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas/containers.hpp>

#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace shunt::testing {

/// Whether a PE has no part in what fills or changes a container.
inline bool is_idle(int p, int pes) { return pes > 2 && p % 3 == 2; }

/// A key of two words.
struct pair_key {
  std::int32_t x = 0;
  std::int64_t y = 0;
  bool operator==(const pair_key&) const = default;
  auto operator<=>(const pair_key&) const = default;
};
/// Its padding is not hashed.
struct pair_key_hash {
  std::uint64_t operator()(const pair_key& p) const noexcept {
    return pgas::key_hash<std::uint64_t>()(static_cast<std::uint64_t>(p.y) * 31 + static_cast<std::uint64_t>(p.x));
  }
};

constexpr std::uint64_t one_byte_text = 40, long_text = 29;  // nth_key<std::string>() of these is so

/// The n-th key, of which no two are equal; of characters the first 256.
template <class K>
K nth_key(std::uint64_t n) {
  if constexpr (std::is_same_v<K, std::string>) {
    const std::string some = text(n % long_text == 0 ? 10'000 : 1 + n % one_byte_text, static_cast<int>(n));
    return n < 90 ? some : some + std::to_string(n);  // text() has ninety different first letters
  } else if constexpr (std::is_same_v<K, pair_key>) {
    return {static_cast<std::int32_t>(n % 3), static_cast<std::int64_t>(n)};
  } else {
    return static_cast<K>(n * 0x100000001ULL);
  }
}

constexpr std::uint64_t different_keys = 150;

/// Calls f(n) for each key that PE p changes in a round.
template <class F>
void each_change(int p, int pes, int round, F f) {
  constexpr std::uint64_t changes = 120;
  if (is_idle(p, pes)) return;
  f(one_byte_text);
  f(long_text);
  const counter_random random(static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(round));
  for (std::uint64_t i = 0; i != changes; ++i) f(i % 4 == 0 ? 5 : random.below(i, different_keys));
}

/// A map after each of some rounds of all its changes. Of one key, in one round, all PEs make the same change: so the
/// order in which they happen does not matter.
template <class K, class Hash = pgas::key_hash<K>>
class map_as_serial {
 public:
  explicit map_as_serial(int pes) : pes_(pes) {
    for (int round = 1; round <= rounds; ++round) after_.push_back(changed(round, after_.back()));
  }
  void operator()(pgas::pe& me) const {
    pgas::map<K, long, Hash> m(me);
    for (int round = 1; round <= rounds; ++round) {
      pgas::superstep(me, [&] { each_change(me.index(), pes_, round, [&](std::uint64_t n) { change(m, n, round); }); });
      expect_equal(m, after_[static_cast<std::size_t>(round)], me.index());
      expect(m.size() == after_[static_cast<std::size_t>(round)].size());
    }
  }

 private:
  static constexpr int rounds = 4;
  enum class how { insert, assign, add, add_if_present, natural, erase };
  using serial_map = std::map<std::uint64_t, long>;  // by number of the key

  static how change_of(std::uint64_t n, int round) {
    return static_cast<how>(counter_random(7, static_cast<std::uint64_t>(round)).below(n, 6));
  }
  [[nodiscard]] serial_map changed(int round, serial_map m) const {
    for (int p = 0; p != pes_; ++p) {
      each_change(p, pes_, round, [&](std::uint64_t n) {
        switch (change_of(n, round)) {
          case how::insert: m.emplace(n, round); break;
          case how::assign: m[n] = 10 * round; break;
          case how::add: m[n] += 3; break;
          case how::add_if_present:
            if (const auto at = m.find(n); at != m.end()) ++at->second;
            break;
          case how::natural: --m[n]; break;
          case how::erase: m.erase(n); break;
        }
      });
    }
    return m;
  }
  static void change(pgas::map<K, long, Hash>& m, std::uint64_t n, int round) {
    const K key = nth_key<K>(n);
    switch (change_of(n, round)) {
      case how::insert: m.insert(key, round); break;
      case how::assign: m.insert_or_assign(key, 10 * round); break;
      case how::add: m.visit(key, [by = 3L](long& value) { value += by; }); break;
      case how::add_if_present: m.visit_if_present(key, [](const K&, long& value) { ++value; }); break;
      case how::natural: m[key] -= 1; break;
      case how::erase: m.erase(key); break;
    }
  }
  static void expect_equal(pgas::map<K, long, Hash>& m, const serial_map& serial, int pe) {
    std::size_t seen = 0, listed = 0;
    for (std::uint64_t n = 0; n != different_keys; ++n) {
      const K key = nth_key<K>(n);
      const long* const value = m.find_local(key);
      const auto at = serial.find(n);
      expect((value != nullptr) == (at != serial.end() && m.owner(key) == pe), std::to_string(n));
      if (value == nullptr) continue;
      expect(*value == at->second, std::to_string(n));
      ++seen;
    }
    for (const auto& [key, value] : m.local()) {
      expect(m.find_local(key) == &value);
      ++listed;
    }
    expect(seen == listed);
  }

  int pes_;
  std::vector<serial_map> after_{{}};
};

/// gather() and find() of a map, for what is there and what is not; some PEs ask for nothing.
inline void map_gathers(pgas::pe& me) {
  pgas::map<int, double> numbers(me);
  pgas::map<std::string, int> texts(me);
  const int all = 3 * me.count();
  pgas::superstep(me, [&] {
    for (int i = me.index(); i < all; i += me.count()) {
      numbers.insert(i, 0.5 * i);
      texts.insert(nth_key<std::string>(static_cast<std::uint64_t>(i)), i);
    }
  });
  std::vector<int> keys(static_cast<std::size_t>(me.index() % 4) * 5);
  for (std::size_t k = 0; k != keys.size(); ++k) keys[k] = static_cast<int>(k * 7 % static_cast<std::size_t>(all + 9));
  std::vector<std::optional<double>> values(keys.size());
  numbers.gather(keys, values);
  std::vector<std::string> words;
  for (const int key : keys) words.push_back(nth_key<std::string>(static_cast<std::uint64_t>(key)));
  std::vector<std::optional<int>> found(keys.size());
  texts.gather(words, found);
  for (std::size_t k = 0; k != keys.size(); ++k) {
    const bool there = keys[k] < all;
    expect(values[k] == (there ? std::optional<double>(0.5 * keys[k]) : std::nullopt), std::to_string(keys[k]));
    expect(found[k].has_value() == there && (!there || *found[k] == keys[k]), std::to_string(keys[k]));
  }
  expect(numbers.find(all - 1) == 0.5 * (all - 1));
  expect(!numbers.find(all).has_value());
  me.barrier();
}

/// Values that are texts, of any length, under keys of both kinds.
inline void map_of_texts(pgas::pe& me) {
  pgas::map<int, std::string> by_number(me);
  pgas::map<std::string, std::string> by_text(me);
  const auto value = [](int i) { return text(i % 2 == 0 ? 20'000 : static_cast<std::size_t>(i), i); };
  pgas::superstep(me, [&] {
    for (int i = 0; i != 10; ++i) {
      by_number.insert(i, value(i));
      by_text.insert_or_assign(nth_key<std::string>(static_cast<std::uint64_t>(29 * i)), value(i));
    }
  });
  pgas::superstep(me, [&] { by_number.insert(1, "too late"); });
  pgas::superstep(me, [&] { by_number.insert_or_assign(3, "in time"); });
  for (int i = 0; i != 10; ++i) {
    if (const auto* const found = by_number.find_local(i)) expect(*found == (i == 3 ? "in time" : value(i)));
    const auto key = nth_key<std::string>(static_cast<std::uint64_t>(29 * i));
    if (const auto* const found = by_text.find_local(key)) expect(*found == value(i));
  }
  expect(by_number.size() == 10);
  expect(by_text.size() == 10);
}

/// A multimap: each key has the values that all PEs inserted, until it is erased.
template <class K>
class multimap_as_serial {
 public:
  explicit multimap_as_serial(int pes) : pes_(pes) {
    for (int p = 0; p != pes; ++p) {
      each_change(p, pes, 1, [&, i = 0](std::uint64_t n) mutable { inserted_[n].push_back(value_of(p, i++)); });
    }
    kept_ = inserted_;
    std::erase_if(kept_, [](const auto& item) { return is_erased(item.first); });
    for (auto& [n, values] : kept_) {
      if (is_visited(n)) values.resize(1);
    }
  }
  void operator()(pgas::pe& me) const {
    pgas::multimap<K, int> m(me);
    pgas::superstep(me, [&] {
      each_change(me.index(), pes_, 1,
                  [&, i = 0](std::uint64_t n) mutable { m.insert(nth_key<K>(n), value_of(me.index(), i++)); });
    });
    expect_equal(m, inserted_, me.index());
    pgas::superstep(me, [&] {
      for (std::uint64_t n = 0; n != different_keys; ++n) {
        if (is_erased(n)) m.erase(nth_key<K>(n));
        // The least is left, whatever the order in which they came.
        if (is_visited(n)) {
          m.visit_if_present(nth_key<K>(n), [](std::vector<int>& values) {
            std::ranges::sort(values);
            values.resize(1);
          });
        }
      }
    });
    expect_equal(m, kept_, me.index());
  }

 private:
  using serial_map = std::map<std::uint64_t, std::vector<int>>;

  static int value_of(int p, int i) { return 1000 * p + i; }
  static bool is_erased(std::uint64_t n) { return n % 5 == 3; }
  static bool is_visited(std::uint64_t n) { return n % 5 == 4; }

  static void expect_equal(pgas::multimap<K, int>& m, const serial_map& serial, int pe) {
    std::uint64_t values = 0;
    std::size_t seen = 0, listed = 0;
    for (const auto& [n, wanted] : serial) {
      values += wanted.size();
      const K key = nth_key<K>(n);
      const auto* const found = m.find_local(key);
      expect((found != nullptr) == (m.owner(key) == pe), std::to_string(n));
      if (found == nullptr) continue;
      auto sorted = *found, least_first = wanted;
      std::ranges::sort(sorted);
      std::ranges::sort(least_first);
      expect(sorted == least_first, std::to_string(n));
      ++seen;
    }
    for (auto [key, one] : m.local()) {
      expect(m.find_local(key) == &one);
      ++listed;
    }
    expect(seen == listed);
    expect(m.keys() == serial.size());
    expect(m.size() == values);
  }

  int pes_;
  serial_map inserted_, kept_;
};

/// A set after each of some rounds, in each of which a key is inserted by all or erased by all.
template <class K>
class set_as_serial {
 public:
  explicit set_as_serial(int pes) : pes_(pes) {
    for (int round = 1; round <= rounds; ++round) {
      auto next = after_.back();
      for (int p = 0; p != pes; ++p) {
        each_change(p, pes, round, [&](std::uint64_t n) {
          if (is_erased(n, round)) {
            next.erase(n);
          } else {
            next.insert(n);
          }
        });
      }
      after_.push_back(std::move(next));
    }
  }
  void operator()(pgas::pe& me) const {
    pgas::set<K> s(me);
    std::vector<K> asked;  // of some PEs nothing
    for (std::uint64_t n = 0; n != (is_idle(me.index(), pes_) ? 0 : different_keys); ++n)
      asked.push_back(nth_key<K>(n));
    for (int round = 1; round <= rounds; ++round) {
      pgas::superstep(me, [&] {
        each_change(me.index(), pes_, round, [&](std::uint64_t n) {
          if (is_erased(n, round)) {
            s.erase(nth_key<K>(n));
          } else {
            s.insert(nth_key<K>(n));
          }
        });
      });
      const auto& serial = after_[static_cast<std::size_t>(round)];
      std::size_t seen = 0, listed = 0;
      for (std::uint64_t n = 0; n != different_keys; ++n) {
        const K key = nth_key<K>(n);
        expect(s.contains_local(key) == (serial.contains(n) && s.owner(key) == me.index()), std::to_string(n));
        seen += s.contains_local(key) ? 1 : 0;
      }
      for (const auto& key : s.local()) {
        expect(s.contains_local(key));
        ++listed;
      }
      expect(seen == listed);
      const auto found = s.contains(asked);
      for (std::size_t n = 0; n != asked.size(); ++n) expect(found[n] == serial.contains(n), std::to_string(n));
      expect(s.size() == serial.size());
      me.barrier();
    }
    s.clear();
    expect(s.size() == 0);
  }

 private:
  static constexpr int rounds = 3;
  static bool is_erased(std::uint64_t n, int round) {
    return counter_random(9, static_cast<std::uint64_t>(round)).below(n, 3) == 0;
  }

  int pes_;
  std::vector<std::set<std::uint64_t>> after_{{}};
};

/// Counting sets with caches of three sizes, of keys some of which are far more frequent than others, superstep after
/// superstep. In the second round only PE 0 inserts.
template <class K>
class counting_set_as_serial {
 public:
  explicit counting_set_as_serial(int pes) : pes_(pes) {
    for (int round = 0; round != rounds; ++round) {
      auto next = after_.back();
      for (int p = 0; p != pes; ++p) each_insert(p, round, [&](std::uint64_t n) { ++next[n]; });
      after_.push_back(std::move(next));
    }
  }
  void operator()(pgas::pe& me) const {
    pgas::counting_set<K> cached(me), narrow(me, 2), straight(me, 0);
    for (int round = 0; round != rounds; ++round) {
      pgas::superstep(me, [&] {
        each_insert(me.index(), round, [&](std::uint64_t n) {
          const K key = nth_key<K>(n);
          cached.insert(key);
          narrow.insert(key);
          straight.insert(key);
          straight.insert(key, 2);
        });
      });
      const auto& serial = after_[static_cast<std::size_t>(round) + 1];
      std::uint64_t total = 0;
      for (const auto& [n, count] : serial) {
        const K key = nth_key<K>(n);
        const auto wanted = cached.owner(key) == me.index() ? count : 0;
        expect(cached.count_local(key) == wanted, std::to_string(n));
        expect(narrow.count_local(key) == wanted, std::to_string(n));
        expect(straight.count_local(key) == 3 * wanted, std::to_string(n));
        total += count;
      }
      for (const auto& [key, count] : cached.local()) expect(cached.count_local(key) == count && count != 0);
      expect(cached.size() == serial.size() && narrow.size() == serial.size() && straight.size() == serial.size());
      expect(cached.total() == total && narrow.total() == total && straight.total() == 3 * total);
      me.barrier();
    }
    cached.clear();
    expect(cached.total() == 0);
  }

 private:
  static constexpr int rounds = 3;

  template <class F>
  void each_insert(int p, int round, F f) const {
    constexpr std::uint64_t inserts = 150;
    if (round == 1 ? p != 0 : is_idle(p, pes_)) return;
    const counter_random random(static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(round));
    f(one_byte_text);
    for (std::uint64_t i = 0; i != inserts; ++i) f(1 + random.below(i, 1 + random.below(i + 1'000'000, 400)));
  }

  int pes_;
  std::vector<std::map<std::uint64_t, std::uint64_t>> after_{{}};
};

}  // namespace shunt::testing
