#include "shared_links.hpp"

#include <algorithm>
#include <limits>

namespace shunt::simulate {
namespace {

constexpr std::int64_t micro = 1'000'000;
constexpr std::int64_t boundless = std::numeric_limits<std::int64_t>::max();

}  // namespace

shared_links::shared_links(const std::vector<link_group>& groups) : groups_(groups) {}

int shared_links::group_of(int node) const noexcept {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (node >= groups_[g].first_node && node < groups_[g].last_node) return static_cast<int>(g);
  }
  return -1;
}

bool shared_links::cross(int from_node, int to_node) const noexcept { return group_of(from_node) != group_of(to_node); }

void shared_links::begin(picoseconds now, std::uint32_t id, int from_node, int to_node, std::int64_t bytes,
                         std::int64_t limit) {
  advance(now);
  const int out = group_of(from_node), in = group_of(to_node);
  under_way_.push_back(
      {id, {out < 0 ? -1 : 2 * out, in < 0 ? -1 : 2 * in + 1}, bytes * micro, limit == 0 ? boundless : limit, 0});
  share();
}

picoseconds shared_links::next_end() const noexcept {
  picoseconds first = -1;
  for (const auto& t : under_way_) {
    // Rounded up: nothing ends before its last byte.
    const picoseconds at = now_ + scaled(t.left, micro, t.rate) + (t.left > 0 ? 1 : 0);
    if (first < 0 || at < first) first = at;
  }
  return first;
}

std::vector<std::uint32_t> shared_links::ended(picoseconds now) {
  advance(now);
  std::vector<std::uint32_t> over;
  std::erase_if(under_way_, [&](const transfer& t) {
    if (t.left <= 0) over.push_back(t.id);
    return t.left <= 0;
  });
  share();
  return over;
}

void shared_links::advance(picoseconds now) {
  for (auto& t : under_way_) t.left -= scaled(t.rate, now - now_, micro);
  now_ = now;
}

/// Progressive filling: the link with the least to give each of its transfers decides for these, then the next one.
void shared_links::share() {
  std::vector<std::int64_t> left(groups_.size() * 2);
  for (std::size_t l = 0; l < left.size(); ++l) left[l] = groups_[l / 2].bytes_a_second;
  std::vector<transfer*> open;
  for (auto& t : under_way_) open.push_back(&t);
  while (!open.empty()) {
    std::vector<std::int64_t> users(left.size());
    for (const auto* t : open) {
      for (const int l : t->links) {
        if (l >= 0) ++users[static_cast<std::size_t>(l)];
      }
    }
    std::int64_t least = boundless;
    const auto share_of = [&](const transfer& t) {
      std::int64_t mine = t.limit;
      for (const int l : t.links) {
        if (l >= 0) mine = std::min(mine, left[static_cast<std::size_t>(l)] / users[static_cast<std::size_t>(l)]);
      }
      return std::max<std::int64_t>(1, mine);
    };
    for (const auto* t : open) least = std::min(least, share_of(*t));
    std::vector<transfer*> decided;
    std::erase_if(open, [&](transfer* t) {
      if (share_of(*t) != least) return false;
      decided.push_back(t);
      return true;
    });
    for (auto* t : decided) {
      t->rate = least;
      for (const int l : t->links) {
        if (l >= 0) left[static_cast<std::size_t>(l)] -= least;
      }
    }
  }
}

}  // namespace shunt::simulate
