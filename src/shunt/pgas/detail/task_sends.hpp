/// Sends that tasks hand over to their PE's worker.
///
/// A task of a PE may run on any worker of its process. What it sends goes into the trains of the worker that it runs
/// on, and counts there, as long as that worker's PEs have not all said done(): outbound::lends(). Where they have, the
/// end mark has left, and announces too few; and a reply must come to the PE's own worker. Such a send is handed over:
///
///   task, on another worker ──add()──> waiting sends ──taken whole──> a fiber of the PE's worker sends them
///
///   state      add()                          the fiber takes            done(), of a PE of the worker
///   none       -> some, spawns the fiber      -                          goes on
///   some       -> some                        -> sends them, some        waits
///   sending    -> some                        nothing waits: -> none     waits
///
/// Invariants
///   task_sends.T1  `busy_` is true from the first add() until the fiber has sent all, so a PE whose tasks have ended
///                  sees it: their end happens before its done().
///   task_sends.T2  No more than `most_bytes` wait, and one send: a task that would add more waits for the fiber.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <shunt/pgas/detail/waiting.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class task_sends {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 18;

  /// \param local  the worker's number in its process
  task_sends(job_link& job, int local) noexcept : job_(job), local_(local) {}

  [[nodiscard]] int local() const noexcept { return local_; }
  /// A fiber of another worker. `send()` will be called on this worker's thread, in a fiber, in the order of the calls.
  /// \throws what park() throws where the task must wait, std::bad_alloc.
  template <class Send>
  void add(const Send& send) {
    static_assert(std::is_trivially_copyable_v<Send> && alignof(Send) <= alignment);
    static_cast<void>(begin_add(&run<Send>, std::as_bytes(std::span<const Send, 1>(&send, 1)), 0));
    end_add();
  }
  /// The same with bytes that are only known now: `send(std::span<const std::byte>)`. \return where the caller writes
  /// them, aligned to 16; then it calls end_add(), and nothing in between: a lock is held.
  template <class Send>
  [[nodiscard]] std::byte* begin_add(const Send& send, std::size_t bytes) {
    static_assert(std::is_trivially_copyable_v<Send> && alignof(Send) <= alignment);
    return begin_add(&run_with<Send>, std::as_bytes(std::span<const Send, 1>(&send, 1)), bytes);
  }
  void end_add();

  /// This worker's thread, a PE: returns when all that its tasks have handed over is sent.
  void finish(waiting& waits, const char* call) {
    if (busy_.load(std::memory_order_relaxed)) [[unlikely]]  // relaxed: task_sends.T1
      waits.until(all_sent_, call, [this] { return !busy_.load(std::memory_order_relaxed); });  // relaxed: the same
  }

  /// This worker's thread: the job has failed. Wakes the PEs that wait in finish().
  void notify_failure() { all_sent_.notify_all(); }
  /// Any thread. The job has failed, and a reply may still be written there: lives until this object goes.
  void keep(std::shared_ptr<void> place) {
    const std::lock_guard held(guard_);
    kept_.push_back(std::move(place));
  }

 private:
  static constexpr std::size_t alignment = 16;
  using function = void (*)(const std::byte* send, std::span<const std::byte> more);
  struct alignas(alignment) entry {
    function call;
    std::uint32_t bytes;  // of the send, and of what follows it
    std::uint32_t more;
  };

  template <class Send>
  static void run(const std::byte* send, std::span<const std::byte>) {
    copy_of<Send>(send)();
  }
  template <class Send>
  static void run_with(const std::byte* send, std::span<const std::byte> more) {
    copy_of<Send>(send)(more);
  }
  template <class Send>
  static Send copy_of(const std::byte* send) {
    alignas(Send) std::byte place[sizeof(Send)];
    std::memcpy(place, send, sizeof place);
    return *std::launder(reinterpret_cast<Send*>(place));
  }

  [[nodiscard]] std::byte* begin_add(function call, std::span<const std::byte> send, std::size_t more);
  void send_all() noexcept;
  bool send_some();
  void wake_for_room() noexcept;
  void send_these(std::span<const std::byte> sends, const std::string& task);

  job_link& job_;
  const int local_;
  std::atomic<bool> busy_{false};  // task_sends.T1; written under the lock
  event all_sent_;                 // this worker's fibers wait for it

  std::mutex guard_;  // of what follows
  std::vector<std::byte> waiting_sends_;
  std::string task_;                      // the name of the task that added last; empty: it has none
  std::vector<sched::waiter*> for_room_;  // task_sends.T2
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
