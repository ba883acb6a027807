// Compact fibers: their frames are put aside, and come back as they were.
#include <shunt/sched.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/base/random.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/compact_stacks.hpp>
#include <shunt/sched/explore/explore.hpp>
#include <shunt/sched/timed_wait.hpp>
#include <support/expect.hpp>
#include <support/process.hpp>
#include <support/slowly.hpp>

using namespace shunt;
using namespace std::chrono_literals;
using shunt::testing::slowly;
namespace this_fiber = sched::this_fiber;

namespace {

constexpr std::size_t more_than_stacks = 5 * sched::detail::compact_stacks::stacks_of_a_size;

/// Waits for a wake that is meant: wakes may be spurious.
class gate {
 public:
  void wait() {
    fiber_ = this_fiber::self();
    while (!open_) this_fiber::park();
    open_ = false;
  }
  void open() {
    open_ = true;
    fiber_.wake();
  }

 private:
  sched::waker fiber_;
  bool open_ = false;
};

/// So many compact fibers of worker 0 that several share each stack. Each says when it waits; the root opens.
class crowd {
 public:
  /// By fiber `i`.
  void wait(std::size_t i) {
    ++waiting_;
    gates_[i].wait();
  }
  /// By the root: makes them, each of which calls body(i).
  template <class Body>
  static void spawn(const Body& body, const std::string& name = {}) {
    for (std::size_t i = 0; i < more_than_stacks; ++i) {
      sched::this_worker::current().spawn(
          [body, i] { body(i); },
          {.worker = 0, .name = name.empty() ? name : name + std::to_string(i), .compact = true});
    }
  }
  /// By the root.
  void until_all_wait() {
    while (waiting_ < more_than_stacks) this_fiber::yield();
    waiting_ = 0;
  }
  void open(std::size_t i) { gates_[i].open(); }
  void open_all() {
    for (auto& each : gates_) each.open();
  }

 private:
  std::array<gate, more_than_stacks> gates_;
  std::size_t waiting_ = 0;
};

/// `Words` words on the stack that only this fiber knows, and their address.
template <std::size_t Words>
class frame_of_words {
 public:
  explicit frame_of_words(std::uint64_t seed) : first_(&words_[0]) { fill(seed); }
  void fill(std::uint64_t seed) {
    for (std::size_t i = 0; i < Words; ++i) words_[i] = seed * 1000 + i;
  }
  [[nodiscard]] bool holds(std::uint64_t seed) const {
    if (first_ != &words_[0]) return false;
    for (std::size_t i = 0; i < Words; ++i) {
      if (first_[i] != seed * 1000 + i) return false;
    }
    return true;
  }

 private:
  std::array<volatile std::uint64_t, Words> words_{};
  const volatile std::uint64_t* first_;
};

/// Frames as deep as `levels` says, each with a buffer; waits at the deepest; looks at each on the way back.
[[gnu::noinline]] bool waits_deep(int levels, std::size_t i, crowd& all) {
  const frame_of_words<32> mine(i + static_cast<std::uint64_t>(levels));
  if (levels == 0) {
    all.wait(i);
  } else if (!waits_deep(levels - 1, i, all)) {
    return false;
  }
  return mine.holds(i + static_cast<std::uint64_t>(levels));
}

}  // namespace

TEST_CASE("compact: variables and pointers to them are the same after each wait") {
  const int rounds = 50 / slowly + 3;
  crowd all;
  std::vector<int> seen(more_than_stacks);
  sched::runtime one({.workers = 1});
  one.run([&] {
    crowd::spawn([&](std::size_t i) {
      frame_of_words<8> mine(i);
      for (int round = 0; round < rounds; ++round) {
        all.wait(i);
        if (mine.holds(i + static_cast<std::size_t>(round) * more_than_stacks)) ++seen[i];
        mine.fill(i + static_cast<std::size_t>(round + 1) * more_than_stacks);
      }
    });
    std::vector<std::size_t> order(more_than_stacks);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const counter_random dice(7);
    std::uint64_t drawn = 0;
    for (int round = 0; round < rounds; ++round) {
      all.until_all_wait();
      for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[dice.below(drawn++, i + 1)]);
      for (const auto i : order) all.open(i);
    }
  });
  CHECK(std::all_of(seen.begin(), seen.end(), [&](int count) { return count == rounds; }));
}

TEST_CASE("compact: frames of any depth come back") {
  crowd all;
  std::vector<int> right(more_than_stacks);
  sched::runtime one({.workers = 1});
  one.run([&] {
    crowd::spawn([&](std::size_t i) {
      for (int round = 0; round < 4; ++round) {
        // Some 300 bytes a level: from within the fiber's own place to ten times as much, and back.
        const int levels = static_cast<int>(i % 8) * (round % 2 == 0 ? 4 : 1);
        if (waits_deep(levels, i, all)) ++right[i];
      }
    });
    for (int round = 0; round < 4; ++round) {
      all.until_all_wait();
      all.open_all();
    }
  });
  CHECK(std::all_of(right.begin(), right.end(), [](int count) { return count == 4; }));
}

TEST_CASE("compact: fibers of one worker take turns on a few stacks, at the same addresses") {
  crowd all;
  std::set<std::uintptr_t> stacks;
  bool moved = false;
  sched::runtime one({.workers = 1});
  one.run([&] {
    crowd::spawn([&](std::size_t i) {
      const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
      stacks.insert(here / 65'536);
      all.wait(i);
      moved |= here != reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    });
    all.until_all_wait();
    all.open_all();
  });
  CHECK_FALSE(moved);
  CHECK(stacks.size() ==
        (context::places_suffice ? sched::detail::compact_stacks::stacks_of_a_size : more_than_stacks));
}

TEST_CASE("compact: stacks of each size are shared apart, and an ended fiber's place serves the next") {
  sched::runtime one({.workers = 1});
  std::size_t ended = 0;
  one.run([&] {
    for (int batch = 0; batch < 3; ++batch) {
      const std::size_t before = ended;
      for (std::size_t i = 0; i < more_than_stacks; ++i) {
        one.spawn(
            [&, i] {
              frame_of_words<16> mine(i);
              this_fiber::yield();
              this_fiber::sleep_for(1us);
              if (mine.holds(i)) ++ended;
            },
            {.worker = 0, .stack_bytes = std::size_t{16 * 1024} << (i % 3), .compact = true});
      }
      while (ended < before + more_than_stacks) this_fiber::sleep_for(10us);
    }
  });
  CHECK(ended == 3 * more_than_stacks);
}

TEST_CASE("compact: they, ordinary fibers and those that migrate all get their turns") {
  sched::runtime one({.workers = 1});
  bool stop = false;
  std::array<std::uint64_t, 3> turns{};
  std::uint64_t most_apart = 0;
  one.run([&] {
    for (std::size_t kind = 0; kind < 3; ++kind) {
      for (int i = 0; i < 3; ++i) {
        one.spawn(
            [&, kind] {
              while (!stop) {
                ++turns[kind];
                const auto [least, most] = std::minmax_element(turns.begin(), turns.end());
                most_apart = std::max(most_apart, *most - *least);
                if (*most > 3000) stop = true;
                this_fiber::yield();
              }
            },
            {.worker = 0, .migrates = kind == 1, .compact = kind == 2});
      }
    }
  });
  // The loop serves the three kinds in turn, and an ordinary fiber may switch 64 times before the loop runs.
  CHECK(most_apart <= 200);
}

TEST_CASE("compact: an exception passes through a wait, and one in flight stays the fiber's own") {
  crowd all;
  std::vector<std::string> caught(more_than_stacks);
  sched::runtime one({.workers = 1});
  one.run([&] {
    crowd::spawn([&](std::size_t i) {
      try {
        try {
          throw std::runtime_error("of fiber " + std::to_string(i));
        } catch (const std::runtime_error&) {
          all.wait(i);
          throw;
        }
      } catch (const std::runtime_error& e) {
        caught[i] = e.what();
      }
    });
    all.until_all_wait();
    all.open_all();
  });
  for (std::size_t i = 0; i < more_than_stacks; ++i) CHECK(caught[i] == "of fiber " + std::to_string(i));
}

TEST_CASE("compact: wakes from other workers and threads, with deadlines, on two workers") {
  constexpr std::size_t fibers = 200;
  const int rounds = 100 / slowly + 5;
  sched::runtime two({.workers = 2});
  std::vector<std::atomic<int>> told(fibers);
  std::vector<std::atomic<int>> heard(fibers);
  std::vector<sched::waker> wakers(fibers);
  std::atomic<std::size_t> ready{0};
  std::atomic<std::size_t> wrong{0};
  std::thread outside;
  two.run([&] {
    for (std::size_t i = 0; i < fibers; ++i) {
      two.spawn(
          [&, i] {
            frame_of_words<8> mine(i);
            wakers[i] = this_fiber::self();
            ++ready;
            for (int round = 1; round <= rounds; ++round) {
              while (told[i] < round) static_cast<void>(this_fiber::park_for(i % 3 == 0 ? 50us : 10s));
              if (!mine.holds(i)) ++wrong;
              heard[i] = round;
            }
          },
          {.worker = static_cast<int>(i % 2), .compact = true});
    }
    while (ready < fibers) this_fiber::yield();
    outside = std::thread([&] {
      for (int round = 1; round <= rounds; ++round) {
        for (std::size_t i = 0; i < fibers; ++i) {
          told[i] = round;
          wakers[i].wake();
        }
        for (std::size_t i = 0; i < fibers; ++i) {
          while (heard[i] < round) std::this_thread::yield();
        }
      }
    });
  });
  outside.join();
  CHECK(wrong == 0);
  CHECK(std::all_of(heard.begin(), heard.end(), [&](const auto& each) { return each == rounds; }));
}

TEST_CASE("compact: what cannot be is refused") {
  sched::runtime one({.workers = 1});
  std::string migrates, stops;
  bool went_on = false;
  std::stop_source source;
  one.run([&] {
    migrates = testing::thrown_by<usage_error>([&] { one.spawn([] {}, {.migrates = true, .compact = true}); });
    one.spawn(
        [&] {
          stops = testing::thrown_by<usage_error>([&] {
            static_cast<void>(
                this_fiber::wait_until([] { return false; }, sched::now() + 10s, source.get_token(), "no"));
          });
          went_on =
              this_fiber::wait_until([] { return false; }, sched::now() + 1us, {}, "no") == sched::wait_end::timed_out;
        },
        {.worker = 0, .compact = true});
  });
  CHECK(migrates.starts_with("spawn: a compact fiber cannot migrate: its frames have their place on one worker ("));
  CHECK(stops.find("the stack of a compact fiber") != std::string::npos);
  CHECK(went_on);
}

TEST_CASE("compact: a report shows the frames of each") {
  sched::runtime one({.workers = 1});
  crowd waiting;
  std::string text, of_compact;
  std::size_t right = 0;
  one.run([&] {
    crowd::spawn(
        [&](std::size_t i) {
          frame_of_words<8> mine(i);
          waiting.wait(i);
          if (mine.holds(i)) ++right;
        },
        "compact_");
    waiting.until_all_wait();
    text = sched::report_fibers();
    one.spawn(
        [&] {
          frame_of_words<8> mine(1);
          const std::string all = sched::report_fibers();  // frames where this one's lie stay put aside
          if (mine.holds(1)) of_compact = all;
        },
        {.worker = 0, .compact = true});
    while (of_compact.empty()) this_fiber::yield();
    waiting.open_all();
  });
  for (std::size_t i = 0; i < more_than_stacks; ++i) {
    CHECK(text.find("compact_" + std::to_string(i)) != std::string::npos);
    CHECK(of_compact.find("compact_" + std::to_string(i)) != std::string::npos);
  }
  CHECK(right == more_than_stacks);
}

TEST_CASE("compact: a strategy decides about them, too") {
  const auto found = test::explore(
      [] {
        int sum = 0;
        auto& here = sched::this_worker::current();
        int left = 2;
        const auto me = this_fiber::self();
        for (int i = 0; i < 2; ++i) {
          here.spawn(
              [&] {
                const int seen = sum;
                this_fiber::interleave();
                sum = seen + 1;
                if (--left == 0) me.wake();
              },
              {.worker = 0, .compact = true});
        }
        while (left > 0) this_fiber::park();
        testing::expect(sum == 2, "an addition is lost");
      },
      300);
  CHECK(found.failure.find("an addition is lost") != std::string::npos);
}

// With a sanitizer, where stacks are not shared, the rule is checked.

TEST_CASE("compact: writes into a parked fiber's stack", "[.child]") {
  testing::forget_the_frameworks_signals();
  sched::runtime one({.workers = 1});
  volatile int* lent = nullptr;
  gate g;
  one.run([&] {
    one.spawn(
        [&] {
          // AddressSanitizer may keep a variable elsewhere (detect_stack_use_after_return).
          // Not memory whose size it does not know.
          const volatile std::size_t bytes = sizeof(int);
          lent = static_cast<volatile int*>(__builtin_alloca(bytes));
          *lent = 1;
          g.wait();
        },
        {.worker = 0, .name = "lender", .compact = true});
    while (lent == nullptr) this_fiber::yield();
    *lent = 2;
    g.open();
  });
}

TEST_CASE("compact: under a sanitizer the process ends if a parked fiber's stack is written to") {
  if (context::places_suffice) return;  // the place belongs to another fiber by then
  const auto end = testing::this_program_runs("compact: writes into a parked fiber's stack");
  CAPTURE(end.said);
  CHECK(end.says("compact fiber lender: its stack was written to while it was parked"));
  CHECK_FALSE(end.ended_with(0));
}
