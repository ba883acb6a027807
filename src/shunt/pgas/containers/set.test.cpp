#include <shunt/pgas/containers/set.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
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

TEST_CASE("counting_set: counts words, superstep after superstep") {
  for (const int pes : {1, 3, 7}) {
    const counting_set_as_serial<std::string> property(pes);
    pgas::run(small(pes, 2), std::ref(property));
  }
}
