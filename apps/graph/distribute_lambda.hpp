/// Construction, kernel 1 of Graph500: each entry of the input goes to the owners of both of its ends, which place it.
#pragma once
#include <bale/matrix.hpp>
#include <graph/adjacency.hpp>
namespace shunt::apps::lambda_form {
/// Collective. What each PE has of its own addresses becomes known to every PE.
/// \param whole  of all addresses, as words. \param mine  this PE's words: as many as each other PE has
template <class Whole, class Word>
void share(pgas::pe& me, pgas::actor_of<Whole>& whole, std::span<Word> mine) {
  in_pieces(std::span<const Word>(mine), most_items(me, sizeof(Word)),
            [&](std::size_t at, std::span<const Word> piece) {
              at += static_cast<std::size_t>(me.index()) * mine.size();
              for (int pe = 0; pe < me.count(); ++pe)
                whole.send(pe, piece, [at](Whole& there, std::span<const Word> words) {
                  std::copy(words.begin(), words.end(), there.words().data() + at);
                });
            });
  whole.finish();
}
/// Collective. \param entries  this PE's share of the input
inline adjacency distribute(pgas::pe& me, std::uint64_t vertices, std::span<const graph::edge> entries) {
  pgas::symmetric<adjacency> made(me, me, vertices);
  pgas::symmetric<arrivals> in(me, made->count(), 2 * entries.size() + entries.size() / 16);
  pgas::symmetric<magnitudes> busy(me, made->at.size(me.count()));
  pgas::actor_of ends(in);
  pgas::actor_of sharer(busy);
  const auto send = [&](address to, address neighbour) {
    ends.send(made->at.owner(to), [one = arrived{made->at.row(to), neighbour}](arrivals& all) { all.add(one); });
  };
  for (const auto [a, b] : entries) {
    if (a == b) continue;
    const auto at_a = made->at.of(a), at_b = made->at.of(b);
    send(at_a, at_b), send(at_b, at_a);
  }
  ends.finish();
  share(me, sharer, made->make_room(*in).words());
  made->place(*in, *busy);
  return std::move(*made);
}
}  // namespace shunt::apps::lambda_form
