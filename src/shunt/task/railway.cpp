#include <shunt/task/railway.hpp>

#include <algorithm>

#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// Where the caller is no fiber, makes a runtime and calls itself in it. Then spawns the stations in blocks of equal
/// size: the first ones on worker 0, and so on. Each body has a finish of its own, so that its tasks end with it.
void run_stations(const std::vector<std::function<void()>>& bodies, const std::vector<std::string_view>& names,
                  int workers, std::source_location where) {
  if (!sched::this_fiber::inside()) {
    sched::runtime own({.workers = workers}, where);
    return own.run([&] { run_stations(bodies, names, workers, where); }, where);
  }
  auto& here = sched::this_worker::current();
  const auto use = static_cast<std::size_t>(workers > 0 ? std::min(workers, here.workers()) : here.workers());
  finish_scope all({"railway::run", where});
  for (std::size_t i = 0; i != bodies.size(); ++i) {
    const auto worker = static_cast<int>(i * use / bodies.size());
    const auto work = [&all, &body = bodies[i], where] {
      try {
        if (sched::this_fiber::may_wait()) {
          finish([&body] { body(); }, where);
        } else {
          body();  // no stack: serve() makes that the station's failure, so that no other station waits for it
        }
      } catch (...) {
        all.fail(std::current_exception());
      }
      all.leave();
    };
    all.enter();
    try {
      here.spawn(work, {.worker = worker, .name = std::string(names[i]), .even_without_stack = true}, where);
    } catch (...) {
      all.fail(std::current_exception());
      all.leave();
      break;
    }
  }
  all.wait();
  all.rethrow();
}

void throw_bad_predecessor(std::string_view name, std::source_location where) {
  const call_site call("railway::after", where);
  throw usage_error(error_number(206),
                    "railway::after: " +
                        (name.empty() ? std::string("no station is named to come after")
                                      : "`" + std::string(name) + "` is named twice, or is another railway's") +
                        call.place(),
                    call.where());
}

void throw_cannot_be_empty(std::source_location where) {
  const call_site call("railway", where);
  throw usage_error(error_number(207),
                    "railway: resize(0) with trains of one good: only with a capacity of 2 and more a train can be "
                    "empty" +
                        call.place(),
                    call.where());
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
