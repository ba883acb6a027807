// No memory for a fiber's stack: managers begin or throw, messages are handled or fail, and askers hear of it.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/actor.hpp>
#include <shunt/task.hpp>
#include <support/refused_stacks.hpp>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::testing::refused_stacks;
using shunt::testing::with_each_stack_refused;

namespace {

struct adder {
  int add(int i) { return sum += i; }
  int add_after_a_wait(int i) {
    this_fiber::yield();
    return sum += i;
  }
  int sum = 0;
};

/// Handlers of two workers ask each other, and wait meanwhile. \return what came of it; throws what an asker was told.
int asks(shunt::manager& all) {
  struct middle {
    int add(int i) { return to.ask<&adder::add_after_a_wait>(i).get(); }
    shunt::ref<adder> to;
  };
  const auto last = all.spawn<adder>({.name = "last", .worker = 1});
  const auto first = all.spawn<middle>({.name = "first", .worker = 0}, last);
  std::vector<shunt::future<int>> answers;
  for (int i = 1; i <= 3; ++i) answers.push_back(first.ask<&middle::add>(i));
  int sum = 0;
  for (auto& a : answers) sum = a.get();
  return sum;
}

shunt::manager_options silent() {
  shunt::manager_options o;
  o.runtime.workers = 2;
  o.report = [](std::string_view) {};
  return o;
}

}  // namespace

TEST_CASE("no stack: a manager of its own workers cannot begin and throws why, or askers are told why") {
  CHECK(with_each_stack_refused([] {
          shunt::manager all(silent());
          int sum = 0;
          std::exception_ptr failure;
          shunt::sched::runtime asker({.workers = 1});
          asker.run([&] {
            try {
              sum = asks(all);
            } catch (...) {
              failure = std::current_exception();
            }
          });
          if (failure) {
            try {
              std::rethrow_exception(failure);
            } catch (const shunt::unanswered&) {
              throw std::runtime_error("stack pool: no stack of (the actor that had none has ended)");
            }
          }
          CHECK(sum == 6);
        }) > 0);
}

TEST_CASE("no stack: a manager on a runtime cannot begin and throws why, or askers are told why") {
  CHECK(with_each_stack_refused([] {
          shunt::sched::runtime two({.workers = 2});
          two.run([&] {
            shunt::manager all(two, silent());
            int sum = 0;
            try {
              sum = asks(all);
            } catch (const shunt::unanswered&) {
              throw std::runtime_error("stack pool: no stack of (the actor that had none has ended)");
            }
            CHECK(sum == 6);
          });
        }) > 0);
}

TEST_CASE("no stack: handlers that do not wait need none, once the manager has begun") {
  shunt::manager all(silent());
  const auto one = all.spawn<adder>({.worker = 0});
  const auto two = all.spawn<adder>({.worker = 1});
  all.drain();
  {
    const refused_stacks refused(1, true);
    for (int i = 0; i < 1000; ++i) {
      one.tell<&adder::add>(1);
      two.tell<&adder::add>(1);
    }
    all.drain();
  }
  int sums = 0;
  shunt::sched::runtime({.workers = 1}).run([&] {
    sums = one.ask<&adder::add>(0).get() + two.ask<&adder::add>(0).get();
  });
  CHECK(sums == 2000);
}
