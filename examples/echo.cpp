// A server of lines, and its clients, in one process: every connection is a fiber that reads and writes as if it were
// alone.
#include <shunt/io.hpp>
#include <shunt/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

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

/// Accepts until it is asked to stop; then no client is left without its replies.
void serve_all(shunt::io::listener& door, const std::stop_token& stop) {
  shunt::task_group peers;
  for (std::error_code bad;;) {
    auto peer = door.accept(bad, stop);
    if (bad) break;
    peers.spawn([peer = std::move(peer)]() mutable { serve(std::move(peer)); });
  }
  peers.wait();
}

int echo() {
  std::atomic<int> right{0};
  const int status = shunt::launch([&] {
    auto door = shunt::io::listen("127.0.0.1:0");  // a port that the system chooses
    shunt::fiber server([&](const std::stop_token& stop) { serve_all(door, stop); });
    shunt::finish([&] {
      for (int c = 0; c < clients; ++c) shunt::async([&, c] { right += ask(door.local(), c); });
    });
    server.request_stop();
    server.join();  // throws what it threw
  });
  if (status != 0) return status;  // launch() has said why
  const bool all = right == clients * lines;
  std::printf("echo: %d lines came back: %s\n", right.load(), all ? "right" : "WRONG");
  return all ? 0 : 1;
}

}  // namespace

int main() { return echo(); }
