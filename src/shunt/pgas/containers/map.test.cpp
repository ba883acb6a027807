#include <shunt/pgas/containers/map.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/containers/multimap.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

constexpr int rounds = 4;
constexpr std::uint64_t different = 150;  // keys
constexpr std::uint64_t changes = 120;    // of a PE in a round

/// A key of two words.
struct place {
  std::int32_t x = 0;
  std::int64_t y = 0;
  bool operator==(const place&) const = default;
  auto operator<=>(const place&) const = default;
};
/// Its padding is not hashed.
struct place_hash {
  std::uint64_t operator()(const place& p) const noexcept {
    return pgas::key_hash<std::uint64_t>()(static_cast<std::uint64_t>(p.y) * 31 + static_cast<std::uint64_t>(p.x));
  }
};

template <class K>
K key_of(std::uint64_t n) {
  if constexpr (std::is_same_v<K, std::string>) {
    const std::string some = text(n % 29 == 0 ? 10'000 : 1 + n % 40, static_cast<int>(n));  // some longer than a train
    return n < 90 ? some : some + std::to_string(n);  // text() has ninety different first letters
  } else if constexpr (std::is_same_v<K, place>) {
    return {static_cast<std::int32_t>(n % 3), static_cast<std::int64_t>(n)};
  } else {
    return static_cast<K>(n * 0x100000001ULL);
  }
}

enum class change { insert, assign, add, add_if_present, natural, erase };

/// Of one key, in one round, all PEs make the same change: so the order in which they happen does not matter.
change change_of(std::uint64_t n, int round) {
  return static_cast<change>(shunt::counter_random(7, static_cast<std::uint64_t>(round)).below(n, 6));
}
/// Calls f(n) for each key that PE p changes in a round; some of them often.
template <class F>
void each_change(int p, int round, F f) {
  const shunt::counter_random random(static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(round));
  for (std::uint64_t i = 0; i != changes; ++i) f(i % 4 == 0 ? 5 : random.below(i, different));
}

/// What all changes make of the map, serially, by number of the key.
std::map<std::uint64_t, long> wanted(int pes, int round, std::map<std::uint64_t, long> m) {
  for (int p = 0; p != pes; ++p) {
    each_change(p, round, [&](std::uint64_t n) {
      switch (change_of(n, round)) {
        case change::insert: m.emplace(n, round); break;
        case change::assign: m[n] = 10 * round; break;
        case change::add: m[n] += 3; break;
        case change::add_if_present:
          if (const auto at = m.find(n); at != m.end()) ++at->second;
          break;
        case change::natural: --m[n]; break;
        case change::erase: m.erase(n); break;
      }
    });
  }
  return m;
}

template <class Map, class K>
void make_change(Map& m, std::uint64_t n, int round) {
  const K key = key_of<K>(n);
  switch (change_of(n, round)) {
    case change::insert: m.insert(key, round); break;
    case change::assign: m.insert_or_assign(key, 10 * round); break;
    case change::add: m.visit(key, [by = 3L](long& value) { value += by; }); break;
    case change::add_if_present: m.visit_if_present(key, [](const K&, long& value) { ++value; }); break;
    case change::natural: m[key] -= 1; break;
    case change::erase: m.erase(key); break;
  }
}

template <class K, class Hash = pgas::key_hash<K>>
void expect_as_serial(const std::vector<pgas::options>& jobs) {
  for (const auto& job : jobs) {
    std::vector<std::map<std::uint64_t, long>> after{{}};
    for (int round = 1; round <= rounds; ++round) after.push_back(wanted(job.pes, round, after.back()));
    pgas::run(job, [&](pgas::pe& me) {
      pgas::map<K, long, Hash> m(me);
      for (int round = 1; round <= rounds; ++round) {
        pgas::superstep(me, [&] {
          each_change(me.index(), round, [&](std::uint64_t n) { make_change<decltype(m), K>(m, n, round); });
        });
        const auto& serial = after[static_cast<std::size_t>(round)];
        std::size_t seen = 0;
        for (std::uint64_t n = 0; n != different; ++n) {
          const K key = key_of<K>(n);
          const long* const value = m.find_local(key);
          const auto at = serial.find(n);
          expect((value != nullptr) == (at != serial.end() && m.owner(key) == me.index()), std::to_string(n));
          if (value == nullptr) continue;
          expect(*value == at->second, std::to_string(n));
          ++seen;
        }
        std::size_t listed = 0;
        for (const auto& [key, value] : m.local()) {
          expect(m.find_local(key) == &value);
          ++listed;
        }
        expect(seen == listed);
        expect(m.size() == serial.size());
      }
    });
  }
}

std::string failure_of(const std::function<void(pgas::pe&)>& program) {
  return thrown_by([&] { pgas::run(small(2, 1), program); });
}

}  // namespace

TEST_CASE("map: of plain keys, does what a serial one does, on any number of PEs") {
  expect_as_serial<std::uint64_t>(all_jobs(tiny));
  expect_as_serial<char>({tiny(3, 2)});
  expect_as_serial<place, place_hash>({tiny(7, 2), tiny(7, 2, 2)});
}

TEST_CASE("map: of texts from 1 byte to 10,000, does what a serial one does, on any number of PEs") {
  auto jobs = all_jobs(tiny);
  jobs.pop_back();
  expect_as_serial<std::string>(jobs);
}

TEST_CASE("map: gather() finds what is there, on any number of PEs") {
  for (const auto& job : all_jobs(small)) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::map<int, double> numbers(me);
      pgas::map<std::string, int> texts(me);
      const int all = 3 * me.count();
      pgas::superstep(me, [&] {
        for (int i = me.index(); i < all; i += me.count()) {
          numbers.insert(i, 0.5 * i);
          texts.insert(key_of<std::string>(static_cast<std::uint64_t>(i)), i);
        }
      });
      std::vector<int> keys(static_cast<std::size_t>(me.index() % 4) * 5);
      for (std::size_t k = 0; k != keys.size(); ++k)
        keys[k] = static_cast<int>(k * 7 % static_cast<std::size_t>(all + 9));
      std::vector<std::optional<double>> values(keys.size());
      numbers.gather(keys, values);
      std::vector<std::string> words;
      for (const int key : keys) words.push_back(key_of<std::string>(static_cast<std::uint64_t>(key)));
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
    });
  }
}

TEST_CASE("map: values that are texts, of any length, under keys of both kinds") {
  for (const int hops : {1, 2}) {
    pgas::run(small(5, 2, hops), [](pgas::pe& me) {
      pgas::map<int, std::string> by_number(me);
      pgas::map<std::string, std::string> by_text(me);
      const auto value = [](int i) { return text(i % 2 == 0 ? 20'000 : static_cast<std::size_t>(i), i); };
      pgas::superstep(me, [&] {
        for (int i = 0; i != 10; ++i) {
          by_number.insert(i, value(i));
          by_text.insert_or_assign(key_of<std::string>(static_cast<std::uint64_t>(29 * i)), value(i));
        }
      });
      pgas::superstep(me, [&] { by_number.insert(1, "too late"); });
      pgas::superstep(me, [&] { by_number.insert_or_assign(3, "in time"); });
      for (int i = 0; i != 10; ++i) {
        if (const auto* const found = by_number.find_local(i)) expect(*found == (i == 3 ? "in time" : value(i)));
        const auto key = key_of<std::string>(static_cast<std::uint64_t>(29 * i));
        if (const auto* const found = by_text.find_local(key)) expect(*found == value(i));
      }
      expect(by_number.size() == 10);
      expect(by_text.size() == 10);
    });
  }
}

TEST_CASE("map: erase_if, clear, reserve, and values that do not travel") {
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::map<int, std::vector<int>> lists(me);
    lists.reserve(1000);
    pgas::superstep(me, [&] {
      for (int i = 0; i != 300; ++i) lists.visit(i, [from = me.index()](std::vector<int>& l) { l.push_back(from); });
    });
    for (auto [key, list] : lists.local()) {
      std::ranges::sort(list);
      expect(list == std::vector<int>{0, 1, 2});
    }
    const auto erased = lists.erase_if([](int key, const std::vector<int>&) { return key % 3 != 0; });
    expect(me.sum(erased) == 200);
    expect(lists.size() == 100);
    for (auto [key, list] : lists.local()) expect(key % 3 == 0 && lists.find_local(key) == &list);
    lists.clear();
    expect(lists.size() == 0);
    pgas::superstep(me, [&] { lists.visit(1, [](std::vector<int>&) {}); });
    expect(lists.size() == 1);
  });
}

TEST_CASE("map: the table stays whole while keys come and go") {
  using table = pgas::detail::hash_table<std::uint64_t, long, pgas::key_hash<std::uint64_t>>;
  table t;
  std::unordered_map<std::uint64_t, long> serial;
  const shunt::counter_random random(3);
  for (std::uint64_t i = 0; i != 40'000; ++i) {
    const auto key = random.below(2 * i, 500);
    if (const auto what = random.below(2 * i + 1, 1000); what < 500) {
      const auto [at, is_new] = t.find_or_insert(key);
      CHECK(is_new == serial.emplace(key, 0).second);
      ++at->value;
      ++serial[key];
    } else if (what < 997) {
      CHECK(t.erase(key) == (serial.erase(key) == 1));
    } else {
      const auto odd = [](std::uint64_t k, long) { return k % 2 == 1; };
      CHECK(t.erase_if(odd) == std::erase_if(serial, [&](const auto& item) { return odd(item.first, item.second); }));
    }
    if (i % 1000 != 0) continue;
    CHECK(t.size() == serial.size());
    std::size_t listed = 0;
    for (const auto& [k, value] : t) {
      CHECK(serial.at(k) == value);
      ++listed;
    }
    CHECK(listed == serial.size());
  }
}

TEST_CASE("map: the hash spreads keys that differ in few bits over PEs and slots") {
  // 4,096 keys into 64 places: 64 each; chi-squared of 63 degrees of freedom is below 120 but once in 50,000.
  for (const int shift : {0, 3, 12, 32, 52}) {
    std::vector<double> pes(64), slots(64);
    for (std::uint64_t n = 0; n != 4096; ++n) {
      const auto hash = pgas::key_hash<std::uint64_t>()(n << static_cast<unsigned>(shift));
      ++pes[hash >> 58U];
      ++slots[hash & 63U];
    }
    for (const auto& places : {pes, slots}) {
      double chi_squared = 0;
      for (const double n : places) chi_squared += (n - 64) * (n - 64) / 64;
      CHECK(chi_squared < 120);
    }
  }
  CHECK(pgas::key_hash<std::string>()("ab") != pgas::key_hash<std::string>()(std::string_view("ab\0", 3)));
}

TEST_CASE("map: changes outside of a superstep, reads inside, and ranges of two lengths name the line") {
  using Catch::Contains;
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::map<int, int> m(me);
               ++m[3];
             }),
             Contains("outside of a superstep") && Contains("map.test.cpp") && Contains("SHUNT-0945"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::map<std::string, std::string> m(me);
               m.insert("key", "value");
             }),
             Contains("outside of a superstep") && Contains("map.test.cpp"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::map<int, int> m(me);
               pgas::superstep(me, [&] { static_cast<void>(m.find(3)); });
             }),
             Contains("find() in a superstep") && Contains("map.test.cpp") && Contains("SHUNT-0946"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::map<int, int> m(me);
               std::vector<std::optional<int>> into(2);
               m.gather(std::vector<int>{1, 2, 3}, into);
             }),
             Contains("gather() gets ranges of 3 and of 2 items") && Contains("SHUNT-0949"));
}

TEST_CASE("map: keys of other types: what does not fit is refused, structs and empty texts do") {
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::map<int, int> m(me);
               pgas::superstep(me, [&] { ++m[std::uint64_t{1} << 32U]; });
             }),
             Catch::Contains("the key 4294967296") && Catch::Contains("32 bits") && Catch::Contains("SHUNT-0951"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::map<std::uint64_t, int> m(me);
               pgas::superstep(me, [&] { ++m[-1]; });
             }),
             Catch::Contains("the key -1"));
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::map<place, int, place_hash> places(me);
    pgas::map<std::string, int> texts(me);
    pgas::map<bool, int> both(me);
    pgas::superstep(me, [&] {
      ++places[place{1, 2}];
      ++texts[""];
      ++both[me.index() == 0];
    });
    if (const int* const n = places.find_local({1, 2})) expect(*n == 3);
    if (const int* const n = texts.find_local("")) expect(*n == 3);
    expect(places.size() == 1 && texts.size() == 1 && both.size() == 2);
  });
}

TEST_CASE("map: long texts with large captures, in trains of 256 bytes") {
  auto job = small(3, 2);
  job.train_bytes = 256;
  pgas::run(job, [](pgas::pe& me) {
    struct many {
      long values[12];
    };
    pgas::map<std::string, long> m(me);
    pgas::superstep(me, [&] { m.visit(text(5'000, 1), [all = many{{1, 2}}](long& sum) { sum += all.values[1]; }); });
    if (const long* const sum = m.find_local(text(5'000, 1))) expect(*sum == 6);
    expect(m.size() == 1);
  });
}

TEST_CASE("multimap: each key has all values that any PE inserted") {
  for (const auto& job : {tiny(1, 1), tiny(7, 3), tiny(64, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::multimap<std::string, int> of_word(me);
      pgas::superstep(me, [&] {
        for (int i = 0; i != 30; ++i)
          of_word.insert(text(1 + static_cast<std::size_t>(i) % 3, 0), 100 * me.index() + i);
      });
      expect(of_word.keys() == 3);
      expect(of_word.size() == 30 * static_cast<std::uint64_t>(me.count()));
      for (auto [word, values] : of_word.local()) {
        expect(values.size() == 10 * static_cast<std::size_t>(me.count()));
        for (const int value : values) expect(static_cast<std::size_t>(value % 100 % 3) + 1 == word.size());
        expect(of_word.find_local(word) == &values && of_word.owner(word) == me.index());
      }
      me.barrier();
      pgas::superstep(me, [&] {
        if (me.index() == 0) of_word.erase(text(1, 0));
        of_word.visit_if_present(text(2, 0), [](std::vector<int>& values) { values.resize(1); });
      });
      expect(of_word.keys() == 2);
      expect(of_word.size() == 1 + 10 * static_cast<std::uint64_t>(me.count()));
    });
  }
}
