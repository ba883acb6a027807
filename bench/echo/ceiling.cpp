// echo, by hand: one thread, one epoll, level-triggered; each event is one read and one write.
#include "client.hpp"

namespace {

bench::server_use sample(const char* program, long connections, long messages) {
  bench::server_use use;
  int port = 0;
  const int door = bench::listen_anywhere(port, 1024);
  bench::clients others(port, connections, messages);
  const int epoll = epoll_create1(0);
  for (long i = 0; i < connections; ++i) {
    const int fd = accept4(door, nullptr, nullptr, SOCK_NONBLOCK);
    if (fd < 0) bench::fail("accept");
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event asked{};
    asked.events = EPOLLIN;
    asked.data.fd = fd;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &asked) != 0) bench::fail("epoll_ctl");
  }
  close(door);
  use.begins();
  others.go();
  long left = connections * messages * static_cast<long>(bench::message_bytes);
  for (long open = connections; open > 0;) {
    epoll_event events[256];
    const int count = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      char buffer[512];
      const int fd = events[i].data.fd;
      const auto come = read(fd, buffer, sizeof buffer);
      if (come <= 0) {
        close(fd);
        --open;
        continue;
      }
      if (send(fd, buffer, static_cast<std::size_t>(come), MSG_NOSIGNAL) != come) bench::fail("send");
      left -= come;
      if (left == 0) use.ends();
    }
  }
  close(epoll);
  others.finish(program);
  return use;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  bench::allow_descriptors(argv[0], options.table);
  for (long i = 0; i < options.warmup + options.samples; ++i) {
    const auto one = sample(argv[0], options.table, options.rounds);
    if (i >= options.warmup) one.report();
  }
}
