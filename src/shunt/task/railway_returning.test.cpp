// Railways: results that return to the source with the train that brought the goods.
#include <shunt/task/railway.hpp>

#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

namespace {

using numbers = shunt::railway<long>;

shunt::wait_profile any_wait() {
  return GENERATE(values({shunt::wait_profile::latency, shunt::wait_profile::balanced, shunt::wait_profile::battery}));
}

/// Loads first, first + 1, ... below `end`, and notes what returns meanwhile. \return the first that was not loaded.
long circulate(numbers::loader& s, long first, long end, std::vector<long>& back) {
  while (first != end) {
    const auto space = s.board();
    if (space.empty()) return first;
    for (const long result : s.returned()) back.push_back(result);
    std::size_t loaded = 0;
    for (; loaded != space.size() && first != end; ++loaded) space[loaded] = first++;
    s.depart(loaded);
  }
  return first;
}

/// \return trains that came.
int await_all(numbers::loader& s, std::vector<long>& back) {
  int trains = 0;
  for (; auto train = s.await_returned(); ++trains) back.insert(back.end(), train.begin(), train.end());
  return trains;
}

void negate(numbers::station& s) {
  while (auto train = s.arrive()) {
    for (long& good : train) good = -good;
  }
}

std::vector<long> negated(long count) {
  std::vector<long> all(static_cast<std::size_t>(count));
  for (long i = 0; i != count; ++i) all[static_cast<std::size_t>(i)] = -i;
  return all;
}

}  // namespace

TEST_CASE("railway: every result returns once and in order, for any size and number of trains and workers") {
  const auto capacity = GENERATE(as<std::size_t>(), 1, 3, 16);
  const auto trains = GENERATE(as<std::size_t>(), 1, 2, 3, 8);
  const auto workers = GENERATE(1, 2);
  numbers line({.capacity = capacity, .trains = trains, .wait = any_wait()});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::vector<long> back;
  line.operate(in, [&](auto& s) {
    CHECK(circulate(s, 0, 500, back) == 500);
    CHECK(await_all(s, back) <= static_cast<int>(trains));
    CHECK_FALSE(s.await_returned());
  });
  line.operate(out, negate);
  line.run(workers);
  CHECK(back == negated(500));
}

TEST_CASE("railway: results return to a thread from a thread") {
  const auto trains = GENERATE(as<std::size_t>(), 1, 2);
  numbers line({.capacity = 2, .trains = trains, .wait = any_wait()});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::thread unloader([&] { line.serve(out, negate); });
  std::vector<long> back;
  circulate(in, 0, 3000, back);
  in.close();
  await_all(in, back);  // also after close()
  unloader.join();
  CHECK(back == negated(3000));
}

TEST_CASE("railway: a train that has not been out, was emptied or is unloaded brings nothing") {
  numbers line({.capacity = 2, .trains = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  CHECK(in.returned().empty());  // without a board()
  REQUIRE(in.board().size() == 2);
  CHECK(in.returned().empty());
  CHECK_FALSE(in.await_returned());
  for (const long good : {1, 2, 3, 4}) REQUIRE(in.put(good));
  REQUIRE(out.arrive());
  CHECK(out.resize(0).size() == 0);
  REQUIRE(out.arrive());
  CHECK(out.resize(1).size() == 1);
  out.depart();
  REQUIRE(in.board().size() == 2);
  CHECK(in.returned().empty());  // emptied
  REQUIRE((in.put(5) && in.put(6)));
  REQUIRE(in.board().size() == 2);
  const auto one = in.returned();
  REQUIRE(one.size() == 1);
  CHECK(one[0] == 3);
  CHECK(in.returned().empty());  // unloaded
}

TEST_CASE("railway: a station may return more results than goods came") {
  numbers line({.capacity = 3, .trains = 1});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  REQUIRE(in.put(7));
  in.depart();
  REQUIRE(out.arrive());
  std::ranges::fill(out.resize(3), 9);
  out.depart();
  REQUIRE(in.board().size() == 3);
  const auto back = in.returned();
  CHECK(std::vector<long>(back.begin(), back.end()) == std::vector<long>{9, 9, 9});
}

TEST_CASE("railway: trains that were awaited do not return again when loading goes on") {
  const auto trains = GENERATE(as<std::size_t>(), 1, 2, 5);
  numbers line({.capacity = 3, .trains = trains});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::vector<long> back;
  line.operate(in, [&](auto& s) {
    for (long first = 0; first != 120; first += 12) {
      circulate(s, first, first + 12, back);
      await_all(s, back);
      CHECK(back.size() == static_cast<std::size_t>(first + 12));
    }
  });
  line.operate(out, negate);
  line.run(GENERATE(1, 2));
  CHECK(back == negated(120));
}

TEST_CASE("railway: goods that are loaded and have not departed survive await_returned()") {
  numbers line({.capacity = 2, .trains = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  for (const long good : {1, 2, 3, 4}) REQUIRE(in.put(good));
  REQUIRE(out.arrive());
  REQUIRE(out.arrive());
  out.depart();
  REQUIRE(in.put(5));            // over what the first train brought back
  CHECK(in.returned().empty());  // it is being loaded
  const auto second = in.await_returned();
  REQUIRE(second.size() == 2);
  CHECK(second[0] == 3);
  CHECK_FALSE(in.await_returned());
  in.close();
  const auto third = out.arrive();
  REQUIRE(third.size() == 1);
  CHECK(third[0] == 5);
  CHECK_FALSE(out.arrive());
}

TEST_CASE("railway: results pass through all stations, and each source gets those of its own trains") {
  numbers line({.capacity = 4, .trains = 3});
  numbers::loader* const sources[] = {&line.source("a"), &line.source("b")};
  auto& both = line.after({sources[0], sources[1]}, "both");
  auto& last = line.after({&both}, "last");
  std::vector<long> back[2];
  for (const int i : {0, 1}) {
    line.operate(*sources[i], [&, i](auto& s) {
      circulate(s, 1000 * i, 1000 * i + 300, back[i]);
      await_all(s, back[i]);
    });
  }
  line.operate(both, [](auto& s) {
    while (auto train = s.arrive()) {
      for (long& good : train) good *= 2;
    }
  });
  line.operate(last, [](auto& s) {
    while (auto train = s.arrive()) {
      for (long& good : train) good += 1;
    }
  });
  line.run(GENERATE(1, 2));
  for (const int i : {0, 1}) {
    REQUIRE(back[i].size() == 300);
    for (long k = 0; k != 300; ++k) CHECK(back[i][static_cast<std::size_t>(k)] == 2 * (1000 * i + k) + 1);
  }
}

TEST_CASE("railway: results of any type return, and are moved out") {
  shunt::railway<std::unique_ptr<std::string>> line({.capacity = 2, .trains = 2});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::string back;
  line.operate(in, [&](auto& s) {
    for (const char c : std::string("abcdefgh")) {
      if (s.board().size() == 2) {
        for (auto& text : s.returned()) back += *std::exchange(text, nullptr);
      }
      s.put(std::make_unique<std::string>(1, c));
    }
    while (auto train = s.await_returned()) {
      for (auto& text : train) back += *std::exchange(text, nullptr);
    }
  });
  line.operate(out, [](auto& s) {
    while (auto train = s.arrive()) {
      for (auto& text : train) *text += '.';
    }
  });
  line.run();
  CHECK(back == "a.b.c.d.e.f.g.h.");
}

TEST_CASE("railway: after a failure the results of trains that had left before return, and then no more") {
  const bool last_fails = GENERATE(true, false);
  numbers line({.capacity = 2, .trains = GENERATE(as<std::size_t>(), 1, 3)});
  auto& in = line.source("in");
  auto& first = line.after({&in}, "first");
  auto& last = line.after({&first}, "last");
  std::vector<long> back;
  line.operate(in, [&](auto& s) {
    CHECK(circulate(s, 0, 1000, back) < 1000);
    await_all(s, back);
    CHECK_FALSE(s.await_returned());
  });
  const auto work = [](auto& s, bool fails) {
    while (auto train = s.arrive()) {
      if (fails && train[0] == 20) throw std::runtime_error("twenty");
    }
  };
  line.operate(first, [&](auto& s) { work(s, !last_fails); });
  line.operate(last, [&](auto& s) { work(s, last_fails); });
  CHECK_THROWS_WITH(line.run(GENERATE(1, 2)), "twenty");
  std::vector<long> before(20);
  std::iota(before.begin(), before.end(), 0);
  CHECK(back == before);
}

TEST_CASE("railway: when the last station closes early, the results of its trains return, and then no more") {
  numbers line({.capacity = 1, .trains = GENERATE(as<std::size_t>(), 1, 2, 4, 65)});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::vector<long> back;
  line.operate(in, [&](auto& s) {
    CHECK(circulate(s, 0, 1000, back) < 1000);
    await_all(s, back);
  });
  line.operate(out, [](auto& s) {
    for (int i = 0; i != 7; ++i) {
      auto train = s.arrive();
      train[0] = -train[0];
    }
  });
  line.run(GENERATE(1, 2));
  CHECK(back == negated(7));
}

TEST_CASE("railway: of two last stations one may leave, and results return from the other") {
  numbers line({.capacity = 2, .trains = 2});
  auto& in = line.source("in");
  auto& work = line.after({&in}, "work");
  auto& stays = line.after({&work}, "stays");
  auto& leaves = line.after({&work}, "leaves");
  std::vector<long> back;
  line.operate(in, [&](auto& s) {
    CHECK(circulate(s, 0, 200, back) == 200);
    await_all(s, back);
  });
  line.operate(work, negate);
  line.operate(stays, [](auto& s) {
    while (s.arrive()) {
    }
  });
  line.operate(leaves, [](auto& s) { CHECK(s.arrive()); });
  line.run(GENERATE(1, 2));
  CHECK(back == negated(200));
}

TEST_CASE("railway: after a request to stop the results of all trains that departed return") {
  numbers line({.capacity = 2, .trains = 3});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  std::vector<long> back;
  long loaded = 0;
  line.operate(in, [&](auto& s) {
    loaded = circulate(s, 0, 1'000'000, back);
    await_all(s, back);
  });
  line.operate(out, [&](auto& s) {
    while (auto train = s.arrive()) {
      if (train[0] >= 50) line.request_stop();
      for (long& good : train) good = -good;
    }
  });
  line.run(GENERATE(1, 2));
  CHECK(loaded >= 52);
  CHECK(loaded < 1'000'000);
  CHECK(back == negated(loaded));
}
