/// What a PE sends in pieces that fit a message: a part of an array to one PE, or its own part to every PE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/pe.hpp>
#include <span>

namespace shunt {
inline namespace v1 {
namespace graph {

/// Local. The most items of so many bytes that a message may carry behind captures of at most 88 bytes, with a train of
/// the job's size.
/// \param bytes_an_item  at least 1, at most 128 (contract). \return at least 1. Cost: a division.
[[nodiscard]] inline std::size_t most_items(const pgas::pe& me, std::size_t bytes_an_item) noexcept {
  constexpr std::size_t heads = 128;  // of a train of at least 256 bytes
  return (me.train_bytes() - heads) / bytes_an_item;
}

/// Any thread. Calls f(at, items) for all of `items`, in pieces of at most `most`, the first one first.
/// \param most  at least 1. \param f  gets in `at` the number of the items before its piece, below 2^32.
/// What f throws ends it. Cost: a call for each piece.
template <class Item, class F>
void in_pieces(std::span<const Item> items, std::size_t most, F f) {
  for (std::size_t at = 0; at < items.size(); at += most) {
    f(static_cast<std::uint32_t>(at), items.subspan(at, std::min(most, items.size() - at)));
  }
}

/// Collective. What each PE has of its own addresses becomes known to every PE.
/// \param whole  an actor over what has `words()`, a span over all addresses: PE p's lie from p * mine.size()
/// \param mine   this PE's words: as many as each other PE has (contract)
/// \throws as actor_of::send() and finish(). Afterwards `whole` has finished, and may be used again.
/// Cost: every PE receives the words of all PEs, and messages as full as they get carry them.
template <class Whole, class Word>
void share(pgas::pe& me, pgas::actor_of<Whole>& whole, std::span<Word> mine) {
  in_pieces(std::span<const Word>(mine), most_items(me, sizeof(Word)),
            [&](std::size_t at, std::span<const Word> piece) {
              at += static_cast<std::size_t>(me.index()) * mine.size();
              for (int pe = 0; pe < me.count(); ++pe) {
                whole.send(pe, piece, [at](Whole& there, std::span<const Word> words) {
                  std::copy(words.begin(), words.end(), there.words().data() + at);
                });
              }
            });
  whole.finish();
}

}  // namespace graph
}  // namespace v1
}  // namespace shunt
