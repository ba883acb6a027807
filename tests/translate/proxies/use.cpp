// Calls through the proxies that were written for players.hpp.
#include <cstdio>

#include "proxies.hpp"

namespace {

struct amateur : game::player {
  std::string name() override { return "amateur"; }
  void hit(shunt::ref<player> from, long ball) override {
    ++count;
    if (ball > 1) from->hit(from, ball - 1);
  }
  void hit(game::colour) override { count += 100; }
  long hits() const override { return count; }
  std::string greet(std::string whom, std::unique_ptr<int> gift) override { return whom + std::to_string(*gift); }
  void many(const std::vector<game::colour>& all, std::vector<game::colour>&& more) override {
    count += 1000 * static_cast<long>(all.size() + more.size());
  }
  long count = 0;
};

}  // namespace

int main() {
  shunt::manager all;
  all.implement<game::player, amateur>();
  auto a = all.create<game::player>(), b = all.create<game::player>();
  a->hit(b);
  b->hit(game::colour::red);
  a->many({game::colour::red}, {game::colour::green});
  all.drain();
  std::printf("%ld %ld %s %s\n", all.await(a->hits()), all.await(b->hits()),
              all.await(a->greet("x", std::make_unique<int>(7))).c_str(), all.await(b->name()).c_str());
}
