/// The words of a text, and a distributed count of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <shunt/pgas/containers/counting_set.hpp>

namespace shunt::apps {

/// What separates words: as `isspace` in the C locale.
[[nodiscard]] constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Calls f(word) for each word that begins in [begin, end) of a text; the last one may reach beyond.
template <class F>
void each_word(std::string_view text, std::size_t begin, std::size_t end, F f) {
  std::size_t at = begin;
  if (at != 0) {
    while (at < end && !is_space(text[at - 1])) ++at;
  }
  for (;;) {
    while (at < end && is_space(text[at])) ++at;
    if (at >= end) return;
    const std::size_t first = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    f(text.substr(first, at - first));
  }
}

/// Collective. Counts the words that begin in this PE's part of a text, with those of all others.
/// \param each  called with where it is in the text
template <class Each>
void count_words(pgas::pe& me, std::string_view text, std::size_t begin, std::size_t end,
                 pgas::counting_set<std::string>& counts, Each each) {
  pgas::superstep(me, [&] {
    each_word(text, begin, end, [&](std::string_view word) {
      counts.insert(word);
      each(static_cast<std::size_t>(word.data() - text.data()));
    });
  });
}

}  // namespace shunt::apps
