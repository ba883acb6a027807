#include <shunt/pgas/placement.hpp>

#include <cstddef>
#include <map>
#include <sstream>

#include <shunt/base/error.hpp>
#include <shunt/base/machine.hpp>
#include <shunt/pgas/detail/start_agreement.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace {

/// Lengths first: texts may hold anything.
void put(std::ostream& to, const std::string& text) { to << text.size() << ' ' << text << ' '; }

std::string take(std::istream& from) {
  std::size_t size = 0;
  from >> size;
  from.ignore(1);
  std::string text(from ? size : 0, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

std::string packed(const rank_cpus& r) {
  std::ostringstream text;
  text.precision(17);
  put(text, r.kernel);
  text << r.claim.wanted << ' ' << r.claim.usable.size() << ' ';
  for (const int cpu : r.claim.usable) text << cpu << ' ';
  text << r.claim.limits.size() << ' ';
  for (const auto& l : r.claim.limits) {
    put(text, l.group);
    text << l.cpus << ' ';
  }
  return text.str();
}

rank_cpus unpacked(const std::string& packed, int rank) {
  std::istringstream text(packed);
  rank_cpus r;
  r.kernel = take(text);
  std::size_t count = 0;
  text >> r.claim.wanted >> count;
  for (int cpu = 0; count > 0 && text >> cpu && cpu >= 0; --count) r.claim.usable.push_back(cpu);
  text >> count;
  for (; count > 0 && text; --count) {
    cpu_limit l;
    l.group = take(text);
    text >> l.cpus;
    r.claim.limits.push_back(std::move(l));
  }
  if (!text || r.claim.usable.empty()) {
    throw error(
        error_number(939),
        "rank " + std::to_string(rank) + " does not say which CPUs it may use: the ranks run different programs",
        {.rank = rank});
  }
  return r;
}

void divide(std::vector<rank_cpus>& ranks) {
  std::map<std::string, std::vector<std::size_t>> kernels;
  for (std::size_t r = 0; r < ranks.size(); ++r) kernels[ranks[r].kernel].push_back(r);
  for (const auto& [kernel, members] : kernels) {
    std::vector<cpu_claim> claims;
    for (const auto r : members) claims.push_back(ranks[r].claim);
    const auto shares = share_cpus(claims);
    for (std::size_t i = 0; i < members.size(); ++i) ranks[members[i]].share = shares[i];
  }
}

}  // namespace

std::vector<rank_cpus> placement(transport::carrier& over, int workers) {
  const auto all =
      detail::exchange_at_start(over, packed({kernel_identity(), {usable_cpus(), cpu_limits(), workers}, {}}));
  std::vector<rank_cpus> ranks;
  for (std::size_t r = 0; r < all.size(); ++r) ranks.push_back(unpacked(all[r], static_cast<int>(r)));
  divide(ranks);
  return ranks;
}

std::vector<rank_cpus> divide(std::vector<rank_cpus> ranks, const std::vector<int>& workers) {
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].claim.wanted = workers[r];
  divide(ranks);
  return ranks;
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
