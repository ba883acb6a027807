// Step 5 of docs/tutorial.md: each word has an owner, and is counted where it lives.
#include <cstdio>
#include <map>
#include <random>
#include <shunt/pgas.hpp>
#include <sstream>
#include <string>
#include <string_view>

namespace {

namespace pgas = shunt::pgas;

using counts = std::map<std::string, long, std::less<>>;

std::string article(int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const auto limit = 1 + random() % 50;
    text += "word" + std::to_string(random() % limit) + ' ';
  }
  return text;
}

// The same on every PE, in every process: std::hash need not be.
int owner(std::string_view word, const pgas::pe& me) {
  unsigned hash = 2166136261;  // FNV-1a
  for (const char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  return static_cast<int>(hash % static_cast<unsigned>(me.count()));
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<counts> words_here(me);
    pgas::actor_of table(words_here);
    for (int number = me.index(); number < 2000; number += me.count()) {  // my share of the articles
      std::istringstream words(article(number));
      for (std::string word; words >> word;) {
        table.send(owner(word, me), std::string_view(word),
                   [](counts& here, std::string_view text) { ++here[std::string(text)]; });
      }
    }
    table.finish();  // every word of every PE is counted
    const auto different = me.sum(words_here->size());
    const long times = me.broadcast((*words_here)["word0"], owner("word0", me));
    if (me.index() == 0) std::printf("%zu words, word0 %ld times\n", different, times);
  });
}
