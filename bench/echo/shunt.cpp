// echo with a fiber for each connection, on one worker.
#include <exception>
#include <memory>

#include <shunt/io.hpp>
#include <shunt/sched.hpp>

#include "client.hpp"

namespace {

bench::server_use sample(const char* program, long connections, long messages) {
  bench::server_use use;
  auto door = shunt::net::listen("127.0.0.1:0", 1024);
  bench::clients others(door.local().port(), connections, messages);
  long left = connections * messages * static_cast<long>(bench::message_bytes);
  long waiting = 0;
  shunt::sched::options one;
  one.workers = 1;
  one.pin = false;  // as the ceiling is not
  one.spin = {};    // it is processor time that counts here
  one.stack_bytes = 32 * 1024;
  shunt::sched::runtime worker(one);
  const shunt::io::reactor io(worker);
  worker.run([&] {
    for (long i = 0; i < connections; ++i) {
      auto peer = std::make_shared<shunt::net::stream>(door.accept());
      worker.spawn([&left, &use, &waiting, peer] {
        char buffer[512];
        ++waiting;
        while (const auto come = peer->read_some(buffer)) {
          peer->write({buffer, come});
          left -= static_cast<long>(come);
          if (left == 0) use.ends();
        }
      });
    }
    while (waiting < connections) shunt::sched::this_fiber::yield();
    use.begins();
    others.go();
  });
  others.finish(program);
  return use;
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
