/// Loops on fibers.
#pragma once

#include <functional>
#include <shunt/task.hpp>

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

}  // namespace bench
