#include <shunt/actor/detail/carriage.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <shunt/actor/detail/cell.hpp>
#include <shunt/base/random.hpp>
#include <vector>

using shunt::detail::typed::carriage;
using shunt::detail::typed::cell;
using shunt::detail::typed::kind;
using shunt::detail::typed::loader;
using shunt::detail::typed::slot;
using shunt::detail::typed::unloader;
using shunt::rail::train;

namespace {

/// Null in the place that has been left.
void move_owner(std::byte* from, std::byte* to) noexcept {
  std::memcpy(to, from, 8);
  std::memset(from, 0, 8);
}
constexpr std::array<kind, 6> kinds{{{nullptr, nullptr, nullptr, "one word", 8},
                                     {nullptr, nullptr, nullptr, "two", 16},
                                     {nullptr, nullptr, nullptr, "three", 24},
                                     {nullptr, nullptr, nullptr, "four", 32},
                                     {nullptr, nullptr, nullptr, "five", 40},
                                     {nullptr, &move_owner, nullptr, "an owner", 8}}};

struct message {
  cell* to;
  std::uint64_t which;
  const kind* what;
  std::uint64_t first_word;  // those behind it count on
};

/// With goods behind it, and a line that nobody may touch.
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
bool load(loader& l, const message& m, bool& full) {
  if (!l.takes(*m.to, m.which, *m.what) && !l.couple(*m.to, m.which, *m.what)) return false;
  std::byte* const place = l.place();
  for (std::size_t i = 0; i < m.what->bytes / 8; ++i) {
    const std::uint64_t word = m.first_word + i;
    std::memcpy(place + 8 * i, &word, 8);
  }
  full = l.step(m.what->bytes);
  return true;
}

}  // namespace

TEST_CASE("carriage: what was loaded is unloaded, in its order, and a train takes what it has room for") {
  const std::size_t capacity = GENERATE(128, 256, 1024, 16384);
  const std::size_t most = GENERATE(1, 2, 7, 256);
  const int alike = GENERATE(1, 3, 50);                           // messages in a row, on average
  alignas(cell) std::array<std::byte, 3 * sizeof(cell)> cells{};  // only their addresses matter
  constexpr shunt::counter_random numbers(5);
  std::uint64_t drawn = 0;
  const auto any = [&](std::uint64_t below) { return numbers.below(drawn++, below); };
  depot d(capacity);
  for (int round = 0; round < 40; ++round) {
    loader l;
    l.begin(*d.at, most);
    std::vector<message> loaded;
    message next{};
    std::size_t bytes = 0;
    for (bool full = false; !full;) {
      const auto last = next;
      if (loaded.empty() || any(static_cast<std::uint64_t>(alike)) == 0) {
        next.to = reinterpret_cast<cell*>(cells.data() + any(3) * sizeof(cell));
        next.which = any(2) << 32 | any(2);
        next.what = &kinds[any(kinds.size())];
      }
      next.first_word = 1 + any(1'000'000);
      const bool begins = loaded.empty() || next.to != last.to || next.which != last.which || next.what != last.what;
      const std::size_t needs = next.what->bytes + (begins ? sizeof(carriage) : 0);
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
    for (unloader from(*d.at); from.next_carriage();) {
      auto left = from.left();
      REQUIRE(left > 0);
      for (; from.more(); ++seen, --left) {
        REQUIRE(seen < loaded.size());
        REQUIRE(from.left() == left);
        const message& want = loaded[seen];
        CHECK(from.of().to == want.to);
        CHECK(from.of().life() == static_cast<std::uint32_t>(want.which));
        slot s;
        from.move_to(s);
        CHECK(s.which == want.which);
        CHECK(s.what == want.what);
        for (std::size_t i = 0; i < want.what->bytes / 8; ++i) {
          std::uint64_t word;
          std::memcpy(&word, s.room_ + 8 * i, 8);
          REQUIRE(word == want.first_word + i);
        }
      }
      CHECK(left == 0);
    }
    REQUIRE(seen == loaded.size());
  }
}

TEST_CASE("carriage: what can be moved is moved, once") {
  alignas(cell) std::array<std::byte, sizeof(cell)> room{};
  depot d(256);
  loader l;
  l.begin(*d.at, 8);
  const message m{reinterpret_cast<cell*>(room.data()), 1, &kinds[5], 77};
  bool full = false;
  REQUIRE(load(l, m, full));
  l.end(*d.at);
  unloader from(*d.at);
  REQUIRE(from.next_carriage());
  slot s;
  from.move_to(s);
  CHECK_FALSE(from.more());
  CHECK_FALSE(from.next_carriage());
  std::uint64_t there, left;
  std::memcpy(&there, s.room_, 8);
  std::memcpy(&left, d.at->goods() + sizeof(carriage), 8);
  CHECK(there == 77);
  CHECK(left == 0);
}

TEST_CASE("carriage: a train that was filled is begun anew, and one without messages has none") {
  alignas(cell) std::array<std::byte, sizeof(cell)> room{};
  depot d(256);
  loader l;
  for (int round = 0; round < 3; ++round) {
    l.begin(*d.at, 2);
    const message m{reinterpret_cast<cell*>(room.data()), 1, &kinds[0], 5};
    CHECK_FALSE(l.takes(*m.to, m.which, *m.what));
    bool full = true;
    REQUIRE(load(l, m, full));
    CHECK_FALSE(full);
    CHECK(l.takes(*m.to, m.which, *m.what));
    REQUIRE(load(l, m, full));
    CHECK(full);
    CHECK_FALSE(l.takes(*m.to, m.which, *m.what));
    CHECK_FALSE(l.couple(*m.to, m.which, *m.what));
    l.end(*d.at);
    CHECK(d.at->head.bytes == sizeof(carriage) + 16);
  }
  l.begin(*d.at, 2);
  l.end(*d.at);
  CHECK_FALSE(unloader(*d.at).next_carriage());
}
