// Step 1 of docs/tutorial.md: words are counted, one article after the other.
#include <cstdio>
#include <map>
#include <random>
#include <sstream>
#include <string>

namespace {

using counts = std::map<std::string, long>;

// Stands for a file: a hundred words, the same ones for the same number.
std::string article(int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const auto limit = 1 + random() % 50;
    text += "word" + std::to_string(random() % limit) + ' ';
  }
  return text;
}

void count(const std::string& text, counts& into) {
  std::istringstream words(text);
  for (std::string word; words >> word;) ++into[word];
}

}  // namespace

int main() {
  counts all;
  for (int number = 0; number < 2000; ++number) count(article(number), all);
  std::printf("%zu words, word0 %ld times\n", all.size(), all["word0"]);
}
