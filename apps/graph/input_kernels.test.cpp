// Where a graph comes from: the PEs' shares are its entries, in one order whatever the number of PEs.
#include <unistd.h>

#include <support/jobs.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "graph/adjacency.hpp"
#include "graph/collect.hpp"
#include "graph/graph_input.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

/// Collective. Expects that the shares, one after another, are all entries.
void expect_shares(pgas::pe& me, const apps::graph_input& input) {
  const auto mine = input.share(me, 8);
  expect(mine.first == me.scan(mine.edges.size()));
  std::vector<graph::edge> all;
  for (const auto& part : me.gather(std::span<const graph::edge>(mine.edges))) {
    all.insert(all.end(), part.begin(), part.end());
  }
  expect(all == input.all());
}

}  // namespace

TEST_CASE("graph_input: the PEs' shares are the graph's entries, in their order") {
  const auto file =
      (std::filesystem::temp_directory_path() / ("shunt_graph_input." + std::to_string(getpid()))).string();
  std::ofstream(file) << "10 20\n20 30\n30 10\n30 30\n7 10\n20 10\n";
  const std::string line = GENERATE(as<std::string>(), "--scale 7", "--generate erdos_renyi --vertices 200 --mean 3",
                                    "--generate 1:3x4x5", "--graph500 6", "--graph");
  CAPTURE(line);
  apps::command_line options;
  apps::job job(options, "test", true, apps::forms::none);
  apps::graph_input input(options, job, {.graph500 = true, .seed_for_file = true});
  std::istringstream text(line == "--graph" ? line + ' ' + file : line);
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  std::vector<const char*> arguments{"test"};
  for (const auto& word : words) arguments.push_back(word.c_str());
  REQUIRE(options.parse(static_cast<int>(arguments.size()), arguments.data()));
  input.load();
  CHECK(input.all().size() > 3);
  for (const int pes : {1, 2, 3, 7, 64}) {
    pgas::run(tiny(pes, 2), [&](pgas::pe& me) { expect_shares(me, input); });
  }
  if (input.from_file()) {
    CHECK(input.vertices() == 4);
    CHECK(input.number(0) == 7);
    CHECK(input.find("--root", 30) == 3);
    CHECK_THROWS_AS(input.find("--root", 8), usage_error);
    input.order_by_degree();
    CHECK(input.number(0) == 10);  // it has three neighbours
  }
  std::filesystem::remove(file);
}

TEST_CASE("collect_values: all of them on PE 0, by vertex") {
  for (const int pes : {1, 2, 7}) {
    pgas::run(tiny(pes, 2), [](pgas::pe& me) {
      std::vector<std::uint64_t> mine;
      for (auto v = static_cast<std::uint64_t>(me.index()); v < 500; v += static_cast<std::uint64_t>(me.count())) {
        mine.push_back(v * v);
      }
      const auto all = apps::collect_values(me, 500, mine);
      expect(all.size() == (me.index() == 0 ? 500 : 0));
      for (std::uint64_t v = 0; v < all.size(); ++v) expect(all[v] == v * v);
    });
  }
}
