#include <algorithm>
#include <chrono>
#include <shunt/base/clock.hpp>
#include <shunt/sched/waits_forbidden.hpp>
#include <shunt/stm/detail/engine/participant.hpp>
#include <shunt/stm/detail/engine/registry.hpp>
#include <thread>

namespace shunt {
inline namespace v1 {
namespace stm::detail {
namespace {

constexpr word irrevocable_bit = 1;  // irrevocable(p) is exclusive(p) | irrevocable_bit

/// One step of a wait for the mode: other fibers of the worker run meanwhile, where the caller may yield.
void wait_for_mode(int round) {
  test_point();
  if (round >= 16 && sched::this_fiber::may_wait()) {
    sched::this_fiber::yield();
  } else {
    pause(round);
  }
}

// When exclusive mode may be tried next, and for how long it is not tried after a period that ended early. They are
// policy: no other data depends on them.
using namespace std::chrono_literals;
constexpr std::int64_t back_off_at_least = std::chrono::nanoseconds(200us).count();
constexpr std::int64_t back_off_at_most = std::chrono::nanoseconds(50ms).count();
constexpr std::int64_t exclusive_paid_off = std::chrono::nanoseconds(1ms).count();
std::atomic<std::int64_t> exclusive_not_before{0};
std::atomic<std::int64_t> exclusive_back_off{back_off_at_least};
std::atomic<std::int64_t> exclusive_since{0};

/// The calling participant has ended exclusive mode: decides when it is tried again. relaxed, all: policy; where two
/// threads are here at once, the update of one of them is lost.
void exclusive_has_ended() noexcept {
  const auto now = now_ns();
  const bool paid_off = now - exclusive_since.load(std::memory_order_relaxed) >= exclusive_paid_off;
  const auto doubled = std::min(2 * exclusive_back_off.load(std::memory_order_relaxed), back_off_at_most);
  const auto back_off = paid_off ? back_off_at_least : doubled;
  exclusive_back_off.store(back_off, std::memory_order_relaxed);
  // Where workers take turns the next one has the transactions to itself soon.
  exclusive_not_before.store(paid_off ? now : now + back_off, std::memory_order_relaxed);
}

}  // namespace

void pause(int round) noexcept {
  test_point();
  if (round % 64 != 63) {
    relax();
  } else {
    std::this_thread::yield();  // the other thread may have lost its CPU
  }
}

void participant::heavy_fence() noexcept {
  if (asymmetric_fence::usable()) {
    asymmetric_fence::heavy();
  } else {
    static std::atomic<int> all{0};
    // seq_cst: pair `announced`, in builds with ThreadSanitizer, which leave the fence out
    all.fetch_add(0, std::memory_order_seq_cst);
    asymmetric_fence::symmetric();  // pair `announced`; the other half is in announce()
  }
}

void participant::wait_until_left() const noexcept {
  const auto seen = number();
  for (int i = 0; (seen & 1) != 0 && number() == seen; ++i) pause(i);
}

/// Outside. \return whether the mode is `to` now; if `to` is one of this participant's own modes, it is inside.
bool participant::change(word from, word to) noexcept {
  // acquire: edge `mode`, the number of the participant that changed the mode before. seq_cst: the same instruction on
  // x86-64; pair `announced` has its fence below.
  if (!the_mode.now.compare_exchange_strong(from, mode_changing, std::memory_order_seq_cst)) return false;
  heavy_fence();
  // A participant that was inside may enter again meanwhile: then it sees the mode, and leaves.
  for (const participant* p = the_registry().first(); p != nullptr && !has(flaw::hasty_exclusive); p = p->next) {
    if (p != this) p->wait_until_left();
  }
  if (to != mode_open) {
    number_.store(own_number() + 1, std::memory_order_release);  // inside; release: edge `left`, as in announce()
    exclusive_ = true;
    mode_ = to;
  }
  the_mode.now.store(to, std::memory_order_release);  // edge `mode`
  return true;
}

void participant::enter() {
  for (int i = 0; !try_enter(own_number()); ++i) {
    const auto mode = the_mode.now.load(std::memory_order_relaxed);  // relaxed: a guess; change() decides
    if (mode != mode_open && mode != mode_changing && (mode & irrevocable_bit) == 0) {
      if (change(mode, mode_open)) exclusive_has_ended();
    } else {
      wait_for_mode(i);
    }
  }
}

void participant::enter_irrevocably() {
  for (int i = 0;; ++i) {
    const auto mode = the_mode.now.load(std::memory_order_relaxed);  // relaxed: a guess; change() decides
    if (mode == mode_changing || (mode & irrevocable_bit) != 0) {
      wait_for_mode(i);
    } else if (change(mode, exclusive_mode_ | irrevocable_bit)) {
      return;
    }
  }
}

void participant::leave_irrevocable() noexcept {
  leave();
  the_mode.now.store(mode_open, std::memory_order_release);  // edge `mode`; no other thread stores it in this mode
}

void participant::try_exclusive_soon() noexcept {
  exclusive_back_off.store(back_off_at_least, std::memory_order_relaxed);  // relaxed: policy
  exclusive_not_before.store(0, std::memory_order_relaxed);                // relaxed: policy
}

/// First the sum of the others' numbers, which tells whether any of them has moved since the last look; then the mode.
void participant::try_exclusive_mode(std::int64_t now) noexcept {
  std::uint64_t others = 0;
  bool one_is_inside = false;
  for (const participant* p = the_registry().first(); p != nullptr; p = p->next) {
    if (p == this) continue;
    const auto n = p->number();
    others += n;
    one_is_inside = one_is_inside || (n & 1) != 0;
  }
  const bool quiet = others == others_seen_ && !one_is_inside;
  others_seen_ = others;
  if (!quiet || the_mode.now.load(std::memory_order_relaxed) != mode_open) return;  // relaxed: change() decides
  if (now < exclusive_not_before.load(std::memory_order_relaxed)) return;           // relaxed: policy
  if (!change(mode_open, exclusive_mode_)) return;
  exclusive_since.store(now, std::memory_order_relaxed);  // relaxed: policy
  leave();
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
