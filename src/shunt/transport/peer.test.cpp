// Which of several silent ranks is the lost one, without a network.
#include <shunt/transport/network/peer.hpp>

#include <array>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using namespace std::chrono_literals;
using shunt::transport::network::find_silent;
using shunt::transport::network::peer;

/// The rank that is found lost with a deadline of 1 s; -1: none.
int lost(const std::vector<peer>& peers, const std::set<int>& stopped = {}) {
  const peer* const found = find_silent(peers, 1s, [&](int rank) { return stopped.contains(rank); });
  return found == nullptr ? -1 : found->rank;
}

TEST_CASE("No rank is lost before one has been silent for the deadline", "[peer]") {
  CHECK(lost({}) == -1);
  CHECK(lost({{.rank = 1, .silent = 999ms}, {.rank = 2}}) == -1);
  CHECK(lost({{.rank = 1, .silent = 999ms}, {.rank = 2}}, {1}) == -1);
  CHECK(lost({{.rank = 1, .silent = 1s}, {.rank = 2}}) == 1);
}

TEST_CASE("Of several silent ranks the one that has been silent for longest is lost", "[peer]") {
  CHECK(lost({{.rank = 1, .silent = 1s}, {.rank = 2, .silent = 1'200ms}, {.rank = 3, .silent = 1'100ms}}) == 2);
}

TEST_CASE("A stopped rank is lost although another reached the deadline first", "[peer]") {
  CHECK(lost({{.rank = 1, .silent = 1s}, {.rank = 3, .silent = 900ms}}, {3}) == 3);
  CHECK(lost({{.rank = 3, .silent = 900ms}, {.rank = 1, .silent = 1s}}, {3}) == 3);
  CHECK(lost({{.rank = 1, .silent = 700ms}, {.rank = 2, .silent = 1s}, {.rank = 3, .silent = 900ms}}, {1, 3}) == 3);
}

TEST_CASE("A rank that was stopped a moment ago does not explain another's silence", "[peer]") {
  CHECK(lost({{.rank = 1, .silent = 1s}, {.rank = 3, .silent = 499ms}}, {3}) == 1);
  CHECK(lost({{.rank = 1, .silent = 1s}, {.rank = 3, .silent = 500ms}}, {3}) == 3);
}

TEST_CASE("A rank that has said goodbye is not lost, and explains nothing", "[peer]") {
  CHECK(lost({{.rank = 1, .silent = 9s, .goodbye_received = true}, {.rank = 2}}) == -1);
  CHECK(lost({{.rank = 1, .silent = 9s, .goodbye_received = true}, {.rank = 2, .silent = 1s}}, {1}) == 2);
}

}  // namespace
