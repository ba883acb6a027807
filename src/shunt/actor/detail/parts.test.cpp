// Parts of typed actors that need no running manager: free envelopes, an actor's mailbox, which actor waits for which,
// and what a supervisor decides.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/actor/detail/activity_counts.hpp>
#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/backpressure.hpp>
#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/actor/detail/envelope_pool.hpp>
#include <shunt/actor/detail/handler_fiber.hpp>
#include <shunt/actor/detail/supervision.hpp>
#include <shunt/actor/detail/wait_graph.hpp>
#include <shunt/sched.hpp>
#include <shunt/sched/explore/explore.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <support/expect.hpp>

using namespace shunt::actor::detail;
using namespace std::chrono_literals;
using shunt::overflow;
using shunt::testing::expect;
using shunt::testing::thrown_by;
namespace sched = shunt::sched;
using verdict = supervisor_state::verdict;

namespace {

/// A cell knows where it lives. Nothing here goes there.
alignas(alignof(dispatcher)) std::byte no_place[sizeof(dispatcher)];
dispatcher& no_dispatcher = reinterpret_cast<dispatcher&>(no_place);

/// An actor's cell of that name.
std::unique_ptr<actor_cell> cell(const std::string& name = {}, std::uint32_t capacity = 3) {
  auto made = std::make_unique<actor_cell>(no_dispatcher);
  made->about = std::make_unique<lifecycle>();
  made->about->name = name;
  made->capacity = capacity;
  return made;
}

/// Envelopes that are linked, the first one first.
std::vector<envelope*> links_of(const envelope_pool::run& r) {
  std::vector<envelope*> all{r.first};
  while (all.back() != r.last) all.push_back(all.back()->next);
  return all;
}

std::vector<envelope*> take(envelope_pool& from, envelope_store& more, int count) {
  std::vector<envelope*> all;
  for (int i = 0; i < count; ++i) all.push_back(from.take(more));
  return all;
}

/// Linked in that order.
envelope_pool::run run_of(const std::vector<envelope*>& all) {
  for (std::size_t i = 0; i + 1 < all.size(); ++i) all[i]->next = all[i + 1];
  return {all.front(), all.back(), static_cast<std::int64_t>(all.size())};
}

constexpr auto shortest = static_cast<int>(envelope_chain::shortest);

}  // namespace

// --- envelope_pool ---

TEST_CASE("envelope_pool: buys a block of neighbours, and hands out each of them") {
  envelope_pool pool;
  envelope_store store;
  CHECK(pool.try_take() == nullptr);
  constexpr auto block = static_cast<int>(envelope_store::envelopes_a_block);
  const auto all = take(pool, store, block);
  std::set<envelope*> sorted(all.begin(), all.end());
  REQUIRE(sorted.size() == all.size());
  CHECK(*sorted.rbegin() - *sorted.begin() == block - 1);
  CHECK(pool.try_take() == nullptr);
  CHECK_FALSE(sorted.contains(pool.take(store)));  // of another block
}

TEST_CASE("envelope_pool: the envelope that was given back last is taken next") {
  envelope_pool pool;
  envelope_store store;
  const auto three = take(pool, store, 3);
  for (envelope* const e : three) pool.give_back(*e);
  CHECK(pool.try_take() == three[0]);  // the spare: the others went into the list
  CHECK(pool.try_take() == three[2]);
  CHECK(pool.try_take() == three[1]);
  CHECK(pool.try_take() != nullptr);  // the block has more
}

TEST_CASE("envelope_pool: a run is as long as was asked for, and no longer than the list") {
  envelope_pool pool;
  envelope_store store;
  const auto run = pool.take_run(5, 5, store);
  CHECK(run.length == 5);
  CHECK(links_of(run).size() == 5);
  const auto rest = pool.take_run(1'000, 1'000, store);
  CHECK(rest.length == static_cast<std::int64_t>(envelope_store::envelopes_a_block) - 5 - 1);  // and the spare
  CHECK(pool.take_run(0, 0, store).length == 1);  // at least one, of a new block
}

TEST_CASE("envelope_pool: a chain that is long enough is kept whole, for a mailbox that has room for all of it") {
  envelope_pool pool;
  envelope_store store;
  const int length = GENERATE(1, shortest - 1, shortest, 30);
  const bool long_enough = length >= shortest;
  const auto all = take(pool, store, length);
  pool.give_back(run_of(all), store);

  const auto less = pool.take_run(1, length - 1, store);  // of the list: there is no room for all
  CHECK((less.first == all.front()) == !long_enough);
  pool.give_back(less.first, less.last);
  const auto found = pool.take_run(1, length, store);
  CHECK((found.length == length) == (long_enough || length == 1));
  if (long_enough) CHECK(links_of(found) == all);
}

TEST_CASE("envelope_pool: a chain is taken apart before a block is bought") {
  envelope_pool pool;
  envelope_store store;
  const auto block = static_cast<int>(envelope_store::envelopes_a_block);
  const auto all = take(pool, store, block);  // none is left
  pool.give_back(run_of(all), store);
  CHECK(pool.try_take() == nullptr);  // a chain is none of the pool's
  const auto again = take(pool, store, block);
  CHECK(again == all);
}

TEST_CASE("envelope_pool: no envelope is lost or handed out twice, whatever is taken and given back") {
  envelope_pool pool;
  envelope_store store;
  std::mt19937 dice(GENERATE(range(0u, 20u)));
  std::set<envelope*> known, out;
  std::vector<envelope_pool::run> runs;
  for (int step = 0; step < 2'000; ++step) {
    switch (dice() % 4) {
      case 0:
      case 1: {
        const auto run =
            dice() % 2 == 0 ? pool.take_run(1 + dice() % 20, 1 + dice() % 40, store) : run_of({pool.take(store)});
        for (envelope* const e : links_of(run)) {
          REQUIRE(out.insert(e).second);
          known.insert(e);
        }
        runs.push_back(run);
        break;
      }
      default:
        if (runs.empty()) break;
        std::swap(runs[dice() % runs.size()], runs.back());
        for (envelope* const e : links_of(runs.back())) out.erase(e);
        if (runs.back().length == 1) {
          pool.give_back(*runs.back().first);
        } else {
          pool.give_back(runs.back(), store);
        }
        runs.pop_back();
    }
  }
  // All that is not out can be had without a new block, and is known.
  const auto blocks = (known.size() + envelope_store::envelopes_a_block - 1) / envelope_store::envelopes_a_block;
  for (auto left = blocks * envelope_store::envelopes_a_block - out.size(); left > 0; --left) {
    REQUIRE(out.insert(pool.take(store)).second);
  }
  CHECK(out.size() == blocks * envelope_store::envelopes_a_block);
}

// --- actor_cell: the mailbox ---

TEST_CASE("mailbox: messages are built in vacant envelopes, and room counts the envelopes that may be added") {
  envelope_pool pool;
  envelope_store store;
  const auto c = cell("a", 3);
  CHECK(c->place() == nullptr);  // idle
  c->begin_queued();
  CHECK(c->empty());
  CHECK(c->has_room());
  c->add_envelopes(2, 2, 2, pool, store);
  CHECK(c->room == 1);
  CHECK(c->empty());
  envelope* const first = c->place();
  envelope* const second = c->place();
  CHECK(first != second);
  CHECK(c->place() == nullptr);
  CHECK_FALSE(c->empty());
  c->add_envelopes(1, 1, 1, pool, store);
  envelope* const third = c->place();
  CHECK_FALSE(c->has_room());
  CHECK(c->length() == 3);

  CHECK(c->take_first() == first);
  CHECK(c->has_room());
  CHECK(c->take_first() == second);
  CHECK(c->take_first() == third);
  CHECK(c->empty());
  CHECK(c->room == 3);
  c->become_idle(pool);
  CHECK(c->state == cell_state::idle);
}

TEST_CASE("mailbox: the room of a message that is handled counts at once if a sender needs it, and once") {
  envelope_pool pool;
  envelope_store store;
  const auto c = cell("a", 2);
  c->begin_queued();
  c->add_envelopes(2, 2, 2, pool, store);
  static_cast<void>(pool.try_take());  // the spare
  envelope* const first = c->place();
  static_cast<void>(c->place());
  CHECK_FALSE(c->has_room());
  c->current = first;  // is being handled
  CHECK(c->begun() == 1);
  CHECK(c->has_room());
  c->add_envelopes(1, 1, 1, pool, store);
  static_cast<void>(c->place());
  CHECK_FALSE(c->has_room());
  CHECK(c->length() == 3);  // with the one that is being handled
  c->remove_handled(1, pool, store);
  CHECK_FALSE(c->has_room());
  CHECK(c->length() == 2);
  CHECK(c->current == &c->front);
  CHECK(pool.try_take() == first);
}

TEST_CASE("mailbox: an actor that becomes idle gives its vacant envelopes back") {
  envelope_pool pool;
  envelope_store store;
  const auto all = pool.take_run(1'000, 1'000, store);  // what is in the pool from now on was the mailbox's
  const auto spare = pool.try_take();
  CHECK(spare != nullptr);
  const auto c = cell("a", 3);
  c->begin_queued();
  pool.give_back(all.first, all.first);
  all.first->next = nullptr;
  c->add_envelopes(1, 1, 1, pool, store);
  CHECK(pool.try_take() == nullptr);
  CHECK(c->empty());
  c->become_idle(pool);
  CHECK(c->place() == nullptr);
  CHECK(pool.try_take() == all.first);
  CHECK(c->end == &c->front);
}

TEST_CASE("mailbox: as many envelopes are added as the last turn took, and twice as many each time after it") {
  envelope_pool pool;
  envelope_store store;
  const auto c = cell("a", 1'000);
  c->begin_queued();
  for (const int step : {2, 4, 8, 16, 32, 64, 64}) {
    c->add_envelopes(1, 1, 1, pool, store);
    CHECK(c->step == step);
  }
  for (int i = 0; i < 3; ++i) c->current = c->current->next;
  c->remove_handled(3, pool, store);
  CHECK(c->step == 3);
}

TEST_CASE("mailbox: senders that wait are looked after when half of it is empty, requests at once") {
  const auto c = cell("a", 5);
  c->begin_queued();
  c->room = 0;
  CHECK_FALSE(c->needs_attention(4));
  c->set_full(true);
  CHECK_FALSE(c->needs_attention(1));  // the second message is about to be handled
  CHECK(c->needs_attention(2));        // three of five
  c->count(2);                         // room that counts already does not count twice
  CHECK(c->room == 2);
  CHECK_FALSE(c->needs_attention(1));
  CHECK(c->needs_attention(2));
  c->set_flag(request_end);
  CHECK(c->needs_attention(0));
  c->set_full(false);
  CHECK(c->flags == request_end);
}

TEST_CASE("address: an offset moves it to another part of the same incarnation") {
  const auto c = cell();
  address a(c.get(), 0xffff'fff0u);
  CHECK(a.offset() == 0);
  address b = a;
  b.move_by(24);
  b.move_by(-40);
  CHECK(b.offset() == -16);
  CHECK(b.incarnation() == 0xffff'fff0u);
  CHECK(a == b);
  CHECK_FALSE(a == address(c.get(), 1));
}

TEST_CASE("backpressure: whether a sender elsewhere waits for room depends on the policy, and on `full`") {
  const auto c = cell();
  for (const auto policy : {overflow::suspend, overflow::drop_newest, overflow::drop_oldest, overflow::fail}) {
    c->when_full = policy;
    c->full = false;
    CHECK_FALSE(backpressure::must_wait(*c, "tell"));
    c->full = true;
    if (policy == overflow::fail) {
      CHECK(thrown_by<shunt::mailbox_full>([&] { static_cast<void>(backpressure::must_wait(*c, "tell")); }) ==
            "tell: the mailbox is full [SHUNT-0504]");
    } else {
      CHECK(backpressure::must_wait(*c, "tell") == (policy == overflow::suspend));
    }
  }
}

TEST_CASE("activity_counts: what has begun and what has ended are counted apart") {
  activity_counts counts;
  counts.began();
  counts.began();
  counts.ended(5);
  counts.ended();
  CHECK(counts.sent() == 2);
  CHECK(counts.done() == 6);
}

// --- wait_graph ---

namespace {

/// On a fiber, in which handlers of several actors seem to run.
void with_handlers(const std::function<void()>& body) {
  sched::runtime one({.workers = 1});
  one.run(body);
}

/// A handler of `c` calls `call`.
void as_handler_of(actor_cell& c, const std::function<void()>& call) {
  handler_fiber f;
  f.running = &c;
  const current_handler_fiber here(f);
  call();
}

/// A handler of `from` begins to wait for room in the mailbox of `to`, until `room` is woken. \return the error's text.
std::string wait_for(actor_cell& from, actor_cell& to, const sched::waiter& room) {
  std::string said;
  as_handler_of(from, [&] {
    said = thrown_by<sched::deadlock>([&] {
      const std::scoped_lock held(wait_graph_lock());
      begin_wait({&to, nullptr, &room}, "tell");
    });
  });
  return said;
}

}  // namespace

TEST_CASE("wait_graph: the actor that closes a circle gets the error, and does not wait") {
  with_handlers([] {
    const auto a = cell("a"), b = cell(), c = cell("c");
    const sched::waiter never;
    CHECK(wait_for(*a, *b, never).empty());
    CHECK(wait_for(*b, *c, never).empty());
    CHECK(wait_for(*c, *a, never) ==
          "tell: deadlock: actor `c` waits for room in the mailbox of `a`, which waits for room in the mailbox of an "
          "actor without a name, which waits for room in the mailbox of `c` [SHUNT-0119]");
    CHECK(c->edge.on == nullptr);
    CHECK(a->edge.on == b.get());
    CHECK(b->edge.on == c.get());
    as_handler_of(*a, end_wait);
    CHECK(a->edge.on == nullptr);
    CHECK(wait_for(*c, *a, never).empty());  // now it may
    CHECK_FALSE(wait_for(*a, *b, never).empty());
    for (const auto& each : {b.get(), c.get()}) as_handler_of(*each, end_wait);
  });
}

TEST_CASE("wait_graph: an actor that waits for itself is a circle; two that wait for the same one are none") {
  with_handlers([] {
    const auto a = cell("a"), b = cell("b"), c = cell("c");
    const sched::waiter never;
    CHECK(wait_for(*a, *a, never) == "tell: deadlock: actor `a` waits for room in the mailbox of `a` [SHUNT-0119]");
    CHECK(wait_for(*a, *c, never).empty());
    CHECK(wait_for(*b, *c, never).empty());
    for (const auto& each : {a.get(), b.get()}) as_handler_of(*each, end_wait);
  });
}

TEST_CASE("wait_graph: an edge holds only until what it waits for has come") {
  with_handlers([] {
    const auto a = cell("a"), b = cell("b");
    sched::waiter comes;
    const sched::waiter never;
    CHECK(wait_for(*a, *b, comes).empty());
    comes.wake();  // its message has been placed; the fiber has not gone on yet
    CHECK(wait_for(*b, *a, never).empty());
    for (const auto& each : {a.get(), b.get()}) as_handler_of(*each, end_wait);
  });
}

TEST_CASE("wait_graph: a fiber that runs no handler is in no circle") {
  with_handlers([] {
    const auto a = cell("a");
    const sched::waiter never;
    {
      const std::scoped_lock held(wait_graph_lock());
      CHECK_NOTHROW(begin_wait({a.get(), nullptr, &never}, "tell"));
    }
    CHECK_NOTHROW(end_wait());
    CHECK(a->edge.on == nullptr);
  });
}

// --- supervision ---

namespace {

std::shared_ptr<supervisor_state> supervisor(std::size_t most, std::shared_ptr<supervisor_state> above = nullptr) {
  auto made = std::make_shared<supervisor_state>();
  made->name = "top";
  made->most = most;
  made->within = 1min;
  made->above = above;
  if (above != nullptr) above->adopt(made);
  return made;
}

bool has_given_up(supervisor_state& s) {
  const auto child = cell();
  const bool yes = !thrown_by<shunt::error>([&] { s.adopt(*child, 0); }).empty();
  s.forget(*child);
  return yes;
}

}  // namespace

TEST_CASE("supervisor_state: restarts so many times, and then gives up for good") {
  const std::size_t most = GENERATE(0U, 1U, 3U);
  const auto s = supervisor(most);
  for (std::size_t i = 0; i < most; ++i) CHECK(s->failure(nullptr, nullptr) == verdict::restart);
  CHECK_FALSE(has_given_up(*s));
  CHECK(s->failure(nullptr, nullptr) == verdict::end);
  CHECK(s->failure(nullptr, nullptr) == verdict::end);
  const auto late = cell();
  CHECK_THROWS_WITH(s->adopt(*late, 0), "spawn: supervisor `top` has given up [SHUNT-0507]");
}

TEST_CASE("supervisor_state: failures count for the time that was given, and no longer") {
  const auto seen = shunt::test::explore(  // where time is exact
      [] {
        const auto s = supervisor(1);
        const auto fails = [&] { return s->failure(nullptr, nullptr); };
        for (int i = 0; i < 5; ++i) {
          expect(fails() == verdict::restart);
          sched::this_fiber::sleep_for(61s);
        }
        expect(fails() == verdict::restart);
        sched::this_fiber::sleep_for(59s);
        expect(fails() == verdict::end);
      },
      1);
  CHECK(seen.failure == "");
}

TEST_CASE("supervisor_state: one that has failed itself asks the one above, and starts afresh if that says so") {
  const auto top = supervisor(1);
  const auto below = supervisor(1, top), beside = supervisor(1, top);
  const auto fails = [&] { return below->failure(nullptr, nullptr); };
  CHECK(fails() == verdict::restart);
  CHECK(beside->failure(nullptr, nullptr) == verdict::restart);
  CHECK(fails() == verdict::restart);  // the second of one: a failure of `below`, the first of one for `top`
  CHECK_FALSE(has_given_up(*below));
  CHECK(fails() == verdict::restart);  // its count has begun anew
  CHECK(fails() == verdict::end);      // the second failure of `below`
  CHECK(has_given_up(*below));
  CHECK(has_given_up(*top));
  CHECK(has_given_up(*beside));  // all children of the one that gives up end
  CHECK(beside->failure(nullptr, nullptr) == verdict::end);
}

TEST_CASE("supervisor_state: all for one, the count of a supervisor beside the one that failed begins anew") {
  const auto top = supervisor(1);  // a second failure of those below would be too much
  top->all = true;
  const auto below = supervisor(0, top), beside = supervisor(1, top);
  CHECK(beside->failure(nullptr, nullptr) == verdict::restart);
  CHECK(below->failure(nullptr, nullptr) == verdict::restart);  // by `top`, which restarts all
  CHECK(beside->failure(nullptr, nullptr) == verdict::restart);
  CHECK_FALSE(has_given_up(*beside));
}
