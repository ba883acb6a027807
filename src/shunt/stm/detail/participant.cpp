#include <algorithm>
#include <chrono>
#include <shunt/base/clock.hpp>
#include <shunt/sched/waits_forbidden.hpp>
#include <shunt/stm/detail/participant.hpp>
#include <shunt/stm/detail/registry.hpp>
#include <shunt/stm/tx.hpp>
#include <thread>

namespace shunt {
inline namespace v1 {
namespace stm::detail {
namespace {

constexpr word alone_bit = 1;  // solo(p) | alone_bit: alone(p)

/// What waiting for the mode costs least: other fibers meanwhile, if that may be.
void wait_for_mode(int round) {
  test_point();
  if (round >= 16 && sched::this_fiber::may_wait()) {
    sched::this_fiber::yield();
  } else {
    pause(round);
  }
}

// When solo mode may be tried next, and how long it is left alone after it was ended early. Relaxed: policy.
using namespace std::chrono_literals;
constexpr std::int64_t rest_at_least = std::chrono::nanoseconds(200us).count();
constexpr std::int64_t rest_at_most = std::chrono::nanoseconds(50ms).count();
constexpr std::int64_t solo_paid_off = std::chrono::nanoseconds(1ms).count();
std::atomic<std::int64_t> solo_not_before{0};
std::atomic<std::int64_t> solo_rest{rest_at_least};
std::atomic<std::int64_t> solo_since{0};

std::int64_t now_ns() noexcept { return stm::detail::now().time_since_epoch() / 1ns; }

/// Another one has come: how soon is solo mode worth another trial?
void solo_has_ended() noexcept {
  const auto now = now_ns();
  const bool paid_off = now - solo_since.load(std::memory_order_relaxed) >= solo_paid_off;
  const auto rest = paid_off ? rest_at_least : std::min(2 * solo_rest.load(std::memory_order_relaxed), rest_at_most);
  solo_rest.store(rest, std::memory_order_relaxed);
  // Where classes take turns on the narrow track the next one is alone again soon.
  solo_not_before.store(paid_off ? now : now + rest, std::memory_order_relaxed);
}

}  // namespace

void pause(int round) noexcept {
  test_point();
  if (round % 64 != 63) {
    relax();
  } else {
    std::this_thread::yield();  // whom we wait for may have lost its CPU
  }
}

void participant::look_at_all() noexcept {
  if (asymmetric_fence::usable()) {
    asymmetric_fence::heavy();
  } else {
    static std::atomic<int> all{0};
    all.fetch_add(0, std::memory_order_seq_cst);  // for ThreadSanitizer's trees, which leave the fence out
    asymmetric_fence::symmetric();                // the other half is in announce()
  }
}

/// Outside. \return whether the mode is `to` now; if that is one of our own, we are inside.
bool participant::change(word from, word to) noexcept {
  // seq_cst: before the look at the numbers, where there is no heavy fence.
  if (!the_mode.now.compare_exchange_strong(from, mode_changing, std::memory_order_seq_cst)) return false;
  look_at_all();
  for (const participant* p = the_registry().first(); p != nullptr && !has(flaw::hasty_solo); p = p->next) {
    const auto seen = p->number();
    // One that has been inside may come again: it then sees the mode.
    for (int i = 0; p != this && (seen & 1) != 0 && p->number() == seen; ++i) pause(i);
  }
  if (to != mode_open) {
    number_.store(own_number() + 1, std::memory_order_release);  // inside; release: edge `left`, as in announce()
    solo_ = true;
    mode_ = to;
  }
  the_mode.now.store(to, std::memory_order_release);  // edge `mode`
  return true;
}

void participant::come_inside() {
  for (int i = 0; !go_inside(own_number()); ++i) {
    const auto mode = the_mode.now.load(std::memory_order_relaxed);  // relaxed: a look; change() decides
    if (mode != mode_open && mode != mode_changing && (mode & alone_bit) == 0) {
      if (change(mode, mode_open)) solo_has_ended();
    } else {
      wait_for_mode(i);
    }
  }
}

void participant::come_inside_alone() {
  for (int i = 0;; ++i) {
    const auto mode = the_mode.now.load(std::memory_order_relaxed);  // relaxed: as above
    if (mode == mode_changing || (mode & alone_bit) != 0) {
      wait_for_mode(i);
    } else if (change(mode, solo_mode_ | alone_bit)) {
      return;
    }
  }
}

void participant::leave_alone() noexcept {
  leave();
  the_mode.now.store(mode_open, std::memory_order_release);  // edge `mode`; nobody else stores it in alone()
}

void participant::try_solo_soon() noexcept {
  solo_rest.store(rest_at_least, std::memory_order_relaxed);
  solo_not_before.store(0, std::memory_order_relaxed);
}

void participant::look_for_solo(std::int64_t now) noexcept {
  std::uint64_t others = 0;
  bool inside = false;
  for (const participant* p = the_registry().first(); p != nullptr; p = p->next) {
    if (p == this) continue;
    const auto n = p->number();
    others += n;
    inside = inside || (n & 1) != 0;
  }
  const bool quiet = others == others_seen_ && !inside;
  others_seen_ = others;
  if (!quiet || the_mode.now.load(std::memory_order_relaxed) != mode_open) return;  // relaxed: a look
  if (now < solo_not_before.load(std::memory_order_relaxed)) return;
  if (!change(mode_open, solo_mode_)) return;
  solo_since.store(now, std::memory_order_relaxed);
  leave();
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
