// Step 6 of docs/tutorial.md: the most frequent words, on one machine or on many.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <random>
#include <shunt/pgas.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace pgas = shunt::pgas;

using counts = std::map<std::string, long, std::less<>>;
using ranking = std::vector<std::pair<long, std::string>>;

std::string article(int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const auto limit = 1 + random() % 50;
    text += "word" + std::to_string(random() % limit) + ' ';
  }
  return text;
}

int owner(std::string_view word, const pgas::pe& me) {
  unsigned hash = 2166136261;  // FNV-1a
  for (const char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  return static_cast<int>(hash % static_cast<unsigned>(me.count()));
}

// The three most frequent ones; of equal ones, those that come first in the alphabet.
void keep_best(ranking& words) {
  std::sort(words.begin(), words.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (words.size() > 3) words.resize(3);
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<counts> words_here(me);
    pgas::symmetric<ranking> best(me);
    pgas::actor_of table(words_here, best);
    for (int number = me.index(); number < 2000; number += me.count()) {
      std::istringstream words(article(number));
      for (std::string word; words >> word;) {
        table.send(owner(word, me), std::string_view(word),
                   [](counts& here, ranking&, std::string_view text) { ++here[std::string(text)]; });
      }
    }
    table.finish();

    ranking mine;
    for (const auto& [word, times] : *words_here) mine.emplace_back(times, word);
    keep_best(mine);
    for (const auto& one : mine) {  // to PE 0: each of mine may be among the best of all
      table.send(0, std::string_view(one.second), [times = one.first](counts&, ranking& all, std::string_view word) {
        all.emplace_back(times, std::string(word));
      });
    }
    table.finish();
    if (me.index() != 0) return;
    keep_best(*best);
    for (const auto& [times, word] : *best) std::printf("%s %ld times\n", word.c_str(), times);
  });
}
