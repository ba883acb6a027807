/// A graph with weights that is dealt out over the PEs, and what a search for shortest paths keeps on each of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <graph/adjacency.hpp>
#include <limits>
#include <map>
#include <shunt/base/random.hpp>
#include <span>
#include <utility>
#include <vector>

namespace shunt::apps {

inline constexpr float unreachable = std::numeric_limits<float>::infinity();

/// The weights of Graph500: uniform in [0, 1), of 24 bits, one for each entry of the input.
class entry_weights {
 public:
  explicit entry_weights(std::uint64_t seed) : random_(seed ^ tag) {}
  [[nodiscard]] float operator[](std::uint64_t entry) const noexcept {
    return static_cast<float>(random_.at(entry) >> 40) * 0x1p-24F;
  }

 private:
  static constexpr std::uint64_t tag = 0x7765696768742e2eU;  // "weight..": no other stream of the seed
  counter_random random_;
};

/// A neighbour.
struct link {
  address to;
  float weight;
};

struct weighted_rows {
  addresses at;
  std::vector<std::uint64_t> offsets;
  std::vector<link> links;  ///< of a row, the lightest first
  struct arrived {
    std::uint32_t row;
    link one;
  };
  std::vector<arrived> in;

  weighted_rows(const pgas::pe& me, std::uint64_t vertices) : at(me, vertices), offsets(std::size_t{at.rows()} + 1) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(offsets.size() - 1); }
  [[nodiscard]] std::span<const link> row(std::uint32_t local) const noexcept {
    return {links.data() + offsets[local], links.data() + offsets[local + 1]};
  }
  [[nodiscard]] std::uint64_t degree(std::uint32_t local) const noexcept { return offsets[local + 1] - offsets[local]; }
  /// The links of a row whose weight is at most `delta`, or the others.
  [[nodiscard]] std::span<const link> row(std::uint32_t local, float delta, bool light) const noexcept {
    const auto all = row(local);
    const auto middle =
        std::partition_point(all.begin(), all.end(), [delta](const link& one) { return one.weight <= delta; });
    return light ? std::span(all.begin(), middle) : std::span(middle, all.end());
  }

  /// Builds: an entry has come.
  void add(std::uint32_t row, const link& one) {
    ++offsets[row + std::size_t{1}];
    in.push_back({row, one});
  }
  /// Builds: all have.
  void place() {
    for (std::size_t l = 1; l < offsets.size(); ++l) offsets[l] += offsets[l - 1];
    links.resize(offsets.back());
    for (const auto& [row, one] : std::exchange(in, {})) links[offsets[row]++] = one;
    // Each offset is now its row's end: the next one's begin.
    std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
    offsets.front() = 0;
    for (std::uint32_t l = 0; l < count(); ++l) {
      std::sort(links.begin() + static_cast<std::ptrdiff_t>(offsets[l]),
                links.begin() + static_cast<std::ptrdiff_t>(offsets[l + 1]),
                [](const link& x, const link& y) { return std::pair(x.weight, x.to) < std::pair(y.weight, y.to); });
    }
  }
};

/// The shortest paths that are known to this PE's vertices. Bucket b has the vertices at distances from b delta to
/// (b + 1) delta whose links are still to be followed.
class paths {
 public:
  paths(const weighted_rows& g, float delta)
      : distance(g.count(), unreachable), parent(g.count(), nowhere), delta_(delta) {}

  void relax(std::uint32_t row, float length, address from) {
    if (!(length < distance[row])) return;
    distance[row] = length;
    parent[row] = from;
    buckets_[bucket_of(row)].push_back(row);
  }
  /// \return the first bucket from `from` that has vertices; none: the greatest number
  [[nodiscard]] std::uint64_t next(std::uint64_t from) const noexcept {
    const auto first = buckets_.lower_bound(from);
    return first == buckets_.end() ? ~std::uint64_t{0} : first->first;
  }
  /// Takes what is in a bucket, and belongs there still, once each.
  [[nodiscard]] std::vector<std::uint32_t> take(std::uint64_t bucket) {
    auto taken = buckets_.extract(bucket);
    if (taken.empty()) return {};
    auto rows = std::move(taken.mapped());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::erase_if(rows, [&](std::uint32_t row) { return bucket_of(row) != bucket; });
    return rows;
  }

  std::vector<float> distance;
  std::vector<address> parent;  ///< the root's is its own address

 private:
  [[nodiscard]] std::uint64_t bucket_of(std::uint32_t row) const noexcept {
    return static_cast<std::uint64_t>(distance[row] / delta_);
  }

  float delta_;
  std::map<std::uint64_t, std::vector<std::uint32_t>> buckets_;
};

}  // namespace shunt::apps
