/// Jobs for tests: trains so small that waiting for one is common.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <shunt/pgas.hpp>

#include <support/expect.hpp>

namespace shunt::testing {

/// Trains of 512 bytes, two a channel: a program waits for a train every few dozen messages.
inline pgas::options tiny(int pes, int workers, int hops = 1) {
  pgas::options o;
  o.pes = pes;
  o.workers = workers;
  o.hops = hops;
  o.transport = "threads";
  o.train_bytes = 512;
  o.budget = 8 * (512 + 64);
  return o;
}

/// The same trains, and enough of them for handlers that send on: they cannot wait.
inline pgas::options small(int pes, int workers, int hops = 1) {
  auto o = tiny(pes, workers, hops);
  o.budget = 1 << 20;
  return o;
}

/// Numbers of PEs, with one and with several workers, straight and over two hops; and a thousand PEs.
inline std::vector<pgas::options> all_jobs(pgas::options (*with)(int pes, int workers, int hops)) {
  std::vector<pgas::options> jobs;
  for (const int pes : {1, 2, 3, 7, 64}) {
    for (const int workers : {1, 2, 3}) {
      for (const int hops : {1, 2}) jobs.push_back(with(pes, workers, hops));
    }
  }
  jobs.push_back(with(1000, 2, 1));
  return jobs;
}

/// What three mailboxes in a chain add up to on this PE. Every PE p sends each i below n to mailbox 0
/// of PE p + 3 i, which adds head(i, p) and sends i + 1 to mailbox 1 of the PE i further on; that adds
/// it, and sends it modulo 100 as far on again, to mailbox 2, which adds what it gets.
template <class Head>
std::array<long, 3> chain_sums(const pgas::pe& me, int n, Head head) {
  std::array<long, 3> sums{};
  for (int p = 0; p < me.count(); ++p) {
    for (int i = 0; i < n; ++i) {
      const int a = (p + 3 * i) % me.count(), b = (a + i) % me.count(), c = (b + i + 1) % me.count();
      if (a == me.index()) sums[0] += head(i, p);
      if (b == me.index()) sums[1] += i + 1;
      if (c == me.index()) sums[2] += (i + 1) % 100;
    }
  }
  return sums;
}

/// Passes each message on to the next PE, so many times.
struct relay : pgas::actor<relay, int> {
  explicit relay(pgas::pe& me) : actor(me) {}
  void process(int left) {
    ++passed;
    if (left > 1) send((me().index() + 1) % me().count(), left - 1);
  }
  long passed = 0;
};

/// Text that tells its length and its seed apart from others.
inline std::string text(std::size_t length, int seed) {
  std::string s(length, ' ');
  for (std::size_t i = 0; i < length; ++i)
    s[i] = static_cast<char>('!' + (i * 7 + static_cast<std::size_t>(seed)) % 90);
  return s;
}

/// What the job's message was; empty: it ended well.
inline std::string failure_of(const pgas::options& o, const std::function<void(pgas::pe&)>& program) {
  return thrown_by<error>([&] { pgas::run(o, program); });
}

}  // namespace shunt::testing
