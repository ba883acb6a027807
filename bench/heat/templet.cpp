/// Question: what does the published actor runtime reach, a queue of messages under one mutex, and a mutex an actor?
///
/// Its behaviour, in our words: send() queues, threads take the oldest message and run its actor's handler under the
/// actor's mutex; a thread that finds the queue empty when no other is at work ends the run. What two threads read and
/// write without a mutex there is atomic here, which costs nothing on x86-64.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>

#include "field.hpp"

namespace {

struct actor;

struct message {
  std::atomic<actor*> owner{nullptr};
  std::atomic<bool> sending{false};
};

struct actor {
  std::mutex lock;
  void (*recv)(message*, actor*) = nullptr;
};

class engine {
 public:
  void send(message* m, actor* to) {
    if (m->sending.load(std::memory_order_relaxed)) return;
    m->sending.store(true, std::memory_order_relaxed);
    m->owner.store(to, std::memory_order_relaxed);
    const std::scoped_lock held(lock_);
    ready_.push(m);
    some_.notify_one();
  }

  void run(int count) {
    working_ = count;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    for (auto& t : threads) t.join();
  }

 private:
  void work() {
    while (message* const m = next()) {
      actor* const a = m->owner.load(std::memory_order_relaxed);
      const std::scoped_lock held(a->lock);
      m->sending.store(false, std::memory_order_relaxed);
      a->recv(m, a);
    }
  }

  message* next() {
    std::unique_lock held(lock_);
    while (ready_.empty()) {
      if (--working_ == 0) {
        some_.notify_one();
        return nullptr;
      }
      some_.wait(held);
      ++working_;
    }
    message* const m = ready_.front();
    ready_.pop();
    return m;
  }

  std::mutex lock_;
  std::condition_variable some_;
  std::queue<message*> ready_;
  int working_ = 0;
};

bool access(const message* m, const actor* a) {
  return m->owner.load(std::memory_order_relaxed) == a && !m->sending.load(std::memory_order_relaxed);
}

engine* e;
bench::field* plate;
long count;  // of actors: a row each
std::unique_ptr<actor[]> as;
std::unique_ptr<message[]> ms;  // ms[i] is between as[i] and as[i + 1]
std::vector<long> ts;

void recv(message*, actor* a) {
  const auto id = a - as.get();
  if ((id == 0 || access(&ms[id - 1], a)) && (id == count - 1 || access(&ms[id], a)) &&
      ts[static_cast<std::size_t>(id)] <= plate->steps()) {
    plate->compute(id + 1);
    ++ts[static_cast<std::size_t>(id)];
    if (id != 0) e->send(&ms[id - 1], &as[id - 1]);
    if (id != count - 1) e->send(&ms[id], &as[id + 1]);
  }
}

struct templet {
  static void solve(bench::field& all, int workers) {
    engine here;
    e = &here;
    plate = &all;
    count = all.rows() - 2;
    as = std::make_unique<actor[]>(static_cast<std::size_t>(count));
    ms = std::make_unique<message[]>(static_cast<std::size_t>(count));
    ts.assign(static_cast<std::size_t>(count), 1);
    for (long i = 0; i < count; ++i) as[i].recv = recv;
    for (long i = 0; i < count - 1; ++i) ms[i].owner = &as[i];
    e->send(&ms[0], &as[0]);
    e->run(workers);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::heat<templet>(argc, argv); }
