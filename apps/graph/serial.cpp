#include "graph/serial.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace shunt::apps::serial {
namespace {

/// The neighbours of each vertex, ascending, each once.
std::vector<std::vector<graph::vertex>> neighbours_of(std::uint64_t vertices, std::span<const graph::edge> entries) {
  std::vector<std::vector<graph::vertex>> all(vertices);
  for (const auto [a, b] : entries) {
    if (a == b) continue;
    all[a].push_back(b);
    all[b].push_back(a);
  }
  for (auto& one : all) {
    std::sort(one.begin(), one.end());
    one.erase(std::unique(one.begin(), one.end()), one.end());
  }
  return all;
}

}  // namespace

std::vector<graph::vertex> components(std::uint64_t vertices, std::span<const graph::edge> entries) {
  std::vector<graph::vertex> parent(vertices);
  std::iota(parent.begin(), parent.end(), graph::vertex{0});
  const auto find = [&parent](graph::vertex v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (const auto [a, b] : entries) {
    const auto x = find(a), y = find(b);
    parent[std::max(x, y)] = std::min(x, y);  // so a root is the least of its tree
  }
  for (graph::vertex v = 0; v < vertices; ++v) parent[v] = find(v);
  return parent;
}

std::vector<float> distances(std::uint64_t vertices, std::span<const graph::edge> entries,
                             const std::function<float(std::uint64_t)>& weight, graph::vertex root) {
  std::vector<std::vector<std::pair<graph::vertex, float>>> links(vertices);
  for (std::uint64_t i = 0; i < entries.size(); ++i) {
    links[entries[i].a].emplace_back(entries[i].b, weight(i));
    links[entries[i].b].emplace_back(entries[i].a, weight(i));
  }
  std::vector<float> distance(vertices, std::numeric_limits<float>::infinity());
  using candidate = std::pair<float, graph::vertex>;
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> queue;
  distance[root] = 0;
  for (queue.emplace(0, root); !queue.empty();) {
    const auto [length, v] = queue.top();
    queue.pop();
    if (length != distance[v]) continue;
    for (const auto& [to, more] : links[v]) {
      if (!(length + more < distance[to])) continue;
      distance[to] = length + more;
      queue.emplace(distance[to], to);
    }
  }
  return distance;
}

std::vector<double> page_ranks(std::uint64_t vertices, std::span<const graph::edge> entries, double damping,
                               std::uint64_t rounds) {
  const auto neighbours = neighbours_of(vertices, entries);
  const auto n = static_cast<double>(vertices);
  std::vector<double> rank(vertices, 1 / n);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<double> next(vertices);
    double given = 0;
    for (std::size_t v = 0; v < neighbours.size(); ++v) {
      if (neighbours[v].empty()) continue;
      given += damping * rank[v];
      for (const auto u : neighbours[v]) next[u] += damping * rank[v] / static_cast<double>(neighbours[v].size());
    }
    for (auto& one : next) one += (1 - given) / n;
    rank = std::move(next);
  }
  return rank;
}

std::vector<std::uint32_t> core_numbers(std::uint64_t vertices, std::span<const graph::edge> entries) {
  const auto neighbours = neighbours_of(vertices, entries);
  std::vector<std::uint32_t> left(vertices);  // of each vertex the neighbours that are left, and then its number
  std::vector<std::vector<graph::vertex>> with;
  const auto enter = [&](graph::vertex v) {
    if (with.size() <= left[v]) with.resize(left[v] + std::size_t{1});
    with[left[v]].push_back(v);
  };
  for (graph::vertex v = 0; v < vertices; ++v) left[v] = static_cast<std::uint32_t>(neighbours[v].size()), enter(v);
  std::vector<bool> gone(vertices);
  for (std::uint32_t k = 0; k < with.size(); ++k) {
    while (!with[k].empty()) {
      const auto v = with[k].back();
      with[k].pop_back();
      if (gone[v] || left[v] != k) continue;  // entered again since, further down
      gone[v] = true;
      for (const auto u : neighbours[v]) {
        if (!gone[u] && left[u] > k) --left[u], enter(u);
      }
    }
  }
  return left;
}

std::vector<std::uint32_t> common_neighbours(const graph::graph& g) {
  std::vector<graph::edge> edges;
  for (graph::vertex v = 0; v < g.vertices(); ++v) {
    for (const auto u : g.row(v)) edges.push_back({v, u});
  }
  const auto neighbours = neighbours_of(g.vertices(), edges);
  std::vector<std::uint32_t> common;
  for (const auto [v, u] : edges) {
    std::vector<graph::vertex> both;
    std::set_intersection(neighbours[v].begin(), neighbours[v].end(), neighbours[u].begin(), neighbours[u].end(),
                          std::back_inserter(both));
    common.push_back(static_cast<std::uint32_t>(both.size()));
  }
  return common;
}

}  // namespace shunt::apps::serial
