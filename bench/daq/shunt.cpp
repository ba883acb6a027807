// daq with a fiber for each channel, on one worker that spins before it sleeps, as by default, or does not.
#include <exception>
#include <memory>
#include <utility>

#include <shunt/io.hpp>
#include <shunt/sched.hpp>

#include "source.hpp"

namespace {

void follow(shunt::io::stream channel, bench::daq::readings& all, long& waiting) {
  bench::daq::reassembly come;
  ++waiting;
  while (const auto count = channel.read_some({come.bytes + come.have, sizeof come.bytes - come.have})) {
    come.took(count, all);
  }
}

void sample(const char* program, const bench_options& o, bench::daq::readings& all) {
  auto door = shunt::io::listen("127.0.0.1:0", 4096);
  bench::daq::source from(door.local().port(), o);
  shunt::sched::options one;
  one.workers = 1;
  one.pin = false;
  if (std::strcmp(o.variant, "sleeps") == 0) one.spin = {};
  one.stack_bytes = 32 * 1024;
  shunt::sched::runtime worker(one);
  const shunt::io::reactor io(worker);
  long waiting = 0;
  worker.run([&] {
    for (long i = 0; i < o.table; ++i) {
      auto channel = std::make_shared<shunt::io::stream>(door.accept());
      worker.spawn([channel, &all, &waiting] { follow(std::move(*channel), all, waiting); });
    }
    while (waiting < o.table) shunt::sched::this_fiber::yield();
    all.begins();
    from.go();
  });
  from.finish(program);
}

}  // namespace

int main(int argc, char** argv) try { return bench::daq::run(argc, argv, sample); } catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}
