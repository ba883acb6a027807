// Errors name the line of the program's call.
#include <chrono>
#include <string>
#include <system_error>

#include <catch2/catch.hpp>
#include <shunt/io.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
using namespace io::testing;
using namespace std::chrono_literals;
using shunt::testing::expect_place;

namespace {

/// Runs `body` in a fiber.
void in_fiber(const std::function<void()>& body) {
  sched::runtime rt({.workers = 1});
  rt.run(body);
}

/// As programs write it: the line is that of the caller, where the deadline is left out or made.
std::string read_line(io::stream& from, const io::deadline& until = {}) { return from.read_until("\n", 80, until); }

}  // namespace

TEST_CASE("io: errors of streams name the line of the call") {
  in_fiber([] {
    auto [ours, theirs] = io::connected_pair();
    char room[4];
    expect_place<io::io_error>([&, &mine = ours] { mine.read_some(room, 0s); });
    expect_place<io::io_error>([&, &mine = ours] { mine.read_exactly(room, {0s, std::stop_token()}); });
    expect_place<io::io_error>([&mine = ours] { mine.read_until("\n", 80, io::deadline::clock::now()); });
    expect_place<io::io_error>([&mine = ours] { read_line(mine, 0s); });
    expect_place<shunt::usage_error>([&mine = ours] { mine.read_until("", 80); });
    expect_place<shunt::usage_error>([&mine = ours] { mine.read_until("\n", 0); });
    theirs.close();
    expect_place<io::end_of_stream>([&, &mine = ours] { mine.read_exactly(room); });
    expect_place<io::io_error>([&mine = ours] { mine.write("to a peer that has gone"); });
    io::buffered_reader in(ours);
    expect_place<io::end_of_stream>([&] { in.read_exactly(room); });
    expect_place<io::end_of_stream>([&] { in.peek(1), in.read_exactly(room); });
    io::buffered_writer out(ours);
    out.write("a");
    expect_place<io::io_error>([&] { out.flush(); });
    out.discard();
    ours.close();
    expect_place<io::io_error>([&mine = ours] { mine.shutdown(io::shutdown_side::both); });
    expect_place<io::io_error>([&mine = ours] { static_cast<void>(mine.local()); });
  });
}

TEST_CASE("io: errors of addresses, connections and listeners name the line of the call") {
  in_fiber([] {
    expect_place<shunt::usage_error>([] { static_cast<void>(io::listen("nonsense")); });
    expect_place<shunt::usage_error>([] { static_cast<void>(io::resolve("nonsense")); });
    expect_place<shunt::usage_error>([] { static_cast<void>(io::resolve("127.0.0.1:x")); });
    const auto door = io::listen("127.0.0.1:0");
    expect_place<io::io_error>([&] { static_cast<void>(io::listen(door.local())); });
    expect_place<io::io_error>([] { static_cast<void>(io::connect(io::address("127.0.0.1:1"))); });
    expect_place<io::io_error>([] { static_cast<void>(io::connect("127.0.0.1:1")); });
    auto closed = io::listen("127.0.0.1:0");
    closed.close();
    expect_place<io::io_error>([&] { static_cast<void>(closed.accept()); });
    io::datagram socket("127.0.0.1:0");
    char room[4];
    expect_place<io::io_error>([&] { static_cast<void>(socket.receive(room, 0s)); });
    expect_place<io::io_error>([&] { io::datagram(socket.local()); });
  });
}

TEST_CASE("io: errors of files, children, signals and descriptors name the line of the call") {
  in_fiber([] {
    expect_place<io::io_error>([] { io::file("/nowhere/at/all"); });
    expect_place<io::io_error>([] { static_cast<void>(io::spawn("/nowhere/at/all")); });
    expect_place<shunt::usage_error>([] { static_cast<void>(io::spawn("")); });
    expect_place<shunt::usage_error>([] { io::signals({}); });
    expect_place<shunt::usage_error>([] { io::signals({SIGKILL}); });
    auto ends = io::pipe();
    expect_place<io::io_error>([&] { io::readable(ends.out.base().native(), 0s); });
    char room[4];
    expect_place<io::io_error>([&] { ends.out.read_some(room, 0s); });
    ends.out.close();
    expect_place<io::io_error>([&] { ends.in.write("to a reader that has gone"); });
  });
}

TEST_CASE("io: calls outside of a fiber name their line") {
  auto [ours, theirs] = io::connected_pair();
  char room[4];
  expect_place<shunt::error>([&, &mine = ours] { mine.read_some(room); });
  expect_place<shunt::error>([&mine = theirs] { mine.write("a"); });
  expect_place<shunt::error>([] { static_cast<void>(io::connect("127.0.0.1:1")); });
  expect_place<shunt::error>([] { io::file("/dev/null"); });
}
