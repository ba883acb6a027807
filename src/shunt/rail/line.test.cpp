// Lines of stations, one step at a time: what each station finds, and which departure wakes which sleeper. The tests of
// task/railway cover goods of all kinds.
#include <shunt/rail/line.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <support/slowly.hpp>

namespace rail = shunt::rail;
using rail::poll_result;
using shunt::testing::slowly;

namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t train_bytes = 64;

rail::source& source_of(rail::line& l, std::size_t trains, bool with_headers = true) {
  return l.add_source(trains, train_bytes, train_bytes, with_headers);
}

/// Writes one good, behind the header if there is one.
void write(std::byte* train, bool with_headers, std::uint64_t good) {
  std::memcpy(train + (with_headers ? word : 0), &good, word);
}
std::uint64_t read(const std::byte* train, bool with_headers) {
  std::uint64_t good = 0;
  std::memcpy(&good, train + (with_headers ? word : 0), word);
  return good;
}

/// Loads a train with one good, and lets it depart. Contract: an empty train is here.
void load(rail::source& s, std::uint64_t good, std::uint64_t goods = 1) {
  REQUIRE(s.board());
  write(s.train(), true, good);
  s.depart(goods);
}
/// Takes the next train, of any ring, lets it depart, and returns its good.
std::uint64_t unload(rail::unloader& s) {
  std::uint64_t goods = 0;
  REQUIRE(s.arrive(goods));
  const auto good = read(s.train(), true);
  s.depart();
  return good;
}

/// A source, and two unloaders, one after the other.
struct pipeline {
  explicit pipeline(std::size_t trains, bool with_headers = true) : from(source_of(l, trains, with_headers)) {}
  rail::line l;
  rail::source& from;
  rail::unloader& middle = l.add_unloader({&from});
  rail::unloader& to = l.add_unloader({&middle});
};

/// A source, and two unloaders side by side; both are sinks.
struct branches {
  explicit branches(std::size_t trains) : from(source_of(l, trains)) {}
  rail::line l;
  rail::source& from;
  rail::unloader& one = l.add_unloader({&from});
  rail::unloader& other = l.add_unloader({&from});
};

struct counting_waker final : rail::waker {
  void wake() noexcept override { ++times; }
  std::atomic<int> times{0};
};

}  // namespace

TEST_CASE(
    "line: a train brings its goods from the source to the last unloader and goes home, with a header and without") {
  for (const bool with_headers : {true, false}) {
    CAPTURE(with_headers);
    rail::line l;
    auto& from = source_of(l, 2, with_headers);
    auto& to = l.add_unloader({&from});
    CHECK(to.is_sink());
    for (std::uint64_t p = 0; p < 7; ++p) {
      CHECK(to.poll() == poll_result::nothing);
      REQUIRE(from.poll() == poll_result::train);
      CHECK(from.train() == from.ring().first() + p % 2 * train_bytes);  // line.L1
      write(from.train(), with_headers, 100 + p);
      from.depart(with_headers ? p : 1);
      CHECK(from.departed() == p + 1);
      CHECK(to.waiting() == 1);
      std::uint64_t goods = 99;
      REQUIRE(to.arrive(goods));
      CHECK(goods == (with_headers ? p : 1));
      CHECK(to.poll() == poll_result::train);  // it stands there until it departs
      CHECK(read(to.train(), with_headers) == 100 + p);
      to.depart();
      CHECK(to.departed() == p + 1);
      CHECK(to.waiting() == 0);
    }
  }
}

TEST_CASE("line: a source that has loaded all its trains waits until the last unloader lets one go home") {
  rail::line l;
  auto& from = source_of(l, 3);
  auto& to = l.add_unloader({&from});
  for (std::uint64_t p = 0; p < 3; ++p) load(from, p);
  CHECK_FALSE(from.board());
  CHECK(from.poll() == poll_result::nothing);
  CHECK(unload(to) == 0);
  load(from, 3);
  CHECK_FALSE(from.board());
  for (std::uint64_t p = 1; p < 4; ++p) CHECK(unload(to) == p);
  CHECK(to.poll() == poll_result::nothing);
}

TEST_CASE("line: a header counts all the goods a train may carry, and differs from that of the round before") {
  rail::line l;
  auto& from = source_of(l, 1);
  auto& to = l.add_unloader({&from});
  for (const std::uint64_t goods : {rail::train_ring::most_goods, std::uint64_t{0}, rail::train_ring::most_goods - 1}) {
    std::uint64_t found = 0;
    CHECK_FALSE(to.arrive(found));  // the header of the round before is still written there
    load(from, 0, goods);
    REQUIRE(to.arrive(found));
    CHECK(found == goods);
    to.depart();
  }
}

TEST_CASE("line: an unloader gets a train once all unloaders before it have, with the goods as they left them") {
  rail::line l;
  auto& from = source_of(l, 4);
  auto& risk = l.add_unloader({&from});
  auto& log = l.add_unloader({&from});
  auto& book = l.add_unloader({&risk, &log});
  CHECK_FALSE(risk.is_sink());
  CHECK(book.is_sink());
  load(from, 1, 5);
  load(from, 2, 5);
  CHECK(book.poll() == poll_result::nothing);
  std::uint64_t goods = 0;
  REQUIRE(risk.arrive(goods));
  write(risk.train(), true, 10);
  risk.set_goods(3);
  risk.depart();
  CHECK(book.poll() == poll_result::nothing);  // log has not
  CHECK(unload(log) == 10);                    // unloaders side by side share the train
  REQUIRE(book.arrive(goods));
  CHECK(goods == 3);
  CHECK(unload(book) == 10);
  CHECK(unload(log) == 2);
  CHECK(book.poll() == poll_result::nothing);  // risk has not
  CHECK(unload(risk) == 2);
  CHECK(unload(book) == 2);
  // Only trains that have departed from `book` are free again.
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

TEST_CASE("line: of several rings, up to eight trains of one are taken in a row while those of others wait") {
  rail::line l;
  auto& a = source_of(l, 32);
  auto& b = source_of(l, 32);
  auto& to = l.add_unloader({&a, &b});
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
  CHECK(to.poll() == poll_result::nothing);
  a.end();
  CHECK(to.poll() == poll_result::nothing);
  load(b, 220);
  CHECK(unload(to) == 220);
  b.end();
  CHECK(to.poll() == poll_result::ended);
}

TEST_CASE("line: an unloader finds the trains that left before an end, then the end, which stays") {
  for (const bool fails : {false, true}) {
    pipeline line(4);
    auto& [l, from, middle, to] = line;
    load(from, 1);
    load(from, 2);
    from.end(fails);
    from.end(!fails);  // the first one stays
    const auto end = fails ? poll_result::failed : poll_result::ended;
    CHECK(unload(middle) == 1);
    CHECK(to.poll() == poll_result::train);
    CHECK(unload(middle) == 2);
    CHECK(middle.poll() == end);
    CHECK(unload(to) == 1);
    CHECK(unload(to) == 2);
    CHECK(to.poll() == poll_result::nothing);  // middle has not ended
    middle.end();
    CHECK(to.poll() == end);  // line.L4
    CHECK(to.poll() == end);
  }
}

TEST_CASE("line: stations behind one that fails get what it let go, then the failure; its sources are asked to stop") {
  rail::line l;
  auto& a = source_of(l, 4);
  auto& b = source_of(l, 4);
  auto& middle = l.add_unloader({&a, &b});
  auto& to = l.add_unloader({&middle});
  load(a, 1);
  load(a, 2);
  load(b, 3);
  CHECK(unload(middle) == 1);
  middle.end(true);
  CHECK(a.poll() == poll_result::ended);
  CHECK(b.poll() == poll_result::ended);
  CHECK(unload(to) == 1);
  CHECK(to.poll() == poll_result::failed);
}

TEST_CASE("line: a sink that ends early lets others go on, and the last sink to end asks the source to stop") {
  branches line(2);
  auto& [l, from, one, other] = line;
  load(from, 1);
  load(from, 2);
  CHECK_FALSE(from.board());
  one.end();
  CHECK_FALSE(from.board());  // the other one has both still
  CHECK(unload(other) == 1);
  load(from, 3);
  CHECK(from.poll() == poll_result::nothing);
  other.end();
  CHECK(from.poll() == poll_result::ended);
  CHECK_FALSE(from.board());
}

TEST_CASE("line: a sink that fails asks its sources to stop, whatever other sinks there are") {
  branches line(2);
  auto& [l, from, one, other] = line;
  load(from, 1);
  one.end(true);
  CHECK(from.poll() == poll_result::ended);
  CHECK(unload(other) == 1);
}

TEST_CASE("line: behind several unloaders the slowest decides the end, and a failure of any of them is one") {
  for (const bool first_is_slow : {true, false}) {
    for (const bool slow_fails : {true, false}) {
      for (const bool fast_fails : {true, false}) {
        CAPTURE(first_is_slow, slow_fails, fast_fails);
        rail::line l;
        auto& from = source_of(l, 4);
        auto& first = l.add_unloader({&from});
        auto& second = l.add_unloader({&from});
        auto& to = l.add_unloader({&first, &second});
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
        CHECK(to.poll() == poll_result::nothing);  // `fast` has ended, but another train may come
        CHECK(unload(slow) == 2);
        slow.end(slow_fails);
        CHECK(unload(to) == 2);
        CHECK(to.poll() == (slow_fails || fast_fails ? poll_result::failed : poll_result::ended));
      }
    }
  }
}

TEST_CASE("line: an unloader that has seen the end does not ask its source to stop") {
  rail::line l;
  auto& from = source_of(l, 2);
  auto& to = l.add_unloader({&from});
  from.end();
  CHECK(to.poll() == poll_result::ended);
  to.end();
  CHECK(from.poll() == poll_result::train);
}

TEST_CASE("line: an unloader amid the line that ends early ends the line for the stations behind it") {
  pipeline line(4);
  auto& [l, from, middle, to] = line;
  load(from, 1);
  load(from, 2);
  CHECK(unload(middle) == 1);
  middle.end();
  CHECK(from.poll() == poll_result::ended);
  CHECK(unload(to) == 1);
  CHECK(to.poll() == poll_result::ended);
}

TEST_CASE("line: after stop_all() sources see an end, and trains that departed still arrive") {
  rail::line l;
  auto& a = source_of(l, 2);
  auto& b = source_of(l, 2);
  auto& to = l.add_unloader({&a, &b});
  load(a, 7);
  load(a, 1);
  CHECK(unload(to) == 7);
  l.stop_all();
  CHECK_FALSE(a.board());  // though there is one
  CHECK(a.poll() == poll_result::ended);
  CHECK(b.poll() == poll_result::ended);
  CHECK(unload(to) == 1);
}

TEST_CASE("line: a source that sees its end sees what the thread that stopped the line did before") {
  rail::line l;
  auto& from = source_of(l, 2);
  l.add_unloader({&from});
  int done = 0;  // plain: edge `told`
  std::thread stops([&] {
    done = 1;
    l.stop_all();
  });
  while (from.poll() != poll_result::ended) std::this_thread::yield();
  CHECK(done == 1);
  stops.join();
}

TEST_CASE("line: the first failure stays") {
  rail::line l;
  CHECK(l.failure() == nullptr);
  l.fail(std::make_exception_ptr(std::runtime_error("first")));
  l.fail(std::make_exception_ptr(std::runtime_error("second")));
  CHECK_THROWS_WITH(std::rethrow_exception(l.failure()), "first");
}

TEST_CASE("line: a sleeper is woken once, by the next departure, end or stop that it waits for, and by no other") {
  pipeline line(1);
  auto& [l, from, middle, to] = line;
  counting_waker at_from, at_middle, at_to;
  from.set_waker(at_from);
  middle.set_waker(at_middle);
  to.set_waker(at_to);
  const auto times = [&] { return std::array<int, 3>{at_from.times, at_middle.times, at_to.times}; };
  using counts = std::array<int, 3>;

  load(from, 1);
  CHECK(times() == counts{0, 0, 0});  // no station sleeps
  from.prepare_to_wait();
  to.prepare_to_wait();
  CHECK(unload(middle) == 1);
  CHECK(times() == counts{0, 0, 1});  // the source waits for `to`
  CHECK(unload(to) == 1);
  CHECK(times() == counts{1, 0, 1});
  middle.prepare_to_wait();
  load(from, 2);
  CHECK(times() == counts{1, 1, 1});
  CHECK(unload(middle) == 2);
  CHECK(unload(to) == 2);
  CHECK(times() == counts{1, 1, 1});  // no station has fallen asleep again
  middle.prepare_to_wait();
  middle.finish_wait();
  load(from, 3);
  CHECK(times() == counts{1, 1, 1});
  from.prepare_to_wait();
  to.prepare_to_wait();
  middle.end(true);  // it asks its source to stop, and ends the line for `to`
  CHECK(times() == counts{2, 1, 2});
  from.prepare_to_wait();
  l.stop_all();
  CHECK(times() == counts{3, 1, 2});
}

TEST_CASE("line: a departure wakes all stations that sleep at its progress") {
  rail::line l;
  auto& from = source_of(l, 2);
  std::array<counting_waker, 3> wakers;
  std::vector<rail::unloader*> unloaders;
  for (auto& w : wakers) {
    unloaders.push_back(&l.add_unloader({&from}));
    unloaders.back()->set_waker(w);
    unloaders.back()->prepare_to_wait();
  }
  load(from, 1);
  for (const auto& w : wakers) CHECK(w.times == 1);
  counting_waker at_from;
  from.set_waker(at_from);
  load(from, 2);
  from.prepare_to_wait();  // for the slowest: each departure may be the one
  for (auto* const s : unloaders) {
    CHECK_FALSE(from.board());
    CHECK(unload(*s) == 1);
  }
  CHECK(at_from.times == 1);
  CHECK(from.board());
}

TEST_CASE("line: between threads every train arrives once, in order, with the goods that were written") {
  /// Visits trains until the end.
  const auto each_train = [](rail::unloader& at, const auto& visit) {
    for (auto seen = at.poll(); seen != poll_result::ended; seen = at.poll()) {
      if (seen == poll_result::nothing) {
        std::this_thread::yield();
        continue;
      }
      visit(at.train());
      at.depart();
    }
  };
  for (const std::size_t trains : {1UL, 2UL, 8UL}) {
    for (const bool with_headers : {true, false}) {
      CAPTURE(trains, with_headers);
      constexpr std::uint64_t count = 20'000 / slowly;
      pipeline line(trains, with_headers);
      std::thread first([&] {
        for (std::uint64_t i = 0; i < count; ++i) {
          while (!line.from.board()) std::this_thread::yield();
          write(line.from.train(), with_headers, i);
          line.from.depart(1);
        }
        line.from.end();
      });
      std::thread second([&] {
        each_train(line.middle, [&](std::byte* train) { write(train, with_headers, 2 * read(train, with_headers)); });
        line.middle.end();
      });
      std::uint64_t arrived = 0, wrong = 0;
      each_train(line.to, [&](const std::byte* train) { wrong += read(train, with_headers) == 2 * arrived++ ? 0 : 1; });
      first.join();
      second.join();
      CHECK(wrong == 0);
      CHECK(arrived == count);
    }
  }
}
