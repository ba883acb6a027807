// echo with a fiber for each connection, on one worker.
#include <exception>
#include <memory>
#include <utility>

#include <shunt/io.hpp>
#include <shunt/sched.hpp>

#include "client.hpp"

namespace {

struct counts {
  long left;  // bytes
  long waiting = 0;
  bench::server_use use{};
};

void serve(shunt::io::stream peer, counts& all) {
  char buffer[512];
  ++all.waiting;
  while (const auto come = peer.read_some(buffer)) {
    peer.write({buffer, come});
    all.left -= static_cast<long>(come);
    if (all.left == 0) all.use.ends();
  }
}

bench::server_use sample(const char* program, long connections, long messages) {
  counts all{connections * messages * static_cast<long>(bench::message_bytes)};
  auto door = shunt::io::listen("127.0.0.1:0", 1024);
  bench::clients others(door.local().port(), connections, messages);
  shunt::sched::options one;
  one.workers = 1;
  one.pin = false;  // as the ceiling is not
  one.spin = {};    // it is processor time that counts here
  one.stack_bytes = 32 * 1024;
  shunt::sched::runtime worker(one);
  const shunt::io::reactor io(worker);
  worker.run([&] {
    for (long i = 0; i < connections; ++i) {
      auto peer = std::make_shared<shunt::io::stream>(door.accept());
      worker.spawn([peer, &all] { serve(std::move(*peer), all); });
    }
    while (all.waiting < connections) shunt::sched::this_fiber::yield();
    all.use.begins();
    others.go();
  });
  others.finish(program);
  return all.use;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::allow_descriptors(argv[0], options.table);
  for (long i = 0; i < options.warmup + options.samples; ++i) {
    const auto one = sample(argv[0], options.table, options.rounds);
    if (i >= options.warmup) one.report();
  }
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}
