#include "daq/acquisition.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shunt/base/topology.hpp>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <stop_token>
#include <utility>
#include <variant>

#include "daq/batch.hpp"
#include "daq/start_line.hpp"

namespace shunt::daq {
namespace {

using clock = std::chrono::steady_clock;

std::uint64_t resident_bytes() noexcept {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long whole = 0;
  unsigned long resident = 0;
  if (std::fscanf(file, "%lu %lu", &whole, &resident) != 2) resident = 0;
  std::fclose(file);
  return std::uint64_t{resident} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Calls `f` at the end of its scope, also when an exception passes: the next stage waits for it.
template <typename F>
class at_end {
 public:
  explicit at_end(F f) : f_(std::move(f)) {}
  at_end(const at_end&) = delete;
  at_end& operator=(const at_end&) = delete;
  ~at_end() { f_(); }

 private:
  F f_;
};

/// What a train carries: readings as far as the second stage, which leaves their sum instead.
using cargo = std::variant<reading, tally>;

railway_options shape_of(const settings& s) {
  constexpr std::size_t best = 256;  // a worker's channels that are ready together, more or less
  railway_options shape;
  shape.capacity = std::clamp<std::size_t>(s.queue / 4, 1, best);
  shape.trains = s.queue / shape.capacity;
  shape.wait = task::wait_profile::battery;  // the sender needs a processor, too
  return shape;
}

class stages {
 public:
  stages(const settings& s, std::vector<channel_end>& channels, int workers, const observer& watcher)
      : s_(s),
        channels_(channels),
        watcher_(watcher),
        workers_(static_cast<std::uint32_t>(workers)),
        line_(shape_of(s)) {
    result_.channels.resize(channels.size());
  }

  /// A fiber: each stage ends when the one before it has.
  outcome run(const std::function<void()>& begin) {
    std::vector<railway<cargo>::loader*> sources;
    std::vector<railway<cargo>::station*> sums;
    std::vector<railway<cargo>::cursor*> before_total;
    for (std::uint32_t w = 0; w < workers_; ++w) {
      sources.push_back(&line_.source("channels of worker " + std::to_string(w)));
      sums.push_back(&line_.after({sources.back()}, "their sums"));
      before_total.push_back(sums.back());
    }
    auto& total = line_.after(before_total, "total");
    std::vector<std::vector<start_line::runner>> readers(workers_);
    for (std::uint32_t c = 0; c < channels_.size(); ++c) readers[c % workers_].push_back(start_line_.enter());
    std::stop_source over;
    finish([&] {
      const at_end nobody_looks([&] { over.request_stop(); });
      if (watcher_.now) {
        async([this, &over, me = start_line_.enter()]() mutable {
          me.wait();
          watch(over.get_token());
        });
      }
      std::vector<fiber> stations;
      std::uint32_t loading = 0;  // sources that have a fiber
      try {
        stations.push_back(operate(total, 0, [this](auto& at) { add_up(at); }));
        for (; loading < workers_; ++loading) {
          // Two stations a worker: its own channels', and the sums of its neighbour's.
          const auto w = loading;
          stations.push_back(operate(*sums[(w + 1) % workers_], w, [this](auto& at) { aggregate(at); }));
          stations.push_back(operate(*sources[w], w, [this, w, mine = std::move(readers[w])](auto& train) mutable {
            read_all(w, std::move(mine), train);
          }));
        }
        start_line_.start([&] {
          start_ = clock::now();
          begin();
        });
      } catch (...) {
        start_line_.give_up(std::current_exception());
        for (; loading < workers_; ++loading) {
          sums[(loading + 1) % workers_]->fail(std::current_exception());
          sources[loading]->fail(std::current_exception());
        }
        throw;
      }
      for (auto& one : stations) one.join();
    });
    std::sort(result_.incidents.begin(), result_.incidents.end(),
              [](const auto& a, const auto& b) { return a.channel < b.channel; });
    return std::move(result_);
  }

 private:
  /// A fiber for a station. If it gets no stack, the station has failed, and nothing waits for it.
  template <typename At, typename Body>
  fiber operate(At& at, std::uint32_t worker, Body body) {
    class place {
     public:
      explicit place(At& of) : at_(&of) {}
      place(place&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
      place& operator=(place&&) = delete;
      ~place() {
        if (at_ != nullptr) at_->fail(std::make_exception_ptr(error("a station of the acquisition got no fiber")));
      }
      At& take() { return *std::exchange(at_, nullptr); }

     private:
      At* at_;
    };
    return fiber([this, where = place(at), body = std::move(body)]() mutable { line_.serve(where.take(), body); },
                 {.worker = static_cast<int>(worker)});
  }

  /// The first stage of a worker: a fiber a channel, and this one, which loads what they have read.
  void read_all(std::uint32_t worker, std::vector<start_line::runner> readers, railway<cargo>::loader& train) {
    batch<reading> here(s_.queue);
    std::vector<fiber> all;
    all.reserve(readers.size());
    auto run = std::move(readers);  // those that get no fiber go before the others are waited for
    std::vector<batch<reading>::reader> places;
    for (std::size_t i = 0; i < run.size(); ++i) places.push_back(here.enter());
    const at_end nobody_takes([&here] { here.abandon(); });  // before they are waited for, also if one is not made
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto c = static_cast<std::uint32_t>(worker + i * workers_);
      all.emplace_back(
          [this, c, me = std::move(run[i]), place = std::move(places[i])]() mutable {
            me.wait();
            read(c, place);
          },
          sched::spawn_options{.worker = static_cast<int>(worker)});
    }
    bool wanted = true;  // false: a later stage has failed
    for (std::vector<reading> some; wanted && here.take(some);) {
      for (const auto& one : some) wanted = wanted && train.put(one);
      train.depart();
      sched::this_fiber::yield();  // those that are ready fill the next one
    }
    here.abandon();
    for (auto& reader : all) reader.join();
  }

  /// The first stage, of one channel.
  void read(std::uint32_t c, batch<reading>::reader& next) {
    const auto how = std::visit(
        [&](auto& from) {
          const auto ended = follow(from, c, s_.timeout, [&](const reading& r) {
            if (!next.add(r)) from.close();  // ends it
          });
          from.close();
          return ended;
        },
        channels_[c]);
    if (how.what == trouble::none) return;
    const std::scoped_lock held(telling_);
    result_.incidents.push_back({c, how});
    if (watcher_.failed) watcher_.failed(result_.incidents.back());
  }

  /// The second: channels of a worker share a station, and only its fiber touches their tallies.
  void aggregate(railway<cargo>::station& at) {
    while (auto train = at.arrive()) {
      tally all;
      for (const auto& parcel : train) {
        const auto& one = std::get<reading>(parcel);
        auto& channel = result_.channels[one.channel];
        if (one.sequence != channel.frames) out_of_order_.fetch_add(1, std::memory_order_relaxed);
        channel.add(one);
        all.add(one);
      }
      at.resize(1)[0] = all;
    }
  }

  /// The third.
  void add_up(railway<cargo>::station& at) {
    auto& total = result_.total;
    while (auto train = at.arrive()) {
      for (const auto& parcel : train) total.add(std::get<tally>(parcel));
      // relaxed, both: the observer reads nothing else
      frames_.store(total.frames, std::memory_order_relaxed);
      bytes_.store(total.bytes(), std::memory_order_relaxed);
      look_at_memory();
    }
    result_.seconds = seconds();
    result_.resident_end = resident_bytes();
    // relaxed: the last train, and the end of its line, came after
    result_.out_of_order = out_of_order_.load(std::memory_order_relaxed);
  }

  void look_at_memory() {
    const double whole =
        s_.frames == 0 ? s_.duration.count() : static_cast<double>(s_.frames) * static_cast<double>(channels_.size());
    const double done = s_.frames == 0 ? seconds() : static_cast<double>(result_.total.frames);
    if (result_.resident_early == 0 && done >= whole / 10) {
      result_.resident_early = resident_bytes();
    }
    if (result_.resident_middle == 0 && done >= whole / 2) {
      result_.resident_middle = resident_bytes();
    }
  }

  void watch(const std::stop_token& over) {
    using namespace std::chrono_literals;
    while (io::sleep_for(100ms, over)) {
      const std::scoped_lock held(telling_);
      watcher_.now({seconds(), frames_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed),
                    result_.incidents.size()});
    }
  }

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

  const settings& s_;
  std::vector<channel_end>& channels_;
  const observer& watcher_;
  start_line start_line_;
  clock::time_point start_;
  const std::uint32_t workers_;
  railway<cargo> line_;
  std::atomic<std::uint64_t> out_of_order_{0};
  std::atomic<std::uint64_t> frames_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::mutex telling_;  // guards result_.incidents, and the observer
  outcome result_;
};

}  // namespace

outcome acquire(const settings& s, std::vector<channel_end>& channels, const std::function<void()>& begin,
                const observer& watcher) {
  sched::options wanted;
  wanted.workers = s.workers > 0 ? s.workers : std::max(1, default_workers() - 1);
  wanted.pin = false;  // the generator's CPU may be any
  wanted.stack_bytes = 64 * 1024;
  sched::runtime workers(wanted);
  const io::reactor waits(workers);
  stages all(s, channels, workers.workers(), watcher);
  outcome result;
  workers.run([&] { result = all.run(begin); });
  result.workers = workers.workers();
  return result;
}

}  // namespace shunt::daq
