// What a job measures of the network between its hosts, over one that is memory.
#include <shunt/pgas/detail/network_probe.hpp>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <support/ranks.hpp>

using namespace shunt;
using namespace shunt::testing;
using namespace std::chrono_literals;
using Catch::Contains;
using pgas::network_speed;

TEST_CASE("network_probe: two ranks send as many bytes in trains of either length, and all ranks learn the same") {
  constexpr int asks = 0, idle = 1, answers = 2;
  std::map<std::size_t, int> arrived;  // by bytes; the network calls one at a time
  std::vector<int> at_rank(3);
  memory_network network(3, [&](rail::train& t, int rank) {
    ++arrived[t.head.bytes];
    ++at_rank[static_cast<std::size_t>(rank)];
  });
  std::vector<network_speed> found(3);
  std::vector<std::thread> ranks;
  for (int r = 0; r < 3; ++r) {
    ranks.emplace_back([&, r] {
      memory_network::end mine(network, r);
      found[static_cast<std::size_t>(r)] = pgas::detail::measure_between(mine, asks, answers, 5s, "");
    });
  }
  for (auto& r : ranks) r.join();
  for (const auto& one : found) {
    CHECK(one.one_way == found[0].one_way);
    CHECK(one.in_usual_trains == found[0].in_usual_trains);
    CHECK(one.in_long_trains == found[0].in_long_trains);
  }
  CHECK(found[0].one_way > 0ns);
  CHECK(found[0].in_usual_trains > 0);
  CHECK(found[0].in_long_trains > 0);
  CHECK(at_rank[idle] == 0);
  const int bursts = arrived[pgas::long_train] / 16;  // none where this machine was busy: then the network looks slow
  CHECK(arrived[pgas::long_train] == 16 * bursts);
  CHECK(arrived[pgas::usual_train] == 8 + 64 * bursts);
  CHECK(arrived[64] == 2 * 9 + (1 + 2 * bursts) + 1);  // pings, answers, the end
  CHECK(at_rank[answers] == 9 + 8 + (64 + 16) * bursts + 1);
}

TEST_CASE("network_probe: ranks of one host measure nothing") {
  memory_network network(1);
  memory_network::end alone(network, 0);
  CHECK_FALSE(pgas::measure_network(alone, 5s));
}

TEST_CASE("network_speed: longer trains are taken where they are a seventh faster at least") {
  CHECK(network_speed{1us, 700, 799}.longest_train() == pgas::usual_train);
  CHECK(network_speed{1us, 700, 801}.longest_train() == pgas::long_train);
  CHECK(network_speed{}.longest_train() == pgas::usual_train);  // nothing is known
  CHECK_THAT(
      (network_speed{52'400ns, 310e6, 620e6}.text()),
      Contains("52.4 us one way; trains of 16 KiB move 310 MB/s, of 63 KiB 620 MB/s: those of 63 KiB are taken"));
  CHECK_THAT((network_speed{52'400ns, 310e6, 320e6}.text()), Contains("those of 16 KiB are taken"));
}
