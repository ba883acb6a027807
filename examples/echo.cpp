// A server of lines, and its clients, in one process: every connection is a fiber that reads and writes as if it were
// alone.
#include <shunt/io.hpp>
#include <shunt/sched.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <system_error>

using namespace std::chrono_literals;

namespace {

constexpr int clients = 100, lines = 10;

void serve(shunt::io::stream peer) {
  for (;;) {
    const std::string line = peer.read_until("\n", 4096, 10s);  // waits: this fiber, not its worker
    if (line.empty()) return;                                   // the client sends no more
    peer.write(line);
  }
}

int ask(const shunt::io::address& where, int number) {
  auto server = shunt::io::connect(where, 10s);
  int right = 0;
  for (int i = 0; i < lines; ++i) {
    const auto sent = "line " + std::to_string(i) + " of client " + std::to_string(number) + "\n";
    server.write(sent);
    right += server.read_until("\n", 4096, 10s) == sent;
  }
  return right;
}

}  // namespace

int main() try {
  std::atomic<int> right{0}, left{clients};
  auto door = shunt::io::listen("127.0.0.1:0");  // a port that the system chooses; outlives all fibers, which use it
  shunt::sched::runtime workers;
  workers.run([&] {
    for (int c = 0; c < clients; ++c) {
      workers.spawn([&, c] {
        right += ask(door.local(), c);
        if (--left == 0) door.close();  // accept() below ends with errc::closed
      });
    }
    // With the token, a client that fails ends the run: an exception of any fiber asks all to stop.
    for (std::error_code bad;;) {
      auto peer = std::make_shared<shunt::io::stream>(door.accept(bad, workers.stop_token()));
      if (bad) break;
      workers.spawn([peer] { serve(std::move(*peer)); });  // a std::function: it must copy, so the stream is shared
    }
  });
  const bool all = right == clients * lines;
  std::printf("echo: %d lines came back: %s\n", right.load(), all ? "right" : "WRONG");
  return all ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
