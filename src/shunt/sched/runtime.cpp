#include <shunt/sched/runtime.hpp>

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/base/memory_limit.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/sched/detail/shared.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/explore/detail/controlled_scheduler.hpp>
#include <shunt/sched/observe/detail/monitor.hpp>
#include <shunt/sched/observe/detail/overflow.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

using detail::worker;

namespace {

/// The threads of a run's workers, except for the first one, which is run()'s caller. They wait behind a gate, so that
/// a run for which the system gives too few threads can still be cancelled.
/// Edge `verdict`, let -> start's threads: what prepare() made for the run after the threads were started.
class worker_threads {
 public:
  /// Starts threads that will call work(1) .. work(count). \throws std::system_error, std::bad_alloc
  template <typename Work>
  void start(int count, Work work) {
    threads_.reserve(static_cast<std::size_t>(count));
    for (int i = 1; i <= count; ++i) {
      threads_.emplace_back([this, i, work] {
        gate_.wait(closed, std::memory_order_acquire);
        if (gate_.load(std::memory_order_acquire) != cancelled) work(i);  // acquire, both: edge `verdict` in
      });
    }
  }
  [[nodiscard]] std::size_t started() const noexcept { return threads_.size(); }
  void open() noexcept { let(opened); }
  /// No thread calls work(). Waits for their ends.
  void cancel() {
    let(cancelled);
    join();
  }
  void join() {
    for (auto& t : threads_) t.join();
  }

 private:
  enum gate : int { closed, opened, cancelled };
  void let(gate verdict) noexcept {
    gate_.store(verdict, std::memory_order_release);  // release: edge `verdict` out
    gate_.notify_all();
  }

  std::atomic<int> gate_{closed};
  std::vector<std::thread> threads_;
};

/// thread_limit_in_force(), or as much as there is memory for.
std::string thread_limit_now() noexcept {
  try {
    return thread_limit_in_force();
  } catch (...) {
    return {};
  }
}

}  // namespace

struct runtime::parts {
  parts(runtime& face, const options& wanted, call_site call) : all(face, wanted, call) {}

  worker& at(int index) noexcept { return *all.workers[static_cast<std::size_t>(index)]; }

  void check_worker(call_site call, int index) const {
    if (index >= 0 && index < all.settings.workers) return;
    throw usage_error(error_number(112),
                      std::string(call.name()) + ": worker " + std::to_string(index) + " of 0.." +
                          std::to_string(all.settings.workers - 1) + call.place(),
                      call.where());
  }

  // On behalf of a thread that is no worker of this runtime.

  detail::fiber* new_fiber_outside(detail::fiber_cache::kind of = detail::fiber_cache::kind::usual) {
    const std::scoped_lock held(all.outside_lock);
    return all.outside_blocks.take(of);
  }
  void drop_outside(detail::fiber* f) noexcept {
    const std::scoped_lock held(all.outside_lock);
    f->body = nullptr;
    f->name = nullptr;
    f->stack = {};
    f->set_home(nullptr);
    all.outside_blocks.give(f);
  }
  /// Counts the fiber, and sends it to worker `where`, or to any if that is -1.
  void enqueue_outside(detail::fiber* f, int where) {
    // relaxed: the send below publishes it; see shared::all_ended()
    const auto turn = all.spawned_outside.fetch_add(1, std::memory_order_relaxed);
    const auto any = static_cast<int>(turn % all.workers.size());
    remote_of(where < 0 ? any : where).send(f);
  }
  detail::remote& remote_of(int index) noexcept { return at(index).remote; }

  void put_on_cpu(int index) noexcept {
    if (!all.cpus.empty()) pin_this_thread(all.cpus[static_cast<std::size_t>(index)]);
  }

  /// Makes all that a run needs: the root's fiber, and the threads, which wait. Afterwards nothing can fail.
  /// \throws as run(); then nothing has happened.
  void prepare(std::function<void()> root, worker_threads& threads, call_site call) {
    try {
      auto name = detail::fiber::named("root");
      detail::fiber* const f = new_fiber_outside();
      f->body = std::move(root);
      f->name = std::move(name);
      f->stack.bytes = all.settings.root_stack_bytes;
      f->set_home(&remote_of(0));
      try {
        threads.start(all.settings.workers - 1, [this](int i) {
          put_on_cpu(i);
          at(i).work();
        });
        all.start();
      } catch (...) {
        drop_outside(f);
        throw;
      }
      enqueue_outside(f, 0);
    } catch (...) {
      const std::string limit = thread_limit_now();  // while the threads that were started take memory
      threads.cancel();
      try {
        throw;
      } catch (const std::system_error& refused) {
        throw error(error_number(113),
                    "run: cannot start thread " + std::to_string(threads.started() + 1) + " of " +
                        std::to_string(all.settings.workers) + ": " + refused.what() + "; " + limit + call.place(),
                    error::facts{-1, -1, refused.code().value()}, call.where());
      }
    }
  }

  detail::shared all;
};

runtime::runtime(options wanted, std::source_location where)
    : parts_(std::make_unique<parts>(*this, wanted, call_site("runtime", where))) {}

/// A runtime that still runs cannot be destroyed, and a destructor cannot throw: it says so and aborts.
runtime::~runtime() {
  // relaxed: for a caller that breaks the contract; no edge is promised
  if (!parts_->all.in_run.load(std::memory_order_relaxed)) return;
  const std::string_view fiber = this_fiber::name();
  std::string text = "shunt: ~runtime: called while run() runs";
  if (worker::current() != nullptr && &worker::current()->all == &parts_->all) {
    text += this_fiber::inside() ? ", by a fiber of it" : ", by a worker of it";
    if (!fiber.empty()) text += ", `" + std::string(fiber) + '`';
  }
  text += ": a runtime is destroyed after run() has returned\n";
  detail::write_all(STDERR_FILENO, text);
  std::abort();
}

int runtime::workers() const noexcept { return parts_->all.settings.workers; }

void runtime::attach(int index, poller& source) {
  parts_->check_worker("attach", index);
  // relaxed: for a caller that breaks the contract on the same thread; no edge is promised
  if (parts_->all.in_run.load(std::memory_order_relaxed)) {
    throw usage_error(error_number(114), "attach: called while run() runs");
  }
  parts_->at(index).attach(source);
}

void runtime::detach(int index, const poller& source) noexcept {
  SHUNT_ASSERT(index >= 0 && index < workers());
  parts_->at(index).detach(source);
}

void runtime::request_stop() noexcept { parts_->all.request_stop(); }

std::stop_token runtime::stop_token() const { return parts_->all.stop_token(); }

void runtime::unpark(int index) noexcept {
  SHUNT_ASSERT(index >= 0 && index < workers());
  parts_->at(index).remote.unpark();
}

/// Checks everything before it takes a block, counts the fiber before another thread can run it, and enqueues it last.
fiber_id runtime::spawn(std::function<void()> body, spawn_options where, std::source_location called_at) {
  const call_site call("spawn", called_at);
  if (where.worker != -1) parts_->check_worker(call, where.worker);
  detail::check_stack(call, where.stack_bytes);
  if (where.compact && where.migrates) {
    throw usage_error(error_number(115),
                      "spawn: a compact fiber cannot migrate: its frames have their place on one worker" + call.place(),
                      call.where());
  }
  worker* here = worker::current();
  if (here != nullptr && here->waiting_forbidden()) [[unlikely]]
    here->forbid->on_spawn(call);
  if (here != nullptr && &here->all != &parts_->all) here = nullptr;

  auto name = detail::fiber::named(std::move(where.name));
  const auto kind = detail::fiber_cache::kind_of(where.compact, where.migrates);
  detail::fiber* const f = here != nullptr ? here->starter.new_fiber(kind) : parts_->new_fiber_outside(kind);
  f->body = std::move(body);
  f->name = std::move(name);
  f->stack.bytes = where.stack_bytes;
  f->even_without_stack = where.even_without_stack;
  f->set_home(where.worker < 0 ? nullptr : &parts_->remote_of(where.worker));
  const auto id = detail::fiber::id_of(f);

  if (here == nullptr) {
    parts_->enqueue_outside(f, where.worker);
    return id;
  }
  here->published.count_spawn();  // before another thread can run it, see shared::all_ended()
  if (where.worker < 0) {
    try {
      here->push_task(f);
    } catch (...) {
      here->published.uncount_spawn();
      here->starter.drop(f);
      throw;
    }
  } else if (f->where() == &here->remote) {
    here->unstarted.push(f);
  } else {
    f->where()->send(f);
  }
  this_fiber::interleave();
  return id;
}

/// Makes everything that may fail first (prepare()); then works as worker 0 until all fibers have ended.
void runtime::run(std::function<void()> root, std::source_location where) {
  const call_site call("run", where);
  if (worker::current() != nullptr) {
    throw usage_error(error_number(116), "run: called on a worker of a runtime" + call.place(), call.where());
  }
  auto& all = parts_->all;
  // acquire: edge `run after` in. A thread that reads the `true` written here throws: so the release half is more than
  // the edge needs.
  if (all.in_run.exchange(true, std::memory_order_acq_rel)) {
    throw usage_error(error_number(117), "run: called while run() runs" + call.place(), call.where());
  }
  const affinity_keeper keep;
  const detail::overflow_reporter overflows;
  const detail::monitored_run monitored(all);
  const detail::controlled_run controlled(all.settings.strategy != nullptr);
  std::exception_ptr failure;
  try {
    worker_threads threads;
    parts_->prepare(std::move(root), threads, call);
    threads.open();
    parts_->put_on_cpu(0);
    parts_->at(0).work();
    threads.join();
    failure = std::exchange(all.failure, nullptr);
  } catch (...) {
    all.in_run.store(false, std::memory_order_release);  // release: edge `run after` out
    throw;
  }
  all.end();
  all.in_run.store(false, std::memory_order_release);  // release: edge `run after` out
  if (failure) std::rethrow_exception(failure);
}

// --- questions of a fiber about itself and its worker; yield, park and wake are in worker.cpp ---

namespace {

worker& must_be_worker(call_site call) {
  worker* const here = worker::current();
  if (here == nullptr) detail::throw_outside(call, "a runtime");
  return *here;
}

}  // namespace

void detail::throw_no_fiber(call_site call) {
  must_be_worker(call);
  throw_outside(call, "a fiber");
}

void detail::throw_compact(call_site call) {
  throw usage_error(error_number(118),
                    std::string(call.name()) +
                        ": others would use the stack of a compact fiber while it waits; spawn it without .compact" +
                        call.place(),
                    call.where());
}

void detail::require_wait_slowly(call_site call) { must_be_worker(call).require_wait(call); }

poller* detail::one_of(poller& several, const std::type_info& kind) noexcept {
  const auto* const all = dynamic_cast<const pollers*>(&several);
  return all == nullptr ? nullptr : all->find(kind);
}

void this_fiber::require_stack() {
  if (const worker* const here = worker::current(); here != nullptr) here->require_stack();
}

namespace {

/// Where the calling thread's own stack began; null: the system does not say. Cost: some microseconds.
const std::byte* top_of_threads_stack() noexcept {
  const std::byte* top = nullptr;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) top = static_cast<const std::byte*>(low) + bytes;
  pthread_attr_destroy(&attributes);
  return top;
}

}  // namespace

std::span<const std::byte> this_fiber::live_stack() noexcept {
  const auto* const frame = static_cast<const std::byte*>(__builtin_frame_address(0));
  const std::byte* top = nullptr;
  if (const detail::fiber* const me = detail::here().running(); me != nullptr) {
    top = static_cast<const std::byte*>(me->stack.low) + me->stack.bytes;
  } else {
    static thread_local const std::byte* const of_thread = top_of_threads_stack();
    top = of_thread;
  }
  if (top == nullptr || top < frame) return {};
  return {frame, top};
}

namespace this_worker {

int index() noexcept {
  const worker* const here = worker::current();
  return here == nullptr ? -1 : here->index;
}

bool has_runnable() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && here->has_runnable();
}

bool controlled() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && here->controlled != nullptr;
}

std::size_t choose(std::size_t ways) noexcept {
  return ways < 2 || !controlled() ? 0 : worker::current()->controlled->strategy.choose_among(ways);
}

runtime& current(call_site call) { return must_be_worker(call).all.face; }

void attach(std::unique_ptr<poller> source) { must_be_worker("attach").attach(std::move(source)); }

void attach(poller& source) { must_be_worker("attach").attach(source); }

void detach(const poller& source) { must_be_worker("detach").detach(source); }

const no_wait* forbid_wait(const no_wait* by) noexcept {
  worker* const here = worker::current();
  return here == nullptr ? nullptr : here->forbid_wait(by);
}

}  // namespace this_worker
}  // namespace sched
}  // namespace v1
}  // namespace shunt
