#include <shunt/io/buffered.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <shunt/io/child.hpp>
#include <shunt/io/net.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

/// What a source and a sink of the test did, in order: "read", "write abc".
using diary = std::vector<std::string>;

/// Gives out its pieces one read at a time, a longer one in several; then fails with `last`, or ends.
struct scripted_source {
  std::deque<std::string> pieces{};
  std::error_code last{};
  diary* events = nullptr;
  std::size_t reads = 0;
  std::size_t largest = 0;  // bytes that a read asked for at most

  std::size_t read_some(io::buffer into, std::error_code& ec, const io::deadline&) {
    ++reads;
    largest = std::max(largest, into.size());
    if (events != nullptr) events->emplace_back("read");
    ec.clear();
    if (pieces.empty()) {
      ec = last;
      return 0;
    }
    auto& next = pieces.front();
    const auto count = std::min(next.size(), into.size());
    std::memcpy(into.data(), next.data(), count);
    next.erase(0, count);
    if (next.empty()) pieces.pop_front();
    return count;
  }
};

/// Takes `room` bytes, then fails with `error`.
struct scripted_sink {
  diary events{};
  std::size_t room = std::string::npos;
  std::error_code error{EPIPE, std::system_category()};

  std::size_t write(io::const_buffer what, std::error_code& ec, const io::deadline&) {
    const auto count = std::min(room, what.size());
    if (room != std::string::npos) room -= count;
    ec = count < what.size() ? error : std::error_code();
    events.push_back("write " + std::string(reinterpret_cast<const char*>(what.data()), count));
    return count;
  }
  std::string name() const { return "the script"; }
};

/// One byte a piece.
std::deque<std::string> bytewise(std::string_view all) {
  std::deque<std::string> pieces;
  for (const char c : all) pieces.emplace_back(1, c);
  return pieces;
}

/// What `body` writes to stderr. The test's own thread only.
template <typename F>
std::string stderr_of(const F& body) {
  std::fflush(stderr);
  FILE* const file = std::tmpfile();
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  body();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  std::rewind(file);
  std::array<char, 1000> text{};
  const auto count = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return {text.data(), count};
}

}  // namespace

// --- reader ---

TEST_CASE("buffered_reader: lines are found wherever reads divide them") {
  const std::string all = "first\r\n\r\nthe third line\r\n\nx\r\r\n";
  const std::size_t capacity = GENERATE(range(1, 34));
  const std::size_t piece = GENERATE(1, 2, 3, 7, 100);
  scripted_source from;
  for (std::size_t at = 0; at < all.size(); at += piece) from.pieces.push_back(all.substr(at, piece));
  io::buffered_reader in(from, capacity);
  CHECK(in.read_until("\r\n", 100) == "first\r\n");
  CHECK(in.read_until("\r\n", 100) == "\r\n");
  CHECK(in.read_until("\r\n", 100) == "the third line\r\n");
  CHECK(in.read_until("\r\n", 100) == "\nx\r\r\n");
  CHECK(in.read_until("\r\n", 100).empty());
}

TEST_CASE("buffered_reader: a line of exactly `most` bytes is a line, one byte more is too_long and stays") {
  const std::size_t capacity = GENERATE(1, 2, 4, 7, 8, 9, 64);
  const bool in_one = GENERATE(true, false);
  scripted_source from;
  from.pieces = in_one ? std::deque<std::string>{"1234567\n12345678\n"} : bytewise("1234567\n12345678\n");
  io::buffered_reader in(from, capacity);
  CHECK(in.read_until("\n", 8) == "1234567\n");
  std::error_code ec;
  CHECK(in.read_until("\n", 8, ec).empty());
  CHECK(ec == io::errc::too_long);
  CHECK(in.buffered().substr(0, 8) == "12345678");
  expect_thrown<io::io_error>([&] { static_cast<void>(in.read_until("\n", 8)); },
                              [](const io::io_error& bad) { CHECK(bad.moved() == 8); });
  CHECK(in.read_until("\n", 9) == "12345678\n");
}

TEST_CASE("buffered_reader: `most` bounds the memory of a line, not the capacity") {
  scripted_source from;
  from.pieces = {std::string(100'000, 'x')};
  io::buffered_reader in(from, 16);
  std::error_code ec;
  CHECK(in.read_until("\n", 1000, ec).empty());
  CHECK(ec == io::errc::too_long);
  CHECK(in.buffered().size() == 1000);
  CHECK(from.largest <= 1000);
}

TEST_CASE("buffered_reader: after a call that made the buffer grow, reads go back to the capacity") {
  scripted_source from;
  from.pieces = {std::string(100, 'x'), std::string(1000, 'y')};
  io::buffered_reader in(from, 16);
  CHECK(in.peek(100) == std::string(100, 'x'));
  in.consume(100);
  from.largest = 0;
  CHECK(in.peek(1).size() == 16);
  CHECK(from.largest == 16);
}

TEST_CASE("buffered_reader: an end amid a line is an error, and the bytes stay") {
  scripted_source from;
  from.pieces = {"whole\nhal", "f"};
  io::buffered_reader in(from);
  CHECK(in.read_until("\n", 100) == "whole\n");
  expect_thrown<io::end_of_stream>([&] { static_cast<void>(in.read_until("\n", 100)); },
                                   [](const io::end_of_stream& bad) { CHECK(bad.moved() == 4); });
  CHECK(in.buffered() == "half");
  expect_thrown<io::end_of_stream>([&] { static_cast<void>(in.peek(5)); },
                                   [](const io::end_of_stream& bad) { CHECK(bad.moved() == 4); });
  std::array<char, 10> into{};
  std::error_code ec;
  CHECK(in.read_exactly(into, ec) == 4);
  CHECK(ec == io::errc::end_of_stream);
  CHECK(std::string_view(into.data(), 4) == "half");
  CHECK(in.read_some(into) == 0);
  CHECK(in.peek(1).empty());
  CHECK(in.read_until("\n", 100).empty());
}

TEST_CASE("buffered_reader: peek consumes nothing, consume moves on, and neither reads more than it must") {
  scripted_source from;
  from.pieces = {"ab", "cd", "ef"};
  io::buffered_reader in(from);
  CHECK(in.buffered().empty());
  CHECK(from.reads == 0);
  CHECK(in.peek(0).empty());
  CHECK(from.reads == 0);
  CHECK(in.peek(1) == "ab");
  CHECK(in.peek(2) == "ab");
  CHECK(from.reads == 1);
  CHECK(in.peek(3) == "abcd");
  in.consume(3);
  CHECK(in.buffered() == "d");
  CHECK(in.peek(1) == "d");
  CHECK(from.reads == 2);
  CHECK(in.peek(2) == "def");
}

TEST_CASE("buffered_reader: a view stays valid until the next read") {
  scripted_source from;
  from.pieces = {"one\ntwo\n"};
  io::buffered_reader in(from, 8);
  const auto one = in.read_until("\n", 8);
  CHECK(in.buffered() == "two\n");
  in.consume(4);
  CHECK(one == "one\n");
}

TEST_CASE("buffered_reader: a parser that asks for a byte more each time sees each prefix grow") {
  const std::string all = "a request that lies across many reads";
  scripted_source from;
  from.pieces = bytewise(all);
  io::buffered_reader in(from, GENERATE(1, 5, 64));
  for (std::size_t i = 1; i <= all.size(); ++i) CHECK(in.peek(in.buffered().size() + 1) == all.substr(0, i));
}

TEST_CASE("buffered_reader: a large read empties the buffer first, and goes around it") {
  scripted_source from;
  from.pieces = {"ab", std::string(100, 'x')};
  io::buffered_reader in(from, 8);
  CHECK(in.peek(1) == "ab");
  std::array<char, 50> into{};
  in.read_exactly(into);
  CHECK(std::string_view(into.data(), 50) == "ab" + std::string(48, 'x'));
  CHECK(from.largest == 48);
  CHECK(in.buffered().empty());
  CHECK(in.read_some({into.data(), 3}) == 3);
  CHECK(in.buffered().size() == 5);
  CHECK(in.read_some(into) == 5);
  CHECK(in.read_some({into.data(), 0}) == 0);
}

TEST_CASE("buffered_reader: a failed read loses nothing, and the next one goes on") {
  scripted_source from;
  from.pieces = {"ab"};
  from.last = io::errc::timed_out;
  io::buffered_reader in(from);
  std::error_code ec;
  CHECK(in.peek(4, ec) == "ab");
  CHECK(ec == io::errc::timed_out);
  CHECK(in.read_until("\n", 10, ec).empty());
  CHECK(ec == io::errc::timed_out);
  from.pieces = {"c\n"};
  CHECK(in.read_until("\n", 10, ec) == "abc\n");
  CHECK(!ec);
  std::array<char, 4> into{};
  from.pieces = {"de"};
  CHECK(in.read_exactly(into, ec) == 2);
  CHECK(ec == io::errc::timed_out);
  CHECK(std::string_view(into.data(), 2) == "de");
}

TEST_CASE("buffered_reader, buffered_writer: what cannot be asked for is a usage_error") {
  scripted_source from;
  scripted_sink to;
  expect_thrown<shunt::usage_error>([&] { const io::buffered_reader in(from, 0); });
  expect_thrown<shunt::usage_error>([&] { const io::buffered_writer out(to, 0); });
  io::buffered_reader in(from);
  expect_thrown<shunt::usage_error>([&] { static_cast<void>(in.read_until("", 10)); });
  expect_thrown<shunt::usage_error>([&] { static_cast<void>(in.read_until("\n", 0)); });
}

// --- writer ---

TEST_CASE("buffered_writer: small pieces leave together, in order, when flushed or when the buffer is full") {
  scripted_sink to;
  io::buffered_writer out(to, 8);
  out.write("abc");
  out.write("");
  out.write("defgh");
  CHECK(out.pending() == 8);
  CHECK(to.events.empty());
  out.write("ij");
  CHECK(to.events == diary{"write abcdefgh"});
  CHECK(out.pending() == 2);
  out.flush();
  out.flush();
  CHECK(to.events == diary{"write abcdefgh", "write ij"});
  CHECK(out.pending() == 0);
}

TEST_CASE("buffered_writer: a large write fills the buffer, and the rest goes around it") {
  scripted_sink to;
  io::buffered_writer out(to, 4);
  out.write("a");
  out.write("bcdefghijk");
  CHECK(to.events == diary{"write abcd", "write efghijk"});
  CHECK(out.pending() == 0);
  out.write("lmnop");
  CHECK(to.events.back() == "write lmnop");
  out.write("qrst");  // fits
  CHECK(to.events.back() == "write lmnop");
  out.write("u");
  CHECK(to.events.back() == "write qrst");
  CHECK(out.pending() == 1);
  out.flush();
}

TEST_CASE("buffered_writer: after a failure each byte is pending, written, or not taken, and none is twice") {
  const std::size_t room = GENERATE(range(0, 14));
  const std::size_t capacity = GENERATE(1, 3, 4, 5, 20);
  const std::string all = "abcdefghijklm";
  scripted_sink to;
  to.room = room;
  io::buffered_writer out(to, capacity);
  std::size_t taken = 0;
  std::error_code ec;
  for (std::size_t at = 0; at < all.size() && !ec; at += 6) {
    const auto piece = std::string_view(all).substr(at, 6);
    const auto count = out.write(piece, ec);
    taken += count;
    CHECK((count == piece.size() || ec));
  }
  if (!ec) out.flush(ec);
  std::string written;
  for (const auto& one : to.events) written += one.substr(6);
  CHECK(written.size() + out.pending() == taken);
  CHECK(static_cast<bool>(ec) == (room < all.size()));

  to.room = std::string::npos;
  to.events.clear();
  out.write(std::string_view(all).substr(taken));
  out.flush();
  for (const auto& one : to.events) written += one.substr(6);
  CHECK(written == all);
}

TEST_CASE("buffered_writer: errors name the call and the sink, and say how many bytes moved") {
  scripted_sink to;
  to.room = 3;
  io::buffered_writer out(to, 8);
  out.write("abcde");
  expect_thrown<io::io_error>([&] { out.flush(); },
                              [](const io::io_error& bad) {
                                CHECK(says(bad, "flush to the script: Broken pipe (32) after 3 bytes", "SHUNT-0301"));
                                CHECK(bad.moved() == 3);
                              });
  CHECK(out.pending() == 2);
  expect_thrown<io::io_error>([&] { out.write("0123456789"); },
                              [](const io::io_error& bad) { CHECK(bad.moved() == 6); });
  CHECK(out.pending() == 8);
  out.discard();
  CHECK(out.pending() == 0);
}

TEST_CASE("buffered_writer: what is lost with it is told, unless the program knows") {
  scripted_sink to;
  const auto told = stderr_of([&] {
    io::buffered_writer out(to);
    out.write("abc");
  });
  CHECK(told == "shunt: a buffered_writer to the script was destroyed with 3 bytes that were not flushed\n");
  const auto untold = stderr_of([&] {
    {
      const io::buffered_writer unused(to);
    }
    {
      io::buffered_writer dropped(to);
      dropped.write("abc");
      dropped.discard();
    }
    {
      io::buffered_writer flushed(to);
      flushed.write("abc");
      flushed.flush();
    }
    try {
      io::buffered_writer left(to);
      left.write("abc");
      throw std::runtime_error("the program's own");
    } catch (const std::runtime_error&) {
    }
    to.room = 0;
    io::buffered_writer failed(to);
    failed.write("abc");
    std::error_code ec;
    failed.flush(ec);
    CHECK(ec);
  });
  CHECK(untold.empty());
  to.room = std::string::npos;
  const auto later = stderr_of([&] {
    io::buffered_writer recovered(to);
    to.room = 0;
    recovered.write("abc");
    std::error_code ec;
    recovered.flush(ec);
    to.room = std::string::npos;
    recovered.flush();
    recovered.write("d");
  });
  CHECK(later.find("with 1 bytes") != std::string::npos);
}

// --- both ---

TEST_CASE("buffered_reader: a tied writer is flushed before each call of the system, and at no other time") {
  scripted_sink to;
  scripted_source from;
  from.events = &to.events;
  from.pieces = {"1\n2\n3", "\n"};
  io::buffered_writer out(to);
  io::buffered_reader in(from, out);
  CHECK(in.read_until("\n", 10) == "1\n");
  out.write("a");
  CHECK(in.read_until("\n", 10) == "2\n");
  out.write("b");
  CHECK(to.events == diary{"read"});
  CHECK(in.read_until("\n", 10) == "3\n");
  CHECK(to.events == diary{"read", "write ab", "read"});
  out.write("c");
  CHECK(in.peek(1).empty());  // the end
  CHECK(to.events == diary{"read", "write ab", "read", "write c", "read"});
  out.write("d");
  std::array<char, 64 * 1024> large{};
  CHECK(in.read_some(large) == 0);
  CHECK(to.events.back() == "read");
  CHECK(*(to.events.end() - 2) == "write d");
}

TEST_CASE("buffered_reader: where the flush fails the read fails, and gives out what is buffered all the same") {
  scripted_sink to;
  to.room = 1;
  scripted_source from;
  from.pieces = {"1\n2", "\n"};
  io::buffered_writer out(to);
  io::buffered_reader in(from, out);
  static_cast<void>(in.peek(1));
  out.write("abc");
  CHECK(in.read_until("\n", 10) == "1\n");
  expect_thrown<io::io_error>(
      [&] { static_cast<void>(in.read_until("\n", 10)); },
      [](const io::io_error& bad) {
        CHECK(std::string(bad.what()).find("flush to the script, before read_until from an object") == 0);
        CHECK(bad.code() == std::errc::broken_pipe);
      });
  CHECK(from.reads == 1);
  CHECK(out.pending() == 2);
  CHECK(in.buffered() == "2");
  to.room = std::string::npos;
  CHECK(in.read_until("\n", 10) == "2\n");
  CHECK(to.events == diary{"write a", "write bc"});
}

TEST_CASE("buffered: a pipelined conversation of 10,000 requests, over sockets") {
  const int workers = GENERATE(1, 2);
  const std::size_t capacity = GENERATE(3, 64, 16 * 1024);
  with_reactor(workers, [&](sched::runtime& rt) {
    constexpr int requests = 10'000;
    const std::string own = "unix:@shunt-buffered-test-" + std::to_string(getpid());  // no other process's
    for (const io::address where : {std::string("127.0.0.1:0"), own}) {
      auto door = io::listen(where);
      group both;
      both.spawn(rt, [&] {
        auto peer = door.accept();
        io::buffered_writer out(peer, capacity);
        io::buffered_reader in(peer, out, capacity);
        for (;;) {
          const auto line = in.read_until("\n", 100);
          if (line.empty()) break;
          out.write("= ");
          out.write(line);
        }
        expect(out.pending() == 0);
      });
      auto peer = io::connect(door.local());
      group halves;
      halves.spawn(rt, [&] {
        io::buffered_writer out(peer, capacity);
        for (int i = 0; i < requests; ++i) out.write(std::to_string(i) + "\n");
        out.flush();
        peer.shutdown(io::shutdown_side::writing);
      });
      io::buffered_reader in(peer, capacity);
      for (int i = 0; i < requests; ++i) expect(in.read_until("\n", 100) == "= " + std::to_string(i) + "\n");
      expect(in.peek(1).empty());
      halves.wait();
      both.wait();
    }
  });
}

TEST_CASE("buffered_reader: a reply does not wait for a peer that sends no more") {
  with_reactor(1, [](sched::runtime& rt) {
    auto [one, other] = io::connected_pair();
    group both;
    both.spawn(rt, [&, s = &other] {
      io::buffered_writer out(*s);
      io::buffered_reader in(*s, out);
      while (!in.peek(3).empty()) {  // a request has three bytes
        out.write(in.buffered().substr(0, 3));
        in.consume(3);
      }
    });
    std::array<char, 3> back{};
    one.write("abcd");  // a request, and a part of the next one
    one.read_exactly(back);
    expect(std::string_view(back.data(), 3) == "abc");
    one.write("ef");
    one.read_exactly(back);
    expect(std::string_view(back.data(), 3) == "def");
    one.shutdown(io::shutdown_side::writing);
    both.wait();
  });
}

TEST_CASE("buffered: deadlines, cancellation and close end a wait, of the read and of the flush before it") {
  with_reactor(2, [](sched::runtime& rt) {
    auto [one, other] = io::connected_pair();
    io::buffered_writer out(one);
    io::buffered_reader in(one, out);
    other.write("ab");
    std::error_code ec;
    expect(in.read_until("\n", 10, ec, 0s).empty() && ec == io::errc::timed_out);
    expect(in.read_until("\n", 10, ec, 1ms).empty() && ec == io::errc::timed_out);
    expect(in.buffered() == "ab");

    // The peer does not read: the flush waits, and has the read's deadline.
    const std::vector<char> block(1 << 20);
    while (!ec || ec == io::errc::timed_out) {
      if (out.write(block, ec, 0s) < block.size()) break;
    }
    expect(ec == io::errc::timed_out);
    while (out.pending() == 0) out.write("x");
    const auto before = out.pending();
    expect(in.peek(3, ec, 1ms) == "ab" && ec == io::errc::timed_out);
    expect(out.pending() == before);
    expect_thrown<io::io_error>([&] { static_cast<void>(in.peek(3, 1ms)); },
                                [](const io::io_error& bad) {
                                  expect(bad.code() == std::errc::timed_out);
                                  expect(std::string(bad.what()).find("flush to ") == 0, bad.what());
                                });
    std::stop_source stop;
    stop.request_stop();
    expect(in.peek(3, ec, stop.get_token()) == "ab" && ec == io::errc::cancelled);
    other.close();
    expect(in.peek(3, ec) == "ab" && ec == std::errc::broken_pipe);
    out.discard();

    auto [third, fourth] = io::connected_pair();
    group closer;
    closer.spawn(rt, [s = &third] { s->close(); }, sched::this_worker::index());
    io::buffered_reader waits(third);
    expect_failure(io::errc::closed, [&] { static_cast<void>(waits.peek(1)); });
    closer.wait();
  });
}

TEST_CASE("buffered_writer: a second fiber that meets a flush under way is refused") {
  with_reactor(1, [](sched::runtime& rt) {
    auto [one, other] = io::connected_pair();
    std::error_code ec;
    const std::vector<char> block(1 << 20);
    while (!ec) one.write(block, ec, 0s);
    io::buffered_writer out(one);
    out.write("x");
    group both;
    bool flushed = false;
    both.spawn(rt, [&] {
      out.flush();
      flushed = true;
    });
    sched::this_fiber::yield();
    expect(!flushed && out.pending() == 1);
    expect_thrown<shunt::usage_error>([&] { out.write("y"); });
    expect_thrown<shunt::usage_error>([&] { out.flush(); });
    expect_thrown<shunt::usage_error>([&] { out.discard(); });
    std::vector<char> drain(1 << 20);
    while (!flushed) {
      static_cast<void>(other.read_some(drain));
      sched::this_fiber::yield();
    }
    both.wait();
    expect(out.pending() == 0);
  });
}

TEST_CASE("buffered: pipes, children and files") {
  with_reactor(1, [](sched::runtime& rt) {
    auto ends = io::pipe();
    {
      io::buffered_writer out(ends.in);
      out.write("through ");
      out.write("a pipe\n");
      out.flush();
    }
    ends.in.close();
    io::buffered_reader in(ends.out);
    expect(in.read_until("\n", 80) == "through a pipe\n");
    expect(in.read_until("\n", 80).empty());

    using use = io::child_options::use;
    auto cat = io::spawn("cat", {}, {.in = use::pipe, .out = use::pipe});
    group writes;
    writes.spawn(rt, [&] {
      io::buffered_writer out(cat.in(), 64);
      for (int i = 0; i < 1000; ++i) out.write(std::to_string(i) + "\n");
      out.flush();
      cat.in().close();
    });
    io::buffered_reader lines(cat.out(), 32);
    for (int i = 0; i < 1000; ++i) expect(lines.read_until("\n", 80) == std::to_string(i) + "\n");
    expect(lines.peek(1).empty());
    writes.wait();
    expect(cat.wait().good());

    const auto path = std::filesystem::temp_directory_path() / ("shunt-buffered-test-" + std::to_string(getpid()));
    io::file both(path, io::file::mode::replace);
    io::buffered_writer out(both, 5, 16);
    for (int i = 0; i < 100; ++i) out.write(std::to_string(i) + "\n");
    out.flush();
    io::buffered_reader from(both, 5, 16);
    for (int i = 0; i < 100; ++i) expect(from.read_until("\n", 80) == std::to_string(i) + "\n");
    expect(from.read_until("\n", 80).empty());
    both.close();
    std::filesystem::remove(path);
    out.write("x");
    expect_thrown<io::io_error>([&] { out.flush(); },
                                [&](const io::io_error& bad) {
                                  expect(std::string(bad.what()).find("flush to " + path.string()) == 0, bad.what());
                                });
  });
}

TEST_CASE("buffered_reader: what a stream's own read_until left behind comes first") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = io::connected_pair();
    one.write("a\nb\nc\n");
    expect(other.read_until("\n", 10) == "a\n");
    io::buffered_reader in(other);
    expect(in.read_until("\n", 10) == "b\n");
    expect(in.read_until("\n", 10) == "c\n");
  });
}
