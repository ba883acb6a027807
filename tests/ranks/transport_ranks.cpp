/// One transport between several processes: every rank checks what holds for every carrier.
///
///   transport_ranks orderly [hosts]    the scenarios of a job that ends well, one after the other; on one host, or so
///                                      many, with as many ranks each and one table of processes
///   transport_ranks killed|stopped     the last rank leaves by SIGKILL or SIGSTOP; the others must name it
///   transport_ranks resumed            the last rank is stopped for a while, and reports no other rank as lost
///   transport_ranks aborted            the last rank ends the job although one of its threads is busy
///   transport_ranks unstarted          exchange and the end, without a service between
///   transport_ranks speed [bytes]      latency and bandwidth between ranks 0 and 1
///
/// Over MPI, or the network that SHUNT_TRANSPORT names.
#include <shunt/transport.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/rail.hpp>
#include <support/expect.hpp>

namespace {

/// Blocks that were asked for with an alignment, as trains are, by this program or by the transport, and are in use.
std::atomic<std::ptrdiff_t> aligned_blocks{0};

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t aligned) {
  const auto alignment = static_cast<std::size_t>(aligned);
  void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  ++aligned_blocks;
  return block;
}
void operator delete(void* block, std::align_val_t) noexcept {
  if (block != nullptr) --aligned_blocks;
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t aligned) noexcept { operator delete(block, aligned); }

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using shunt::rail::train;
using shunt::rail::train_list;
using shunt::transport::carrier;

carrier* the_job = nullptr;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", the_job == nullptr ? -1 : the_job->rank(), what.c_str());
  std::fflush(stderr);
  if (the_job != nullptr) the_job->abort(1);
  std::_Exit(1);
}

/// Ends the job at once: an exception would destroy trains that the transport still uses.
void expect(bool holds, std::string_view what = {},
            const std::source_location& where = std::source_location::current()) {
  if (!holds) fail(shunt::testing::unmet::text(what, where));
}

/// The trains of one thread.
class yard {
 public:
  yard(std::size_t trains, std::size_t capacity) {
    for (std::size_t i = 0; i < trains; ++i) {
      void* const memory = ::operator new(sizeof(train) + capacity, std::align_val_t{shunt::cache_line});
      all_.emplace_back(::new (memory) train);
      all_.back()->home = &train_inbox_;
      all_.back()->capacity = static_cast<std::uint32_t>(capacity);
      free_.push_back(*all_.back());
      ++at_home_;
    }
  }
  train* take() {
    gather();
    if (at_home_ == 0) return nullptr;
    --at_home_;
    return &free_.pop_front();
  }
  bool complete() {
    gather();
    return at_home_ == all_.size();
  }
  std::size_t at_home() {
    gather();
    return at_home_;
  }

 private:
  struct release {
    void operator()(train* t) const noexcept {
      t->~train();
      ::operator delete(static_cast<void*>(t), std::align_val_t{shunt::cache_line});
    }
  };
  void gather() {
    for (train* t = train_inbox_.arrivals(); t != nullptr;) {
      train* const following = t->next;
      expect(t->head.empty == 1);
      free_.push_back(*t);
      ++at_home_;
      t = following;
    }
  }
  shunt::rail::train_inbox train_inbox_;
  std::vector<std::unique_ptr<train, release>> all_;
  train_list free_;
  std::size_t at_home_ = 0;
};

/// Contents that only this train of this sender has: its number, then bytes computed from it.
struct label {
  std::uint32_t number;
  std::uint32_t from;
};

std::uint32_t length_of(std::uint32_t number, std::uint32_t from, std::size_t capacity) {
  const auto mixed = (number * 2'654'435'761u) ^ (from * 40'503u);
  // Short trains, the shortest, and full ones are all common.
  const auto kind = mixed >> 30;
  if (kind == 0) return sizeof(label) + mixed % 64;
  if (kind == 1) return static_cast<std::uint32_t>(capacity);
  return static_cast<std::uint32_t>(sizeof(label) + mixed % (capacity - sizeof(label)));
}

void load(train& t, std::uint32_t number, std::uint32_t from, int channel, std::size_t capacity) {
  t.head.bytes = length_of(number, from, capacity);
  t.head.from = static_cast<std::uint16_t>(from);
  t.head.to = static_cast<std::uint16_t>(number);
  t.head.channel = static_cast<std::uint8_t>(channel);
  const label l{number, from};
  std::memcpy(t.goods(), &l, sizeof l);
  for (std::uint32_t i = sizeof l; i < t.head.bytes; i += 61) {
    t.goods()[i] = static_cast<std::byte>(number + from + i);
  }
}

/// \return the train's number
std::uint32_t unload(train& t, int channel, std::size_t capacity) {
  label l{};
  std::memcpy(&l, t.goods(), sizeof l);
  expect(t.head.channel == channel);
  expect(t.head.from == l.from);
  expect(t.head.to == static_cast<std::uint16_t>(l.number));
  expect(t.head.bytes == length_of(l.number, l.from, capacity));
  for (std::uint32_t i = sizeof l; i < t.head.bytes; i += 61) {
    expect(t.goods()[i] == static_cast<std::byte>(l.number + l.from + i));
  }
  return l.number;
}

void rest(const carrier& job) { std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(job.patience(), 1ms)); }

/// Receives trains, and lets ranks meet (a barrier): a signal is a train without goods on channel 1.
class receiver {
 public:
  explicit receiver(carrier& job)
      : job_(job),
        signals_(static_cast<std::size_t>(job.ranks()), 0),
        mine_(static_cast<std::size_t>(job.ranks()), 64) {}

  /// One poll. \param take  called with every train that is no signal. \return something moved
  template <class Take>
  bool turn(Take take) {
    train_list arrived;
    const bool moved = job_.poll(arrived);
    while (!arrived.empty()) {
      train& t = arrived.pop_front();
      if (t.head.bytes == 0) {
        expect(t.head.channel == 1);
        ++signals_[t.head.from];
        shunt::rail::send_home(t);
      } else {
        take(t);
      }
    }
    return moved;
  }

  /// Collective: no rank goes on before all ranks are here. Short trains may still be under way.
  template <class Take>
  void meet(Take take) {
    ++meetings_;
    for (int r = 0; r < job_.ranks(); ++r) {
      if (r == job_.rank()) continue;
      train* const t = mine_.take();
      expect(t != nullptr);
      t->head.bytes = 0;
      t->head.channel = 1;
      t->head.from = static_cast<std::uint16_t>(job_.rank());
      job_.send(*t, r);
    }
    while (!all_ranks_are_here() || !mine_.complete()) {
      if (!turn(take)) rest(job_);
    }
  }
  void meet() {
    meet([](train&) { fail("a train arrived that no rank should have sent"); });
  }

 private:
  bool all_ranks_are_here() const {
    for (int r = 0; r < job_.ranks(); ++r) {
      if (r != job_.rank() && signals_[static_cast<std::size_t>(r)] < meetings_) return false;
    }
    return true;
  }
  carrier& job_;
  std::vector<int> signals_;
  yard mine_;
  int meetings_ = 0;
};

/// A counter that the ranks of this machine share by a file without a name: once a rank was killed inside a call of
/// MPI, MPI may carry no more.
class shared_counter {
 public:
  /// Collective.
  explicit shared_counter(carrier& job) {
    int file = -1;
    if (job.rank() == 0) {
      file = memfd_create("shunt-test-reports", 0);
      if (file < 0 || ftruncate(file, sizeof(std::atomic<int>)) != 0) fail("no shared file");
    }
    const auto names = job.exchange("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file));
    if (job.rank() != 0) file = open(names[0].c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) fail("cannot open " + names[0]);
    void* const place = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (place == MAP_FAILED) fail("cannot map " + names[0]);
    count_ = static_cast<std::atomic<int>*>(place);  // a file begins with zeros
    static_cast<void>(job.exchange(""));             // rank 0 keeps its file open until all have it
    close(file);
  }
  ~shared_counter() { munmap(count_, sizeof(std::atomic<int>)); }
  shared_counter(const shared_counter&) = delete;
  shared_counter& operator=(const shared_counter&) = delete;

  std::atomic<int>& operator*() const { return *count_; }

 private:
  std::atomic<int>* count_ = nullptr;
};

// --- a job that ends well ---

void exchange_orders_texts_of_any_length(carrier& job) {
  for (const int factor : {0, 1, 5'000}) {
    const auto text_of = [factor](int r) {
      return std::string(static_cast<std::size_t>(factor * (r % 3)), static_cast<char>('a' + r));
    };
    const auto all = job.exchange(text_of(job.rank()));
    expect(all.size() == static_cast<std::size_t>(job.ranks()));
    for (int r = 0; r < job.ranks(); ++r) expect(all[static_cast<std::size_t>(r)] == text_of(r));
  }
}

/// Every rank sends `count` trains to every other on both channels, and checks order and contents.
void trains_of_any_length_arrive_in_order(carrier& job, receiver& in, std::size_t capacity, std::uint32_t count,
                                          std::size_t trains) {
  const auto ranks = static_cast<std::size_t>(job.ranks());
  const auto me = static_cast<std::uint32_t>(job.rank());
  std::array<std::vector<std::uint32_t>, 2> sent, got;
  for (auto& s : sent) s.assign(ranks, 0);
  for (auto& g : got) g.assign(ranks, 0);
  yard mine(trains, capacity);
  std::minstd_rand random(me + 1);
  const std::size_t all = 2 * (ranks - 1) * count;
  std::size_t out = 0, arrived = 0;
  while (out < all || arrived < all || !mine.complete()) {
    bool moved = false;
    for (train* t = nullptr; out < all && (t = mine.take()) != nullptr; moved = true) {
      std::size_t channel = random() % 2, to = random() % ranks;
      while (to == me || sent[channel][to] == count) {  // the next channel and rank that has some left
        to = (to + 1) % ranks;
        if (to == 0) channel ^= 1;
      }
      load(*t, sent[channel][to]++, me, static_cast<int>(channel), capacity);
      ++out;
      job.send(*t, static_cast<int>(to));
    }
    if (in.turn([&](train& t) {
          const auto channel = t.head.channel;
          const auto from = t.head.from;
          expect(channel < 2 && from < ranks);
          expect(unload(t, channel, capacity) == got[channel][from]++);
          shunt::rail::send_home(t);
          ++arrived;
        })) {
      moved = true;
    }
    if (!moved) rest(job);
  }
}

/// Rank 0 keeps every train of channel 0 until all of channel 1 have come.
void a_blocked_channel_holds_up_no_other(carrier& job, receiver& in, std::size_t capacity, std::size_t receive_trains) {
  constexpr std::uint32_t count = 400;
  const auto others = static_cast<std::size_t>(job.ranks() - 1);
  if (job.rank() == 0) {
    std::vector<train*> kept;
    std::size_t flowed = 0, late = 0;
    while (flowed < others * count || late < others * count) {
      if (!in.turn([&](train& t) {
            if (t.head.channel == 0) {
              kept.push_back(&t);
              return;
            }
            static_cast<void>(unload(t, 1, capacity));
            shunt::rail::send_home(t);
            ++flowed;
          })) {
        rest(job);
      }
      expect(kept.size() <= receive_trains);  // memory is bounded by what was ordered
      if (flowed < others * count) continue;
      for (train* t : kept) {
        static_cast<void>(unload(*t, 0, capacity));
        shunt::rail::send_home(*t);
        ++late;
      }
      kept.clear();
    }
  } else {
    const auto me = static_cast<std::uint32_t>(job.rank());
    yard blocked(8, capacity), flowing(8, capacity);
    std::uint32_t sent[2] = {0, 0};
    while (sent[0] < count || sent[1] < count || !blocked.complete() || !flowing.complete()) {
      bool moved = false;
      for (int c = 0; c < 2; ++c) {
        if (sent[c] == count) continue;
        if (train* const t = (c == 0 ? blocked : flowing).take()) {
          load(*t, sent[c]++, me, c, capacity);
          job.send(*t, 0);
          moved = true;
        }
      }
      // The rest waits here.
      if (sent[1] < count) expect(sent[0] <= 8 + receive_trains + shunt::transport::eager_trains);
      if (!in.turn([](train&) { fail("a train arrived that no rank sent"); }) && !moved) rest(job);
    }
  }
}

/// Trains are so short that a network could keep them for a receiver that does not ask for them.
/// \param looks  by ranks that have seen that.
void short_trains_wait_at_their_sender(carrier& job, receiver& in, std::size_t receive_trains,
                                       const shared_counter& looks) {
  if (job.rank() == 0) {
    // It asks for none until all have looked. But it beats, as every program does that serves: where a network emulates
    // what OpenSHMEM does to another rank's memory, a rank that sends waits for that.
    for (; *looks != job.ranks() - 1; std::this_thread::sleep_for(1ms)) expect(!job.beat());
    std::vector<train*> kept;
    int looked = 0;
    for (int all = 64 * (job.ranks() - 1); all > 0;) {
      if (!in.turn([&](train& t) {
            if (t.head.channel == 0) return kept.push_back(&t);
            ++looked;
            shunt::rail::send_home(t);
          })) {
        rest(job);
      }
      if (looked != job.ranks() - 1) continue;
      for (train* const t : kept) shunt::rail::send_home(*t);
      all -= static_cast<int>(kept.size());
      kept.clear();
    }
  } else {
    yard mine(64, 64), word(1, 64);
    for (int i = 0; i < 64; ++i) {
      train* const t = mine.take();
      if (t == nullptr) break;
      t->head.bytes = 8;
      t->head.channel = 0;
      job.send(*t, 0);
    }
    const auto nothing = [](train&) { fail("a train arrived that no rank sent"); };
    const auto until = clock::now() + 20ms;
    while (clock::now() < until) static_cast<void>(in.turn(nothing));
    expect(mine.at_home() <= receive_trains + shunt::transport::eager_trains);
    ++*looks;
    train* const looked = word.take();
    looked->head.bytes = 8;
    looked->head.channel = 1;
    job.send(*looked, 0);
    while (!mine.complete() || !word.complete()) {
      if (!in.turn(nothing)) rest(job);
    }
  }
}

/// Every other rank sends to rank 0 as fast as its trains come home.
void all_to_one_arrives_in_order(carrier& job, receiver& in, std::size_t capacity, std::uint32_t count) {
  const auto others = static_cast<std::uint32_t>(job.ranks() - 1);
  if (job.rank() == 0) {
    std::vector<std::uint32_t> next(static_cast<std::size_t>(job.ranks()), 0);
    std::uint32_t all = 0;
    while (all < others * count) {
      if (!in.turn([&](train& t) {
            expect(unload(t, 0, capacity) == next[t.head.from]++);
            shunt::rail::send_home(t);
            ++all;
          })) {
        rest(job);
      }
    }
  } else {
    yard mine(16, capacity);
    std::uint32_t sent = 0;
    while (sent < count || !mine.complete()) {
      train* const t = sent < count ? mine.take() : nullptr;
      if (t != nullptr) {
        load(*t, sent++, static_cast<std::uint32_t>(job.rank()), 0, capacity);
        job.send(*t, 0);
      }
      if (!in.turn([](train&) { fail("a train arrived that no rank sent"); }) && t == nullptr) rest(job);
    }
  }
}

/// Three threads of every rank send, poll and beat at once.
void threads_share_the_transport(carrier& job, receiver& in, std::size_t capacity, std::uint32_t count) {
  constexpr std::uint32_t threads = 3;
  const auto ranks = static_cast<std::uint32_t>(job.ranks());
  const auto me = static_cast<std::uint32_t>(job.rank());
  std::mutex polling;  // of `in`, not of the transport: send() and beat() go on beside it
  std::uint64_t arrived = 0, sum = 0;
  const std::uint64_t all = std::uint64_t{ranks - 1} * threads * count;
  std::atomic<bool> over{false};
  const auto work = [&](std::uint32_t index) {
    yard mine(6, capacity);
    std::uint32_t sent = 0;
    for (bool complete = false; !over.load() || !complete;) {
      if (sent < count * ranks) {
        const auto to = sent % ranks;
        if (to == me) {
          ++sent;
        } else if (train* const t = mine.take()) {
          load(*t, sent / ranks, me * threads + index, static_cast<int>(index % 2), capacity);
          ++sent;
          job.send(*t, static_cast<int>(to));
        }
      }
      expect(!job.beat());
      bool moved = false;
      if (const std::unique_lock held(polling, std::try_to_lock); held) {
        moved = in.turn([&](train& t) {
          sum += unload(t, t.head.channel, capacity);
          shunt::rail::send_home(t);
          ++arrived;
        });
        if (arrived == all) over.store(true);
      }
      complete = sent == count * ranks && mine.complete();
      if (!moved) std::this_thread::yield();
    }
  };
  std::vector<std::thread> team;
  for (std::uint32_t i = 0; i < threads; ++i) team.emplace_back(work, i);
  for (auto& t : team) t.join();
  expect(sum == all / count * (std::uint64_t{count} * (count - 1) / 2));
}

/// Idle ranks poll ever more seldom: the patience that the transport tells them grows to its longest.
void idle_ranks_sleep_longer_and_longer(carrier& job, receiver& in) {
  constexpr int most = 1'000;  // some 50 polls, and as many again after another rank's signal
  int polls = 0;
  for (; job.patience() != 1ms; ++polls) {
    expect(polls < most, "idle ranks poll on");
    if (!in.turn([](train&) { fail("a train arrived that no rank sent"); })) rest(job);
  }
  if (job.rank() == 0) std::printf("idle: the longest patience after %d polls\n", polls);
}

/// Each scenario has a service of its own, since a train of the next one must not meet a rank that still listens to
/// this one. So stop() and start() are tested as often.
template <class Scenario>
void serve(carrier& job, const shunt::transport::service& settings, Scenario scenario) {
  job.start(settings);
  {
    receiver in(job);
    scenario(in);
    in.meet();
  }
  job.stop();
  expect(!job.beat());
  expect(job.exchange("").size() == static_cast<std::size_t>(job.ranks()));
}

/// This test shows as well that an exception of the plugin is the program's own type.
void ranks_must_ask_for_the_same_service(carrier& job) {
  shunt::testing::expect_thrown<shunt::error>(
      [&] { job.start({.capacity = static_cast<std::size_t>(64 * (1 + job.rank()))}); },
      [](const shunt::error& e) {
        expect(e.known().rank == 1);
        expect(std::string(e.what()).starts_with("rank 1 asks the transport for 128 bytes"), e.what());
      });
}

/// Neither LeakSanitizer nor the heap's size can tell: MPI unloads the code that would show the owner of a block, and
/// takes memory of its own when a busy machine makes its messages wait. A service that forgot one of its trains would
/// leave 20 blocks here. Over OpenSHMEM the trains lie in symmetric memory, which would be used up.
void services_give_their_trains_back(carrier& job) {
  constexpr std::size_t receive_trains = 4;
  const std::ptrdiff_t before = aligned_blocks.load();
  const std::ptrdiff_t of_the_receiver = job.ranks();
  for (int i = 0; i < 20; ++i) {
    serve(job, {262'144, receive_trains, 30s}, [&](receiver&) {
      if (job.name() != "mpi") return;
      expect(aligned_blocks.load() - before - of_the_receiver >= std::ptrdiff_t{receive_trains}, "not counted");
    });
    expect(aligned_blocks.load() == before);
  }
}

void orderly(carrier& job, int hosts) {
  constexpr std::size_t capacity = 16'384, receive_trains = 4;
  exchange_orders_texts_of_any_length(job);
  expect(job.ranks_here() * hosts == job.ranks());
  ranks_must_ask_for_the_same_service(job);
  const shunt::transport::service usual{capacity, receive_trains, 30s};
  serve(job, usual, [](receiver&) {});
  serve(job, usual, [&](receiver& in) { trains_of_any_length_arrive_in_order(job, in, capacity, 3'000, 24); });
  serve(job, usual, [&](receiver& in) { trains_of_any_length_arrive_in_order(job, in, capacity, 200, 1); });
  serve(job, usual, [&](receiver& in) { a_blocked_channel_holds_up_no_other(job, in, capacity, receive_trains); });
  const shared_counter looks(job);
  serve(job, usual, [&](receiver& in) { short_trains_wait_at_their_sender(job, in, receive_trains, looks); });
  serve(job, usual, [&](receiver& in) { all_to_one_arrives_in_order(job, in, capacity, 1'000); });
  serve(job, usual, [&](receiver& in) { threads_share_the_transport(job, in, capacity, 200); });
  serve(job, usual, [&](receiver& in) { idle_ranks_sleep_longer_and_longer(job, in); });
  serve(job, {262'144, 1, 30s},  // larger than any eager limit, and one train to receive into
        [&](receiver& in) { trains_of_any_length_arrive_in_order(job, in, 262'144, 100, 4); });
  services_give_their_trains_back(job);
}

// --- ranks that are lost ---

/// A thread that beats beside the program, as the runtime does.
class monitor {
 public:
  explicit monitor(carrier& job)
      : thread_([this, &job] {
          while (!over_.load()) {
            const auto lost = job.beat();
            {
              const std::lock_guard held(mutex_);
              now_ = lost;
              if (lost && !first_) first_ = lost;
            }
            std::this_thread::sleep_for(100ms);
          }
        }) {}
  ~monitor() { end(); }
  void end() {
    over_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  std::optional<shunt::transport::loss> first() {
    const std::lock_guard held(mutex_);
    return first_;
  }
  std::optional<shunt::transport::loss> now() {
    const std::lock_guard held(mutex_);
    return now_;
  }

 private:
  std::mutex mutex_;
  std::optional<shunt::transport::loss> first_, now_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// The last rank gets lost; every other rank names it. Rank 0 ends the job once all of them have.
void lost(carrier& job, int signal, const std::string& why) {
  const int victim = job.ranks() - 1;
  const shared_counter reports(job);
  job.start({.capacity = 1'024, .receive_trains = 4, .deadline = 1s});
  receiver in(job);
  in.meet();
  monitor watch(job);
  const auto nothing = [](train& t) { shunt::rail::send_home(t); };
  const auto start = clock::now();
  bool told = false;
  while (clock::now() < start + 100s) {
    if (job.rank() == victim && clock::now() > start + 500ms) raise(signal);
    if (!told && !in.turn(nothing)) rest(job);
    const auto seen = watch.first();
    if (!seen) continue;
    if (!told) {
      expect(seen->rank == victim);
      expect(seen->why.find(why) == 0);
      told = true;
      ++*reports;
    }
    if (job.rank() == 0 && *reports == job.ranks() - 1) {
      std::printf("all named rank %d: %s, after %.1f s\n", victim, seen->why.c_str(),
                  std::chrono::duration<double>(clock::now() - start - 500ms).count());
      std::fflush(stdout);
      std::this_thread::sleep_for(200ms);  // so that the launcher forwards the line before it notices the end
      job.abort(3);
    }
    std::this_thread::sleep_for(1ms);
  }
  fail("the loss of rank " + std::to_string(victim) + " was not reported by all");
}

/// The last rank is stopped for longer than the deadline, and goes on: it reports no other rank as lost.
void resumed(carrier& job) {
  const int victim = job.ranks() - 1;
  const auto pids = job.exchange(std::to_string(getpid()));
  const shared_counter ready(job);  // ranks that have named the victim, and the victim when it goes on
  job.start({.capacity = 1'024, .receive_trains = 4, .deadline = 1s});
  {
    receiver in(job);
    in.meet();
    monitor watch(job);
    /// Serves until that holds, or the time is over.
    const auto serve_until = [&](std::chrono::milliseconds most, const auto& holds) {
      for (const auto start = clock::now(); !holds() && clock::now() < start + most;) {
        if (!in.turn([](train&) {})) rest(job);
      }
    };
    const auto never = [] { return false; };
    if (job.rank() == victim) {
      serve_until(300ms, never);
      raise(SIGSTOP);
    } else {
      serve_until(100s, [&] { return watch.first().has_value(); });
      expect(watch.first() && watch.first()->rank == victim);
    }
    ++*ready;
    if (job.rank() == 0) {
      serve_until(100s, [&] { return *ready == job.ranks() - 1; });
      kill(std::stoi(pids[static_cast<std::size_t>(victim)]), SIGCONT);
    }
    serve_until(100s, [&] { return *ready == job.ranks(); });
    expect(*ready == job.ranks());
    serve_until(2'500ms, never);  // a victim that takes its own silence for others' says so in that time
    if (job.rank() == victim) expect(!watch.first());
    serve_until(100s, [&] { return !watch.now(); });
    expect(!watch.now());
    in.meet();
    watch.end();
  }
  job.stop();
}

/// The last rank ends the job while others of its threads are inside the transport.
void aborted(carrier& job) {
  job.start({.capacity = 1'024});
  receiver in(job);
  in.meet();
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&job] {
      for (train_list none;;) static_cast<void>(job.poll(none));
    });
  }
  std::this_thread::sleep_for(200ms);
  if (job.rank() == job.ranks() - 1) {
    std::thread second([&job] { job.abort(7); });
    job.abort(7);
  }
  std::this_thread::sleep_for(10min);  // longer than the test may take
  std::_Exit(0);  // the test expects a failure, so an end that does not come must not look like one
}

// --- figures ---

void speed(carrier& job, std::size_t bytes) {
  constexpr int rounds = 1'000, repetitions = 9;
  const std::size_t trains = 40'000'000 / bytes;
  serve(job, {bytes, 8, 30s}, [&](receiver& in) {
    if (job.rank() > 1) return;
    const int peer = 1 - job.rank();
    std::size_t got = 0, due = 0;  // trains of all phases, since the peer may be a phase ahead
    const auto turn = [&] {
      return in.turn([&](train& t) {
        ++got;
        shunt::rail::send_home(t);
      });
    };
    const auto send = [&](train& t) {
      t.head.bytes = static_cast<std::uint32_t>(bytes);
      t.head.channel = 0;
      job.send(t, peer);
    };
    yard mine(24, bytes);

    auto start = clock::now();
    for (int i = 0; i < rounds; ++i) {
      if (job.rank() == 0) send(*mine.take());
      ++due;
      while (got < due) {
        if (!turn()) std::this_thread::yield();
      }
      if (job.rank() == 1) send(*mine.take());
      while (!mine.complete()) turn();
    }
    const double us = std::chrono::duration<double, std::micro>(clock::now() - start).count();

    std::vector<double> times;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      start = clock::now();
      std::size_t sent = 0;
      due += trains;
      while (sent < trains || got < due || !mine.complete()) {
        bool moved = false;
        for (int burst = 0; burst < 4 && sent < trains; ++burst, ++sent, moved = true) {
          train* const t = mine.take();
          if (t == nullptr) break;
          send(*t);
        }
        if (!turn() && !moved) std::this_thread::yield();
      }
      times.push_back(std::chrono::duration<double, std::milli>(clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    if (job.rank() == 0) {
      std::printf("%7zu bytes: half round trip %.2f us, 40 MB each way in %.1f ms (%.1f to %.1f)\n", bytes,
                  us / rounds / 2, times[repetitions / 2], times.front(), times.back());
      std::fflush(stdout);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "orderly" : words[0];
  try {
    const auto job = shunt::transport::open(shunt::environment::read("SHUNT_TRANSPORT").value_or("mpi"));
    the_job = job.get();
    if (what == "orderly") {
      orderly(*job, words.size() < 2 ? 1 : std::atoi(words[1].c_str()));
    } else if (what == "killed") {
      lost(*job, SIGKILL, "ended (process ");
    } else if (what == "stopped") {
      lost(*job, SIGSTOP, "silent for ");
    } else if (what == "resumed") {
      resumed(*job);
    } else if (what == "aborted") {
      aborted(*job);
    } else if (what == "unstarted") {
      exchange_orders_texts_of_any_length(*job);
    } else if (what == "speed") {
      for (const std::size_t bytes : {1'024u, 4'096u, 16'384u, 32'768u, 65'536u, 131'072u}) {
        if (words.size() < 2 || words[1] == std::to_string(bytes)) speed(*job, bytes);
      }
    } else {
      fail("what is `" + what + "`?");
    }
    if (job->rank() == 0) std::printf("%s: %d ranks, all well\n", what.c_str(), job->ranks());
    the_job = nullptr;
  } catch (const std::exception& e) {
    fail(e.what());
  }
  return 0;
}
