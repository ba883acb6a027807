// Lines of stations, one step at a time: what each sees, and who wakes whom. Goods of all kinds are railway's tests.
#include <shunt/rail/line.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace rail = shunt::rail;
using rail::poll_result;

namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t train_bytes = 64;

rail::source& source_of(rail::line& l, std::size_t trains, bool with_signs = true) {
  return l.add_source(trains, train_bytes, train_bytes, with_signs);
}

/// One good, behind the sign if there is one.
void write(std::byte* train, bool with_signs, std::uint64_t good) {
  std::memcpy(train + (with_signs ? word : 0), &good, word);
}
std::uint64_t read(const std::byte* train, bool with_signs) {
  std::uint64_t good = 0;
  std::memcpy(&good, train + (with_signs ? word : 0), word);
  return good;
}

/// A train leaves that says who it is; there is one (contract).
void load(rail::source& s, std::uint64_t good, std::uint64_t goods = 1) {
  REQUIRE(s.board());
  write(s.train(), true, good);
  s.depart(goods);
}
/// The next train's good, whichever track it is of; it leaves.
std::uint64_t unload(rail::stop& s) {
  std::uint64_t goods = 0;
  REQUIRE(s.arrive(goods));
  const auto good = read(s.train(), true);
  s.depart();
  return good;
}

/// One stop after the other.
struct pipeline {
  explicit pipeline(std::size_t trains, bool with_signs = true) : from(source_of(l, trains, with_signs)) {}
  rail::line l;
  rail::source& from;
  rail::stop& middle = l.add_stop({&from});
  rail::stop& to = l.add_stop({&middle});
};

/// Two stops side by side, and nobody after them.
struct branches {
  explicit branches(std::size_t trains) : from(source_of(l, trains)) {}
  rail::line l;
  rail::source& from;
  rail::stop& one = l.add_stop({&from});
  rail::stop& other = l.add_stop({&from});
};

struct woken final : rail::sleeper {
  void wake() noexcept override { ++times; }
  std::atomic<int> times{0};
};

}  // namespace

TEST_CASE("line: a train goes from its source to the last stop and home, with its goods, with a sign and without") {
  for (const bool with_signs : {true, false}) {
    CAPTURE(with_signs);
    rail::line l;
    auto& from = source_of(l, 2, with_signs);
    auto& to = l.add_stop({&from});
    CHECK(to.is_sink());
    for (std::uint64_t p = 0; p < 7; ++p) {
      CHECK(to.look() == poll_result::nothing);
      REQUIRE(from.look() == poll_result::train);
      CHECK(from.train() == from.on().first() + p % 2 * train_bytes);  // L1
      write(from.train(), with_signs, 100 + p);
      from.depart(with_signs ? p : 1);
      CHECK(from.departed() == p + 1);
      CHECK(to.waiting() == 1);
      std::uint64_t goods = 99;
      REQUIRE(to.arrive(goods));
      CHECK(goods == (with_signs ? p : 1));
      CHECK(to.look() == poll_result::train);  // it stands there until it departs
      CHECK(read(to.train(), with_signs) == 100 + p);
      to.depart();
      CHECK(to.departed() == p + 1);
      CHECK(to.waiting() == 0);
    }
  }
}

TEST_CASE("line: a source has as many trains as it has, until the last stop gives one back") {
  rail::line l;
  auto& from = source_of(l, 3);
  auto& to = l.add_stop({&from});
  for (std::uint64_t p = 0; p < 3; ++p) load(from, p);
  CHECK_FALSE(from.board());
  CHECK(from.look() == poll_result::nothing);
  CHECK(unload(to) == 0);
  load(from, 3);
  CHECK_FALSE(from.board());
  for (std::uint64_t p = 1; p < 4; ++p) CHECK(unload(to) == p);
  CHECK(to.look() == poll_result::nothing);
}

TEST_CASE("line: a sign counts as many goods as a train may carry, and is not the sign of the train a round before") {
  rail::line l;
  auto& from = source_of(l, 1);
  auto& to = l.add_stop({&from});
  for (const std::uint64_t goods : {rail::track::most_goods, std::uint64_t{0}, rail::track::most_goods - 1}) {
    std::uint64_t found = 0;
    CHECK_FALSE(to.arrive(found));  // what the round before left is still written there
    load(from, 0, goods);
    REQUIRE(to.arrive(found));
    CHECK(found == goods);
    to.depart();
  }
}

TEST_CASE("line: a stop gets a train when all stops before it have left it, and finds what they made of it") {
  rail::line l;
  auto& from = source_of(l, 4);
  auto& risk = l.add_stop({&from});
  auto& log = l.add_stop({&from});
  auto& book = l.add_stop({&risk, &log});
  CHECK_FALSE(risk.is_sink());
  CHECK(book.is_sink());
  load(from, 1, 5);
  load(from, 2, 5);
  CHECK(book.look() == poll_result::nothing);
  std::uint64_t goods = 0;
  REQUIRE(risk.arrive(goods));
  write(risk.train(), true, 10);
  risk.carries(3);
  risk.depart();
  CHECK(book.look() == poll_result::nothing);  // log has not
  CHECK(unload(log) == 10);                    // side by side they share it
  REQUIRE(book.arrive(goods));
  CHECK(goods == 3);
  CHECK(unload(book) == 10);
  CHECK(unload(log) == 2);
  CHECK(book.look() == poll_result::nothing);  // risk has not
  CHECK(unload(risk) == 2);
  CHECK(unload(book) == 2);
  // Only what book has left is free again.
  load(from, 3);
  load(from, 4);
  load(from, 5);
  load(from, 6);
  CHECK(unload(risk) == 3);
  CHECK(unload(log) == 3);
  CHECK_FALSE(from.board());
  CHECK(unload(book) == 3);
  CHECK(from.board());
}

TEST_CASE("line: of several tracks up to eight trains of one are taken in a row while others wait") {
  rail::line l;
  auto& a = source_of(l, 32);
  auto& b = source_of(l, 32);
  auto& to = l.add_stop({&a, &b});
  for (std::uint64_t p = 0; p < 20; ++p) {
    load(a, 100 + p);
    load(b, 200 + p);
  }
  std::array<std::uint64_t, 2> next{100, 200};
  int row = 0;
  std::size_t last = 2;
  for (int i = 0; i < 40; ++i) {
    const auto good = unload(to);
    const std::size_t which = good < 200 ? 0 : 1;
    CHECK(good == next[which]++);  // each in its order
    row = which == last ? row + 1 : 1;
    last = which;
    if (next[0] < 120 && next[1] < 200 + 20) CHECK(row <= 8);
  }
  CHECK(to.look() == poll_result::nothing);
  a.end();
  CHECK(to.look() == poll_result::nothing);
  load(b, 220);
  CHECK(unload(to) == 220);
  b.end();
  CHECK(to.look() == poll_result::ended);
}

TEST_CASE("line: trains that left before an end are found, then the end, and it stays") {
  for (const bool fails : {false, true}) {
    pipeline line(4);
    auto& [l, from, middle, to] = line;
    load(from, 1);
    load(from, 2);
    from.end(fails);
    from.end(!fails);  // the first one stays
    const auto end = fails ? poll_result::failed : poll_result::ended;
    CHECK(unload(middle) == 1);
    CHECK(to.look() == poll_result::train);
    CHECK(unload(middle) == 2);
    CHECK(middle.look() == end);
    CHECK(unload(to) == 1);
    CHECK(unload(to) == 2);
    CHECK(to.look() == poll_result::nothing);  // middle has not ended
    middle.end();
    CHECK(to.look() == end);  // L4
    CHECK(to.look() == end);
  }
}

TEST_CASE("line: a stop that fails: those behind it get what it had left, then the failure; sources are told") {
  rail::line l;
  auto& a = source_of(l, 4);
  auto& b = source_of(l, 4);
  auto& middle = l.add_stop({&a, &b});
  auto& to = l.add_stop({&middle});
  load(a, 1);
  load(a, 2);
  load(b, 3);
  CHECK(unload(middle) == 1);
  middle.end(true);
  CHECK(a.look() == poll_result::ended);
  CHECK(b.look() == poll_result::ended);
  CHECK(unload(to) == 1);
  CHECK(to.look() == poll_result::failed);
}

TEST_CASE("line: a last stop that leaves lets others go on, and the last of them tells the source") {
  branches line(2);
  auto& [l, from, one, other] = line;
  load(from, 1);
  load(from, 2);
  CHECK_FALSE(from.board());
  one.end();
  CHECK_FALSE(from.board());  // the other one has both still
  CHECK(unload(other) == 1);
  load(from, 3);
  CHECK(from.look() == poll_result::nothing);
  other.end();
  CHECK(from.look() == poll_result::ended);
  CHECK_FALSE(from.board());
}

TEST_CASE("line: a last stop that fails tells its sources, whoever else is there") {
  branches line(2);
  auto& [l, from, one, other] = line;
  load(from, 1);
  one.end(true);
  CHECK(from.look() == poll_result::ended);
  CHECK(unload(other) == 1);
}

TEST_CASE("line: behind several stops the end is that of the slowest, and a failure if it is one of those's") {
  for (const bool first_is_slow : {true, false}) {
    for (const bool slow_fails : {true, false}) {
      for (const bool fast_fails : {true, false}) {
        CAPTURE(first_is_slow, slow_fails, fast_fails);
        rail::line l;
        auto& from = source_of(l, 4);
        auto& first = l.add_stop({&from});
        auto& second = l.add_stop({&from});
        auto& to = l.add_stop({&first, &second});
        auto& slow = first_is_slow ? first : second;
        auto& fast = first_is_slow ? second : first;
        load(from, 1);
        load(from, 2);
        from.end();
        CHECK(unload(fast) == 1);
        CHECK(unload(fast) == 2);
        fast.end(fast_fails);
        CHECK(unload(slow) == 1);
        CHECK(unload(to) == 1);
        CHECK(to.look() == poll_result::nothing);  // `fast` has ended, but another train may come
        CHECK(unload(slow) == 2);
        slow.end(slow_fails);
        CHECK(unload(to) == 2);
        CHECK(to.look() == (slow_fails || fast_fails ? poll_result::failed : poll_result::ended));
      }
    }
  }
}

TEST_CASE("line: a stop that has seen the end tells no source that it leaves") {
  rail::line l;
  auto& from = source_of(l, 2);
  auto& to = l.add_stop({&from});
  from.end();
  CHECK(to.look() == poll_result::ended);
  to.end();
  CHECK(from.look() == poll_result::train);
}

TEST_CASE("line: a stop amid the line that leaves ends it for those behind") {
  pipeline line(4);
  auto& [l, from, middle, to] = line;
  load(from, 1);
  load(from, 2);
  CHECK(unload(middle) == 1);
  middle.end();
  CHECK(from.look() == poll_result::ended);
  CHECK(unload(to) == 1);
  CHECK(to.look() == poll_result::ended);
}

TEST_CASE("line: told to stop, sources see an end, and what departed arrives") {
  rail::line l;
  auto& a = source_of(l, 2);
  auto& b = source_of(l, 2);
  auto& to = l.add_stop({&a, &b});
  load(a, 7);
  load(a, 1);
  CHECK(unload(to) == 7);
  l.stop_all();
  CHECK_FALSE(a.board());  // though there is one
  CHECK(a.look() == poll_result::ended);
  CHECK(b.look() == poll_result::ended);
  CHECK(unload(to) == 1);
}

TEST_CASE("line: the first failure stays") {
  rail::line l;
  CHECK(l.failure() == nullptr);
  l.fail(std::make_exception_ptr(std::runtime_error("first")));
  l.fail(std::make_exception_ptr(std::runtime_error("second")));
  CHECK_THROWS_WITH(std::rethrow_exception(l.failure()), "first");
}

TEST_CASE("line: who sleeps is woken once by the next departure, end or stop that it waits for, and by no other") {
  pipeline line(1);
  auto& [l, from, middle, to] = line;
  woken at_from, at_middle, at_to;
  from.wakes(at_from);
  middle.wakes(at_middle);
  to.wakes(at_to);
  const auto times = [&] { return std::array<int, 3>{at_from.times, at_middle.times, at_to.times}; };
  using counts = std::array<int, 3>;

  load(from, 1);
  CHECK(times() == counts{0, 0, 0});  // nobody sleeps
  from.watch();
  to.watch();
  CHECK(unload(middle) == 1);
  CHECK(times() == counts{0, 0, 1});  // the source waits for `to`
  CHECK(unload(to) == 1);
  CHECK(times() == counts{1, 0, 1});
  middle.watch();
  load(from, 2);
  CHECK(times() == counts{1, 1, 1});
  CHECK(unload(middle) == 2);
  CHECK(unload(to) == 2);
  CHECK(times() == counts{1, 1, 1});  // nobody has fallen asleep again
  middle.watch();
  middle.unwatch();
  load(from, 3);
  CHECK(times() == counts{1, 1, 1});
  from.watch();
  to.watch();
  middle.end(true);  // it tells its source, and those behind it
  CHECK(times() == counts{2, 1, 2});
  from.watch();
  l.stop_all();
  CHECK(times() == counts{3, 1, 2});
}

TEST_CASE("line: of those who sleep at one progress all are woken") {
  rail::line l;
  auto& from = source_of(l, 2);
  std::array<woken, 3> who;
  std::vector<rail::stop*> stops;
  for (auto& w : who) {
    stops.push_back(&l.add_stop({&from}));
    stops.back()->wakes(w);
    stops.back()->watch();
  }
  load(from, 1);
  for (const auto& w : who) CHECK(w.times == 1);
  woken at_from;
  from.wakes(at_from);
  load(from, 2);
  from.watch();  // for the slowest: each departure may be the one
  for (auto* const s : stops) {
    CHECK_FALSE(from.board());
    CHECK(unload(*s) == 1);
  }
  CHECK(at_from.times == 1);
  CHECK(from.board());
}

TEST_CASE("line: between threads every train arrives once, in order, with what was written") {
  /// Until the line's end.
  const auto each_train = [](rail::stop& at, const auto& visit) {
    for (auto seen = at.look(); seen != poll_result::ended; seen = at.look()) {
      if (seen == poll_result::nothing) {
        std::this_thread::yield();
        continue;
      }
      visit(at.train());
      at.depart();
    }
  };
  for (const std::size_t trains : {1UL, 2UL, 8UL}) {
    for (const bool with_signs : {true, false}) {
      CAPTURE(trains, with_signs);
      constexpr std::uint64_t count = 20'000;
      pipeline line(trains, with_signs);
      std::thread first([&] {
        for (std::uint64_t i = 0; i < count; ++i) {
          while (!line.from.board()) std::this_thread::yield();
          write(line.from.train(), with_signs, i);
          line.from.depart(1);
        }
        line.from.end();
      });
      std::thread second([&] {
        each_train(line.middle, [&](std::byte* train) { write(train, with_signs, 2 * read(train, with_signs)); });
        line.middle.end();
      });
      std::uint64_t arrived = 0, wrong = 0;
      each_train(line.to, [&](const std::byte* train) { wrong += read(train, with_signs) == 2 * arrived++ ? 0 : 1; });
      first.join();
      second.join();
      CHECK(wrong == 0);
      CHECK(arrived == count);
    }
  }
}
