#include <shunt/sync/detail/lock_graph.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <shunt/base/cache_line.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sync/mutex.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {
namespace {

// std::mutex: a thread that waits here sleeps, and a search may be long.
constinit std::mutex list_lock;
// Rows of a hash table of the fibers: with 50,000 of them a search looks at some fifty.
constexpr std::size_t rows = 1024;
constinit std::array<lock_graph::entry*, rows> listed{};

lock_graph::entry*& row_of(sched::waker fiber) noexcept {
  static_assert(sizeof fiber == sizeof(std::uintptr_t));
  const auto address = std::bit_cast<std::uintptr_t>(fiber) / cache_line;
  return listed[(address * 0x9E3779B97F4A7C15U >> 40) % rows];
}

std::string fiber_named(std::string_view name) {
  return name.empty() ? std::string("a fiber without a name") : "fiber `" + std::string(name) + "`";
}

}  // namespace

const lock_graph::entry* lock_graph::entry_of(sched::waker fiber) noexcept {
  const entry* e = row_of(fiber);
  while (e != nullptr && e->fiber_ != fiber) e = e->next_;
  return e;
}

/// The listed fiber that holds what `e` waits for. \return null: nothing that is listed holds it.
const lock_graph::entry* lock_graph::after(const entry& e) noexcept {
  const auto holder = e.on_.owner();
  return holder && holder != e.fiber_ ? entry_of(holder) : nullptr;  // lock_graph.L2: handed over
}

/// Two steps for each one of a second walker: so a circle that `from` is not part of ends the search as well.
void lock_graph::throw_if_circle(const entry& from, call_site call) {
  const entry* slow = &from;
  const entry* at = after(from);
  for (bool step = false; at != nullptr && at != &from; step = !step) {
    if (step) slow = after(*slow);
    if (at == slow) return;
    at = after(*at);
  }
  if (at == nullptr) return;
  std::string text = std::string(call.name()) + ": deadlock: " + fiber_named(from.name_);
  const entry* each = &from;
  do {
    each = after(*each);
    text += " waits for a mutex of " + fiber_named(each->name_) + (each == &from ? "" : ", which");
  } while (each != &from);
  throw sched::deadlock(error_number(119), text + call.place(), call.where());
}

lock_graph::entry::entry(mutex& on, sched::waker fiber, call_site call)
    : on_(on), fiber_(fiber), name_(sched::this_fiber::name()) {
  const std::lock_guard held(list_lock);
  link();
  try {
    throw_if_circle(*this, call);
  } catch (...) {
    unlink();
    throw;
  }
}

void lock_graph::entry::link() noexcept {
  next_ = std::exchange(row_of(fiber_), this);
  if (next_ != nullptr) next_->previous_ = this;
}

void lock_graph::entry::unlink() noexcept {
  (previous_ == nullptr ? row_of(fiber_) : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

lock_graph::entry::~entry() {
  const std::lock_guard held(list_lock);
  unlink();
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
