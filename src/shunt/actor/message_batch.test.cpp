#include <shunt/actor/detail/message_batch.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/base/random.hpp>
#include <vector>

using shunt::actor::detail::actor_cell;
using shunt::actor::detail::batch_reader;
using shunt::actor::detail::batch_writer;
using shunt::actor::detail::envelope;
using shunt::actor::detail::message_batch;
using shunt::actor::detail::message_ops;
using shunt::rail::train;

namespace {

/// Null in the place that has been left.
void move_owner(std::byte* from, std::byte* to) noexcept {
  std::memcpy(to, from, 8);
  std::memset(from, 0, 8);
}
constexpr std::array<message_ops, 6> all_ops{{{nullptr, nullptr, nullptr, "one word", 8},
                                              {nullptr, nullptr, nullptr, "two", 16},
                                              {nullptr, nullptr, nullptr, "three", 24},
                                              {nullptr, nullptr, nullptr, "four", 32},
                                              {nullptr, nullptr, nullptr, "five", 40},
                                              {nullptr, &move_owner, nullptr, "an owner", 8}}};

struct message {
  actor_cell* to;
  std::uint64_t target;
  const message_ops* ops;
  std::uint64_t first_word;  // those behind it count on
};

/// A train with room behind it, and a line that no writer may touch.
struct depot {
  explicit depot(std::size_t capacity) : room(2 + capacity / sizeof(line)), at(::new(&room[0]) train) {
    at->capacity = static_cast<std::uint32_t>(capacity);
    std::memset(&room.back(), 0x5a, sizeof(line));
  }
  [[nodiscard]] bool kept_within() const {
    for (const auto b : room.back().bytes) {
      if (b != std::byte{0x5a}) return false;
    }
    return true;
  }
  struct alignas(64) line {
    std::byte bytes[64];
  };
  std::vector<line> room;
  train* at;
};

/// \return false: the train had no room for it.
bool load(batch_writer& l, const message& m, bool& full) {
  if (!l.takes(*m.to, m.target, *m.ops) && !l.begin_batch(*m.to, m.target, *m.ops)) return false;
  std::byte* const place = l.place();
  for (std::size_t i = 0; i < m.ops->bytes / 8; ++i) {
    const std::uint64_t word = m.first_word + i;
    std::memcpy(place + 8 * i, &word, 8);
  }
  full = l.advance(m.ops->bytes);
  return true;
}

}  // namespace

TEST_CASE("message_batch: a reader returns what a writer wrote, in its order, and a train takes what it has room for") {
  const std::size_t capacity = GENERATE(128, 256, 1024, 16384);
  const std::size_t most = GENERATE(1, 2, 7, 256);
  const int alike = GENERATE(1, 3, 50);                                       // messages in a row, on average
  alignas(actor_cell) std::array<std::byte, 3 * sizeof(actor_cell)> cells{};  // only their addresses matter
  constexpr shunt::counter_random numbers(5);
  std::uint64_t drawn = 0;
  const auto any = [&](std::uint64_t below) { return numbers.below(drawn++, below); };
  depot d(capacity);
  for (int round = 0; round < 40; ++round) {
    batch_writer l;
    l.begin(*d.at, most);
    std::vector<message> loaded;
    message next{};
    std::size_t bytes = 0;
    for (bool full = false; !full;) {
      const auto last = next;
      if (loaded.empty() || any(static_cast<std::uint64_t>(alike)) == 0) {
        next.to = reinterpret_cast<actor_cell*>(cells.data() + any(3) * sizeof(actor_cell));
        next.target = any(2) << 32 | any(2);
        next.ops = &all_ops[any(all_ops.size())];
      }
      next.first_word = 1 + any(1'000'000);
      const bool begins = loaded.empty() || next.to != last.to || next.target != last.target || next.ops != last.ops;
      const std::size_t needs = next.ops->bytes + (begins ? sizeof(message_batch) : 0);
      const bool fits = bytes + needs <= capacity;
      REQUIRE(load(l, next, full) == fits);
      if (!fits) break;
      bytes += needs;
      loaded.push_back(next);
      REQUIRE(full == (loaded.size() == most));
    }
    l.end(*d.at);
    REQUIRE(d.at->head.bytes == bytes);
    REQUIRE(d.kept_within());

    std::size_t seen = 0;
    for (batch_reader from(*d.at); from.next_batch();) {
      auto left = from.left();
      REQUIRE(left > 0);
      for (; from.more(); ++seen, --left) {
        REQUIRE(seen < loaded.size());
        REQUIRE(from.left() == left);
        const message& want = loaded[seen];
        CHECK(from.batch().to == want.to);
        CHECK(from.batch().incarnation() == static_cast<std::uint32_t>(want.target));
        envelope s;
        from.move_to(s);
        CHECK(s.target == want.target);
        CHECK(s.ops == want.ops);
        for (std::size_t i = 0; i < want.ops->bytes / 8; ++i) {
          std::uint64_t word;
          std::memcpy(&word, s.arguments + 8 * i, 8);
          REQUIRE(word == want.first_word + i);
        }
      }
      CHECK(left == 0);
    }
    REQUIRE(seen == loaded.size());
  }
}

TEST_CASE("message_batch: an argument that can be moved is moved, once") {
  alignas(actor_cell) std::array<std::byte, sizeof(actor_cell)> room{};
  depot d(256);
  batch_writer l;
  l.begin(*d.at, 8);
  const message m{reinterpret_cast<actor_cell*>(room.data()), 1, &all_ops[5], 77};
  bool full = false;
  REQUIRE(load(l, m, full));
  l.end(*d.at);
  batch_reader from(*d.at);
  REQUIRE(from.next_batch());
  envelope s;
  from.move_to(s);
  CHECK_FALSE(from.more());
  CHECK_FALSE(from.next_batch());
  std::uint64_t there, left;
  std::memcpy(&there, s.arguments, 8);
  std::memcpy(&left, d.at->goods() + sizeof(message_batch), 8);
  CHECK(there == 77);
  CHECK(left == 0);
}

TEST_CASE("message_batch: a filled train may be begun anew, and a train without messages has none") {
  alignas(actor_cell) std::array<std::byte, sizeof(actor_cell)> room{};
  depot d(256);
  batch_writer l;
  for (int round = 0; round < 3; ++round) {
    l.begin(*d.at, 2);
    const message m{reinterpret_cast<actor_cell*>(room.data()), 1, &all_ops[0], 5};
    CHECK_FALSE(l.takes(*m.to, m.target, *m.ops));
    bool full = true;
    REQUIRE(load(l, m, full));
    CHECK_FALSE(full);
    CHECK(l.takes(*m.to, m.target, *m.ops));
    REQUIRE(load(l, m, full));
    CHECK(full);
    CHECK_FALSE(l.takes(*m.to, m.target, *m.ops));
    CHECK_FALSE(l.begin_batch(*m.to, m.target, *m.ops));
    l.end(*d.at);
    CHECK(d.at->head.bytes == sizeof(message_batch) + 16);
  }
  l.begin(*d.at, 2);
  l.end(*d.at);
  CHECK_FALSE(batch_reader(*d.at).next_batch());
}
