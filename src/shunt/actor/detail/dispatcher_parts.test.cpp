// Parts of a dispatcher that know it: what leaves it, what arrives, full mailboxes, and actors from spawn to end. Each
// test is a fiber of a runtime of one worker, on which the dispatcher runs only when the test yields. So the test sees
// what a part has done before anything else happens.
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/supervision.hpp>
#include <support/expect.hpp>

using namespace shunt::actor::detail;
using namespace std::chrono_literals;
using shunt::overflow;
using shunt::testing::thrown_by;
namespace rail = shunt::rail;
namespace sched = shunt::sched;
using numbers = std::vector<int>;
using texts = std::vector<std::string>;

namespace {

numbers dropped;  // messages, in the order in which they ended without a handler

/// Messages carry a number. Their handler appends it to the actor's object.
int number_at(const std::byte* arguments) {
  std::int64_t n;
  std::memcpy(&n, arguments, sizeof n);
  return static_cast<int>(n);
}
void put_number(std::byte* arguments, std::int64_t n) { std::memcpy(arguments, &n, sizeof n); }
void note(envelope& e, void* object) { static_cast<numbers*>(object)->push_back(number_at(e.arguments)); }
void drop(envelope& e, const shunt::dead_letter&) noexcept { dropped.push_back(number_at(e.arguments)); }
std::function<void()> at_move;  // called where a message moves
void move(std::byte* from, std::byte* to) noexcept {
  put_number(to, number_at(from));
  if (at_move) at_move();
}
constexpr message_ops noted{note, move, drop, "noted", 8};
constexpr message_ops other_method{note, nullptr, drop, "other", 8};
constexpr message_ops longest{note, nullptr, drop, "longest", envelope::capacity};

/// A manager of one dispatcher; and one that has not begun, for cells that live elsewhere. That one has the same
/// number, so the trains for it come to the only inbox, where the test may look at them.
struct arrangement {
  explicit arrangement(sched::runtime& on)
      : system(wanted(), &on), d(*system.dispatchers().front()), elsewhere(system, 0, 1) {
    dropped.clear();
    at_move = nullptr;
    rest();
  }
  settings wanted() {
    settings all;
    all.on_dead_letter = [this](const shunt::dead_letter& letter) {
      dead.push_back(std::string(letter.actor) + ": " + std::string(letter.why));
      if (look) look();
    };
    all.report = [this](std::string_view line) { said += line; };
    return all;
  }
  /// Until no handler fiber is awake.
  void rest() const {
    static_cast<void>(const_cast<actor_system&>(system).drain(std::chrono::steady_clock::time_point::max()));
    while (!d.looks_asleep()) sched::this_fiber::yield();
  }
  /// An actor without a lifecycle of its own.
  actor_cell& cell(dispatcher& home, std::uint32_t capacity = 1000, overflow when_full = overflow::suspend) {
    actor_cell& c = *cells.emplace_back(std::make_unique<actor_cell>(home));
    c.about = std::make_unique<lifecycle>();
    c.about->name = std::string(1, static_cast<char>('a' + cells.size() - 1));
    c.capacity = capacity;
    c.when_full = when_full;
    c.object = &handled;
    return c;
  }
  /// It has so many messages: 1, 2, ...; and its mailbox takes no more.
  actor_cell& full_cell(std::uint32_t capacity, overflow when_full = overflow::suspend) {
    actor_cell& c = cell(d, capacity, when_full);
    c.begin_queued();
    for (std::uint32_t i = 1; i <= capacity; ++i) put(c, static_cast<int>(i));
    return c;
  }
  void put(actor_cell& c, int number) {
    envelope m = message(c, number);
    d.own_mailboxes().deliver(c, m);
  }
  static envelope message(actor_cell& c, int number) {
    envelope m;
    m.to = &c;
    m.ops = &noted;
    m.target = c.incarnation;
    put_number(m.arguments, number);
    return m;
  }
  /// As a tell to another worker's actor. \return false: it would have to be sent the long way.
  bool tell(actor_cell& c, int number, const message_ops& ops = noted) {
    std::byte* const at = d.place_far(c, c.incarnation, ops);
    if (at == nullptr) return false;
    put_number(at, number);
    d.built_far(c, ops.bytes);
    return true;
  }
  /// What has departed. The caller delivers it again, so that its messages are handled.
  std::vector<rail::train*> departed() const {
    std::vector<rail::train*> all;
    for (rail::train* t = d.inbox().arrivals(); t != nullptr; t = t->next) all.push_back(t);
    return all;
  }
  void deliver_again(const std::vector<rail::train*>& all) const {
    for (rail::train* const t : all) d.inbox().deliver(*t);
  }

  actor_system system;
  dispatcher& d;
  dispatcher elsewhere;  // its cells
  std::vector<std::unique_ptr<actor_cell>> cells;
  numbers handled;
  texts dead;
  std::string said;
  std::function<void()> look;  // at each dead letter
};

void in_a_fiber(const std::function<void(arrangement&)>& test) {
  sched::runtime one({.workers = 1});
  one.run([&] {
    arrangement a(one);
    test(a);
    a.rest();
  });
}

/// The numbers in each train, batch by batch.
using batches = std::vector<numbers>;
std::vector<batches> batches_in(const std::vector<rail::train*>& trains) {
  std::vector<batches> all;
  for (rail::train* const t : trains) {
    all.emplace_back();
    for (batch_reader from(*t); from.next_batch();) {
      for (all.back().emplace_back(); from.more();) {
        envelope e;
        from.move_to(e);
        all.back().back().push_back(number_at(e.arguments));
      }
    }
  }
  return all;
}

struct parcel {
  actor_cell* to;
  int number;
  std::uint32_t incarnation;
};

/// A train that another worker has loaded.
class loaded_train {
 public:
  loaded_train(rail::train_inbox& home, const std::vector<parcel>& parcels) {
    rail::train& t = get();
    t.home = &home;
    t.capacity = sizeof room_ - sizeof(rail::train);
    batch_writer w;
    w.begin(t, outbox::messages_a_train);
    for (const auto& p : parcels) {
      CHECK((w.takes(*p.to, p.incarnation, noted) || w.begin_batch(*p.to, p.incarnation, noted)));
      put_number(w.place(), p.number);
      static_cast<void>(w.advance(noted.bytes));
    }
    w.end(t);
  }
  [[nodiscard]] rail::train& get() noexcept { return *at_; }

 private:
  alignas(rail::train) std::byte room_[sizeof(rail::train) + outbox::bytes_a_train]{};
  rail::train* at_ = ::new (static_cast<void*>(room_)) rail::train;
};

/// Trains and controls that come from elsewhere, and an `arrivals` that only the test unloads.
struct coming : arrangement {
  using arrangement::arrangement;
  void train(const std::vector<parcel>& parcels) {
    trains.emplace_back(home, parcels);
    system.count_sent();
    d.inbox().deliver(trains.back().get());
  }
  /// Messages `first`, `first` + 1, ...
  void train(actor_cell& c, int first, int count) {
    std::vector<parcel> all;
    for (int i = 0; i < count; ++i) all.push_back({&c, first + i, c.incarnation});
    train(all);
  }
  void call(int number) {
    d.call_soon([this, number] { called.push_back(number); });
  }
  std::size_t trains_home() {
    for (const rail::train* t = home.arrivals(); t != nullptr; t = t->next) ++came_home;
    return came_home;
  }

  rail::train_inbox home;
  std::deque<loaded_train> trains;
  arrivals in{d};
  numbers called;
  std::size_t came_home = 0;
};

void with_arrivals(const std::function<void(coming&)>& test) {
  sched::runtime one({.workers = 1});
  one.run([&] {
    coming a(one);
    test(a);
    a.rest();
  });
}

numbers count_from(int first, int count) {
  numbers all;
  for (int i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

}  // namespace

// --- outbox ---

TEST_CASE("outbox: a train for a worker that is awake departs when it has 256 messages; one method shares a batch") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.elsewhere);
    for (int i = 0; i < 255; ++i) CHECK(a.tell(c, i, i < 200 ? noted : other_method));
    CHECK_FALSE(a.d.inbox().any());
    CHECK(a.tell(c, 255, other_method));
    const auto all = a.departed();
    CHECK(batches_in(all) == std::vector<batches>{{count_from(0, 200), count_from(200, 56)}});
    CHECK(a.tell(c, 256));
    CHECK_FALSE(a.d.inbox().any());
    a.deliver_again(all);
    a.rest();
    CHECK(a.handled == count_from(0, 257));
  });
}

TEST_CASE("outbox: a train departs, too, when the next message has no room in it, and none is lost") {
  in_a_fiber([](arrangement& a) {
    actor_cell *const one = &a.cell(a.elsewhere), *const other = &a.cell(a.elsewhere);
    constexpr int fit = outbox::bytes_a_train / (sizeof(message_batch) + longest.bytes);
    static_assert(fit < static_cast<int>(outbox::messages_a_train));
    for (int i = 0; i < fit; ++i) CHECK(a.tell(i % 2 == 0 ? *one : *other, i, longest));
    CHECK_FALSE(a.d.inbox().any());
    CHECK(a.tell(fit % 2 == 0 ? *one : *other, fit, longest));
    const auto all = a.departed();
    batches expected;
    for (int i = 0; i < fit; ++i) expected.push_back({i});
    CHECK(batches_in(all) == std::vector<batches>{expected});
    a.deliver_again(all);
    a.rest();
    CHECK(a.handled.size() == fit + 1);
  });
}

TEST_CASE("outbox: a worker that sleeps gets the first message at once, alone") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.d);  // which rests
    for (int i = 0; i < 3; ++i) {
      CHECK(a.d.looks_asleep());
      CHECK(a.tell(c, i));
    }
    const auto all = a.departed();
    CHECK(batches_in(all) == std::vector<batches>{{{0}}, {{1}}, {{2}}});
    a.deliver_again(all);
  });
}

TEST_CASE("outbox: what is open departs when there is nothing else to do, and counts as under way until then") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.elsewhere);
    CHECK(a.system.quiet());
    CHECK(a.tell(c, 7));
    CHECK_FALSE(a.system.quiet());
    CHECK(a.handled.empty());
    a.rest();
    CHECK(a.handled == numbers{7});
    CHECK(a.system.quiet());
  });
}

TEST_CASE("outbox: only so many trains are under way; a sender that finds none waits until one has come home") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.d);
    std::vector<rail::train*> all;
    for (int i = 0; i < 32; ++i) {
      CHECK(a.tell(c, i));  // a train each, as the worker sleeps
      for (rail::train* const t : a.departed()) all.push_back(t);
    }
    CHECK(all.size() == 32);
    CHECK_FALSE(a.tell(c, 32));
    actor_cell& far = a.cell(a.elsewhere);
    CHECK_FALSE(a.tell(far, 32));
    int gone = 0;
    for (int i = 0; i < 2; ++i) {
      a.system.runtime().spawn(
          [&, i] {
            envelope m = arrangement::message(far, 100 + i);
            dispatcher::send(m, "tell");
            ++gone;
          },
          {.worker = 0});
    }
    for (int i = 0; i < 100; ++i) sched::this_fiber::yield();
    CHECK(gone == 0);
    CHECK(a.handled.empty());
    a.deliver_again({all.front()});
    while (gone < 2) sched::this_fiber::yield();
    a.deliver_again({all.begin() + 1, all.end()});
    a.rest();
    CHECK(a.handled.size() == 34);
    CHECK(a.tell(c, 0));
  });
}

TEST_CASE(
    "outbox: to a mailbox that is said to be full no message is placed, and the policy decides what send() does") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.elsewhere);
    c.full = true;
    CHECK_FALSE(a.tell(c, 1));
    CHECK(a.system.quiet());  // no train has been opened for it
    envelope m = arrangement::message(c, 2);
    c.when_full = overflow::fail;
    CHECK(thrown_by<shunt::mailbox_full>([&] { dispatcher::send(m, "ask"); }) ==
          "ask: the mailbox is full [SHUNT-0504]");
    CHECK(dropped == numbers{2});
    envelope sent = arrangement::message(c, 3);
    c.when_full = overflow::drop_newest;  // its own worker drops
    dispatcher::send(sent, "tell");
    a.rest();
    CHECK(a.handled == numbers{3});
  });
}

TEST_CASE("outbox: before a sender waits for room, what was sent before departs") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.elsewhere);
    CHECK(a.tell(c, 1));
    CHECK_FALSE(a.d.inbox().any());
    actor_cell& gone = a.cell(a.elsewhere);
    gone.full = true;
    envelope m = arrangement::message(gone, 2);
    ++gone.incarnation;  // and so it need not wait after all
    dispatcher::send(m, "tell");
    CHECK(a.d.inbox().any());
    CHECK(a.dead == texts{": the actor has ended"});
    CHECK(m.ops == nullptr);
  });
}

// --- arrivals ---

TEST_CASE("arrivals: trains and controls are unloaded in the order in which they came; trains go home") {
  with_arrivals([](coming& a) {
    actor_cell& c = a.cell(a.d);
    CHECK(a.in.empty());
    a.train(c, 0, 3);
    a.call(1);
    a.train(c, 3, 2);
    CHECK(a.in.empty());  // it is in the inbox
    a.in.take();
    CHECK_FALSE(a.in.empty());
    CHECK_FALSE(a.d.inbox().any());
    CHECK(a.called.empty());
    a.in.unload();
    CHECK(a.in.empty());
    CHECK(a.called == numbers{1});
    CHECK(a.trains_home() == 2);
    CHECK(a.handled.empty());  // unloading runs no handler
    a.rest();
    CHECK(a.handled == count_from(0, 5));
  });
}

TEST_CASE("arrivals: about as many messages are unloaded as a batch handles, the rest the next time") {
  with_arrivals([](coming& a) {
    actor_cell& c = a.cell(a.d, 4'000);
    for (int i = 0; i < 5; ++i) a.train(c, 200 * i, 200);
    a.in.unload();
    CHECK(a.trains_home() == 3);  // 600 of 512
    a.train(c, 1'000, 1);
    CHECK_FALSE(a.in.empty());
    a.in.unload();
    CHECK(a.in.empty());
    CHECK(a.trains_home() == 6);
    a.rest();
    CHECK(a.handled == count_from(0, 1'001));
  });
}

TEST_CASE("arrivals: everything up to the last control is unloaded, however much that is") {
  with_arrivals([](coming& a) {
    actor_cell& c = a.cell(a.d, 4'000);
    for (int i = 0; i < 5; ++i) a.train(c, 200 * i, 200);
    a.call(1);
    for (int i = 5; i < 7; ++i) a.train(c, 200 * i, 200);
    a.call(2);
    for (int i = 7; i < 9; ++i) a.train(c, 200 * i, 200);
    a.in.unload();
    CHECK(a.called == numbers{1, 2});
    CHECK(a.trains_home() == 8);  // those before the controls, and one more
    a.in.unload();
    CHECK(a.trains_home() == 9);
    a.rest();
    CHECK(a.handled == count_from(0, 1'800));
  });
}

TEST_CASE("arrivals: where some of the line has waited for long, all of it is unloaded") {
  with_arrivals([](coming& a) {
    actor_cell& c = a.cell(a.d, 4'000);
    for (int i = 0; i < 12; ++i) a.train(c, 200 * i, 200);
    a.in.unload();
    CHECK(a.trains_home() == 3);
    std::this_thread::sleep_for(1ms);
    a.in.unload();
    CHECK(a.in.empty());
    CHECK(a.trains_home() == 12);
    for (int i = 12; i < 16; ++i) a.train(c, 200 * i, 200);
    a.in.unload();  // that wait is over
    CHECK(a.trains_home() == 15);
    a.in.unload();
    a.rest();
    CHECK(a.handled == count_from(0, 3'200));
  });
}

TEST_CASE("arrivals: what is found dead ends after all that came with it has been unloaded") {
  with_arrivals([](coming& a) {
    actor_cell& c = a.cell(a.d);
    c.incarnation = 5;
    a.train({{&c, 1, 4}, {&c, 2, 5}, {&c, 3, 4}, {&c, 4, 5}});
    a.train(c, 5, 1);
    const auto done = a.d.counts().done();
    a.look = [&] {
      CHECK(a.trains_home() == 2);
      CHECK(a.d.counts().done() == done + 1);  // the train that brought it is not done
    };
    a.in.unload();
    CHECK(a.dead == texts{": the actor has ended", ": the actor has ended"});
    CHECK(dropped == numbers{1, 3});
    CHECK(a.in.empty());
    CHECK(a.d.counts().done() == done + 2);
    a.rest();
    CHECK(a.handled == numbers{2, 4, 5});
  });
}

TEST_CASE("arrivals: a mailbox without room drops the newest or the oldest message, or takes what has come") {
  with_arrivals([](coming& a) {
    const auto policy = GENERATE(overflow::drop_newest, overflow::drop_oldest, overflow::suspend, overflow::fail);
    actor_cell& c = a.cell(a.d, 2, policy);
    a.train(c, 1, 5);
    a.in.unload();
    CHECK(c.full);
    a.rest();
    if (policy == overflow::drop_newest) {
      CHECK(dropped == count_from(3, 3));
      CHECK(a.handled == count_from(1, 2));
    } else if (policy == overflow::drop_oldest) {
      CHECK(dropped == count_from(1, 3));
      CHECK(a.handled == count_from(4, 2));
    } else {
      CHECK(dropped.empty());
      CHECK(a.handled == count_from(1, 5));
    }
    CHECK(a.dead == texts(dropped.size(), "a: its mailbox is full"));
  });
}

TEST_CASE("arrivals: unload_trains() leaves controls in line, in their order") {
  with_arrivals([](coming& a) {
    actor_cell& c = a.cell(a.d, 4'000);
    a.call(1);
    for (int i = 0; i < 4; ++i) a.train(c, 200 * i, 200);
    a.call(2);
    a.train(c, 800, 200);
    a.in.unload_trains();
    CHECK(a.trains_home() == 5);
    CHECK(a.called.empty());
    CHECK_FALSE(a.in.empty());
    a.in.unload();
    CHECK(a.called == numbers{1, 2});
    a.rest();
    CHECK(a.handled == count_from(0, 1'000));
  });
}

TEST_CASE("arrivals: controls that came too late are deleted, and not done") {
  with_arrivals([](coming& a) {
    const auto kept = std::make_shared<int>(0);
    auto* const late = new control([kept] { ++*kept; });
    a.d.inbox().deliver(*late);
    a.in.discard();
    CHECK(a.in.empty());
    CHECK(kept.use_count() == 1);
    CHECK(*kept == 0);
  });
}

// --- backpressure ---

TEST_CASE(
    "backpressure: vacant envelopes come as many as the last turn took, then twice as many, while there is room") {
  in_a_fiber([](arrangement& a) {
    auto& b = a.d.full_mailboxes();
    actor_cell& c = a.cell(a.d, 10);
    c.begin_queued();
    c.step = 2;
    std::int64_t room = 10;
    for (const int least : {2, 4}) {
      CHECK(b.add_vacant(c));
      CHECK(c.room <= room - least);
      CHECK(c.room >= room - 2 * least);
      room = c.room;
      while (c.vacant != nullptr) put_number((c.vacant->ops = &noted, c.vacant->target = 0, c.place())->arguments, 1);
    }
    for (int i = 0; i < 10 && c.room > 0; ++i) CHECK(b.add_vacant(c));
    CHECK(c.room == 0);
    while (c.vacant != nullptr) put_number((c.vacant->ops = &noted, c.vacant->target = 0, c.place())->arguments, 1);
    CHECK_FALSE(b.add_vacant(c));
    CHECK(c.vacant == nullptr);
    CHECK_FALSE(c.full);  // that is for the policy to say
    while (!c.empty()) b.drop_oldest(c);
    CHECK(a.dead == texts(10, "a: its mailbox is full"));
  });
}

TEST_CASE("backpressure: where senders wait, envelopes are added one at a time") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.d, 10);
    c.begin_queued();
    c.step = 8;
    c.set_full(true);
    for (int i = 0; i < 2; ++i) static_cast<void>(a.d.try_take_envelope());  // the spare
    CHECK(a.d.full_mailboxes().add_vacant(c));
    CHECK(c.room >= 8);
    CHECK(c.room < 10);
  });
}

TEST_CASE("backpressure: messages that have arrived are taken within the room, or all, unless the policy drops some") {
  in_a_fiber([](arrangement& a) {
    auto& b = a.d.full_mailboxes();
    const auto vacant = [](const actor_cell& c) {
      std::int64_t count = 0;
      for (const envelope* e = c.vacant; e != nullptr; e = e->next) ++count;
      return count;
    };
    const auto policy = GENERATE(overflow::suspend, overflow::drop_newest, overflow::drop_oldest, overflow::fail);
    const bool drops = policy == overflow::drop_newest || policy == overflow::drop_oldest;
    actor_cell& c = a.cell(a.d, 3, policy);
    c.begin_queued();
    CHECK(b.add_vacant_for(c, 5));
    CHECK(vacant(c) == 3);
    CHECK(c.room == 0);
    CHECK_FALSE(c.full);
    while (c.vacant != nullptr) static_cast<void>(c.place());
    CHECK(b.add_vacant_for(c, 2) == !drops);
    CHECK(vacant(c) == (drops ? 0 : 2));
    CHECK(c.room == (drops ? 0 : -2));
    CHECK(c.full);
    CHECK(c.flags == flag_senders_wait);
  });
}

TEST_CASE(
    "backpressure: a sender need not wait for a mailbox that is not full any more, or for an actor that has ended") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.cell(a.d);
    envelope m = arrangement::message(c, 1);
    CHECK_FALSE(backpressure::wait_for_room(m, "tell"));
    CHECK(m.ops == &noted);
    CHECK(c.waiting == nullptr);
    c.set_full(true);
    CHECK(a.d.full_mailboxes().end_incarnation(c) == nullptr);
    CHECK_FALSE(c.full);
    CHECK(c.flags == no_flag);
    CHECK(c.incarnation == 1);
    CHECK(backpressure::wait_for_room(m, "tell"));
    CHECK(m.ops == nullptr);
    CHECK(a.dead == texts{": the actor has ended"});
  });
}

namespace {

/// Fibers that wait for room with messages 10, 11, ...
struct queue_of_senders {
  queue_of_senders(arrangement& a, actor_cell& to, int count) {
    for (int i = 0; i < count; ++i) {
      a.system.runtime().spawn(
          [this, &to, i] {
            envelope m = arrangement::message(to, 10 + i);
            ++waiting;
            CHECK(backpressure::wait_for_room(m, "tell"));
            CHECK(m.ops == nullptr);
            let_in.push_back(i);
          },
          {.worker = 0});
      while (waiting == i) sched::this_fiber::yield();
    }
  }
  int waiting = 0;
  numbers let_in;
};

numbers taken_from(actor_cell& c, arrangement& a) {
  numbers all;
  while (!c.empty()) {
    envelope& e = *c.take_first();
    all.push_back(number_at(e.arguments));
    a.d.give_back(e);
  }
  return all;
}

}  // namespace

TEST_CASE("backpressure: senders are let in first come first served, as many as have room, and their messages placed") {
  in_a_fiber([](arrangement& a) {
    auto& b = a.d.full_mailboxes();
    actor_cell& c = a.full_cell(5);
    b.declare_full(c);
    CHECK(c.full);
    CHECK(c.flags == flag_senders_wait);
    queue_of_senders senders(a, c, 4);
    b.let_senders_in(c);  // no room
    for (int i = 0; i < 10; ++i) sched::this_fiber::yield();
    CHECK(senders.let_in.empty());

    for (int i = 0; i < 2; ++i) a.d.give_back(*c.take_first());
    at_move = [&] { CHECK(c.full); };  // also meanwhile: others wait
    b.let_senders_in(c);
    at_move = nullptr;
    CHECK(c.full);
    while (senders.let_in.size() < 2) sched::this_fiber::yield();
    CHECK(senders.let_in.size() == 2);
    CHECK(taken_from(c, a) == numbers{3, 4, 5, 10, 11});

    c.step = 1;           // as few envelopes as can be are added
    b.let_senders_in(c);  // two of five
    CHECK_FALSE(c.full);
    CHECK(c.flags == no_flag);
    while (senders.let_in.size() < 4) sched::this_fiber::yield();
    CHECK(taken_from(c, a) == numbers{12, 13});
    CHECK(c.waiting == nullptr);
  });
}

TEST_CASE("backpressure: a mailbox stays full if the senders that were let in have filled it again") {
  in_a_fiber([](arrangement& a) {
    auto& b = a.d.full_mailboxes();
    actor_cell& c = a.full_cell(2);
    b.declare_full(c);
    queue_of_senders senders(a, c, 1);
    a.d.give_back(*c.take_first());
    b.let_senders_in(c);
    CHECK(c.full);
    CHECK(c.flags == flag_senders_wait);
    while (senders.let_in.empty()) sched::this_fiber::yield();
    CHECK(taken_from(c, a) == numbers{2, 10});
  });
}

TEST_CASE("backpressure: what a sender elsewhere had sent before comes before the message with which it waits") {
  with_arrivals([](coming& a) {
    const bool afar = GENERATE(false, true);
    actor_cell& c = a.full_cell(4);
    auto& b = a.d.full_mailboxes();
    b.declare_full(c);
    a.train(c, 5, 2);
    envelope m = arrangement::message(c, 10);
    waiting_sender waits(m, afar ? &a.elsewhere : &a.d);
    c.waiting = c.waiting_last = &waits;
    for (int i = 0; i < 4; ++i) a.d.give_back(*c.take_first());
    b.let_senders_in(c);
    CHECK(waits.woken());
    CHECK(taken_from(c, a) == (afar ? numbers{5, 6, 10} : numbers{10}));
    if (!afar) {
      a.in.unload();
      CHECK(taken_from(c, a) == numbers{5, 6});
    }
  });
}

TEST_CASE("backpressure: the end of an incarnation hands out all senders that wait, in order") {
  in_a_fiber([](arrangement& a) {
    actor_cell& c = a.full_cell(1);
    a.d.full_mailboxes().declare_full(c);
    queue_of_senders senders(a, c, 3);
    waiting_sender* s = a.d.full_mailboxes().end_incarnation(c);
    CHECK(c.waiting == nullptr);
    CHECK_FALSE(c.full);
    numbers found;
    while (s != nullptr) {
      waiting_sender& now = *std::exchange(s, s->next_sender);
      found.push_back(number_at(now.message->arguments));
      now.message->ops = nullptr;
      now.wake();
    }
    CHECK(found == numbers{10, 11, 12});
    while (senders.let_in.size() < 3) sched::this_fiber::yield();
    CHECK(taken_from(c, a) == numbers{1});
  });
}

// --- lifecycles ---

namespace {

/// What becomes of an actor's object.
struct object {
  numbers handled;
  std::string log;
};
object* the_object = nullptr;

/// An actor whose object is `o`.
address spawn(arrangement& a, object& o, const std::string& name, std::shared_ptr<supervisor_state> by = nullptr) {
  the_object = &o;
  auto about = std::make_unique<lifecycle>();
  about->name = name;
  about->destroy = [](void*) noexcept { the_object->log += "destroy "; };
  about->free = [](void*) noexcept { the_object->log += "free "; };
  about->construct = [&o](void*) { o.log += "construct "; };
  about->supervisor = by;
  about->monitors.emplace_back([&o](const shunt::ended& e) { o.log += "told " + e.name + " '" + e.why + "' "; });
  const auto made = a.d.actors().spawn(about, &o.handled, 5, overflow::suspend);
  CHECK(about == nullptr);
  a.system.names().add(name, made, typeid(object));
  if (by != nullptr) by->adopt(*made.to, made.incarnation());
  return made;
}

std::shared_ptr<supervisor_state> supervisor(std::size_t most) {
  auto made = std::make_shared<supervisor_state>();
  made->most = most;
  made->within = 1min;
  return made;
}

std::exception_ptr failure() { return std::make_exception_ptr(std::runtime_error("it broke")); }

}  // namespace

TEST_CASE("lifecycles: a spawned actor is idle, and counted; after close() none is spawned, and nothing is taken") {
  in_a_fiber([](arrangement& a) {
    object o;
    const auto at = spawn(a, o, "x");
    CHECK(a.system.living == 1);
    CHECK(at.to->home == &a.d);
    CHECK(at.to->state == cell_state::idle);
    CHECK(at.to->capacity == 5);
    CHECK(at.incarnation() == at.to->incarnation);
    a.d.actors().close();
    auto about = std::make_unique<lifecycle>();
    CHECK_THROWS_WITH(a.d.actors().spawn(about, nullptr, 1, overflow::suspend),
                      "spawn: the manager has been stopped [SHUNT-0505]");
    CHECK(about != nullptr);
    CHECK(a.system.living == 1);
    a.d.actors().request(*at.to, at.incarnation(), request_end);
    a.rest();
    CHECK(a.system.living == 0);
  });
}

TEST_CASE("lifecycles: an actor that is asked to end does so before its next message; all that knew it learn it") {
  in_a_fiber([](arrangement& a) {
    object o;
    const auto at = spawn(a, o, "x");
    for (int i = 1; i <= 3; ++i) a.put(*at.to, i);
    a.d.actors().request(*at.to, at.incarnation() + 1, request_end);  // of another incarnation
    CHECK(at.to->flags == no_flag);
    a.d.actors().request(*at.to, at.incarnation(), request_end);
    CHECK(o.log.empty());
    a.rest();
    CHECK(o.handled.empty());
    CHECK(dropped == count_from(1, 3));
    CHECK(a.dead == texts(3, "x: the actor has ended"));
    CHECK(o.log == "destroy free told x '' ");
    CHECK(a.system.living == 0);
    CHECK(a.system.names().find("x", typeid(object)).to == nullptr);
    CHECK(at.to->incarnation == at.incarnation() + 1);
    CHECK(a.said.empty());
    a.d.actors().request(*at.to, at.to->incarnation, request_end);  // of the actor that is none
    CHECK(at.to->flags == no_flag);

    object second;
    const auto again = spawn(a, second, "y");
    CHECK(again.to == at.to);  // the cell serves again
    CHECK_FALSE(again == at);
    a.put(*again.to, 4);
    a.rest();
    CHECK(second.handled == numbers{4});
    a.d.actors().end_all();
    a.rest();
    CHECK(second.log == "destroy free told y '' ");
  });
}

TEST_CASE("lifecycles: an actor that is asked to restart has a new object, and keeps its messages") {
  in_a_fiber([](arrangement& a) {
    object o;
    const auto at = spawn(a, o, "x");
    for (int i = 1; i <= 3; ++i) a.put(*at.to, i);
    a.d.actors().request(*at.to, at.incarnation(), request_restart);
    a.rest();
    CHECK(o.log == "destroy construct ");
    CHECK(o.handled == count_from(1, 3));
    CHECK(at.to->incarnation == at.incarnation());
    CHECK(a.system.restarts == 1);
    // Both: it ends.
    a.d.actors().request(*at.to, at.incarnation(), request_restart);
    a.d.actors().request(*at.to, at.incarnation(), request_end);
    a.rest();
    CHECK(o.log == "destroy construct destroy free told x '' ");
    CHECK(a.system.restarts == 1);
  });
}

TEST_CASE("lifecycles: a failure ends an actor without a supervisor, with the text for all") {
  in_a_fiber([](arrangement& a) {
    object o;
    const std::string name = GENERATE("x", "");
    const auto at = spawn(a, o, name);
    CHECK_FALSE(a.d.actors().failed(*at.to, failure()));
    CHECK(o.log == "destroy free told " + name + " 'it broke' ");
    CHECK(a.said == "actor " + (name.empty() ? "without a name" : '`' + name + '`') + " has ended: it broke\n");
    CHECK(a.system.living == 0);
  });
}

TEST_CASE("lifecycles: a failure asks the supervisor, if the actor can be made again") {
  in_a_fiber([](arrangement& a) {
    object o;
    const auto top = supervisor(1);
    const auto at = spawn(a, o, "x", top);
    SECTION("it restarts, until that is too often") {
      CHECK(a.d.actors().failed(*at.to, failure()));
      CHECK(o.log == "destroy construct ");
      CHECK(a.system.restarts == 1);
      CHECK(a.said.empty());
      CHECK_FALSE(a.d.actors().failed(*at.to, failure()));
      CHECK(o.log == "destroy construct destroy free told x 'it broke' ");
      CHECK(a.said ==
            "actor `x` has ended: it broke; its supervisor has given up: supervisor_options::restarts is 1 in 60000 "
            "ms\n");
      CHECK(a.system.restarts == 1);
    }
    SECTION("an object that cannot be made is a failure as well, and is not destroyed") {
      at.to->about->construct = [](void*) { throw std::runtime_error("not again"); };
      CHECK_FALSE(a.d.actors().failed(*at.to, failure()));
      CHECK(o.log == "destroy free told x 'not again' ");
    }
    SECTION("one that need not restart ends, and nothing is said") {
      at.to->about->restarts = false;
      CHECK_FALSE(a.d.actors().failed(*at.to, failure()));
      CHECK(o.log == "destroy free told x 'it broke' ");
      CHECK(a.said.empty());
    }
    SECTION("the supervisor asks nothing of it afterwards") {
      at.to->about->restarts = false;
      CHECK_FALSE(a.d.actors().failed(*at.to, failure()));
      CHECK(top.use_count() == 1);
      a.rest();
      top->all = true;
      CHECK(top->failure(nullptr, nullptr) == supervisor_state::verdict::restart);
      CHECK(a.system.quiet());
    }
    CHECK(a.system.living == (o.log.find("free") == std::string::npos ? 1 : 0));
  });
}

TEST_CASE("lifecycles: the end wakes senders that wait; their messages and those in the mailbox are dead") {
  in_a_fiber([](arrangement& a) {
    object o;
    const auto at = spawn(a, o, "x");
    at.to->begin_queued();
    for (int i = 1; i <= 5; ++i) a.put(*at.to, i);
    a.d.full_mailboxes().declare_full(*at.to);
    queue_of_senders senders(a, *at.to, 2);
    CHECK_FALSE(a.d.actors().failed(*at.to, failure()));
    CHECK(dropped == numbers{10, 11, 1, 2, 3, 4, 5});
    CHECK(a.dead == texts(7, "x: the actor has ended"));
    CHECK(at.to->state == cell_state::idle);
    CHECK(at.to->flags == no_flag);
    while (senders.let_in.size() < 2) sched::this_fiber::yield();
  });
}

TEST_CASE("lifecycles: the actors that are busy are named, quoted, and no others") {
  in_a_fiber([](arrangement& a) {
    object o;
    std::vector<address> all;
    for (const char* name : {"x", "y", "z"}) all.push_back(spawn(a, o, name));
    std::string busy;
    a.d.actors().append_busy(busy);
    CHECK(busy.empty());
    a.put(*all[0].to, 1);
    a.put(*all[2].to, 2);
    a.d.actors().append_busy(busy);
    CHECK(busy == "`x`, `z`");
    a.rest();
    a.d.actors().end_all();
    a.rest();
    busy.clear();
    a.d.actors().append_busy(busy);
    CHECK(busy.empty());
    CHECK(o.handled.size() == 2);
  });
}

TEST_CASE("lifecycles: the text of a failure is what() of it, or that of the failure that the asker has got") {
  CHECK(text_of(failure()) == "it broke");
  CHECK(text_of(std::make_exception_ptr(answered_failure{"as told"})) == "as told");
  CHECK_FALSE(text_of(std::make_exception_ptr(5)).empty());
}
