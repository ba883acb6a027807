/// Values that fetch() waits for: of a PE's program, and of a task on another worker.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <shunt/pgas/detail/pe_worker.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// While it lives, a fetch() of the worker waits for a value at that place.
class awaited_value {
 public:
  awaited_value(pe_worker& w, const void* place, const void* type) : worker_(w), place_(place) {
    if (w.facts.hops != 1) w.awaited.add(place, type);
  }
  ~awaited_value() {
    if (worker_.facts.hops != 1) worker_.awaited.remove(place_);
  }
  awaited_value(const awaited_value&) = delete;
  awaited_value& operator=(const awaited_value&) = delete;

 private:
  pe_worker& worker_;
  const void* place_;
};

/// The value that a fetch() of a task waits for, which the thread of its PE's worker writes.
template <class T>
class reply_to_task {
 public:
  explicit reply_to_task(pe_worker& w) : worker_(w) {}
  void expect_reply() {
    if (worker_.facts.hops != 1) worker_.awaited.add(this, &type_mark<T>);
  }
  void set(const T& r) {
    if (worker_.facts.hops != 1) worker_.awaited.remove(this);
    value = r;
    come_.wake();
  }
  /// Looks now and then whether the job has failed: then no reply will come, or one that comes is still written.
  void wait(const std::shared_ptr<reply_to_task>& self) {
    constexpr std::chrono::milliseconds between_looks{50};
    try {
      while (!come_.wait_until(sched::after(between_looks), "a reply", "fetch()")) {
        if (worker_.leaving()) throw job_over{};
      }
    } catch (...) {
      worker_.of_tasks.keep(self);
      throw;
    }
  }

  std::optional<T> value;

 private:
  pe_worker& worker_;
  sched::waiter come_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
