// Names of handlers, and how batches lie in a train.
#include <shunt/wire.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

namespace wire = shunt::wire;
using wire::handler;
using wire::handler_table;

namespace {

struct zebra {};
struct apple {};
struct melon {};
template <int N>
struct numbered {};

int unloaded = 0;
void count_up(void* by) { unloaded += *static_cast<int*>(by); }

// Entered in the opposite order of their types' names.
const handler first_entered(typeid(zebra), "zebra", count_up, 0, 0, {});
const handler second_entered(typeid(melon), "melon", count_up, 3, wire::varying, {});
const handler last_entered(typeid(apple), "apple", count_up, 1, wire::requests, {});

template <int N>
const handler& entry_of() {
  static const handler h(typeid(numbered<N>), wire::type_name<numbered<N>>(), count_up, 0, 0, {});
  return h;
}

}  // namespace

TEST_CASE("handler_table: numbers follow the types' names, not the order or place of the entries") {
  handler_table::number();
  CHECK(last_entered.id() < second_entered.id());
  CHECK(second_entered.id() < first_entered.id());
  // Entered later, but numbered between: names of one length differ in their number only.
  const handler& nine = entry_of<9>();
  const handler& two = entry_of<2>();
  const handler& five = entry_of<5>();
  handler_table::number();
  CHECK(two.id() < five.id());
  CHECK(five.id() < nine.id());
  CHECK(last_entered.id() < second_entered.id());
  CHECK(second_entered.id() < first_entered.id());
}

TEST_CASE("handler_table: every number finds its handler, with what it was entered with") {
  handler_table::number();
  for (std::size_t i = 0; i < handler_table::size(); ++i) {
    CHECK(handler_table::at(static_cast<std::uint16_t>(i)).id() == i);
  }
  const handler& found = handler_table::at(second_entered.id());
  CHECK(&found == &second_entered);
  CHECK(found.name() == "melon");
  CHECK(found.mailbox() == 3);
  CHECK(found.flags() == wire::varying);
  int by = 7;
  unloaded = 0;
  found.unload(&by);
  CHECK(unloaded == 7);
}

TEST_CASE("handler_table: the digest stays while the table does, and changes with it") {
  handler_table::number();
  const auto before = handler_table::digest();
  const auto size = handler_table::size();
  handler_table::number();
  CHECK(handler_table::digest() == before);
  static_cast<void>(entry_of<1000>());
  CHECK(handler_table::size() == size);  // until it is numbered
  handler_table::number();
  CHECK(handler_table::size() == size + 1);
  CHECK(handler_table::digest() != before);
  static_cast<void>(entry_of<1001>());
  const auto with_one = handler_table::digest();
  handler_table::number();
  CHECK(handler_table::digest() != with_one);
  CHECK(handler_table::digest() != before);
}

TEST_CASE("type_name: the type as a person would write it") {
  CHECK(wire::type_name<int>() == "int");
  CHECK(wire::type_name<numbered<3>>().find("numbered<3>") != std::string_view::npos);
  CHECK(wire::type_name<zebra>().ends_with("zebra"));
  CHECK(wire::type_name<std::vector<int>>().find("vector<int") != std::string_view::npos);
  auto lambda = [](int) {};
  CHECK(wire::type_name<decltype(lambda)>().find("lambda") != std::string_view::npos);
  STATIC_REQUIRE(wire::type_name<long>() != wire::type_name<int>());
}

TEST_CASE("batch: what lies in a train has one layout") {
  STATIC_REQUIRE(sizeof(wire::batch_head) % wire::batch_alignment == 0);
  STATIC_REQUIRE(std::is_trivially_copyable_v<wire::batch_head>);
  STATIC_REQUIRE(sizeof(wire::route) == 4);
  STATIC_REQUIRE(sizeof(wire::span_head) == 8);
  STATIC_REQUIRE(sizeof(wire::span_head) % wire::span_alignment == 0);
  STATIC_REQUIRE(offsetof(wire::routed_message<char>, message) == 4);
  STATIC_REQUIRE(sizeof(wire::routed_message<std::uint32_t>) == 8);
  struct alignas(16) wide {
    char c[16];
  };
  STATIC_REQUIRE(offsetof(wire::routed_message<wide>, message) == 16);
  // A receiver that does not know the message finds the route of a routed or varying one in front of it.
  STATIC_REQUIRE(offsetof(wire::routed_message<wide>, way) == 0);
  STATIC_REQUIRE(offsetof(wire::span_head, way) == 0);
  // A route can name every PE that a job may have.
  STATIC_REQUIRE(std::is_same_v<decltype(wire::route::to), std::uint16_t>);
  STATIC_REQUIRE(wire::most_pes == 1 << 16);

  constexpr unsigned flags[] = {wire::routed,  wire::mixed,    wire::forwarded, wire::replies,
                                wire::varying, wire::requests, wire::unloaded};
  unsigned all = 0;
  for (const auto f : flags) {
    CHECK((all & f) == 0);
    all |= f;
  }
  wire::batch_head two[2];
  CHECK(two[0].messages() == reinterpret_cast<std::byte*>(&two[1]));
  CHECK(wire::round_up(0, 8) == 0);
  CHECK(wire::round_up(1, 8) == 8);
  CHECK(wire::round_up(8, 8) == 8);
  CHECK(wire::round_up(9, 8) == 16);
}
