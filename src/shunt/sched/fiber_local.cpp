#include <shunt/sched/fiber_local.hpp>

#include <atomic>
#include <memory>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/observe/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber_locals {
  struct local {
    std::uint64_t key;
    void* value;
    void (*destroy)(void*) noexcept;
  };
  std::vector<local> all;
  const work_note* work = nullptr;
};

namespace {

fiber& running_fiber() {
  const worker* const here = worker::current();
  if (here == nullptr || !here->in_fiber()) throw usage_error(error_number(101), "fiber_local: used outside a fiber");
  return *here->running();
}

}  // namespace

std::uint64_t new_local_key() noexcept {
  static std::atomic<std::uint64_t> keys{0};
  return keys.fetch_add(1, std::memory_order_relaxed);  // relaxed: unique
}

void* find_local(std::uint64_t key) {
  const auto* const locals = running_fiber().locals;
  if (locals == nullptr) return nullptr;
  for (const auto& l : locals->all) {
    if (l.key == key) return l.value;
  }
  return nullptr;
}

void add_local(std::uint64_t key, void* value, void (*destroy)(void*) noexcept) {
  fiber& me = running_fiber();
  if (me.locals == nullptr) me.locals = new fiber_locals;
  me.locals->all.push_back({key, value, destroy});
}

void set_work_of_this_fiber(const work_note* note) {
  fiber& me = running_fiber();
  if (me.locals == nullptr) me.locals = new fiber_locals;
  me.locals->work = note;
}

const work_note* work_of_this_fiber() { return work_of(running_fiber()); }

const work_note* work_of(const fiber& f) noexcept { return f.locals == nullptr ? nullptr : f.locals->work; }

void end_locals(fiber& me) noexcept {
  const std::unique_ptr<fiber_locals> locals(me.locals);
  while (!locals->all.empty()) {  // a destructor may make another value
    const auto last = locals->all.back();
    locals->all.pop_back();
    last.destroy(last.value);
  }
  me.locals = nullptr;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
