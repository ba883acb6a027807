#include <catch2/catch.hpp>
#include <shunt/task.hpp>
#include <shunt/task/when.hpp>
#include <stdexcept>
#include <string>
#include <support/runtimes.hpp>
#include <thread>
#include <vector>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::async_value;
using shunt::future;
using shunt::promise;
using shunt::then;
using shunt::when_all;
using shunt::when_any;
using shunt::testing::on_workers;

TEST_CASE("when_all: is ready when the last one is, and not before; keeps exceptions apart") {
  on_workers([] {
    promise<int> number;
    promise<void> nothing;
    promise<std::string> text;
    auto all = when_all(number.get_future(), nothing.get_future(), text.get_future());
    CHECK_FALSE(all.ready());
    text.set_value("text");
    nothing.set_exception(std::make_exception_ptr(std::runtime_error("nothing")));
    CHECK_FALSE(all.ready());
    number.set_value(1);
    CHECK(all.ready());
    const auto& [n, v, t] = all.get();
    CHECK(n.get() == 1);
    CHECK_THROWS_WITH(v.get(), "nothing");
    CHECK(t.get() == "text");
    CHECK(when_all().ready());
    CHECK(when_all(n, v).ready());
  });
}

TEST_CASE("when_all: gathers many tasks that end on several workers") {
  on_workers([] {
    std::vector<future<int>> squares;
    squares.reserve(200);
    for (int i = 0; i < 200; ++i) {
      squares.push_back(async_value([i] {
        if (i % 3 == 0) this_fiber::yield();
        return i * i;
      }));
    }
    int sum = 0;
    const auto all = when_all(squares);
    for (const auto& s : all.get()) {
      CHECK(s.ready());
      sum += s.get();
    }
    CHECK(sum == 2'646'700);
    CHECK(when_all(std::vector<future<int>>()).ready());
  });
}

// Without a get() of the futures themselves, only edge `gathered` leads from the first thread to the waiter.
TEST_CASE("when_all: what was done before each of them was satisfied is visible once all are") {
  on_workers([] {
    promise<void> first;
    promise<void> second;
    int left = 0;  // plain
    int right = 0;
    const auto all = when_all(first.get_future(), second.get_future());
    std::thread one([&] {
      left = 1;
      first.set_value();
    });
    std::thread other([&] {
      right = 2;
      second.set_value();
    });
    static_cast<void>(all.get());
    CHECK(left + right == 3);
    one.join();
    other.join();
  });
}

TEST_CASE("when_any: is ready when the first one is, has its index, and the others go on") {
  on_workers([] {
    promise<int> slow;
    promise<std::string> fast;
    auto any = when_any(slow.get_future(), fast.get_future());
    CHECK_FALSE(any.ready());
    fast.set_value("fast");
    CHECK(any.ready());
    CHECK(any.get().index == 1);
    CHECK(std::get<1>(any.get().futures).get() == "fast");
    CHECK_FALSE(std::get<0>(any.get().futures).ready());
    slow.set_value(2);
    CHECK(any.get().index == 1);
    CHECK(std::get<0>(any.get().futures).get() == 2);
    std::vector<future<int>> none;
    CHECK_THROWS_AS(when_any(none), shunt::usage_error);
    none.resize(1);
    CHECK_THROWS_AS(when_any(none), shunt::error);
    CHECK_THROWS_AS(when_all(none), shunt::error);
  });
}

TEST_CASE("when_any: of racing promises exactly one is first, and every waiter sees the same one") {
  on_workers([] {
    for (int round = 0; round < 50; ++round) {
      std::vector<promise<int>> promises(8);
      std::vector<future<int>> futures;
      for (auto& p : promises) futures.push_back(p.get_future());
      auto any = when_any(futures);
      auto all = when_all(futures);
      std::thread foreign([&] {
        for (std::size_t i = 0; i < 4; ++i) promises[i].set_value(static_cast<int>(i));
      });
      for (std::size_t i = 4; i < 8; ++i) promises[i].set_value(static_cast<int>(i));
      const auto index = any.get().index;
      CHECK(any.get().futures[index].get() == static_cast<int>(index));
      CHECK((index == 0 || index == 4));
      for (std::size_t i = 0; i < 8; ++i) CHECK(all.get()[i].get() == static_cast<int>(i));
      foreign.join();
    }
  });
}

TEST_CASE("when_all, when_any: a broken promise counts as ready") {
  on_workers([] {
    future<std::tuple<future<int>>> all;
    {
      promise<int> p;
      all = when_all(p.get_future());
    }
    CHECK(all.ready());
    CHECK_THROWS_AS(std::get<0>(all.get()).get(), shunt::broken_promise);
  });
}

TEST_CASE("then: gets the value, passes exceptions on, and belongs to the finish") {
  on_workers([] {
    promise<int> p;
    promise<void> v;
    bool called = false;
    future<std::string> text;
    future<int> thrown;
    future<void> skipped;
    shunt::finish([&] {
      text = then(p.get_future(), [](int i) { return std::to_string(i); });
      thrown = then(text, [](const std::string& t) -> int { throw std::runtime_error(t); });
      skipped = then(thrown, [&](int) { called = true; });
      static_cast<void>(then(v.get_future(), [&] { called = true; }));
      CHECK_FALSE(text.ready());
      p.set_value(12);
      v.set_exception(std::make_exception_ptr(std::logic_error("void")));
    });
    CHECK(text.get() == "12");
    CHECK_THROWS_WITH(thrown.get(), "12");
    CHECK_THROWS_WITH(skipped.get(), "12");
    CHECK_FALSE(called);
    CHECK_THROWS_AS(then(future<int>(), [](int) {}), shunt::error);
    CHECK(then(text, [](const std::string& t) { return t.size(); }).get() == 2);
  });
}
