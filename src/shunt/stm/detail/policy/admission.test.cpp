// Turns: the queue in which one at a time has it, and places that are held for a slice of time. Time is the strategy's:
// it passes only where no fiber can run, so each moment is exact.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <shunt/sched.hpp>
#include <shunt/sched/explore/explore.hpp>
#include <shunt/stm/detail/policy/admission.hpp>
#include <shunt/stm/detail/policy/class_record.hpp>
#include <shunt/stm/detail/policy/fair_queue.hpp>
#include <string>
#include <support/expect.hpp>
#include <thread>
#include <utility>

using namespace shunt::stm::detail;
using namespace std::chrono_literals;
using shunt::testing::expect;
namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;

namespace {

void spawn(std::function<void()> body) { sched::this_worker::current().spawn(std::move(body), {.worker = 0}); }

/// Lets all other fibers run until they wait.
void let_others_run() {
  for (int i = 0; i < 50; ++i) this_fiber::yield();
}

/// One class, and the object that admits it.
struct one_class {
  explicit one_class(int places) : a(places) { c.admitted_by = &a; }
  void enter(std::uint64_t bit) { a.enter(bit, c); }
  /// A fiber that enters, and then notes that.
  void enter_soon(std::uint64_t bit, char name) {
    spawn([this, bit, name] {
      enter(bit);
      in += name;
    });
    let_others_run();
  }
  admission a;
  class_record c{0, "a test"};
  std::string in;
};

/// In the order in which fibers become ready, and in some others.
std::string failure_of(const std::function<void()>& program) { return shunt::test::explore(program, 20).failure; }

}  // namespace

TEST_CASE("fair_queue: one has its turn at a time, first come, first served, and a newcomer overtakes none") {
  sched::runtime one({.workers = 1});
  one.run([] {
    fair_queue queue;
    std::string order;
    queue.enter("a test");
    for (const char name : {'a', 'b', 'c'}) {
      spawn([&queue, &order, name] {
        queue.enter("a test");
        order += name;
        this_fiber::yield();
        order += name;
        queue.leave();
      });
      let_others_run();
    }
    CHECK(order.empty());
    queue.leave();          // `a` has its turn from now on, though it does not run yet
    queue.enter("a test");  // behind `c`
    CHECK(order == "aabbcc");
    queue.leave();
    queue.enter("a test");  // free: at once
    queue.leave();
  });
}

TEST_CASE("fair_queue: threads and fibers exclude each other") {
  fair_queue queue;
  int inside = 0, most = 0;  // guarded by the queue
  constexpr int rounds = 300;
  const auto work = [&] {
    for (int i = 0; i < rounds; ++i) {
      queue.enter("a test");
      most = std::max(most, ++inside);
      std::this_thread::yield();
      --inside;
      queue.leave();
    }
  };
  std::thread plain(work);
  sched::runtime two({.workers = 2});
  two.run([&] {
    for (int i = 0; i < 2; ++i) two.spawn(work, {.worker = i});
  });
  plain.join();
  CHECK(most == 1);
  CHECK(inside == 0);
}

TEST_CASE("admission: as many hold places as there are; a holder's other fibers need no place of their own") {
  CHECK(failure_of([] {
          one_class all(2);
          const auto began = sched::now();
          all.enter(1);
          all.enter(4);
          all.enter(1);
          expect(all.a.holds(1) && all.a.holds(4) && !all.a.holds(2));
          expect(sched::now() == began, "they wait");
          all.a.set_places(3);
          all.enter(2);
          expect(all.a.holds(1) && all.a.holds(4) && all.a.holds(2));
        }) == "");
}

TEST_CASE("admission: a slice that is used up goes to the queue's first fiber, and to all fibers of its worker") {
  CHECK(failure_of([] {
          one_class all(1);
          all.enter(1);
          all.enter_soon(2, 'a');
          all.enter_soon(4, 'b');
          all.enter_soon(2, 'c');
          const auto now = sched::now();
          all.a.use(1, now, least_slice - 1ns);
          let_others_run();
          expect(all.in.empty() && all.a.holds(1), "before the slice is over");
          all.a.use(1, now, 1ns);
          let_others_run();
          expect(all.a.holds(2) && !all.a.holds(1), "the place has gone to another than the first");
          expect(all.in == "ac" || all.in == "ca", all.in);
          all.a.use(2, now, least_slice);
          let_others_run();
          expect(all.a.holds(4) && all.in.back() == 'b', all.in);
        }) == "");
}

TEST_CASE("admission: time with the CPU that a slice has left is added to the next one") {
  CHECK(failure_of([] {
          one_class all(1);
          all.enter(1);
          const auto began = sched::now();
          all.enter_soon(2, 'a');
          this_fiber::sleep_until(began + least_slice + wait_beyond_slice + 1us);  // 1 has used nothing of its slice
          expect(all.a.holds(2));
          const auto second = sched::now();
          all.enter_soon(1, 'b');
          all.a.use(2, second, least_slice);
          let_others_run();
          expect(all.a.holds(1));
          all.enter_soon(2, 'c');
          all.a.use(1, second, 2 * least_slice - 1ns);
          let_others_run();
          expect(all.a.holds(1), "its slice has lost what was left of the last one");
          all.a.use(1, second, 1ns);
          let_others_run();
          expect(all.a.holds(2));
        }) == "");
}

TEST_CASE("admission: the place of a holder that runs no more transactions is taken when its slice is over") {
  CHECK(failure_of([] {
          one_class all(1);
          const auto began = sched::now();
          all.enter(1);
          all.enter(2);
          expect(sched::now() >= began + least_slice + wait_beyond_slice, "too early");
          expect(all.a.holds(2) && !all.a.holds(1));
        }) == "");
}

TEST_CASE("admission: fibers go on without a place when their class is admitted by another object") {
  CHECK(failure_of([] {
          one_class all(1);
          all.enter(1);
          all.enter_soon(2, 'a');
          expect(all.in.empty());
          all.c.admitted_by = nullptr;
          all.a.wake_all();
          let_others_run();
          expect(all.in == "a");
          expect(!all.a.holds(2) && all.a.holds(1));
        }) == "");
}

TEST_CASE("admission: more places let the next ones in; with fewer all holders start anew") {
  CHECK(failure_of([] {
          one_class all(1);
          all.enter(1);
          all.enter_soon(2, 'a');
          all.enter_soon(4, 'b');
          all.a.set_places(2);
          let_others_run();
          expect(all.in.size() == 1, all.in);  // both look; the first one that does takes the place
          expect(all.a.holds(1) && all.a.holds(all.in == "a" ? 2 : 4));
          all.a.set_places(1);
          expect(!all.a.holds(1) && !all.a.holds(2));
          let_others_run();
          expect(all.in.size() == 2 && all.a.holds(all.in == "ab" ? 4 : 2), all.in);
        }) == "");
}
