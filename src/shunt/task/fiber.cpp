#include <shunt/task/fiber.hpp>

namespace shunt {
inline namespace v1 {

void fiber::begin(std::function<void()> body, sched::spawn_options where) {
  where.even_without_stack = true;
  id_ = sched::this_worker::current().spawn(std::move(body), std::move(where));
  detail::event_behind::of(done_, "fiber").made_by(id_);
}

// noexcept: a circle of fibers that wait for each other's ends in destructors ends the process, as it
// could not go on.
void fiber::end() noexcept {
  if (!joinable()) return;
  request_stop();
  done_.wait();
  done_ = {};
}

}  // namespace v1
}  // namespace shunt
