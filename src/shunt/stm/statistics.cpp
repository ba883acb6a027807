#include <algorithm>
#include <array>
#include <cstdio>
#include <shunt/stm/detail/hot_variables.hpp>
#include <shunt/stm/detail/names.hpp>
#include <shunt/stm/detail/registry.hpp>
#include <shunt/stm/statistics.hpp>

namespace shunt {
inline namespace v1 {
namespace stm {

statistics collect_statistics() { return detail::the_registry().statistics(); }

std::string to_text(const statistics& s) {
  std::array<char, 320> line;
  std::string text;
  const auto add = [&](auto... arguments) {
    std::snprintf(line.data(), line.size(), arguments...);
    text += line.data();
  };
  add("%-28s %12s %10s %10s %10s %10s %8s %8s %9s %7s %7s %7s\n", "transactions", "commits", "locked", "stale",
      "changed", "retries", "alone", "attempts", "lost ms", "reads", "writes", "workers");
  for (const auto& c : s.classes) {
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    add("%-28s %12llu %10llu %10llu %10llu %10llu %8llu %8llu %9.1f %7.1f %7.1f %7s\n", c.name.c_str(),
        number(c.commits), number(c.locked), number(c.stale), number(c.validation), number(c.retries), number(c.alone),
        number(c.most_attempts), std::chrono::duration<double, std::milli>(c.lost).count(), c.mean_reads, c.mean_writes,
        c.workers == 0 ? "all" : std::to_string(c.workers).c_str());
  }
  for (const auto& h : s.hot) {
    std::array<char, 32> address{};
    if (h.name.empty()) std::snprintf(address.data(), address.size(), "%p", h.address);
    text += "variable " + (h.name.empty() ? std::string(address.data()) : '`' + h.name + '`') + ": " +
            std::to_string(h.aborts) + " aborts\n";
  }
  return text;
}

}  // namespace stm

stm::statistics stm::detail::registry::statistics() {
  stm::statistics all;
  for_each_class([&](const class_record& c) {
    class_statistics s;
    s.name = c.name;
    s.workers = c.allowed();
    std::uint64_t samples = 0, lost = 0, reads = 0, writes = 0;
    for_each([&](const tx& t) {
      const counts* const n = t.counts_seen(c);
      if (n == nullptr) return;
      const auto of = [](const counts::number& one) { return one.load(std::memory_order_relaxed); };  // relaxed: a look
      s.commits += n->committed([&] { return t.number(); });
      s.locked += of(n->locked);
      s.stale += of(n->stale);
      s.validation += of(n->validation);
      s.retries += of(n->retries);
      s.alone += of(n->alone);
      s.most_attempts = std::max(s.most_attempts, of(n->most_attempts));
      s.most_reads = std::max(s.most_reads, of(n->most_reads));
      s.most_writes = std::max(s.most_writes, of(n->most_writes));
      samples += of(n->samples);
      reads += of(n->reads);
      writes += of(n->writes);
      lost += of(n->lost_ns);
    });
    if (s.commits + s.aborts() + s.retries == 0) return;
    s.lost = std::chrono::nanoseconds(lost);
    if (samples != 0) {
      s.mean_reads = static_cast<double>(reads) / static_cast<double>(samples);
      s.mean_writes = static_cast<double>(writes) / static_cast<double>(samples);
    }
    all.classes.push_back(std::move(s));
  });
  std::sort(all.classes.begin(), all.classes.end(), [](const auto& a, const auto& b) { return a.commits > b.commits; });
  for (const auto& place : hot_variables.places()) {
    const auto* const who = place.who.load(std::memory_order_relaxed);  // relaxed: as above
    if (who != nullptr) all.hot.push_back({who, the_names().of(who), place.times.load(std::memory_order_relaxed)});
  }
  std::sort(all.hot.begin(), all.hot.end(), [](const auto& a, const auto& b) { return a.aborts > b.aborts; });
  return all;
}

}  // namespace v1
}  // namespace shunt
