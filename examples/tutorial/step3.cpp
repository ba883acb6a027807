// Step 3 of docs/tutorial.md: articles come one by one, and are counted while others are still on their way.
#include <cstdio>
#include <map>
#include <random>
#include <shunt/sched.hpp>
#include <shunt/sync.hpp>
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

void count(const std::string& text, counts& into) {
  std::istringstream words(text);
  for (std::string word; words >> word;) ++into[word];
}

}  // namespace

int main() {
  shunt::sched::runtime workers;
  workers.run([] {
    shunt::channel<std::string> articles(16);
    counts all;
    shunt::mutex guard;
    shunt::task_group counters;
    for (int i = 0; i < 4; ++i) {
      counters.spawn([&] {
        counts mine;
        for (const std::string& text : articles) count(text, mine);  // until the channel is closed and empty
        const std::lock_guard held(guard);
        for (const auto& [word, times] : mine) all[word] += times;
      });
    }
    for (int number = 0; number < 2000; ++number) {
      if (!articles.send(article(number))) break;  // waits while 16 articles are in the channel
    }
    articles.close();
    counters.wait();
    std::printf("%zu words, word0 %ld times\n", all.size(), all["word0"]);
  });
}
