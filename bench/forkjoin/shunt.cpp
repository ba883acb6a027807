/// Question: what does a fork cost that nobody takes, and what does a second worker gain?
#include <shunt/task.hpp>

#include "problems.hpp"

namespace {

struct shunt_jobs {
  static void inside(int workers, const std::function<void()>& body) {
    shunt::sched::options o;
    o.workers = workers;
    shunt::sched::runtime(o).run(body);
  }
  template <typename F, typename G>
  static std::pair<long, long> both(F&& f, G&& g) {
    return shunt::fork_join(std::forward<F>(f), std::forward<G>(g));
  }
  template <typename Body>
  static void loop(long count, Body&& body) {
    shunt::parallel_for(0L, count, 1, body);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::forkjoin<shunt_jobs>(argc, argv); }
