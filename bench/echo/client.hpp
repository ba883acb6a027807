/// The clients of `echo`: a process with one epoll, that keeps one message of 64 bytes under way on every connection
/// and checks each that comes back. The same for every server: forked by those in C++, started as echo_clients by the
/// others.
///
///   server                                  clients
///   listens, forks                          connect all
///   accepts all, notes its processor time,  wait for it
///   says go                                 send; on each echo send the next, `messages` a connection
///   echoes; after the last byte of all
///   notes its processor time again          end, with status 0 if every byte was right
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../common/one_cpu.hpp"
#include "../common/program.h"
#include "../common/sockets.hpp"

namespace bench {

constexpr std::size_t message_bytes = 64;

inline void fill_message(char* message, long connection, long number) {
  for (std::size_t i = 0; i < message_bytes / sizeof(long); ++i) {
    const long word = connection * 1'000'003 + number * 31 + static_cast<long>(i);
    std::memcpy(message + i * sizeof word, &word, sizeof word);
  }
}

/// What the process does. \param go  readable when they may begin to send.
inline void run_clients(int go, int port, long connections, long messages) {
  struct connection {
    int fd;
    long sent;
    std::size_t come;
    char back[message_bytes];
  };
  const int epoll = epoll_create1(0);
  std::vector<connection> all(static_cast<std::size_t>(connections));
  for (auto& c : all) {
    c = {connect_to(port), 0, 0, {}};
    epoll_event asked{};
    asked.events = EPOLLIN;
    asked.data.ptr = &c;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c.fd, &asked) != 0) fail("epoll_ctl");
  }
  char message[message_bytes];
  if (read(go, message, 1) != 1) std::_Exit(1);
  const auto send_next = [&](connection& c) {
    fill_message(message, &c - all.data(), ++c.sent);
    if (send(c.fd, message, message_bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(message_bytes)) fail("send");
  };
  for (auto& c : all) send_next(c);
  for (long open = connections; open > 0;) {
    epoll_event events[256];
    const int count = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      auto& c = *static_cast<connection*>(events[i].data.ptr);
      const auto come = read(c.fd, c.back + c.come, message_bytes - c.come);
      if (come <= 0) fail("read");
      c.come += static_cast<std::size_t>(come);
      if (c.come < message_bytes) continue;
      c.come = 0;
      fill_message(message, &c - all.data(), c.sent);
      if (std::memcmp(message, c.back, message_bytes) != 0) std::_Exit(2);
      if (c.sent < messages) {
        send_next(c);
      } else {
        close(c.fd);
        --open;
      }
    }
  }
}

/// What a server took: processor time, and memory of its own (not the kernel's) beyond what it had without connections.
class server_use {
 public:
  /// Before the first connection.
  server_use() {
    static const long long at_first = resident_bytes();  // later samples find the memory of earlier ones
    before_ = at_first;
  }
  void begins() {
    seconds_ = -bench_processor_now();
    user_seconds_ = -user_now();
  }
  /// After the last byte, all connections being there or just closed.
  void ends() {
    seconds_ += bench_processor_now();
    user_seconds_ += user_now();
    after_ = resident_bytes();
  }
  void report() const {
    bench_report(seconds_, (", \"resident_bytes\": " + std::to_string(after_ - before_) +
                            ", \"user_seconds\": " + std::to_string(user_seconds_))
                               .c_str());
  }

 private:
  /// The part outside of the kernel, as that divides it: by looks at each tick of its clock.
  static double user_now() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
  }

  double seconds_ = 0;
  double user_seconds_ = 0;
  long long before_ = 0;
  long long after_ = 0;
};

class clients : public asking_process {
 public:
  clients(int port, long connections, long messages)
      : asking_process([=](int go) { run_clients(go, port, connections, messages); }) {}
  void finish(const char* program) { asking_process::finish(program, "the clients'"); }
};

}  // namespace bench
