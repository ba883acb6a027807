// Parts of a worker of a job, each alone: what becomes of a message until its train departs, what is unloaded when, and
// when all has been processed. Trains go where the test lets them, and no PE's program runs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/pgas/detail/inbound.hpp>
#include <shunt/pgas/detail/termination.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <support/expect.hpp>
#include <support/pgas_parts.hpp>

using namespace shunt;
using namespace shunt::pgas::detail;
using shunt::testing::expect;
using shunt::testing::thrown_by;
using shunt::testing::worker;
using number = std::int64_t;
using numbers = std::vector<number>;

namespace {

numbers handled;                             // by the handlers below, in order
std::function<void(arrival&, number)> then;  // what they do then

template <class Tag>
void handle(void* what) {
  auto& a = *static_cast<arrival*>(what);
  const auto take = [&](number n) {
    handled.push_back(n);
    if (then) then(a, n);
  };
  if (a.routed()) {
    using loaded = wire::routed_message<number>;
    for (const auto* m = reinterpret_cast<const loaded*>(a.first); m != reinterpret_cast<const loaded*>(a.last); ++m) {
      a.way = m->way;
      take(m->message);
    }
  } else {
    for (const auto* m = reinterpret_cast<const number*>(a.first); m != reinterpret_cast<const number*>(a.last); ++m) {
      take(*m);
    }
  }
}

constexpr std::string_view selector_name = "selector of a test";
struct add_of_a_test {};
struct set_of_a_test {};
struct text_of_a_test {};
struct answer_of_a_test {};
struct ask_of_a_test {};
struct late_of_a_test {};
constexpr auto layout = wire::message_layout::of<number>();
const wire::handler add(typeid(add_of_a_test), "add", handle<add_of_a_test>, 0, 0, layout, selector_name);
const wire::handler set(typeid(set_of_a_test), "set", handle<set_of_a_test>, 0, 0, layout, selector_name);
const wire::handler late(typeid(late_of_a_test), "late", handle<late_of_a_test>, 1, 0, layout, selector_name);
const wire::handler text(typeid(text_of_a_test), "text", handle<text_of_a_test>, 0, wire::varying,
                         wire::message_layout::varying_after<char>(), selector_name);
const wire::handler answer(typeid(answer_of_a_test), "answer", handle<answer_of_a_test>, 0,
                           wire::replies | wire::unrouted, wire::message_layout::unrouted<number>(), selector_name);
const wire::handler ask(typeid(ask_of_a_test), "ask", handle<ask_of_a_test>, 0, wire::requests, layout, selector_name,
                        &answer);

constexpr std::uint16_t the_selector = 3;
constexpr std::size_t train_bytes = 512;

/// The job that the workers belong to: three workers with two PEs each.
constexpr int workers = 3, pes = 6;
constexpr std::array<std::uint16_t, pes> worker_of{0, 0, 1, 1, 2, 2};
constexpr std::array<int, workers + 1> first_pe_of{0, 2, 4, 6};
constexpr std::array<std::uint16_t, pes> pe_itself{0, 1, 2, 3, 4, 5};

worker_facts facts(int index, bool plain = false, bool remote = false) {
  worker_facts f;
  f.index = index;
  f.first_pe = 2 * index;
  f.pes_here = 2;
  f.pes = pes;
  f.workers = workers;
  f.plain = plain;
  f.networked = remote;
  f.worker_of = worker_of.data();
  f.next_hop_of = plain ? pe_itself.data() : worker_of.data();
  f.first_pe_of = first_pe_of.data();
  for (int w = 0; w < workers; ++w) {
    if (w != index) f.neighbours.push_back(w);
  }
  return f;
}

/// A batch of a departed train, and its numbers.
struct seen_batch {
  wire::batch_head head;
  numbers all;
  std::vector<wire::route> ways;
};
std::vector<seen_batch> batches_in(rail::train& t) {
  std::vector<seen_batch> found;
  for (std::byte* at = t.goods(); at < t.goods() + t.head.bytes;) {
    auto& batch = *reinterpret_cast<wire::batch_head*>(at);
    found.push_back({batch, {}, {}});
    const bool routed = (batch.flags & wire::routed) != 0;
    std::byte* p = batch.messages();
    std::byte* const end = p + batch.bytes;
    for (; batch.stride != 0 && p != end; p += batch.stride) {
      number n;
      if (routed) {
        const auto& m = *reinterpret_cast<const wire::routed_message<number>*>(p);
        found.back().ways.push_back(m.way);
        n = m.message;
      } else {
        std::memcpy(&n, p, sizeof n);
      }
      found.back().all.push_back(n);
    }
    at = t.goods() + wire::round_up(static_cast<std::size_t>(end - t.goods()), wire::batch_alignment);
  }
  return found;
}

/// The thread's own worker, whose trains depart to the test; with a selector that is ready.
struct one_worker {
  explicit one_worker(const worker_facts& known, const outbound::endpoint::pool_size& size = {train_bytes, 4, 8, 4})
      : w(known, *carrier, [this](rail::train& t, int to) { sent.emplace_back(&t, to); }, size) {
    handled.clear();
    then = nullptr;
    w.out.own_thread();
    for (int pe = w.facts.first_pe; pe < w.facts.first_pe + w.facts.pes_here; ++pe) {
      w.selectors.construct(the_selector, 2, selector_name);
      w.selectors.part_ready(state(), pe, this);
    }
    static_cast<void>(w.selectors.take_retry());
  }
  ~one_worker() {
    this_threads_sending = {};
    bring_home();
  }
  one_worker(const one_worker&) = delete;
  one_worker& operator=(const one_worker&) = delete;

  selector_state& state() { return *w.selectors.find(the_selector); }
  batch_key key(const wire::handler& how, int from) { return key_of(how, w.out.sender_bits(the_selector, from)); }
  void send(int from, int to, number n, const wire::handler& how = add) {
    outbound::send(from, to, key(how, from), n, std::source_location::current());
  }
  void bring_home() {
    for (const auto& [t, to] : std::exchange(sent, {})) rail::send_home(*t);
    w.out.ends().arrivals([](rail::train&) {});
  }
  /// The numbers in all trains that have departed, batch by batch; the trains go home.
  std::vector<numbers> departed() {
    std::vector<numbers> all;
    for (const auto& [t, to] : sent) {
      for (auto& b : batches_in(*t)) all.push_back(std::move(b.all));
    }
    bring_home();
    return all;
  }

  const std::unique_ptr<transport::carrier> carrier = transport::open("threads");
  std::vector<std::pair<rail::train*, int>> sent;
  worker w;
};

/// While it lives, a handler of `pe` seems to run.
struct in_a_handler {
  in_a_handler(one_worker& of, int pe) : w(of.w) {
    at.way.to = static_cast<std::uint16_t>(pe);
    w.handlers.begin(at, add);
    w.out.load_on(1);
  }
  ~in_a_handler() {
    w.out.load_on(0);
    w.handlers.end();
  }
  in_a_handler(const in_a_handler&) = delete;
  in_a_handler& operator=(const in_a_handler&) = delete;
  worker& w;
  arrival at{};
};

}  // namespace

// --- outbound ---

TEST_CASE("outbound: messages of one handler share a batch, whose head says once what they have in common") {
  one_worker me(facts(0));
  me.send(0, 2, 1);
  me.send(1, 3, 2);  // the same worker: a route each
  me.send(0, 2, 3, set);
  me.send(0, 2, 4, set);
  CHECK(me.sent.empty());
  CHECK(me.w.out.flush());
  CHECK_FALSE(me.w.out.flush());
  REQUIRE(me.sent.size() == 1);
  rail::train& t = *me.sent[0].first;
  CHECK(me.sent[0].second == 1);
  CHECK(t.head.from == 0);
  CHECK(t.head.to == 1);
  CHECK(t.head.channel == 0);
  const auto found = batches_in(t);
  REQUIRE(found.size() == 2);
  CHECK(found[0].all == numbers{1, 2});
  CHECK(found[0].ways[1].to == 3);
  CHECK(found[0].ways[1].from == 1);
  CHECK(found[0].head.handler == add.id());
  CHECK(found[0].head.selector == the_selector);
  CHECK(found[0].head.mailbox == 0);
  CHECK(found[0].head.count == 2);
  CHECK(found[0].head.flags == wire::routed);
  CHECK(found[1].all == numbers{3, 4});
  CHECK(found[1].head.handler == set.id());
}

TEST_CASE("outbound: where each PE has a buffer, the head names both PEs, and messages have no route") {
  one_worker me(facts(0, true));
  me.send(0, 2, 1);
  me.send(0, 2, 2);
  me.send(1, 2, 3);  // of another PE: another batch
  me.send(0, 3, 4);  // for another PE: another train
  me.w.out.flush();
  REQUIRE(me.sent.size() == 2);
  if (batches_in(*me.sent[0].first).size() == 1) std::swap(me.sent[0], me.sent[1]);
  const auto found = batches_in(*me.sent[0].first);
  REQUIRE(found.size() == 2);
  CHECK(found[0].all == numbers{1, 2});
  CHECK(found[0].head.flags == 0);
  CHECK(found[0].head.stride == sizeof(number));
  CHECK(found[0].head.to == 2);
  CHECK(found[0].head.from == 0);
  CHECK(found[1].head.from == 1);
  CHECK(me.sent[0].second == 1);
  CHECK(me.sent[1].second == 1);
  CHECK(batches_in(*me.sent[1].first)[0].head.to == 3);
}

TEST_CASE("outbound: a full train departs, the program makes progress, and no message is lost or overtaken") {
  one_worker me(facts(0), {train_bytes, 100, 200, 100});
  int looks = 0;
  me.w.waits.look = [&] { return ++looks, false; };
  numbers all(200);
  std::iota(all.begin(), all.end(), 0);
  for (const number n : all) me.send(0, 4, n);
  const auto full = (train_bytes - sizeof(wire::batch_head)) / sizeof(wire::routed_message<number>);
  CHECK(me.sent.size() == 199 / full);
  CHECK(static_cast<std::size_t>(looks) == me.sent.size());
  me.w.out.flush();
  CHECK(me.w.out.moved().trains == me.sent.size());
  CHECK(me.w.out.moved().messages == 200);
  CHECK(me.w.out.moved().train_capacity == me.sent.size() * train_bytes);
  numbers found;
  for (const auto& batch : me.departed()) found.insert(found.end(), batch.begin(), batch.end());
  CHECK(found == all);
}

TEST_CASE("outbound: trains for the worker itself wait there, by channel, and do not leave it") {
  one_worker me(facts(1));
  me.send(2, 3, 1);
  {
    const in_a_handler running(me, 2);
    me.send(2, 3, 2);
  }
  me.w.out.flush();
  CHECK(me.sent.empty());
  REQUIRE_FALSE(me.w.arrived[0].empty());
  REQUIRE_FALSE(me.w.arrived[1].empty());
  CHECK(batches_in(*me.w.arrived[0].front())[0].all == numbers{1});
  CHECK(batches_in(*me.w.arrived[1].front())[0].all == numbers{2});
  for (auto& channel : me.w.arrived) {
    while (!channel.empty()) me.w.out.ends().unloaded(channel.pop_front());
  }
}

TEST_CASE("outbound: a selector counts messages when their batch closes, by destination") {
  one_worker me(facts(0));
  me.send(0, 2, 1);
  me.send(0, 2, 2);
  me.send(0, 4, 3);
  const auto& sent = me.state().mailboxes[0].sent[0];
  CHECK(me.state().sent == 0);  // outbound.B3
  me.w.out.close_batches();
  CHECK(me.state().sent == 3);
  CHECK(me.state().started == 3);
  CHECK(sent[1] == 2);
  CHECK(sent[2] == 1);
  me.w.out.close_batches();
  me.w.out.flush();
  CHECK(me.state().sent == 3);  // once
  CHECK(me.departed().size() == 2);
}

TEST_CASE("outbound: what a handler sends goes with trains of its own") {
  one_worker me(facts(0));
  me.send(0, 2, 1);
  {
    const in_a_handler running(me, 1);
    me.send(1, 2, 2);
  }
  me.send(0, 2, 3);  // outbound.B2
  CHECK(me.w.out.flush(1));
  REQUIRE(me.sent.size() == 1);
  CHECK(me.sent[0].first->head.channel == 1);
  CHECK(me.departed() == std::vector<numbers>{{2}});
  CHECK(me.w.out.flush(0));
  CHECK(me.departed() == std::vector<numbers>{{1, 3}});
}

TEST_CASE("outbound: a program without a train waits for one; a handler may use more of them, and is then refused") {
  one_worker me(facts(0), {train_bytes, 1, 2, 1});
  me.send(0, 2, 1);
  int waits = 0;
  me.w.credit.on_wait = [&](std::uint8_t channel, std::size_t trains, const char* call) {
    ++waits;
    CHECK(channel == 0);
    CHECK(trains == 1);
    CHECK(std::string(call) == "send");
    me.w.out.flush();
    me.bring_home();
  };
  me.send(0, 4, 2);
  CHECK(waits == 1);
  {
    const in_a_handler running(me, 1);
    me.send(1, 2, 3);
    CHECK_THROWS_WITH(me.send(1, 4, 4), Catch::StartsWith("PE 1: handler add: handlers have sent more than 2 trains"));
  }
  CHECK(waits == 1);
  me.w.out.flush();
  CHECK(me.departed().size() == 2);
}

TEST_CASE("outbound: sends are refused on another thread, for another worker's PE, and to a PE that is none") {
  one_worker me(facts(0, GENERATE(false, true)));
  CHECK_THROWS_WITH(me.send(0, 6, 1), Catch::StartsWith("PE 0: send to PE 6, but the job has PEs 0..5"));
  CHECK_THROWS_WITH(me.send(0, -1, 1), Catch::StartsWith("PE 0: send to PE -1"));
  CHECK_THROWS_WITH(me.send(2, 0, 1), Catch::StartsWith("PE 2: send on a thread that is no worker of this PE's job"));
  std::string elsewhere;
  std::thread([&] { elsewhere = thrown_by<usage_error>([&] { me.send(0, 1, 1); }); }).join();
  CHECK(elsewhere.starts_with("PE 0: send on a thread that is no worker"));
  CHECK_FALSE(me.w.out.flush());
}

TEST_CASE("outbound: sends are refused to a closed mailbox, and of what no train carries; replies pass") {
  one_worker me(facts(0, true));
  me.state().mailboxes[1].closed = true;
  CHECK_THROWS_WITH(me.send(0, 2, 1, late), Catch::StartsWith("PE 0: send to mailbox 1 of selector of a test after"));
  CHECK_NOTHROW(me.send(0, 2, 1, add));
  me.state().mailboxes[0].closed = true;
  CHECK_NOTHROW(me.send(0, 2, 1, answer));
  me.state().mailboxes[0].closed = false;
  const std::vector<std::byte> most(train_bytes - sizeof(wire::batch_head) - sizeof(wire::span_head)),
      more(most.size() + 1);
  const auto send_text = [&](const std::vector<std::byte>& bytes) {
    me.w.out.send_span(0, 2, me.key(text, 0), {}, bytes, std::source_location::current());
  };
  CHECK_NOTHROW(send_text(most));
  CHECK_THROWS_WITH(send_text(more), Catch::Contains("bytes is too long, a train carries 480"));
  me.w.out.flush();
}

TEST_CASE("outbound: a request keeps its continuation here until it is answered") {
  one_worker me(facts(0, true), {train_bytes, 4, 8, 4});
  const number kept[2] = {100, 200};
  for (int i = 0; i < 2; ++i) {
    outbound::send_plain_request(0, 2, me.key(ask, 0), number{i}, kept[i], std::source_location::current());
  }
  CHECK(me.w.out.pool().out(0) == 2);
  me.w.out.flush();
  REQUIRE(me.sent.size() == 1);
  const auto found = batches_in(*me.sent[0].first);
  REQUIRE(found.size() == 1);
  CHECK(found[0].head.flags == wire::requests);
  CHECK(me.state().unanswered == 2);
  const auto id = found[0].head.request_id;
  const auto* const there = reinterpret_cast<const number*>(me.w.out.pending().continuations(id));
  CHECK(numbers(there, there + 2) == numbers{100, 200});
  me.bring_home();
  me.w.out.requests_answered(id, 1);
  CHECK(me.w.out.pool().out(0) == 1);
  me.w.out.requests_answered(id, 1);
  CHECK(me.w.out.pool().out(0) == 0);
}

TEST_CASE("outbound: a request waits until there are two trains, for itself and for its continuation") {
  one_worker me(facts(0, true), {train_bytes, 2, 4, 2});
  me.send(0, 4, 1);
  std::size_t wanted = 0;
  me.w.credit.on_wait = [&](std::uint8_t, std::size_t trains, const char* call) {
    CHECK(std::string(call) == "ask");
    wanted = trains;
    me.w.out.flush();
    me.bring_home();
  };
  outbound::send_plain_request(0, 2, me.key(ask, 0), number{1}, number{2}, std::source_location::current());
  CHECK(wanted == 2);
  CHECK(me.w.out.pool().out(0) == 2);
  me.w.out.flush();
  me.w.out.requests_answered(batches_in(*me.sent[0].first)[0].head.request_id, 1);
}

TEST_CASE("outbound: a message between workers takes the train that stands there, and no selector counts it") {
  const bool remote = GENERATE(false, true);
  one_worker me(facts(0, GENERATE(false, true), remote));
  const end_mark mark{1, 2, the_selector, 0, 0};
  const auto say = [&] { me.w.out.send_control(1, control_key<end_mark>(), bytes_of(mark)); };
  me.send(0, 2, 1);
  say();
  say();
  me.w.out.flush();
  REQUIRE(me.sent.size() == (remote ? 2 : 1));
  int channels = 0;
  for (const auto& [t, to] : me.sent) {
    channels += 1 << t->head.channel;
    CHECK(to == 1);
  }
  CHECK(channels == (remote ? 1 + 4 : 1));
  std::size_t marks = 0;
  for (const auto& [t, to] : me.sent) {
    for (const auto& b : batches_in(*t)) {
      if (b.head.mailbox == control) marks += b.head.count;
    }
  }
  CHECK(marks == 2);
  CHECK(me.state().sent == 1);
  me.bring_home();
  say();  // no train stands there
  me.w.out.flush();
  REQUIRE(me.sent.size() == 1);
  CHECK(me.sent[0].first->head.channel == (remote ? 2 : 1));
}

TEST_CASE("outbound: over a network an end mark travels with messages of its own selector, and with no other's") {
  one_worker me(facts(0, GENERATE(false, true), true));
  const auto say = [&](std::uint16_t selector) {
    me.w.out.close_batches();
    const end_mark mark{1, 2, selector, 0, 0};
    me.w.out.send_control(1, control_key<end_mark>(), bytes_of(mark), {}, selector);
  };
  const auto channels = [&] {
    me.w.out.flush();
    std::vector<int> found;
    for (const auto& [t, to] : me.sent) {
      const auto batches = batches_in(*t);
      if (std::ranges::any_of(batches, [](const auto& b) { return b.head.mailbox == control; }))
        found.push_back(t->head.channel);
    }
    me.bring_home();
    return found;
  };
  SECTION("its own, of a program") {
    me.send(0, 2, 1);
    me.send(0, 2, 2, set);
    say(the_selector);
    say(the_selector);
    CHECK(channels() == std::vector{0});
  }
  SECTION("its own, of a handler") {
    {
      const in_a_handler running(me, 1);
      me.send(1, 2, 1);
    }
    say(the_selector);
    CHECK(channels() == std::vector{1});
  }
  SECTION("another's") {
    me.send(0, 2, 1);
    say(the_selector + 1);
    CHECK(channels() == std::vector{2});
  }
  SECTION("another's, beside a batch that is open: others have loaded it while an earlier mark waited for a train") {
    const auto words = static_cast<number>((the_selector + 1) * 0x10001);  // as if heads of its batches stood there
    for (int i = 0; i < 40; ++i) me.send(0, 2, words);
    const end_mark mark{1, 2, the_selector + 1, 0, 0};
    me.w.out.send_control(1, control_key<end_mark>(), bytes_of(mark), {}, the_selector + 1);
    CHECK(channels() == std::vector{2});
  }
  SECTION("its own, for another worker") {
    me.send(0, 4, 1);
    say(the_selector);
    CHECK(channels() == std::vector{2});
  }
  SECTION("its own, in a train without room") {
    const send_buffer& there = me.w.out.ends().out(0, static_cast<std::size_t>(me.w.facts.buffer_of_worker(1)));
    const auto whole = wire::round_up(sizeof(wire::span_head) + sizeof(end_mark), wire::span_alignment);
    number n = 0;
    do {
      me.send(0, 2, n, n % 2 == 0 ? add : set);  // each in a batch of its own
      ++n;
    } while (there.fits_batch(whole));
    REQUIRE(me.sent.empty());
    say(the_selector);
    CHECK(channels() == std::vector{2});
  }
}

TEST_CASE("outbound: the second of two hops is counted as such, and carries no requests' flag") {
  worker_facts f = facts(0);
  f.hops = 2;
  one_worker me(f);
  me.send(0, 2, 1);  // worker 1 may send it on
  me.send(0, 1, 2);  // stays here
  const in_a_handler running(me, 0);
  const wire::routed_message<number> passing{{4, 2}, 3};
  me.w.out.forward(2, me.key(ask, 0) | forwarding, reinterpret_cast<const std::byte*>(&passing), sizeof passing,
                   sizeof passing, 2);
  me.w.out.flush();
  REQUIRE(me.sent.size() == 2);
  for (const auto& [t, to] : me.sent) {
    const auto b = batches_in(*t)[0];
    if (to == 1) CHECK(b.head.flags == (wire::routed | wire::mixed));
    if (to == 2) {
      CHECK(b.head.flags == (wire::routed | wire::forwarded));
      CHECK(b.all == numbers{3});
      CHECK(b.ways[0].from == 2);
    }
  }
  REQUIRE_FALSE(me.w.arrived[0].empty());
  CHECK(batches_in(*me.w.arrived[0].front())[0].head.flags == wire::routed);
  me.w.out.ends().unloaded(me.w.arrived[0].pop_front());
  CHECK(me.state().mailboxes[0].sent[1][2] == 1);
  CHECK(me.state().mailboxes[0].sent[0][2] == 0);
  CHECK(me.state().sent == 2);
  CHECK(me.w.out.moved().messages == 2);
}

TEST_CASE("outbound: in an explored run each message travels alone") {
  worker_facts f = facts(0, true);
  f.explored = true;
  one_worker me(f);
  for (int i = 0; i < 3; ++i) me.send(0, 2, i);
  CHECK(me.sent.size() == 2);
  me.w.out.flush();
  CHECK(me.departed() == std::vector<numbers>{{0}, {1}, {2}});
}

// --- inbound ---

namespace {

/// Handlers of the test ask for nothing of it.
alignas(64) std::byte no_place[64];
pe_worker& no_pe_worker = reinterpret_cast<pe_worker&>(no_place);

/// A worker that unloads what another one has loaded.
struct receiving : one_worker {
  explicit receiving(const worker_facts& known = facts(1),
                     const outbound::endpoint::pool_size& size = {train_bytes, 4, 8, 4})
      : one_worker(known, size) {}

  /// Another worker's train, with a batch for each list of numbers.
  rail::train& train(std::uint8_t channel, const std::vector<numbers>& all, const wire::handler& how = add,
                     std::uint16_t selector = the_selector, unsigned flags = 0) {
    rooms.emplace_back();
    auto& t = *::new (static_cast<void*>(rooms.back().bytes)) rail::train;
    t.home = &elsewhere;
    t.capacity = train_bytes;
    t.head.channel = channel;
    t.head.from = 0;
    t.head.to = 1;
    std::byte* at = t.goods();
    for (const auto& some : all) {
      auto& batch = *::new (static_cast<void*>(at)) wire::batch_head;
      batch.handler = how.id();
      batch.selector = selector;
      batch.mailbox = how.mailbox();
      batch.flags = static_cast<std::uint8_t>(how.flags() | flags);
      batch.stride = sizeof(number);
      batch.count = static_cast<std::uint32_t>(some.size());
      batch.bytes = static_cast<std::uint32_t>(some.size() * sizeof(number));
      batch.to = 3;
      batch.from = 0;
      std::memcpy(batch.messages(), some.data(), batch.bytes);
      t.head.bytes = static_cast<std::uint32_t>(batch.messages() + batch.bytes - t.goods());
      at = t.goods() + wire::round_up(t.head.bytes, wire::batch_alignment);
    }
    return t;
  }
  void arrives(rail::train& t) { w.out.ends().inbox().deliver(t); }
  std::size_t trains_home() {
    for (const rail::train* t = elsewhere.arrivals(); t != nullptr; t = t->next) ++came_home;
    return came_home;
  }

  struct alignas(64) room {
    std::byte bytes[sizeof(rail::train) + train_bytes];
  };
  std::deque<room> rooms;
  rail::train_inbox elsewhere;
  std::size_t came_home = 0;
  inbound in{no_pe_worker, w.facts, w.job, w.selectors, w.handlers, w.out, w.arrived};
};

}  // namespace

TEST_CASE("inbound: messages between workers come first, then those of handlers, then those of programs, in order") {
  receiving me;
  CHECK_FALSE(me.in.unload_arrivals());
  for (int round = 0; round < 2; ++round) {
    for (const int channel : {0, 1, 2})
      me.arrives(me.train(static_cast<std::uint8_t>(channel), {{10 * channel + round}}));
  }
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{20, 21, 10, 11, 0, 1});
  CHECK(me.trains_home() == 6);
  CHECK(me.state().handled == 6);
  CHECK(me.state().mailboxes[0].arrived[0] == 6);
  CHECK_FALSE(me.in.unload_arrivals());
  CHECK(me.w.job.failures.empty());
}

TEST_CASE("inbound: one call unloads some of much, and the rest is unloaded the next time") {
  receiving me;
  for (int i = 0; i < 100; ++i) me.arrives(me.train(0, {{i}}));
  CHECK(me.in.unload_arrivals());
  CHECK(handled.size() == 64);
  CHECK(me.in.unload_arrivals());
  CHECK(handled.size() == 100);
  CHECK(std::is_sorted(handled.begin(), handled.end()));
}

TEST_CASE("inbound: programs' trains wait while handlers owe trains, which depart; others are unloaded") {
  receiving me(facts(1), {train_bytes, 1, 4, 1});
  {
    const in_a_handler running(me, 2);
    me.send(2, 0, 1);
    me.send(2, 4, 2);
  }
  REQUIRE(me.w.out.pool().over_credit());
  me.arrives(me.train(0, {{5}}));
  me.arrives(me.train(1, {{6}}));
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{6});
  CHECK(me.sent.empty());
  CHECK(me.in.unload_arrivals());  // nothing else is left to do: what stands half loaded departs
  CHECK(me.sent.size() == 2);
  CHECK(handled == numbers{6});
  CHECK_FALSE(me.in.unload_arrivals());
  me.bring_home();
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{6, 5});
}

TEST_CASE("inbound: a batch for a selector that is not ready waits, its neighbours do not; each is unloaded once") {
  receiving me;
  auto& other = me.w.selectors.construct(7, 1, selector_name).state;
  rail::train& t = me.train(0, {{1, 2}, {3}, {4}});
  auto* second = reinterpret_cast<wire::batch_head*>(
      t.goods() + wire::round_up(sizeof(wire::batch_head) + 2 * sizeof(number), wire::batch_alignment));
  second->selector = GENERATE(as<std::uint16_t>(), 7, 8);  // under construction, and not constructed yet
  const bool constructed = second->selector == 7;
  me.arrives(t);
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{1, 2, 4});
  CHECK(me.trains_home() == 0);
  CHECK_FALSE(me.in.unload_arrivals());
  auto& missing = constructed ? other : me.w.selectors.construct(8, 1, selector_name).state;
  me.w.selectors.part_ready(missing, 2, &me);
  CHECK_FALSE(me.in.unload_arrivals());
  me.w.selectors.part_ready(missing, 3, &me);
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{1, 2, 4, 3});
  CHECK(me.trains_home() == 1);
}

TEST_CASE("inbound: between two epochs messages wait, and replies that pass through do not") {
  receiving me;
  me.state().between = true;
  me.arrives(me.train(0, {{1}}));
  me.arrives(me.train(1, {{2}}, add, the_selector, wire::replies));
  me.state().unanswered = 1;
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{2});
  me.state().between = false;
  CHECK_FALSE(me.in.unload_arrivals());
  me.w.selectors.retry_deferred();
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{2, 1});
  CHECK(me.state().unanswered == 0);
}

TEST_CASE("inbound: a batch of another selector of that number fails the job, and the rest is unloaded") {
  receiving me;
  static const wire::handler foreign(typeid(seen_batch), "foreign", handle<seen_batch>, 0, 0, layout, "another");
  wire::handler_table::number();
  me.arrives(me.train(0, {{1}}, foreign));
  me.arrives(me.train(0, {{2}}));
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{2});
  CHECK(me.w.job.failures ==
        "PE 2: PEs disagree: one constructs another where another constructed selector of a test; every PE must "
        "construct the same selectors in the same order, with the same mailbox_order [SHUNT-0924]");
  CHECK(me.trains_home() == 2);
}

TEST_CASE("inbound: what leaves a handler fails the job, with the PE and the handler") {
  receiving me;
  using fault = job_link::fault;
  const auto said = [&](const std::function<void()>& what) {
    me.w.job.failures.clear();
    then = [what](arrival&, number) { what(); };
    me.arrives(me.train(0, {{1, 2}}));
    CHECK(me.in.unload_arrivals());
    CHECK_FALSE(me.w.handlers.any());
    return me.w.job.failures;
  };
  CHECK(said([] { throw std::runtime_error("broken"); }) == "PE 3: handler add threw: broken");
  CHECK(me.w.job.kind_of_failure == fault::failure);
  CHECK(said([] { throw usage_error("wrong"); }) == "PE 3: handler add threw: wrong");
  CHECK(me.w.job.kind_of_failure == fault::usage);
  CHECK(said([] { throw error("PE 3: handler add called x()"); }) == "PE 3: handler add called x()");
  CHECK(said([] { throw 5; }) == "PE 3: handler add threw something that is not a std::exception");
  CHECK(said([] { throw damage{"impossible"}; })
            .starts_with("rank 0 sent a damaged train (48 bytes, channel 0, worker 0 to worker 1): batch at byte 0: "
                         "impossible; "));
  CHECK(me.trains_home() == 5);
}

TEST_CASE("inbound: while a handler runs, and no longer, it sends on channel 1, and whatever waits is refused") {
  receiving me;
  sched::runtime one({.workers = 1});
  one.run([&] {
    then = [&](arrival& a, number n) {
      CHECK(me.w.handlers.any());
      CHECK(me.w.handlers.pe() == 3);
      CHECK(a.from_worker == 0);
      CHECK(a.batch->from == 0);
      me.send(3, 4, n + 1);
      CHECK(thrown_by<error>([] {
              sched::this_fiber::yield();
            }).starts_with("PE 3: handler add called yield, which waits"));
    };
    me.arrives(me.train(0, {{1}}));
    me.in.unload_arrivals();
    sched::this_fiber::yield();  // is allowed again
  });
  CHECK(handled == numbers{1});
  CHECK(me.w.out.flush(1));
  CHECK(me.departed() == std::vector<numbers>{{2}});
  me.send(2, 4, 3);  // of the program again
  CHECK_FALSE(me.w.out.flush(1));
  CHECK(me.w.out.flush(0));
}

TEST_CASE("inbound: of two hops, messages for this worker are handled, others sent on; all have arrived here") {
  worker_facts f = facts(1);
  f.hops = 2;
  receiving me(f);
  rail::train& t = me.train(0, {{0, 0, 0, 0, 0, 0}}, add, the_selector, wire::routed | wire::mixed);
  auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods());
  auto* m = reinterpret_cast<wire::routed_message<number>*>(batch.messages());
  constexpr std::uint16_t to[3] = {2, 5, 3};
  for (int i = 0; i < 3; ++i) m[i] = {{to[i], 1}, i};
  batch.stride = sizeof *m;
  batch.count = 3;
  batch.bytes = 3 * sizeof *m;
  me.arrives(t);
  CHECK(me.in.unload_arrivals());
  CHECK(handled == numbers{0, 2});
  CHECK(me.state().handled == 2);
  CHECK(me.state().mailboxes[0].arrived[0] == 3);
  CHECK(me.w.out.flush(1));
  REQUIRE(me.sent.size() == 1);
  CHECK(me.sent[0].second == 2);
  const auto on = batches_in(*me.sent[0].first);
  REQUIRE(on.size() == 1);
  CHECK(on[0].head.flags == (wire::routed | wire::forwarded));
  CHECK(on[0].all == numbers{1});
  CHECK(on[0].ways[0].to == 5);
  CHECK(on[0].ways[0].from == 1);
}

namespace {

/// Brings what the test puts there.
struct test_carrier final : transport::carrier {
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int ranks() const noexcept override { return 2; }
  [[nodiscard]] int ranks_here() const noexcept override { return 2; }
  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) override { return {mine, mine}; }
  void start(const transport::service&) override {}
  void send(rail::train&, int) override {}
  bool poll(rail::train_list& arrived) override {
    const bool any = !coming.empty();
    while (!coming.empty()) arrived.push_back(coming.pop_front());
    return any;
  }
  [[nodiscard]] transport::shared_place place_of(int) const noexcept override { return {}; }
  [[nodiscard]] bool has_network() const noexcept override { return false; }
  [[nodiscard]] std::chrono::nanoseconds patience() const noexcept override { return {}; }
  [[nodiscard]] std::optional<transport::loss> beat() override { return {}; }
  void stop() override {}
  [[noreturn]] void abort(int) noexcept override { std::terminate(); }
  rail::train_list coming;
};

}  // namespace

TEST_CASE("inbound: of what the transport brings, damaged trains fail the job, others' trains are handed on") {
  receiving made;  // trains
  test_carrier carrier;
  std::vector<std::pair<rail::train*, int>> passed;
  worker w(facts(1, false, true), carrier, [&](rail::train& t, int to) { passed.emplace_back(&t, to); });
  for (int pe = 2; pe < 4; ++pe) {
    w.selectors.construct(the_selector, 2, selector_name);
    w.selectors.part_ready(*w.selectors.find(the_selector), pe, &w);
  }
  inbound in(no_pe_worker, w.facts, w.job, w.selectors, w.handlers, w.out, w.arrived);
  rail::train &mine = made.train(0, {{1}}), &bad = made.train(0, {{2}}), &others = made.train(1, {{3}});
  others.head.to = 2;
  w.job.look_at = [&](const rail::train& t) { return std::string(&t == &bad ? "bad" : ""); };
  for (rail::train* const t : {&bad, &mine, &others}) carrier.coming.push_back(*t);
  CHECK(in.unload_arrivals());
  CHECK(w.job.failures == "bad");
  CHECK(handled == numbers{1});
  REQUIRE(passed.size() == 1);
  CHECK(passed[0].first == &others);
  CHECK(passed[0].second == 2);
  CHECK(made.trains_home() == 2);
  CHECK_FALSE(in.unload_arrivals());
  this_threads_sending = {};
}

// --- termination ---

namespace {

/// A worker that ends epochs together with others, whose trains the test unloads.
struct ending_worker : one_worker {
  explicit ending_worker(const worker_facts& known)
      : one_worker(known, {train_bytes, 64, 256, 64}),
        collective(w.facts, w.job, w.out, w.selectors, w.waits),
        of_tasks(w.job, w.facts.local),
        ending(w.facts, w.out, w.selectors, w.waits, collective, w.job, of_tasks) {}

  /// A message between workers has arrived.
  void take(rail::train& t) {
    for (std::byte* at = t.goods(); at < t.goods() + t.head.bytes;) {
      auto& batch = *reinterpret_cast<wire::batch_head*>(at);
      const auto* const how = &wire::handler_table::at(batch.handler);
      std::byte* p = batch.messages();
      std::byte* const end = p + batch.bytes;
      for (; p != end;) {
        const auto& head = *reinterpret_cast<const wire::span_head*>(p);
        const std::span<const std::byte> body(p + sizeof head, head.bytes);
        if (how == &entry_of(control_key<end_mark>())) {
          marks.push_back(as<end_mark>(body));
          if (marks_count) ending.mark_arrived(marks.back());
        } else if (how == &entry_of(control_key<barrier_token>())) {
          const auto token = as<barrier_token>(body);
          collective.token_arrived(t.head.from, token);
        } else if (how == &entry_of(control_key<gather_piece>())) {
          collective.piece_arrived(as<gather_piece>(body), body.subspan(sizeof(gather_piece)));
        }
        p += wire::round_up(sizeof head + head.bytes, wire::span_alignment);
      }
      at = t.goods() + wire::round_up(static_cast<std::size_t>(end - t.goods()), wire::batch_alignment);
    }
    rail::send_home(t);
  }
  template <class Message>
  static Message as(std::span<const std::byte> body) {
    Message m;
    std::memcpy(&m, body.data(), sizeof m);
    return m;
  }
  /// The marks that have left, by receiver; trains go home.
  std::vector<std::pair<int, end_mark>> marks_sent() {
    std::vector<std::pair<int, end_mark>> all;
    w.out.flush();
    for (const auto& [t, to] : std::exchange(sent, {})) {
      testing::unload<end_mark>(*t, [&, at = to](const end_mark& m, auto) { all.emplace_back(at, m); });
    }
    w.out.ends().arrivals([](rail::train&) {});
    return all;
  }
  end_mark mark(std::uint64_t count, std::uint8_t mailbox = 0, std::uint8_t hop = 0) {
    return {count, state().digest, the_selector, mailbox, hop};
  }

  collectives collective;
  task_sends of_tasks;
  termination ending;
  std::vector<end_mark> marks;
  bool marks_count = true;
};

std::string damage_in(const std::function<void()>& call) {
  try {
    call();
  } catch (const damage& d) {
    return d.what;
  }
  return {};
}

/// The two workers of a job, one PE each: each program is a fiber. What they send lies in their inboxes until the other
/// one waits.
struct two_workers {
  two_workers() {
    for (int i = 0; i < 2; ++i) {
      worker_facts f = worker::facts_of(i, 2);
      f.neighbours = {1 - i};
      both[static_cast<std::size_t>(i)] = std::make_unique<ending_worker>(f);
    }
    for (int i = 0; i < 2; ++i) {
      at(i).w.job.deliver_to = [this](rail::train& t, int to) { inboxes[static_cast<std::size_t>(to)].push_back(&t); };
      at(i).w.waits.look = [this, i] {
        bool any = at(i).w.out.flush();
        any |= at(i).w.out.ends().arrivals([](rail::train&) {});
        for (auto& inbox = inboxes[static_cast<std::size_t>(i)]; !inbox.empty(); any = true) {
          rail::train& t = *inbox.front();
          inbox.pop_front();
          at(i).take(t);
        }
        return any;
      };
    }
  }
  ending_worker& at(int i) { return *both[static_cast<std::size_t>(i)]; }
  void run(const std::function<void(int, ending_worker&)>& program) {
    sched::runtime one({.workers = 1});
    one.run([&] {
      for (int i = 0; i < 2; ++i) one.spawn([&, i] { program(i, at(i)); }, {.worker = 0});
    });
    for (int i = 0; i < 2; ++i) {
      CHECK(at(i).w.job.failures.empty());
      at(i).w.out.ends().arrivals([](rail::train&) {});
      CHECK(at(i).w.out.pool().out(1) == 0);
    }
  }
  std::array<std::unique_ptr<ending_worker>, 2> both;
  std::array<std::deque<rail::train*>, 2> inboxes;
};

void some_turns() {
  for (int i = 0; i < 50; ++i) sched::this_fiber::yield();
}

}  // namespace

TEST_CASE("termination: marks that no worker sends are refused") {
  ending_worker me(facts(0));
  const auto said = [&](const end_mark& m) { return damage_in([&] { me.ending.check(m); }); };
  CHECK(said(me.mark(1)).empty());
  CHECK(said(me.mark(1, 1)).empty());
  CHECK(said(me.mark(1, 2)) == "end mark: mailbox 2, but the selector has 2");
  CHECK(said(me.mark(1, 0, 1)) == "end mark: of hop 1 of 1");
  CHECK(said({1, 0, 0, 0, 0}) == "end mark: of no selector");
  CHECK(said({1, 0, 9, most_mailboxes - 1, 0}).empty());  // of a selector that is not constructed here
  CHECK(said({1, 0, 9, most_mailboxes, 0}) == "end mark: mailbox 64, but the selector has 64");
  CHECK(said({1, 0, the_selector, 2, 0}).empty());  // of another digest: mark_arrived() says more
}

TEST_CASE("termination: marks count for their mailbox and hop; those that come early count once it is constructed") {
  ending_worker me(facts(0));
  me.ending.mark_arrived(me.mark(5));
  me.ending.mark_arrived(me.mark(2));
  me.ending.mark_arrived(me.mark(7, 1, 1));
  CHECK(me.state().mailboxes[0].marks[0] == 2);
  CHECK(me.state().mailboxes[0].announced[0] == 7);
  CHECK(me.state().mailboxes[1].marks[1] == 1);
  CHECK(me.state().mailboxes[1].announced[1] == 7);

  auto early = me.mark(3);
  early.selector = 9;
  early.digest = 0;
  me.ending.mark_arrived(early);
  CHECK(me.w.job.failures.empty());
  auto& late_one = me.w.selectors.construct(9, 1, "late").state;
  late_one.digest = 0;
  me.ending.replay_early_marks();
  CHECK(late_one.mailboxes[0].announced[0] == 3);
  me.ending.replay_early_marks();  // once
  CHECK(late_one.mailboxes[0].marks[0] == 1);

  late_one.digest = 1;
  me.ending.mark_arrived(early);
  CHECK(me.w.job.failures.starts_with("PE 0: PEs disagree: one constructs another selector where another"));
  CHECK(late_one.mailboxes[0].marks[0] == 1);
}

TEST_CASE(
    "termination: when all PEs of a worker are done, it tells each neighbour how many messages have left for it") {
  ending_worker me(facts(1));
  me.send(2, 0, 1);
  me.send(2, 1, 2);
  me.send(3, 5, 3);
  me.send(3, 2, 4);  // stays here
  me.ending.done(me.state(), 2, 0);
  CHECK_FALSE(me.state().mailboxes[0].closed);
  CHECK(me.state().sent == 0);
  me.ending.done(me.state(), 3, 0);
  CHECK(me.state().mailboxes[0].closed);
  CHECK(me.state().mailboxes[0].announced[0] == 1);
  std::vector<std::pair<int, std::uint64_t>> counts;
  me.w.out.flush();
  for (const auto& [t, to] : me.sent) {
    for (std::byte* at = t->goods(); at < t->goods() + t->head.bytes;) {
      auto& batch = *reinterpret_cast<wire::batch_head*>(at);
      if (batch.mailbox == control) {
        const auto m = ending_worker::as<end_mark>({batch.messages() + sizeof(wire::span_head), sizeof(end_mark)});
        CHECK(m.digest == me.state().digest);
        CHECK(m.selector == the_selector);
        CHECK(m.mailbox == 0);
        CHECK(m.hop == 0);
        counts.emplace_back(to, m.count);
      }
      at = t->goods() +
           wire::round_up(static_cast<std::size_t>(batch.messages() + batch.bytes - t->goods()), wire::batch_alignment);
    }
  }
  std::sort(counts.begin(), counts.end());
  CHECK(counts == std::vector<std::pair<int, std::uint64_t>>{{0, 2}, {2, 1}});
  while (!me.w.arrived[0].empty()) me.w.out.ends().unloaded(me.w.arrived[0].pop_front());
}

TEST_CASE("termination: done() of a later mailbox sends no mark, as its feeder may still send there") {
  ending_worker me(facts(1));
  for (const int pe : {2, 3}) me.ending.done(me.state(), pe, 1);
  CHECK(me.state().mailboxes[1].pes_done == 2);
  CHECK_FALSE(me.state().mailboxes[1].closed);
  CHECK(me.marks_sent().empty());
}

TEST_CASE("termination: finish() returns when all that was announced has arrived, and every request is answered") {
  two_workers all;
  int returned = 0;
  bool checked = false;
  all.run([&](int i, ending_worker& me) {
    auto& s = me.state();
    if (i == 0) s.mailboxes[0].sent[0][1] = 3;  // three messages are on their way to worker 1
    me.ending.done(s, i, 0);
    if (i == 1) {
      sched::this_worker::current().spawn(
          [&] {
            some_turns();
            expect(returned == 0, "messages have not arrived");
            s.mailboxes[0].arrived[0] = 3;
            s.unanswered = 1;
            some_turns();
            expect(returned == 0, "a request is not answered");
            s.unanswered = 0;
            checked = true;
          },
          {.worker = 0});
    }
    me.ending.finish(s, i);
    ++returned;
    expect(s.epoch == 1);
    expect(!s.between && s.returning == 0);
    expect(!s.mailboxes[0].closed && s.mailboxes[0].pes_done == 0);
    expect(me.w.selectors.take_retry(), "deferred batches may go on");
  });
  CHECK(checked);
  CHECK(returned == 2);
}

TEST_CASE("termination: a mailbox ends on a worker before the next one's marks leave it") {
  two_workers all;
  all.at(0).marks_count = false;
  bool checked = false;
  all.run([&](int i, ending_worker& me) {
    me.ending.done(me.state(), i, 0);
    if (i == 0) {
      sched::this_worker::current().spawn(
          [&] {
            some_turns();
            expect(all.at(1).marks.size() == 1, "mailbox 0 has not ended on worker 0");
            expect(!me.state().mailboxes[1].closed);
            me.marks_count = true;
            for (const auto& m : me.marks) me.ending.mark_arrived(m);
            some_turns();
            expect(all.at(1).marks.size() == 2);
            expect(all.at(1).marks[1].mailbox == 1);
            checked = true;
          },
          {.worker = 0});
    }
    me.ending.finish(me.state(), i);
  });
  CHECK(checked);
}

TEST_CASE("termination: between the end of an epoch here and the return of every PE, messages belong to the next one") {
  worker_facts f = worker::facts_of(0, 1);
  f.pes_here = f.pes = 2;
  ending_worker me(f);
  auto& s = me.state();
  for (const int pe : {0, 1}) me.ending.done(s, pe, 0);
  int returned = 0;
  sched::runtime one({.workers = 1});
  one.run([&] {
    for (const int pe : {0, 1}) {
      one.spawn(
          [&, pe] {
            me.ending.finish(s, pe);
            ++returned;
            CHECK(s.between == (returned < 2));
            CHECK(me.w.selectors.take_retry() == (returned == 2));
          },
          {.worker = 0});
    }
  });
  CHECK(returned == 2);
  CHECK(s.epoch == 1);
}

TEST_CASE("termination: quiesce() returns when as much was handled as was sent, in two waves") {
  two_workers all;
  int returned = 0;
  bool checked = false;
  all.run([&](int i, ending_worker& me) {
    auto& s = me.state();
    s.sent = i == 0 ? 5 : 1;
    s.started = s.sent;
    s.handled = i == 0 ? 1 : 3;
    if (i == 1) {
      sched::this_worker::current().spawn(
          [&] {
            some_turns();
            expect(returned == 0, "two are under way");
            ++s.handled;
            ++s.sent;  // its handler has sent another one
            some_turns();
            expect(returned == 0, "still two");
            s.handled += 2;
            checked = true;
          },
          {.worker = 0});
    }
    expect(me.ending.unfinished(s));
    me.ending.quiesce(s, i);
    ++returned;
    expect(s.finished == s.started);
    expect(!me.ending.unfinished(s));
  });
  CHECK(checked);
  CHECK(returned == 2);
}

TEST_CASE("termination: quiesce() is not misled where equal sums were counted at different times") {
  two_workers all;
  auto &first = all.at(0).state(), &second = all.at(1).state();
  int returned = 0;
  bool checked = false;
  all.run([&](int i, ending_worker& me) {
    if (i == 1) {
      some_turns();        // worker 0 has said that it has sent and handled nothing
      first.sent = 2;      // and sends two messages. Worker 1
      second.handled = 1;  // handles one of them,
      second.sent = 1;     // and answers: in the first wave one was sent, and one handled
      sched::this_worker::current().spawn(
          [&] {
            some_turns();
            expect(returned == 0, "two are under way");
            ++second.handled;
            ++first.handled;
            checked = true;
          },
          {.worker = 0});
    }
    me.ending.quiesce(me.state(), i);
    ++returned;
  });
  CHECK(checked);
  CHECK(returned == 2);
}

TEST_CASE("termination: messages that no finish() has waited for are known, also those in an open batch") {
  ending_worker me(facts(0));
  CHECK_FALSE(me.ending.unfinished(me.state()));
  me.send(0, 2, 1);
  CHECK(me.ending.unfinished(me.state()));
  me.state().finished = 1;
  CHECK_FALSE(me.ending.unfinished(me.state()));
  me.w.out.flush();
}

// --- job_link, waiting ---

TEST_CASE("job_link: what a worker's parts throw is a usage error or a failure") {
  CHECK(job_link::fault_of(usage_error("x")) == job_link::fault::usage);
  CHECK(job_link::fault_of(error("x")) == job_link::fault::failure);
  CHECK(job_link::fault_of(std::runtime_error("x")) == job_link::fault::failure);
}

TEST_CASE(
    "job_link: once the job has failed its programs leave, where they wait and where they look, but amid unwinding") {
  one_worker me(facts(0));
  CHECK_NOTHROW(me.w.waits.leave_if_failed());
  CHECK_FALSE(me.w.job.failed());
  me.w.job.fails = true;
  me.w.job.fail("why", job_link::fault::failure);
  CHECK(me.w.job.failed());
  CHECK(me.w.waits.leaving());
  CHECK_THROWS_AS(me.w.waits.leave_if_failed(), job_over);
  CHECK_THROWS_AS(me.w.waits.until("a test", [] { return false; }), job_over);
  CHECK_NOTHROW(me.w.waits.until("a test", [] { return true; }));
  struct looks_while_unwinding {
    explicit looks_while_unwinding(const waiting& of) noexcept : waits(of) {}
    ~looks_while_unwinding() { waits.leave_if_failed(); }
    const waiting& waits;
  };
  try {
    const looks_while_unwinding last(me.w.waits);
    throw std::runtime_error("on its way");
  } catch (const std::runtime_error&) {
  }
}
