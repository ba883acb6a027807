/// Question: what does a queue cost that is guarded by std::mutex and std::condition_variable, between threads?
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "../common/team.hpp"
#include "work.hpp"

namespace {

class queue {
 public:
  explicit queue(std::size_t room) : items_(room) {}
  void send(long item) {
    std::unique_lock held(guard_);
    not_full_.wait(held, [this] { return sent_ - received_ < items_.size(); });
    items_[sent_++ % items_.size()] = item;
    held.unlock();
    not_empty_.notify_one();
  }
  std::optional<long> receive() {
    std::unique_lock held(guard_);
    not_empty_.wait(held, [this] { return sent_ != received_ || closed_; });
    if (sent_ == received_) return std::nullopt;
    const long item = items_[received_++ % items_.size()];
    held.unlock();
    not_full_.notify_one();
    return item;
  }
  void close() {
    {
      const std::lock_guard held(guard_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

 private:
  std::mutex guard_;
  std::condition_variable not_empty_, not_full_;
  std::vector<long> items_;
  std::size_t sent_ = 0, received_ = 0;
  bool closed_ = false;
};

long all(const bench::channel_work& work) {
  queue items(work.room());
  std::vector<std::thread> senders, receivers;
  std::vector<long> sums(static_cast<std::size_t>(work.ends()));
  for (int end = 0; end < work.ends(); ++end) {
    senders.emplace_back([&] {
      for (long i = 1; i <= work.each(); ++i) items.send(i);
    });
    receivers.emplace_back([&, end] {
      while (const auto item = items.receive()) sums[static_cast<std::size_t>(end)] += *item;
    });
  }
  for (auto& each : senders) each.join();
  items.close();
  for (auto& each : receivers) each.join();
  long sum = 0;
  for (const long each : sums) sum += each;
  return sum;
}

long handoff(const bench::channel_work& work) {
  queue there(1), back(1);
  std::thread other([&] {
    while (const auto item = there.receive()) back.send(*item);
  });
  long sum = 0;
  for (long i = 1; i <= work.each(); ++i) {
    there.send(i);
    sum += back.receive().value_or(0);
  }
  there.close();
  other.join();
  return sum;
}

/// Another thread exists, as in every program that has a use for a mutex: glibc's is cheaper where there is none.
long lock(const bench::channel_work& work) {
  std::mutex guard;
  volatile long held = 0;
  for (long i = 0; i < work.each(); ++i) {
    const std::lock_guard in(guard);
    held = held + 1;
  }
  return held;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::channel_work work(argc, argv);
  queue end(1);
  std::thread other([&] { static_cast<void>(end.receive()); });
  for (long sample = 0; sample < work.samples(); ++sample) {
    const double start = bench_now();
    const long sum = work.what() == "lock" ? lock(work) : work.what() == "handoff" ? handoff(work) : all(work);
    work.report(sample, bench_now() - start, sum);
  }
  end.close();
  other.join();
}
