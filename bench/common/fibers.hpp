/// Loops on fibers.
#pragma once

#include <functional>
#include <shunt/task.hpp>
#include <string_view>

#include "program.h"

namespace bench {

/// A system of the tables whose problems are loops: common/loops.hpp.
struct fibers_system {
  template <typename Body>
  static void inside(int workers, const Body& body) {
    shunt::sched::options wanted;
    wanted.workers = workers;
    shunt::sched::runtime(wanted).run([&] {
      body([](long count, const std::function<void(long)>& each) { shunt::parallel_for(0L, count, 1, each); });
    });
  }
};

/// `--variant fibers`.
[[nodiscard]] inline bool waiting_fibers(int argc, char** argv) {
  return std::string_view(bench_parse(argc, argv).variant) == "fibers";
}

/// The same with a fiber for each index, as the study of coroutines has them: all wait until all are there, and each
/// lets the others run before and after its body.
struct waiting_fibers_system {
  template <typename Body>
  static void inside(int workers, const Body& body) {
    shunt::sched::options wanted;
    wanted.workers = workers;
    wanted.stack_bytes = 64 * 1024;
    shunt::sched::runtime(wanted).run([&] {
      body([](long count, const std::function<void(long)>& each) {
        shunt::promise<void> go;
        const auto gone = go.get_future();
        shunt::finish([&] {
          for (long i = 0; i < count; ++i) {
            shunt::async([&each, i, gone] {
              gone.get();
              shunt::sched::this_fiber::yield();
              each(i);
              shunt::sched::this_fiber::yield();
            });
          }
          go.set_value();
        });
      });
    });
  }
};

}  // namespace bench
