#include <shunt/actor.hpp>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <shunt/base/random.hpp>
#include <shunt/task/fiber.hpp>
#include <source_location>
#include <string>
#include <support/expect.hpp>
#include <support/runtimes.hpp>
#include <support/slowly.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using shunt::actor_options;
using shunt::manager;
using shunt::manager_options;
using shunt::overflow;
using shunt::ref;
using shunt::testing::slowly;
using shunt::testing::thrown_by;

namespace {

/// Keeps what the manager would have written to stderr.
struct journal {
  std::mutex lock;
  std::string text;
  void operator()(std::string_view line) {
    const std::scoped_lock held(lock);
    text += line;
  }
  bool has(const std::string& part) {
    const std::scoped_lock held(lock);
    return text.find(part) != std::string::npos;
  }
};

manager_options with(int workers, journal* to = nullptr) {
  manager_options o;
  o.runtime.workers = workers;
  o.report = [to](std::string_view line) {
    if (to != nullptr) (*to)(line);
  };
  return o;
}

/// Opened once, by any thread; a handler that waits for it parks.
struct gate {
  shunt::promise<void> opens;
  shunt::future<void> is_open = opens.get_future();
};

/// what() of an answer. The future outlives the look at it: how many hold an exception is counted by the C++ library,
/// where ThreadSanitizer sees nothing; it does see which thread holds a future.
template <typename T>
std::string failure_of(const shunt::future<T>& answer) {
  return thrown_by([&] { static_cast<void>(manager::await(answer)); });
}

struct counter {
  int add(int by) { return sum += by; }
  int total() const { return sum; }
  int fail(int) { throw std::runtime_error("out of order"); }
  void wait(shunt::future<void> until, std::atomic<int>* begun) {
    ++*begun;
    until.get();
  }
  int sum = 0;
};

/// Returns when the actor is in a handler, where it stays until the gate is opened.
void hold(ref<counter> target, const gate& g) {
  std::atomic<int> begun{0};
  target.tell<&counter::wait>(g.is_open, &begun);
  while (begun == 0) std::this_thread::yield();
}

/// Keeps its worker, and all that stands there, from going on.
struct spinner {
  void spin(const std::atomic<bool>* until, std::atomic<bool>* begun) {
    *begun = true;
    while (!*until) std::this_thread::yield();
  }
  void send_and_spin(ref<spinner> self, int messages, const std::atomic<bool>* until, std::atomic<bool>* begun,
                     std::atomic<bool>* next_begun) {
    for (int i = 0; i < messages; ++i) self.tell<&spinner::spin>(until, next_begun);
    spin(until, begun);
  }
};

/// The line of a report that has that text; without it none.
std::string line_of(const std::string& report, const std::string& text) {
  const auto at = report.find(text);
  if (at == report.npos) return {};
  const auto begin = report.rfind('\n', at) + 1;
  return report.substr(begin, report.find('\n', at) - begin);
}

/// That line of a new report. A report leaves out a worker whose thread the system keeps from running: then this
/// function makes another one, for some minutes.
std::string reported(const std::string& text) {
  std::string line;
  const auto end = std::chrono::steady_clock::now() + 5min;
  while (line.empty() && std::chrono::steady_clock::now() < end) line = line_of(shunt::sched::report_fibers(), text);
  return line;
}

/// Hears 0, 1, 2 and so on.
struct listener {
  void hear(int i) { good = good && i == next++; }
  bool heard(int n) const { return good && next == n; }
  bool good = true;
  int next = 0;
};

}  // namespace

// --- calls ---

TEST_CASE("actor: messages of one sender are handled in order, on the same worker and across") {
  struct talker {
    void talk(ref<listener> to, int n) {
      for (int i = 0; i < n; ++i) to.tell<&listener::hear>(i);
    }
  };
  const int workers = GENERATE(1, 2, 3);
  const auto capacity = GENERATE(std::uint32_t{1}, std::uint32_t{3}, shunt::actor::default_capacity);
  manager all(with(workers));
  const int n = 20'000 / slowly;
  for (int t = 0; t < workers; ++t) {
    auto to = all.spawn<listener>({.worker = 0, .capacity = capacity});
    auto from = all.spawn<talker>({.worker = t});
    from.tell<&talker::talk>(to, n);
    all.drain();
    CHECK(all.await(to.ask<&listener::heard>(n)));
  }
  auto to = all.spawn<listener>({.capacity = capacity});
  for (int i = 0; i < n; ++i) to.tell<&listener::hear>(i);  // this thread
  CHECK(all.await(to.ask<&listener::heard>(n)));
}

TEST_CASE("actor: arguments travel by value, by move, and in any size") {
  struct shelf {
    void put(std::string s) { text = std::move(s); }
    void put_const(const std::string& s) { text = s; }
    void put_moved(std::unique_ptr<int>&& p) { owned = std::move(p); }
    void put_big(std::array<long, 100> a) { big = a[99]; }
    std::string get() const { return text; }
    long check() const { return big + (owned ? *owned : 0); }
    std::string text;
    std::unique_ptr<int> owned;
    long big = 0;
  };
  const int worker = GENERATE(0, 1);
  manager all(with(2));
  auto s = all.spawn<shelf>({.worker = worker});
  s.tell<&shelf::put>("a literal becomes the string that the parameter is, at once");
  CHECK(all.await(s.ask<&shelf::get>()) == "a literal becomes the string that the parameter is, at once");
  std::string kept(100, 'x');
  s.tell<&shelf::put_const>(kept);
  CHECK(all.await(s.ask<&shelf::get>()) == kept);
  s.tell<&shelf::put_moved>(std::make_unique<int>(5));
  std::array<long, 100> big{};
  big[99] = 7;
  s.tell<&shelf::put_big>(big);
  CHECK(all.await(s.ask<&shelf::check>()) == 12);
}

namespace {
struct speaker {
  virtual ~speaker() = default;
  virtual std::string speak() = 0;
};
struct named {
  std::string name = "dog";
  std::string call() const { return name; }
};
struct dog : named, speaker {
  std::string speak() override { return name + " barks"; }
};
}  // namespace

TEST_CASE("actor: a ref to a derived class is one to each base, wherever that lies in the object") {
  manager all(with(1));
  ref<dog> d = all.spawn<dog>();
  ref<speaker> s = d;
  ref<named> n = d;
  CHECK(all.await(s.ask<&speaker::speak>()) == "dog barks");
  CHECK(all.await(n.ask<&named::call>()) == "dog");
  CHECK(all.await(d.ask<&named::call>()) == "dog");
  CHECK(all.await(d.ask<&speaker::speak>()) == "dog barks");
  STATIC_REQUIRE(std::is_trivially_copyable_v<ref<dog>>);
  STATIC_REQUIRE(sizeof(ref<dog>) == 2 * sizeof(void*));
  STATIC_REQUIRE(!std::is_convertible_v<ref<speaker>, ref<dog>>);
}

TEST_CASE("actor: an argument whose copy throws leaves the caller with the exception, and nothing is sent") {
  struct shy {
    shy() = default;
    shy(const shy&) { throw std::runtime_error("not copied"); }
    shy(shy&&) noexcept = default;
  };
  struct host {
    void visit(shy) { ++visits; }
    int count() const { return visits; }
    int visits = 0;
  };
  manager all(with(1));
  auto h = all.spawn<host>();
  const shy one;
  CHECK_THROWS_WITH(h.tell<&host::visit>(one), "not copied");
  h.tell<&host::visit>(shy());
  CHECK(all.await(h.ask<&host::count>()) == 1);
}

TEST_CASE("actor: names are found while their actors live, and only as their own class") {
  manager all(with(2));
  auto co = all.spawn<counter>({.name = "co"});
  CHECK(all.find<counter>("co") == co);
  CHECK_FALSE(all.find<counter>("no such actor"));
  CHECK_THROWS_AS(all.find<dog>("co"), shunt::usage_error);
  all.stop(co);
  all.drain();
  CHECK_FALSE(all.find<counter>("co"));
}

TEST_CASE("actor: a manager may also use workers that are there") {
  shunt::sched::runtime rt({.workers = 2});
  for (int i = 0; i < 3; ++i) {
    rt.run([&] {
      manager all(rt, with(0));
      auto co = all.spawn<counter>({.worker = i % 2});
      for (int k = 0; k < 10; ++k) co.tell<&counter::add>(1);
      if (co.ask<&counter::add>(1).get() != 11) throw std::runtime_error("lost");
      CHECK_THROWS_AS(manager(rt), shunt::usage_error);
    });
  }
  CHECK_THROWS_AS(manager(rt), shunt::usage_error);
}

// --- handlers that wait ---

TEST_CASE("actor: a handler that waits keeps its own actor only, which is not entered again") {
  struct one {
    void wait(shunt::future<void> until) {
      inside = true;
      until.get();
      inside = false;
    }
    bool look() const { return inside; }
    bool inside = false;
  };
  const int workers = GENERATE(1, 2);
  manager all(with(workers));
  gate g;
  std::vector<ref<one>> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(all.spawn<one>({.worker = 0}));
    waiting.back().tell<&one::wait>(g.is_open);
  }
  auto other = all.spawn<counter>({.worker = 0});
  auto look = waiting[0].ask<&one::look>();
  CHECK(all.await(other.ask<&counter::add>(1)) == 1);  // the worker goes on
  CHECK_FALSE(look.ready());
  g.opens.set_value();
  CHECK_FALSE(all.await(look));  // after the handler, not amid it
  all.drain();
}

TEST_CASE("actor: a worker is not quiet while one of its handlers waits, though nothing else is left to do") {
  const int workers = GENERATE(1, 2);
  manager all(with(workers));
  auto waits = all.spawn<counter>({.worker = 0});
  auto other = all.spawn<counter>({.worker = workers - 1});
  gate g;
  hold(waits, g);
  for (int i = 0; i < 20; ++i) all.await(other.ask<&counter::total>());  // the engines come and go
  CHECK_FALSE(all.drain_for(0ns));
  waits.tell<&counter::add>(1);
  g.opens.set_value();
  all.drain();
  CHECK(all.drain_for(0ns));
  CHECK(all.await(waits.ask<&counter::total>()) == 1);
}

TEST_CASE("actor: a fiber of another runtime that must not wait sends and looks, and is refused where it would wait") {
  manager all(with(1));
  auto to = all.spawn<counter>();
  gate g;
  shunt::sched::runtime rt({.workers = 1});
  rt.run([&] {
    const shunt::testing::no_waiting guard;
    CHECK(shunt::sched::this_worker::forbid_wait(&guard) == nullptr);
    to.tell<&counter::add>(1);
    CHECK(shunt::sched::this_worker::forbid_wait(nullptr) == &guard);
    all.drain();
    CHECK(shunt::sched::this_worker::forbid_wait(&guard) == nullptr);
    CHECK(all.drain_for(1h));  // there is nothing to wait for
    CHECK(shunt::sched::this_worker::forbid_wait(nullptr) == &guard);
    hold(to, g);
    CHECK(shunt::sched::this_worker::forbid_wait(&guard) == nullptr);
    CHECK_THROWS_AS(all.drain_for(1h), shunt::testing::refused);
    CHECK_THROWS_AS(all.drain(), shunt::testing::refused);
    CHECK(shunt::sched::this_worker::forbid_wait(nullptr) == &guard);
  });
  g.opens.set_value();
  all.drain();  // the senders that were refused are not woken: they are gone
  CHECK(all.await(to.ask<&counter::total>()) == 1);
}

TEST_CASE("actor: what a fiber has sent is waited for at once, on its own worker and on others") {
  struct note {
    void take(std::atomic<int>* handled) { ++*handled; }
  };
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    manager all(rt, with(0));
    for (int i = 0; i < 100; ++i) {
      std::atomic<int> handled{0};
      all.spawn<note>({.worker = i % 2}).tell<&note::take>(&handled);
      all.drain();
      if (handled != 1) throw std::runtime_error("not handled yet");
    }
  });
}

TEST_CASE("actor: handlers ask each other, deeply, on one worker and on several") {
  struct link {
    int deep(ref<link> next, int left) {
      return left == 0 ? 0 : 1 + next.ask<&link::deep>(last ? ref<link>() : after, left - 1).get();
    }
    void join(ref<link> a) {
      after = a;
      last = false;
    }
    ref<link> after;
    bool last = true;
  };
  manager all(with(GENERATE(1, 2)));
  constexpr int n = 100;
  std::vector<ref<link>> chain;
  for (int i = 0; i < n; ++i) chain.push_back(all.spawn<link>());
  // chain[i] asks the one it is told, and tells it whom to ask: its own `after`.
  for (std::size_t i = 0; i + 2 < n; ++i) chain[i].tell<&link::join>(chain[i + 2]);
  CHECK(all.await(chain[0].ask<&link::deep>(chain[1], n - 2)) == n - 2);
}

namespace {
/// Asked by `client`; cannot answer before its friend, on the same worker, has handled a message.
struct clerk {
  enum class way { parks, yields, asks };
  void befriend(ref<clerk> f) { other = f; }
  void open(gate* g) { g->opens.set_value(); }
  void note(bool* done) { *done = true; }
  int same(int i) const { return i; }
  int answer(way by, int i) {
    if (by == way::asks) return other.ask<&clerk::same>(i).get();
    if (by == way::parks) {
      gate g;
      other.tell<&clerk::open>(&g);
      g.is_open.get();
    } else {
      bool done = false;
      other.tell<&clerk::note>(&done);
      while (!done) shunt::sched::this_fiber::yield();
    }
    return i;
  }
  ref<clerk> other;
};
struct client {
  int ask_all(ref<clerk> target, clerk::way by, int times) {
    int right = 0;
    for (int i = 0; i < times; ++i) right += target.ask<&clerk::answer>(by, i).get() == i;
    return right;
  }
};
}  // namespace

TEST_CASE("actor: an actor that is asked may wait for others on the asker's worker, in any way, time and again") {
  const auto by = GENERATE(clerk::way::parks, clerk::way::yields, clerk::way::asks);
  CAPTURE(static_cast<int>(by));
  manager all(with(1));
  auto asked = all.spawn<clerk>();
  asked.tell<&clerk::befriend>(all.spawn<clerk>());
  CHECK(all.await(all.spawn<client>().ask<&client::ask_all>(asked, by, 100)) == 100);
  // Two that ask at the same time: each sees to the engines in its turn.
  auto one = all.spawn<client>().ask<&client::ask_all>(asked, by, 100);
  auto two = all.spawn<client>().ask<&client::ask_all>(asked, by, 100);
  CHECK(all.await(one) + all.await(two) == 200);
  all.drain();
}

TEST_CASE("actor: fibers that migrate ask, and are answered, wherever they go") {
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    manager all(rt, with(0));
    std::array<ref<counter>, 2> there{all.spawn<counter>({.worker = 0}), all.spawn<counter>({.worker = 1})};
    std::vector<shunt::fiber> asking;
    for (int f = 0; f < 8; ++f) {
      asking.emplace_back(
          [&, f] {
            for (int i = 0; i < 1000 / slowly; ++i) {
              there[static_cast<std::size_t>(i + f) % 2].ask<&counter::add>(1).get();
            }
          },
          shunt::sched::spawn_options{.worker = 0, .migrates = true});
    }
    for (auto& each : asking) each.join();
    const int sum = there[0].ask<&counter::total>().get() + there[1].ask<&counter::total>().get();
    if (sum != 8 * (1000 / slowly)) throw std::runtime_error("not every ask was handled once");
  });
}

namespace {
struct asker {
  void meet(ref<asker> o) { other = o; }
  static constexpr auto line_of_get = std::source_location::current().line() + 1;
  int ask_on(int left) { return left == 0 ? 0 : other.ask<&asker::ask_on>(left - 1).get(); }
  /// Sends when the gate is open; handles nothing before it is through.
  void flood(int n, shunt::future<void> until, std::atomic<int>* begun) {
    ++*begun;
    until.get();
    for (int i = 0; i < n; ++i) other.tell<&asker::nothing>();
  }
  void nothing() {}
  ref<asker> other;
};
}  // namespace

TEST_CASE("actor: one of the actors in a circle of asks that can never end gets a deadlock, with all names") {
  manager all(with(GENERATE(1, 2)));
  std::vector<ref<asker>> ring;
  for (const auto* name : {"a", "b", "c"}) ring.push_back(all.spawn<asker>({.name = name}));
  for (std::size_t i = 0; i < 3; ++i) ring[i].tell<&asker::meet>(ring[(i + 1) % 3]);
  // The actor that begins to wait last closes the circle; it may be any of them.
  const std::string names = "abcabc";
  std::vector<std::string> circles;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto name = [&](std::size_t j) { return std::string("`") + names[i + j] + '`'; };
    circles.push_back("future::get: deadlock: actor " + name(0) + " waits for an answer of " + name(1) +
                      ", which waits for an answer of " + name(2) + ", which waits for an answer of " + name(0) + " (" +
                      std::source_location::current().file_name() + ':' + std::to_string(asker::line_of_get) +
                      ") [SHUNT-0119]");
  }
  CHECK_THAT(circles, Catch::Matchers::VectorContains(failure_of(ring[0].ask<&asker::ask_on>(3))));
  auto me = all.spawn<asker>({.name = "me"});
  me.tell<&asker::meet>(me);
  CHECK_THROWS_AS(all.await(me.ask<&asker::ask_on>(1)), shunt::sched::deadlock);
}

TEST_CASE("report_fibers: names the actor whose handler waits, and the one that it waits for") {
  manager all(with(GENERATE(1, 2)));
  std::vector<ref<asker>> line;
  for (const auto* name : {"a", "b", "c"}) line.push_back(all.spawn<asker>({.name = name}));
  for (std::size_t i = 0; i + 1 < 3; ++i) line[i].tell<&asker::meet>(line[i + 1]);
  gate g;
  std::atomic<int> begun{0};
  line[2].tell<&asker::flood>(0, g.is_open, &begun);
  const auto answer = line[0].ask<&asker::ask_on>(2);
  std::string text;
  // Until both wait.
  const auto waits = [&](const char* actor) { return line_of(text, actor).find(", for an answer of ") != text.npos; };
  while (!waits("actor `a`, in ") || !waits("actor `b`, in ")) text = shunt::sched::report_fibers();
  g.opens.set_value();
  CHECK(all.await(answer) == 0);
  INFO(text);
  CHECK_THAT(line_of(text, "actor `a`"),
             Contains(", for an answer of `b`; actor `a`, in ") && Contains("asker::ask_on, none waits"));
  CHECK_THAT(line_of(text, "actor `b`"), Contains(", for an answer of an actor that does not wait; actor `b`, in "));
}

TEST_CASE(
    "report_fibers: of a handler that waits for a future, names the actor, the method, and what waits in the mailbox") {
  manager all(with(1));
  const auto target = all.spawn<counter>({.name = "stock"});
  const auto other = all.spawn<counter>();
  std::vector<gate> gates(2);
  hold(target, gates[0]);
  CHECK_THAT(reported("actor `stock`"), Contains("counter::wait, none waits in its mailbox"));
  const auto before = std::chrono::steady_clock::now();
  std::atomic<int> begun{0};
  target.tell<&counter::wait>(gates[1].is_open, &begun);
  for (int i = 0; i < 3; ++i) target.tell<&counter::add>(1);
  static_cast<void>(all.await(other.ask<&counter::total>()));  // what was sent before has come
  // Until a tenth of a second has gone by.
  std::string line;
  for (line = "at least 0.0 s"; line.find("at least 0.0 s") != line.npos;) line = reported("actor `stock`");
  INFO(line);
  CHECK_THAT(line, Contains("waits for a future") &&
                       Contains("counter::wait, 4 wait in its mailbox, the oldest for at least "));
  const auto at = line.find("at least ");
  REQUIRE(at != line.npos);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - before;
  CHECK(std::stod(line.substr(at + 9)) <= since.count() + 5);  // the coarse clock lags behind where ticks come late
  // From the mailbox comes the one that waits now.
  gates[0].opens.set_value();
  while (begun == 0) std::this_thread::yield();
  line = reported("actor `stock`");
  CHECK_THAT(line, Contains("counter::wait, 3 wait in its mailbox, the oldest for at least "));
  gates[1].opens.set_value();
  CHECK(all.await(target.ask<&counter::total>()) == 3);
  all.drain();                                                             // the handler that answered has ended
  CHECK(line_of(shunt::sched::report_fibers(), "actor `stock`").empty());  // between handlers there is none
}

TEST_CASE(
    "report_fibers: of a handler that keeps its worker, names the actor, the method, and what waits in the mailbox") {
  // Before the manager, which waits for its handlers when it ends: these look at them until then.
  gate g;
  std::atomic<bool> over{false};
  std::atomic<bool> spins{false};
  std::atomic<bool> second{false};
  manager all(with(1));
  const auto target = all.spawn<spinner>({.name = "keeps"});
  const auto helper = all.spawn<counter>();
  hold(helper, g);
  target.tell<&spinner::send_and_spin>(target, 3, &over, &spins, &second);
  while (!spins) std::this_thread::yield();
  // The first report marks the mailbox, from the next on the age is known (actor_cell.C7).
  CHECK_THAT(reported("actor `keeps`"), Contains("3 wait in its mailbox; stack "));
  const auto line = reported("actor `keeps`");
  over = true;
  g.opens.set_value();
  INFO(line);
  CHECK_THAT(line, Contains("running; actor `keeps`, in ") &&
                       Contains("spinner::send_and_spin, 3 wait in its mailbox, the oldest for at least "));
}

TEST_CASE("actor: a deadlock of many actors is one circle, reported once, with some twenty names") {
  constexpr std::size_t many = 200;
  journal said;
  std::string text;
  {
    manager all(with(GENERATE(1, 2), &said));
    std::vector<ref<asker>> ring;
    for (std::size_t i = 0; i < many; ++i) ring.push_back(all.spawn<asker>({.name = "actor " + std::to_string(i)}));
    for (std::size_t i = 0; i < many; ++i) ring[i].tell<&asker::meet>(ring[(i + 1) % many]);
    text = failure_of(ring[0].ask<&asker::ask_on>(static_cast<int>(many)));
    all.drain();
  }
  INFO(text);
  CHECK_THAT(text, Catch::Matchers::Contains("deadlock: actor `") &&
                       Catch::Matchers::Contains(" more, the last of which waits for"));
  std::size_t names = 0;
  for (auto at = text.find("`actor "); at != text.npos; at = text.find("`actor ", at + 1)) ++names;
  CHECK(names <= 22);
  std::size_t told = 0;
  for (auto from = said.text.find(" has ended: "); from != text.npos; from = said.text.find(" has ended: ", from + 1))
    ++told;
  CHECK(told == 1);
}

TEST_CASE("actor: of two actors that fill each other's mailboxes one gets a deadlock, with names; other senders wait") {
  journal said;
  {
    manager all(with(GENERATE(1, 2), &said));
    auto a = all.spawn<asker>({.name = "a", .capacity = 4});
    auto b = all.spawn<asker>({.name = "b", .capacity = 4});
    a.tell<&asker::meet>(b);
    b.tell<&asker::meet>(a);
    all.drain();
    gate g;
    std::atomic<int> begun{0};
    a.tell<&asker::flood>(100'000, g.is_open, &begun);
    b.tell<&asker::flood>(100'000, g.is_open, &begun);
    while (begun != 2) std::this_thread::yield();
    g.opens.set_value();
    all.drain();
  }
  // The actor that closes the circle fails, and ends; no other one does.
  const std::string text = " waits for room in the mailbox of ";
  const bool by_a = said.has("actor `a` has ended: tell: deadlock: actor `a`" + text + "`b`, which" + text + "`a`");
  const bool by_b = said.has("actor `b` has ended: tell: deadlock: actor `b`" + text + "`a`, which" + text + "`b`");
  CHECK(by_a != by_b);
}

// --- mailboxes ---

TEST_CASE(
    "actor: a sender that finds a mailbox full waits, drops, or fails, as the policy says; a dropped ask is answered") {
  const auto policy = GENERATE(overflow::suspend, overflow::drop_newest, overflow::drop_oldest, overflow::fail);
  const int sender_on = GENERATE(0, 1);
  std::atomic<int> dead{0};
  auto o = with(2);
  o.on_dead_letter = [&](const shunt::dead_letter& d) {
    if (d.why == "its mailbox is full" && d.method == "&{anonymous}::counter::add") ++dead;
    if (d.method == "&(anonymous namespace)::counter::add") ++dead;
  };
  manager all(std::move(o));
  auto full = all.spawn<counter>({.name = "full", .worker = 0, .capacity = 4, .when_full = policy});
  gate g;
  hold(full, g);
  struct sender {
    int send(ref<counter> to, int n) {
      int refused = 0;
      for (int i = 0; i < n; ++i) {
        try {
          to.tell<&counter::add>(1);
        } catch (const shunt::mailbox_full&) {
          ++refused;
        }
      }
      return refused;
    }
  };
  auto s = all.spawn<sender>({.worker = sender_on});
  auto sent = s.ask<&sender::send>(full, 10);
  if (policy != overflow::suspend) {
    const int refused = all.await(sent);
    if (sender_on == 0) CHECK(refused == (policy == overflow::fail ? 6 : 0));
  }
  // From another worker they may still be under way when their sender has answered.
  if (policy == overflow::drop_newest || policy == overflow::drop_oldest) {
    while (dead != 6) std::this_thread::yield();
  }
  if (policy == overflow::drop_newest) {
    CHECK_THROWS_AS(all.await(full.ask<&counter::total>()), shunt::unanswered);
  }
  if (policy == overflow::suspend && sender_on == 0) {
    all.await(all.spawn<counter>({.worker = 0}).ask<&counter::total>());
    CHECK_FALSE(sent.ready());
  }
  g.opens.set_value();
  if (policy == overflow::suspend) CHECK(all.await(sent) == 0);
  all.drain();
  const int handled = all.await(full.ask<&counter::total>());
  if (policy == overflow::suspend) CHECK(handled == 10);
  if (policy == overflow::drop_newest || policy == overflow::drop_oldest) {
    CHECK(handled == 4);
    CHECK(dead == 6);
  }
  if (policy == overflow::fail && sender_on == 0) CHECK(handled == 4);
}

TEST_CASE("actor: an actor that would run next may lose its direct message to a newer one") {
  struct sender {
    void send(ref<counter> first, ref<counter> second) {
      for (int i = 1; i <= 3; ++i) {
        first.tell<&counter::add>(i);
        second.tell<&counter::add>(10 * i);
      }
      second.tell<&counter::add>(40);
    }
  };
  manager all(with(1));
  const auto one = [&] { return all.spawn<counter>({.capacity = 1, .when_full = overflow::drop_oldest}); };
  auto a = one(), b = one();
  all.spawn<sender>().tell<&sender::send>(a, b);
  all.drain();
  CHECK(all.await(a.ask<&counter::total>()) == 3);
  CHECK(all.await(b.ask<&counter::total>()) == 40);
  CHECK(all.dead_letters() == 5);
}

TEST_CASE("actor: a message that goes straight to its handler takes no room, and those that come meanwhile do") {
  struct talker {
    void talk(ref<talker> self, int n) {
      for (int i = 0; i < n; ++i) {
        try {
          self.tell<&talker::hear>(i);
        } catch (const shunt::mailbox_full&) {
          ++refused;
        }
      }
    }
    void hear(int i) { in_order = in_order && i == heard++; }
    std::array<int, 2> counts() const { return {in_order ? heard : -1, refused}; }
    int heard = 0, refused = 0;
    bool in_order = true;
  };
  const auto capacity = GENERATE(1, 2, 100);  // 100: more than a turn
  manager all(with(1));
  auto t = all.spawn<talker>({.capacity = static_cast<std::uint32_t>(capacity), .when_full = overflow::fail});
  t.tell<&talker::talk>(t, capacity + 3);
  all.drain();
  CHECK(all.await(t.ask<&talker::counts>()) == std::array<int, 2>{capacity, 3});
}

TEST_CASE("actor: a message that drops another one finds its actor, though that goes on while the dropped one ends") {
  struct last_words {  // told when it ends, which waits
    last_words(ref<counter> whom, std::atomic<bool>* at) noexcept : to(whom), begun(at) {}
    last_words(last_words&& other) noexcept : to(other.to), begun(std::exchange(other.begun, nullptr)) {}
    ~last_words() {
      if (begun == nullptr) return;
      *begun = true;
      to.tell<&counter::add>(1);
    }
    ref<counter> to;
    std::atomic<bool>* begun;
  };
  struct listener : counter {
    void listen(last_words&&) {}
  };
  manager all(with(1));
  auto full = all.spawn<counter>({.capacity = 1});
  auto newest = all.spawn<listener>({.capacity = 1, .when_full = overflow::drop_oldest});
  gate of_full, of_newest;
  hold(full, of_full);
  hold(ref<counter>(newest), of_newest);
  std::atomic<bool> ends{false};
  full.tell<&counter::add>(10);
  newest.tell<&listener::listen>(last_words(full, &ends));
  newest.tell<&counter::add>(5);
  while (!ends) std::this_thread::yield();
  of_newest.opens.set_value();
  of_full.opens.set_value();
  all.drain();
  CHECK(all.await(newest.ask<&counter::total>()) == 5);
  CHECK(all.await(full.ask<&counter::total>()) == 11);
}

/// Sends to itself, at random, and knows what its mailbox must hold.
struct talks_to_itself {
  talks_to_itself(std::size_t most, overflow when_full) : capacity(most), policy(when_full) {}

  void begin(ref<talks_to_itself> myself, std::uint64_t seed, int messages) {
    self = myself;
    random = shunt::counter_random(seed);
    left = messages;
    while (waiting.empty()) talk();
  }
  void number(long n) { hear(n); }
  void text(const std::string& digits) { hear(std::stol(digits)); }
  std::array<long, 3> result() const { return {heard, wrong, static_cast<long>(waiting.size())}; }

  void hear(long n) {
    if (waiting.empty() || waiting.front() != n) {
      ++wrong;
    } else {
      waiting.pop_front();
    }
    ++heard;
    talk();
  }
  void talk() {
    const auto most = random.below(draws++, 50) == 0 ? capacity + 2 : 3;
    for (auto n = random.below(draws++, most + 1); n > 0 && left > 0; --n, --left) {
      const bool full = waiting.size() == capacity;
      bool refused = false;
      try {
        if (left % 3 == 0) {
          self.tell<&talks_to_itself::text>(std::to_string(left));
        } else {
          self.tell<&talks_to_itself::number>(left);
        }
      } catch (const shunt::mailbox_full&) {
        refused = true;
      }
      if (refused != (full && policy == overflow::fail)) ++wrong;
      if (full && policy != overflow::drop_oldest) continue;
      if (full) waiting.pop_front();
      waiting.push_back(left);
    }
  }

  std::size_t capacity;
  overflow policy;
  ref<talks_to_itself> self;
  shunt::counter_random random{0};
  std::uint64_t draws = 0;
  std::deque<long> waiting;
  long left = 0, heard = 0, wrong = 0;
};

TEST_CASE("actor: amid a turn, too, a mailbox holds its capacity and no more, and what it holds comes in order") {
  const auto policy = GENERATE(overflow::drop_newest, overflow::drop_oldest, overflow::fail);
  const std::uint32_t capacity = GENERATE(1, 2, 3, 64, 65, 200);
  manager all(with(1));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto a = all.spawn<talks_to_itself>({.capacity = capacity, .when_full = policy}, capacity, policy);
    a.tell<&talks_to_itself::begin>(a, seed, 2'000);
    all.drain();
    const auto [heard, wrong, waiting] = all.await(a.ask<&talks_to_itself::result>());
    CHECK(heard > 0);
    CHECK(wrong == 0);
    CHECK(waiting == 0);
    all.stop(a);
  }
}

TEST_CASE(
    "actor: messages that travel together to another worker arrive in order, for any actors and with any arguments") {
  struct listener_of_all {
    void none() { ++heard; }
    void one(int i) { good = good && i == heard++; }
    void five(long a, long b, long c, long d, int i) { good = good && a + b + c + d == 4 * i && i == heard++; }
    void text(const std::string& s) { good = good && s == std::string(40, 'x') + std::to_string(heard++); }
    void owner(std::unique_ptr<int> p) { good = good && *p == heard++; }
    void big(std::array<int, 20> a) { good = good && a[19] == heard++; }
    int ask(int i) {
      good = good && i == heard++;
      return heard;
    }
    bool well(int n) const { return good && heard == n; }
    bool good = true;
    int heard = 0;
  };
  struct talker {
    /// \param alike  so many of a kind in a row.
    bool talk(std::vector<ref<listener_of_all>> to, int n, int alike) {
      std::vector<int> said(to.size());
      std::vector<shunt::future<int>> answers;
      bool good = true;
      for (int k = 0; k < n; ++k) {
        const std::size_t whom = static_cast<std::size_t>(k / (7 * alike)) % to.size();
        const auto& target = to[whom];
        const int i = said[whom]++;
        switch (k / alike % 7) {
          case 0: target.tell<&listener_of_all::none>(); break;
          case 1: target.tell<&listener_of_all::one>(i); break;
          case 2: target.tell<&listener_of_all::five>(i, i, i, i, i); break;
          case 3: target.tell<&listener_of_all::text>(std::string(40, 'x') + std::to_string(i)); break;
          case 4: target.tell<&listener_of_all::owner>(std::make_unique<int>(i)); break;
          case 5: {
            std::array<int, 20> a{};
            a[19] = i;
            target.tell<&listener_of_all::big>(a);
            break;
          }
          default: answers.push_back(target.ask<&listener_of_all::ask>(i));
        }
      }
      for (const auto& a : answers) good = good && a.get() > 0;
      for (std::size_t w = 0; w < to.size(); ++w) {
        good = good && to[w].ask<&listener_of_all::well>(said[w]).get();
      }
      return good;
    }
  };
  const int alike = GENERATE(1, 9, 300);  // 300: more than a train takes
  const auto capacity = GENERATE(std::uint32_t{5}, shunt::actor::default_capacity);
  manager all(with(2));
  std::vector<ref<listener_of_all>> to;
  for (int i = 0; i < 3; ++i) to.push_back(all.spawn<listener_of_all>({.worker = 0, .capacity = capacity}));
  auto from = all.spawn<talker>({.worker = 1});
  CHECK(all.await(from.ask<&talker::talk>(to, 30'000 / slowly, alike)));
}

TEST_CASE("actor: a train may bring more than the mailbox holds; other mailboxes keep their room") {
  struct sender {
    int send(ref<listener> to, int n, int from, ref<counter> then) {
      for (int i = 0; i < n; ++i) {
        try {
          to.tell<&listener::hear>(from + i);
        } catch (const shunt::mailbox_full&) {
          return i;
        }
      }
      then.tell<&counter::add>(1);
      return n;
    }
  };
  struct waiting_listener : listener {
    void wait(shunt::future<void> until, std::atomic<bool>* begun) {
      *begun = true;
      until.get();
    }
  };
  constexpr int a_train = 100;
  const auto capacity = GENERATE(1, 8, 64, 150);
  manager all(with(2));
  auto full = all.spawn<waiting_listener>(
      {.worker = 0, .capacity = static_cast<std::uint32_t>(capacity), .when_full = overflow::fail});
  gate g;
  std::atomic<bool> begun{false};
  full.tell<&waiting_listener::wait>(g.is_open, &begun);
  while (!begun) std::this_thread::yield();
  // Its worker unloads nothing until all have left: else the others would see that it is full.
  std::atomic<bool> spins{false}, go_on{false};
  all.spawn<spinner>({.worker = 0}).tell<&spinner::spin>(&go_on, &spins);
  while (!spins) std::this_thread::yield();
  auto mark = all.spawn<counter>({.worker = 0});  // told last, on the same way
  CHECK(all.await(all.spawn<sender>({.worker = 1}).ask<&sender::send>(full, a_train, 0, mark)) == a_train);
  go_on = true;
  while (all.await(mark.ask<&counter::total>()) == 0) std::this_thread::yield();
  const int more = all.await(all.spawn<sender>({.worker = 0}).ask<&sender::send>(full, 200, a_train, mark));
  CHECK(more == std::max(0, capacity - a_train));
  g.opens.set_value();
  all.drain();
  CHECK(all.await(full.ask<&waiting_listener::heard>(a_train + more)));
}

namespace {
/// An argument that does something when it ends.
struct last_deed {
  explicit last_deed(std::function<void()> d) : deed(std::make_unique<std::function<void()>>(std::move(d))) {}
  last_deed(last_deed&&) noexcept = default;
  ~last_deed() {
    if (deed) (*deed)();
  }
  std::unique_ptr<std::function<void()>> deed;
};
struct listener_with_deeds : counter {
  void hear(int i) { heard.push_back(i); }
  void take(last_deed&&) {}
  std::vector<int> all() const { return heard; }
  std::vector<int> heard;
};
}  // namespace

TEST_CASE("actor: what ends with a dropped message may send more than all trains take") {
  constexpr int more_than_trains = 32 * 256 + 300;
  manager all(with(2));
  auto far = all.spawn<counter>({.worker = 1, .capacity = 1'000'000});
  auto drops = all.spawn<listener_with_deeds>({.worker = 0, .capacity = 1, .when_full = overflow::drop_newest});
  gate g;
  hold(drops, g);
  std::atomic<bool> go_on{false}, spins{false};  // no train comes home before
  all.spawn<spinner>({.worker = 1}).tell<&spinner::spin>(&go_on, &spins);
  while (!spins) std::this_thread::yield();
  std::atomic<int> told{0};
  drops.tell<&listener_with_deeds::add>(1);
  drops.tell<&listener_with_deeds::take>(last_deed([&] {
    for (int i = 0; i < more_than_trains; ++i, ++told) far.tell<&counter::add>(1);
  }));
  while (told != 32 * 256) std::this_thread::yield();
  go_on = true;
  g.opens.set_value();
  all.drain();
  CHECK(told == more_than_trains);
  CHECK(all.await(far.ask<&counter::total>()) == more_than_trains);
  CHECK(all.dead_letters() == 1);
}

TEST_CASE("actor: nothing overtakes what came with a message that was dropped, though what ends with that one waits") {
  struct sender {
    void both(ref<listener_with_deeds> drops, ref<listener_with_deeds> to, gate* until, std::atomic<bool>* waits) {
      drops.tell<&listener_with_deeds::take>(last_deed([=] {
        *waits = true;
        until->is_open.get();
      }));
      to.tell<&listener_with_deeds::hear>(1);
    }
    void one(ref<listener_with_deeds> to, int n, int i) {
      for (; n > 0; --n) to.tell<&listener_with_deeds::hear>(i);
    }
  };
  manager all(with(2));
  auto to = all.spawn<listener_with_deeds>({.worker = 0, .capacity = 4});
  auto drops = all.spawn<listener_with_deeds>({.worker = 0, .capacity = 1, .when_full = overflow::drop_newest});
  gate drops_goes_on, to_goes_on, deed_ends;
  hold(to, to_goes_on);
  hold(drops, drops_goes_on);
  drops.tell<&listener_with_deeds::add>(1);
  const auto all_before_have_run = [&](int worker) {
    all.await(all.spawn<counter>({.worker = worker}).ask<&counter::total>());
  };
  std::atomic<bool> waits{false}, go_on{false}, spins{false};
  auto far = all.spawn<sender>({.worker = 1});
  all.spawn<spinner>({.worker = 0}).tell<&spinner::spin>(&go_on, &spins);  // awake: both messages share a train
  while (!spins) std::this_thread::yield();
  far.tell<&sender::both>(drops, to, &deed_ends, &waits);
  all_before_have_run(1);
  go_on = true;
  while (!waits) std::this_thread::yield();
  all.spawn<sender>({.worker = 0}).tell<&sender::one>(to, 6, 0);  // waits for room
  all_before_have_run(0);
  far.tell<&sender::one>(to, 1, 2);  // as well
  all_before_have_run(1);
  to_goes_on.opens.set_value();
  while (all.await(to.ask<&listener_with_deeds::all>()).size() != 8) std::this_thread::yield();
  drops_goes_on.opens.set_value();
  std::atomic<bool> quiet{false};
  std::thread watcher([&] {
    all.drain();
    quiet = true;
  });
  for (int i = 0; i < 100; ++i) all_before_have_run(i % 2);  // time in which it must not become quiet
  CHECK_FALSE(quiet);
  deed_ends.opens.set_value();
  watcher.join();
  std::vector<int> from_afar;
  for (const int i : all.await(to.ask<&listener_with_deeds::all>())) {
    if (i != 0) from_afar.push_back(i);
  }
  CHECK(from_afar == std::vector<int>{1, 2});
}

TEST_CASE("actor: what ends with a dead message waits outside of every handler, also after another actor was handled") {
  struct asker {
    int answer() { return 2; }
    void go(ref<listener_with_deeds> dead, ref<counter> other, ref<asker> self, std::atomic<int>* answered) {
      dead.tell<&listener_with_deeds::take>(last_deed([=] { *answered = self.ask<&asker::answer>().get(); }));
      static_cast<void>(other.ask<&counter::total>().get());
    }
  };
  struct busy : counter, spinner {};
  manager all(with(2));
  auto other = all.spawn<busy>({.worker = 0});
  auto dead = all.spawn<listener_with_deeds>({.worker = 0});
  auto target = all.spawn<asker>({.worker = 1});
  all.stop(dead);
  all.drain();
  std::atomic<bool> go_on{false}, spins{false};
  ref<spinner>(other).tell<&spinner::spin>(&go_on, &spins);
  while (!spins) std::this_thread::yield();
  std::atomic<int> answered{0};
  target.tell<&asker::go>(dead, ref<counter>(other), target, &answered);
  for (int i = 0; i < 3; ++i)
    all.await(all.spawn<counter>({.worker = 1}).ask<&counter::total>());  // its train has left
  go_on = true;
  all.drain();
  CHECK(answered == 2);
}

TEST_CASE("actor: two messages in a row stay in order, also if others are sent in between") {
  struct talker {
    void talk(std::array<ref<listener>, 3> to, int from) {
      to[0].tell<&listener::hear>(from);  // straight
      to[1].tell<&listener::hear>(from);  // the first one stands in the queue now
      to[0].tell<&listener::hear>(from + 1);
      to[1].tell<&listener::hear>(from + 1);  // not alone any more, and still next
      to[2].tell<&listener::hear>(from);
      to[1].tell<&listener::hear>(from + 2);
      to[0].tell<&listener::hear>(from + 2);
      to[2].tell<&listener::hear>(from + 1);
      to[2].tell<&listener::hear>(from + 2);
    }
  };
  manager all(with(1));
  const auto one = [&] { return all.spawn<listener>(); };
  const std::array<ref<listener>, 3> to{one(), one(), one()};
  auto t = all.spawn<talker>();
  for (int i = 0; i < 200; ++i) t.tell<&talker::talk>(to, 3 * i);
  all.drain();
  for (const auto& l : to) CHECK(all.await(l.ask<&listener::heard>(600)));
}

TEST_CASE("actor: threads that find a mailbox full block, and all their messages arrive") {
  manager all(with(2));
  auto co = all.spawn<counter>({.capacity = 2});
  const int each = 5'000 / slowly;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, co] {
      for (int i = 0; i < each; ++i) co.tell<&counter::add>(1);
    });
  }
  for (auto& t : threads) t.join();
  CHECK(all.await(co.ask<&counter::total>()) == 4 * each);
}

TEST_CASE("actor: messages of each of several threads to each of several actors come in order, on all workers") {
  struct reader {
    void hear(int thread, int i) {
      auto& from = next[static_cast<std::size_t>(thread)];
      good = good && i == from++;
    }
    void hear_text(int thread, const std::string& i) { hear(thread, std::stoi(i)); }
    int heard(int threads) const {
      int sum = 0;
      for (int t = 0; t < threads; ++t) sum += next[static_cast<std::size_t>(t)];
      return good ? sum : -1;
    }
    std::array<int, 8> next{};
    bool good = true;
  };
  const int threads = GENERATE(1, 4);
  const int each = 60'000 / slowly;
  manager all(with(2));
  std::vector<ref<reader>> to;
  for (int a = 0; a < 4; ++a) {
    to.push_back(all.spawn<reader>({.worker = a % 2, .capacity = static_cast<std::uint32_t>(a < 2 ? 3 : 1024)}));
  }
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        for (int a = 0; a < 4; ++a) {
          if (i % 7 == a) {
            to[static_cast<std::size_t>(a)].tell<&reader::hear_text>(t, std::to_string(i));
          } else {
            to[static_cast<std::size_t>(a)].tell<&reader::hear>(t, i);
          }
        }
      }
    });
  }
  for (auto& t : running) t.join();
  all.drain();
  for (const auto& a : to) CHECK(all.await(a.ask<&reader::heard>(threads)) == threads * each);
}

TEST_CASE("actor: messages of threads that have ended arrive, each thread's in order") {
  manager all(with(1));
  auto keeper = all.spawn<spinner>();
  auto to = all.spawn<listener>({.worker = 0});
  std::atomic<bool> until{false}, begun{false};
  keeper.tell<&spinner::spin>(&until, &begun);
  while (!begun) std::this_thread::yield();
  int next = 0;
  for (int t = 0; t < 5; ++t) {
    // A destructor that runs when the thread ends sends, too.
    struct at_the_end {
      ~at_the_end() {
        if (next != nullptr) to.tell<&listener::hear>((*next)++);
      }
      ref<listener> to;
      int* next = nullptr;
    };
    std::thread([&] {
      static thread_local at_the_end last;
      last.to = to;
      last.next = &next;
      for (int i = 0; i < 20; ++i) to.tell<&listener::hear>(next++);
    }).join();
  }
  until = true;
  CHECK(all.await(to.ask<&listener::heard>(5 * 21)));
}

TEST_CASE("actor: what a thread sends comes behind what was sent before the thread began, and before what follows it") {
  manager all(with(1));
  auto keeper = all.spawn<spinner>();
  auto to = all.spawn<listener>({.worker = 0});
  int next = 0;
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> until{false}, begun{false};
    keeper.tell<&spinner::spin>(&until, &begun);
    while (!begun) std::this_thread::yield();
    for (int t = 0; t < 4; ++t) {
      to.tell<&listener::hear>(next++);
      // One thread in two has sent before: it has a ring, or begins while the one before it has one.
      std::thread([&] {
        to.tell<&listener::hear>(next++);
        if (t % 2 == 0) std::thread([&] { to.tell<&listener::hear>(next++); }).join();
      }).join();
    }
    until = true;
    all.drain();
  }
  CHECK(all.await(to.ask<&listener::heard>(next)));
}

TEST_CASE(
    "actor: what an actor sends because a thread told it to comes behind what that thread had sent there before") {
  struct pupil {
    void learn(int i) { learnt = i; }
    void examine(int i) { good = good && learnt >= i; }
    bool passed() const { return good; }
    int learnt = -1;
    bool good = true;
  };
  struct teacher {
    void send_to(ref<pupil> to, int i) { to.tell<&pupil::examine>(i); }
  };
  manager all(with(2));
  auto to = all.spawn<pupil>({.worker = 0});
  auto by = all.spawn<teacher>({.worker = 1});
  for (int i = 0; i < 20'000 / slowly; ++i) {
    to.tell<&pupil::learn>(i);
    by.tell<&teacher::send_to>(to, i);
    if (i % 100 == 0) all.drain();
  }
  all.drain();
  CHECK(all.await(to.ask<&pupil::passed>()));
}

TEST_CASE("actor: a thread that has sent may outlive the manager, and sends to the next one") {
  std::vector<std::unique_ptr<manager>> managers;
  std::atomic<int> ready{0}, done{0};
  ref<counter> to;
  const int rounds = 12;  // more than a thread remembers at once
  std::thread sender([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (ready < i) std::this_thread::yield();
      to.tell<&counter::add>(i);
      done = i;
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    if (i % 3 == 0) managers.clear();
    managers.push_back(std::make_unique<manager>(with(1)));
    to = managers.back()->spawn<counter>();
    ready = i;
    while (done < i) std::this_thread::yield();
    managers.back()->drain();
    CHECK(managers.back()->await(to.ask<&counter::total>()) == i);
  }
  SECTION("the managers end first") { managers.clear(); }
  SECTION("the thread ends first") {}
  sender.join();
}

TEST_CASE(
    "actor: what a thread has sent to an actor that ends, or to a manager that stops, is counted dead or handled") {
  const bool stops = GENERATE(false, true);
  const int threads = 3, each = 20'000 / slowly;
  std::atomic<std::uint64_t> handled{0};
  struct note {
    void take(std::atomic<std::uint64_t>* count) { ++*count; }
  };
  manager all(with(2));
  auto to = all.spawn<note>({.worker = 1});
  std::atomic<int> sent{0};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        to.tell<&note::take>(&handled);
        ++sent;
      }
    });
  }
  while (sent < each) std::this_thread::yield();
  if (stops) {
    all.stop();
  } else {
    all.stop(to);
  }
  for (auto& t : running) t.join();
  all.drain();
  CHECK(handled + all.dead_letters() == static_cast<std::uint64_t>(threads) * each);
}

TEST_CASE("actor: a message of a thread that has long been silent arrives, though the worker never rests") {
  struct juggler {
    void juggle(ref<juggler> self, std::atomic<int>* turns, const std::atomic<bool>* until) {
      ++*turns;
      if (!*until) self.tell<&juggler::juggle>(self, turns, until);
    }
  };
  std::atomic<int> turns{0};
  std::atomic<bool> until{false};
  manager all(with(1));  // behind them: its end waits for the juggler, which uses them
  auto busy = all.spawn<juggler>();
  auto to = all.spawn<counter>();
  busy.tell<&juggler::juggle>(busy, &turns, &until);
  for (int i = 1; i <= 3; ++i) {
    to.tell<&counter::add>(1);
    CHECK(all.await(to.ask<&counter::total>()) == i);
    // So many turns are some thousand batches, each with a look.
    for (const int before = turns; turns - before < 2'000'000 / slowly;) std::this_thread::yield();
  }
  until = true;
}

TEST_CASE("actor: a full mailbox lets stop, timers and monitors pass") {
  struct watcher {
    void gone(shunt::ended e) { names += e.name; }
    std::string all_names() const { return names; }
    std::string names;
  };
  manager all(with(1));
  gate g;
  auto full = all.spawn<counter>({.name = "full", .capacity = 1});
  auto w = all.spawn<watcher>({.capacity = 1});
  w.monitor<&watcher::gone>(full);
  hold(full, g);
  full.tell<&counter::add>(1);  // the mailbox is full now
  full.tell_after<&counter::add>(0ms, 1);
  all.stop(full);
  g.opens.set_value();
  all.drain();
  CHECK(all.await(w.ask<&watcher::all_names>()) == "full");
  CHECK(all.dead_letters() >= 1);
  w.monitor<&watcher::gone>(full);  // ended already: told at once
  all.drain();
  CHECK(all.await(w.ask<&watcher::all_names>()) == "full");
}

TEST_CASE(
    "actor: a sender that waits for a train goes on when one comes home, also where other waiting senders need none") {
  struct teller {
    void send(ref<counter> to, int n, std::atomic<int>* begun) {
      ++*begun;
      for (int i = 0; i < n; ++i) to.tell<&counter::add>(1);
    }
  };
  constexpr int more_than_trains = 32 * 256 + 1;
  constexpr int tellers = 80;
  manager all(with(2));
  auto full = all.spawn<counter>({.worker = 0, .capacity = 2});
  gate g;
  hold(full, g);
  // Its worker unloads nothing: all trains are on their way, and the mailbox does not look full.
  std::atomic<bool> go_on{false};
  std::atomic<bool> spins{false};
  all.spawn<spinner>({.worker = 0}).tell<&spinner::spin>(&go_on, &spins);
  while (!spins) std::this_thread::yield();
  std::atomic<int> begun{0};
  all.spawn<teller>({.worker = 1}).tell<&teller::send>(full, more_than_trains, &begun);
  while (begun != 1) std::this_thread::yield();
  for (int i = 0; i < tellers; ++i) all.spawn<teller>({.worker = 1}).tell<&teller::send>(full, 1, &begun);
  while (begun != 1 + tellers) std::this_thread::yield();
  all.await(all.spawn<counter>({.worker = 1}).ask<&counter::total>());  // the last one waits, too
  go_on = true;
  g.opens.set_value();
  all.drain();
  CHECK(all.await(full.ask<&counter::total>()) == more_than_trains + tellers);
}

TEST_CASE("actor: senders that wait for an actor that ends go on, and their messages are dead") {
  manager all(with(2));
  gate g;
  auto full = all.spawn<counter>({.worker = 0, .capacity = 1});
  hold(full, g);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([full] {
      for (int i = 0; i < 5; ++i) full.tell<&counter::add>(1);
    });
  }
  all.stop(full);
  g.opens.set_value();
  for (auto& t : threads) t.join();
  all.drain();
  CHECK(all.dead_letters() == 15);
}

// --- ends ---

TEST_CASE("actor: what is sent to an actor that has ended is a dead letter, and an ask is answered with that") {
  std::string why;
  auto o = with(2);
  std::mutex lock;
  o.on_dead_letter = [&](const shunt::dead_letter& d) {
    const std::scoped_lock held(lock);
    why = d.why;
  };
  manager all(std::move(o));
  auto co = all.spawn<counter>({.worker = GENERATE(0, 1)});
  all.stop(co);
  all.drain();
  CHECK(all.actors() == 0);
  co.tell<&counter::add>(1);
  all.drain();
  CHECK(all.dead_letters() == 1);
  CHECK(why == "the actor has ended");
  CHECK_THROWS_AS(all.await(co.ask<&counter::add>(1)), shunt::unanswered);
  auto next = all.spawn<counter>();  // in the same place, perhaps
  co.tell<&counter::add>(1);
  CHECK(all.await(next.ask<&counter::total>()) == 0);
}

TEST_CASE("actor: an actor may end itself, and what it has not handled is dead") {
  struct mortal {
    void die() { shunt::this_actor::stop(); }
  };
  manager all(with(1));
  auto m = all.spawn<mortal>();
  for (int i = 0; i < 3; ++i) m.tell<&mortal::die>();
  all.drain();
  CHECK(all.actors() == 0);
  CHECK(all.dead_letters() == 2);
  CHECK_THROWS_AS(shunt::this_actor::stop(), shunt::usage_error);
}

TEST_CASE("actor: stop ends all actors, also those whose handlers wait, and spawn throws afterwards") {
  manager all(with(2));
  gate g;
  for (int i = 0; i < 10; ++i) hold(all.spawn<counter>(), g);
  CHECK_FALSE(all.stop_for(1ms));
  CHECK(all.actors() == 10);
  CHECK_THROWS_AS(all.spawn<counter>(), shunt::error);
  g.opens.set_value();
  all.stop();
  CHECK(all.actors() == 0);
}

TEST_CASE("actor: spawn throws after stop, even where a handler keeps its worker from hearing of it") {
  struct keeper {
    void keep(const std::atomic<bool>* open, std::atomic<bool>* begun) {
      *begun = true;
      while (!*open) std::this_thread::yield();
    }
  };
  manager all(with(1));
  std::atomic<bool> open{false};
  std::atomic<bool> begun{false};
  all.spawn<keeper>().tell<&keeper::keep>(&open, &begun);
  while (!begun) std::this_thread::yield();
  CHECK_FALSE(all.stop_for(0ms));
  CHECK_THROWS_AS(all.spawn<counter>(), shunt::error);
  open = true;
  all.stop();
  CHECK(all.actors() == 0);
}

TEST_CASE("actor: a destructor names the handlers that do not end") {
  journal said;
  gate g;
  auto o = with(1, &said);
  o.stop_after = 1ms;
  o.report = [&](std::string_view line) {
    said(line);
    g.opens.set_value();
  };
  {
    manager all(std::move(o));
    hold(all.spawn<counter>({.name = "slow"}), g);
  }
  CHECK(said.has("handlers that do not end: of actors `slow`"));
}

// --- failures ---

TEST_CASE("actor: an exception reaches the asker and ends an actor without a supervisor; monitors get its text") {
  struct watcher {
    void gone(shunt::ended e) { text += e.name + ": " + e.why; }
    std::string what() const { return text; }
    std::string text;
  };
  journal said;
  manager all(with(GENERATE(1, 2), &said));
  auto co = all.spawn<counter>({.name = "co"});
  auto w = all.spawn<watcher>();
  w.monitor<&watcher::gone>(co);
  CHECK(failure_of(co.ask<&counter::fail>(1)) == "out of order");
  all.drain();
  CHECK(all.await(w.ask<&watcher::what>()) == "co: out of order");
  CHECK(said.has("actor `co` has ended: out of order"));
  CHECK_THROWS_AS(all.await(co.ask<&counter::add>(1)), shunt::unanswered);
}

TEST_CASE(
    "actor: one_for_one restarts the actor, with its first arguments, mailbox and refs; all_for_one restarts all") {
  struct worker {
    explicit worker(int first) : value(first) {}
    void set(int v) { value = v; }
    void fail() { throw 7; }
    int get() const { return value; }
    int value;
  };
  const auto how = GENERATE(shunt::strategy::one_for_one, shunt::strategy::all_for_one);
  manager all(with(2));
  auto s = all.supervise({.how = how, .restarts = 2, .within = 1h});
  auto a = all.spawn<worker>({.worker = 0, .under = s}, 1);
  auto b = all.spawn<worker>({.worker = 1, .under = s}, 2);
  a.tell<&worker::set>(10);
  b.tell<&worker::set>(20);
  all.drain();
  a.tell<&worker::fail>();
  all.drain();
  CHECK(all.await(a.ask<&worker::get>()) == 1);
  CHECK(all.await(b.ask<&worker::get>()) == (how == shunt::strategy::one_for_one ? 20 : 2));
  CHECK(all.restarts() == (how == shunt::strategy::one_for_one ? 1 : 2));
}

TEST_CASE("actor: more failures than a supervisor bears end its actors, or are its own supervisor's to decide") {
  struct frail {
    void fail() { throw std::runtime_error("frail"); }
    int alive() const { return 1; }
  };
  const bool above = GENERATE(false, true);
  journal said;
  manager all(with(2, &said));
  auto top = all.supervise({.restarts = 1, .within = 1h});
  auto s = all.supervise({.restarts = 2, .within = 1h, .under = above ? top : shunt::supervisor()});
  auto a = all.spawn<frail>({.name = "a", .under = s});
  static_cast<void>(all.spawn<frail>({.name = "b", .under = s}));
  const auto fail_once = [&] {
    a.tell<&frail::fail>();
    all.drain();
  };
  fail_once();
  fail_once();
  CHECK(all.actors() == 2);
  fail_once();  // the third: the supervisor fails
  CHECK(all.actors() == (above ? 2 : 0));
  if (!above) {
    CHECK(said.has("actor `a` has ended: frail; its supervisor has given up"));
    CHECK_THROWS_AS(all.spawn<frail>({.under = s}), shunt::error);
  } else {
    for (int i = 0; i < 3; ++i) fail_once();  // and once more: that is too much for the top
    CHECK(all.actors() == 0);
  }
}

TEST_CASE("actor: failures that are long ago do not count") {
  struct frail {
    void fail() { throw std::runtime_error("frail"); }
  };
  manager all(with(1));
  auto s = all.supervise({.restarts = 1, .within = 1ns});
  auto a = all.spawn<frail>({.under = s});
  for (int i = 0; i < 20; ++i) {
    a.tell<&frail::fail>();
    all.drain();
    const auto then = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() <= then + 1us) {
    }
  }
  CHECK(all.actors() == 1);
  CHECK(all.restarts() == 20);
}

TEST_CASE("actor: what cannot be made again is refused under a supervisor, unless it need not be") {
  struct owner {
    explicit owner(std::unique_ptr<int> p) : mine(std::move(p)) {}
    std::unique_ptr<int> mine;
  };
  manager all(with(1));
  auto s = all.supervise();
  CHECK_THROWS_AS(all.spawn<owner>({.under = s}, std::make_unique<int>(1)), shunt::usage_error);
  CHECK(all.spawn<owner>({.under = s, .restarts = false}, std::make_unique<int>(1)));
  CHECK_THROWS_AS(all.spawn<counter>({.capacity = 0}), shunt::usage_error);
  CHECK_THROWS_AS(all.spawn<counter>({.worker = 1}), shunt::usage_error);
  CHECK_THROWS_AS(ref<counter>().tell<&counter::add>(1), shunt::usage_error);
}

namespace {
/// Counts what it handled in a place that survives its failures.
struct flaky {
  explicit flaky(std::atomic<long>* h) : handled(h) {}
  void work(std::uint32_t random) {
    handled->fetch_add(1, std::memory_order_relaxed);
    if (random % 64 == 0) throw std::runtime_error("at random");
  }
  std::atomic<long>* handled;
};
struct source {
  void run(std::vector<ref<flaky>> to, int n, std::uint64_t seed) {
    for (int i = 0; i < n; ++i) {
      const auto r =
          shunt::philox4x32_10({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(seed), 0, 0}, {1, 2});
      to[r[0] % to.size()].tell<&flaky::work>(r[1]);
    }
  }
};
}  // namespace

TEST_CASE("actor: under random failures and ends every message is handled once, or counted dead") {
  manager all(with(GENERATE(1, 2)));
  std::atomic<long> handled{0};
  std::vector<ref<flaky>> workers;
  std::vector<shunt::supervisor> above;
  for (int i = 0; i < 10; ++i) {  // half of them give up at some time
    above.push_back(all.supervise({.how = i % 3 == 0 ? shunt::strategy::all_for_one : shunt::strategy::one_for_one,
                                   .restarts = i % 2 == 0 ? 1'000'000 : 20,
                                   .within = 1h}));
  }
  for (std::size_t i = 0; i < 100; ++i) {
    workers.push_back(all.spawn<flaky>({.capacity = 8, .under = above[i % 10]}, &handled));
  }
  const int n = 40'000 / slowly;
  for (std::uint64_t s = 0; s < 3; ++s) all.spawn<source>().tell<&source::run>(workers, n, s);
  source().run(workers, n / 10, 3);  // this thread
  all.drain();
  CHECK(handled + static_cast<long>(all.dead_letters()) == 3L * n + n / 10);
  CHECK(handled > 0);
  CHECK(all.restarts() > 0);
}

TEST_CASE("actor: managers and actors begin and end, again and again") {
  for (int i = 0; i < 100 / slowly; ++i) {
    manager all(with(1 + i % 3));
    for (int k = 0; k < 100; ++k) {
      auto co = all.spawn<counter>();
      co.tell<&counter::add>(1);
      all.stop(co);
    }
  }
}

// --- timers ---

TEST_CASE("actor: timers come in their order, once or again and again, until they are cancelled") {
  struct clock {
    void note(int i) { heard += std::to_string(i); }
    void tick() { ++ticks; }
    std::string what() const { return heard; }
    int count() const { return ticks; }
    std::string heard;
    int ticks = 0;
  };
  const auto in_order = [] {  // in time that passes only where no fiber can run
    manager all(shunt::sched::this_worker::current());
    auto c = all.spawn<clock>();
    c.tell_after<&clock::note>(20ms, 2);
    c.tell_after<&clock::note>(1ms, 1);
    auto never = c.tell_after<&clock::note>(10ms, 9);
    never.cancel();
    shunt::sched::this_fiber::sleep_for(1h);
    if (c.ask<&clock::what>().get() != "12") throw std::logic_error("in another order");
  };
  CHECK(shunt::test::explore(in_order, 20).failure.empty());

  manager all(with(2));
  auto c = all.spawn<clock>({.worker = GENERATE(0, 1)});
  c.tell_after<&clock::note>(1ms, 1);
  auto ticking = c.tell_every<&clock::tick>(1ms);
  while (all.await(c.ask<&clock::what>()) != "1") std::this_thread::sleep_for(1ms);
  while (all.await(c.ask<&clock::count>()) < 5) std::this_thread::sleep_for(1ms);
  ticking.cancel();
  all.drain();
  CHECK_THROWS_AS(c.tell_every<&clock::tick>(0ms), shunt::usage_error);
}

TEST_CASE("actor: a timer whose message waits sends no second one") {
  struct clock {
    void tick() { ++ticks; }
    void wait(shunt::future<void> until) { until.get(); }
    int count() const { return ticks; }
    int ticks = 0;
  };
  manager all(with(1));
  gate g;
  auto c = all.spawn<clock>();
  c.tell<&clock::wait>(g.is_open);
  auto fast = c.tell_every<&clock::tick>(100us);
  auto other = all.spawn<clock>();
  auto slow = other.tell_every<&clock::tick>(100us);
  while (all.await(other.ask<&clock::count>()) < 50) std::this_thread::sleep_for(1ms);
  auto seen = c.ask<&clock::count>();  // behind all that its timer has sent so far
  g.opens.set_value();
  CHECK(all.await(seen) == 1);
  fast.cancel();
  slow.cancel();
}

// --- in any order ---

TEST_CASE(
    "actor: exploring finds a message that overtakes another one's, a circle of asks, and no fault where none is") {
  struct log {
    void note(char c) { heard += c; }
    std::string all() const { return heard; }
    std::string heard;
  };
  struct speaker {
    void say(shunt::ref<log> to, char c) { to.tell<&log::note>(c); }
  };
  struct peer {
    int ask(shunt::ref<peer> other, int left) { return left == 0 ? 0 : 1 + other.ask<&peer::answer>(left - 1).get(); }
    int answer(int left) const { return left; }
  };
  // A sender that tells two speakers to speak cannot know which of them is heard first. An actor that asks one that
  // asks it waits for ever, if both have begun.
  const auto hears = [](std::string wrong) {
    return [wrong] {
      shunt::manager all(shunt::sched::this_worker::current());
      const auto l = all.spawn<log>();
      const auto a = all.spawn<speaker>();
      const auto b = all.spawn<speaker>();
      a.tell<&speaker::say>(l, 'a');
      b.tell<&speaker::say>(l, 'b');
      all.drain();
      if (l.ask<&log::all>().get() == wrong) throw std::logic_error("heard " + wrong);
    };
  };
  const auto circle = [] {
    shunt::manager all(shunt::sched::this_worker::current());
    const auto a = all.spawn<peer>();
    const auto b = all.spawn<peer>();
    auto one = a.ask<&peer::ask>(b, 1);
    auto two = b.ask<&peer::ask>(a, 1);
    if (one.get() + two.get() != 2) throw std::logic_error("another sum");
  };
  for (const char* order : {"ab", "ba"}) {
    const auto found = shunt::test::explore(hears(order), 100);
    CHECK_THAT(found.failure, Catch::Matchers::Contains(order));
    CHECK(shunt::test::explore(hears(order), 1, {.schedule = found.schedule}).failure == found.failure);
  }
  CHECK(shunt::test::explore(hears("aa"), 20).failure == "");
  const auto found = shunt::test::explore(circle, 100);
  CHECK_THAT(found.failure, Catch::Matchers::Contains("deadlock"));
}
