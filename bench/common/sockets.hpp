/// What servers of a table share that are asked over loopback by a process of their own.
///
/// The process is forked by servers in C++, before they have threads, and started as a program by the others; it waits
/// for a byte, asks, and ends with status 0 if all answers were right.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "program.h"

namespace bench {

[[noreturn]] inline void fail(const char* call) {
  std::perror(call);
  std::_Exit(1);
}

/// Ends the program as absent where the system gives fewer descriptors.
inline void allow_descriptors(const char* program, long connections) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const auto needed = static_cast<rlim_t>(connections) + 64;  // standard ones, pipes, epoll, libraries'
  if (files.rlim_cur < needed) {
    char why[100];
    std::snprintf(why, sizeof why, "%ld connections wanted, the system gives %llu descriptors", connections,
                  static_cast<unsigned long long>(files.rlim_cur));
    bench_absent(program, why);
  }
}

/// A socket on which peers of this machine can connect. \param port  which it is
inline int listen_anywhere(int& port, int backlog) {
  const int door = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  if (door < 0 || bind(door, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(door, backlog) != 0 ||
      getsockname(door, reinterpret_cast<sockaddr*>(&at), &length) != 0) {
    fail("listen");
  }
  port = ntohs(at.sin_port);
  return door;
}

/// A connection to a server of this machine, whose writes leave at once.
inline int connect_to(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("connect");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

/// The process that asks.
class asking_process {
 public:
  /// Forks; call it before there are threads. \param body  called there, with what is readable when it may begin
  template <class Body>
  explicit asking_process(Body body) {
    if (pipe(go_) != 0) fail("pipe");
    process_ = fork();
    if (process_ < 0) fail("fork");
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(go_[0]);
    std::_Exit(0);
  }
  void go() const {
    if (write(go_[1], "g", 1) != 1) fail("write");
  }
  /// Ends the program if an answer was wrong. \param whose  exit status: "the clients'"
  void finish(const char* program, const char* whose) {
    int status = 0;
    if (waitpid(process_, &status, 0) != process_) fail("waitpid");
    close(go_[0]);
    close(go_[1]);
    if (status == 0) return;
    char what[100];
    std::snprintf(what, sizeof what, "%s exit status", whose);
    bench_wrong(program, what, static_cast<unsigned long long>(status), 0);
  }

 private:
  int go_[2] = {-1, -1};
  pid_t process_ = -1;
};

}  // namespace bench
