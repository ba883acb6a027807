/// Fuzzes what arrives from another process: any bytes are a train that is unloaded, or one line that names the rank.
///
/// An input says which of the jobs below it is for, and has one train as a network delivers it. The job lives in this
/// process and stays, so that what a sound train left behind (an early mark, a piece of a collective) is there when the
/// next one comes. It is made anew when it has failed, and after some thousand trains.
///
///   byte 0    bits 0, 1: the job; bit 2: checks stay as they are, and are mostly wrong, else they are renewed;
///             bit 3: handlers' numbers stay as they are, else they become numbers of handlers
///   byte 1..  the freight
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <shunt/pgas.hpp>
#include <shunt/pgas/detail/job.hpp>
#include <span>
#include <string>
#include <string_view>
#include <support/ranks.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace shunt;
using pgas::detail::job;
using pgas::detail::pe_worker;

void expect(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

/// The network as rank 0 sees it. The fuzzer is every other rank: it says what rank 0 says, and takes what it is sent.
class fuzzed_end final : public transport::carrier {
 public:
  explicit fuzzed_end(int ranks) : ranks_(ranks) {}
  std::string_view name() const noexcept override { return "fuzzed"; }
  int rank() const noexcept override { return 0; }
  int ranks() const noexcept override { return ranks_; }
  int ranks_here() const noexcept override { return ranks_; }
  std::vector<std::string> exchange(const std::string& mine) override {
    return std::vector<std::string>(static_cast<std::size_t>(ranks_), mine);
  }
  void start(const transport::service&) override {}
  void send(rail::train& loaded, int) override { rail::send_home(loaded); }
  bool poll(rail::train_list& arrived) override {
    if (next == nullptr) return false;
    arrived.push_back(*std::exchange(next, nullptr));
    return true;
  }
  transport::shared_place place_of(int) const noexcept override { return {}; }
  bool has_network() const noexcept override { return true; }
  std::chrono::nanoseconds patience() const noexcept override { return std::chrono::seconds(1); }
  std::optional<transport::loss> beat() override { return std::nullopt; }
  void stop() override {}
  [[noreturn]] void abort(int) noexcept override { std::abort(); }

  rail::train* next = nullptr;

 private:
  int ranks_;
};

/// As long as in the jobs' options: a train's capacity.
constexpr std::size_t capacity = 1024;

/// All arithmetic is modulo 2^n: captures and values are the program's own, and the network may bring any.
struct part {
  std::array<unsigned long, 64> cells{};
};

struct letters : pgas::selector<letters, std::uint32_t, pgas::varying<char>, pgas::asking<int, short, long>> {
  explicit letters(pgas::pe& me) : selector(me) {}
  void process(std::uint32_t n, int from) { sum += n + static_cast<unsigned>(from); }
  void process(std::string_view text) {
    for (const char c : text) sum += static_cast<unsigned char>(c);
  }
  long process(int asked, int from) { return long{asked} + from; }
  void replied(short kept, long answer) {
    sum += static_cast<unsigned long>(kept) + static_cast<unsigned long>(answer);
  }
  unsigned long sum = 0;
};

struct shape {
  int ranks, pes, workers, hops;
  std::size_t budget;
};
constexpr shape shapes[] = {{2, 2, 1, 1, 64 << 10},
                            {2, 6, 1, 1, 40 << 10},
                            {6, 6, 1, 2, 64 << 10},
                            {6, 12, 1, 2, 64 << 10},
                            {2, 66, 1, 1, 128 << 10}};  // the last: requests have routes, other messages have not

pgas::options options_of(const shape& s) {
  pgas::options o;
  o.pes = s.pes;
  o.workers = s.workers;
  o.hops = s.hops;
  o.budget = s.budget;
  o.train_bytes = capacity;
  return o;
}

/// Every kind of message, to a PE of another rank.
template <class Adder>
void send_everything(pgas::pe& me, Adder& adder, letters& post, int times) {
  const int there = me.count() - 1 - me.index();
  for (int i = 0; i < times; ++i) {
    adder.send(there, [i](part& c) { ++c.cells[static_cast<std::size_t>(i) % 64]; });
    adder.send(there, std::string_view("text"), [](part& c, std::string_view t) { c.cells[0] += std::size(t); });
    adder.ask(
        there,
        [i](part& c, auto& at) { return c.cells[(static_cast<unsigned>(i) + static_cast<unsigned>(at.from())) % 64]; },
        [](part& c, unsigned long value) { c.cells[1] += value; });
    post.send<0>(there, 7u);
    post.send<1>(there, std::string_view("letter"));
    post.ask<2>(there, 5, short{3});
  }
}

/// A job of one worker here, on a thread of its own. Its PEs have constructed an actor and a selector and have asked
/// for values; then they wait, and the worker unloads what the fuzzer brings.
class standing_job {
 public:
  explicit standing_job(const shape& s) : end_(s.ranks), thread_([this, s] { live(s); }) {}
  ~standing_job() {
    hand_over(nullptr);
    thread_.join();
  }

  /// An empty train with this freight. It lives until it has come home: the job may hold it.
  rail::train& train_of(std::span<const std::byte> freight) {
    for (auto* t = home_.arrivals(); t != nullptr;) {
      auto* const next = t->next;
      std::erase_if(trains_, [t](const testing::train_copy& c) { return &*c == t; });
      t = next;
    }
    // Its memory ends where the freight does: a look behind is seen.
    return *trains_.emplace_back(freight.size() - sizeof(rail::train_head), freight, &home_);
  }

  /// What the validator finds: as the job asks it.
  std::string fault_of(const rail::train& t) {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return whole_ != nullptr; });
    return whole_->fault_of(t);
  }

  /// Lets a train arrive. \return the job's message, if it has failed; it stands no more then
  std::string arrive(rail::train& t) {
    hand_over(&t);
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return !handed_over_; });
    return std::exchange(message_, {});
  }

 private:
  void hand_over(rail::train* t) {
    const std::lock_guard lock(guard_);
    train_ = t;
    handed_over_ = true;
    changed_.notify_all();
  }

  void live(const shape& s) {
    job whole(options_of(s), end_);
    whole.set_up();
    pe_worker& here = whole.worker_here(0);
    int ready = 0;
    std::vector<sched::waker> waiting;
    for (int p = here.facts.first_pe; p < here.facts.first_pe + here.facts.pes_here; ++p) {
      whole.runtime().spawn(
          [&, p] {
            pgas::pe me(here, p);
            pgas::symmetric<part> cells(me);
            pgas::actor_of adder(cells);
            letters post(me);
            send_everything(me, adder, post, 2);  // no answers come, and each takes a train until then
            here.out.flush();
            ++ready;
            waiting.push_back(sched::this_fiber::self());
            sched::this_fiber::park("the end of the fuzzing");
          },
          {.worker = 0});
    }
    whole.runtime().spawn(
        [&] {
          while (ready < here.facts.pes_here) sched::this_fiber::yield();
          {
            const std::lock_guard lock(guard_);
            whole_ = &whole;
            changed_.notify_all();
          }
          serve(whole, here);
          whole.fail("the end");  // programs go, and wait for nothing
          for (const auto& w : waiting) w.wake();
        },
        {.worker = 0});
    whole.runtime().run([] {});
    whole.tear_down();
  }

  /// Until the job has failed, or the fuzzer wants no more of it.
  void serve(job& whole, pe_worker& here) {
    for (;;) {
      std::unique_lock lock(guard_);
      changed_.wait(lock, [this] { return handed_over_; });
      if (train_ == nullptr) return;
      end_.next = train_;
      for (int i = 0; i < 1000 && here.progress(); ++i) {
      }
      expect(end_.next == nullptr || whole.failed(), "a train that arrives is taken");
      here.out.flush();
      message_ = whole.message();
      handed_over_ = false;
      changed_.notify_all();
    }
  }

  fuzzed_end end_;
  rail::train_inbox home_;
  std::vector<testing::train_copy> trains_;
  std::mutex guard_;
  std::condition_variable changed_;
  job* whole_ = nullptr;  // from when it stands
  rail::train* train_ = nullptr;
  bool handed_over_ = false;
  std::string message_;
  std::thread thread_;
};

/// As a sender makes them that is wrong, or another program, and not a network that changes bits.
void renew_checks(rail::train& t, bool known_handlers) {
  for (std::size_t at = 0; at + sizeof(wire::batch_head) <= t.head.bytes;) {
    auto& batch = *reinterpret_cast<wire::batch_head*>(t.goods() + at);
    if (known_handlers) batch.handler = static_cast<std::uint16_t>(batch.handler % wire::handler_table::size());
    const std::size_t room = t.head.bytes - at - sizeof batch;
    const std::size_t bytes = std::min<std::size_t>(batch.bytes, room);
    if (batch.handler < wire::handler_table::size() && batch.mailbox == pgas::detail::control) {
      const std::size_t captures = wire::handler_table::at(batch.handler).layout().least;
      for (std::size_t p = 0; p + sizeof(wire::span_head) + captures <= bytes;) {
        auto& head = *reinterpret_cast<wire::span_head*>(batch.messages() + p);
        head.way = pgas::detail::control_check({batch.messages() + p + sizeof head, captures});
        p += wire::round_up(sizeof head + std::size_t{head.bytes}, wire::span_alignment);
      }
    }
    batch.check = wire::head_check(batch, t.head.from, t.head.to);
    at = wire::round_up(at + sizeof batch + bytes, wire::batch_alignment);
  }
}

/// FNV-1a.
std::uint32_t digest(const std::uint8_t* data, std::size_t size) {
  return std::accumulate(data, data + size, 0x811c9dc5u,
                         [](std::uint32_t h, std::uint8_t b) { return (h ^ b) * 0x01000193u; });
}

void expect_refusal(const std::string& message, const rail::train& t) {
  expect(message.starts_with("rank " + std::to_string(t.head.rank) + " sent a damaged train ("),
         ("a refusal names the rank: " + message).c_str());
  expect(message.find('\n') == message.npos, "a refusal is one line");
}

std::array<std::unique_ptr<standing_job>, std::size(shapes)> standing;
std::array<int, std::size(shapes)> trains_left{};

}  // namespace

/// The fuzzer looks for leaks after each input. A job outlives the input for which it was made, and what it owns is
/// referred to from stacks of fibers, where nothing looks.
extern "C" int __lsan_is_turned_off() { return 1; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 + sizeof(rail::train_head) || size > 1 + sizeof(rail::train_head) + capacity) return 0;
  wire::handler_table::number();  // a job does so too, on its thread
  const std::size_t which = data[0] % std::size(shapes);
  const bool renew = (data[0] & 4) == 0;
  const bool known_handlers = (data[0] & 8) == 0;
  const std::span<const std::byte> freight(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  auto& here = standing[which];
  if (here == nullptr || --trains_left[which] < 0) {
    here = std::make_unique<standing_job>(shapes[which]);
    trains_left[which] = 5000;
  }
  rail::train& t = here->train_of(freight);
  // What a transport vouches for.
  t.head.bytes = static_cast<std::uint32_t>(freight.size() - sizeof(rail::train_head));
  t.head.channel = static_cast<std::uint8_t>(t.head.channel % transport::channels);
  t.head.rank = static_cast<std::uint16_t>(1 + t.head.rank % (shapes[which].ranks - 1));
  if (renew) renew_checks(t, known_handlers);
  // A job that has failed takes a millisecond to replace, so only some of the trains that the validator refuses end
  // one.
  if (const auto fault = here->fault_of(t); !fault.empty() && digest(data, size) % 256 != 0) {
    expect_refusal(fault, t);
    rail::send_home(t);
    return 0;
  }
  const auto message = here->arrive(t);
  if (message.empty()) return 0;
  if (message.find("PEs disagree") == message.npos && message.find("handlers have sent more than") == message.npos) {
    expect_refusal(message, t);
  }
  here.reset();
  return 0;
}

/// With SHUNT_FUZZ_SEEDS set to a folder: writes trains of sound jobs there, for the corpus.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("SHUNT_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  for (std::size_t which = 0; which < std::size(shapes); ++which) {
    const shape& s = shapes[which];
    std::set<std::string> kinds;
    testing::memory_network net(s.ranks, [&](rail::train& t, int rank) {
      if (rank != 0) return;
      std::string kind;
      for (std::size_t at = 0; at < t.head.bytes;) {
        const auto& batch = *reinterpret_cast<const wire::batch_head*>(t.goods() + at);
        kind += std::to_string(batch.handler) + "." + std::to_string(batch.flags) + "-";
        at = wire::round_up(at + sizeof batch + batch.bytes, wire::batch_alignment);
        if (kind.size() > 20) break;
      }
      if (!kinds.insert(kind).second) return;
      const std::string path = std::string(folder) + "/" + std::to_string(which) + "-" + std::to_string(kinds.size());
      std::FILE* const file = std::fopen(path.c_str(), "wb");
      expect(file != nullptr, "the folder of SHUNT_FUZZ_SEEDS can be written to");
      std::fputc(static_cast<int>(which), file);
      std::fwrite(t.freight(), 1, t.freight_bytes(), file);
      std::fclose(file);
    });
    net.run(options_of(s), [](pgas::pe& me) {
      pgas::symmetric<part> cells(me);
      pgas::actor_of adder(cells);
      letters post(me);
      send_everything(me, adder, post, 20);
      adder.finish();
      post.finish();
      post.quiesce();
      static_cast<void>(me.sum(1));
      static_cast<void>(me.gather(std::string(400, 'x')));
      me.barrier();
    });
  }
  return 0;
}
