// Step 2 of docs/tutorial.md: all cores count, each its own articles.
#include <cstdio>
#include <map>
#include <random>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <sstream>
#include <string>

namespace {

using counts = std::map<std::string, long>;

std::string article(int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const auto limit = 1 + random() % 50;
    text += "word" + std::to_string(random() % limit) + ' ';
  }
  return text;
}

counts counted(const std::string& text) {
  counts in_text;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++in_text[word];
  return in_text;
}

counts sum(counts all, const counts& more) {
  for (const auto& [word, times] : more) all[word] += times;
  return all;
}

}  // namespace

int main() {
  shunt::sched::runtime workers;
  workers.run([] {
    counts all = shunt::parallel_reduce(0, 2000, counts(), [](int number) { return counted(article(number)); }, sum);
    std::printf("%zu words, word0 %ld times\n", all.size(), all["word0"]);
  });
}
