/// Fibers of a runtime of two workers, and the policies that a variant names.
#pragma once

#include <shunt/stm.hpp>
#include <string_view>

#include "transactions.hpp"

namespace bench {

struct shunt_fibers {
  explicit shunt_fibers(const bench_options& o) : stats(o.stats != 0) {
    const std::string_view variant = o.variant;
    shunt::stm::policies p;
    if (variant == "fixed") p = {.adapt = false, .exclusive = false};
    if (variant == "exclusive") p = {.adapt = false, .workers = 1};
    if (variant.starts_with("off"))
      p = {.adapt = false, .exclusive = false, .queue_losers = false, .oldest_first = false};
    if (variant == "off_one") p.workers = 1;
    shunt::stm::set_policies(p);
  }
  ~shunt_fibers() {
    if (stats) std::fputs(shunt::stm::to_text(shunt::stm::collect_statistics()).c_str(), stderr);
  }
  shunt_fibers(const shunt_fibers&) = delete;
  shunt_fibers& operator=(const shunt_fibers&) = delete;
  template <typename Body>
  static void together(long count, const Body& body) {
    shunt::sched::runtime workers({.workers = 2});
    workers.run([&] {
      for (long i = 0; i < count; ++i) workers.spawn([&body, i] { body(i); }, {.worker = static_cast<int>(i % 2)});
    });
  }
  static double aborts() {
    double sum = 0;
    for (const auto& c : shunt::stm::collect_statistics().classes) sum += static_cast<double>(c.aborts());
    return sum;
  }

  const bool stats;
};

}  // namespace bench
