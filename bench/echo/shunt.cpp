// echo with a fiber for each connection, on one worker.
#include <exception>
#include <memory>

#include <shunt/io.hpp>
#include <shunt/sched.hpp>

#include "client.hpp"

namespace {

double sample(const char* program, long connections, long messages) {
  auto door = shunt::net::listen("127.0.0.1:0");
  bench::clients others(door.local().port(), connections, messages);
  double begin = 0, end = 0;
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
      worker.spawn([&left, &end, &waiting, peer] {
        char buffer[4096];
        ++waiting;
        while (const auto come = peer->read_some(buffer)) {
          peer->write({buffer, come});
          left -= static_cast<long>(come);
          if (left == 0) end = bench_processor_now();
        }
      });
    }
    while (waiting < connections) shunt::sched::this_fiber::yield();
    begin = bench_processor_now();
    others.go();
  });
  others.finish(program);
  return end - begin;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::allow_descriptors(argv[0], options.table);
  for (long i = 0; i < options.warmup + options.samples; ++i) {
    const double seconds = sample(argv[0], options.table, options.rounds);
    if (i >= options.warmup) bench_report(seconds, "");
  }
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}
