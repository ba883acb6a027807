#include <shunt/io/address.hpp>

#include <string>

#include <sys/un.h>

#include <shunt/base/error.hpp>

#include <catch2/catch.hpp>

using shunt::io::address;

TEST_CASE("address: the text of an address is the text that it was made of") {
  const auto text = GENERATE(as<std::string>{}, "127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:80",
                             "[::]:0", "[2001:db8::7]:443", "unix:/tmp/a", "unix:a", "unix:@abstract");
  const address it(text);
  CHECK(it.text() == text);
  CHECK(it == address(it.text()));
}

TEST_CASE("address: tells its family, port and path") {
  CHECK(address("127.0.0.1:80").family() == AF_INET);
  CHECK(address("127.0.0.1:80").port() == 80);
  CHECK(address("[::1]:81").family() == AF_INET6);
  CHECK(address("[::1]:81").port() == 81);
  CHECK(address("[::1%lo]:81").text() == "[::1%lo]:81");
  CHECK(address("localhost:82").text() == "127.0.0.1:82");
  CHECK(address("unix:/tmp/a").family() == AF_UNIX);
  CHECK(address("unix:/tmp/a").path() == "/tmp/a");
  CHECK(address("unix:@a").path().empty());
  CHECK(address().family() == AF_UNSPEC);
  CHECK(address().text().empty());
}

TEST_CASE("address: a bad text is a usage error that names what is wrong") {
  struct bad {
    std::string text;
    std::string why;
  };
  const auto [text, why] = GENERATE(values<bad>({
      {"", "empty"},
      {"127.0.0.1", "no port"},
      {"127.0.0.1:", "no number"},
      {"127.0.0.1:65536", "`65536` is no number of 0..65535"},
      {"127.0.0.1:8o", "`8o`"},
      {"127.0.0.1:-1", "`-1`"},
      {"127.0.0.256:80", "`127.0.0.256` is no IPv4"},
      {"example.org:80", "look names up"},
      {"::1:80", "brackets"},
      {"[::1:80", "not closed"},
      {"[::1]", "no port"},
      {"[::1]80", "no port"},
      {"[::g]:80", "`::g` is no IPv6"},
      {"[::1%nowhere9]:80", "no interface `nowhere9`"},
      {"unix:", "no path"},
      {"unix:" + std::string(108, 'x'), "108 bytes, of 107"},
  }));
  CAPTURE(text);
  CHECK_THROWS_WITH(address(text), Catch::Contains(why));
  CHECK_THROWS_AS(address(text), shunt::usage_error);
}
