#include <shunt/pgas/detail/task_sends.hpp>

#include <exception>
#include <string>
#include <utility>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// \return where they are.
std::byte* append(std::vector<std::byte>& to, std::span<const std::byte> bytes, std::size_t alignment) {
  const auto at = to.size();
  to.resize(at + rounded_up(bytes.size(), alignment));
  std::memcpy(to.data() + at, bytes.data(), bytes.size());
  return to.data() + at;
}

}  // namespace

/// Waits for room, and appends. Returns under the lock.
std::byte* task_sends::begin_add(function call, std::span<const std::byte> send, std::size_t more) {
  if (more > ~std::uint32_t{0})
    throw error(error_number(925), "send by a task: " + std::to_string(more) + " bytes are too many");
  sched::this_fiber::require_wait("send");  // no wait throws that leaves `room` in the list
  for (;;) {
    if (job_.failed() && std::uncaught_exceptions() == 0) throw job_over{};
    sched::waiter room;
    {
      std::unique_lock held(guard_);
      if (waiting_sends_.size() < most_bytes) {
        const auto all =
            waiting_sends_.size() + sizeof(entry) + rounded_up(send.size(), alignment) + rounded_up(more, alignment);
        // What may throw comes before anything is appended.
        if (all > waiting_sends_.capacity()) waiting_sends_.reserve(2 * all);
        task_ = sched::this_fiber::name();
        const entry head{call, static_cast<std::uint32_t>(send.size()), static_cast<std::uint32_t>(more)};
        append(waiting_sends_, std::as_bytes(std::span<const entry, 1>(&head, 1)), alignment);
        append(waiting_sends_, send, alignment);
        const auto at = waiting_sends_.size();
        waiting_sends_.resize(at + rounded_up(more, alignment));
        held.release();
        return waiting_sends_.data() + at;
      }
      sched::this_fiber::lend_frame("send");
      for_room_.push_back(&room);
    }
    room.wait("room for what it sends", "send");
  }
}

/// Spawns the fiber that sends, unless it is there.
void task_sends::end_add() {
  {
    const std::lock_guard held(guard_, std::adopt_lock);
    if (busy_.load(std::memory_order_relaxed)) return;  // relaxed: under the lock
    busy_.store(true, std::memory_order_relaxed);       // relaxed: the same; a PE sees it, see T1
  }
  try {
    job_.spawn_on(local_, "sends of tasks", [this] { send_all(); });
  } catch (const std::exception& thrown) {
    job_.fail(std::string("send by a task: ") + thrown.what());
    wake_for_room();
    throw;
  }
}

void task_sends::wake_for_room() noexcept {
  std::vector<sched::waiter*> all;
  {
    const std::lock_guard held(guard_);
    std::swap(all, for_room_);
  }
  for (sched::waiter* const w : all) w->wake();
}

/// The fiber. What fails, fails the job: the tasks are gone by now.
void task_sends::send_all() noexcept {
  try {
    sched::this_fiber::require_stack();
    while (send_some()) continue;
  } catch (const job_over&) {  // then nothing is sent any more
  } catch (const std::exception& thrown) {
    job_.fail(std::string("send by a task: ") + thrown.what());
  }
  {
    const std::lock_guard held(guard_);
    if (job_.failed()) busy_.store(false, std::memory_order_relaxed);  // relaxed: under the lock
  }
  wake_for_room();
  all_sent_.notify_all();
}

/// Takes what waits as a whole. \return false: nothing did.
bool task_sends::send_some() {
  std::vector<std::byte> now;
  std::string task;
  {
    const std::lock_guard held(guard_);
    std::swap(now, waiting_sends_);
    std::swap(task, task_);
    if (now.empty()) busy_.store(false, std::memory_order_relaxed);  // relaxed: under the lock; read by this thread
  }
  wake_for_room();
  if (now.empty()) return false;
  send_these(now, task);
  return true;
}

/// Nothing after a failure: selectors may be gone.
void task_sends::send_these(std::span<const std::byte> sends, const std::string& task) {
  try {
    while (!sends.empty()) {
      if (job_.failed()) throw job_over{};
      entry head;
      std::memcpy(&head, sends.data(), sizeof head);
      const std::byte* const send = sends.data() + sizeof head;
      const std::byte* const more = send + rounded_up(head.bytes, alignment);
      head.call(send, {more, head.more});
      sends = sends.subspan(sizeof head + rounded_up(head.bytes, alignment) + rounded_up(head.more, alignment));
    }
  } catch (const std::exception& thrown) {
    job_.fail(std::string(thrown.what()) + "; a task sent it" + (task.empty() ? "" : ", `" + task + "`"),
              job_link::fault_of(thrown));
    throw job_over{};
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
