// The source of `daq` as a program, for servers that cannot fork: connects, reads a byte from stdin, and sends.
//
//   daq_source --port PORT --table CHANNELS --rounds FRAMES --period MICROSECONDS
#include "source.hpp"

int main(int argc, char** argv) {
  const auto o = bench_parse(argc, argv);
  bench::allow_descriptors(argv[0], o.table);
  bench::daq::run_source(STDIN_FILENO, static_cast<int>(o.port), o.table, o.rounds, o.period);
}
