#include <algorithm>
#include <array>
#include <cstdio>
#include <shunt/stm/detail/engine/names.hpp>
#include <shunt/stm/detail/engine/registry.hpp>
#include <shunt/stm/detail/policy/hot_variables.hpp>
#include <shunt/stm/statistics.hpp>

namespace shunt {
inline namespace v1 {
namespace stm {
namespace {

class_statistics statistics_of(const detail::class_record& c) {
  class_statistics s;
  s.name = c.name;
  s.workers = c.allowed();
  std::uint64_t samples = 0, lost = 0, reads = 0, writes = 0;
  detail::the_registry().for_each([&](const detail::attempt& a) {
    const detail::counts* const n = a.counts.seen(c.id);
    if (n == nullptr) return;
    // relaxed: for statistics; no other data depends on a count
    const auto of = [](const detail::counts::number& one) { return one.load(std::memory_order_relaxed); };
    s.commits += n->committed([&] { return a.number(); });
    s.locked += of(n->locked);
    s.stale += of(n->stale);
    s.validation += of(n->validation);
    s.retries += of(n->retries);
    s.irrevocable += of(n->irrevocable);
    s.most_attempts = std::max(s.most_attempts, of(n->most_attempts));
    s.most_reads = std::max(s.most_reads, of(n->most_reads));
    s.most_writes = std::max(s.most_writes, of(n->most_writes));
    samples += of(n->samples);
    reads += of(n->reads);
    writes += of(n->writes);
    lost += of(n->lost_ns);
  });
  s.lost = std::chrono::nanoseconds(lost);
  if (samples != 0) {
    s.mean_reads = static_cast<double>(reads) / static_cast<double>(samples);
    s.mean_writes = static_cast<double>(writes) / static_cast<double>(samples);
  }
  return s;
}

}  // namespace

/// Classes that have run, then variables; each sorted.
statistics collect_statistics() {
  statistics all;
  detail::the_registry().for_each_class([&](const detail::class_record& c) {
    auto s = statistics_of(c);
    if (s.commits + s.aborts() + s.retries != 0) all.classes.push_back(std::move(s));
  });
  std::sort(all.classes.begin(), all.classes.end(), [](const auto& a, const auto& b) { return a.commits > b.commits; });
  for (const auto& slot : detail::hot_variables.slots()) {
    // relaxed: for statistics; the address is compared and printed, not followed
    const auto* const address = slot.address.load(std::memory_order_relaxed);
    if (address == nullptr) continue;
    // relaxed: for statistics
    all.hot.push_back({address, detail::the_names().of(address), slot.times.load(std::memory_order_relaxed)});
  }
  std::sort(all.hot.begin(), all.hot.end(), [](const auto& a, const auto& b) { return a.aborts > b.aborts; });
  return all;
}

/// A head line, a line for each class, a line for each variable.
std::string to_text(const statistics& s) {
  std::array<char, 320> line;
  std::string text;
  const auto add = [&](auto... arguments) {
    std::snprintf(line.data(), line.size(), arguments...);
    text += line.data();
  };
  add("%-28s %12s %10s %10s %10s %10s %8s %8s %9s %7s %7s %7s\n", "transactions", "commits", "locked", "stale",
      "changed", "retries", "irrev.", "attempts", "lost ms", "reads", "writes", "workers");
  for (const auto& c : s.classes) {
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    add("%-28s %12llu %10llu %10llu %10llu %10llu %8llu %8llu %9.1f %7.1f %7.1f %7s\n", c.name.c_str(),
        number(c.commits), number(c.locked), number(c.stale), number(c.validation), number(c.retries),
        number(c.irrevocable), number(c.most_attempts), std::chrono::duration<double, std::milli>(c.lost).count(),
        c.mean_reads, c.mean_writes, c.workers == 0 ? "all" : std::to_string(c.workers).c_str());
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

}  // namespace v1
}  // namespace shunt
