/// Core numbers: of each vertex the greatest k such that it lies in a subgraph in which each vertex has k neighbours.
///
/// Each vertex begins with its degree, and then takes the h-index of its neighbours' numbers: the greatest h such that
/// h of them are h or more. Peeling, one k after another, needs at least a superstep for each k; here all k are worked
/// out at once, a superstep a round, and only vertices whose number has fallen send.
///
/// A vertex counts its neighbours' numbers, those above its own as equal to it. So a message takes a few instructions,
/// and the counters of a vertex, one more than it has neighbours, are walked through once, downwards, in all rounds
/// together.
///
/// Sources: Lu, Zhou, Zhang, Stanley: The H-index of a network node and its relation to degree and coreness. Nature
/// Communications 7 (2016), doi:10.1038/ncomms10168. Only what has changed is sent: Montresor, De Pellegrini, Miorandi:
/// Distributed k-core decomposition. IEEE TPDS 24 (2013), doi:10.1109/TPDS.2012.124. The counters: ours.
#pragma once
#include <algorithm>
#include <graph/adjacency.hpp>
#include <utility>
namespace shunt::apps {
/// What is known of this PE's vertices.
class core_numbers {
 public:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};  // greater than any number
  std::vector<std::uint32_t> of_row;                           // never below what they will be in the end

  explicit core_numbers(const adjacency& a) {
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      first_.push_back(a.offsets[l] + l);
      of_row.push_back(static_cast<std::uint32_t>(a.degree(l)));
    }
    counts_.resize(a.columns.size() + a.count());
    for (std::uint32_t l = 0; l < a.count(); ++l) counts_[first_[l] + of_row[l]] = of_row[l];
  }
  /// A neighbour's number has fallen.
  void fell(std::uint32_t row, std::uint32_t before, std::uint32_t now) noexcept {
    auto* const counts = &counts_[first_[row]];
    --counts[std::min(before, of_row[row])];
    ++counts[std::min(now, of_row[row])];
  }
  /// Takes the h-index of the neighbours' numbers. \return whether that is less than before
  bool lower(std::uint32_t row) noexcept {
    auto* const counts = &counts_[first_[row]];
    auto h = of_row[row], as_great = counts[h];
    while (as_great < h) as_great += counts[--h];
    counts[h] = as_great;
    return std::exchange(of_row[row], h) != h;
  }

 private:
  std::vector<std::uint64_t> first_;   // of each row, where its counters begin
  std::vector<std::uint32_t> counts_;  // of a row: how many neighbours have the number 0, 1, ... its own or more
};
}  // namespace shunt::apps
namespace shunt::apps::lambda_form {
/// Collective. \param a  without double entries. \param each_round  called after each round, with the number of
/// vertices whose number has fallen. \return of this PE's vertices, the core number
template <class EachRound>
std::vector<std::uint32_t> kcore(pgas::pe& me, const adjacency& a, EachRound each_round) {
  pgas::symmetric<core_numbers> numbers(me, a);
  pgas::actor_of actor(numbers);
  std::vector<std::uint32_t> told(a.count(), core_numbers::unknown);
  for (std::uint64_t more = 1; more != 0; each_round(more)) {
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto now = numbers->of_row[l], before = std::exchange(told[l], now);
      if (before == now) continue;
      for (const auto neighbour : a.row(l))
        actor.send(a.at.owner(neighbour),
                   [to = a.at.row(neighbour), before, now](core_numbers& c) { c.fell(to, before, now); });
    }
    actor.finish();
    more = 0;
    for (std::uint32_t l = 0; l < a.count(); ++l) more += numbers->lower(l) ? 1 : 0;
    more = me.sum(more);
  }
  return std::move(numbers->of_row);
}
/// What neighbours say of this PE's numbers.
struct core_witnesses {
  std::vector<std::uint32_t> of_row, as_great, greater;
  explicit core_witnesses(const std::vector<std::uint32_t>& numbers)
      : of_row(numbers), as_great(numbers.size()), greater(numbers.size()) {}
  void hear(std::uint32_t row, std::uint32_t number) noexcept {
    as_great[row] += number >= of_row[row];
    greater[row] += number > of_row[row];
  }
};
/// Collective. Each number is the h-index of the neighbours' numbers: so many are as great, and no more are greater.
/// \return how many are not, of all PEs
inline std::uint64_t check_cores(pgas::pe& me, const adjacency& a, const std::vector<std::uint32_t>& numbers) {
  pgas::symmetric<core_witnesses> heard(me, numbers);
  pgas::actor_of actor(heard);
  for (std::uint32_t l = 0; l < a.count(); ++l)
    for (const auto neighbour : a.row(l))
      actor.send(a.at.owner(neighbour),
                 [to = a.at.row(neighbour), number = numbers[l]](core_witnesses& w) { w.hear(to, number); });
  actor.finish();
  std::uint64_t wrong = 0;
  for (std::uint32_t l = 0; l < a.count(); ++l)
    wrong += heard->as_great[l] < numbers[l] || heard->greater[l] > numbers[l];
  return me.sum(wrong);
}
}  // namespace shunt::apps::lambda_form
