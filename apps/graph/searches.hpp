/// Searches of a graph from many roots, each timed and checked: what bfs and sssp have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/job.hpp"
#include "graph/graph_input.hpp"
#include "graph/roots.hpp"
#include "graph/teps.hpp"
#include "option.hpp"

namespace shunt::apps {

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The options that say where searches start.
class root_options {
 public:
  explicit root_options(command_line& options) {
    auto* const several = count_option(options, "--roots", count_,
                                       "searches, each from a vertex drawn at random that has neighbours", 1, 1ul << 20)
                              ->capture_default_str();
    one_ = count_option(options, "--root", number_, "one search, from this vertex, as the graph numbers it", 0);
    one_->excludes(several);
  }
  /// After input.load(). \throws usage_error for a root that is no vertex
  void find(const graph_input& input) {
    if (one_->count() > 0) only_ = input.find("--root", number_);
  }
  /// Collective. \param g  dealt out: at, count(), degree(). \throws usage_error where there is none
  template <class Graph>
  [[nodiscard]] std::vector<graph::vertex> draw(pgas::pe& me, const Graph& g, const graph_input& input,
                                                std::uint64_t seed) const {
    if (only_) return {*only_};
    auto roots = draw_roots(me, g, count_, seed);
    if (roots.empty())
      throw usage_error(error_number(1105), one_line(input.name()) + ": a graph without edges has no root");
    return roots;
  }

 private:
  std::uint64_t count_ = 64;
  std::uint64_t number_ = 0;
  command_option* one_ = nullptr;
  std::optional<graph::vertex> only_;
};

/// What the searches of one run came to.
/// \tparam Faults  has none(), traversed, and operator+
template <class Faults>
struct search_results {
  std::vector<double> seconds;
  std::vector<double> edges;
  std::uint64_t right = 0;
  Faults faults;
  pgas::traffic moved{};
  double total = 0;
};

/// Collective. \param search  search(root), timed. \param check  what is wrong with what it has found: check(root)
template <class Search, class Check>
auto run_searches(pgas::pe& me, const std::vector<graph::vertex>& roots, Search search, Check check) {
  search_results<decltype(check(roots.front()))> all;
  progress line("searching", roots.size(), me.index() == 0);
  for (const auto root : roots) {
    const auto before = me.traffic();
    me.barrier();
    const auto start = std::chrono::steady_clock::now();
    search(root);
    all.seconds.push_back(me.max(seconds_since(start)));
    all.moved += me.traffic() - before;
    all.total += all.seconds.back();
    const auto faults = check(root);
    all.edges.push_back(static_cast<double>(faults.traversed));
    all.right += faults.none();
    all.faults = all.faults + faults;
    line.show(all.seconds.size());
  }
  return all;
}

}  // namespace shunt::apps
