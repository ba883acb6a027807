/// The front ends of `daq`: a process on a processor of its own, that sends frames of 64 bytes on every channel; and
/// what all systems do with a frame.
///
///   server                                  source
///   listens, forks                          connects all channels
///   accepts all, says go                    sends: as fast as they are taken, or one frame a channel each period
///   decodes; after the last frame it notes
///   the time                                ends
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../common/one_cpu.hpp"
#include "../common/program.h"
#include "../common/sockets.hpp"

namespace bench::daq {

struct frame {
  std::uint32_t channel;
  std::uint32_t number;  // of this channel, from 0
  std::uint64_t due_ns;  // when it should have been sent, by CLOCK_MONOTONIC
  std::uint64_t values[5];
  std::uint64_t sum;
};
static_assert(sizeof(frame) == 64);

/// Frames that one read takes at most, and that the source sends at once where it has no period.
constexpr std::size_t frames_a_read = 16;
constexpr std::uint64_t deadline_ns = 1'000'000;

inline std::uint64_t now_ns() { return static_cast<std::uint64_t>(bench_now() * 1e9); }

inline std::uint64_t sum_of(const frame& f) {
  std::uint64_t sum = f.channel * std::uint64_t{0x9e3779b97f4a7c15} + f.number + f.due_ns;
  for (const auto v : f.values) sum = sum * 31 + v;
  return sum;
}

inline frame frame_of(std::uint32_t channel, std::uint32_t number, std::uint64_t due) {
  frame f{channel, number, due, {}, 0};
  for (std::size_t i = 0; i < 5; ++i) f.values[i] = channel * std::uint64_t{1'000'003} + number * std::uint64_t{31} + i;
  f.sum = sum_of(f);
  return f;
}

inline void send_all(int fd, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const auto sent = send(fd, at, count, MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    at += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

/// What the process does. \param go  readable when it may begin. \param period_us  0: as fast as frames are taken
inline void run_source(int go, int port, long channels, long frames, long period_us) {
  cpu_set_t others;  // the server has the last processor
  CPU_ZERO(&others);
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  for (long p = 0; p + 1 < processors; ++p) CPU_SET(static_cast<int>(p), &others);
  if (processors > 1) sched_setaffinity(0, sizeof others, &others);
  std::vector<int> all(static_cast<std::size_t>(channels));
  for (int& fd : all) fd = connect_to(port);
  char begin;
  if (read(go, &begin, 1) != 1) std::_Exit(1);
  const auto start = now_ns();
  const auto many = static_cast<std::uint32_t>(channels);
  if (period_us == 0) {
    frame some[frames_a_read];
    for (long first = 0; first < frames; first += static_cast<long>(frames_a_read)) {
      const auto count = std::min<long>(frames - first, static_cast<long>(frames_a_read));
      for (std::uint32_t c = 0; c < many; ++c) {
        for (long i = 0; i < count; ++i) some[i] = frame_of(c, static_cast<std::uint32_t>(first + i), start);
        send_all(all[c], some, static_cast<std::size_t>(count) * sizeof(frame));
      }
    }
  } else {
    const double between = static_cast<double>(period_us) * 1e3 / static_cast<double>(channels);
    for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(channels * frames); ++k) {
      // By plan, and not by when the one before was taken: a server that is late is late for all that wait.
      const auto due = start + static_cast<std::uint64_t>(static_cast<double>(k) * between);
      while (now_ns() < due) continue;
      const frame f = frame_of(static_cast<std::uint32_t>(k % many), static_cast<std::uint32_t>(k / many), due);
      send_all(all[k % many], &f, sizeof f);
    }
  }
  for (const int fd : all) close(fd);
}

/// What has been decoded, of all channels. A channel has one reader.
class readings {
 public:
  readings(const char* program, long channels, long frames)
      : program_(program),
        channels_(static_cast<std::size_t>(channels)),
        frames_(static_cast<std::size_t>(frames)),
        left_(channels * frames) {}

  /// Frames of one channel, as they came. \return whether they were the last of all channels.
  bool decode(const frame* first, std::size_t count, std::uint32_t& next) {
    const auto now = now_ns();
    for (const frame* f = first; f != first + count; ++f) {
      if (f->sum != sum_of(*f)) bench_wrong(program_, "a frame's sum", sum_of(*f), f->sum);
      if (f->number != next) bench_wrong(program_, "a frame's number", f->number, next);
      ++next;
      const auto age = now > f->due_ns ? now - f->due_ns : 0;
      ages_[f->channel * frames_ + f->number] = static_cast<std::uint32_t>(std::min<std::uint64_t>(age, ~0u));
    }
    if (left_.fetch_sub(static_cast<long>(count), std::memory_order_acq_rel) != static_cast<long>(count)) return false;
    end_ = bench_now();
    return true;
  }
  /// The last frame has been decoded.
  [[nodiscard]] bool over() const { return left_.load(std::memory_order_acquire) == 0; }
  /// All channels are there. The ages' pages come now: after the fork, before the clock.
  void begins() {
    ages_.assign(channels_ * frames_, 1);
    resident_ = resident_bytes() - static_cast<long long>(sizeof ages_[0] * ages_.size());
    before_ = bench_now();
  }
  /// \param at_first  resident bytes when the program began
  void report(long long at_first) {
    std::sort(ages_.begin(), ages_.end());
    const auto at = [this](double share) {
      return ages_[static_cast<std::size_t>(share * static_cast<double>(ages_.size() - 1))];
    };
    const auto late = ages_.end() - std::upper_bound(ages_.begin(), ages_.end(), deadline_ns);
    char more[300];
    std::snprintf(more, sizeof more,
                  ", \"frames\": %zu, \"resident_bytes\": %lld, \"median_ns\": %u, \"p99_ns\": %u, \"p999_ns\": %u, "
                  "\"missed_share\": %.6f",
                  ages_.size(), resident_ - at_first, at(.5), at(.99), at(.999),
                  static_cast<double>(late) / static_cast<double>(ages_.size()));
    bench_report(end_ - before_, more);
  }

 private:
  const char* program_;
  std::size_t channels_, frames_;
  std::vector<std::uint32_t> ages_;  // ns, by channel and number
  std::atomic<long> left_;
  double before_ = 0, end_ = 0;
  long long resident_ = 0;
};

/// Bytes that came in pieces, as frames.
struct reassembly {
  alignas(frame) char bytes[frames_a_read * sizeof(frame)];
  std::size_t have = 0;
  std::uint32_t next = 0;

  /// \return whether these were the last of all channels.
  bool took(std::size_t count, readings& all) {
    have += count;
    const auto whole = have / sizeof(frame);
    const bool last = whole > 0 && all.decode(reinterpret_cast<const frame*>(bytes), whole, next);
    have -= whole * sizeof(frame);
    if (have > 0 && whole > 0) std::memmove(bytes, bytes + whole * sizeof(frame), have);
    return last;
  }
};

class source : public asking_process {
 public:
  source(int port, const bench_options& o)
      : asking_process([&](int go) { run_source(go, port, o.table, o.rounds, o.period); }) {}
  void finish(const char* program) { asking_process::finish(program, "the source's"); }
};

/// Samples and warm-up, each with readings of its own.
template <class Sample>
int run(int argc, char** argv, Sample sample) {
  const auto o = bench_parse(argc, argv);
  allow_descriptors(argv[0], o.table);
  const long long at_first = resident_bytes();
  for (long i = 0; i < o.warmup + o.samples; ++i) {
    readings all(argv[0], o.table, o.rounds);
    sample(argv[0], o, all);
    if (i >= o.warmup) all.report(at_first);
  }
  return 0;
}

}  // namespace bench::daq
