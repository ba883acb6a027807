/// No body ever sees values that did not stand together. Threads and fibers run transactions that look at accounts
/// (their sum is constant) and at pairs (both are equal), under each setting of the policies. Attempts are interrupted
/// at random: the engine gives the CPU away when it looks at shared data, and bodies end by exceptions.
///
///   test_stm_opacity [transactions]     1,000,000 by default; prints what it has seen
///
/// Exit 1 if an attempt saw a wrong sum or a wrong pair, also if that attempt was undone.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <shunt/stm.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../src/shunt/stm/atomically.cpp"
#include "../../src/shunt/stm/detail/engine/attempt.cpp"
#include "../../src/shunt/stm/detail/engine/commit.cpp"
#include "../../src/shunt/stm/detail/engine/commute_log.cpp"
#include "../../src/shunt/stm/detail/engine/participant.cpp"
#include "../../src/shunt/stm/detail/engine/read_log.cpp"
#include "../../src/shunt/stm/detail/engine/reclaimer.cpp"
#include "../../src/shunt/stm/detail/engine/registry.cpp"
#include "../../src/shunt/stm/detail/engine/transaction.cpp"
#include "../../src/shunt/stm/detail/engine/waiter.cpp"
#include "../../src/shunt/stm/detail/engine/waiters.cpp"
#include "../../src/shunt/stm/detail/engine/write_log.cpp"
#include "../../src/shunt/stm/detail/policy/admission.cpp"
#include "../../src/shunt/stm/detail/policy/class_record.cpp"
#include "../../src/shunt/stm/detail/policy/policies.cpp"
#include "../../src/shunt/stm/statistics.cpp"
#include "../../src/shunt/stm/transaction_class.cpp"
#include "../../src/shunt/stm/tx.cpp"

namespace {

/// Marsaglia's xorshift, with a state for each thread.
std::uint64_t chance() noexcept {
  static std::atomic<std::uint64_t> seeds{0};
  static thread_local std::uint64_t state = (seeds.fetch_add(1) + 1) * 0x9E3779B97F4A7C15U;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

void shunt::stm::detail::test_point() noexcept {
  if (chance() % 512 == 0) std::this_thread::yield();
}

bool shunt::stm::detail::test_wait(const std::atomic<std::uint32_t>&) noexcept { return false; }
std::chrono::steady_clock::time_point shunt::stm::detail::now() noexcept { return sched::now(); }

namespace {

using shunt::tvar;
using shunt::tx;
namespace stm = shunt::stm;

constexpr int accounts = 8, pairs = 4, balance = 100;
constexpr int threads = 2, fibers = 6;

struct interrupted {};
struct wide_pair {
  long first, second;
};

struct world {
  std::array<tvar<int>, accounts> money;
  std::array<std::array<tvar<long>, 2>, pairs> equal;
  tvar<wide_pair> wide{{0, 0}};
  std::array<tvar<std::string>, 2> boxed;
  std::atomic<long> wrong{0}, attempts{0}, undone{0};

  world() {
    for (auto& m : money) m.store(balance);
  }
  void look(tx& t) {
    ++attempts;
    int sum = 0;
    for (auto& m : money) sum += t.read(m);
    if (sum != accounts * balance) ++wrong;
  }
  void one() {
    const auto dice = chance();
    const auto from = dice % accounts, to = (dice >> 8) % accounts, pair = (dice >> 16) % pairs;
    try {
      shunt::atomically([&](tx& t) {
        look(t);
        t.modify(money[from], [](int v) { return v - 1; });
        if (chance() % 16 == 0) throw interrupted{};
        t.modify(money[to], [](int v) { return v + 1; });
        if (t.read(equal[pair][0]) != t.read(equal[pair][1])) ++wrong;
        t.modify(equal[pair][0], [](long v) { return v + 1; });
        t.modify(equal[pair][1], [](long v) { return v + 1; });
        if (dice >> 62 != 0) return;
        const auto w = t.read(wide);
        if (w.first != w.second) ++wrong;
        t.write(wide, {w.first + 1, w.second + 1});
        if (t.read(boxed[0]) != t.read(boxed[1])) ++wrong;
        for (auto& b : boxed) t.write(b, std::to_string(w.first));
        if (chance() % 16 == 0) throw interrupted{};
      });
    } catch (const interrupted&) {
      ++undone;
    }
  }
};

void run(long transactions, const stm::policies& p, world& w) {
  stm::set_policies(p);
  const long each = transactions / (threads + fibers);
  std::vector<std::thread> plain;
  for (int i = 0; i < threads; ++i) {
    plain.emplace_back([&] {
      for (long k = 0; k < each; ++k) w.one();
    });
  }
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    for (int i = 0; i < fibers; ++i) {
      rt.spawn(
          [&] {
            for (long k = 0; k < each; ++k) {
              w.one();
              if (chance() % 64 == 0) shunt::sched::this_fiber::yield();
            }
          },
          {.worker = i % 2});
    }
  });
  for (auto& t : plain) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::array settings{stm::policies{},
                            stm::policies{.adapt = false, .exclusive = false},
                            stm::policies{.adapt = false, .workers = 1},
                            stm::policies{.adapt = false, .workers = 2, .exclusive = false},
                            stm::policies{.queue_losers = false},
                            stm::policies{.adapt = false, .oldest_first = false}};
  const long wanted = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  world w;
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& p : settings) run(wanted / static_cast<long>(settings.size()), p, w);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  int sum = 0;
  for (auto& m : w.money) sum += m.load();
  const bool good = w.wrong == 0 && sum == accounts * balance;
  std::printf("%ld transactions, %ld attempts, %ld ended by exceptions, %ld wrong values seen, %.1f s\n", wanted,
              w.attempts.load(), w.undone.load(), w.wrong.load(), seconds.count());
  return good ? 0 : 1;
}
