// Errors name the line of the program's call.
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <shunt/sched.hpp>
#include <shunt/sync.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <support/expect.hpp>

using shunt::usage_error;
using shunt::testing::expect;
using shunt::testing::expect_place;
using shunt::testing::expect_thrown;

namespace {

/// Refuses waits as the library does: with the call's line.
struct refusing final : shunt::sched::no_wait {
  [[noreturn]] void refuse(shunt::call_site call) const override {
    throw usage_error(std::string(call.name()) + call.place(), call.where());
  }
};

}  // namespace

TEST_CASE("errors: numbers that cannot be name the line that has them") {
  expect_place<usage_error>([] { shunt::channel<int> none(0); });
  expect_place<usage_error>([] { shunt::latch less(-1); });
  expect_place<usage_error>([] { shunt::barrier of_none(0); });
  expect_place<usage_error>([] { shunt::semaphore less(-1); });
  expect_place<usage_error>([] { shunt::rate_limiter never(0); });
  expect_place<usage_error>([] { shunt::rate_limiter none(1, 0); });
  expect_place<usage_error>([] { shunt::ticker still(std::chrono::nanoseconds(0)); });
  shunt::ticker each(std::chrono::hours(1));
  expect_place<usage_error>([&] { each.restart(std::chrono::nanoseconds(0)); });
}

TEST_CASE("errors: a wait where waiting is forbidden names its line; what need not wait goes on") {
  shunt::sched::runtime().run([] {
    shunt::channel<int> items(1);
    shunt::latch closed(1);
    shunt::barrier two(2);
    shunt::semaphore none(0);
    shunt::mutex other;
    shunt::condition_variable changed;
    shunt::shared_mutex read, written;
    read.lock_shared();
    written.lock();
    shunt::mutex held;
    const std::lock_guard lock(held);
    const refusing refuses;
    const shunt::sched::waits_forbidden here(refuses);
    const std::stop_token token;
    const auto later = shunt::sched::after(std::chrono::hours(1));
    expect_place<usage_error>([&] { static_cast<void>(items.receive()); });
    expect_place<usage_error>([&] { static_cast<void>(items.receive(token, later)); });
    expect_place<usage_error>([&] {
      for (const int item : items) static_cast<void>(item);
    });
    CHECK(items.send(1));
    expect_place<usage_error>([&] { static_cast<void>(items.send(2)); });
    expect_place<usage_error>([&] { static_cast<void>(items.send(2, token, later)); });
    expect_place<usage_error>([&] { closed.wait(); });
    expect_place<usage_error>([&] { static_cast<void>(closed.wait_for(std::chrono::hours(1))); });
    expect_place<usage_error>([&] { two.arrive_and_wait(); });
    expect_place<usage_error>([&] { none.acquire(); });
    expect_place<usage_error>([&] { static_cast<void>(none.try_acquire_until(later)); });
    expect_place<usage_error>([&] { held.lock(); });
    std::unique_lock free(other);
    expect_place<usage_error>([&] { changed.wait(free); });
    expect_place<usage_error>([&] { changed.wait(free, [] { return false; }); });
    expect_place<usage_error>([&] { static_cast<void>(changed.wait_for(free, std::chrono::hours(1))); });
    expect_place<usage_error>([&] { static_cast<void>(changed.wait(free, token, [] { return false; })); });
    expect_place<usage_error>([&] { read.lock(); });
    expect_place<usage_error>([&] { static_cast<void>(read.try_lock_for(std::chrono::hours(1))); });
    expect_place<usage_error>([&] { written.lock_shared(); });
    expect_place<usage_error>([&] { static_cast<void>(written.try_lock_shared_until(later)); });
    read.unlock_shared();
    written.unlock();
  });
}

TEST_CASE("errors: a select names the line of its first case, and once the line of its call") {
  shunt::sched::runtime().run([] {
    shunt::channel<int> items(1), others(1);
    CHECK(others.send(1));
    const refusing refuses;
    const shunt::sched::waits_forbidden here(refuses);
    const auto got = [](std::optional<int>) {};
    const auto sent = [](shunt::send_result) {};
    int item = 2;
    const auto later = shunt::sched::after(std::chrono::hours(1));
    expect_place<usage_error>(
        [&] { shunt::select(shunt::on_receive(items, got), shunt::on_send(others, item, sent)); });
    expect_place<usage_error>([&] { shunt::select_until(later, {}, shunt::on_send(others, item, sent)); });
    expect_place<usage_error>([&] { shunt::select_for(std::chrono::hours(1), shunt::on_receive(items, got)); });
  });
  shunt::sched::runtime().run([] {
    shunt::once first, second;
    // From within the function, which is a mistake.
    first.call([&] { expect_place<shunt::sched::deadlock>([&] { first.call([] {}); }); });
    int sum = 0;
    second.call([&](int a, int b) { sum = a + b; }, 1, 2);
    expect(sum == 3);
  });
}

TEST_CASE("errors: a mutex that its fiber holds names the line of the second lock") {
  shunt::sched::runtime().run([] {
    shunt::mutex held;
    held.lock();
    expect_place<shunt::sched::deadlock>([&] { held.lock(); });
    held.unlock();
  });
}

TEST_CASE("errors: a lock that a guard of the standard library takes names no line of that library") {
  shunt::sched::runtime().run([] {
    shunt::mutex held;
    const std::lock_guard first(held);
    const auto named = [](const shunt::sched::deadlock& thrown) {
      const std::string_view text = thrown.what();
      expect(text == "mutex::lock: the fiber holds this mutex already [SHUNT-0410]", text);
      expect(std::string_view(thrown.where().file_name()).ends_with("sync/mutex.cpp"), thrown.where().file_name());
    };
    expect_thrown<shunt::sched::deadlock>([&] { const std::lock_guard second(held); }, named);
    expect_thrown<shunt::sched::deadlock>([&] { const std::unique_lock second(held); }, named);
    expect_thrown<shunt::sched::deadlock>([&] { const std::scoped_lock second(held); }, named);
  });
}
