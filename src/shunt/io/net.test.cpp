#include <shunt/io/net.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t many = 200;  // gcc 12's ThreadSanitizer carries some 8,000 fibers in all
#else
constexpr std::size_t many = 1'000;
#endif

std::string fresh_path() {
  static std::atomic<int> count{0};
  return "unix:/tmp/shunt-io-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

/// One address for each kind of stream.
std::vector<io::address> everywhere() {
  std::vector<io::address> all{"127.0.0.1:0", fresh_path(), "unix:@shunt-io-test-" + std::to_string(getpid())};
  std::error_code bad;
  const auto six = io::listen("[::1]:0", bad);
  if (!bad) all.emplace_back("[::1]:0");  // not every machine has IPv6
  return all;
}

/// Two ends of a connection to `where`; the listener is closed.
std::pair<io::stream, io::stream> connection(const io::address& where) {
  auto door = io::listen(where);
  auto guest = io::connect(door.local());
  return {std::move(guest), door.accept()};
}

std::string read_all(io::stream& from) {
  std::string all;
  std::array<char, 1000> some{};
  while (const auto count = from.read_some(some)) all.append(some.data(), count);
  return all;
}

/// More than the buffers of two sockets hold.
std::vector<std::uint32_t> much() {
  std::vector<std::uint32_t> numbers(4 << 20);
  std::iota(numbers.begin(), numbers.end(), 7U);
  return numbers;
}

void fill(io::stream& to) {
  const std::vector<char> block(1 << 20);
  std::error_code bad;
  while (!bad) to.write(block, bad, 0s);
  expect(bad == io::errc::timed_out);
}

}  // namespace

TEST_CASE("stream: one end reads what the other writes, over each kind of address") {
  const int workers = GENERATE(1, 2);
  with_reactor(workers, [](sched::runtime& rt) {
    for (const auto& where : everywhere()) {
      auto door = io::listen(where);
      expect(where.family() == AF_UNIX ? door.local() == where : door.local().port() != 0);
      group both;
      both.spawn(rt, [&] {
        auto guest = door.accept();
        expect(guest.read_until("\n", 100) == "hello\n");
        guest.write("well come\n");
        expect(read_all(guest).empty());
      });
      auto me = io::connect(door.local());
      expect(me.peer() == door.local());
      me.write("hello\n");
      expect(me.read_until("\n", 100) == "well come\n");
      me.close();
      both.wait();
    }
  });
}

TEST_CASE("stream: bytes beyond every buffer arrive whole and in order, by partial writes") {
  const int workers = GENERATE(1, 2);
  with_reactor(workers, [](sched::runtime& rt) {
    const auto sent = much();
    for (const auto& where : everywhere()) {
      auto [one, other] = connection(where);
      std::vector<std::uint32_t> got(sent.size());
      group both;
      both.spawn(rt, [&, from = &other] { from->read_exactly(got); });
      one.write(sent);
      both.wait();
      expect(got == sent);
    }
  });
}

TEST_CASE("stream: one fiber reads while another writes") {
  with_reactor(2, [](sched::runtime& rt) {
    const auto sent = much();
    auto [one, other] = connection("127.0.0.1:0");
    std::vector<std::uint32_t> back(sent.size());
    group all;
    all.spawn(rt, [&, s = &other] {
      std::vector<char> some(100'000);
      while (const auto count = s->read_some(some)) s->write(io::const_buffer(some.data(), count));
      s->shutdown(io::shutdown_side::writing);
    });
    all.spawn(rt, [&, s = &one] {
      s->write(sent);
      s->shutdown(io::shutdown_side::writing);
    });
    one.read_exactly(back);
    expect(one.read_some(back) == 0);
    all.wait();
    expect(back == sent);
  });
}

TEST_CASE("stream: a read_exactly that finds the end says how many bytes came") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = connection("127.0.0.1:0");
    one.write("12345");
    one.close();
    std::array<char, 10> into{};
    const auto peer = other.peer().text();
    expect_thrown<io::end_of_stream>(
        [&] { other.read_exactly(into); },
        [&](const io::end_of_stream& bad) {
          expect(bad.moved() == 5);
          expect(bad.code() == io::errc::end_of_stream);
          expect(says(bad, "read_exactly from " + peer + ": end of stream after 5 bytes", "SHUNT-0305"));
        });
    std::error_code bad;
    expect(other.read_exactly(into, bad) == 0);
    expect(bad == io::errc::end_of_stream);
    expect(other.read_some(into, bad) == 0);  // to read_some the end is no error
    expect(!bad);
  });
}

TEST_CASE("stream: read_until keeps the bytes behind the delimiter, and never more than `most`") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = io::connected_pair();
    one.write("a\r\nbb\r\n\r\nccc\r");
    expect(other.read_until("\r\n", 100) == "a\r\n");
    expect(other.read_until("\r\n", 4) == "bb\r\n");
    expect(other.read_until("\r\n", 2) == "\r\n");
    std::error_code bad;
    expect(other.read_until("\r\n", 100, bad, 0s).empty());
    expect(bad == io::errc::timed_out);
    one.write("\nd");  // the delimiter comes in two pieces; no byte was lost
    expect(other.read_until("\r\n", 100) == "ccc\r\n");

    one.write("0123456789\n");
    expect_failure(io::errc::too_long, [&, s = &other] { static_cast<void>(s->read_until("\n", 8)); });
    std::array<char, 3> three{};
    expect(other.read_some(three) == 3);
    expect(three == std::array{'d', '0', '1'});
    expect(other.read_until("\n", 9) == "23456789\n");

    one.write("rest");
    one.close();
    expect_thrown<io::end_of_stream>([&] { static_cast<void>(other.read_until("\n", 100)); },
                                     [&](const io::end_of_stream& end) { expect(end.moved() == 4); });
    std::array<char, 4> four{};
    other.read_exactly(four);
    expect(four == std::array{'r', 'e', 's', 't'});
    expect(other.read_until("\n", 100).empty());

    expect_thrown<shunt::usage_error>([&] { static_cast<void>(other.read_until("", 100)); });
  });
}

TEST_CASE("stream: shutdown of one side leaves the other side as it is") {
  with_reactor(1, [](sched::runtime&) {
    for (const auto& where : everywhere()) {
      auto [one, other] = connection(where);
      one.write("question");
      one.shutdown(io::shutdown_side::writing);
      expect(read_all(other) == "question");
      other.write("answer");
      other.shutdown(io::shutdown_side::both);
      expect(read_all(one) == "answer");
      expect_failure({EPIPE, std::system_category()}, [&, s = &one] { s->write("more"); });
    }
  });
}

TEST_CASE("stream: a fiber that waits for bytes finds the end when its own reading side is shut down") {
  with_reactor(1, [](sched::runtime& rt) {
    for (const auto& where : everywhere()) {
      auto [one, other] = connection(where);
      other.write("12345");
      std::array<char, 100> into{};
      expect(one.read_some(into) == 5);
      bool ended = false;
      const auto me = this_fiber::self();
      spawn_here(rt, [&, s = &one] {
        expect(s->read_some(into) == 0);
        ended = true;
        me.wake();
      });
      one.shutdown(io::shutdown_side::reading);
      while (!ended) this_fiber::park();
      one.write("x");
      expect(other.read_some(into) == 1);
    }
  });
}

TEST_CASE("stream: bytes, urgent bytes and the end that come together are each read") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = connection("127.0.0.1:0");
    std::array<char, 100> into{};
    for (int round = 0; round < 10; ++round) {
      one.write("a");
      expect(other.read_some(into) == 1);  // from now on epoll has it, or will
      one.write("bcd");
      expect(::send(one.base().native(), "!", 1, MSG_OOB) == 1);
      one.write("ef");
      other.read_exactly(io::buffer(into.data(), 5));
      expect(std::string(into.data(), 5) == "bcdef");
    }
    one.write("g");
    one.close();
    expect(other.read_some(into) == 1);
    expect(other.read_some(into) == 0);
  });
}

TEST_CASE("stream: a peer that went away is an error that names it, and no signal") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = connection("127.0.0.1:0");
    const linger hard{1, 0};
    expect(setsockopt(one.base().native(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0);
    one.close();  // resets the connection
    std::array<char, 1> into{};
    const auto peer = other.peer().text();
    expect_thrown<io::io_error>(
        [&] { other.read_some(into); },
        [&](const io::io_error& bad) {
          expect(bad.code() == std::errc::connection_reset);
          expect(bad.known().native == ECONNRESET);
          expect(says(bad, "read_some from " + peer + ": Connection reset by peer (104)", "SHUNT-0301"));
        });
    expect_failure({EPIPE, std::system_category()}, [&, s = &other] { s->write("x"); });
  });
}

TEST_CASE("connect: an address without a listener is an error with the address") {
  with_reactor(1, [](sched::runtime&) {
    const held_port none_listens("127.0.0.1:0");
    const io::address& where = none_listens.at;
    expect_thrown<io::io_error>(
        [&] { static_cast<void>(io::connect(where)); },
        [&](const io::io_error& bad) {
          expect(bad.code() == std::errc::connection_refused);
          expect(says(bad, "connect to " + where.text() + ": Connection refused (111)", "SHUNT-0301"));
        });
    std::error_code bad;
    expect(!io::connect(fresh_path(), bad).base().is_open());
    expect(bad == std::errc::no_such_file_or_directory);
  });
}

TEST_CASE("listen: an address in use is an error; a listener removes the file of its Unix socket") {
  with_reactor(1, [](sched::runtime&) {
    for (const auto& where : everywhere()) {
      std::optional<held_port> ours;  // else another process may get the port between close() and listen()
      if (where.family() != AF_UNIX) ours.emplace(where);
      auto door = io::listen(ours ? ours->at : where);
      expect_failure({EADDRINUSE, std::system_category()}, [&] { static_cast<void>(io::listen(door.local())); });
      const auto at = door.local();
      auto moved = std::move(door);
      auto guest = io::connect(at);  // the moved-from door has not removed the file
      moved.close();
      expect(io::listen(at).local() == at);
    }
  });
}

TEST_CASE("listener: every connection goes to one of the fibers that accept") {
  with_reactor(closing_workers, [](sched::runtime& rt) {
    constexpr int accepters = 8;
    constexpr int each = 10;
    auto door = io::listen("127.0.0.1:0");
    std::atomic<int> accepted{0};
    group all;
    for (int i = 0; i < accepters; ++i) {
      all.spawn(rt, [&] {
        std::error_code bad;
        for (;;) {
          auto guest = door.accept(bad);
          if (bad) break;
          guest.write("x");
          ++accepted;
        }
        expect(bad == io::errc::closed);
      });
    }
    for (int i = 0; i < accepters * each; ++i) {
      auto me = io::connect(door.local());
      expect(read_all(me) == "x");
    }
    door.close();
    all.wait();
    expect(accepted == accepters * each);
  });
}

TEST_CASE("datagram: arrives whole, with its sender; a buffer that is too small is reported") {
  with_reactor(1, [](sched::runtime& rt) {
    for (const auto& where : {io::address("127.0.0.1:0"), io::address(fresh_path())}) {
      io::datagram one(where);
      io::datagram other(where.family() == AF_UNIX ? io::address(fresh_path()) : where);
      std::array<char, 8> into{};
      spawn_here(rt, [&] { one.send_to(other.local(), "12345"); });
      auto got = other.receive(into);
      expect(got.size == 5 && !got.truncated && got.from == one.local());
      expect(std::string(into.data(), 5) == "12345");
      one.send_to(other.local(), "0123456789");
      got = other.receive(into);
      expect(got.size == 8 && got.truncated);
      one.send_to(other.local(), "");
      expect(other.receive(into).size == 0);
      expect_failure(io::errc::timed_out, [&] { static_cast<void>(other.receive(into, 0s)); });
      if (where.family() != AF_UNIX) {
        expect_failure({EMSGSIZE, std::system_category()},
                       [&] { one.send_to(other.local(), std::string(70'000, 'x')); });
      }
    }
  });
}

TEST_CASE("datagram: to a full Unix socket waits until a fiber reads there, or for its deadline") {
  with_reactor(1, [](sched::runtime& rt) {
    io::datagram one(fresh_path());
    io::datagram other(fresh_path());
    std::error_code bad;
    std::size_t sent = 0;
    while (!bad && sent < 100'000) {
      one.send_to(other.local(), "x", bad, 0s);
      sent += !bad;
    }
    expect(bad == io::errc::timed_out);
    bool ended = false;
    const auto me = this_fiber::self();
    spawn_here(rt, [&] {
      one.send_to(other.local(), "y");
      ended = true;
      me.wake();
    });
    std::array<char, 2> into{};
    for (std::size_t i = 0; i < sent; ++i) expect(other.receive(into).size == 1 && into[0] == 'x');
    expect(other.receive(into).size == 1 && into[0] == 'y');
    while (!ended) this_fiber::park();
    const auto path = other.local().path();
    expect(::access(path.c_str(), F_OK) == 0);
    other.close();
    expect(::access(path.c_str(), F_OK) != 0);
  });
}

namespace {

/// Every call that may wait, made so that it waits. Each has the objects that it needs.
struct wait {
  const char* name;
  std::function<void(const io::deadline&, io::stream&, io::listener&, io::datagram&)> call;
};

const std::vector<wait>& waits() {
  static std::array<char, 4> into{};
  static const std::vector<wait> all{
      {"read_some", [](const io::deadline& l, io::stream& s, auto&, auto&) { s.read_some(into, l); }},
      {"read_exactly", [](const io::deadline& l, io::stream& s, auto&, auto&) { s.read_exactly(into, l); }},
      {"read_until",
       [](const io::deadline& l, io::stream& s, auto&, auto&) { static_cast<void>(s.read_until("\n", 9, l)); }},
      {"write", [](const io::deadline& l, io::stream& s, auto&, auto&) { s.write(std::string(100'000'000, 'x'), l); }},
      {"readable", [](const io::deadline& l, io::stream& s, auto&, auto&) { s.base().readable(l); }},
      {"accept", [](const io::deadline& l, auto&, io::listener& d, auto&) { static_cast<void>(d.accept(l)); }},
      {"receive", [](const io::deadline& l, auto&, auto&, io::datagram& d) { static_cast<void>(d.receive(into, l)); }},
  };
  return all;
}

/// Calls each of them on sockets of its own, on this worker, and then `meanwhile`.
void each_wait(sched::runtime& rt, const io::deadline& how_long, std::error_code wanted,
               const std::function<void(io::stream&, io::listener&, io::datagram&)>& meanwhile) {
  for (const auto& one : waits()) {
    auto ends = io::connected_pair();
    auto door = io::listen("127.0.0.1:0");
    io::datagram letters("127.0.0.1:0");
    bool ended = false;
    const auto me = this_fiber::self();
    std::string text;
    spawn_here(rt, [&] {
      try {
        one.call(how_long, ends.first, door, letters);
        text = "did not fail";
      } catch (const io::io_error& bad) {
        if (bad.code() != wanted) text = bad.what();
      }
      ended = true;
      me.wake();
    });
    meanwhile(ends.first, door, letters);
    while (!ended) this_fiber::park();
    if (!text.empty()) throw std::runtime_error(std::string(one.name) + ": " + text);
  }
}

}  // namespace

TEST_CASE("waits: end at their deadline") {
  const auto how_long =
      GENERATE(io::deadline(0s), io::deadline(-1s), io::deadline(2ms), io::deadline(std::chrono::steady_clock::now()));
  with_reactor(1, [&](sched::runtime& rt) { each_wait(rt, how_long, io::errc::timed_out, [](auto&...) {}); });
}

TEST_CASE("waits: end at a stop request, before and during the wait") {
  with_reactor(1, [&](sched::runtime& rt) {
    std::stop_source stop;
    stop.request_stop();
    each_wait(rt, stop.get_token(), io::errc::cancelled, [](auto&...) {});
    for (int with_deadline = 0; with_deadline < 2; ++with_deadline) {
      std::stop_source later;
      io::deadline how_long(later.get_token());
      if (with_deadline != 0) how_long = {std::chrono::hours(1), later.get_token()};
      each_wait(rt, how_long, io::errc::cancelled, [&](auto&...) { later.request_stop(); });
    }
  });
}

TEST_CASE("waits: end when another thread requests the stop") {
  with_reactor(1, [&](sched::runtime& rt) {
    std::stop_source stop;
    std::thread other;
    std::atomic<bool> go{false};
    other = std::thread([&] {
      while (!go) std::this_thread::yield();
      stop.request_stop();
    });
    each_wait(rt, stop.get_token(), io::errc::cancelled, [&](auto&...) { go = true; });
    other.join();
  });
}

TEST_CASE("waits: end when the object that they wait on is closed") {
  with_reactor(1, [&](sched::runtime& rt) {
    each_wait(rt, {}, io::errc::closed, [](io::stream& s, io::listener& d, io::datagram& l) {
      s.close();
      d.close();
      l.close();
      expect(!s.base().is_open());
    });
    auto [one, other] = io::connected_pair();
    std::array<char, 1> into{};
    bool ended = false;
    const auto me = this_fiber::self();
    spawn_here(rt, [&, s = &one] {
      expect_failure(io::errc::closed, [&] { s->read_some(into); });
      ended = true;
      me.wake();
    });
    one.close();
    while (!ended) this_fiber::park();
    std::array<char, 1> there{};
    expect(other.read_some(there, 5min) == 0);  // the peer has seen the close
    expect_failure(io::errc::closed, [&, s = &one] { s->read_some(into); });
    expect_failure(io::errc::closed, [&, s = &one] { s->write("x"); });
    expect_failure(io::errc::closed, [&, s = &one] { s->shutdown(io::shutdown_side::both); });
    expect(other.read_some(into) == 0);
    expect_failure(io::errc::closed, [&] { io::stream().write("x"); });
    expect_failure(io::errc::closed, [&] { static_cast<void>(io::listener().accept()); });
  });
}

TEST_CASE("close: the number is no other file's until the stream is destroyed, and calls on it fail") {
  with_reactor(1, [&](sched::runtime&) {
    auto ends = io::connected_pair();
    const int number = ends.first.base().native();
    ends.first.close();
    expect(ends.first.base().native() == -1);
    std::array<char, 1> into{};
    expect(::read(number, into.data(), 1) == -1 && errno == EBADF);
    expect(::recv(number, into.data(), 1, 0) == -1 && errno == EBADF);
    {
      std::vector<std::pair<io::stream, io::stream>> later;
      for (int i = 0; i < 8; ++i) later.push_back(io::connected_pair());
      for (const auto& [one, other] : later) expect(one.base().native() != number && other.base().native() != number);
    }
    ends.first = {};
    const int next = ::dup(ends.second.base().native());
    expect(next == number);
    ::close(next);
  });
}

TEST_CASE("close: a stream keeps bytes that came, and hands out none of them afterwards") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = io::connected_pair();
    one.write("a\nb\nc\n");
    expect(other.read_until("\n", 100) == "a\n");
    other.close();
    std::array<char, 2> two{};
    expect_failure(io::errc::closed, [&, s = &other] { static_cast<void>(s->read_until("\n", 100)); });
    expect_failure(io::errc::closed, [&, s = &other] { static_cast<void>(s->read_some(two)); });
    expect_failure(io::errc::closed, [&, s = &other] { s->read_exactly(two); });
  });
}

TEST_CASE("waits: an event wakes all fibers that wait on its side, and one that leaves before wakes no other") {
  const int workers = GENERATE(1, 3);
  with_reactor(workers, [&](sched::runtime& rt) {
    auto ends = io::connected_pair();
    const io::descriptor& shared = ends.first.base();
    std::atomic<int> late{0};
    std::atomic<int> told{0};
    std::atomic<int> left{0};
    group all;
    const auto wait_for_it = [&](const io::deadline& how_long) {
      std::error_code bad;
      shared.readable(bad, how_long);
      if (bad == io::errc::timed_out) ++late;
      if (bad == io::errc::cancelled) ++left;
      if (!bad) ++told;
    };
    std::stop_source stop;
    for (int i = 0; i < 12; ++i) {
      all.spawn(rt, [&, i] {
        if (i % 3 == 0) wait_for_it({});
        if (i % 3 == 1) wait_for_it(1ms);
        if (i % 3 == 2) wait_for_it(stop.get_token());
      });
    }
    while (late < 4) this_fiber::yield();
    stop.request_stop();
    while (left < 4) this_fiber::yield();
    expect(told == 0);
    std::error_code bad;
    shared.writable(bad, 0s);
    expect(!bad);  // the other side is independent
    ends.second.write("x");
    all.wait();
    expect(told == 4);
  });
}

TEST_CASE("waits: one that fails loses no byte, and the next goes on") {
  with_reactor(1, [&](sched::runtime&) {
    auto [one, other] = io::connected_pair();
    std::array<char, 8> into{};
    one.write("123");
    std::error_code bad;
    expect(other.read_exactly(into, bad, 0s) == 3);
    expect(bad == io::errc::timed_out && bad == std::errc::timed_out);
    one.write("45678");
    expect(other.read_exactly(io::buffer(into).from(3), bad) == 5);
    expect(!bad && std::string(into.data(), 8) == "12345678");

    fill(one);
    const auto before = one.write("x", bad, 0s);
    expect(before == 0 && bad == io::errc::timed_out);
    std::vector<char> some(1 << 20);
    while (other.read_some(some, bad, 0s) != 0) {
    }
    one.write("x", 5min);
    expect(other.read_some(some) == 1);
  });
}

TEST_CASE("connect: waits while the queue is full, until the deadline") {
  with_reactor(1, [&](sched::runtime& rt) {
    for (const auto& where : {io::address("127.0.0.1:0"), io::address(fresh_path())}) {
      auto door = io::listen(where, 0);
      std::vector<io::stream> guests;
      guests.push_back(io::connect(door.local()));  // the queue has room for it, however long the connection takes
      std::error_code bad;
      for (int i = 1; i < 16 && !bad; ++i) {
        guests.push_back(io::connect(door.local(), bad, 5ms));
      }
      expect(bad == io::errc::timed_out);
      std::stop_source stop;
      bool ended = false;
      const auto me = this_fiber::self();
      spawn_here(rt, [&] {
        std::error_code why;
        expect(!io::connect(door.local(), why, stop.get_token()).base().is_open());
        expect(why == io::errc::cancelled);
        ended = true;
        me.wake();
      });
      stop.request_stop();
      while (!ended) this_fiber::park();
    }
    // Unix: the queue empties, and the call that waited connects.
    auto door = io::listen(fresh_path(), 0);
    auto first = io::connect(door.local());
    bool ended = false;
    const auto me = this_fiber::self();
    spawn_here(rt, [&] {
      auto second = io::connect(door.local());
      expect(second.read_until("\n", 9) == "2\n");
      ended = true;
      me.wake();
    });
    door.accept().write("1\n");
    door.accept().write("2\n");
    while (!ended) this_fiber::park();
  });
}

TEST_CASE("stream: many connections at a time, each echoed by a fiber of its own") {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const auto connections = std::min<std::size_t>(many, (files.rlim_cur - 100) / 2);
  const int workers = GENERATE(1, 2);
  const bool over_tcp = GENERATE(true, false);
  with_reactor(workers, [&](sched::runtime& rt) {
    std::atomic<std::size_t> echoed{0};
    group all;
    auto door = io::listen("127.0.0.1:0");
    const auto echo = [&](io::stream& peer) {
      std::array<char, 64> some{};
      while (const auto count = peer.read_some(some)) peer.write(io::const_buffer(some.data(), count));
    };
    const auto ask = [&](io::stream& peer, std::size_t i) {
      std::array<std::uint64_t, 8> sent{};
      std::array<std::uint64_t, 8> got{};
      for (std::uint64_t round = 0; round < 10; ++round) {
        sent.fill(1'000 * i + round);
        peer.write(sent);
        peer.read_exactly(got);
        expect(got == sent);
      }
      peer.shutdown(io::shutdown_side::writing);
      expect(peer.read_some(got) == 0);
      ++echoed;
    };
    std::vector<std::pair<io::stream, io::stream>> pairs(over_tcp ? 0 : connections);
    if (over_tcp) {
      all.spawn(rt, [&] {
        for (std::size_t i = 0; i < connections; ++i) {
          auto guest = std::make_shared<io::stream>(door.accept());
          all.spawn(rt, [&, guest] { echo(*guest); });
        }
      });
      for (std::size_t i = 0; i < connections; ++i) {
        all.spawn(rt, [&, i] {
          auto me = io::connect(door.local());
          ask(me, i);
        });
      }
    } else {
      for (std::size_t i = 0; i < connections; ++i) {
        pairs[i] = io::connected_pair();
        all.spawn(rt, [&, i] {
          echo(pairs[i].first);
          pairs[i].first.close();
        });
        all.spawn(rt, [&, i] { ask(pairs[i].second, i); });
      }
    }
    all.wait();
    expect(echoed == connections);
  });
}

TEST_CASE("waits: an event that another worker fetches, between EAGAIN and waiting, is not missed") {
  const int rounds = 20'000;
  // Three ways to wait: after a short read a TCP socket waits without a further read.
  const bool limited = GENERATE(false, true);
  const bool over_tcp = GENERATE(false, true);
  std::atomic<int> got{0};  // these two outlive the reader, which may end after the writer
  std::atomic<bool> failed{false};
  with_reactor(2, [&](sched::runtime& rt) {
    auto ends = over_tcp ? connection("127.0.0.1:0") : io::connected_pair();
    std::array<char, 1> into{};
    expect_failure(io::errc::timed_out, [&] { ends.first.read_some(into, 0s); });  // registered by worker 0
    sched::spawn_options there;
    there.worker = 1;
    rt.spawn(
        [&] {
          std::array<char, 2> one{};
          std::error_code bad;
          const auto one_event = [&] {  // before a deadline, or without one
            return ends.first.read_some(one, bad, limited ? io::deadline(5min) : io::deadline()) == 1;
          };
          while (!bad && got < rounds && one_event()) ++got;
          failed = static_cast<bool>(bad);
        },
        there);
    for (int round = 1; round <= rounds && !failed; ++round) {
      ends.second.write("x");
      while (got < round && !failed) this_fiber::yield();  // the worker polls every few yields
    }
    expect(!failed && got == rounds);
  });
}

#if !defined(__SANITIZE_THREAD__)  // see closing_workers: with one worker there would be no race
TEST_CASE("stream: closing races with reading, writing and events on other workers") {
  const int rounds = 300;
  with_reactor(4, [&](sched::runtime& rt) {
    std::atomic<int> ended{0};
    for (int i = 0; i < rounds; ++i) {
      auto ends = io::connected_pair();
      group all;
      const auto until_bad = [&](auto call) {
        std::error_code bad;
        std::size_t count = 1;
        while (!bad && count != 0) count = call(bad);
        expect(!bad || bad == io::errc::closed || bad == std::errc::broken_pipe || bad == std::errc::connection_reset);
        ++ended;
      };
      for (auto* s : {&ends.first, &ends.second}) {
        all.spawn(rt, [&, s] {
          std::array<char, 100> into{};
          until_bad([&](std::error_code& bad) { return s->read_some(into, bad); });
        });
        all.spawn(rt, [&, s] {
          const std::array<char, 1000> what{};
          until_bad([&](std::error_code& bad) { return s->write(what, bad); });
        });
      }
      all.spawn(rt, [&, k = i % 7] {
        for (int n = 0; n < k; ++n) this_fiber::yield();
        ends.first.close();
        ends.second.close();
      });
      all.wait();
    }
    expect(ended == 4 * rounds);
  });
}

TEST_CASE("close: a fiber that learns of it may destroy the closed object at once, and the number may be used again") {
  const int rounds = 300;
  with_reactor(2, [&](sched::runtime& rt) {
    for (int i = 0; i < rounds; ++i) {
      std::optional<io::listener> door(io::listen(fresh_path()));
      group all;
      all.spawn(
          rt,
          [&] {
            std::error_code bad;
            expect(!door->accept(bad).base().is_open() && bad == io::errc::closed);
            door.reset();
            auto [one, other] = io::connected_pair();
            std::array<char, 1> into{};
            for (int n = 0; n < 10; ++n) {
              one.write("x", 5min);
              expect(other.read_some(into, 5min) == 1);
            }
          },
          0);
      all.spawn(
          rt,
          [&, closes = &*door, k = i % 7] {
            for (int n = 0; n < k; ++n) this_fiber::yield();
            closes->close();
          },
          1);
      all.wait();
    }
  });
}
#endif

TEST_CASE("stream: outlives its reactor, and works under the next") {
  const bool over_tcp = GENERATE(false, true);  // after a short read the next read waits at once
  std::pair<io::stream, io::stream> ends;
  const auto talk = [&](sched::runtime& rt) {
    std::array<char, 2> into{};
    group both;
    both.spawn(rt, [&] { ends.first.write("x"); });
    ends.second.read_some(into);
    both.wait();
    expect_failure(io::errc::timed_out, [&] { ends.second.read_some(into, 1ms); });
  };
  with_reactor(1, [&](sched::runtime& rt) {
    ends = over_tcp ? connection("127.0.0.1:0") : io::connected_pair();
    talk(rt);
  });
  with_reactor(2, talk);
  sched::options o;
  o.workers = 1;
  sched::runtime rt(o);
  const io::reactor waits(rt, each_backend());
  for (int run = 0; run < 3; ++run) rt.run([&] { talk(rt); });
  with_reactor(1, talk);
  rt.run([&] { talk(rt); });  // back to an epoll that still has it
}

TEST_CASE("report_fibers: names the descriptor, its peer and the purpose of each wait for io") {
  constexpr std::array acceptors{"accepts", "accepts second", "accepts third", "accepts fourth"};
  sched::runtime rt({.workers = 1});
  std::string text;
  std::string at;
  std::string local;
  const auto line_of = [&](const std::string& name) {
    const auto begin = text.find('`' + name + '`');
    return begin == text.npos ? std::string() : text.substr(begin, text.find('\n', begin) - begin);
  };
  rt.run([&] {
    auto door = io::listen("127.0.0.1:0");
    auto guest = io::connect(door.local());
    auto host = door.accept();
    at = door.local().text();
    local = guest.local().text();
    std::stop_source over;
    int ended = 0;
    for (const char* const name : acceptors) {
      rt.spawn(
          [&] {
            try {
              static_cast<void>(door.accept({over.get_token()}));
            } catch (const io::io_error&) {  // cancelled
            }
            ++ended;
          },
          {.worker = 0, .name = name});
    }
    rt.spawn(
        [&] {
          std::array<char, 10> some{};
          try {
            static_cast<void>(host.read_some(some));
          } catch (const io::io_error&) {  // its peer has gone
          }
          ++ended;
        },
        {.worker = 0, .name = "reads"});
    rt.spawn(
        [&] {
          const std::string much(64 << 20, 'x');  // beyond every buffer
          try {
            host.write(much);
          } catch (const io::io_error&) {  // its peer has gone
          }
          ++ended;
        },
        {.worker = 0, .name = "writes"});
    // Until each of them waits: the one that writes may be woken, and wait again, as the peer's buffer fills.
    const auto is_parked = [&](const std::string& name) { return line_of(name).find("parked") != std::string::npos; };
    do {
      this_fiber::yield();
      text = sched::report_fibers();
    } while (!std::ranges::all_of(acceptors, is_parked) || !is_parked("reads") || !is_parked("writes"));
    over.request_stop();
    guest.close();
    while (ended < 6) this_fiber::sleep_for(1ms);
  });
  INFO(text);
  using Catch::Matchers::Contains;
  for (const char* const name : acceptors) {
    CHECK_THAT(line_of(name), Contains("to accept from descriptor ") && Contains(" at " + at));
  }
  CHECK_THAT(line_of("reads"), Contains("to read from descriptor ") && Contains(", peer " + local));
  CHECK_THAT(line_of("writes"), Contains("to write to descriptor ") && Contains(", peer " + local));
}
