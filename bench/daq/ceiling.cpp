// daq by hand: one thread, one epoll, level-triggered; each event is one read.
#include <sys/epoll.h>

#include <vector>

#include "source.hpp"

namespace {

struct channel {
  int fd = -1;
  bench::daq::reassembly come;
};

void sample(const char* program, const bench_options& o, bench::daq::readings& all) {
  int port = 0;
  const int door = bench::listen_anywhere(port, 4096);
  bench::daq::source from(port, o);
  const int epoll = epoll_create1(0);
  std::vector<channel> channels(static_cast<std::size_t>(o.table));
  for (auto& c : channels) {
    c.fd = accept4(door, nullptr, nullptr, SOCK_NONBLOCK);
    if (c.fd < 0) bench::fail("accept");
    epoll_event asked{};
    asked.events = EPOLLIN;
    asked.data.ptr = &c;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c.fd, &asked) != 0) bench::fail("epoll_ctl");
  }
  close(door);
  all.begins();
  from.go();
  while (!all.over()) {
    epoll_event events[256];
    const int count = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      auto& c = *static_cast<channel*>(events[i].data.ptr);
      const auto come = read(c.fd, c.come.bytes + c.come.have, sizeof c.come.bytes - c.come.have);
      if (come > 0) {
        c.come.took(static_cast<std::size_t>(come), all);
      } else {
        close(c.fd);
      }
    }
  }
  from.finish(program);
  for (const auto& c : channels) close(c.fd);
  close(epoll);
}

}  // namespace

int main(int argc, char** argv) { return bench::daq::run(argc, argv, sample); }
