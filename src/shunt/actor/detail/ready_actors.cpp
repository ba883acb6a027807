#include <shunt/actor/detail/ready_actors.hpp>

#include <cstddef>

#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

void ready_actors::queue_direct(actor_cell& c) noexcept {
  c.begin_queued();
  if (run_next_ != &c) return;
  envelope* const e = std::exchange(run_next_message_, nullptr);
  c.append(e, e);
  --c.room;
}

/// The actor that was sent to last runs next, and a handler fiber is awake for it.
void ready_actors::set_run_next(actor_cell& c, envelope* e) noexcept {
  if (run_next_ != nullptr) queue_run_next();
  run_next_ = &c;
  run_next_message_ = e;
  wake();
}

/// The actor in run_next_ goes to the end of the queue.
void ready_actors::queue_run_next() noexcept {
  actor_cell& c = *run_next_;
  if (c.state == cell_state::direct) queue_direct(c);
  run_next_ = nullptr;
  enqueue(c);
}

void ready_actors::flag(actor_cell& c, cell_flag f) noexcept {
  if (run_next_ == &c) queue_run_next();  // ready_actors.Q1
  c.set_flag(f);
}

void ready_actors::wake() noexcept {
  if (!busy_) of_.counts_.began();
  busy_ = true;
  awake_ = true;
  of_.handlers_.wake();
}

void ready_actors::end_busy_period() noexcept {
  if (of_.batches_ != 0 || !busy_) return;
  busy_ = false;
  awake_ = false;
  of_.counts_.ended();
}

/// The actor that was sent to last, but not too often in a row; else the first in the queue.
ready_actors::next_actor ready_actors::take() noexcept {
  if (run_next_ != nullptr) {
    if (++run_next_in_a_row_ <= most_run_next_in_a_row) {
      return {std::exchange(run_next_, nullptr), std::exchange(run_next_message_, nullptr)};  // ready_actors.Q1
    }
    queue_run_next();
  }
  run_next_in_a_row_ = 0;
  if (queue_ == nullptr) return {};
  return {std::exchange(queue_, queue_->next), nullptr};
}

void ready_actors::shuffle() noexcept {
  if (run_next_ != nullptr) queue_run_next();
  std::size_t queued = 0;
  for (const actor_cell* c = queue_; c != nullptr; c = c->next) ++queued;
  for (auto passed = sched::this_worker::choose(queued); passed > 0; --passed) {
    enqueue(*std::exchange(queue_, queue_->next));
  }
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
