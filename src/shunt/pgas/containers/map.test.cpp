#include <shunt/pgas/containers/map.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <ranges>
#include <string>
#include <unordered_map>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/containers/multimap.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>
#include <support/keyed_properties.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

template <class K, class Hash = pgas::key_hash<K>>
void expect_map_as_serial(const std::vector<pgas::options>& jobs) {
  for (const auto& job : jobs) {
    const map_as_serial<K, Hash> property(job.pes);
    pgas::run(job, std::ref(property));
  }
}

std::string failure_of(const std::function<void(pgas::pe&)>& program) {
  return thrown_by([&] { pgas::run(small(2, 1), program); });
}

}  // namespace

TEST_CASE("map: of plain keys, does what a serial one does, on any number of PEs") {
  expect_map_as_serial<std::uint64_t>(all_jobs(tiny));
  expect_map_as_serial<char>({tiny(3, 2)});
  expect_map_as_serial<pair_key, pair_key_hash>({tiny(7, 2), tiny(7, 2, 2)});
}

TEST_CASE("map: of texts from 1 byte to 10,000, does what a serial one does, on any number of PEs") {
  auto jobs = all_jobs(tiny);
  jobs.pop_back();
  expect_map_as_serial<std::string>(jobs);
}

TEST_CASE("map: gather() finds what is there, on any number of PEs") {
  for (const auto& job : all_jobs(small)) pgas::run(job, map_gathers);
}

TEST_CASE("map: gather() takes keys that a range makes when it is read") {
  pgas::run(small(3, 2), [](pgas::pe& me) {
    pgas::map<std::string, int> texts(me);
    const auto name = [](int i) { return text(40, i); };  // more than a std::string has in itself
    pgas::superstep(me, [&] {
      for (int i = me.index(); i < 20; i += me.count()) texts.insert(name(i), i);
    });
    std::vector<std::optional<int>> found(20);
    texts.gather(std::views::iota(0, 20) | std::views::transform(name), found);
    for (int i = 0; i != 20; ++i) expect(found[static_cast<std::size_t>(i)] == i, std::to_string(i));
  });
}

TEST_CASE("map: where gather() refuses a key it has asked for none, and the job may go on") {
  pgas::run(small(3, 2), [](pgas::pe& me) {
    pgas::map<std::uint8_t, int> numbers(me);
    pgas::superstep(me, [&] { numbers.insert(1, 10); });
    const auto messages_of = [&](const auto& calls) {
      const auto before = me.traffic();
      calls();
      return (me.traffic() - before).messages;
    };
    const auto ask = [&] {
      std::vector<std::optional<int>> found(3);
      numbers.gather(std::vector<int>{1, 1, 2}, found);
      expect(found[0] == 10 && found[1] == 10 && !found[2].has_value());
    };
    const auto of_one = messages_of(ask);
    const auto of_both = messages_of([&] {
      expect_thrown<shunt::usage_error>([&] {
        std::vector<std::optional<int>> gone(3);
        numbers.gather(std::vector<int>{1, 2, 300}, gone);
      });
      ask();  // to which answers of the refused call would come
    });
    expect(of_one == of_both, std::to_string(of_both));
  });
}

TEST_CASE("map: values that are texts, of any length, under keys of both kinds") {
  for (const int hops : {1, 2}) pgas::run(small(5, 2, hops), map_of_texts);
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
  CHECK_THROWS_AS(t.reserve(~std::size_t{0}), std::bad_alloc);
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
    pgas::map<pair_key, int, pair_key_hash> places(me);
    pgas::map<std::string, int> texts(me);
    pgas::map<bool, int> both(me);
    pgas::superstep(me, [&] {
      ++places[pair_key{1, 2}];
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

TEST_CASE("multimap: of keys of any length, has what serial ones have, on any number of PEs") {
  for (const auto& job : all_jobs(tiny)) {
    const multimap_as_serial<std::uint64_t> property(job.pes);
    pgas::run(job, std::ref(property));
  }
  for (const auto& job : {tiny(1, 1), tiny(3, 2), tiny(7, 3), tiny(64, 2, 2)}) {
    const multimap_as_serial<std::string> property(job.pes);
    pgas::run(job, std::ref(property));
  }
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
