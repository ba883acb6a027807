/// What both forms of RandomAccess work with: the table, and how many updates may be under way.
#pragma once

#include <algorithm>
#include <bale/place.hpp>
#include <cstdint>
#include <random_access/stream.hpp>
#include <shunt/base/error.hpp>
#include <shunt/pgas.hpp>
#include <string>
#include <vector>

namespace shunt::apps {

/// A PE's words of a table of 2^scale: word i of the table is i, and update x turns word x mod 2^scale into it xor x.
struct access_table {
  dealt home;
  std::uint32_t mask;
  std::vector<std::uint64_t> words;

  /// Local. \param scale  0..32
  access_table(const pgas::pe& me, unsigned scale)
      : home(me.index(), me.count()),
        mask(static_cast<std::uint32_t>((std::uint64_t{1} << scale) - 1)),
        words(home.count(std::uint64_t{1} << scale)) {
    for (std::uint32_t s = 0; s < words.size(); ++s) words[s] = home.global(s);
  }
  [[nodiscard]] place where(std::uint64_t x) const noexcept { return home.where(static_cast<std::uint32_t>(x) & mask); }
  /// Of a word of this PE.
  void update(std::uint64_t x) noexcept { words[where(x).spot] ^= x; }
  /// Local. Takes out all updates of all PEs. \return words that are not as they were; the rules allow 1 %
  [[nodiscard]] std::uint64_t errors_after(std::uint64_t updates, int me) {
    access_stream stream(0);
    for (; updates != 0; --updates) {
      const auto x = stream.next();
      const auto [pe, spot] = where(x);
      if (pe == me) words[spot] ^= x;
    }
    std::uint64_t errors = 0;
    for (std::uint32_t s = 0; s < words.size(); ++s) errors += words[s] != home.global(s);
    return errors;
  }
};

/// The updates of one PE, a part of all: those with the indices first + 1 .. first + count of the stream, at most
/// `at_once` in each of `steps` supersteps.
struct access_plan {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t at_once = 0;
  std::uint64_t steps = 1;

  /// What the rules allow a process to hold back.
  static constexpr std::uint64_t look_ahead_by_the_rules = 1024;

  /// Collective. \param look_ahead  updates that the PEs of a process may have drawn, together, and not yet in the
  /// table; 0: any number. \throws usage_error if that is less than one a PE
  [[nodiscard]] static access_plan of(pgas::pe& me, std::uint64_t updates, std::uint64_t look_ahead) {
    const auto pes = static_cast<std::uint64_t>(me.count()), pe = static_cast<std::uint64_t>(me.index());
    const auto ranks = me.gather(me.rank());
    const auto of_process = static_cast<std::uint64_t>(std::count(ranks.begin(), ranks.end(), me.rank()));
    const auto most_of_process = me.max(of_process);
    const auto begin_of = [&](std::uint64_t p) { return updates / pes * p + std::min(p, updates % pes); };
    access_plan plan;
    plan.first = begin_of(pe);
    plan.count = begin_of(pe + 1) - plan.first;
    const auto most = std::max<std::uint64_t>(begin_of(1), 1);
    plan.at_once = look_ahead == 0 ? most : look_ahead / most_of_process;
    if (plan.at_once == 0) {
      throw usage_error(error_number(1102), "--look-ahead " + std::to_string(look_ahead) + ": a process has " +
                                                std::to_string(most_of_process) + " PEs, and each needs one update");
    }
    plan.steps = (most + plan.at_once - 1) / plan.at_once;
    return plan;
  }
};

}  // namespace shunt::apps
