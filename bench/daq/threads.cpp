// daq with a thread for each channel, which waits in read().
#include "../common/threads.hpp"
#include "source.hpp"

namespace {

void sample(const char* program, const bench_options& o, bench::daq::readings& all) {
  int port = 0;
  const int door = bench::listen_anywhere(port, 4096);
  bench::daq::source from(port, o);
  std::vector<int> channels(static_cast<std::size_t>(o.table));
  for (int& fd : channels) {
    fd = accept(door, nullptr, nullptr);
    if (fd < 0) bench::fail("accept");
  }
  close(door);
  std::atomic<long> waiting{0};
  auto body = [&](std::size_t i) {
    bench::daq::reassembly come;
    waiting.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
      const auto count = read(channels[i], come.bytes + come.have, sizeof come.bytes - come.have);
      if (count <= 0) return;
      come.took(static_cast<std::size_t>(count), all);
    }
  };
  bench::threads<decltype(body)> readers(program, channels.size(), body);
  while (waiting.load(std::memory_order_relaxed) < o.table) sched_yield();
  all.begins();
  from.go();
  readers.join();
  from.finish(program);
  for (const int fd : channels) close(fd);
}

}  // namespace

int main(int argc, char** argv) { return bench::daq::run(argc, argv, sample); }
