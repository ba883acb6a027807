#include <shunt/task/fiber.hpp>

#include <source_location>

namespace shunt {
inline namespace v1 {
namespace task {

void fiber::begin(std::function<void()> body, sched::spawn_options how) {
  how.even_without_stack = true;
  id_ = sched::this_worker::current({"fiber", made_at_}).spawn(std::move(body), std::move(how), made_at_);
  detail::event_behind::of(done_, "fiber").made_by(id_);
}

// noexcept: fibers that wait for each other's ends in destructors, in a circle, could never go on. So the process ends.
void fiber::end() noexcept {
  if (!joinable()) return;
  request_stop();
  if (!done_.ready()) {
    const sched::late_stop late({"fiber", made_at_}, nullptr, id_);
    done_.wait(made_at_);
  }
  done_ = {};
}

}  // namespace task
}  // namespace v1
}  // namespace shunt
