#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <shunt/stm.hpp>
#include <stdexcept>
#include <string>
#include <support/runtimes.hpp>
#include <support/transactions.hpp>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using shunt::atomically;
using shunt::tvar;
using shunt::tx;
using shunt::testing::retries;
using shunt::testing::side_by_side;
namespace stm = shunt::stm;
namespace this_fiber = shunt::sched::this_fiber;

namespace {

/// Counts the objects that live, and throws at the copy or move that it is told to.
struct item {
  explicit item(int v = 0) : value(v) { ++alive; }
  item(const item& other) : value(other.value) { made(); }
  item(item&& other) : value(other.value) { made(); }  // NOLINT: throws in some tests
  item& operator=(const item&) = default;
  ~item() { --alive; }
  bool operator==(const item& other) const { return value == other.value; }
  bool operator<(const item& other) const { return value < other.value; }

  static void made() {
    if (--until_throw == 0) throw std::runtime_error("an item");
    ++alive;
  }
  int value;
  static inline std::atomic<long> alive{0};
  static inline std::atomic<long> until_throw{0};  // copies; 0 and less: never
};

struct undo {};

/// Random programs on a structure and on its model: transactions of some steps; every third transaction is undone. A
/// step does the same to both, and returns whether both gave the same result.
template <typename Model, typename Step>
void as_the_model(Model model, const Step& step) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const auto seed = random();
    bool alike = true;
    Model after = model;
    try {
      atomically([&](tx& t) {
        after = model;
        std::mt19937 choose(seed);
        for (auto steps = choose() % 6; steps-- > 0;) alike = step(t, after, choose) && alike;
        if (choose() % 3 == 0) throw undo();
      });
      model = after;
    } catch (const undo&) {
    }
    REQUIRE(alike);
  }
}

struct good {
  int from = 0, number = 0;
};
struct all_equal {
  bool operator()(const good&, const good&) const { return false; }
};

/// Sets policies for as long as it lives: the default ones, or those under which workers and threads never wait for
/// each other.
struct under {
  explicit under(bool default_ones) {
    if (!default_ones) stm::set_policies({.adapt = false, .exclusive = false});
  }
  ~under() { stm::set_policies({}); }
};

/// Producers and consumers: fibers on two workers, and one thread each.
template <typename Put, typename Take>
void nothing_lost_or_doubled(const Put& put, const Take& take) {
  const under policies(GENERATE(true, false));
  constexpr int producers = 4, each = 1500, consumers = 3;
  std::atomic<int> wrong{0}, taken{0};
  std::atomic<long> sum{0};
  const auto produce = [&](int me) {
    for (int i = 1; i <= each; ++i) put(good{me, i});
  };
  const auto consume = [&] {
    std::vector<int> last(producers);
    for (;;) {
      const good g = take();
      if (g.number == 0) return;  // the end
      auto& before = last[static_cast<std::size_t>(g.from)];
      if (g.number <= before) ++wrong;  // items of one producer are in order
      before = g.number;
      sum += g.number;
      ++taken;
    }
  };
  std::thread producer([&] { produce(0); });
  std::thread consumer(consume);
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    for (int c = 1; c < consumers; ++c) rt.spawn(consume, {.worker = c % 2});
    for (int p = 1; p < producers; ++p) rt.spawn([&, p] { produce(p); }, {.worker = p % 2});
    while (taken < producers * each) this_fiber::sleep_for(1ms);
    for (int c = 0; c < consumers; ++c) put(good{0, 0});
  });
  producer.join();
  consumer.join();
  CHECK(wrong == 0);
  CHECK(taken == producers * each);
  CHECK(sum == long{producers} * each * (each + 1) / 2);
}

/// \return how often a body runs, if another thread does `other` after `mine` of the body's first run. That thread ends
/// after the body, because until then the memory that it has retired cannot be freed.
template <typename Mine, typename Other>
int runs(const Mine& mine, const Other& other) {
  int count = 0;
  std::atomic<bool> done{false};
  std::thread beside;
  atomically([&](tx& t) {
    mine(t);
    if (++count != 1) return;
    beside = std::thread([&] {
      other();
      done = true;
      done.notify_one();
    });
    done.wait(false);
  });
  beside.join();
  return count;
}

}  // namespace

TEST_CASE("tmvar: behaves like an optional; an undone transaction changes nothing") {
  shunt::tmvar<std::string> place;
  as_the_model(std::optional<std::string>(), [&](tx& t, std::optional<std::string>& model, auto& choose) {
    const std::string text = std::to_string(choose() % 10);
    switch (choose() % 4) {
      case 0: {
        const bool fits = !model.has_value();
        if (fits) model = text;
        return place.try_put(t, text) == fits;
      }
      case 1: return place.try_take(t) == std::exchange(model, std::nullopt);
      case 2: return place.empty(t) == !model.has_value();
      default: return place.try_read(t) == model;
    }
  });
}

TEST_CASE("tqueue: behaves like a deque; an undone transaction changes nothing") {
  shunt::tqueue<std::string> queue;
  as_the_model(std::deque<std::string>(), [&](tx& t, std::deque<std::string>& model, auto& choose) {
    const auto first = model.empty() ? std::nullopt : std::optional(model.front());
    switch (choose() % 8) {
      case 0:
      case 1:
      case 2:
        model.push_back(std::to_string(choose()));
        queue.push(t, model.back());
        return true;
      case 3:
      case 4:
        if (!model.empty()) model.pop_front();
        return queue.try_pop(t) == first;
      case 5: return queue.try_front(t) == first;
      case 6: return queue.empty(t) == model.empty();
      default: {
        if (choose() % 8 != 0) return true;
        const std::vector<std::string> all(model.begin(), model.end());
        model.clear();
        return queue.pop_all(t) == all;
      }
    }
  });
}

TEST_CASE("tbqueue: behaves like a bounded deque; an undone transaction changes nothing") {
  const std::size_t capacity = GENERATE(1U, 2U, 5U);
  shunt::tbqueue<std::string> queue(capacity);
  CHECK(queue.capacity() == capacity);
  as_the_model(std::deque<std::string>(), [&](tx& t, std::deque<std::string>& model, auto& choose) {
    const auto first = model.empty() ? std::nullopt : std::optional(model.front());
    switch (choose() % 6) {
      case 0:
      case 1: {
        const std::string text = std::to_string(choose());
        const bool fits = model.size() < capacity;
        if (fits) model.push_back(text);
        return queue.try_push(t, text) == fits;
      }
      case 2:
      case 3:
        if (!model.empty()) model.pop_front();
        return queue.try_pop(t) == first;
      case 4: return queue.try_front(t) == first;
      default:
        return queue.size(t) == model.size() && queue.empty(t) == model.empty() &&
               queue.full(t) == (model.size() == capacity);
    }
  });
}

TEST_CASE("tpriority_queue: the greatest item first, of equal items the first; an undone transaction changes nothing") {
  using ranked = std::pair<int, int>;  // rank, number
  const auto by_rank = [](const ranked& a, const ranked& b) { return a.first < b.first; };
  shunt::tpriority_queue<ranked, decltype(by_rank)> queue(by_rank);
  as_the_model(std::vector<ranked>(), [&](tx& t, std::vector<ranked>& model, auto& choose) {
    const auto first = std::max_element(model.begin(), model.end(), by_rank);
    const auto is_first = [&](const std::optional<ranked>& answer) {
      return first == model.end() ? !answer : answer && *answer == *first;
    };
    switch (choose() % 5) {
      case 0:
      case 1:
        model.emplace_back(static_cast<int>(choose() % 5), static_cast<int>(choose()));
        queue.push(t, model.back());
        return true;
      case 2:
      case 3: {
        const bool right = is_first(queue.try_pop(t));
        if (right && !model.empty()) model.erase(first);
        return right;
      }
      default: return is_first(queue.try_top(t)) && queue.empty(t) == model.empty();
    }
  });
}

TEST_CASE("tmap: behaves like a map; an undone transaction changes nothing") {
  const unsigned keys = GENERATE(4U, 300U);
  shunt::tmap<std::string, int, std::greater<>> map;
  using model_map = std::map<std::string, int, std::greater<>>;
  as_the_model(model_map(), [&](tx& t, model_map& model, auto& choose) {
    const std::string key = std::to_string(choose() % keys);
    const int value = static_cast<int>(choose() % 100);
    const auto at = model.find(key);
    const bool there = at != model.end();
    switch (choose() % 9) {
      case 0:
      case 1: return map.insert(t, key, value) == model.emplace(key, value).second;
      case 2: return map.insert_or_assign(t, key, value) == model.insert_or_assign(key, value).second;
      case 3:
      case 4: return map.erase(t, key) == (model.erase(key) == 1);
      case 5: return map.find(t, key) == (there ? std::optional(at->second) : std::nullopt);
      case 6:
        if (there) at->second += 1;
        return map.modify(t, key, [](int v) { return v + 1; }) == there;
      case 7: return map.contains(t, key) == there && map.empty(t) == model.empty();
      default:
        if (choose() % 50 == 0) {
          model.clear();
          map.clear(t);
        }
        return map.size(t) == model.size() &&
               map.items(t) == std::vector<std::pair<std::string, int>>(model.begin(), model.end());
    }
  });
}

TEST_CASE("tset: behaves like a set; an undone transaction changes nothing") {
  shunt::tset<int> set;
  as_the_model(std::set<int>(), [&](tx& t, std::set<int>& model, auto& choose) {
    const int key = static_cast<int>(choose() % 50);
    switch (choose() % 6) {
      case 0:
      case 1: return set.insert(t, key) == model.insert(key).second;
      case 2:
      case 3: return set.erase(t, key) == (model.erase(key) == 1);
      case 4: return set.contains(t, key) == model.contains(key) && set.empty(t) == model.empty();
      default:
        if (choose() % 50 == 0) {
          model.clear();
          set.clear(t);
        }
        return set.size(t) == model.size() && set.items(t) == std::vector<int>(model.begin(), model.end());
    }
  });
}

TEST_CASE("tsem, tcounter: behave like numbers; an undone transaction changes nothing") {
  shunt::tsem permits(5);
  shunt::tcounter sum(-3);
  as_the_model(std::pair<unsigned, long>(5, -3), [&](tx& t, std::pair<unsigned, long>& model, auto& choose) {
    const auto count = static_cast<unsigned>(choose() % 5);
    switch (choose() % 4) {
      case 0: {
        const bool enough = model.first >= count;
        if (enough) model.first -= count;
        return permits.try_acquire(t, count) == enough;
      }
      case 1:
        model.first += count;
        permits.release(t, count);
        return permits.permits(t) == model.first;
      case 2:
        model.second += long{count} - 2;
        sum.add(t, long{count} - 2);
        return true;
      default: return sum.value(t) == model.second;
    }
  });
}

TEST_CASE("tchan: every reader gets all later items in order; an undone transaction changes nothing") {
  shunt::tchan<std::string> channel;
  channel.write("to no reader");
  using reader = shunt::tchan<std::string>::reader;
  reader a(channel), b(channel);
  using two_queues = std::array<std::deque<std::string>, 2>;
  as_the_model(two_queues(), [&](tx& t, two_queues& model, auto& choose) {
    if (choose() % 3 == 0) {
      const std::string text = std::to_string(choose());
      for (auto& q : model) q.push_back(text);
      channel.write(t, text);
      return true;
    }
    const auto which = choose() % 2;
    auto& mine = model[which];
    reader& r = which == 0 ? a : b;
    const auto first = mine.empty() ? std::nullopt : std::optional(mine.front());
    if (r.empty(t) != mine.empty()) return false;
    if (!mine.empty()) mine.pop_front();
    return r.try_read(t) == first;
  });
  while (a.try_read()) continue;
  while (b.try_read()) continue;
  channel.write("both");
  {
    reader late(channel);    // from now on
    const reader copied(a);  // what a has yet to read
    CHECK(channel.readers() == 4);
    CHECK(late.empty());
    CHECK_FALSE(copied.empty());
    channel.write("all");
    CHECK(late.read() == "all");
  }  // one reader has read all, the other has not
  CHECK(channel.readers() == 2);
  CHECK(a.read() == "both");
  CHECK(a.read() == "all");
  CHECK(b.read() == "both");
}

TEST_CASE("without a tx: one transaction, or a part of the one around it") {
  shunt::tqueue<int> queue;
  shunt::tbqueue<int> bounded(2);
  shunt::tmvar<int> place(1);
  shunt::tmap<int, int> map;
  shunt::tset<int> set;
  shunt::tpriority_queue<int> ranked;
  shunt::tsem permits(2);
  shunt::tcounter sum;
  shunt::tchan<int> channel;
  shunt::tchan<int>::reader reader(channel);
  const auto all = [&] {
    queue.push(1);
    queue.push(2);
    bounded.push(3);
    static_cast<void>(bounded.try_push(4));
    const int taken = place.take();
    map.insert(5, 50);
    map.insert_or_assign(6, 60);
    map.modify(6, [](int v) { return v + 1; });
    set.insert(7);
    ranked.push(8);
    ranked.push(9);
    permits.acquire(2);
    permits.release();
    sum.add(10);
    channel.write(taken);
  };
  CHECK_THROWS_AS(atomically([&] {
                    all();
                    throw undo();
                  }),
                  undo);
  CHECK(queue.empty());
  CHECK(bounded.empty());
  CHECK(place.read() == 1);
  CHECK(map.empty());
  CHECK(set.empty());
  CHECK(ranked.empty());
  CHECK(permits.permits() == 2);
  CHECK(sum.value() == 0);
  CHECK(reader.empty());
  all();
  CHECK(queue.front() == 1);
  CHECK(queue.pop() == 1);
  CHECK(queue.pop_all() == std::vector<int>{2});
  CHECK(bounded.full());
  CHECK(bounded.front() == 3);
  CHECK(bounded.pop() == 3);
  CHECK(bounded.size() == 1);
  CHECK(place.empty());
  CHECK(place.try_put(2));
  CHECK_FALSE(place.try_put(3));
  CHECK(map.items() == std::vector<std::pair<int, int>>{{5, 50}, {6, 61}});
  CHECK(map.find(6) == 61);
  CHECK(map.contains(5));
  CHECK(map.erase(5));
  CHECK(map.size() == 1);
  map.clear();
  CHECK(map.empty());
  CHECK(set.items() == std::vector<int>{7});
  CHECK(set.contains(7));
  CHECK(set.erase(7));
  CHECK(set.size() == 0);
  CHECK(ranked.top() == 9);
  CHECK(ranked.pop() == 9);
  CHECK(ranked.try_pop() == 8);
  CHECK(ranked.try_top() == std::nullopt);
  CHECK(permits.try_acquire());
  CHECK_FALSE(permits.try_acquire());
  CHECK(permits.try_acquire(0));
  CHECK(sum.value() == 10);
  CHECK(reader.read() == 1);
}

TEST_CASE("limits: impossible arguments get an exception that names the structure") {
  CHECK_THROWS_AS(shunt::tbqueue<int>(0), shunt::usage_error);
  shunt::tsem permits(~0ULL);
  CHECK_THROWS_AS(permits.release(), shunt::usage_error);
  CHECK(permits.permits() == ~0ULL);
  shunt::tcounter sum(std::numeric_limits<std::int64_t>::max());
  sum.add(1);
  CHECK(sum.value() == std::numeric_limits<std::int64_t>::min());
  shunt::tchan<int> channel;
  CHECK_THROWS_AS(atomically([&] { shunt::tchan<int>::reader inside(channel); }), shunt::usage_error);
  CHECK(channel.readers() == 0);
}

TEST_CASE("tqueue: fibers and threads lose nothing, double nothing, and keep each producer's order") {
  shunt::tqueue<good> queue;
  nothing_lost_or_doubled([&](good g) { queue.push(g); }, [&] { return queue.pop(); });
  CHECK(queue.empty());
}

TEST_CASE("tbqueue: fibers and threads lose nothing, double nothing, and keep each producer's order") {
  shunt::tbqueue<good> queue(GENERATE(1U, 3U));
  nothing_lost_or_doubled([&](good g) { queue.push(g); }, [&] { return queue.pop(); });
  CHECK(queue.empty());
}

TEST_CASE("tmvar: fibers and threads lose nothing, double nothing, and keep each producer's order") {
  shunt::tmvar<good> place;
  nothing_lost_or_doubled([&](good g) { place.put(g); }, [&] { return place.take(); });
  CHECK(place.empty());
}

TEST_CASE("tpriority_queue: fibers and threads lose nothing, double nothing; equal ones keep each producer's order") {
  shunt::tpriority_queue<good, all_equal> queue;
  nothing_lost_or_doubled([&](good g) { queue.push(g); }, [&] { return queue.pop(); });
  CHECK(queue.empty());
}

TEST_CASE("tsem: there are never more fibers inside than permits, and no fiber waits for ever") {
  const under policies(GENERATE(true, false));
  shunt::tsem permits(3);
  std::atomic<int> inside{0}, wrong{0}, done{0};
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    for (int f = 0; f < 8; ++f) {
      rt.spawn(
          [&, f] {
            const auto count = static_cast<unsigned>(f % 3 + 1);
            for (int i = 0; i < 300; ++i) {
              permits.acquire(count);
              if ((inside += static_cast<int>(count)) > 3) ++wrong;
              this_fiber::yield();
              inside -= static_cast<int>(count);
              permits.release(count);
            }
            ++done;
          },
          {.worker = f % 2});
    }
  });
  CHECK(wrong == 0);
  CHECK(done == 8);
  CHECK(permits.permits() == 3);
}

TEST_CASE(
    "tchan: each of several readers, fibers and a thread, sees all items of several writers, in each writer's order") {
  const under policies(GENERATE(true, false));
  constexpr int writers = 3, each = 800;
  shunt::tchan<good> channel;
  std::atomic<int> wrong{0}, complete{0};
  const auto listen = [&](shunt::tchan<good>::reader& from) {
    std::array<int, writers> last{};
    for (int i = 0; i < writers * each; ++i) {
      const good g = from.read();
      if (g.number != ++last[static_cast<std::size_t>(g.from)]) ++wrong;
    }
    if (from.empty()) ++complete;
  };
  shunt::tchan<good>::reader first(channel), second(first), third(channel);
  std::thread plain([&] { listen(first); });
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    rt.spawn([&] { listen(second); }, {.worker = 0});
    rt.spawn([&] { listen(third); }, {.worker = 1});
    for (int w = 0; w < writers; ++w) {
      rt.spawn(
          [&, w] {
            for (int i = 1; i <= each; ++i) channel.write(good{w, i});
          },
          {.worker = w % 2});
    }
    for (int i = 0; i < 100; ++i) {  // readers that come and go
      shunt::tchan<good>::reader passing(channel);
      static_cast<void>(passing.try_read());
      this_fiber::yield();
    }
  });
  plain.join();
  CHECK(wrong == 0);
  CHECK(complete == 3);
}

TEST_CASE("tmap, tset, tcounter: keys that move are seen by every auditor, each exactly once and in order") {
  const under policies(GENERATE(true, false));
  constexpr int moving = 32, places = 128, moves = 3000, fibers = 4;
  shunt::tmap<int, int> map;  // place -> the token there
  shunt::tset<int> taken;     // the same places
  shunt::tcounter moved;
  for (int i = 0; i < moving; ++i) {
    map.insert(i * 2, i);
    taken.insert(i * 2);
  }
  std::atomic<int> wrong{0}, audits{0};
  std::atomic<long> expected{0};
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    for (int f = 0; f < fibers; ++f) {
      rt.spawn(
          [&, f] {
            std::mt19937 random(static_cast<unsigned>(f));
            for (int i = 0; i < moves; ++i) {
              const int from = static_cast<int>(random() % places), to = static_cast<int>(random() % places);
              expected += atomically([&](tx& t) {
                const auto token = map.find(t, from);
                if (token.has_value() != taken.contains(t, from)) ++wrong;
                if (!token || !map.insert(t, to, *token)) return 0;
                map.erase(t, from);
                taken.erase(t, from);
                taken.insert(t, to);
                moved.add(t);
                return 1;
              });
              if (i % 64 == 0) this_fiber::yield();
            }
          },
          {.worker = f % 2});
    }
    for (int i = 0; i < 200; ++i, ++audits) {
      const auto [all, keys] = atomically([&](tx& t) { return std::pair(map.items(t), taken.items(t)); });
      std::set<int> tokens;
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (k > 0 && all[k - 1].first >= all[k].first) ++wrong;
        if (k < keys.size() && keys[k] != all[k].first) ++wrong;
        tokens.insert(all[k].second);
      }
      if (all.size() != moving || keys.size() != moving || tokens.size() != moving) ++wrong;
      this_fiber::yield();
    }
  });
  CHECK(wrong == 0);
  CHECK(audits == 200);
  CHECK(moved.value() == expected);
  CHECK(expected > 0);
  CHECK(map.size() == moving);
}

TEST_CASE("waiting: for several structures at once, and until a deadline") {
  shunt::tqueue<int> a;
  shunt::tbqueue<int> b(1);
  CHECK(shunt::atomically_for(2ms, [&](tx& t) { return a.pop(t); }) == std::nullopt);
  b.push(1);
  CHECK_FALSE(shunt::atomically_for(2ms, [&](tx& t) { b.push(t, 2); }));
  CHECK(b.pop() == 1);
  for (const bool first : {true, false}) {
    std::thread giver([&, before = retries()] {
      while (retries() == before) std::this_thread::yield();
      first ? a.push(7) : b.push(8);
    });
    const int got = atomically([&](tx& t) { return t.or_else([&] { return a.pop(t); }, [&] { return b.pop(t); }); });
    giver.join();
    CHECK(got == (first ? 7 : 8));
  }
}

TEST_CASE("conflicts: only where the headers say so") {
  const side_by_side allowed;
  shunt::tqueue<int> queue;
  for (int i = 0; i < 3; ++i) queue.push(i);
  CHECK(runs([&](tx& t) { queue.push(t, 3); }, [&] { queue.pop(); }) == 1);
  CHECK(runs([&](tx& t) { static_cast<void>(queue.pop(t)); }, [&] { queue.push(4); }) == 1);
  CHECK(runs([&](tx& t) { queue.push(t, 5); }, [&] { queue.push(6); }) == 2);

  shunt::tbqueue<int> bounded(4);
  bounded.push(0);
  bounded.push(1);
  CHECK(runs([&](tx& t) { bounded.push(t, 2); }, [&] { bounded.pop(); }) == 1);
  CHECK(runs([&](tx& t) { static_cast<void>(bounded.pop(t)); }, [&] { bounded.push(3); }) == 1);
  CHECK(runs(
            [&](tx& t) {
              static_cast<void>(bounded.size(t));
              bounded.push(t, 4);
            },
            [&] { bounded.pop(); }) == 2);

  shunt::tcounter sum;
  CHECK(runs([&](tx& t) { sum.add(t); }, [&] { sum.add(); }) == 1);
  CHECK(sum.value() == 2);
  tvar<long> written{0};
  CHECK(runs([&](tx& t) { t.write(written, sum.value(t)); }, [&] { sum.add(); }) == 2);
  CHECK(written.load() == 3);

  shunt::tmap<int, int> map;
  for (int i = 0; i < 100; ++i) map.insert(i, 0);
  const auto add = [](int v) { return v + 1; };
  CHECK(runs([&](tx& t) { map.modify(t, 1, add); }, [&] { map.modify(2, add); }) == 1);
  CHECK(runs([&](tx& t) { map.modify(t, 1, add); }, [&] { map.modify(1, add); }) == 2);
  CHECK(map.find(1) == 3);
  CHECK(runs([&](tx& t) { t.write(written, static_cast<long>(map.size(t))); }, [&] { map.modify(2, add); }) == 1);
  CHECK(runs([&](tx& t) { t.write(written, static_cast<long>(map.size(t))); }, [&] { map.erase(2); }) == 2);
  CHECK(written.load() == 99);

  shunt::tchan<int> channel;
  shunt::tchan<int>::reader reader(channel);
  channel.write(1);
  CHECK(runs([&](tx& t) { CHECK(reader.read(t) == 1); }, [&] { channel.write(2); }) == 1);
  CHECK(reader.read() == 2);
}

TEST_CASE("conflicts: with a thousand keys few operations at different keys conflict") {
  const side_by_side allowed;
  constexpr int keys = 1000, rounds = 200;
  shunt::tmap<int, int> map;
  for (int i = 0; i < keys; ++i) map.insert(2 * i, 0);
  std::mt19937 random(3);
  int lost = 0;
  for (int i = 0; i < rounds; ++i) {
    const int mine = static_cast<int>(random() % keys) * 2 + 1, other = static_cast<int>(random() % keys) * 2;
    lost += runs([&](tx& t) { map.insert(t, mine, 1); }, [&] { map.erase(other); }) - 1;
  }
  CHECK(lost <= rounds / 10);  // 1 in 100 or so
}

TEST_CASE("exceptions: an exception from any copy of an item leaves no trace") {
  const long before = item::alive;
  {
    shunt::tqueue<item> queue;
    shunt::tbqueue<item> bounded(2);
    shunt::tmvar<item> place{item(1)};
    shunt::tmap<item, item> map;
    shunt::tpriority_queue<item> ranked;
    shunt::tchan<item> channel;
    shunt::tchan<item>::reader reader(channel);
    for (const int i : {1, 2}) {
      queue.push(item(i));
      bounded.push(item(i));
      map.insert(item(i), item(i));
      ranked.push(item(i));
      channel.write(item(i));
    }
    const auto as_at_first = [&] {
      CHECK(queue.front() == item(1));
      CHECK(bounded.front() == item(1));
      CHECK(bounded.full());
      CHECK(place.read() == item(1));
      CHECK(map.size() == 2);
      CHECK(map.find(item(2)) == item(2));
      CHECK(ranked.top() == item(2));
      CHECK_FALSE(reader.empty());
    };
    as_at_first();
    const long held = item::alive;
    int thrown = 0;
    for (long fail_at = 1;; ++fail_at, ++thrown) {
      stm::tx_quiesce();
      REQUIRE(item::alive == held);
      item::until_throw = fail_at;
      try {
        atomically([&](tx& t) {
          queue.push(t, queue.pop(t));
          bounded.push(t, bounded.pop(t));
          place.put(t, place.take(t));
          map.insert(t, item(3), item(3));
          map.insert_or_assign(t, item(2), item(4));
          map.erase(t, item(1));
          ranked.push(t, ranked.pop(t));
          channel.write(t, reader.read(t));
        });
        break;
      } catch (const std::runtime_error&) {
      }
      item::until_throw = 0;
      as_at_first();
    }
    item::until_throw = 0;
    CHECK(thrown > 20);
    CHECK(queue.front() == item(2));
    CHECK(map.items() == std::vector<std::pair<item, item>>{{item(2), item(4)}, {item(3), item(3)}});
    CHECK(reader.read() == item(2));
    CHECK(reader.read() == item(1));
  }
  stm::tx_quiesce();
  CHECK(item::alive == before);
}

TEST_CASE("memory: popped, erased, read and left items are deleted; so are structures made in a transaction") {
  const long before = item::alive;
  {
    tvar<shunt::tqueue<item>*> shared{nullptr};
    const auto filled = [&](tx& t) {
      auto* const queue = t.make<shunt::tqueue<item>>();
      auto* const map = t.make<shunt::tmap<int, item>>();
      auto* const channel = t.make<shunt::tchan<item>>();
      for (int i = 0; i < 5; ++i) queue->push(t, item(i));
      for (int i = 0; i < 40; ++i) map->insert(t, i, item(i));
      channel->write(t, item(1));
      t.destroy(map);
      t.destroy(channel);
      return queue;
    };
    CHECK_THROWS_AS(atomically([&](tx& t) {
                      t.write(shared, filled(t));
                      throw undo();
                    }),
                    undo);
    CHECK(item::alive == before);
    atomically([&](tx& t) {
      t.or_else(
          [&] {
            t.write(shared, filled(t));
            t.retry();
          },
          [&] { t.write(shared, filled(t)); });
    });
    atomically([&](tx& t) { static_cast<void>(t.read(shared)->pop(t)); });
    stm::tx_quiesce();
    CHECK(item::alive == before + 4);
    atomically([&](tx& t) {
      t.destroy(t.read(shared));
      t.write(shared, nullptr);
    });
    stm::tx_quiesce();
    CHECK(item::alive == before);

    shunt::tchan<item> channel;
    shunt::tchan<item>::reader slow(channel);
    {
      shunt::tchan<item>::reader fast(channel);
      for (int i = 0; i < 10; ++i) channel.write(item(i));
      for (int i = 0; i < 10; ++i) CHECK(fast.read() == item(i));
      stm::tx_quiesce();
      CHECK(item::alive == before + 10);  // the slow reader has yet to read them
    }
    CHECK(slow.read() == item(0));
    stm::tx_quiesce();
    CHECK(item::alive == before + 9);
    shunt::tset<item> set;
    for (int i = 0; i < 100; ++i) set.insert(item(i));
    for (int i = 0; i < 100; i += 2) set.erase(item(i));
    stm::tx_quiesce();
    CHECK(item::alive == before + 9 + 50);
  }
  stm::tx_quiesce();
  CHECK(item::alive == before);
}
