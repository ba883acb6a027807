#include <shunt/sched/explore/detail/schedule.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/base/random.hpp>

namespace shunt {
inline namespace v1 {
namespace test::detail {
namespace {

using sched::fiber_id;

class random_order final : public follower {
 public:
  random_order(std::uint64_t seed, std::size_t most_steps, ending end)
      : follower(most_steps, std::move(end)), numbers_(seed) {}

 private:
  std::size_t pick(const moment& now) noexcept override { return pick_way(now.ready.size()); }
  std::size_t pick_way(std::size_t ways) noexcept override { return numbers_.below(drawn_++, ways); }

  counter_random numbers_;
  std::uint64_t drawn_ = 0;
};

/// The ready fiber with the highest rank runs.
class by_priority final : public follower {
 public:
  by_priority(const schedule& s, std::size_t most_steps, ending end)
      : follower(most_steps, std::move(end)), ranks_of_new_(s.seed, 1) {
    const counter_random places(s.seed, 2);
    for (int i = 1; i < s.depth; ++i) {
      changes_.push_back(1 + places.below(static_cast<std::uint64_t>(i), std::max<std::uint64_t>(s.steps, 1)));
    }
  }

 private:
  struct rank {
    fiber_id fiber;
    std::int64_t height;
  };

  bool asks_always() const noexcept override { return true; }

  std::size_t pick(const moment& now) noexcept override {
    // The fiber that ran last is ready again, and did not merely call interleave(): it has given way.
    if (!now.first_goes_on && std::find(now.ready.begin(), now.ready.end(), last_) != now.ready.end()) sink(last_);
    auto at = highest(now);
    if (std::find(changes_.begin(), changes_.end(), steps()) != changes_.end()) {
      sink(now.ready[at]);
      at = highest(now);
    }
    last_ = now.ready[at];
    return at;
  }

  std::size_t pick_way(std::size_t ways) noexcept override { return ranks_of_new_.below(drawn_++, ways); }

  std::size_t highest(const moment& now) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < now.ready.size(); ++i) {
      if (rank_of(now.ready[i]).height > rank_of(now.ready[best]).height) best = i;
    }
    return best;
  }
  rank& rank_of(const fiber_id& f) {
    const auto at = std::find_if(ranks_.begin(), ranks_.end(), [&](const rank& r) { return r.fiber == f; });
    if (at != ranks_.end()) return *at;
    return ranks_.emplace_back(rank{f, static_cast<std::int64_t>(ranks_of_new_.at(drawn_++) >> 2)});
  }
  void sink(const fiber_id& f) { rank_of(f).height = --lowest_; }

  counter_random ranks_of_new_;
  std::uint64_t drawn_ = 0;
  std::vector<std::uint64_t> changes_;
  std::vector<rank> ranks_;
  std::int64_t lowest_ = 0;
  fiber_id last_;
};

class along_path final : public follower {
 public:
  along_path(std::vector<std::uint32_t> path, std::size_t most_steps, ending end)
      : follower(most_steps, std::move(end)), path_(std::move(path)) {}

 private:
  std::size_t pick(const moment& now) noexcept override { return take(now.ready.size(), now.first_goes_on); }
  std::size_t pick_way(std::size_t ways) noexcept override { return take(ways, false); }

  std::size_t take(std::size_t ways, bool first_goes_on) {
    const auto last = static_cast<std::uint32_t>(ways - 1);
    // A path of another program may have choices that do not exist here: then the last one is taken.
    const auto way = taken_.size() < path_.size() ? std::min(path_[taken_.size()], last) : 0;
    taken_.push_back({way, last + 1, preemptions_, first_goes_on});
    if (first_goes_on && way != 0) ++preemptions_;
    return way;
  }

  const std::vector<std::uint32_t> path_;
  std::uint32_t preemptions_ = 0;
};

constexpr std::string_view forms = "random:SEED, pct:SEED:DEPTH:STEPS, path:CHOICE.CHOICE...";

[[noreturn]] void refuse(std::string_view text) {
  throw usage_error(error_number(108), "schedule `" + std::string(text) + "`: it is none of " + std::string(forms));
}

template <typename Number>
Number number(std::string_view& text, char end, std::string_view whole) {
  Number n{};
  const auto [after, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  text.remove_prefix(static_cast<std::size_t>(after - text.data()));
  const bool ends = end == '\0' ? text.empty() : !text.empty() && text.front() == end;
  if (wrong != std::errc() || !ends) refuse(whole);
  if (end != '\0') text.remove_prefix(1);
  return n;
}

}  // namespace

std::string schedule::text() const {
  switch (how) {
    case kind::random: return "random:" + std::to_string(seed);
    case kind::pct: return "pct:" + std::to_string(seed) + ':' + std::to_string(depth) + ':' + std::to_string(steps);
    case kind::path: break;
  }
  std::string all = "path:";
  for (std::size_t i = 0; i < path.size(); ++i) all += (i == 0 ? "" : ".") + std::to_string(path[i]);
  return all;
}

/// By the name in front of the colon.
schedule schedule::parse(std::string_view text) {
  const auto whole = text;
  const auto begins = [&](std::string_view name) {
    if (!text.starts_with(name)) return false;
    text.remove_prefix(name.size());
    return true;
  };
  schedule s;
  if (begins("random:")) {
    s.seed = number<std::uint64_t>(text, '\0', whole);
  } else if (begins("pct:")) {
    s.how = kind::pct;
    s.seed = number<std::uint64_t>(text, ':', whole);
    s.depth = number<int>(text, ':', whole);
    s.steps = number<std::uint64_t>(text, '\0', whole);
  } else if (begins("path:")) {
    s.how = kind::path;
    if (text.ends_with('.')) refuse(whole);
    while (!text.empty()) {
      s.path.push_back(number<std::uint32_t>(text, text.find('.') == text.npos ? '\0' : '.', whole));
    }
  } else {
    refuse(whole);
  }
  return s;
}

std::unique_ptr<follower> make_follower(const schedule& s, std::size_t most_steps, follower::ending end) {
  switch (s.how) {
    case schedule::kind::random: return std::make_unique<random_order>(s.seed, most_steps, std::move(end));
    case schedule::kind::pct: return std::make_unique<by_priority>(s, most_steps, std::move(end));
    case schedule::kind::path: break;
  }
  return std::make_unique<along_path>(s.path, most_steps, std::move(end));
}

bool next_path(const std::vector<fork_in_path>& taken, std::uint64_t most_preemptions,
               std::vector<std::uint32_t>& path) {
  for (auto last = taken.size(); last-- > 0;) {
    const auto& here = taken[last];
    if (here.taken + 1 >= here.ways) continue;
    if (here.preemptions + here.first_goes_on > most_preemptions) continue;
    path.clear();
    for (std::size_t i = 0; i < last; ++i) path.push_back(taken[i].taken);
    path.push_back(here.taken + 1);
    return true;
  }
  return false;
}

}  // namespace test::detail
}  // namespace v1
}  // namespace shunt
