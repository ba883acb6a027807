// Step 4 of docs/tutorial.md: one table that all fibers change, and one that waits for what stands in it.
#include <cstdio>
#include <random>
#include <shunt/sched.hpp>
#include <shunt/stm.hpp>
#include <shunt/sync.hpp>
#include <shunt/task.hpp>
#include <sstream>
#include <string>

namespace {

using counts = shunt::tmap<std::string, long>;

std::string article(int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const auto limit = 1 + random() % 50;
    text += "word" + std::to_string(random() % limit) + ' ';
  }
  return text;
}

// All words of an article at once: no other fiber ever sees a part of them.
void count(const std::string& text, counts& into) {
  shunt::atomically([&](shunt::tx& t) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (!into.modify(t, word, [](long times) { return times + 1; })) into.insert(t, word, 1);
    }
  });
}

}  // namespace

int main() {
  shunt::sched::runtime workers;
  workers.run([] {
    shunt::channel<std::string> articles(16);
    counts all;
    shunt::task_group fibers;
    fibers.spawn([&] {
      shunt::atomically([&](shunt::tx& t) {
        t.check(all.find(t, "word0").value_or(0) >= 10'000);  // else waits until another transaction changes it
      });
      std::printf("word0 has come 10000 times\n");
    });
    for (int i = 0; i < 4; ++i) {
      fibers.spawn([&] {
        for (const std::string& text : articles) count(text, all);
      });
    }
    for (int number = 0; number < 2000; ++number) {
      if (!articles.send(article(number))) break;
    }
    articles.close();
    fibers.wait();
    std::printf("%zu words, word0 %ld times\n", all.size(), all.find("word0").value_or(0));
  });
}
