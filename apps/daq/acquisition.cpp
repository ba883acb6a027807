#include "daq/acquisition.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <stop_token>
#include <utility>

#include "daq/queue.hpp"
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

class stages {
 public:
  stages(const settings& s, std::vector<channel_end>& channels, int workers, const observer& watcher)
      : s_(s), channels_(channels), watcher_(watcher), line_(channels.size() + (watcher.now ? 1 : 0)), sums_(s.queue) {
    result_.channels.resize(channels.size());
    for (int i = 0; i < workers; ++i) {
      readings_.push_back(std::make_unique<bounded_queue<reading>>(s.queue));
    }
  }

  /// A fiber: each stage ends when the one before it has.
  outcome run(const std::function<void()>& begin) {
    std::stop_source over;
    finish([&] {
      const at_end nobody_looks([&] { over.request_stop(); });
      if (watcher_.now) async([&] { watch(over.get_token()); });
      finish([&] {
        const at_end summed([&] { sums_.close(); });
        async([&] { add_up(); });
        finish([&] {
          const at_end read_all([&] {
            for (auto& queue : readings_) queue->close();
          });
          for (auto& queue : readings_) async([&] { aggregate(*queue); });
          finish([&] {
            for (std::size_t c = 0; c < channels_.size(); ++c) {
              async([this, c] {
                line_.wait();
                read(static_cast<std::uint32_t>(c));
              });
            }
            line_.start([&] {
              start_ = clock::now();
              begin();
            });
          });
        });
      });
    });
    std::sort(result_.incidents.begin(), result_.incidents.end(),
              [](const auto& a, const auto& b) { return a.channel < b.channel; });
    return std::move(result_);
  }

 private:
  /// The first stage, of one channel.
  void read(std::uint32_t c) {
    auto& next = *readings_[c % readings_.size()];
    const auto how = std::visit(
        [&](auto& from) {
          const auto ended = follow(from, c, s_.timeout, [&](const reading& r) { next.push(r); });
          from.close();
          return ended;
        },
        channels_[c]);
    if (how.what == trouble::none) return;
    const std::scoped_lock held(telling_);
    result_.incidents.push_back({c, how});
    if (watcher_.failed) watcher_.failed(result_.incidents.back());
  }

  /// The second: channels that share a queue share a fiber, and only that fiber touches their tallies.
  void aggregate(bounded_queue<reading>& from) {
    std::vector<reading> some;
    while (from.take(some)) {
      tally all;
      for (const auto& one : some) {
        auto& channel = result_.channels[one.channel];
        if (one.sequence != channel.frames) out_of_order_.fetch_add(1, std::memory_order_relaxed);
        channel.add(one);
        all.add(one);
      }
      sums_.push(all);
    }
  }

  /// The third.
  void add_up() {
    std::vector<tally> some;
    auto& total = result_.total;
    while (sums_.take(some)) {
      for (const auto& one : some) total.add(one);
      // relaxed, both: the observer reads nothing else
      frames_.store(total.frames, std::memory_order_relaxed);
      bytes_.store(total.bytes(), std::memory_order_relaxed);
      look_at_memory();
    }
    result_.seconds = seconds();
    result_.resident_end = resident_bytes();
    result_.out_of_order = out_of_order_.load(std::memory_order_relaxed);  // edge: the queue's lock
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
    line_.wait();
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
  start_line line_;
  clock::time_point start_;
  std::vector<std::unique_ptr<bounded_queue<reading>>> readings_;  // channel c's: c modulo their number
  bounded_queue<tally> sums_;
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
  wanted.workers = s.workers;
  wanted.pin = false;  // the generator needs a CPU too
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
