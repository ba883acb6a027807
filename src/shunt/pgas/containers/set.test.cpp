#include <shunt/pgas/containers/set.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/containers/counting_set.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

/// Numbers of which some are far more frequent than others.
std::uint64_t skewed(const shunt::counter_random& random, std::uint64_t i) {
  return random.below(i, 1 + random.below(i + 1'000'000, 400));
}

std::string word_of(std::uint64_t n) { return text(n % 31 == 7 ? 3'000 : 1 + n % 20, static_cast<int>(n)); }

}  // namespace

TEST_CASE("set: has what was inserted and not erased, on any number of PEs") {
  for (const auto& job : all_jobs(small)) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::set<std::uint64_t> numbers(me);
      pgas::set<std::string> words(me);
      const auto all = static_cast<std::uint64_t>(me.count()) + 60;
      pgas::superstep(me, [&] {
        for (auto n = static_cast<std::uint64_t>(me.index()); n < all; n += 2) numbers.insert(n);
        words.insert(word_of(static_cast<std::uint64_t>(me.index() % 40)));
      });
      pgas::superstep(me, [&] { numbers.erase(3); });
      const std::vector<std::uint64_t> asked{0, 3, all - 1, all + 5};
      const auto found = numbers.contains(asked);
      expect(found[0] && !found[1] && !found[3]);
      const auto of_words = words.contains(std::vector<std::string>{word_of(0), "no such word"});
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
  constexpr std::uint64_t inserts = 300;
  for (const auto& job : all_jobs(tiny)) {
    std::map<std::uint64_t, std::uint64_t> serial;
    for (int p = 0; p != job.pes; ++p) {
      const shunt::counter_random random(5, static_cast<std::uint64_t>(p));
      for (std::uint64_t i = 0; i != inserts; ++i) ++serial[skewed(random, i)];
    }
    pgas::run(job, [&](pgas::pe& me) {
      pgas::counting_set<std::uint64_t> numbers(me);
      pgas::counting_set<std::uint64_t> narrow(me, 2);
      pgas::counting_set<std::uint64_t> straight(me, 0);
      const shunt::counter_random random(5, static_cast<std::uint64_t>(me.index()));
      pgas::superstep(me, [&] {
        for (std::uint64_t i = 0; i != inserts; ++i) {
          const auto n = skewed(random, i);
          numbers.insert(n);
          narrow.insert(n);
          straight.insert(n, 2);
        }
      });
      for (const auto& [key, count] : serial) {
        const auto expected = numbers.owner(key) == me.index() ? count : 0;
        expect(numbers.count_local(key) == expected, std::to_string(key));
        expect(narrow.count_local(key) == expected, std::to_string(key));
        expect(straight.count_local(key) == 2 * expected, std::to_string(key));
      }
      expect(numbers.size() == serial.size());
      expect(numbers.total() == inserts * static_cast<std::uint64_t>(me.count()));
    });
  }
}

TEST_CASE("counting_set: counts words, superstep after superstep") {
  for (const int pes : {1, 3, 7}) {
    pgas::run(small(pes, 2), [](pgas::pe& me) {
      pgas::counting_set<std::string> words(me);
      std::map<std::string, std::uint64_t> serial;
      for (int round = 0; round != 3; ++round) {
        for (int p = 0; p != me.count(); ++p) {
          const shunt::counter_random random(static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(round));
          for (std::uint64_t i = 0; i != 200; ++i) ++serial[word_of(skewed(random, i))];
        }
        const shunt::counter_random random(static_cast<std::uint64_t>(me.index()), static_cast<std::uint64_t>(round));
        pgas::superstep(me, [&] {
          for (std::uint64_t i = 0; i != 200; ++i) words.insert(word_of(skewed(random, i)));
        });
        for (const auto& [word, count] : words.local()) expect(serial.at(word) == count);
        expect(words.size() == serial.size());
      }
      words.clear();
      expect(words.total() == 0);
    });
  }
}
