#include <shunt/io/name.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <netdb.h>

#include <catch2/catch.hpp>
#include <shunt/io.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> texts(const std::vector<io::address>& of) {
  std::vector<std::string> all;
  for (const auto& each : of) all.push_back(each.text());
  return all;
}

std::vector<std::string> resolved(std::string_view where) {
  std::vector<std::string> found;
  sched::runtime rt({.workers = 1});
  rt.run([&] { found = texts(io::resolve(where)); });
  return found;
}

}  // namespace

TEST_CASE("name: an address is what it is, without a look-up") {
  using all = std::vector<std::string>;
  CHECK(resolved("127.0.0.1:80") == all{"127.0.0.1:80"});
  CHECK(resolved("[::1]:80") == all{"[::1]:80"});
  CHECK(resolved("unix:@a") == all{"unix:@a"});
}

TEST_CASE("name: localhost, and what ends in it, is this host") {
  const std::vector<std::string> here = {"127.0.0.1:80", "[::1]:80"};
  CHECK(resolved("localhost:80") == here);
  CHECK(resolved("LocalHost.:80") == here);
  CHECK(resolved("a.b.localhost:80") == here);
}

TEST_CASE("name: the system's resolver looks up what is no address") {
  // No address as address.hpp has it, but one of the forms of inet_aton(3): the resolver needs no server for it.
  CHECK(resolved("127.1:80") == std::vector<std::string>{"127.0.0.1:80"});
}

TEST_CASE("name: a host that does not exist is an error of the resolver's category") {
  std::error_code code;
  std::string said;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    CHECK(io::resolve("no-such-host.invalid:80", code).empty());
    try {
      static_cast<void>(io::connect("no-such-host.invalid:80"));
    } catch (const io::io_error& failed) {
      said = failed.what();
    }
  });
  CHECK((code.category() == io::name_category() || code.category() == std::system_category()));
  CHECK_THAT(said, Catch::StartsWith("connect to no-such-host.invalid:80: "));
}

TEST_CASE("name: a text without host or port is a usage error") {
  const auto [text, why] = GENERATE(table<std::string, std::string>({
      {"", "has no port"},
      {"example.org", "has no port"},
      {"example.org:", "has no port"},
      {":80", "has no host"},
      {"::1:80", "stands in brackets"},
  }));
  std::string said;
  sched::runtime rt({.workers = 1});
  rt.run([&said, &where = text] {
    try {
      static_cast<void>(io::resolve(where));
    } catch (const shunt::usage_error& refused) {
      said = refused.what();
    }
  });
  CHECK_THAT(said, Catch::Contains(why) && Catch::Contains("`" + text + "`"));
}

TEST_CASE("name: a stop ends a look-up before it begins") {
  std::stop_source stop;
  stop.request_stop();
  std::error_code code;
  sched::runtime rt({.workers = 1});
  rt.run([&] { static_cast<void>(io::resolve("127.1:80", code, stop.get_token())); });
  CHECK(code == io::errc::cancelled);
}

TEST_CASE("name: a deadline in the past ends the wait, unless the answer is there; the run ends after the look-up") {
  std::error_code code;
  std::vector<io::address> found;
  sched::runtime rt({.workers = 1});
  rt.run([&] { found = io::resolve("127.1:80", code, 0s); });
  CHECK(
      (code ? code == io::errc::timed_out && found.empty() : texts(found) == std::vector<std::string>{"127.0.0.1:80"}));
}

TEST_CASE("name: a connection by name tries each address in turn") {
  std::string got;
  bool has_six = true;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    // Nothing listens at 127.0.0.1, the first address of localhost; nor does another process, meanwhile.
    std::vector<held_port> held;
    io::listener at;
    std::error_code bad = std::make_error_code(std::errc::address_in_use);
    while (bad == std::errc::address_in_use) {  // a port may be free at one address only
      held.emplace_back("127.0.0.1:0");
      at = io::listen("[::1]:" + std::to_string(held.back().at.port()), bad);
    }
    has_six = !bad;
    if (!has_six) return;
    rt.spawn([to = at.local()] {
      auto peer = io::connect("localhost:" + std::to_string(to.port()), 5min);
      peer.write("hello\n", 5min);
    });
    got = at.accept(5min).read_until("\n", 100, 5min);
  });
  if (!has_six) {
    WARN("not tested: this machine has no IPv6");
    return;
  }
  CHECK(got == "hello\n");
}

TEST_CASE("name: a listener at localhost takes a connection to localhost") {
  bool connected = false;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    auto at = io::listen("localhost:0");
    const auto peer = io::connect("localhost:" + std::to_string(at.local().port()), 5min);
    connected = peer.base().is_open();
  });
  CHECK(connected);
}
