#include <shunt/io/http.hpp>

#if __has_include(<boost/beast/http/parser.hpp>)

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/io.hpp>
#include <shunt/sync/latch.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace http = shunt::io::http;
namespace sched = shunt::sched;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

using handler = std::function<http::response(const http::request&)>;

/// Runs `client` with a server's address, and stops the server when it returns.
void with_server(const handler& replies, const http::server_options& how,
                 const std::function<void(const std::string&, sched::runtime&)>& client) {
  with_reactor(2, [&](sched::runtime& rt) {
    auto door = io::listen("127.0.0.1:0");
    std::stop_source stop;
    shunt::sync::latch over(1);
    rt.spawn([&] {
      http::serve(door, replies, how, stop.get_token());
      over.count_down();
    });
    client(door.local().text(), rt);
    stop.request_stop();
    over.wait();
  });
}

/// The reply up to the connection's end, for bytes that are sent as they are.
std::string raw(const std::string& at, std::string_view bytes) {
  auto peer = io::connect(at, 5min);
  peer.write(bytes, 5min);
  peer.shutdown(io::shutdown_side::writing);
  std::string all;
  char room[1000];
  std::error_code ec;
  while (const auto came = peer.read_some(io::buffer(room, sizeof room), ec, 5min)) all.append(room, came);
  return all;
}

std::string first_line(const std::string& of) { return of.substr(0, of.find("\r\n")); }

http::response echo(const http::request& asked) {
  return http::response(asked.method + " " + asked.target + " " + asked.body + "\n");
}

}  // namespace

TEST_CASE("http: fields are found whatever the case of their letters, and keep their order") {
  http::fields some{{"Accept", "text/html"}, {"X-Mine", "1"}, {"x-mine", "2"}};
  CHECK(*some.find("accept") == "text/html");
  CHECK(some.get("X-MINE") == "1");
  CHECK(some.get("absent", "none") == "none");
  some.set("X-mine", "3");
  CHECK(some.size() == 2);
  CHECK(some.get("x-mine") == "3");
  CHECK(some.erase("ACCEPT") == 1);
  CHECK(some.find("Accept") == nullptr);
  CHECK(some.begin()->name == "X-mine");
}

TEST_CASE("http: a field cannot smuggle in another one") {
  http::fields some;
  expect_thrown<shunt::usage_error>(
      [&] { some.add("Set-Cookie", "a\r\nX: b"); },
      [](const auto& bad) { expect(std::string(bad.what()).find("line break") != std::string::npos, bad.what()); });
  for (const char* name : {"", "a b", "a:", "a\r\n", "ä"}) {
    INFO(name);
    CHECK_THROWS_AS(some.add(name, "x"), shunt::usage_error);
  }
  CHECK_THROWS_AS(some.set("X", std::string_view("a\0b", 3)), shunt::usage_error);
  CHECK(some.size() == 0);
}

TEST_CASE("http: parameters are decoded") {
  http::request asked{.target = "/find%20it?q=two%20words+and&empty&x=%4&y=%41%zz&q=again"};
  CHECK(asked.path() == "/find%20it");
  CHECK(*asked.parameter("q") == "two words and");
  CHECK(*asked.parameter("empty") == "");
  CHECK(*asked.parameter("x") == "%4");
  CHECK(*asked.parameter("y") == "A%zz");
  CHECK(!asked.parameter("z"));
  CHECK(!http::request{.target = "/"}.parameter(""));
  CHECK(http::decoded(asked.path()) == "/find it");
  CHECK(http::decoded("1+1%3d2%") == "1+1=2%");
}

TEST_CASE("http: addresses of pages") {
  const auto whole = http::parse_url("HTTP://example.org/a?b=c#d");
  CHECK(whole.scheme == "http");
  CHECK(whole.host == "example.org:80");
  CHECK(whole.target == "/a?b=c");
  CHECK(http::parse_url("https://example.org").host == "example.org:443");
  CHECK(http::parse_url("http://[::1]:8080?x").host == "[::1]:8080");
  CHECK(http::parse_url("http://[::1]").host == "[::1]:80");
  CHECK(http::parse_url("http://a?x").target == "/?x");
  for (const char* bad : {"", "example.org", "ftp://a", "http://", "http://:80", "http://a:", "http://me@a"}) {
    INFO(bad);
    CHECK_THROWS_AS(http::parse_url(bad), shunt::usage_error);
  }
}

TEST_CASE("http: requests and replies over a connection that is kept") {
  std::atomic<int> handled{0};
  with_server(
      [&](const http::request& asked) {
        ++handled;
        return echo(asked);
      },
      {.connections = 1},
      [&](const std::string& at, sched::runtime&) {
        http::client peer(at);  // with one connection at a time, a second one would wait for ever
        const auto one = peer.get("/a", 5min);
        expect(one.status == 200, "status");
        expect(one.body == "GET /a \n", one.body);
        expect(one.headers.get("content-type") == "text/plain; charset=utf-8", "type");
        expect(one.headers.find("date") != nullptr, "date");
        expect(peer.post("/b", std::string(100'000, 'x'), "text/plain", 5min).body.size() == 100'009, "post");
        expect(peer.put("/b", "x", "text/plain", 5min).body == "PUT /b x\n", "put");
        expect(peer.send({.method = "HEAD", .target = "/c"}, 5min).body.empty(), "head");
        expect(peer.get("/d", 5min).body == "GET /d \n", "after HEAD");
      });
  CHECK(handled == 5);
}

TEST_CASE("http: requests that come at once are replied to in turn") {
  with_server(echo, {}, [](const std::string& at, sched::runtime&) {
    const auto all =
        raw(at,
            "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
            "\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            "GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /4 HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto at_1 = all.find("GET /1 \n"), at_2 = all.find("POST /2 abcde\n"), at_3 = all.find("GET /3 \n");
    expect(at_1 < at_2 && at_2 < at_3 && at_3 != std::string::npos, all);
    expect(all.find("Connection: close") != std::string::npos, all);
    expect(all.find("GET /4") == std::string::npos, all);  // nothing is replied to behind the last one
  });
}

TEST_CASE("http: a request is the same however its bytes arrive") {
  const std::string bytes =
      GENERATE("PUT /x?y=z HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
               "PUT /x?y=z HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: "
               "close\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  with_server(echo, {}, [&](const std::string& at, sched::runtime&) {
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      auto peer = io::connect(at, 5min);
      peer.write(bytes.substr(0, cut), 5min);
      sched::this_fiber::yield();
      peer.write(bytes.substr(cut), 5min);
      io::buffered_reader in(peer);
      std::string all;
      for (auto line = in.read_until("\n", 1000, 5min); !line.empty(); line = in.read_until("\n", 1000, 5min))
        all += line;
      expect(all.ends_with("\r\n\r\nPUT /x?y=z hello\n"), all);
    }
  });
}

TEST_CASE("http: what is no request gets a status that says so, and the connection ends") {
  const struct {
    const char* bytes;
    const char* status;
  } all[] = {
      {"nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request"},                        // no Host
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400 Bad Request"},  // two
      {"GET / HTTP/3.7\r\nHost: a\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported"},
      {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 400 Bad Request"},  // a proxy may read one length, and this server the other
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "HTTP/1.1 400 Bad Request"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400 Bad Request"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65\r\n\r\n", "HTTP/1.1 413 Content Too Large"},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n", "HTTP/1.1 413 Content Too Large"},
  };
  std::atomic<int> handled{0};
  with_server(
      [&](const http::request& asked) {
        ++handled;
        return echo(asked);
      },
      {.header = 200, .body = 64},
      [&](const std::string& at, sched::runtime&) {
        for (const auto& one : all) {
          const auto reply = raw(at, one.bytes);
          expect(first_line(reply) == one.status, std::string(one.bytes) + " got " + reply);
          expect(reply.find("Connection: close\r\n") != std::string::npos, reply);
        }
        const auto long_one = raw(at, "GET /" + std::string(300, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n");
        expect(first_line(long_one) == "HTTP/1.1 431 Request Header Fields Too Large", long_one);
        expect(raw(at, "GET / HTTP/1.1\r\nHo").empty(), "a peer that leaves in the middle gets no reply");
        expect(raw(at, "").empty(), "nor one that says nothing");
        expect(first_line(raw(at, "GET / HTTP/1.0\r\n\r\n")) == "HTTP/1.1 200 OK", "HTTP/1.0 needs no Host");
      });
  CHECK(handled == 1);
}

TEST_CASE("http: a slow request, and an idle client, end") {
  with_server(echo, {.idle = 1h, .request = 20ms}, [](const std::string& at, sched::runtime&) {
    auto peer = io::connect(at, 5min);
    peer.write("GET / HT", 5min);
    io::buffered_reader in(peer);
    expect(in.read_until("\n", 1000, 5min) == "HTTP/1.1 408 Request Timeout\r\n", "408");
  });
  with_server(echo, {.idle = 20ms}, [](const std::string& at, sched::runtime&) {
    auto peer = io::connect(at, 5min);
    char one;
    expect(peer.read_some(io::buffer(&one, 1), 5min) == 0, "the server has closed an idle connection");
  });
}

TEST_CASE("http: a client that waits for a word before the body gets it") {
  with_server(echo, {}, [](const std::string& at, sched::runtime&) {
    auto peer = io::connect(at, 5min);
    peer.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
               5min);
    io::buffered_reader in(peer);
    expect(in.read_until("\r\n\r\n", 1000, 5min) == "HTTP/1.1 100 Continue\r\n\r\n", "100");
    peer.write("ok", 5min);
    expect(in.read_until("\n", 1000, 5min) == "HTTP/1.1 200 OK\r\n", "200");
  });
}

TEST_CASE("http: content of unknown length arrives as it is written") {
  with_server(
      [&](const http::request&) {
        http::response made;
        made.content = [](http::body_writer& out) {
          for (int i = 0; i < 1000; ++i) out.write("line " + std::to_string(i) + "\n");
          out.write("");
          out.flush();
          out.write("end");
        };
        return made;
      },
      {},
      [&](const std::string& at, sched::runtime&) {
        http::client peer(at);
        for (int i = 0; i < 2; ++i) {  // the connection goes on behind the last chunk
          const auto reply = peer.get("/", 5min);
          expect(reply.body.starts_with("line 0\nline 1\n") && reply.body.ends_with("line 999\nend"), reply.body);
        }
        expect(peer.send({.method = "HEAD"}, 5min).headers.get("transfer-encoding") == "chunked", "HEAD");
        expect(peer.get("/", 5min).body.size() == 8893, "after HEAD");
        const auto old = raw(at, "GET / HTTP/1.0\r\n\r\n");  // knows no chunks: the connection's end is the content's
        expect(old.ends_with("line 999\nend"), old);
        expect(old.find("chunked") == std::string::npos, old);
      });
}

TEST_CASE("http: a handler that fails costs its client a 500, and no other client anything") {
  std::vector<std::string> told;
  std::mutex guard;
  http::server_options how;
  how.failed = [&](const http::request& of, const std::exception_ptr& why) {
    const std::lock_guard held(guard);
    try {
      std::rethrow_exception(why);
    } catch (const std::exception& known) {
      told.push_back(of.target + ": " + known.what());
    }
  };
  with_server(
      [](const http::request& asked) -> http::response {
        if (asked.target == "/throws") throw std::runtime_error("no");
        if (asked.target == "/100") return http::response(100);
        http::response cut;
        cut.content = [](http::body_writer& out) {
          out.write("a part");
          throw std::runtime_error("no more");
        };
        return asked.target == "/cut" ? cut : http::response("good");
      },
      how,
      [](const std::string& at, sched::runtime&) {
        http::client peer(at);
        expect(peer.get("/throws", 5min).status == 500, "500");
        expect(peer.get("/100", 5min).status == 500, "a status that is no reply's");
        expect(peer.get("/", 5min).body == "good", "the connection goes on");
        expect_thrown<io::end_of_stream>([&] { peer.get("/cut", 5min); }, [](const auto&) {});
        expect(peer.get("/", 5min).body == "good", "over a new connection");
      });
  REQUIRE(told.size() == 3);
  CHECK(told[0] == "/throws: no");
  CHECK(told[1].find("status 100") != std::string::npos);
  CHECK(told[2] == "/cut: no more");
}

TEST_CASE("http: a stop ends idle connections, and lets replies out") {
  with_reactor(2, [](sched::runtime& rt) {
    auto door = io::listen("127.0.0.1:0");
    std::stop_source stop;
    shunt::sync::latch over(1), asked(1), go_on(1), replied(1);
    rt.spawn([&] {
      http::serve(
          door,
          [&](const http::request& one) {
            asked.count_down();
            go_on.wait();
            return echo(one);
          },
          {.idle = 1h}, stop.get_token());
      over.count_down();
    });
    const auto at = door.local().text();
    auto idle = io::connect(at, 5min);
    rt.spawn([&] {
      http::client peer(at);
      const auto reply = peer.get("/late", 5min);
      expect(reply.body == "GET /late \n", reply.body);
      expect(reply.headers.get("connection") == "close", "the client learns that it is the end");
      replied.count_down();
    });
    asked.wait();
    stop.request_stop();
    char one;
    expect(idle.read_some(io::buffer(&one, 1), 5min) == 0, "idle");
    expect(!over.try_wait(), "a handler is at work");
    go_on.count_down();
    replied.wait();
    over.wait();
  });
}

TEST_CASE("http: a kept connection that the server has closed is made anew, where that is harmless") {
  with_reactor(1, [](sched::runtime& rt) {
    auto door = io::listen("127.0.0.1:0");
    const auto at = door.local().text();
    shunt::sync::latch over(1);
    rt.spawn([&] {  // replies to one request of each connection, and closes it without a word
      for (int i = 0; i < 3; ++i) {
        auto peer = door.accept(5min);
        io::buffered_reader in(peer);
        static_cast<void>(in.read_until("\r\n\r\n", 1000, 5min));
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(i), 5min);
      }
      over.count_down();
    });
    http::client peer(at);
    expect(peer.get("/", 5min).body == "0", "0");
    sched::this_fiber::sleep_for(10ms);  // the server closes it
    expect(peer.get("/", 5min).body == "1", "1");
    sched::this_fiber::sleep_for(10ms);
    expect_thrown<io::io_error>([&] { peer.post("/", "x", "text/plain", 5min); }, [](const auto&) {});
    expect(peer.post("/", "x", "text/plain", 5min).body == "2", "2");
    over.wait();
  });
}

TEST_CASE("http: replies of other servers") {
  const std::string body(2000, 'x');  // twice what the client allows
  const auto too_long = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + body;
  const auto in_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + body + "\r\n0\r\n\r\n";
  const auto to_the_end = "HTTP/1.1 200 OK\r\n\r\n" + body;
  const auto long_header = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: " + body + "\r\n\r\n";
  const struct {
    const char* bytes;
    const char* body;  // null: an error
  } all[] = {
      {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab"},
      {"HTTP/1.0 200 OK\r\n\r\nup to the end", "up to the end"},
      {"HTTP/1.1 204 No Content\r\n\r\n", ""},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n0\r\nTrailer: b\r\n\r\n", "a"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", nullptr},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", nullptr},
      {too_long.c_str(), nullptr},
      {in_chunks.c_str(), nullptr},
      {to_the_end.c_str(), nullptr},
      {long_header.c_str(), nullptr},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", nullptr},
      {"HTTP/1.1 200 OK", nullptr},
      {"", nullptr},
  };
  with_reactor(1, [&](sched::runtime& rt) {
    for (const auto& one : all) {
      auto door = io::listen("127.0.0.1:0");
      shunt::sync::latch over(1);
      rt.spawn([&] {
        auto peer = door.accept(5min);
        io::buffered_reader in(peer);
        static_cast<void>(in.read_until("\r\n\r\n", 1000, 5min));
        peer.write(one.bytes, 5min);
        over.count_down();
      });
      http::client peer(door.local().text(), {.header = 500, .body = 1000});
      if (one.body != nullptr) {
        const auto reply = peer.get("/", 5min);
        expect(reply.body == one.body, std::string(one.bytes) + " gave " + reply.body);
      } else {
        expect_thrown<io::io_error>([&] { peer.get("/", 5min); }, [](const auto&) {});
      }
      over.wait();
    }
  });
}

TEST_CASE("http: mistakes of the program are refused before anything is sent") {
  with_reactor(1, [](sched::runtime&) {
    http::client peer("127.0.0.1:1");  // where nothing listens
    const auto refused = [&](const http::request& bad) {
      auto ends = io::connected_pair();
      http::basic_client<io::stream> over(
          "x", [&](const std::string&, const io::deadline&) { return std::move(ends.first); });
      expect_thrown<shunt::usage_error>([&] { over.send(bad, 1s); }, [](const auto&) {});
      std::error_code ec;
      char one;
      expect(ends.second.read_some(io::buffer(&one, 1), ec, 1s) == 0, "nothing was sent");
    };
    refused({.method = "GE T"});
    refused({.target = "/a b"});
    refused({.target = "/a\r\nX: y"});
    refused({.target = ""});
    expect_thrown<io::io_error>(
        [&] { peer.get("/", 5min); },
        [](const auto& bad) { expect(bad.code() == std::errc::connection_refused, bad.what()); });
    expect_thrown<shunt::usage_error>([] { static_cast<void>(http::get("https://127.0.0.1:1/", 1s)); },
                                      [](const auto&) {});
    auto door = io::listen("127.0.0.1:0");
    expect_thrown<shunt::usage_error>([&] { http::serve(door, echo, {.connections = 0}); }, [](const auto&) {});
  });
}

TEST_CASE("http: more clients than connections, all served") {
  std::atomic<int> good{0};
  with_server(echo, {.connections = 10}, [&](const std::string& at, sched::runtime& rt) {
    shunt::sync::latch over(100);
    for (int i = 0; i < 100; ++i) {
      rt.spawn([&, i] {
        const auto reply = http::get("http://" + at + "/" + std::to_string(i), 5min);
        good += reply.body == "GET /" + std::to_string(i) + " \n" ? 1 : 0;
        over.count_down();
      });
    }
    over.wait();
  });
  CHECK(good == 100);
}

#endif
