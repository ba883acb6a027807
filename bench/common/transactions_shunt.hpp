/// Fibers of a runtime of --pes workers, two by default, and the policies that a variant names.
#pragma once

#include <atomic>
#include <chrono>
#include <shunt/stm.hpp>
#include <stop_token>
#include <string_view>
#include <thread>

#include "transactions.hpp"

namespace bench {

/// Time slices as a scheduler gives them that knows nothing of transactions: every 20 ms, as GHC's, each worker lets
/// its next fiber run, also amid a transaction. That one is undone then and run again: an attempt of ours cannot wait
/// (GHC's goes on, if what it has read still holds).
class slices {
 public:
  /// Runs `transaction`, which calls end_if_over() where a slice may end amid it.
  template <typename Transaction>
  static auto run(const Transaction& transaction) {
    for (;;) {
      if (over()) next();
      try {
        return transaction();
      } catch (const is_over&) {
        undone_.fetch_add(1, std::memory_order_relaxed);
        next();
      }
    }
  }
  static void end_if_over() {
    if (over()) throw is_over{};
  }
  [[nodiscard]] static long undone() { return undone_.load(std::memory_order_relaxed); }

  /// From now on, until it is destroyed.
  [[nodiscard]] static std::jthread start() {
    return std::jthread([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        now_.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }

 private:
  struct is_over {};
  static bool over() { return now_.load(std::memory_order_relaxed) != of_worker_; }
  // Not inlined: compilers keep the address of a thread-local, and a transaction may send its fiber to another worker.
  [[gnu::noinline]] static void next() {
    of_worker_ = now_.load(std::memory_order_relaxed);
    if (shunt::sched::this_fiber::inside()) shunt::sched::this_fiber::yield();
  }

  static inline std::atomic<unsigned> now_{0};
  static inline thread_local unsigned of_worker_ = 0;
  static inline std::atomic<long> undone_{0};
};

/// Whether fibers have time slices.
[[nodiscard]] inline bool sliced(const bench_options& o) { return std::string_view(o.variant).starts_with("sliced"); }

struct shunt_fibers {
  explicit shunt_fibers(const bench_options& o)
      : stats(o.stats != 0), workers_(o.pes > 0 ? static_cast<int>(o.pes) : 2) {
    const std::string_view variant = o.variant;
    if (sliced(o)) clock_ = slices::start();
    shunt::stm::policies p;
    if (variant == "fixed") p = {.adapt = false, .exclusive = false};
    if (variant == "exclusive") p = {.adapt = false, .workers = 1};
    if (variant.starts_with("off") || variant.starts_with("sliced"))
      p = {.adapt = false, .exclusive = false, .queue_losers = false, .oldest_first = false};
    if (variant == "off_one" || variant == "sliced_one") p.workers = 1;
    shunt::stm::set_policies(p);
  }
  ~shunt_fibers() {
    if (stats) std::fputs(shunt::stm::to_text(shunt::stm::collect_statistics()).c_str(), stderr);
  }
  shunt_fibers(const shunt_fibers&) = delete;
  shunt_fibers& operator=(const shunt_fibers&) = delete;
  template <typename Body>
  void together(long count, const Body& body) const {
    shunt::sched::runtime workers({.workers = workers_});
    workers.run([&] {
      for (long i = 0; i < count; ++i) {
        workers.spawn([&body, i] { body(i); }, {.worker = static_cast<int>(i % workers_)});
      }
    });
  }
  static double aborts() {
    auto sum = static_cast<double>(slices::undone());
    for (const auto& c : shunt::stm::collect_statistics().classes) sum += static_cast<double>(c.aborts());
    return sum;
  }

  const bool stats;

 private:
  const int workers_;
  std::jthread clock_;
};

}  // namespace bench
