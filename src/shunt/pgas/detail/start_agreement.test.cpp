// What the ranks of a job agree on where its start fails.
#include <shunt/pgas/detail/start_agreement.hpp>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <support/ranks.hpp>

using namespace shunt;
using namespace shunt::testing;
using pgas::detail::start_failure;

namespace {

/// One rank's start: what it says, and with which status it fails; 0: it goes well.
struct start_of_rank {
  std::string text;
  int status = 0;
};

/// What each rank learns; nothing: that all starts go well.
std::vector<std::optional<start_failure>> agreed_between(const std::vector<start_of_rank>& starts) {
  memory_network network(static_cast<int>(starts.size()));
  std::vector<std::optional<start_failure>> learnt(starts.size());
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < starts.size(); ++r) {
    ranks.emplace_back([&, r] {
      memory_network::end mine(network, static_cast<int>(r));
      if (starts[r].status != 0) {
        learnt[r] = pgas::detail::tell_failure(mine, starts[r].text, starts[r].status);
        return;
      }
      try {
        static_cast<void>(pgas::detail::exchange_at_start(mine, starts[r].text));
      } catch (const pgas::detail::failed_elsewhere& known) {
        learnt[r] = known.agreed;
      }
    });
  }
  for (auto& r : ranks) r.join();
  return learnt;
}

}  // namespace

TEST_CASE("start: where all ranks begin, each has every rank's text") {
  for (const auto& learnt : agreed_between({{"4 PEs"}, {"4 PEs"}, {""}})) CHECK_FALSE(learnt);
}

TEST_CASE("start: what all ranks find wrong, rank 0 prints, without a number") {
  const auto learnt = agreed_between({{"no such option", 2}, {"no such option", 2}, {"no such option", 2}});
  for (std::size_t r = 0; r < learnt.size(); ++r) {
    REQUIRE(learnt[r]);
    CHECK(learnt[r]->what == "no such option");
    CHECK(learnt[r]->status == 2);
    CHECK(learnt[r]->everywhere);
    CHECK(learnt[r]->here == (r == 0));
  }
}

TEST_CASE("start: what one rank finds wrong, it prints, and all end with its status") {
  const auto learnt = agreed_between({{"4 PEs"}, {"4 PEs"}, {"no such file", 2}});
  for (std::size_t r = 0; r < learnt.size(); ++r) {
    REQUIRE(learnt[r]);
    CHECK(learnt[r]->what == "rank 2: no such file");
    CHECK(learnt[r]->status == 2);
    CHECK_FALSE(learnt[r]->everywhere);
    CHECK(learnt[r]->here == (r == 2));
  }
}

TEST_CASE("start: of different failures each is printed by the lowest rank that has it") {
  const auto learnt = agreed_between({{"4 PEs"}, {"no memory", 1}, {"no such file", 2}, {"no memory", 1}});
  const bool prints[] = {false, true, true, false};
  for (std::size_t r = 0; r < learnt.size(); ++r) {
    REQUIRE(learnt[r]);
    CHECK(learnt[r]->what == "rank 1: no memory");
    CHECK(learnt[r]->status == 1);
    CHECK_FALSE(learnt[r]->everywhere);
    CHECK(learnt[r]->here == prints[r]);
  }
}
