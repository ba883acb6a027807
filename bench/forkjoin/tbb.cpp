/// Question: what do the most used library's tasks cost? parallel_invoke a fork, parallel_for with
/// grain 1 and the default partitioner.
#include <oneapi/tbb.h>

#include "problems.hpp"

namespace {

struct onetbb {
  static void inside(int workers, const std::function<void()>& body) {
    const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                            static_cast<std::size_t>(workers));
    oneapi::tbb::task_arena(workers).execute(body);
  }
  template <typename F, typename G>
  static std::pair<long, long> both(F&& f, G&& g) {
    long a = 0;
    long b = 0;
    oneapi::tbb::parallel_invoke([&] { a = f(); }, [&] { b = g(); });
    return {a, b};
  }
  template <typename Body>
  static void loop(long count, Body&& body) {
    oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<long>(0, count, 1), [&](const auto& range) {
      for (long i = range.begin(); i != range.end(); ++i) body(i);
    });
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::forkjoin<onetbb>(argc, argv); }
