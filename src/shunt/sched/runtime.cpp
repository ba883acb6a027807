#include <shunt/sched/runtime.hpp>

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/base/memory_limit.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/sched/detail/crew.hpp>
#include <shunt/sched/detail/director.hpp>
#include <shunt/sched/detail/overflow.hpp>
#include <shunt/sched/detail/watchman.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/detail/write_all.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

using detail::worker;

struct runtime::parts {
  parts(runtime& face, const options& wanted) : crew(face, wanted) {}

  worker& at(int index) noexcept { return *crew.workers[static_cast<std::size_t>(index)]; }

  void check_worker(const char* call, int index) const {
    if (index >= 0 && index < crew.settings.workers) return;
    throw usage_error(std::string(call) + ": worker " + std::to_string(index) + " of 0.." +
                      std::to_string(crew.settings.workers - 1));
  }

  /// Counts and enqueues a fiber on behalf of a thread that is no worker of this runtime.
  detail::fiber* new_fiber_outside() {
    const std::scoped_lock held(crew.outside_lock);
    return crew.outside_blocks.take();
  }
  void enqueue_outside(detail::fiber* f, int where) {
    // relaxed: the send below publishes it; see crew::all_ended()
    const auto turn = crew.spawned_outside.fetch_add(1, std::memory_order_relaxed);
    const auto any = static_cast<int>(turn % crew.workers.size());
    post_of(where < 0 ? any : where).send(f);
  }
  detail::post& post_of(int index) noexcept { return at(index).address(); }

  void put_on_cpu(int index) noexcept {
    if (!crew.cpus.empty()) pin_this_thread(crew.cpus[static_cast<std::size_t>(index)]);
  }

  detail::crew crew;
};

runtime::runtime(options wanted) : parts_(std::make_unique<parts>(*this, wanted)) {}

runtime::~runtime() {
  // relaxed: for a caller that breaks the contract; no edge is promised
  if (!parts_->crew.in_run.load(std::memory_order_relaxed)) return;
  const std::string_view fiber = this_fiber::name();
  std::string text = "shunt: ~runtime: called while run() runs";
  if (worker::current() != nullptr && &worker::current()->all() == &parts_->crew) {
    text += this_fiber::inside() ? ", by a fiber of it" : ", by a worker of it";
    if (!fiber.empty()) text += ", `" + std::string(fiber) + '`';
  }
  text += ": a runtime is destroyed after run() has returned\n";
  detail::write_all(STDERR_FILENO, text);
  std::abort();
}

int runtime::workers() const noexcept { return parts_->crew.settings.workers; }

void runtime::attach(int index, poller& source) {
  parts_->check_worker("attach", index);
  // relaxed: for a caller that breaks the contract on the same thread; no edge is promised
  if (parts_->crew.in_run.load(std::memory_order_relaxed)) {
    throw usage_error("attach: called while run() runs");
  }
  parts_->at(index).add(source);
}

void runtime::detach(int index, const poller& source) noexcept {
  SHUNT_ASSERT(index >= 0 && index < workers());
  parts_->at(index).remove(source);
}

void runtime::request_stop() noexcept { parts_->crew.request_stop(); }

std::stop_token runtime::stop_token() const { return parts_->crew.stop_token(); }

void runtime::unpark(int index) noexcept {
  SHUNT_ASSERT(index >= 0 && index < workers());
  parts_->at(index).address().unpark();
}

fiber_id runtime::spawn(std::function<void()> body, spawn_options where) {
  if (where.worker != -1) parts_->check_worker("spawn", where.worker);
  detail::check_stack("spawn", where.stack_bytes);
  worker* here = worker::current();
  if (here != nullptr && here->waiting_forbidden()) [[unlikely]]
    here->forbid->on_spawn();
  if (here != nullptr && &here->all() != &parts_->crew) here = nullptr;

  auto name = detail::fiber::named(std::move(where.name));
  detail::fiber* const f = here != nullptr ? here->new_fiber() : parts_->new_fiber_outside();
  f->body = std::move(body);
  f->name = std::move(name);
  f->stack.bytes = where.stack_bytes;
  f->migrates = where.migrates;
  f->even_without_stack = where.even_without_stack;
  f->belongs_to(where.worker < 0 ? nullptr : &parts_->post_of(where.worker));
  const auto id = detail::fiber::id_of(f);

  if (here == nullptr) {
    parts_->enqueue_outside(f, where.worker);
    return id;
  }
  here->count_spawn();  // before anyone can run it, see crew::all_ended()
  if (where.worker < 0) {
    try {
      here->push_task(f);
    } catch (...) {
      here->uncount_spawn();
      here->drop_fiber(f);
      throw;
    }
  } else if (f->where() == &here->address()) {
    here->newcomer(f);
  } else {
    f->where()->send(f);
  }
  this_fiber::interleave();
  return id;
}

namespace {
/// thread_limit_in_force(), or as much as there is memory for.
std::string thread_limit_now() noexcept {
  try {
    return thread_limit_in_force();
  } catch (...) {
    return {};
  }
}
}  // namespace

void runtime::run(std::function<void()> root) {
  if (worker::current() != nullptr) throw usage_error("run: called on a worker of a runtime");
  auto& crew = parts_->crew;
  // acq_rel: an earlier run(), perhaps by another thread, happens before this one.
  if (crew.in_run.exchange(true, std::memory_order_acq_rel)) {
    throw usage_error("run: called while run() runs");
  }
  const affinity_keeper keep;
  const detail::overflow_watch overflows;
  const detail::watched watched(crew);
  const detail::directed directed(crew.settings.decides != nullptr);
  std::exception_ptr failure;
  try {
    enum gate : int { closed, open, cancelled };
    std::atomic<int> state{closed};
    std::vector<std::thread> threads;
    const auto finish = [&](int verdict) noexcept {
      state.store(verdict, std::memory_order_release);  // pairs with the load below
      state.notify_all();
    };
    try {
      // Made before the threads: afterwards nothing here can fail.
      auto name = detail::fiber::named("root");
      detail::fiber* const f = parts_->new_fiber_outside();
      f->body = std::move(root);
      f->name = std::move(name);
      f->stack.bytes = crew.settings.root_stack_bytes;
      f->belongs_to(&parts_->post_of(0));
      try {
        threads.reserve(crew.workers.size() - 1);
        for (int i = 1; i < crew.settings.workers; ++i) {
          threads.emplace_back([this, i, &state] {
            state.wait(closed, std::memory_order_acquire);
            if (state.load(std::memory_order_acquire) == cancelled) return;
            parts_->put_on_cpu(i);
            parts_->at(i).work();
          });
        }
        crew.start();
      } catch (...) {
        const std::scoped_lock held(crew.outside_lock);
        f->body = nullptr;
        f->name = nullptr;
        f->stack = {};
        f->belongs_to(nullptr);
        crew.outside_blocks.give(f);
        throw;
      }
      parts_->enqueue_outside(f, 0);
    } catch (...) {
      const std::string limit = thread_limit_now();  // while the threads that were started take memory
      finish(cancelled);
      for (auto& t : threads) t.join();
      try {
        throw;
      } catch (const std::system_error& refused) {
        throw error("run: cannot start thread " + std::to_string(threads.size() + 1) + " of " +
                        std::to_string(crew.settings.workers) + ": " + refused.what() + "; " + limit,
                    error::facts{-1, -1, refused.code().value()});
      }
    }
    finish(open);
    parts_->put_on_cpu(0);
    parts_->at(0).work();
    for (auto& t : threads) t.join();
    failure = std::exchange(crew.failure, nullptr);
  } catch (...) {
    crew.in_run.store(false, std::memory_order_release);  // pairs with the exchange above
    throw;
  }
  crew.end();
  crew.in_run.store(false, std::memory_order_release);  // pairs with the exchange above
  if (failure) std::rethrow_exception(failure);
}

// --- what asks about this fiber and this worker; yield, park and wake are in worker.cpp ---

namespace {

worker& must_be_worker(const char* call) {
  worker* const here = worker::current();
  if (here == nullptr) detail::throw_outside(call, "a runtime");
  return *here;
}

}  // namespace

void detail::throw_no_fiber(const char* call) {
  must_be_worker(call);
  throw_outside(call, "a fiber");
}

void detail::require_wait_slowly(const char* call) { must_be_worker(call).require_wait(call); }

poller* detail::one_of(poller& several, const std::type_info& kind) noexcept {
  const auto* const all = dynamic_cast<const pollers*>(&several);
  return all == nullptr ? nullptr : all->find(kind);
}

void this_fiber::require_stack() {
  if (const worker* const here = worker::current(); here != nullptr) here->require_stack();
}

namespace this_worker {

int index() noexcept {
  const worker* const here = worker::current();
  return here == nullptr ? -1 : here->index();
}

bool has_runnable() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && here->has_runnable();
}

bool directed() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && here->directed() != nullptr;
}

std::size_t choose(std::size_t ways) noexcept {
  return ways < 2 || !directed() ? 0 : worker::current()->directed()->decides.choose_among(ways);
}

runtime& current() { return must_be_worker("current").all().face; }

void attach(std::unique_ptr<poller> source) { must_be_worker("attach").add(std::move(source)); }

const no_wait* forbid_wait(const no_wait* who) noexcept {
  worker* const here = worker::current();
  return here == nullptr ? nullptr : here->forbid_wait(who);
}

}  // namespace this_worker
}  // namespace sched
}  // namespace v1
}  // namespace shunt
