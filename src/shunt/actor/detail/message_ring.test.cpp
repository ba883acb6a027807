#include <shunt/actor/detail/message_ring.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/outside_senders.hpp>
#include <shunt/rail/train_inbox.hpp>
#include <shunt/sched/waiter.hpp>
#include <support/slowly.hpp>

using namespace shunt::actor::detail;
using shunt::asymmetric_fence;
using shunt::testing::slowly;

namespace {

constexpr std::array<message_ops, 5> all_ops{{{nullptr, nullptr, nullptr, "one word", 8},
                                              {nullptr, nullptr, nullptr, "two", 16},
                                              {nullptr, nullptr, nullptr, "three", 24},
                                              {nullptr, nullptr, nullptr, "four", 32},
                                              {nullptr, nullptr, nullptr, "five", 40}}};
constexpr std::size_t half = message_ring::capacity / 2;

/// A cell knows where it lives. Nothing here goes there.
alignas(alignof(dispatcher)) std::byte no_place[sizeof(dispatcher)];
dispatcher& no_dispatcher = reinterpret_cast<dispatcher&>(no_place);

struct message {
  std::size_t cell, ops;
  std::uint64_t first_word;  // those behind it count on
  friend bool operator==(const message&, const message&) = default;
};

struct cells {
  std::unique_ptr<actor_cell> each[2] = {std::make_unique<actor_cell>(no_dispatcher),
                                         std::make_unique<actor_cell>(no_dispatcher)};
};

/// \return false: the ring had no room.
bool put(message_ring& ring, const cells& to, const message& m, after_publish& owes) {
  const message_ops& ops = all_ops[m.ops];
  std::byte* const place = ring.place(*to.each[m.cell], m.cell, ops);
  if (place == nullptr) return false;
  for (std::size_t i = 0; i < ops.bytes / 8; ++i) {
    const std::uint64_t word = m.first_word + i;
    std::memcpy(place + 8 * i, &word, 8);
  }
  owes = ring.publish(ops.bytes);
  return true;
}
bool put(message_ring& ring, const cells& to, const message& m) {
  after_publish owes{};
  return put(ring, to, m, owes);
}

/// Messages up to there; calls `with` for each. \return how many.
template <typename F>
std::int64_t read(message_ring& ring, const cells& to, std::uint64_t end, F with) {
  std::int64_t count = 0;
  for (ring_reader from(ring, end); from.next_batch();) {
    const message_batch& b = from.batch();
    const std::int64_t left = from.left();
    for (std::int64_t of_batch = 0; from.more(); ++of_batch, ++count) {
      REQUIRE(from.left() == left - of_batch);
      envelope e;
      from.move_to(e);
      message m{b.target, static_cast<std::size_t>(e.ops - all_ops.data()), 0};
      if (b.to != to.each[m.cell].get()) m.cell = 99;
      std::memcpy(&m.first_word, e.arguments, 8);
      for (std::size_t i = 1; i < e.ops->bytes / 8; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, e.arguments + 8 * i, 8);
        if (word != m.first_word + i) m.cell = 99;
      }
      with(m);
    }
  }
  ring.took();
  return count;
}

/// Says how far it has come. It orders nothing, so that ThreadSanitizer sees what the ring orders.
struct silent_flag {
  void raise(int to) noexcept { at.store(to, std::memory_order_relaxed); }
  void reach(int wanted) const noexcept {
    while (at.load(std::memory_order_relaxed) < wanted) std::this_thread::yield();
  }
  std::atomic<int> at{0};
};

}  // namespace

TEST_CASE("message_ring: a reader returns what was published, in its order, however often the ring goes round") {
  std::mt19937 dice(GENERATE(range(1u, 9u)));
  const std::uint64_t kinds = GENERATE(1, 3, 10);  // one batch that goes on and on, or many short ones
  const cells to;
  message_ring ring(0);
  std::deque<message> wanted;
  std::deque<std::uint64_t> ends;  // of each, in the ring
  std::uint64_t sent = 0, laps = 0, refused = 0, wrong = 0;
  while (laps < 8 * message_ring::capacity) {
    for (auto n = dice() % 900; n > 0; --n) {
      const auto kind = dice() % kinds;
      const message m{kind % 2, kind / 2, sent};
      if (!put(ring, to, m)) {
        ++refused;
        CHECK_FALSE(ring.has_room());
        break;
      }
      wanted.push_back(m);
      ends.push_back(ring.published());
      sent += 10;
      laps += all_ops[m.ops].bytes;
    }
    const auto some = std::min<std::size_t>(dice() % 700, ends.size());
    const auto end = some == 0 ? ring.done() : ends[some - 1];
    ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(some));
    const auto count = read(ring, to, end, [&](const message& m) {
      wrong += wanted.empty() || m != wanted.front();
      if (!wanted.empty()) wanted.pop_front();
    });
    REQUIRE(count == static_cast<std::int64_t>(some));
    REQUIRE(ring.any() == !wanted.empty());
    REQUIRE((ring.done() == ring.published()) == wanted.empty());
    if (wanted.empty()) REQUIRE(ring.has_room());
  }
  CHECK(wrong == 0);
  CHECK(refused > 0);
}

TEST_CASE("message_ring: an empty ring has room for any message, wherever in the ring it is, and after any message") {
  const std::size_t first = GENERATE(range(0, 5)), second = GENERATE(range(0, 5));
  const cells to;
  message_ring ring(0);
  bool taken = true;
  for (std::uint64_t moved = 0; moved < 2 * message_ring::capacity && taken; moved += all_ops[first].bytes) {
    taken = ring.has_room() && put(ring, to, {0, first, 7});
    CHECK(read(ring, to, ring.look(), [](const message&) {}) == 1);
    if (moved % 512 >= 8) continue;
    taken = taken && ring.has_room() && put(ring, to, {1, second, 8});
    CHECK(read(ring, to, ring.look(), [](const message& m) { CHECK(m.first_word == 8); }) == 1);
  }
  CHECK(taken);
}

TEST_CASE("message_ring: a ring takes what it has room for") {
  const cells to;
  message_ring ring(0);
  std::size_t bytes = 8;
  REQUIRE(put(ring, to, {0, 0, 0}));
  const auto first = ring.published();
  while (put(ring, to, {0, 0, 0})) bytes += 8;
  CHECK(bytes > message_ring::capacity - 4 * longest_message);
  CHECK(bytes < message_ring::capacity);
  CHECK(read(ring, to, first, [](const message&) {}) == 1);
  CHECK_FALSE(ring.has_room());  // its batch may still be read
  CHECK(read(ring, to, half + sizeof(message_batch) + 8, [](const message&) {}) > 0);
  CHECK(ring.has_room());
}

TEST_CASE("message_ring: the message that comes while the ring sleeps makes its sender deliver it, and no other one") {
  const cells to;
  message_ring ring(0);
  const auto sent = [&] {
    after_publish owes{};
    REQUIRE(put(ring, to, {0, 0, 0}, owes));
    return owes;
  };
  const auto nothing = [](const message&) {};
  CHECK(sent() == after_publish::deliver);  // a ring sleeps at first
  CHECK(sent() == after_publish::nothing);
  CHECK(read(ring, to, ring.look(), nothing) == 2);
  CHECK(sent() == after_publish::nothing);
  CHECK(read(ring, to, ring.look(), nothing) == 1);
  SECTION("nothing has come") {
    ring.stop_watching();
    CHECK_FALSE(ring.must_watch());
    CHECK(sent() == after_publish::deliver);
  }
  SECTION("a message came before the dispatcher stopped") {
    CHECK(sent() == after_publish::nothing);
    ring.stop_watching();
    CHECK(ring.must_watch());
    CHECK(sent() == after_publish::nothing);
  }
  SECTION("a message came after it had stopped, before its look") {
    ring.stop_watching();
    CHECK(sent() == after_publish::deliver);
    CHECK_FALSE(ring.must_watch());
    CHECK(sent() == after_publish::nothing);
  }
}

// allowed    deliver + sleeps    the message came after the dispatcher had stopped: its sender delivers the ring
// allowed    nothing + watches   the dispatcher has seen the message
// forbidden  nothing + sleeps    the message is slept on
// forbidden  deliver + watches   the ring has two holders
TEST_CASE("message_ring: a message and a dispatcher that stops watching agree which of the two goes on with the ring") {
  enum class order { as_it_comes, message_first, dispatcher_first };
  const auto forced = GENERATE(order::as_it_comes, order::message_first, order::dispatcher_first);
  const int rounds = (forced == order::as_it_comes ? 20'000 : 1'000) / slowly;
  const cells to;
  message_ring ring(0);
  silent_flag begun, published, stopped, over;
  shunt::rail::train_inbox inbox;
  REQUIRE(put(ring, to, {0, 0, 0}));
  REQUIRE(read(ring, to, ring.look(), [](const message&) {}) == 1);
  std::thread sender([&] {
    for (int i = 1; i <= rounds; ++i) {
      begun.reach(i);
      if (forced == order::dispatcher_first) stopped.reach(i);
      after_publish owes{};
      static_cast<void>(put(ring, to, {0, 0, static_cast<std::uint64_t>(i)}, owes));
      if (owes == after_publish::deliver) inbox.deliver(ring);
      published.raise(i);
      over.reach(i);
    }
  });
  int slept = 0, lost = 0, doubled = 0, wrong = 0;
  for (int i = 1; i <= rounds; ++i) {
    begun.raise(i);
    if (forced == order::message_first) published.reach(i);
    ring.stop_watching();
    if (asymmetric_fence::usable()) asymmetric_fence::heavy();
    const bool watches = ring.must_watch();
    stopped.raise(i);
    published.reach(i);
    const bool delivered = inbox.arrivals() == &ring;
    slept += !watches;
    lost += !watches && !delivered;
    doubled += watches && delivered;
    wrong += read(ring, to, ring.look(),
                  [&](const message& m) { wrong += m.first_word != static_cast<std::uint64_t>(i); }) != 1;
    over.raise(i);
  }
  sender.join();
  CHECK(lost == 0);
  CHECK(doubled == 0);
  CHECK(wrong == 0);
  if (forced == order::message_first) CHECK(slept == 0);
  if (forced == order::dispatcher_first) CHECK(slept == rounds);
}

TEST_CASE("message_ring: no message is lost between two threads, and a sender that finds the ring full waits") {
  const std::uint64_t kinds = GENERATE(1, 10);
  const bool lazy = GENERATE(false, true);  // the dispatcher lets the ring become full
  const int messages = 400'000 / slowly;
  const cells to;
  message_ring ring(0);
  std::atomic<int> waits{0};
  std::thread sender([&] {
    for (int i = 0; i < messages; ++i) {
      const auto kind = static_cast<std::uint64_t>(i) / 3 % kinds;
      const message m{kind % 2, kind / 2, static_cast<std::uint64_t>(i)};
      while (!put(ring, to, m)) {
        waits.fetch_add(1, std::memory_order_relaxed);
        ring.wait_for_room("test");
      }
    }
  });
  int next = 0, wrong = 0, seen = 0;
  while (next < messages) {
    if (lazy && next + 3'000 < messages) {
      while (waits == seen) std::this_thread::yield();
      seen = waits;
    }
    read(ring, to, ring.look(), [&](const message& m) { wrong += m.first_word != static_cast<std::uint64_t>(next++); });
  }
  sender.join();
  CHECK(wrong == 0);
  CHECK(ring.done() == ring.published());
  if (lazy) CHECK(waits > 0);
}

TEST_CASE("message_ring: up to where an ended sender has come its messages can be read") {
  const cells to;
  message_ring ring(0);
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < 100; ++i) static_cast<void>(put(ring, to, {0, 1, i}));
    ring.end_sender();
  });
  while (ring.ended() == 0) std::this_thread::yield();
  std::uint64_t next = 0, wrong = 0;
  CHECK(read(ring, to, ring.ended(), [&](const message& m) { wrong += m.first_word != next++; }) == 100);
  CHECK(wrong == 0);
  sender.join();
}

TEST_CASE("ring_list: a thread's first message comes behind what was published when it took its ring") {
  const cells to;
  ring_list list;
  message_ring& elsewhere = list.take(1);
  CHECK(put(elsewhere, to, {0, 0, 0}));
  message_ring& first = list.take(0);
  CHECK(first.begin_number() == 0);  // nothing was there
  CHECK(put(first, to, {0, 0, 1}));
  const auto sent = first.published();
  message_ring& second = list.take(0);
  CHECK(second.begin_number() == 1);
  CHECK(list.take(0).begin_number() == 1);  // nothing new
  CHECK(put(first, to, {0, 0, 2}));
  CHECK(put(second, to, {0, 0, 1}));
  CHECK(list.take(0).begin_number() == 2);
  const auto before_second = list.next_before(0);
  REQUIRE(before_second.size() == 1);
  CHECK(before_second[0].ring == &first);
  CHECK(before_second[0].end == sent);
  const auto before_last = list.next_before(0);
  REQUIRE(before_last.size() == 2);
  CHECK(before_last[0].end == first.published());
  CHECK(before_last[1].end == second.published());
}

// No edge leads from the first sender to the reader but that over the second one: the flags it sets are relaxed.
TEST_CASE("ring_list: what comes before a thread's first message can be read without a look into its ring") {
  const cells to;
  ring_list list;
  std::atomic<bool> sent{false}, over{false};
  std::atomic<message_ring*> second{nullptr};
  std::thread first_sender([&] {
    message_ring& ring = list.take(0);
    for (std::uint64_t i = 0; i < 100; ++i) static_cast<void>(put(ring, to, {0, 1, i}));
    sent.store(true, std::memory_order_relaxed);
    while (!over.load(std::memory_order_relaxed)) std::this_thread::yield();
  });
  std::thread second_sender([&] {
    while (!sent.load(std::memory_order_relaxed)) std::this_thread::yield();
    message_ring& ring = list.take(0);
    static_cast<void>(put(ring, to, {0, 1, 100}));
    second.store(&ring, std::memory_order_release);
  });
  while (second.load(std::memory_order_acquire) == nullptr) std::this_thread::yield();
  CHECK(second.load(std::memory_order_relaxed)->begin_number() == 1);
  std::uint64_t next = 0, wrong = 0;
  for (const sent_before& s : list.next_before(0)) {
    CHECK(read(*s.ring, to, s.end, [&](const message& m) { wrong += m.first_word != next++; }) == 100);
  }
  CHECK(next == 100);
  CHECK(wrong == 0);
  over.store(true, std::memory_order_relaxed);
  first_sender.join();
  second_sender.join();
}

TEST_CASE("ring_list: a ring is not handed on while its last thread's first message is not read") {
  const cells to;
  ring_list list;
  message_ring& first = list.take(0);
  CHECK(put(first, to, {0, 0, 1}));
  list.give_back(first);
  message_ring& second = list.take(0);
  CHECK(&second != &first);
  list.give_back(second);  // has sent nothing
  CHECK(&list.take(0) == &second);
  CHECK(read(first, to, first.look(), [](const message&) {}) == 1);
  CHECK(&list.take(0) == &first);
}

TEST_CASE("ring_list: a ring that is given back is the next sender's, for the same dispatcher, with what is in it") {
  const cells to;
  ring_list list;
  message_ring& first = list.take(0);
  message_ring& other = list.take(1);
  CHECK(&first != &other);
  CHECK(put(first, to, {0, 0, 1}));
  CHECK(put(first, to, {0, 0, 2}));
  CHECK(list.published() != list.done());
  list.give_back(other);
  CHECK(first.ended() == 0);
  std::uint64_t next = 1;
  const auto in_order = [&](const message& m) { CHECK(m.first_word == next++); };
  const auto end_of_one = first.published() - all_ops[0].bytes;
  CHECK(read(first, to, end_of_one, in_order) == 1);
  list.give_back(first);
  CHECK(first.ended() == first.published());
  CHECK(list.published() != list.done());
  CHECK(&list.take(0) == &first);
  CHECK(&list.take(0) != &first);
  CHECK(put(first, to, {0, 0, 3}));
  CHECK(read(first, to, first.look(), in_order) == 2);
  CHECK(list.published() == list.done());
  CHECK(&list.take(1) == &other);
  CHECK_FALSE(list.closed());
  list.close();
  CHECK(list.closed());
  list.give_back(first);  // gone: it is not touched
}
