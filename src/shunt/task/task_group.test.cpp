#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <shunt/task.hpp>
#include <shunt/task/task_group.hpp>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <support/runtimes.hpp>
#include <vector>

using namespace std::chrono_literals;
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

namespace {

/// A runtime whose first reports open a gate, for fibers that wait without a token until then.
class opened_by_report {
 public:
  explicit opened_by_report(std::size_t reports = 1) {
    options_.workers = 2;
    options_.stuck_after = 0ns;
    options_.stop_after = 1ms;
    options_.report = [this, reports](std::string_view text) {
      const std::scoped_lock held(lock_);
      texts_.emplace_back(text);
      if (texts_.size() == reports) gate_.set_value();
    };
  }
  [[nodiscard]] const shunt::sched::options& options() const { return options_; }
  [[nodiscard]] shunt::future<void> gate() const { return gate_.get_future(); }
  [[nodiscard]] std::vector<std::string> texts() {
    const std::scoped_lock held(lock_);
    return texts_;
  }

 private:
  shunt::sched::options options_;
  shunt::promise<void> gate_;
  std::mutex lock_;
  std::vector<std::string> texts_;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Whether a fiber of that name waits on one of two workers.
bool is_parked(const std::string& name) {
  const auto table = shunt::sched::report_fibers();
  const auto parked_on = [&](const std::string& worker) {
    return says(table, '`' + name + "`, worker " + worker + ", parked");
  };
  return parked_on("0") || parked_on("1");
}

/// The end of the first line of a report that names that line.
std::string place_after(const std::source_location& before) {
  return " (" + std::string(before.file_name()) + ":" + std::to_string(before.line() + 1) + ")\n";
}

}  // namespace

TEST_CASE("task_group: an owner that throws while a task waits without a token: a report names the task and its wait") {
  opened_by_report by;
  bool destroyed = false;
  std::string made;
  shunt::sched::runtime(by.options()).run([&] {
    shunt::fiber beside([gate = by.gate()] { gate.get(); }, {.name = "beside"});
    try {
      made = place_after(std::source_location::current());
      task_group group;
      group.spawn({.name = "deaf"}, [gate = by.gate()] { gate.wait(); });
      group.spawn({.name = "listens"}, [](const std::stop_token& stop) {
        while (!stop.stop_requested()) this_fiber::yield();
      });
      while (!is_parked("deaf")) this_fiber::yield();  // before its begin a stop ends it
      throw std::runtime_error("the owner's");
    } catch (const std::runtime_error&) {
      destroyed = true;
    }
    beside.join();
  });
  CHECK(destroyed);
  REQUIRE(by.texts().size() == 1);
  const auto text = by.texts().front();
  CHECK(says(text, "task_group: asked to stop, and not ended"));
  CHECK(says(text, "give it the token." + made));
  CHECK(says(text, "`deaf`"));
  CHECK(says(text, "waits for a future"));
  CHECK(says(text, "waits for its tasks, which were asked to stop"));
  CHECK_FALSE(says(text, "`beside`"));
}

TEST_CASE("task_group: wait() reports tasks that do not end after one of them has failed; not before") {
  opened_by_report by;
  std::string waits;
  shunt::sched::runtime(by.options()).run([&] {
    shunt::promise<void> go;
    std::atomic<bool> begun{false};
    task_group group;
    group.spawn({.name = "deaf"}, [&begun, gate = by.gate()] {
      begun = true;
      gate.wait();
    });
    group.spawn([f = go.get_future()] {
      f.get();
      throw std::runtime_error("one");
    });
    while (!begun) this_fiber::yield();  // before its begin a stop ends it
    CHECK_FALSE(group.wait_for(20ms));   // long enough for a report, if one came without a stop
    CHECK(by.texts().empty());
    go.set_value();
    waits = place_after(std::source_location::current());
    CHECK_THROWS_WITH(group.wait(), "one");
  });
  REQUIRE(by.texts().size() == 1);
  CHECK(says(by.texts().front(), "`deaf`"));
  CHECK(says(by.texts().front(), "give it the token." + waits));
}

TEST_CASE("task_group: of two groups whose tasks do not end each has a report of its own tasks") {
  opened_by_report by(2);
  shunt::sched::runtime(by.options()).run([&] {
    shunt::finish([&] {
      for (const char* const name : {"deaf", "deafer"}) {
        shunt::async([&by, name] {
          std::atomic<bool> begun{false};
          task_group group;
          group.spawn({.name = name}, [&begun, gate = by.gate()] {
            begun = true;
            gate.wait();
          });
          while (!begun) this_fiber::yield();
        });
      }
    });
  });
  REQUIRE(by.texts().size() == 2);
  const bool deaf_first = says(by.texts().front(), "`deaf`");
  CHECK(says(by.texts().front(), "`deafer`") != deaf_first);
  CHECK(says(by.texts().back(), "`deaf`") != deaf_first);
  CHECK(says(by.texts().back(), "`deafer`") == deaf_first);
}

TEST_CASE("task_group: where waiting is refused, wait() is, too, unless all tasks have ended") {
  on_workers([] {
    const shunt::testing::no_waiting refuses;
    const auto waits = [&](task_group& group) {
      const auto* const before = shunt::sched::this_worker::forbid_wait(&refuses);
      bool waited = true;
      try {
        group.wait();
      } catch (const shunt::testing::refused& why) {
        waited = why.call != "task_group::wait";
      }
      shunt::sched::this_worker::forbid_wait(before);
      return waited;
    };
    task_group group;
    CHECK(waits(group));
    shunt::promise<void> gate;
    group.spawn([opened = gate.get_future()] { opened.get(); });
    CHECK_FALSE(waits(group));
    gate.set_value();
    group.wait();
    CHECK(waits(group));
  });
}

TEST_CASE("task_group: tasks that its tasks made are named, those of another group are not") {
  opened_by_report by;
  shunt::sched::runtime(by.options()).run([&] {
    task_group other;
    other.spawn({.name = "other"}, [gate = by.gate()] { gate.wait(); });
    {
      task_group group;
      group.spawn([&] { shunt::async({.name = "made inside"}, [gate = by.gate()] { gate.wait(); }); });
      while (!says(shunt::sched::report_fibers(), "`made inside`")) this_fiber::yield();
    }
    other.wait();
  });
  REQUIRE(by.texts().size() == 1);
  CHECK(says(by.texts().front(), "`made inside`"));
  CHECK_FALSE(says(by.texts().front(), "`other`"));
}

TEST_CASE("task_group: with stop_after 0 nothing is reported") {
  opened_by_report by;
  auto o = by.options();
  o.stop_after = 0ns;
  shunt::sched::runtime(o).run([&] {
    shunt::promise<void> gate;
    shunt::async([&] {
      this_fiber::sleep_for(20ms);  // long enough for a report, if one came
      gate.set_value();
    });
    task_group group;
    std::atomic<bool> begun{false};
    group.spawn([&begun, f = gate.get_future()] {
      begun = true;
      f.get();
    });
    while (!begun) this_fiber::yield();
  });
  CHECK(by.texts().empty());
}

TEST_CASE("fiber: a handle that is destroyed reports its fiber, if that does not end after the stop") {
  opened_by_report by;
  std::string made;
  shunt::sched::runtime(by.options()).run([&] {
    const shunt::fiber beside([gate = by.gate()](std::stop_token) { gate.wait(); }, {.name = "beside"});
    std::atomic<bool> begun{false};
    const auto waits = [&begun, gate = by.gate()] {
      begun = true;
      gate.wait();
    };
    made = place_after(std::source_location::current());
    shunt::fiber deaf(waits, {.name = "deaf"});
    while (!begun) this_fiber::yield();  // a report names only fibers that have begun
    deaf = shunt::fiber();
  });
  REQUIRE(!by.texts().empty());
  CHECK(says(by.texts().front(), "fiber: asked to stop, and not ended"));
  CHECK(says(by.texts().front(), "give it the token." + made));
  CHECK(says(by.texts().front(), "`deaf`"));
  CHECK_FALSE(says(by.texts().front(), "`beside`"));
}
