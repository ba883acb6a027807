/// Question: how many numbers a second can two cores hand over at all?
///
/// Two pinned threads, and what producers and consumers there are shared out between them: producers and the first
/// consumers to one, the other consumers to the other. A producer's numbers go round a ring of buffers, each with its
/// own flag in front: the shortest way to tell and to carry a small one is the same cache line. A thread visits those
/// that it plays in turn, and each does as many buffers as it finds.
///
/// Invariants
///   C1  A buffer's flag is position + 1 once it is filled; nobody writes it again before all consumers' counts have
///       passed that position.
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "../common/team.hpp"
#include "shape.hpp"

namespace {

struct alignas(2 * bench::line) count {
  std::atomic<long> passed{0};
};

class ring {
 public:
  ring(const bench::shape& s)
      : stride_(static_cast<std::size_t>(1 + s.capacity)), buffers_(s.trains), done_(static_cast<std::size_t>(s.consumers)) {
    if (stride_ > 4) stride_ = (stride_ + 7) / 8 * 8;
    const auto words = stride_ * static_cast<std::size_t>(buffers_);
    memory_.reset(static_cast<long*>(::operator new(words * sizeof(long), std::align_val_t(2 * bench::line))));
    std::fill_n(memory_.get(), words, 0L);
  }
  [[nodiscard]] std::atomic_ref<long> flag(long buffer) const { return std::atomic_ref(memory_[stride_ * static_cast<std::size_t>(buffer)]); }
  [[nodiscard]] long* goods(long buffer) const { return &memory_[stride_ * static_cast<std::size_t>(buffer)] + 1; }
  [[nodiscard]] long buffers() const { return buffers_; }
  [[nodiscard]] count& done(long consumer) { return done_[static_cast<std::size_t>(consumer)]; }
  [[nodiscard]] long least_done() const {
    long least = done_[0].passed.load(std::memory_order_acquire);
    for (const auto& d : done_) least = std::min(least, d.passed.load(std::memory_order_acquire));
    return least;
  }

 private:
  struct release {
    void operator()(long* p) const { ::operator delete(p, std::align_val_t(2 * bench::line)); }
  };
  std::size_t stride_;
  long buffers_;
  std::unique_ptr<long[], release> memory_;
  std::vector<count> done_;
};

/// \return whether it is through.
struct producer {
  ring& on;
  bench::numbers numbers;
  long capacity;
  long at = 0, position = 0, limit = 0;
  bool operator()() {
    if (position == limit) limit = on.least_done() + on.buffers();
    for (; position != limit && numbers.left() != 0; ++position) {
      numbers.fill(on.goods(at), capacity);
      on.flag(at).store(position + 1, std::memory_order_release);
      if (++at == on.buffers()) at = 0;
    }
    return numbers.left() == 0;
  }
};

struct consumer {
  ring& on;
  long me, capacity, left;
  std::uint64_t& sum;
  long at = 0, position = 0;
  bool operator()() {
    for (; left != 0 && on.flag(at).load(std::memory_order_acquire) == position + 1; left -= capacity) {
      sum += bench::add_up(on.goods(at), capacity);
      on.done(me).passed.store(++position, std::memory_order_release);
      if (++at == on.buffers()) at = 0;
    }
    return left == 0;
  }
};

/// Calls each until all are through.
template <class A, class B>
void play(std::vector<A>& a, std::vector<B>& b) {
  for (int idle = 0;;) {
    bool through = true;
    for (auto& one : a) through &= one();
    for (auto& one : b) through &= one();
    if (through) return;
    if (++idle % 4096 == 0) sched_yield();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto s = bench::shape_of(argv[0], options);
  bench::barrier together(2);
  for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
    std::vector<std::unique_ptr<ring>> rings;
    for (long p = 0; p != s.producers; ++p) rings.push_back(std::make_unique<ring>(s));
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(s.consumers * s.producers));
    const long here = s.producers == 1 ? (s.consumers - 1) / 2 : 0;  // consumers beside the producer
    double start = 0, end = 0;
    bench::run_team(2, [&](int me) {
      std::vector<producer> producers;
      std::vector<consumer> consumers;
      for (long p = 0; p != s.producers; ++p) {
        ring& r = *rings[static_cast<std::size_t>(p)];
        if (me == 0) producers.push_back({r, bench::numbers(s, p), s.capacity});
        for (long c = me == 0 ? 0 : here; c != (me == 0 ? here : s.consumers); ++c) {
          consumers.push_back({r, c, s.capacity, s.goods_of(p), sums[static_cast<std::size_t>(c * s.producers + p)]});
        }
      }
      together.arrive_and_wait();
      if (me == 0) start = bench_now();
      play(producers, consumers);
      together.arrive_and_wait();
      if (me == 0) end = bench_now();
    });
    bool right = true;
    std::uint64_t wrong = 0;
    for (long c = 0; c != s.consumers; ++c) {
      std::uint64_t sum = 0;
      for (long p = 0; p != s.producers; ++p) sum += sums[static_cast<std::size_t>(c * s.producers + p)];
      if (sum != s.sum()) {
        right = false;
        wrong = sum;
      }
    }
    if (sample >= options.warmup) bench::report(argv[0], s, end - start, wrong, right);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
