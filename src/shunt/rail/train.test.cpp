// Trains, the pool that is the credit of its owner, and the train_inbox where they arrive.
#include <shunt/rail.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace rail = shunt::rail;
using rail::train;
using rail::train_pool;

TEST_CASE("train: head and goods are one block, and goods start at a cache line") {
  rail::train_inbox home;
  train_pool pool(home, 512, 2, 8, 2);
  for (int i = 0; i < 3; ++i) {
    train* t = pool.take(1);
    REQUIRE(t != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(t->goods()) % shunt::cache_line == 0);
    CHECK(t->freight() + sizeof(rail::train_head) == t->goods());
    CHECK(static_cast<void*>(t->freight()) == static_cast<void*>(&t->head));
    CHECK(t->capacity == 512);
    CHECK(t->home == &home);
    t->head.bytes = 40;
    CHECK(t->freight_bytes() == sizeof(rail::train_head) + 40);
    std::memset(t->goods(), 0xa5, t->capacity);  // all of it is ours (AddressSanitizer looks on)
  }
}

TEST_CASE("train_list: first in, first out, and usable again once empty") {
  rail::train_list list;
  CHECK(list.empty());
  train a, b, c;
  for (int round = 0; round < 2; ++round) {
    list.push_back(a);
    list.push_back(b);
    CHECK(list.front() == &a);
    CHECK(&list.pop_front() == &a);
    list.push_back(c);
    CHECK(&list.pop_front() == &b);
    CHECK(&list.pop_front() == &c);
    CHECK(list.empty());
  }
}

TEST_CASE("train_pool: programs have `regular` trains out at most, whatever is at home") {
  rail::train_inbox home;
  train_pool pool(home, 512, 2, 8, 2);
  train* const a = pool.take(0);
  train* const b = pool.take(0);
  REQUIRE(a != nullptr);
  REQUIRE(b != nullptr);
  CHECK(a != b);
  CHECK(pool.take(0) == nullptr);
  train* const other = pool.take(1);
  REQUIRE(other != nullptr);
  pool.put(*other);  // a train at home is no credit for channel 0
  CHECK(pool.take(0) == nullptr);
  CHECK(pool.out(0) == 2);
  pool.put(*a);
  CHECK(pool.out(0) == 1);
  CHECK(pool.take(0) != nullptr);
}

TEST_CASE("train_pool: handlers may use all trains to the limit, and the pool says when it is over credit") {
  rail::train_inbox home;
  train_pool pool(home, 512, 2, 6, 2);
  REQUIRE(pool.take(0) != nullptr);
  REQUIRE(pool.take(0) != nullptr);
  std::vector<train*> handlers;
  for (std::size_t n = 1; n <= 4; ++n) {
    handlers.push_back(pool.take(1));
    REQUIRE(handlers.back() != nullptr);
    CHECK(pool.out(1) == n);
    CHECK(pool.over_credit() == (n > pool.regular()));
  }
  CHECK(pool.take(1) == nullptr);  // the limit
  CHECK(pool.bytes() == 6 * (512 + sizeof(train)));
  pool.put(*handlers[0]);
  CHECK(pool.over_credit());
  pool.put(*handlers[1]);
  CHECK_FALSE(pool.over_credit());
  CHECK(pool.take(1) != nullptr);
}

TEST_CASE("train_pool: all handlers' trains out leave programs their share once the pool's limit allows it") {
  rail::train_inbox home;
  train_pool pool(home, 512, 2, 4, 2);
  std::vector<train*> all;
  while (train* t = pool.take(1)) all.push_back(t);
  CHECK(all.size() == 4);
  CHECK(pool.take(0) == nullptr);  // no train exists for it
  pool.put(*all[0]);
  train* const mine = pool.take(0);
  CHECK(mine == all[0]);
  CHECK(mine->head.channel == 0);
  CHECK(pool.out(0) == 1);
  CHECK(pool.out(1) == 3);
}

TEST_CASE("train_pool: `regular` trains travel in turn, whichever has rested longest") {
  rail::train_inbox home;
  train_pool pool(home, 512, 3, 6, 3);
  for (int i = 0; i < 3; ++i) pool.put(*pool.take(0));  // one after the other, and yet three are bought
  CHECK(pool.bytes() == 3 * (512 + sizeof(train)));
  std::vector<train*> ring;
  for (int i = 0; i < 9; ++i) {
    ring.push_back(pool.take(0));
    pool.put(*ring.back());
  }
  CHECK(std::set<train*>(ring.begin(), ring.end()).size() == 3);
  for (std::size_t i = 3; i < ring.size(); ++i) CHECK(ring[i] == ring[i - 3]);
  CHECK(pool.bytes() == 3 * (512 + sizeof(train)));
}

TEST_CASE("train_pool: once enough are at home, the oldest is used and none is bought") {
  rail::train_inbox home;
  train_pool pool(home, 512, 8, 16, 2);
  for (int i = 0; i < 9; ++i) pool.put(*pool.take(0));
  CHECK(pool.bytes() == 2 * (512 + sizeof(train)));
  std::vector<train*> out;
  for (int i = 0; i < 5; ++i) out.push_back(pool.take(0));  // none at home is never a reason to refuse
  CHECK(std::set<train*>(out.begin(), out.end()).size() == 5);
  CHECK(pool.bytes() == 6 * (512 + sizeof(train)));  // one more came while one was left
  for (train* t : out) pool.put(*t);
  for (int i = 0; i < 9; ++i) pool.put(*pool.take(0));
  CHECK(pool.bytes() == 6 * (512 + sizeof(train)));
}

TEST_CASE("train_pool: the last train that stayed is taken again to stay, and serves others when nothing else can") {
  rail::train_inbox home;
  train_pool pool(home, 512, 2, 4, 2);
  train* const stays = pool.take(0, true);
  pool.put(*stays, true);
  for (int i = 0; i < 3; ++i) {
    train* const t = pool.take(1, true);
    CHECK(t == stays);
    pool.put(*t, true);
  }
  std::set<train*> all;
  while (train* t = pool.take(1)) all.insert(t);
  CHECK(all.size() == 4);  // the limit, the one that stayed included
  CHECK(all.count(stays) == 1);
  CHECK(pool.bytes() == 4 * (512 + sizeof(train)));
}

TEST_CASE("train_pool: trains lie apart, whether many fit into a huge page, one just does, or none") {
  using shunt::huge_page;
  const std::size_t capacity = GENERATE_COPY(huge_page / 4, huge_page - sizeof(rail::train), huge_page, 2 * huge_page);
  rail::train_inbox home;
  train_pool pool(home, capacity, 3, 6, 3);
  std::vector<rail::train*> trains;
  while (rail::train* const t = pool.take(1)) {
    std::memset(t->goods(), static_cast<int>(trains.size()), capacity);
    trains.push_back(t);
  }
  CHECK(trains.size() == 6);
  for (std::size_t i = 0; i < trains.size(); ++i) {
    CHECK(trains[i]->capacity == capacity);
    CHECK(std::all_of(trains[i]->goods(), trains[i]->goods() + capacity,
                      [i](std::byte b) { return b == static_cast<std::byte>(i); }));
  }
  for (auto* const t : trains) pool.put(*t);
}

TEST_CASE("train_pool: never more bytes than limit trains, in any order of taking and putting") {
  rail::train_inbox home;
  constexpr std::size_t regular = 3, limit = 9;
  train_pool pool(home, 576, regular, limit, regular);
  std::vector<train*> out;
  std::uint64_t x = 1;
  bool refused[2] = {false, false};
  for (int i = 0; i < 20'000; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const auto what = x >> 33;
    if (what % 5 < 3) {
      const auto channel = static_cast<std::uint8_t>(what / 5 % 2);
      if (train* t = pool.take(channel)) {
        REQUIRE(t->head.channel == channel);
        REQUIRE(t->head.empty == 0);
        out.push_back(t);
      } else {
        refused[channel] = true;
      }
    } else if (!out.empty()) {
      const auto which = what / 5 % out.size();
      pool.put(*out[which]);
      out[which] = out.back();
      out.pop_back();
    }
    REQUIRE(pool.out(0) + pool.out(1) == out.size());
    REQUIRE(pool.out(0) <= regular);
    REQUIRE(out.size() <= limit);
    REQUIRE(pool.bytes() <= limit * (576 + sizeof(train)));
  }
  CHECK(refused[0]);
  CHECK(refused[1]);
  CHECK(std::set<train*>(out.begin(), out.end()).size() == out.size());
}

namespace {
struct wake_counter {
  int wakes = 0;
  static void wake(void* me) noexcept { ++static_cast<wake_counter*>(me)->wakes; }
};
}  // namespace

TEST_CASE("train_inbox: a train in front of a sleeping owner wakes it, once; in front of one awake, never") {
  wake_counter owner;
  rail::train_inbox p(wake_counter::wake, &owner);
  train a, b;
  p.deliver(a);
  CHECK(owner.wakes == 0);
  CHECK_FALSE(p.arm());
  CHECK(p.any());
  CHECK(p.arrivals() == &a);
  REQUIRE(p.arm());
  p.deliver(a);
  CHECK(owner.wakes == 1);
  p.deliver(b);
  CHECK(owner.wakes == 1);
  p.disarm();
  train* const first = p.arrivals();
  REQUIRE(first == &a);
  CHECK(first->next == &b);
}

TEST_CASE("train_inbox: a train sent home arrives there, empty, with its channel") {
  wake_counter owner;
  rail::train_inbox home(wake_counter::wake, &owner);
  train_pool pool(home, 512, 2, 8, 2);
  train* const t = pool.take(1);
  REQUIRE(home.arm());
  rail::send_home(*t);
  CHECK(owner.wakes == 1);
  home.disarm();
  train* const back = home.arrivals();
  REQUIRE(back == t);
  CHECK(back->head.empty == 1);
  pool.put(*back);
  CHECK(pool.out(1) == 0);
  CHECK(pool.take(1)->head.empty == 0);
}
