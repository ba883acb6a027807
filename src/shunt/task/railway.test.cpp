// Railways: shapes, ends, failures, waiting, counts. Trains are few and small, so that full, empty and wrap are common.
//
// Each of these changes makes a test fail: a train's sign or a station's progress stored relaxed (data race under
// ThreadSanitizer); a departure that wakes no station, a wake without its token, a last station that leaves and does
// not tell the source (hang); a source that loads one train too many (order); no end of one track's turn where several
// meet (the test of that).
#include <shunt/task/railway.hpp>

#include <atomic>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

using namespace std::chrono_literals;

namespace {

using numbers = shunt::railway<long>;

/// Puts `count` goods, first, first + 1, ...; stops if no more are wanted. \return how many it has put.
long load(numbers::loader& s, long first, long count) {
  for (long i = 0; i != count; ++i) {
    if (!s.put(first + i)) return i;
  }
  return count;
}

std::vector<long> unload(numbers::station& s) {
  std::vector<long> all;
  while (auto train = s.arrive()) all.insert(all.end(), train.begin(), train.end());
  return all;
}

std::vector<long> up_to(long count) {
  std::vector<long> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

shunt::wait_profile any_that_looks_on() {
  return GENERATE(values({shunt::wait_profile::latency, shunt::wait_profile::balanced}));
}

void inside(int workers, const std::function<void()>& body) {
  shunt::sched::runtime r({.workers = workers});
  r.run(body);
}

}  // namespace

TEST_CASE("railway: a station is put after a vector of sources, or of stations") {
  shunt::railway<int> line;
  std::vector<shunt::railway<int>::loader*> in{&line.source("a"), &line.source("b")};
  auto& sum = line.after(in, "sum");
  const std::vector<shunt::railway<int>::station*> one{&sum};
  auto& last = line.after(one, "last");
  int all = 0;
  for (auto* const source : in) line.operate(*source, [](auto& s) { static_cast<void>(s.put(21)); });
  line.operate(sum, [](auto& s) {
    while (auto train = s.arrive()) continue;
  });
  line.operate(last, [&](auto& s) {
    while (auto train = s.arrive()) {
      for (const int one_good : train) all += one_good;
    }
  });
  line.run();
  CHECK(all == 42);
}

TEST_CASE("railway: every good arrives once and in order, for any size and number of trains and workers") {
  const auto capacity = GENERATE(as<std::size_t>(), 1, 3, 16);
  const auto trains = GENERATE(as<std::size_t>(), 1, 2, 3, 8, 65);  // of one good: with headers up to 64
  const auto workers = GENERATE(1, 2);
  const auto wait =
      GENERATE(values({shunt::wait_profile::latency, shunt::wait_profile::balanced, shunt::wait_profile::battery}));
  numbers line({.capacity = capacity, .trains = trains, .wait = wait});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::vector<long> seen;
  line.operate(in, [](auto& s) { CHECK(load(s, 0, 1000) == 1000); });
  line.operate(out, [&](auto& s) {
    seen = unload(s);
    CHECK(s.ended());
  });
  line.run(workers);
  CHECK(seen == up_to(1000));
}

TEST_CASE("railway: carries goods between two threads") {
  const auto wait =
      GENERATE(values({shunt::wait_profile::latency, shunt::wait_profile::balanced, shunt::wait_profile::battery}));
  const auto trains = GENERATE(as<std::size_t>(), 1, 2);
  numbers line({.capacity = 2, .trains = trains, .wait = wait});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::thread loader([&] { line.serve(in, [](auto& s) { load(s, 0, 5000); }); });
  const auto seen = unload(out);
  loader.join();
  CHECK(seen == up_to(5000));
}

TEST_CASE("railway: carries goods between a thread and a fiber, each of which waits in turn") {
  numbers line({.capacity = 1, .trains = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  const bool thread_is_slow = GENERATE(true, false);
  // The slow one goes on when station `which` has found no train, so many times.
  const auto let_wait = [&line](std::size_t which, long times) {
    while (line.counts()[which].waits < static_cast<std::uint64_t>(times)) {
      if (shunt::sched::this_fiber::inside()) {
        shunt::sched::this_fiber::yield();
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::vector<long> seen;
  std::thread unloader([&] {
    while (auto train = out.arrive()) {
      if (thread_is_slow && train[0] < 90) let_wait(0, train[0] + 1);
      seen.push_back(train[0]);
    }
  });
  inside(1, [&] {
    line.serve(in, [&](auto& s) {
      for (long i = 0; i != 100; ++i) {
        if (!thread_is_slow) let_wait(1, i + 1);
        s.put(i);
      }
    });
  });
  unloader.join();
  CHECK(seen == up_to(100));
}

TEST_CASE("railway: a pipeline changes goods in place, and their number") {
  numbers line({.capacity = 8, .trains = 3});
  auto& in = line.source("in");
  auto& odd = line.after({&in}, "odd");       // drops the even ones
  auto& twice = line.after({&odd}, "twice");  // loads each once more
  auto& out = line.after({&twice}, "out");
  std::vector<long> seen;
  line.operate(in, [](auto& s) { load(s, 0, 100); });
  line.operate(odd, [](auto& s) {
    while (auto train = s.arrive()) {
      const auto end = std::remove_if(train.begin(), train.end(), [](long v) { return v % 2 == 0; });
      s.resize(static_cast<std::size_t>(end - train.begin()));
    }
  });
  line.operate(twice, [](auto& s) {
    while (auto train = s.arrive()) {
      const auto n = train.size();
      const auto all = s.resize(2 * n);
      for (std::size_t i = n; i-- != 0;) all[2 * i] = all[2 * i + 1] = all[i];
    }
  });
  line.operate(out, [&](auto& s) { seen = unload(s); });
  line.run(GENERATE(1, 2));
  std::vector<long> wanted;
  for (long i = 1; i < 100; i += 2) wanted.insert(wanted.end(), {i, i});
  CHECK(seen == wanted);
}

TEST_CASE("railway: in a multicast each station sees all goods; at a join, the trains that both have left") {
  struct good {
    long value = 0, left = 0, right = 0;
  };
  shunt::railway<good> line({.capacity = 4, .trains = 3});
  auto& in = line.source("in");
  auto& left = line.after({&in}, "left");
  auto& right = line.after({&in}, "right");
  auto& both = line.after({&left, &right}, "both");
  long sum = 0, wrong = 0;
  line.operate(in, [](auto& s) {
    for (long i = 0; i != 1000; ++i) s.put({i, 0, 0});
  });
  line.operate(left, [](auto& s) {
    while (auto train = s.arrive()) {
      for (good& g : train) g.left = g.value + 1;
    }
  });
  line.operate(right, [](auto& s) {
    while (auto train = s.arrive()) {
      for (good& g : train) g.right = g.value + 2;
    }
  });
  line.operate(both, [&](auto& s) {
    while (auto train = s.arrive()) {
      for (const good& g : train) {
        if (g.left != g.value + 1 || g.right != g.value + 2) ++wrong;
        sum += g.value;
      }
    }
  });
  line.run(GENERATE(1, 2, 3));
  CHECK(sum == 999 * 1000 / 2);
  CHECK(wrong == 0);
}

TEST_CASE(
    "railway: a station after several sources gets all goods, in the order of each source, and no source waits for "
    "ever") {
  numbers line({.capacity = 3, .trains = 2});
  auto& a = line.source("a");
  auto& b = line.source("b");
  auto& c = line.source("c");
  auto& out = line.after({&a, &b, &c}, "out");
  auto& next = line.after({&out}, "next");  // on all three tracks, too
  std::vector<long> seen, further;
  line.operate(a, [](auto& s) { load(s, 0, 500); });
  line.operate(b, [](auto& s) { load(s, 1000, 1); });
  line.operate(c, [](auto& s) { load(s, 2000, 700); });
  line.operate(out, [&](auto& s) { seen = unload(s); });
  line.operate(next, [&](auto& s) { further = unload(s); });
  line.run(GENERATE(1, 2));
  for (const auto& all : {seen, further}) {
    REQUIRE(all.size() == 500 + 1 + 700);
    long next_a = 0, next_c = 2000;
    for (const long v : all) {
      if (v < 1000) CHECK(v == next_a++);
      if (v >= 2000) CHECK(v == next_c++);
    }
  }
}

TEST_CASE("railway: where tracks meet, one that is always full does not keep the others waiting") {
  numbers line({.capacity = 1, .trains = 64});
  auto& busy = line.source("busy");
  auto& rare = line.source("rare");
  auto& out = line.after({&busy, &rare}, "out");
  for (long i = 0; i != 64; ++i) busy.put(i);
  rare.put(-1);
  int before = 0;
  while (out.arrive()[0] != -1) ++before;
  CHECK(before <= 8);
  busy.close();
  rare.close();
  CHECK(unload(out).size() == static_cast<std::size_t>(64 - before));
}

TEST_CASE(
    "railway: what departed before a failure is unloaded, then stations behind it get the exception; others end") {
  numbers line({.capacity = 1, .trains = 4, .wait = any_that_looks_on()});
  auto& in = line.source("in");
  auto& bad = line.after({&in}, "bad");
  auto& behind = line.after({&bad}, "behind");
  auto& beside = line.after({&in}, "beside");
  std::vector<long> seen;
  std::string what;
  bool beside_ended = false;
  line.operate(in, [](auto& s) {
    for (long i = 0; s.put(i);) ++i;  // until the source learns of the end
  });
  line.operate(bad, [](auto& s) {
    while (auto train = s.arrive()) {
      if (train[0] == 10) throw std::runtime_error("ten");
    }
  });
  line.operate(behind, [&](auto& s) {
    try {
      while (auto train = s.arrive()) seen.push_back(train[0]);
    } catch (const std::runtime_error& e) {
      what = e.what();
      throw;
    }
  });
  line.operate(beside, [&](auto& s) {
    while (s.arrive()) {
    }
    beside_ended = s.ended();
  });
  CHECK_THROWS_WITH(line.run(GENERATE(1, 2)), "ten");
  CHECK(seen == up_to(10));
  CHECK(what == "ten");
  CHECK(beside_ended);
  CHECK(line.failure() != nullptr);
}

TEST_CASE("railway: a source that fails: its goods arrive, its open train does not") {
  numbers line({.capacity = 2, .trains = 4, .wait = any_that_looks_on()});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::vector<long> seen;
  line.operate(in, [](auto& s) {
    load(s, 0, 5);
    throw std::runtime_error("dry");
  });
  line.operate(out, [&](auto& s) {
    while (auto train = s.arrive()) seen.insert(seen.end(), train.begin(), train.end());
  });
  CHECK_THROWS_WITH(line.run(), "dry");
  CHECK(seen == up_to(4));
}

TEST_CASE("railway: a last station that leaves lets the others go on; when all have left the source learns of it") {
  numbers line({.capacity = 1, .trains = 2});
  auto& in = line.source("in");
  auto& a = line.after({&in}, "a");
  auto& b = line.after({&in}, "b");
  long loaded = 0;
  std::vector<long> seen;
  line.operate(in, [&](auto& s) { loaded = load(s, 0, 1'000'000'000); });
  line.operate(a, [](auto& s) { static_cast<void>(s.arrive()); });
  line.operate(b, [&](auto& s) {
    while (seen.size() != 500) seen.push_back(s.arrive()[0]);
  });
  line.run(GENERATE(1, 2));
  CHECK(seen == up_to(500));
  CHECK(loaded >= 500);
  CHECK(loaded < 1'000'000'000);
}

TEST_CASE("railway: a station within the line that leaves ends it for those behind, and the source learns of it") {
  numbers line({.capacity = 1, .trains = 2, .wait = any_that_looks_on()});
  auto& in = line.source("in");
  auto& amid = line.after({&in}, "amid");
  auto& out = line.after({&amid}, "out");
  std::vector<long> seen;
  line.operate(in, [](auto& s) {
    for (long i = 0; s.put(i);) ++i;
  });
  line.operate(amid, [](auto& s) {
    for (int i = 0; i != 7; ++i) static_cast<void>(s.arrive());
  });
  line.operate(out, [&](auto& s) { seen = unload(s); });
  line.run(GENERATE(1, 2));
  CHECK(seen == up_to(7));
}

TEST_CASE("railway: a stop request ends the sources; nothing that departed is lost") {
  numbers line({.capacity = 4, .trains = 4, .wait = any_that_looks_on()});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::stop_source stop;
  long loaded = 0;
  std::vector<long> seen;
  line.operate(in, [&](auto& s) {
    while (s.put(loaded)) {
      if (++loaded == 1000) stop.request_stop();
    }
  });
  line.operate(out, [&](auto& s) { seen = unload(s); });
  line.run(2, stop.get_token());
  CHECK(loaded >= 1000);
  CHECK(seen == up_to(loaded));
}

TEST_CASE("railway: waits end at a deadline or a stop request, and can be repeated") {
  const auto profile = any_that_looks_on();
  numbers line({.capacity = 1, .trains = 2, .wait = profile});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  const auto body = [&] {
    CHECK_FALSE(out.arrive_for(1ms));
    CHECK_FALSE(out.ended());
    std::stop_source stop;
    std::jthread asker([&, before = line.counts()[1].waits] {
      // For latency a station polls on, and does not count that as a wait: there the request may come before it.
      while (profile != shunt::wait_profile::latency && line.counts()[1].waits == before) std::this_thread::yield();
      stop.request_stop();
    });
    CHECK_FALSE(out.arrive_until(std::chrono::steady_clock::time_point::max(), stop.get_token()));
    load(in, 0, 2);
    CHECK(in.board_for(1ms).empty());
    CHECK(in.board_until(std::chrono::steady_clock::time_point::max(), stop.get_token()).empty());
    CHECK(out.arrive_for(1ms)[0] == 0);
    CHECK(out.arrive()[0] == 1);
    in.close();
    CHECK_FALSE(out.arrive());
    CHECK(out.ended());
  };
  if (GENERATE(true, false)) {
    body();
  } else {
    inside(1, body);
  }
}

TEST_CASE("railway: a source loads a train in place, in parts; the train departs with the goods it has") {
  numbers line({.capacity = 4, .trains = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  in.depart();  // no goods: the train stays
  in.put(0);
  auto room = in.board();
  REQUIRE(room.size() == 3);
  room[0] = 1;
  in.depart(1);
  in.put(2);
  in.close();
  in.close();
  auto train = out.arrive();
  CHECK(std::vector<long>(train.begin(), train.end()) == up_to(2));
  train = out.arrive();
  REQUIRE(train.size() == 1);
  CHECK(train[0] == 2);
  CHECK_FALSE(out.arrive());
}

namespace {

/// The report of a line of which so many sources, and another one that closes, lead to a station and on to a last one.
std::string report_of_open(int sources) {
  numbers line({.capacity = 1, .trains = 2, .wait = shunt::wait_profile::battery});
  std::vector<numbers::cursor*> before;
  std::vector<numbers::loader*> open;
  auto& closes = line.source("closes");
  before.push_back(&closes);
  for (int i = 0; i != sources; ++i) before.push_back(open.emplace_back(&line.source("s" + std::to_string(i))));
  auto& first = line.after(before, "first");
  auto& last = line.after({&first}, "last");
  line.operate(closes, [](auto& s) { load(s, 0, 3); });
  line.operate(first, [](auto& s) { unload(s); });
  line.operate(last, [](auto& s) { unload(s); });
  std::string told;
  shunt::sched::runtime one(
      {.workers = 1, .stuck_after = 1ms, .end_if_stuck = false, .report = [&](std::string_view t) {
         told += t;
         for (auto* const each : open) each->close();  // no station uses them
       }});
  one.run([&] { line.run(); });
  return told;
}

}  // namespace

TEST_CASE("railway: a report of what is stuck names the sources that have not closed, of each station that waits") {
  using Catch::Contains;
  CHECK_THAT(report_of_open(1), Contains("`first`") && Contains("`last`") &&
                                    Contains("waits for a train, as source `s0` has not closed; stack "));
  CHECK_THAT(report_of_open(2), Contains("waits for a train, as sources `s0`, `s1` have not closed"));
  CHECK_THAT(report_of_open(7),
             Contains("waits for a train, as sources `s0`, `s1`, `s2`, `s3`, `s4` and 2 more have not closed"));
}

TEST_CASE("railway: resize(0) of a train of one good is a usage error that says so") {
  numbers line({.capacity = 1, .trains = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  in.put(7);
  REQUIRE(out.arrive());
  CHECK_THROWS_WITH(out.resize(0), Catch::Contains("capacity of 2"));
  CHECK(out.resize(1)[0] == 7);
}

TEST_CASE("railway: goods that own memory are neither leaked nor destroyed twice") {
  using owned = std::unique_ptr<long>;
  static_assert(shunt::railway_good<owned>);
  shunt::railway<owned> line({.capacity = 3, .trains = 2});
  auto& in = line.source();
  auto& out = line.after({&in});
  long sum = 0;
  line.operate(in, [](auto& s) {
    for (long i = 0; i != 100; ++i) s.put(std::make_unique<long>(i));
  });
  line.operate(out, [&](auto& s) {
    while (auto train = s.arrive()) {
      for (auto& g : train) sum += *std::exchange(g, nullptr);
      if (sum > 2000) break;  // the railway destroys the goods that are left in its trains
    }
  });
  line.run();
  CHECK(sum > 2000);
}

TEST_CASE("railway: if the constructor of a good throws, those made before are destroyed") {
  static int alive = 0;
  struct fragile {
    fragile() {
      if (alive == 5) throw std::runtime_error("fragile");
      ++alive;
    }
    fragile(const fragile&) = delete;
    ~fragile() { --alive; }
  };
  shunt::railway<fragile> line({.capacity = 2, .trains = 4});
  CHECK_THROWS_WITH(line.source(), "fragile");
  CHECK(alive == 0);
}

TEST_CASE("railway: counts() returns the goods, trains, waits and ages of each station") {
  numbers line({.capacity = 4, .trains = 8, .stamp_every = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  load(in, 0, 10);
  in.depart();
  auto counts = line.counts();
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].name == "in");
  CHECK(counts[0].goods == 10);
  CHECK(counts[0].trains == 3);
  CHECK(counts[0].mean_fill == Approx(10.0 / 12));
  CHECK(counts[1].name == "out");
  CHECK(counts[1].trains == 0);
  CHECK(counts[1].waiting == 3);
  in.close();
  unload(out);
  counts = line.counts();
  CHECK(counts[1].goods == 10);
  CHECK(counts[1].waiting == 0);
  CHECK(counts[1].waits == 1);  // at the end
  REQUIRE(counts[1].age != nullptr);
  CHECK(counts[1].age->count() == 1);  // the second of three
}

TEST_CASE("railway: sizes follow the options; impossible ones are usage errors that name them") {
  CHECK(numbers().capacity() == 255);  // 2 KiB, the sign in front
  CHECK(numbers().trains() == 16);
  CHECK(numbers({.latency = 1ns}).capacity() == 7);  // one cache line
  CHECK(numbers({.latency = 1s}).capacity() == 2047);
  CHECK(numbers({.capacity = 100, .bytes = 0}).trains() == 4);
  CHECK(shunt::railway<std::array<char, 100'000>>().capacity() == 1);
  CHECK(numbers({.trains = 1}).trains() == 1);
  CHECK_THROWS_WITH(numbers({.capacity = 1 << 24}), Catch::Contains("16777215"));
  struct alignas(256) wide {
    char c = 0;
  };
  shunt::railway<wide> line({.capacity = 2, .trains = 2});
  auto& in = line.source();
  CHECK(reinterpret_cast<std::uintptr_t>(in.board().data()) % 256 == 0);
  numbers other;
  auto& elsewhere = other.source("elsewhere");
  numbers mine;
  CHECK_THROWS_WITH(mine.after({&elsewhere}), Catch::Contains("elsewhere"));
  auto& once = mine.source("once");
  CHECK_THROWS_WITH(mine.after({&once, &once}), Catch::Contains("twice"));
  CHECK_THROWS_AS(mine.after({}), shunt::usage_error);
}

TEST_CASE("railway: starts and ends a hundred times, in every shape, on two workers") {
  for (int round = 0; round != 100; ++round) {
    numbers line({.capacity = 2,
                  .trains = 2,
                  .wait = round % 2 != 0 ? shunt::wait_profile::battery : shunt::wait_profile::balanced});
    auto& a = line.source("a");
    auto& b = line.source("b");
    auto& merged = line.after({&a, &b}, "merged");
    auto& left = line.after({&merged}, "left");
    auto& right = line.after({&merged}, "right");
    auto& join = line.after({&left, &right}, "join");
    std::size_t count = 0;
    const auto pass = [](auto& s) {
      while (s.arrive()) {
      }
    };
    line.operate(a, [](auto& s) { load(s, 0, 37); });
    line.operate(right, pass);
    line.operate(b, [](auto& s) { load(s, 100, 11); });
    line.operate(merged, pass);
    line.operate(left, pass);
    line.operate(join, [&](auto& s) { count = unload(s).size(); });
    line.run(2);
    REQUIRE(count == 48);
  }
}
