#include <shunt/pgas/containers/set.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/task.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>
#include <support/keyed_properties.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

TEST_CASE("set: of keys of any length, has what a serial one has, on any number of PEs") {
  for (const auto& job : all_jobs(small)) {
    const set_as_serial<std::uint64_t> property(job.pes);
    pgas::run(job, std::ref(property));
  }
  for (const auto& job : {small(1, 1), small(3, 2), small(7, 2, 2)}) {
    const set_as_serial<std::string> property(job.pes);
    pgas::run(job, std::ref(property));
  }
}

TEST_CASE("set: has what was inserted and not erased, on any number of PEs") {
  for (const auto& job : all_jobs(small)) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::set<std::uint64_t> numbers(me);
      pgas::set<std::string> words(me);
      const auto all = static_cast<std::uint64_t>(me.count()) + 60;
      pgas::superstep(me, [&] {
        for (auto n = static_cast<std::uint64_t>(me.index()); n < all; n += 2) numbers.insert(n);
        words.insert(nth_key<std::string>(static_cast<std::uint64_t>(me.index() % 40)));
      });
      pgas::superstep(me, [&] { numbers.erase(3); });
      const std::vector<std::uint64_t> asked{0, 3, all - 1, all + 5};
      const auto found = numbers.contains(asked);
      expect(found[0] && !found[1] && !found[3]);
      const auto of_words = words.contains(std::vector<std::string>{nth_key<std::string>(0), "no such word"});
      expect(of_words[0] && !of_words[1]);
      std::size_t listed = 0;
      for (const auto key : numbers.local()) {
        expect(numbers.contains_local(key) && numbers.owner(key) == me.index());
        ++listed;
      }
      expect(numbers.size() == me.sum(std::uint64_t{listed}));
      expect(words.size() == std::min<std::uint64_t>(40, static_cast<std::uint64_t>(me.count())));
      numbers.erase_if([](std::uint64_t key) { return key > 2; });
      expect(numbers.size() == std::min<std::uint64_t>(3, me.count() == 1 ? 2 : 3));
      words.clear();
      expect(words.size() == 0);
    });
  }
}

TEST_CASE("counting_set: counts as a serial map does, with and without a cache, whatever is frequent") {
  for (const auto& job : all_jobs(tiny)) {
    const counting_set_as_serial<std::uint64_t> property(job.pes);
    pgas::run(job, std::ref(property));
  }
}

TEST_CASE("counting_set: tasks of a PE insert while others wait for a train, on any worker, and nothing is lost") {
  for (const auto& job : {tiny(3, 1), tiny(2, 2), tiny(7, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      // A cache so small that keys make place for others all the time.
      pgas::counting_set<std::uint64_t> numbers(me, 8);
      pgas::counting_set<std::string> words(me, 8);
      constexpr std::uint64_t tasks = 4, each = 400;
      for (std::uint64_t round = 1; round <= 2; ++round) {
        pgas::superstep(me, [&] {
          shunt::finish([&] {
            for (std::uint64_t t = 0; t != tasks; ++t) {
              shunt::async([&, t] {
                for (std::uint64_t i = 0; i != each; ++i) {
                  numbers.insert(i * tasks + t);
                  words.insert(nth_key<std::string>(1 + i % 20));  // of 2 to 21 bytes: for both caches
                }
              });
            }
          });
        });
        const auto all = round * tasks * each * static_cast<std::uint64_t>(me.count());
        expect(numbers.total() == all, std::to_string(numbers.total()) + " of " + std::to_string(all));
        expect(numbers.size() == tasks * each);
        expect(words.total() == all && words.size() == 20);
        for (const auto& [key, count] : numbers.local())
          expect(count == round * static_cast<std::uint64_t>(me.count()), std::to_string(key));
        me.barrier();
      }
    });
  }
}

TEST_CASE("counting_set: a key that was seen 0 times more is none") {
  pgas::run(small(2, 1), [](pgas::pe& me) {
    pgas::counting_set<std::uint64_t> numbers(me);
    pgas::counting_set<std::string> words(me);
    pgas::superstep(me, [&] {
      for (std::uint64_t key = 0; key != 9; ++key) numbers.insert(key, key % 3);
      words.insert("none", 0);
    });
    expect(numbers.size() == 6 && numbers.total() == 18);
    expect(words.size() == 0);
  });
}

TEST_CASE("counting_set: the cache loses no key while it grows and keys come and go, and keeps the hottest") {
  using hash_of = pgas::key_hash<std::uint64_t>;
  for (const std::size_t most : {1, 64, 4096}) {
    pgas::detail::hot_keys<std::uint64_t, hash_of> cache(most);
    std::map<std::uint64_t, std::uint64_t> serial, sent;
    const auto send = [&](const auto& entry) { sent[entry.key] += entry.count(); };
    const shunt::counter_random random(most);
    constexpr std::uint64_t hot = 77;
    int hot_ones_sent = 0;
    for (std::uint64_t i = 0; i != 60'000; ++i) {
      const auto key = i % 2 == 0 ? hot : 100 + random.below(i, 1 + random.below(i + 1'000'000, 3000));
      const auto hash = hash_of()(key);
      ++serial[key];
      const auto make_place = [&](const auto& entry) {
        if (entry.key == hot) ++hot_ones_sent;
        send(entry);
      };
      if (!cache.count(cache.seek(hash), key) && !cache.count_or_take_in(key, hash, make_place)) ++sent[key];
      if (i == 30'000) cache.take_out_all(send);
    }
    cache.take_out_all(send);
    CHECK(sent == serial);
    CHECK(hot_ones_sent == 0);  // it makes place for none: what is not found at once has a neighbour with its tag
  }
}

TEST_CASE("counting_set: texts of up to 16 bytes that differ in one are told apart, and are what they were") {
  using pgas::detail::short_text;
  for (std::size_t size = 0; size <= 16; ++size) {
    const std::string a = text(size, 3);
    CHECK(pgas::detail::short_text_bytes(short_text(a)).view() == a);
    CHECK(short_text(a) == short_text(std::string(a)));
    if (size < 16) CHECK(!(short_text(a) == short_text(a + 'x')));
    for (std::size_t at = 0; at != size; ++at) {
      std::string b = a;
      ++b[at];
      CHECK(!(short_text(a) == short_text(b)));
      CHECK(pgas::key_hash<std::string>()(a) != pgas::key_hash<std::string>()(b));
    }
  }
}

TEST_CASE("counting_set: of words of which the r-th is as frequent as 1 / r, a tenth of a map's bytes travel") {
  pgas::run(small(2, 2), [](pgas::pe& me) {
    std::vector<std::string> words;
    const shunt::counter_random random(1, static_cast<std::uint64_t>(me.index()));
    for (std::uint64_t i = 0; i != 20'000; ++i) {
      const auto rank = static_cast<std::uint64_t>(std::pow(1000, random.unit(i)));
      words.push_back(text(4 + rank % 9, static_cast<int>(rank)) + std::to_string(rank));
    }
    const auto bytes_of = [&](const auto& insert) {
      const auto before = me.traffic();
      pgas::superstep(me, [&] {
        for (const auto& word : words) insert(word);
      });
      return (me.traffic() - before).bytes;
    };
    pgas::map<std::string, std::uint64_t> m(me);
    pgas::counting_set<std::string> s(me);
    const auto of_map = bytes_of([&](const std::string& word) { ++m[word]; });
    const auto of_set = bytes_of([&](const std::string& word) { s.insert(word); });
    expect(10 * of_set < of_map, std::to_string(of_set) + " of " + std::to_string(of_map));
    expect(s.total() == 20'000 * static_cast<std::uint64_t>(me.count()));
  });
}

TEST_CASE("counting_set: counts words, superstep after superstep") {
  for (const int pes : {1, 3, 7}) {
    const counting_set_as_serial<std::string> property(pes);
    pgas::run(small(pes, 2), std::ref(property));
  }
}
