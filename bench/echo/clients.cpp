// The clients of `echo` as a program, for servers that cannot fork: they connect, read a byte from stdin, and send.
//
//   echo_clients --port PORT --table CONNECTIONS --rounds MESSAGES
#include "client.hpp"

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  bench::allow_descriptors(argv[0], options.table);
  bench::run_clients(STDIN_FILENO, static_cast<int>(options.port), options.table, options.rounds);
}
