/// PageRank: each vertex sends its rank to its neighbours in equal parts, round after round.
///
/// Ranks are whole numbers of 2^-60: their sums are exact, so the answer is the same for any order of messages, and any
/// number of PEs. What a division leaves over goes to all vertices, with the rank of those without neighbours.
///
/// Source: Page, Brin, Motwani, Winograd: The PageRank citation ranking: bringing order to the web. Stanford, 1999.
#pragma once
#include <graph/adjacency.hpp>
namespace shunt::apps {
/// A rank, or a part of one.
using share_of_one = std::uint64_t;
inline constexpr share_of_one one_rank = share_of_one{1} << 60;

struct page_ranks {
  std::vector<share_of_one> now;   ///< of this PE's vertices
  std::vector<share_of_one> next;  ///< what has come for the next round
  std::uint64_t rounds = 0;
  share_of_one change = 0;  ///< of the last round, summed over all vertices
  std::uint64_t entries;    ///< of this PE's part of the graph

  explicit page_ranks(const adjacency& a) : now(a.count()), next(a.count()), entries(a.columns.size()) {
    if (!now.empty()) std::fill(now.begin(), now.end(), one_rank / a.at.vertices());
  }
  /// For checkpoints: ranks between two rounds, and how large the graph is, which is read anew.
  void save(pgas::checkpoint_writer& to) const {
    to.put(entries);
    to.put_items(std::span(now));
    to.put(rounds);
    to.put(change);
  }
  void load(pgas::checkpoint_reader& from) {
    if (from.get<std::uint64_t>() != entries) from.refuse("it is of another graph");
    from.get_items(std::span(now));
    from.get(rounds);
    from.get(change);
  }
  /// What of `rank` goes to each of so many neighbours.
  [[nodiscard]] static share_of_one part(share_of_one rank, std::uint64_t percent, std::uint64_t neighbours) noexcept {
    return rank / 100 * percent / neighbours;
  }
};
}  // namespace shunt::apps
namespace shunt::apps::lambda_form {
/// Collective. \param a  without double entries. \param percent  of a rank that goes to the neighbours
/// \param enough  the change of a round after which it ends; or after `most` rounds
/// \param each_round  called after each, with their number
template <class EachRound>
page_ranks pagerank(pgas::pe& me, const adjacency& a, std::uint64_t percent, share_of_one enough, std::uint64_t most,
                    EachRound each_round) {
  pgas::symmetric<page_ranks> ranks(me, a);
  pgas::actor_of actor(ranks);
  const auto n = a.at.vertices();
  pgas::checkpoint saved(me, "pagerank", ranks);
  do {
    saved.save_if_due();
    share_of_one given = 0;
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      if (a.degree(l) == 0) continue;
      const auto each_part = page_ranks::part(ranks->now[l], percent, a.degree(l));
      given += each_part * a.degree(l);
      for (const auto neighbour : a.row(l))
        actor.send(a.at.owner(neighbour),
                   [to = a.at.row(neighbour), each_part](page_ranks& r) { r.next[to] += each_part; });
    }
    actor.finish();
    const auto each = (one_rank - me.sum(given)) / n;
    share_of_one change = 0;
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto was = ranks->now[l], is = ranks->next[l] + each;
      change += is > was ? is - was : was - is;
      ranks->now[l] = is, ranks->next[l] = 0;
    }
    ranks->change = me.sum(change);
    each_round(++ranks->rounds);
  } while (ranks->change > enough && ranks->rounds < most);
  return std::move(*ranks);
}
}  // namespace shunt::apps::lambda_form
