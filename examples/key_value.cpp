// A key-value server for pipelined clients, in Redis's protocol (RESP). A connection is a fiber with a reader and a
// writer that are tied: it answers all requests that came with one read, and all their answers leave with one write.
//
//   example_key_value                         a server and its clients in one process, a test of itself
//   example_key_value 127.0.0.1:6400 [2]      serves there, with so many workers, for redis-cli -p 6400
#include <shunt/io.hpp>
#include <shunt/sched.hpp>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

namespace io = shunt::io;
using words = std::vector<std::string>;

// What a request may make the server hold. A connection holds one, and 16 KiB of answers.
constexpr std::size_t most_words = 1024, most_request_bytes = 1 << 20;
constexpr int clients = 20, increments = 1'000;

std::optional<long> number(std::string_view text) {
  long value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The table: many maps with a mutex each, so that two workers seldom want the same one. A mutex is kept for one
/// lookup, and never while a fiber waits: a value is copied out before it is sent. (Transactions, shunt::stm, would
/// pay off if requests changed several keys at once.)
class table {
 public:
  /// Calls `use` with the map that has `key`; no other fiber has it then. `use` must not wait.
  template <typename F>
  auto with(std::string_view key, const F& use) {
    auto& one = shards_[std::hash<std::string_view>()(key) % shards_.size()];
    const std::scoped_lock held(one.lock);
    return use(one.values);
  }

 private:
  struct hash {  // of views, so that a lookup makes no string
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  struct alignas(64) shard {
    std::mutex lock;
    std::unordered_map<std::string, std::string, hash, std::equal_to<>> values;
  };
  std::array<shard, 64> shards_;
};

/// The peer breaks the protocol, or asks for more than the server takes.
[[noreturn]] void refuse() { throw io::io_error("request", std::make_error_code(std::errc::protocol_error)); }

/// \return the number in a line such as "$3\r\n", 0..most.
std::size_t header(std::string_view line, char kind, std::size_t most) {
  const auto value = line.size() > 3 && line[0] == kind ? number(line.substr(1, line.size() - 3)) : std::nullopt;
  if (!value || *value < 0 || *value > static_cast<long>(most)) refuse();
  return static_cast<std::size_t>(*value);
}

/// Reads one request: of "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" the words are GET and k; of "PING\r\n" PING.
/// \return false: the peer sends no more.
bool read_request(io::buffered_reader& in, words& into) {
  into.clear();  // not kept: of many requests each may have another long word
  const auto line = in.read_until("\r\n", 1024);
  if (line.empty()) return false;
  if (line[0] != '*') {
    std::istringstream typed{std::string(line)};
    for (std::string word; typed >> word;) into.push_back(std::move(word));
    return true;
  }
  into.resize(header(line, '*', most_words));
  std::size_t left = most_request_bytes;
  for (auto& word : into) {
    const auto size = header(in.read_until("\r\n", 16), '$', left);
    const auto there = in.peek(size + 2);  // a view of the reader's buffer, which grows to hold them
    if (there.substr(size, 2) != "\r\n") refuse();
    word = there.substr(0, size);
    in.consume(size + 2);
    left -= size;
  }
  return true;
}

void put_number(io::buffered_writer& out, char kind, long value) {
  std::array<char, 24> line{kind};
  char* const end = std::to_chars(line.data() + 1, line.data() + 22, value).ptr;
  end[0] = '\r', end[1] = '\n';
  out.write({line.data(), static_cast<std::size_t>(end + 2 - line.data())});
}
void put_text(io::buffered_writer& out, std::string_view text) {
  put_number(out, '$', static_cast<long>(text.size()));
  out.write(text);
  out.write("\r\n");
}

void answer(table& all, const words& asked, io::buffered_writer& out) {
  std::string verb = asked.empty() ? "" : asked[0];
  for (char& c : verb) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  const auto is = [&](std::string_view name, std::size_t count) { return verb == name && asked.size() == count; };
  if (is("GET", 2)) {
    const auto value = all.with(asked[1], [&](const auto& values) {
      const auto found = values.find(asked[1]);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    });
    value ? put_text(out, *value) : out.write("$-1\r\n");
  } else if (is("SET", 3)) {
    all.with(asked[1], [&](auto& values) {
      const auto found = values.find(asked[1]);
      if (found == values.end())
        values.emplace(asked[1], asked[2]);
      else
        found->second = asked[2];
    });
    out.write("+OK\r\n");
  } else if (is("INCR", 2)) {
    const auto value = all.with(asked[1], [&](auto& values) {
      auto& text = values.try_emplace(asked[1], "0").first->second;
      auto now = number(text);
      if (now && __builtin_add_overflow(*now, 1L, &*now)) now.reset();
      if (now) text = std::to_string(*now);
      return now;
    });
    value ? put_number(out, ':', *value) : out.write("-ERR value is not an integer or out of range\r\n");
  } else if (verb == "DEL" && asked.size() > 1) {
    long erased = 0;
    for (std::size_t i = 1; i < asked.size(); ++i) {
      erased += all.with(asked[i], [&](auto& values) {
        const auto found = values.find(asked[i]);
        return found == values.end() ? 0 : (values.erase(found), 1);
      });
    }
    put_number(out, ':', erased);
  } else if (is("PING", 1)) {
    out.write("+PONG\r\n");
  } else if (verb == "COMMAND" || verb == "CONFIG") {  // what redis-cli and redis-benchmark ask first
    out.write("*0\r\n");
  } else {
    out.write("-ERR unknown command, or wrong number of arguments\r\n");
  }
}

void serve(table& all, io::stream peer) {
  io::buffered_writer out(peer);
  io::buffered_reader in(peer, out);  // before it waits for more requests, the answers leave
  std::error_code bad;
  try {
    for (words asked; read_request(in, asked);) answer(all, asked, out);
  } catch (const io::io_error& failed) {
    bad = failed.code();
  }
  if (bad != std::errc::protocol_error && bad != io::errc::too_long) return;  // the peer has gone, or sends no more
  out.write("-ERR Protocol error\r\n", bad);
  out.flush(bad);  // or it has gone meanwhile
}

/// Serves until the door is closed.
void accept_all(shunt::sched::runtime& workers, io::listener& door, table& all) {
  for (std::error_code bad;;) {
    auto peer = std::make_shared<io::stream>(door.accept(bad));
    if (bad) return;
    workers.spawn([&all, peer] { serve(all, std::move(*peer)); });
  }
}

/// A client: it reads no answer before it has made all requests. \return whether the answers are right.
bool ask(const io::address& where, const std::string& name) {
  auto server = io::connect(where);
  io::buffered_writer out(server);
  io::buffered_reader in(server, out);
  const auto send = [&](const words& asked) {
    put_number(out, '*', static_cast<long>(asked.size()));
    for (const auto& word : asked) put_text(out, word);
  };
  for (int i = 0; i < increments; ++i) send({"INCR", "shared"});
  send({"set", name, "some text"});
  send({"GET", name});
  send({"DEL", name, "nothing"});
  send({"GET", name});
  out.write("*2\r\n$3\r\nGET\r\n$999999999\r\n");  // more than the server takes
  bool right = true;
  for (long i = 0, last = 0; i < increments; ++i) {
    const auto line = in.read_until("\r\n", 32);
    const auto value = number(line.substr(1, line.size() - 3));
    right = right && value > last;
    last = value.value_or(last);
  }
  const auto* const rest = "+OK\r\n$9\r\nsome text\r\n:1\r\n$-1\r\n-ERR Protocol error\r\n";
  std::string got(std::string_view(rest).size(), ' ');
  in.read_exactly(got);
  return right && got == rest && in.peek(1).empty();
}

}  // namespace

int main(int argc, char** argv) try {
  table all;
  std::atomic<int> right{0}, left{clients};
  shunt::sched::options wanted;
  wanted.workers = argc > 2 ? std::atoi(argv[2]) : 0;
  wanted.spin = 0ns;  // where clients run on the same processors, they need them more than a worker that looks for work
  shunt::sched::runtime workers(wanted);
  auto door = io::listen(argc > 1 ? argv[1] : "127.0.0.1:0");
  workers.run([&] {
    for (int c = 0; c < clients && argc == 1; ++c) {
      workers.spawn([&, c] {
        right += ask(door.local(), "key " + std::to_string(c));
        if (--left == 0) door.close();
      });
    }
    accept_all(workers, door, all);
  });
  const auto shared = all.with("shared", [](auto& values) { return values["shared"]; });
  const bool good = right == clients && shared == std::to_string(clients * increments);
  std::printf("key_value: %d clients counted to %s: %s\n", right.load(), shared.c_str(), good ? "right" : "WRONG");
  return good ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
