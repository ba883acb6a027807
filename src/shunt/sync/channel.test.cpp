// Channels and select: nothing lost or doubled, order, ends, deadlines, cancellation.
#include <shunt/sync/channel.hpp>
#include <shunt/sync/select.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <shunt/base/clock.hpp>
#include <shunt/sched.hpp>

#include <catch2/catch.hpp>

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace std::chrono_literals;

namespace {

sched::options with(int workers) {
  sched::options o;
  o.workers = workers;
  return o;
}

/// Two senders and two receivers that are fibers, and one of each that is a thread.
long sum_through(shunt::channel<long>& items, long each) {
  std::atomic<long> sum = 0;
  std::atomic<int> senders = 3;
  const auto send = [&] {
    for (long i = 1; i <= each; ++i) {
      if (!items.send(i)) return;
    }
    if (--senders == 0) items.close();
  };
  const auto receive = [&] {
    long mine = 0;
    for (const long item : items) mine += item;
    sum += mine;
  };
  std::thread sender(send);
  std::thread receiver(receive);
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < 2; ++f) {
      rt.spawn(send);
      rt.spawn(receive);
    }
  });
  sender.join();
  receiver.join();
  return sum;
}

}  // namespace

TEST_CASE("channel: many senders and receivers lose nothing and double nothing, for any capacity") {
  constexpr long each = 2000;
  for (const std::size_t capacity :
       {std::size_t{1}, std::size_t{3}, std::size_t{64}, shunt::channel<long>::unbounded}) {
    shunt::channel<long> items(capacity);
    CHECK(sum_through(items, each) == 3 * each * (each + 1) / 2);
    CHECK(items.size() == 0);
    CHECK(items.closed());
  }
}

TEST_CASE("channel: items come in the order in which they were sent, across the ring's end and blocks") {
  for (const std::size_t capacity : {std::size_t{3}, shunt::channel<int>::unbounded}) {
    shunt::channel<int> items(capacity);
    int next = 0;
    for (int i = 0; i < 1000; ++i) {
      CHECK(items.send(3 * i));
      CHECK(items.send(3 * i + 1));
      CHECK(items.send(3 * i + 2));
      for (int k = 0; k < 3; ++k) CHECK(items.receive() == next++);
    }
    for (int i = 0; capacity > 3 && i < 500; ++i) CHECK(items.send(i));
    for (int i = 0; capacity > 3 && i < 500; ++i) CHECK(items.try_receive() == i);
  }
}

TEST_CASE("channel: try_send and try_receive say what they found, and leave what they could not send") {
  shunt::channel<std::unique_ptr<int>> items(2);
  CHECK(items.try_receive() == std::nullopt);
  for (int i = 0; i < 2; ++i) CHECK(items.try_send(std::make_unique<int>(i)) == shunt::send_result::sent);
  auto more = std::make_unique<int>(2);
  CHECK(items.try_send(std::move(more)) == shunt::send_result::full);
  REQUIRE(more != nullptr);
  CHECK(items.size() == 2);
  CHECK(**items.try_receive() == 0);
  items.close();
  items.close();
  CHECK(items.try_send(std::move(more)) == shunt::send_result::closed);
  REQUIRE(more != nullptr);
  CHECK_FALSE(items.send(std::move(more)));
  CHECK(**items.receive() == 1);
  CHECK(items.receive() == std::nullopt);
  CHECK(items.receive() == std::nullopt);
}

TEST_CASE("channel: close wakes all that wait") {
  sched::runtime rt(with(2));
  shunt::channel<int> empty(1), full(1);
  std::atomic<int> ended = 0;
  std::atomic<int> begun = 0;
  rt.run([&] {
    CHECK(full.send(1));
    for (int f = 0; f < 4; ++f) {
      rt.spawn([&] {
        ++begun;
        if (!empty.receive()) ++ended;
      });
      rt.spawn([&] {
        ++begun;
        if (!full.send(2)) ++ended;
      });
    }
    while (begun < 8) this_fiber::yield();
    empty.close();
    full.close();
  });
  CHECK(ended == 8);
}

TEST_CASE("channel: a deadline and a stop request end waits, and take nothing") {
  sched::runtime rt(with(2));
  rt.run([&] {
    shunt::channel<int> items(1);
    CHECK(items.receive({}, sched::after(1ms)) == std::nullopt);
    CHECK(items.receive({}, sched::now()) == std::nullopt);
    CHECK(items.send(1));
    CHECK(items.send(2, {}, sched::after(1ms)) == shunt::send_result::timed_out);
    for (int round = 0; round < 100; ++round) {
      std::stop_source stop;
      std::thread other([&] { stop.request_stop(); });
      CHECK(items.send(2, stop.get_token()) == shunt::send_result::stopped);
      CHECK(items.send(2, stop.get_token()) == shunt::send_result::stopped);
      other.join();
    }
    CHECK(items.receive() == 1);
    std::stop_source stop;
    std::thread other([&] { stop.request_stop(); });
    CHECK(items.receive(stop.get_token()) == std::nullopt);
    other.join();
    CHECK(items.send(3));  // stop ends waits only
    CHECK(items.receive(stop.get_token()) == 3);
  });
}

TEST_CASE("channel: deadlines that race with items lose none and no wake") {
  constexpr long each = 1500;
  shunt::channel<long> items(2);
  std::atomic<long> sum = 0;
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < 3; ++f) {
      rt.spawn([&] {
        for (long i = 1; i <= each; ++i) {
          long item = i;
          while (items.send(std::move(item), {}, sched::after(std::chrono::microseconds(i % 5))) !=
                 shunt::send_result::sent) {
          }
        }
      });
      rt.spawn([&] {
        for (long i = 0; i < each;) {
          const auto item =
              items.receive({}, i % 3 == 0 ? sched::after(1us) : std::chrono::steady_clock::time_point::max());
          if (!item) continue;
          sum += *item;
          ++i;
        }
      });
    }
  });
  CHECK(sum == 3 * each * (each + 1) / 2);
}

TEST_CASE("channel: what was written before close is visible to one that finds it closed") {
  for (int round = 0; round < 200; ++round) {
    shunt::channel<int> items(1);
    int status = 0;
    std::thread other([&] {
      for (int i = 0; i < round; ++i) shunt::relax();
      status = 7;
      items.close();
    });
    while (!items.closed()) {
    }
    CHECK(status == 7);
    other.join();
  }
}

TEST_CASE("channel: a capacity that no machine has is refused") {
  CHECK_THROWS_WITH(shunt::channel<int>(std::numeric_limits<std::size_t>::max() - 1),
                    Catch::StartsWith("channel: a capacity of 18446744073709551614; 1 to 2^60 items are possible"));
  CHECK_THROWS_AS(shunt::channel<int>(0), shunt::usage_error);
  CHECK_THROWS_AS(shunt::channel<int>((std::size_t{1} << 60) + 1), shunt::usage_error);
}

TEST_CASE("channel: destroys what has not been received, and a receiver may destroy it") {
  auto counted = std::make_shared<int>(1);
  {
    shunt::channel<std::shared_ptr<int>> ring(4), blocks(shunt::channel<int>::unbounded);
    for (int i = 0; i < 3; ++i) CHECK(ring.send(counted));
    for (int i = 0; i < 200; ++i) CHECK(blocks.send(counted));
    for (int i = 0; i < 70; ++i) CHECK(blocks.receive());
    CHECK(counted.use_count() == 1 + 3 + 130);
  }
  CHECK(counted.use_count() == 1);
  for (int round = 0; round < 300; ++round) {
    auto reply = std::make_unique<shunt::channel<int>>(1);
    std::thread other([to = reply.get()] { static_cast<void>(to->send(7)); });
    CHECK(reply->receive() == 7);
    reply.reset();
    other.join();
  }
}

TEST_CASE("channel: what a sender wrote is visible to the receiver, and a place that was emptied to the sender") {
  shunt::channel<int*> there(1), back(1);
  std::vector<int> values(2);
  std::thread other([&] {
    for (int* each : there) {
      ++*each;
      if (!back.send(each)) return;
    }
  });
  for (int round = 0; round < 2000; ++round) {
    int& mine = values[static_cast<std::size_t>(round % 2)];
    mine = round;
    CHECK(there.send(&mine));
    int* const got = *back.receive();
    CHECK(*got == round + 1);
  }
  there.close();
  other.join();
}

TEST_CASE("select: takes the case that can be done; of several, now this one and now that") {
  shunt::channel<int> a(64), b(64);
  int from_a = 0, from_b = 0;
  const auto one = [&] {
    return shunt::try_select(shunt::on_receive(a, [&](std::optional<int> item) { from_a += item.value_or(100); }),
                             shunt::on_receive(b, [&](std::optional<int> item) { from_b += item.value_or(100); }));
  };
  CHECK(one() == std::nullopt);
  CHECK(b.send(1));
  CHECK(one() == 1);
  for (int i = 0; i < 64; ++i) {
    CHECK(a.send(1));
    CHECK(b.send(1));
  }
  for (int i = 0; i < 64; ++i) CHECK(one());
  CHECK(from_a > 8);
  CHECK(from_b > 8);
  a.close();
  while (a.try_receive()) {
  }
  from_a = from_b = 0;
  const auto left = static_cast<int>(b.size());
  for (int i = 0; i < 64 * left; ++i) CHECK(one());  // a is closed, so it can always be done: with nothing
  CHECK(from_b == left);
  CHECK(from_a == 100 * 63 * left);
}

TEST_CASE("select: sends and receives of several fibers lose nothing, whichever case is done") {
  constexpr int items = 3000;
  shunt::channel<int> left(1), right(2), results(1);
  std::atomic<long> sum = 0;
  std::atomic<int> relays = 2;
  sched::runtime rt(with(2));
  rt.run([&] {
    rt.spawn([&] {
      for (int i = 1; i <= items; ++i) {  // to the one that has room
        int item = i;
        shunt::select(shunt::on_send(left, item, [](shunt::send_result) {}),
                      shunt::on_send(right, item, [](shunt::send_result) {}));
      }
      left.close();
      right.close();
    });
    for (int f = 0; f < 2; ++f) {
      rt.spawn([&] {
        bool open_left = true, open_right = true;
        const auto forward = [&](bool& open, std::optional<int> item) {
          if (!item) open = false;
          if (item && !results.send(*item)) open = false;
        };
        while (open_left && open_right) {
          shunt::select(shunt::on_receive(left, [&](std::optional<int> item) { forward(open_left, item); }),
                        shunt::on_receive(right, [&](std::optional<int> item) { forward(open_right, item); }));
        }
        for (const int item : left) forward(open_left, item);
        for (const int item : right) forward(open_right, item);
        if (--relays == 0) results.close();
      });
    }
    rt.spawn([&] {
      for (const int item : results) sum += item;
    });
  });
  CHECK(sum == long{items} * (items + 1) / 2);
}

TEST_CASE("select: a deadline and a stop request end it, and its cases have had no effect") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::channel<int> empty(1), full(1);
    CHECK(full.send(1));
    int item = 2;
    const auto wait = [&](std::chrono::steady_clock::time_point deadline, const std::stop_token& stop) {
      return shunt::select_until(deadline, stop, shunt::on_receive(empty, [](std::optional<int>) {}),
                                 shunt::on_send(full, item, [](shunt::send_result) {}));
    };
    CHECK(wait(sched::after(1ms), {}) == std::nullopt);
    std::stop_source stop;
    rt.spawn([&] { stop.request_stop(); });
    CHECK(wait(sched::after(1h), stop.get_token()) == std::nullopt);
    CHECK(shunt::select_for(1ms, shunt::on_receive(empty, [](std::optional<int>) {})) == std::nullopt);
    CHECK(item == 2);
    CHECK(full.size() == 1);
    CHECK(empty.size() == 0);
  });
}

TEST_CASE("select: a wake that its waiter does not use goes to another waiter") {
  sched::runtime rt(with(1));
  rt.run([&] {
    for (int round = 0; round < 50; ++round) {
      shunt::channel<int> a(1), b(1);
      int got = 0, ended = 0;
      bool begun = false, other_begun = false;
      rt.spawn([&] {
        begun = true;
        shunt::select(shunt::on_receive(a, [&](std::optional<int>) { ++got; }),
                      shunt::on_receive(b, [&](std::optional<int>) { ++got; }));
        ++ended;
      });
      while (!begun) this_fiber::yield();
      for (int i = 0; i < 20; ++i) this_fiber::yield();
      rt.spawn([&] {
        other_begun = true;
        got += b.receive().has_value() ? 1 : 0;
        ++ended;
      });
      while (!other_begun) this_fiber::yield();
      for (int i = 0; i < 20; ++i) this_fiber::yield();
      CHECK(a.send(1));  // both wake the first fiber, which takes one of them
      CHECK(b.send(1));
      for (int i = 0; i < 100 && got < 2; ++i) this_fiber::yield();
      CHECK(got + static_cast<int>(a.size()) == 2);
      b.close();  // ends the second fiber in any case
      while (ended < 2) this_fiber::yield();
    }
  });
}
