/// What is possible: calls as 64-byte slots in a ring for each sender's thread, published by up to 64, and one receiver
/// that takes them.
///
/// One worker: senders take turns, a ring full each. Two: they are on one, the receiver on the other; also with
/// `--what thread`, where the sender is a plain thread.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "../common/program.h"
#include "../common/to_cpu.hpp"

namespace {

struct receiver {
  long sum = 0;
  long got = 0;
};
struct alignas(64) slot {
  void (*call)(receiver&, const slot&);
  receiver* whose;
  long value;
};

constexpr std::uint64_t slots = 1024;
constexpr std::uint64_t at_once = 64;

struct ring {
  alignas(128) std::atomic<std::uint64_t> published{0};
  alignas(128) std::atomic<std::uint64_t> read{0};
  alignas(128) slot goods[slots];
  long next = 0;

  /// As many as there is room for, at most 64. \return whether any are left.
  bool fill(receiver& to, long each) {
    const auto from = published.load(std::memory_order_relaxed);
    auto room = slots - (from - read.load(std::memory_order_acquire));
    if (room > at_once) room = at_once;
    auto at = from;
    for (; room > 0 && next < each; --room, ++at) {
      slot& s = goods[at & (slots - 1)];
      s.call = [](receiver& r, const slot& m) {
        r.sum += m.value;
        ++r.got;
      };
      s.whose = &to;
      s.value = next++;
    }
    published.store(at, std::memory_order_release);
    return next < each;
  }
  void empty() {
    const auto from = read.load(std::memory_order_relaxed);
    const auto end = published.load(std::memory_order_acquire);
    for (auto at = from; at != end; ++at) {
      const slot& s = goods[at & (slots - 1)];
      s.call(*s.whose, s);
    }
    read.store(end, std::memory_order_release);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const long senders = options.table, each = options.rounds / senders, all = senders * each;
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    const auto rings = std::make_unique<ring[]>(static_cast<std::size_t>(senders));
    receiver to;
    const auto send = [&] {
      bool more = false;
      for (long s = 0; s < senders; ++s) more |= rings[static_cast<std::size_t>(s)].fill(to, each);
      return more;
    };
    const auto take = [&] {
      for (long s = 0; s < senders; ++s) rings[static_cast<std::size_t>(s)].empty();
    };
    const double start = bench_now();
    if (options.pes == 1 && options.what != std::string("thread")) {
      while (to.got < all) {
        send();
        take();
      }
    } else {
      std::thread second([&] {
        bench::to_cpu(1);
        while (send()) {
        }
      });
      bench::to_cpu(0);
      while (to.got < all) take();
      second.join();
    }
    const double seconds = bench_now() - start;
    const long want = senders * (each * (each - 1) / 2);
    if (to.sum != want) {
      bench_wrong(argv[0], "the sum", static_cast<unsigned long long>(to.sum), static_cast<unsigned long long>(want));
    }
    if (round >= options.warmup) bench_report(seconds, "");
  }
  return 0;
}
