// The inbox between threads. What a node carries is plain data, and nothing but the inbox orders it: threads tell each
// other by relaxed atomics only how far they are.
//
// Weakened on purpose, one at a time, and seen red: push's release to relaxed and take_all's acquire to relaxed (data
// race under ThreadSanitizer, in the three tests that read `cargo` across threads); arm() as a store ("arm and push");
// push without its return of `wake` ("arm and push"); disarm() as a store ("disarm"); take_all as a load and a store
// ("neither lost nor doubled").
#include <shunt/rail.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace rail = shunt::rail;
using rail::after_push;

namespace {

struct node {
  node* next = nullptr;
  int producer = 0;
  int number = 0;
  long cargo = 0;
};

using box = rail::inbox<node>;

/// A signal that orders nothing: relaxed on both sides.
class silent_flag {
 public:
  void raise(int to = 1) { value_.store(to, std::memory_order_relaxed); }
  void add() { value_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] int value() const { return value_.load(std::memory_order_relaxed); }
  /// \return false: a hang, which the test then reports.
  [[nodiscard]] bool reach(int target) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (value() < target) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::atomic<int> value_{0};
};

enum class order { as_it_comes, push_first, owner_first };

}  // namespace

TEST_CASE("inbox: take_all returns every node once, oldest first, and nothing if the inbox is empty") {
  box b;
  CHECK_FALSE(b.any());
  CHECK(b.take_all() == nullptr);
  std::array<node, 3> nodes;
  for (int i = 0; i < 3; ++i) {
    nodes[static_cast<std::size_t>(i)].number = i;
    CHECK(b.push(nodes[static_cast<std::size_t>(i)]) == after_push::nothing);
  }
  CHECK(b.any());
  const node* first = b.take_all();
  REQUIRE(first == &nodes[0]);
  REQUIRE(first->next == &nodes[1]);
  REQUIRE(first->next->next == &nodes[2]);
  CHECK(first->next->next->next == nullptr);
  CHECK_FALSE(b.any());
  CHECK(b.take_all() == nullptr);
}

// allowed    armed + wake          the owner sleeps, and exactly this pusher wakes it
// allowed    not armed + nothing   the node came first
// forbidden  armed + nothing       a lost wake: the owner sleeps for ever
// forbidden  not armed + wake      a needless wake
TEST_CASE("inbox: an arm and a push that race agree whether the push owes a wake") {
  const auto forced = GENERATE(order::as_it_comes, order::push_first, order::owner_first);
  const int rounds = forced == order::as_it_comes ? 20'000 : 1'000;
  struct round {
    box in;
    node n;
    after_push owed = after_push::nothing;
    silent_flag pushed, armed;
  };
  std::vector<round> all(static_cast<std::size_t>(rounds));
  silent_flag at;
  std::atomic<bool> hung{false};
  std::thread pusher([&] {
    for (int i = 0; i < rounds && !hung; ++i) {
      auto& r = all[static_cast<std::size_t>(i)];
      if (!at.reach(i + 1)) hung = true;
      if (forced == order::owner_first && !r.armed.reach(1)) hung = true;
      r.n.cargo = i;
      r.owed = r.in.push(r.n);
      r.pushed.raise(r.owed == after_push::wake ? 2 : 1);
    }
  });
  int slept = 0, lost = 0, needless = 0, wrong = 0;
  for (int i = 0; i < rounds && !hung; ++i) {
    auto& r = all[static_cast<std::size_t>(i)];
    at.raise(i + 1);
    if (forced == order::push_first && !r.pushed.reach(1)) hung = true;
    const bool sleeps = r.in.arm();
    r.armed.raise();
    if (!r.pushed.reach(1)) hung = true;
    const bool wakes = r.pushed.value() == 2;
    slept += sleeps;
    lost += sleeps && !wakes;
    needless += !sleeps && wakes;
    if (sleeps) r.in.disarm();
    const node* got = r.in.take_all();
    wrong += got != &r.n || got->cargo != i || got->next != nullptr;
    r.in.disarm();
  }
  pusher.join();
  CHECK_FALSE(hung);
  CHECK(lost == 0);
  CHECK(needless == 0);
  CHECK(wrong == 0);
  if (forced == order::push_first) CHECK(slept == 0);
  if (forced == order::owner_first) CHECK(slept == rounds);
}

// An owner that wakes by itself (a time-out) takes its word back, or learns that a push came first.
// allowed    disarmed first, then pushed   the pusher owes nothing
// allowed    pushed first                  the pusher owes a wake that comes late; the node is in
// forbidden  the node is gone
TEST_CASE("inbox: disarm loses no node, whether it comes before a push or after") {
  box b;
  node n;
  SECTION("disarm first") {
    REQUIRE(b.arm());
    b.disarm();
    CHECK(b.push(n) == after_push::nothing);
  }
  SECTION("push first") {
    REQUIRE(b.arm());
    CHECK(b.push(n) == after_push::wake);
    b.disarm();
  }
  SECTION("disarm of a word that is not armed") {
    CHECK(b.push(n) == after_push::nothing);
    b.disarm();
  }
  CHECK(b.take_all() == &n);
  CHECK(b.arm());
  node another;
  CHECK(b.push(another) == after_push::wake);
}

TEST_CASE("inbox: of many pushes into an armed inbox one owes a wake") {
  box b;
  std::array<node, 4> nodes;
  REQUIRE(b.arm());
  int wakes = 0;
  for (auto& n : nodes) wakes += b.push(n) == after_push::wake;
  CHECK(wakes == 1);
  CHECK_FALSE(b.arm());
  int found = 0;
  for (const node* n = b.take_all(); n != nullptr; n = n->next) found += n == &nodes[static_cast<std::size_t>(found)];
  CHECK(found == 4);
}

TEST_CASE("inbox: no node of several producers is lost or doubled, and each producer's nodes stay in order") {
  const int producers = GENERATE(1, 2, 5);
  const bool sleeps = GENERATE(false, true);
  constexpr int each = 4'000;
  box b;
  std::vector<std::vector<node>> nodes(static_cast<std::size_t>(producers), std::vector<node>(each));
  silent_flag wakes;
  std::atomic<bool> hung{false};
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < each; ++i) {
        node& n = nodes[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
        n.producer = p;
        n.number = i;
        n.cargo = 1000L * p + i;
        if (b.push(n) == after_push::wake) wakes.add();
        if (i % 64 == p) std::this_thread::yield();
      }
    });
  }
  std::vector<int> next(static_cast<std::size_t>(producers), 0);
  int taken = 0, naps = 0, out_of_order = 0, damaged = 0, woken_for_nothing = 0;
  while (taken < producers * each && !hung) {
    node* n = b.take_all();
    if (n == nullptr) {
      if (!sleeps) {
        std::this_thread::yield();
      } else if (b.arm()) {
        if (!wakes.reach(++naps)) hung = true;
        b.disarm();
        woken_for_nothing += !b.any();
      }
      continue;
    }
    for (; n != nullptr; ++taken) {
      const auto p = static_cast<std::size_t>(n->producer);
      out_of_order += n->number != next[p]++;
      damaged += n->cargo != 1000L * n->producer + n->number;
      n = n->next;
    }
  }
  for (auto& t : threads) t.join();
  CHECK_FALSE(hung);
  CHECK(taken == producers * each);
  CHECK(out_of_order == 0);
  CHECK(damaged == 0);
  CHECK(woken_for_nothing == 0);
  CHECK(wakes.value() == naps);
  CHECK(b.take_all() == nullptr);
}

TEST_CASE("inbox: two threads that hand the same nodes to and fro see what the other has written") {
  constexpr int rounds = 2'000;
  box there, back;
  std::array<node, 3> nodes;
  std::atomic<bool> hung{false};
  std::thread far_end([&] {
    for (int left = rounds * 3; left > 0 && !hung;) {
      node* n = there.take_all();
      if (n == nullptr) std::this_thread::yield();
      while (n != nullptr) {
        node& now = *n;
        n = n->next;
        now.cargo = -now.cargo;
        static_cast<void>(back.push(now));
        --left;
      }
    }
  });
  int wrong = 0;
  const auto send = [&](node& n, int number) {
    n.number = number;
    n.cargo = number + 1;
    static_cast<void>(there.push(n));
  };
  for (auto& n : nodes) send(n, 0);
  const auto patience = std::chrono::seconds(60);  // from one to the next
  auto end = std::chrono::steady_clock::now() + patience;
  for (int left = rounds * 3; left > 0 && !hung;) {
    node* n = back.take_all();
    const auto looked = std::chrono::steady_clock::now();
    if (n == nullptr) {
      std::this_thread::yield();
      if (looked > end) hung = true;
    } else {
      end = looked + patience;
    }
    while (n != nullptr) {
      node& now = *n;
      n = n->next;
      wrong += now.cargo != -(now.number + 1L);
      if (now.number + 1 < rounds) send(now, now.number + 1);
      --left;
    }
  }
  far_end.join();
  CHECK_FALSE(hung);
  CHECK(wrong == 0);
}
