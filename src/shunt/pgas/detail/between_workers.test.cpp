// What workers tell each other during collective calls: whether they are in the same one, and bytes up and down a tree.
// Each worker is its parts alone, without a job; trains go where the test lets them.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/pgas/detail/agreement.hpp>
#include <shunt/pgas/detail/control_messages.hpp>
#include <shunt/pgas/detail/selector_state.hpp>
#include <shunt/pgas/detail/tree_gather.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <shunt/transport.hpp>
#include <support/expect.hpp>
#include <support/pgas_parts.hpp>

using namespace shunt;
using namespace shunt::pgas::detail;
using shunt::testing::unload;
using shunt::testing::worker;
using kind = collective_call::kind;

namespace {

std::string damage_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const damage& d) {
    return d.what;
  }
  return {};
}

std::vector<std::byte> bytes_of_length(std::size_t length, int seed) {
  std::vector<std::byte> all(length);
  for (std::size_t i = 0; i < length; ++i) all[i] = static_cast<std::byte>(31 * i + static_cast<std::size_t>(seed));
  return all;
}

constexpr collective_call barrier{kind::barrier, 0};
constexpr collective_call finish_of_2{kind::finish, 2};
constexpr collective_call finish_of_3{kind::finish, 3};

/// A worker that agrees with worker `index` - 1 and + 1 of `workers`; notes what it sends.
struct agreeing {
  explicit agreeing(int index, int workers)
      : w(worker::facts_of(index, workers), *carrier, [this](rail::train& t, int to) { sent.emplace_back(&t, to); }),
        with(w.facts, w.out) {}
  ~agreeing() { forget_sent(); }
  void forget_sent() {
    for (const auto& [t, to] : std::exchange(sent, {})) rail::send_home(*t);
    w.out.ends().arrivals([](rail::train&) {});
  }
  template <class Message>
  Message take(int to) {
    REQUIRE(sent.size() == 1);
    CHECK(sent.front().second == to);
    std::vector<Message> found;
    unload<Message>(*std::exchange(sent, {}).front().first, [&](const Message& m, auto payload) {
      CHECK(payload.empty());
      found.push_back(m);
    });
    REQUIRE(found.size() == 1);
    return found.front();
  }

  const std::unique_ptr<transport::carrier> carrier = transport::open("threads");
  std::vector<std::pair<rail::train*, int>> sent;
  worker w;
  agreement with;
};

}  // namespace

// --- agreement ---

TEST_CASE("agreement: a worker tells the next one in the ring once which call it is in") {
  agreeing last(2, 3);
  CHECK(last.with.announce(0, finish_of_2));
  const auto notice = last.take<collective_notice>(0);
  CHECK(notice.number == 0);
  CHECK(notice.kind == kind::finish);
  CHECK(notice.selector == 2);
  CHECK_FALSE(last.with.announce(0, finish_of_2));
  CHECK(last.sent.empty());
  CHECK(last.with.announce(4, barrier));  // it did not sleep in those between
  CHECK(last.take<collective_notice>(0).number == 4);
  CHECK_FALSE(last.with.announce(3, barrier));
}

TEST_CASE("agreement: another call of the same number is a disagreement; of another number nothing is known") {
  agreeing mine(1, 3);
  CHECK(mine.with.other_call(0, barrier) == std::nullopt);
  mine.with.notice_arrived(0, 0, finish_of_2, 0);
  CHECK(mine.with.other_call(0, finish_of_2) == std::nullopt);
  CHECK(mine.with.other_call(0, barrier) == finish_of_2);
  CHECK(mine.with.other_call(0, finish_of_3) == finish_of_2);
  CHECK(mine.with.other_call(1, barrier) == std::nullopt);

  mine.with.notice_arrived(0, 2, barrier, 1);  // one call ahead
  CHECK(mine.with.other_call(1, finish_of_2) == std::nullopt);
  CHECK(mine.with.other_call(2, finish_of_2) == barrier);
  mine.with.notice_arrived(0, 1, finish_of_2, 2);  // overtaken by the other one
  CHECK(mine.with.other_call(2, finish_of_2) == barrier);
  mine.with.came_to(2);
  CHECK(mine.with.other_call(1, barrier) == std::nullopt);
  CHECK(mine.with.other_call(2, finish_of_2) == barrier);
}

TEST_CASE("agreement: a call that this worker has passed alone is compared until all have called") {
  agreeing mine(1, 3);
  const collective_call end_of_2{kind::ending, 2}, end_of_3{kind::ending, 3};
  mine.with.passed(4, end_of_2);
  mine.with.passed(5, end_of_3);
  CHECK_FALSE(mine.with.other_call_passed());
  mine.with.notice_arrived(0, 5, end_of_3, 6);
  CHECK_FALSE(mine.with.other_call_passed());
  mine.with.notice_arrived(0, 7, barrier, 6);
  CHECK_FALSE(mine.with.other_call_passed());

  agreeing other(1, 3);
  other.with.passed(4, end_of_2);
  other.with.passed(5, end_of_3);
  other.with.notice_arrived(0, 4, barrier, 6);
  other.with.came_to(6);
  const auto found = other.with.other_call_passed();
  REQUIRE(found);
  CHECK(found->mine == end_of_2);
  CHECK(found->theirs == barrier);
  other.with.all_have_called(end_of_3);
  CHECK(other.with.other_call_passed());
  other.with.all_have_called(end_of_2);
  CHECK_FALSE(other.with.other_call_passed());
}

TEST_CASE("agreement: supersteps of other objects are other calls, also where the numbers differ by multiples of 256") {
  const auto call_of = [](std::vector<std::uint16_t> numbers) {
    std::vector<selector_state> states(numbers.size());
    std::vector<ending_selector> all;
    for (std::size_t k = 0; k != numbers.size(); ++k) {
      states[k].id = numbers[k];
      all.push_back({&states[k], {}});
    }
    return collective_call::superstep(all);
  };
  for (std::uint16_t number = 1; number <= 256; ++number) {
    for (std::uint16_t more = 256; more <= 16'384 - 256; more = static_cast<std::uint16_t>(more + 256)) {
      const auto other = static_cast<std::uint16_t>(number + more);
      REQUIRE(call_of({number}) != call_of({other}));
      REQUIRE(call_of({7, number}) != call_of({7, other}));
    }
  }
  CHECK_THAT(call_of(std::vector<std::uint16_t>(62, 5)).text(), Catch::Contains("with 62 distributed objects"));
  CHECK_THAT(call_of(std::vector<std::uint16_t>(64, 5)).text(), Catch::Contains("with 63 or more distributed objects"));
}

TEST_CASE("agreement: notices that no worker sends are refused") {
  agreeing mine(1, 3);
  const auto notice = [&](int from, std::uint64_t number, kind is) {
    return damage_of([&] { mine.with.notice_arrived(from, number, {is, 0}, 5); });
  };
  CHECK(notice(2, 5, kind::barrier) == "collective notice: worker 2 in call 5");
  CHECK(notice(1, 5, kind::barrier) == "collective notice: worker 1 in call 5");
  CHECK(notice(0, 6 + (1 << 16), kind::barrier) == "collective notice: worker 0 in call 65542");
  CHECK(notice(0, 5, static_cast<kind>(static_cast<int>(collective_call::last_kind) + 1)) ==
        "collective notice: worker 0 in call 5");
  CHECK(notice(0, 6, kind::end).empty());
}

TEST_CASE("agreement: a worker has left once all notices that it has sent are here") {
  agreeing first(0, 2), second(1, 2);
  CHECK(first.with.announce(0, barrier));
  CHECK(first.with.announce(1, barrier));
  first.forget_sent();
  first.with.leave();
  CHECK_FALSE(first.with.announce(2, barrier));
  const auto leave = first.take<leave_notice>(1);
  CHECK(leave.notices == 2);

  CHECK_FALSE(second.with.neighbour_has_left());
  second.with.notice_arrived(0, 0, barrier, 0);
  second.with.leave_notice_arrived(0, leave.notices);
  CHECK_FALSE(second.with.neighbour_has_left());
  second.with.notice_arrived(0, 1, barrier, 1);
  CHECK(second.with.neighbour_has_left());
  CHECK(damage_of([&] { second.with.leave_notice_arrived(0, 2); }) == "leave notice: worker 0 after 2 notices");
}

TEST_CASE("agreement: a leave notice of another worker, or of fewer notices than have come, is refused") {
  agreeing mine(1, 3);
  mine.with.notice_arrived(0, 0, barrier, 0);
  CHECK_FALSE(damage_of([&] { mine.with.leave_notice_arrived(2, 1); }).empty());
  CHECK_FALSE(damage_of([&] { mine.with.leave_notice_arrived(0, 0); }).empty());
  CHECK_FALSE(mine.with.neighbour_has_left());
  mine.with.leave_notice_arrived(0, 1);
  CHECK(mine.with.neighbour_has_left());
}

// --- tree_gather ---

TEST_CASE("tree_gather: every worker gets every worker's bytes and call, again and again") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 8, 13);
  const std::size_t length = GENERATE(as<std::size_t>(), 0, 1, 200, 3'000);  // a train carries 512
  const auto carrier = transport::open("threads");
  std::vector<std::deque<rail::train*>> inboxes(static_cast<std::size_t>(workers));
  std::vector<std::unique_ptr<worker>> all;
  std::vector<std::unique_ptr<tree_gather>> gathers;
  for (int i = 0; i < workers; ++i) {
    auto& w =
        *all.emplace_back(std::make_unique<worker>(worker::facts_of(i, workers), *carrier, [&](rail::train& t, int to) {
          inboxes[static_cast<std::size_t>(to)].push_back(&t);
        }));
    auto& g = *gathers.emplace_back(std::make_unique<tree_gather>(w.facts, w.out, w.waits));
    w.waits.look = [&, i] {
      bool any = w.out.ends().arrivals([](rail::train&) {});
      auto& mine = inboxes[static_cast<std::size_t>(i)];
      for (; !mine.empty(); any = true) {
        rail::train& t = *mine.front();
        mine.pop_front();
        unload<gather_piece>(t, [&](const gather_piece& head, auto bytes) { g.piece_arrived(head, bytes); });
      }
      return any;
    };
  }
  constexpr int rounds = 3;
  sched::runtime one({.workers = 1});
  one.run([&] {
    for (int i = 0; i < workers; ++i) {
      one.spawn(
          [&, i] {
            for (int round = 0; round < rounds; ++round) {
              const auto share = [&](int w) {
                return contribution{{kind::reduce, static_cast<std::uint16_t>(w + round)},
                                    0,
                                    bytes_of_length(w % 3 == 1 ? 0 : length + static_cast<std::size_t>(w), w + round)};
              };
              const auto found = gathers[static_cast<std::size_t>(i)]->gather(share(i));
              testing::expect(found.size() == static_cast<std::size_t>(workers));
              for (int w = 0; w < workers; ++w) {
                testing::expect(found[static_cast<std::size_t>(w)].call == share(w).call);
                testing::expect(found[static_cast<std::size_t>(w)].bytes == share(w).bytes);
              }
            }
          },
          {.worker = 0});
    }
  });
  for (const auto& w : all) {
    CHECK(w->job.failures.empty());
    w->out.ends().arrivals([](rail::train&) {});
    CHECK(w->out.pool().out(1) == 0);  // all trains are at home
  }
}

TEST_CASE("tree_gather: pieces may come in any order, and of the next gather too") {
  std::mt19937 dice(GENERATE(range(0u, 10u)));
  const auto carrier = transport::open("threads");
  // The only child of worker 0, whose bytes the test makes up.
  worker root(worker::facts_of(0, 2), *carrier, [](rail::train& t, int) { rail::send_home(t); });
  tree_gather gather(root.facts, root.out, root.waits);
  const auto bundle_of = [](int seed) {
    const auto bytes = bytes_of_length(100, seed);
    const std::uint64_t head[3] = {1, std::uint64_t{static_cast<std::uint8_t>(kind::gather)} << 16, bytes.size()};
    const auto raw = std::as_bytes(std::span(head));
    std::vector<std::byte> bundle(raw.begin(), raw.end());
    bundle.insert(bundle.end(), bytes.begin(), bytes.end());
    return bundle;
  };
  struct piece {
    gather_piece head;
    std::vector<std::byte> bytes;
  };
  std::vector<piece> pieces;
  for (std::uint32_t sequence = 1; sequence <= 2; ++sequence) {
    const auto bundle = bundle_of(static_cast<int>(sequence));
    for (std::size_t at = 0; at < bundle.size();) {
      const auto length = std::min<std::size_t>(1 + dice() % 40, bundle.size() - at);
      const auto first = bundle.begin() + static_cast<std::ptrdiff_t>(at);
      pieces.push_back({{sequence, static_cast<std::uint32_t>(bundle.size()), static_cast<std::uint32_t>(at), 1, 0},
                        {first, first + static_cast<std::ptrdiff_t>(length)}});
      at += length;
    }
  }
  std::shuffle(pieces.begin(), pieces.end(), dice);
  root.waits.look = [&] {
    static_cast<void>(root.out.ends().arrivals([](rail::train&) {}));
    if (pieces.empty()) return false;
    gather.piece_arrived(pieces.back().head, pieces.back().bytes);
    pieces.pop_back();
    return true;
  };
  sched::runtime one({.workers = 1});
  one.run([&] {
    for (int round = 1; round <= 2; ++round) {
      const auto found = gather.gather({{kind::gather, 0}, 0, bytes_of_length(3, 0)});
      CHECK(found[0].bytes == bytes_of_length(3, 0));
      CHECK(found[1].bytes == bytes_of_length(100, round));
    }
  });
  CHECK(pieces.empty());
}

TEST_CASE("tree_gather: pieces that no worker sends are refused, and change nothing") {
  const auto carrier = transport::open("threads");
  // Worker 4 of 8 has the children 5 and 6; 7 is a child of 6.
  worker w(worker::facts_of(4, 8), *carrier, [](rail::train& t, int) { rail::send_home(t); });
  tree_gather gather(w.facts, w.out, w.waits);
  const auto bytes = bytes_of_length(10, 0);
  const auto said = [&](std::uint16_t from, bool down, std::uint32_t sequence, std::uint32_t total,
                        std::uint32_t offset, std::size_t length) {
    return damage_of(
        [&] { gather.piece_arrived({sequence, total, offset, from, down}, std::span(bytes).first(length)); });
  };
  // No gather has begun here; children may be in the first one, the parent sends nothing down before.
  CHECK(said(7, false, 1, 10, 0, 5) ==
        "collective: bytes 0 and 5 following of 10 of worker 7 in gather 1, while gather 0 is the last");
  CHECK_FALSE(said(4, false, 1, 10, 0, 5).empty());  // itself
  CHECK_FALSE(said(3, false, 1, 10, 0, 5).empty());
  CHECK_FALSE(said(0, true, 1, 10, 0, 5).empty());  // its parent, ahead of it
  CHECK_FALSE(said(5, true, 0, 10, 0, 5).empty());  // down, from a child
  CHECK_FALSE(said(5, false, 2, 10, 0, 5).empty());
  CHECK_FALSE(said(5, false, 1, 10, 6, 5).empty());  // behind its end
  CHECK_FALSE(said(5, false, 1, 10, 0xffff'ffff, 5).empty());
  CHECK_FALSE(said(5, false, 1, 10, 0, 0).empty());  // nothing, of something

  CHECK(said(5, false, 1, 10, 2, 3).empty());        // bytes 2 to 4, early
  CHECK_FALSE(said(5, false, 1, 10, 2, 3).empty());  // twice
  CHECK_FALSE(said(5, false, 1, 9, 0, 2).empty());   // of another total
  CHECK(said(5, false, 1, 10, 0, 2).empty());        // bytes 0 and 1, and now 2 to 4
  CHECK_FALSE(said(5, false, 1, 10, 4, 3).empty());  // one of them again
  CHECK(said(5, false, 1, 10, 5, 5).empty());
  CHECK(said(6, false, 1, 0, 0, 0).empty());  // nothing, of nothing
}

TEST_CASE("tree_gather: pieces that overlap an early one are refused") {
  const auto carrier = transport::open("threads");
  worker w(worker::facts_of(0, 2), *carrier, [](rail::train& t, int) { rail::send_home(t); });
  tree_gather gather(w.facts, w.out, w.waits);
  const auto bytes = bytes_of_length(10, 0);
  gather.piece_arrived({1, 10, 4, 1, 0}, std::span(bytes).first(3));
  CHECK_FALSE(damage_of([&] { gather.piece_arrived({1, 10, 0, 1, 0}, std::span(bytes).first(5)); }).empty());
}
