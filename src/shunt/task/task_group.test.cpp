#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <shunt/task.hpp>
#include <shunt/task/task_group.hpp>
#include <stdexcept>
#include <support/runtimes.hpp>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::task_group;
using shunt::testing::on_workers;

TEST_CASE("task_group: waits for its tasks and for those that they made, again and again") {
  on_workers([] {
    task_group group;
    CHECK_NOTHROW(group.wait());
    for (int round = 1; round <= 3; ++round) {
      std::atomic<int> ended{0};
      for (int i = 0; i < 50; ++i) {
        group.spawn([&, i] {
          if (i % 2 == 0) this_fiber::yield();
          if (i % 5 == 0) {
            shunt::async([&] {
              this_fiber::yield();
              ++ended;
            });
          }
          if (i % 7 == 0) group.spawn([&] { ++ended; });
          ++ended;
        });
      }
      group.wait();
      CHECK(ended == 50 + 10 + 8);
    }
  });
}

TEST_CASE("task_group: tasks that its fiber makes by async() do not belong to it") {
  on_workers([] {
    shunt::promise<void> gate;
    bool beside = false;
    shunt::finish([&] {
      task_group group;
      shunt::async([&, opened = gate.get_future()] {
        opened.get();
        beside = true;
      });
      group.spawn([] {});
      group.wait();
      CHECK_FALSE(beside);
      gate.set_value();
    });
    CHECK(beside);
  });
}

TEST_CASE("task_group: the first exception stops the group; wait throws it after all have ended") {
  on_workers([] {
    std::atomic<int> saw_stop{0};
    std::atomic<int> begun{0};
    task_group group;
    for (int i = 0; i < 4; ++i) {
      group.spawn([&](std::stop_token stop) {
        ++begun;
        while (!stop.stop_requested()) this_fiber::yield();
        ++saw_stop;
        throw std::logic_error("later");
      });
    }
    group.spawn([&] {
      while (begun < 4) this_fiber::yield();
      throw std::runtime_error("first");
    });
    CHECK_THROWS_WITH(group.wait(), "first");
    CHECK(saw_stop == 4);
    bool ran = false;
    group.spawn([&] { ran = true; });
    CHECK_NOTHROW(group.wait());
    CHECK_FALSE(ran);
  });
}

TEST_CASE("task_group: after a stop from outside tasks that have not begun do nothing; their captures are destroyed") {
  on_workers([] {
    const auto counted = std::make_shared<int>(0);
    std::stop_source outer;
    task_group group(outer.get_token());
    CHECK_FALSE(group.token().stop_requested());
    outer.request_stop();
    CHECK(group.token().stop_requested());
    bool ran = false;
    group.spawn([&ran, counted] { ran = true; });
    group.wait();
    CHECK_FALSE(ran);
    CHECK(counted.use_count() == 1);
  });
}

TEST_CASE("task_group: the destructor stops its tasks and waits for them") {
  on_workers([] {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    {
      task_group group;
      for (int i = 0; i < 3; ++i) {
        group.spawn([&](std::stop_token stop) {
          ++begun;
          while (!stop.stop_requested()) this_fiber::yield();
          ++ended;
          throw std::runtime_error("dropped");
        });
      }
      while (begun < 3) this_fiber::yield();
    }
    CHECK(ended == 3);
  });
  CHECK_THROWS_AS(task_group(), shunt::error);  // outside a fiber
}

TEST_CASE("task_group: a task has the name and the worker that it is given") {
  on_workers([] {
    task_group group;
    std::string name;
    int worker = -1;
    const int last = shunt::sched::this_worker::current().workers() - 1;
    group.spawn({.worker = last, .name = "indexer"}, [&] {
      name = this_fiber::name();
      worker = shunt::sched::this_worker::index();
    });
    group.wait();
    CHECK(name == "indexer");
    CHECK(worker == last);
    CHECK_THROWS_AS(group.spawn({.worker = last + 1}, [] {}), shunt::usage_error);
    CHECK_NOTHROW(group.wait());
  });
}

TEST_CASE("async: a task has the name that it is given") {
  on_workers([] {
    std::string name;
    shunt::finish([&] { shunt::async({.name = "one"}, [&] { name = this_fiber::name(); }); });
    CHECK(name == "one");
  });
}

TEST_CASE("with_timeout: returns when all tasks have ended") {
  on_workers([] {
    std::atomic<int> ended{0};
    const bool all = shunt::with_timeout(std::chrono::hours(1), [&](task_group& group) {
      for (int i = 0; i < 3; ++i) {
        group.spawn([&] {
          this_fiber::yield();
          ++ended;
        });
      }
    });
    CHECK(all);
    CHECK(ended == 3);
  });
}

TEST_CASE("with_timeout: at the time its tasks are asked to stop, and waited for") {
  on_workers([] {
    std::atomic<int> begun{0};  // a task that the stop overtakes does not begin
    std::atomic<int> ended{0};
    const bool all = shunt::with_timeout(std::chrono::milliseconds(1), [&](task_group& group) {
      for (int i = 0; i < 3; ++i) {
        group.spawn([&](std::stop_token stop) {
          ++begun;
          while (!stop.stop_requested()) this_fiber::yield();
          ++ended;
        });
      }
      while (!group.token().stop_requested()) this_fiber::yield();
    });
    CHECK_FALSE(all);
    CHECK(ended == begun);
  });
}

TEST_CASE("with_timeout: throws what a task threw, and stops the others") {
  on_workers([] {
    CHECK_THROWS_WITH(static_cast<void>(shunt::with_timeout(std::chrono::hours(1),
                                                            [&](task_group& group) {
                                                              group.spawn([](std::stop_token stop) {
                                                                while (!stop.stop_requested()) this_fiber::yield();
                                                              });
                                                              group.spawn([] { throw std::runtime_error("mine"); });
                                                            })),
                      "mine");
  });
}
