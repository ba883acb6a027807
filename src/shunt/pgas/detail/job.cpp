#include <shunt/pgas/detail/job.hpp>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <shunt/base/environment.hpp>
#include <shunt/base/memory_limit.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/pgas/detail/exit_watch.hpp>
#include <shunt/pgas/detail/start_agreement.hpp>
#include <shunt/pgas/network_speed.hpp>
#include <shunt/pgas/pe.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

constexpr auto beat_interval = std::chrono::milliseconds(200);
/// How long PEs have to unwind after a failure before the process ends without them.
constexpr auto grace = std::chrono::seconds(3);
/// How much later than the rank before it a rank reports its own failure (well within the least deadline), and the loss
/// of another, which all see at once.
constexpr auto failure_turn = std::chrono::milliseconds(350);
constexpr auto loss_turn = std::chrono::milliseconds(1500);
/// How often a rank that waits for its turn looks whether one before it has ended.
constexpr auto look_in_turn = std::chrono::milliseconds(50);

bool is_checked(const options& wanted) {
  if (wanted.check) return *wanted.check;
  if (const auto text = environment::read("SHUNT_CHECK")) return parse_count("SHUNT_CHECK", *text, 0, 1) == 1;
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

/// Lets a rank that has failed wait for its turn. What is wrong with a program's input other ranks have found, too:
/// then one before this one that has ended meanwhile has said it. (Of another failure one that is lost may be the
/// cause.)
/// \return whether that is so
bool said_before(transport::carrier& over, bool of_input) noexcept {
  const auto turn = std::chrono::steady_clock::now() + failure_turn * std::min(over.rank(), 2);
  while (std::chrono::steady_clock::now() < turn) {
    std::this_thread::sleep_for(look_in_turn);
    try {
      const auto lost = over.beat();
      if (of_input && lost && lost->rank < over.rank() && lost->why.starts_with("ended")) return true;
    } catch (const std::exception&) {  // what was first is what the user is told
    }
  }
  return false;
}

}  // namespace

job::job(const options& wanted, transport::carrier& carrier)
    : job_link(carrier), wanted_(wanted), checked_(is_checked(wanted)), explored_(sched::this_worker::controlled()) {
  recorder_ = recorder::of_next_job();
  if (explored_ || carrier.ranks() != 1) recorder_.reset();
  if (explored_ || recorder_ != nullptr) wanted_.workers = 1;
  wire::handler_table::number();
  agree();
}

job::~job() {
  // set_up() may have thrown.
  if (explored_ && !workers_.empty()) sched::this_worker::detach(*workers_.front());
}

void job::agree() {
  std::ostringstream mine;
  mine << wanted_.pes << ' ' << wanted_.budget << ' ' << wanted_.train_bytes << ' ' << wanted_.hops << ' '
       << wanted_.shared_memory << ' ' << wanted_.checkpoint << ' '
       << wanted_.every.value_or(std::chrono::milliseconds(-1)).count() << ' ' << wanted_.checkpoint_signal << ' '
       << wanted_.restart << ' ' << wire::handler_table::size() << ' ' << wire::handler_table::digest();
  const auto all = exchange_at_start(carrier_, mine.str());
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] != all.front()) {
      throw usage_error(error_number(905),
                        "rank " + std::to_string(r) +
                            " runs another program, or with other options, than rank 0: every rank needs the same");
    }
  }
  cpus_ = placement(carrier_, wanted_.workers);
  std::vector<int> by_rank;
  for (const auto& r : cpus_) by_rank.push_back(r.share.workers);
  const auto ranks = static_cast<int>(all.size());
  int pes = wanted_.pes;
  if (pes == 0) {
    for (const int w : by_rank) pes += w;
    // Blocks of PEs are the same size on every rank: so are the defaults.
    pes = std::max(pes, ranks);
  }
  if (pes < ranks) {
    throw usage_error(error_number(906), "--pes " + std::to_string(pes) + ": with " + std::to_string(ranks) +
                                             " ranks at least as many PEs are needed");
  }
  wanted_.pes = pes;
  layout_ = job_layout::over(pes, by_rank, carrier_.rank());
  trains_ = buffer_plan::of(layout_, wanted_.budget, wanted_.train_bytes, wanted_.hops);
  // Between hosts longer trains may be faster. The network is measured where the budget has room for them.
  const auto longer = buffer_plan::of(layout_, wanted_.budget, wanted_.train_bytes, wanted_.hops, long_train);
  if (longer.capacity != trains_.capacity) {
    const auto speed = measure_network(carrier_, wanted_.deadline, wanted_.name);
    if (speed && speed->longest_train() == long_train) trains_ = longer;
  }
  // What is recorded is read from the routes of messages.
  if (recorder_ != nullptr) {
    trains_.plain = trains_.requests_routed = false;
    recorder_->job_begins(pes);
  }
  validator_ = validator({carrier_.rank(), pes, layout_.workers, trains_.hops, layout_.columns, trains_.plain,
                          trains_.requests_routed, layout_.worker_of, layout_.rank_of});
}

bool job::deliver(rail::train& t, int to_worker) {
  if (auto* const inbox = inboxes_[static_cast<std::size_t>(to_worker)]) {
    inbox->deliver(t);
    return false;
  }
  carrier_.send(t, layout_.rank_of[static_cast<std::size_t>(to_worker)]);
  return true;
}

void job::spawn_on(int local_worker, const char* name, std::function<void()> body) {
  runtime_->spawn(std::move(body), {.worker = local_worker, .name = name, .even_without_stack = true});
}

task_sends* job::sends_of(int pe) noexcept {
  if (pe < 0 || pe >= layout_.pes) return nullptr;
  const int local = layout_.worker_of[static_cast<std::size_t>(pe)] - layout_.first_worker_here;
  return local < 0 || local >= layout_.workers_here ? nullptr : &workers_[static_cast<std::size_t>(local)]->of_tasks;
}

sched::options job::runtime_options() const {
  // As many workers as have PEs, which may be fewer than there are CPUs for.
  std::vector<int> busy(static_cast<std::size_t>(carrier_.ranks()), 0);
  for (const auto rank : layout_.rank_of) ++busy[rank];
  const auto mine = divide(cpus_, busy)[static_cast<std::size_t>(rank())].share;
  sched::options how;
  how.workers = layout_.workers_here;
  how.pin = wanted_.pin && mine.alone;
  // The only rank of its kernel: the runtime itself compares its workers with the CPUs.
  const auto neighbours = std::count_if(cpus_.begin(), cpus_.end(), [&](const rank_cpus& r) {
    return r.kernel == cpus_[static_cast<std::size_t>(rank())].kernel;
  });
  how.spin = mine.room || neighbours == 1 ? wanted_.spin : std::chrono::nanoseconds(0);
  return how;
}

void job::set_up() {
  if (explored_) {
    runtime_ = &sched::this_worker::current();
  } else {
    own_runtime_ = std::make_unique<sched::runtime>(runtime_options());
    runtime_ = own_runtime_.get();
  }
  if (remote()) start_transport();
  const auto first_here = static_cast<std::size_t>(layout_.first_worker_here);
  const int first_pe = layout_.first_pe[first_here];
  keeper_ = std::make_unique<checkpoint_keeper>(
      wanted_, first_pe, layout_.first_pe[first_here + static_cast<std::size_t>(layout_.workers_here)] - first_pe,
      explored_);
  // Their addresses go into the workers.
  wake_targets_.reserve(static_cast<std::size_t>(layout_.workers_here));
  hop_tables_.resize(static_cast<std::size_t>(layout_.workers_here));
  for (int local = 0; local < layout_.workers_here; ++local) {
    auto& target = wake_targets_.emplace_back(wake_target{runtime_, local});
    auto facts = facts_of(local);
    auto& hops = hop_tables_[static_cast<std::size_t>(local)];
    hops = layout_.hops_from(facts.index, trains_.hops, facts.neighbours);
    for (auto& hop : hops) hop = static_cast<std::uint16_t>(facts.buffer_of_worker(hop));
    facts.next_hop_of = hops.data();
    workers_.push_back(std::make_unique<pe_worker>(
        *this, std::move(facts),
        outbound::endpoint::pool_size{trains_.capacity, trains_.regular, trains_.limit, trains_.resting}, &wake,
        &target, place_of(layout_.first_worker_here + local)));
    if (explored_) {
      sched::this_worker::attach(*workers_.back());
    } else {
      runtime_->attach(local, *workers_.back());
    }
  }
  find_inboxes();
}

transport::shared_place job::place_of(int worker) const {
  return remote() ? carrier_.place_of(worker) : transport::shared_place{};
}

void job::find_inboxes() {
  for (int w = 0; w < layout_.workers; ++w) {
    const int local = w - layout_.first_worker_here;
    const bool here = local >= 0 && local < layout_.workers_here;
    inboxes_.push_back(here ? &worker_here(local).out.ends().inbox() : place_of(w).inbox);
  }
}

void job::wake(void* target) noexcept {
  const auto& sleeper = *static_cast<wake_target*>(target);
  sleeper.runtime->unpark(sleeper.local);
}

worker_facts job::facts_of(int local) const {
  const int index = layout_.first_worker_here + local;
  worker_facts f;
  f.index = index;
  f.local = local;
  f.first_pe = layout_.first_pe[static_cast<std::size_t>(index)];
  f.pes_here = layout_.first_pe[static_cast<std::size_t>(index) + 1] - f.first_pe;
  f.workers_here = layout_.workers_here;
  f.pes = layout_.pes;
  f.workers = layout_.workers;
  f.hops = trains_.hops;
  f.networked = remote() && carrier_.has_network();
  f.plain = trains_.plain;
  f.requests_routed = trains_.requests_routed;
  f.explored = explored_;
  f.checked = checked_;
  f.recorded = recorder_.get();
  f.budget = wanted_.budget;
  f.keeper = keeper_.get();
  f.worker_of = layout_.worker_of.data();
  f.first_pe_of = layout_.first_pe.data();
  return f;
}

void job::start_transport() {
  transport::service wanted{trains_.capacity, std::min<std::size_t>(most_receive_trains, trains_.regular),
                            wanted_.deadline};
  if (wanted_.shared_memory || carrier_.name() == "processes") {
    wanted.rank_of.assign(layout_.rank_of.begin(), layout_.rank_of.end());
    wanted.yard = rail::train_pool::bytes_for(trains_.limit, trains_.capacity);
  }
  carrier_.start(wanted);
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error& refused) {
    throw error(error_number(907), std::string("run: cannot start the thread that watches the other ranks: ") +
                                       refused.what() + "; " + thread_limit_in_force());
  }
}

void job::tear_down() {
  {
    const std::lock_guard lock(guard_);
    over_ = true;
  }
  over_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void job::spawn_pe(pe_worker& here, int index, std::function<void()> body) {
  runtime_->spawn(std::move(body),
                  {.worker = here.facts.local, .name = "PE " + std::to_string(index), .even_without_stack = true});
}

void job::run_workers(const std::function<void(pe&)>& program) {
  for (const auto& here : workers_) {
    for (int p = here->facts.first_pe; p < here->facts.first_pe + here->facts.pes_here; ++p) {
      spawn_pe(*here, p, [this, &w = *here, p, &program] { run_pe(w, p, program); });
    }
  }
  try {
    runtime_->run([] {});
  } catch (const usage_error&) {
    throw;                                  // the call's fault; nothing has begun
  } catch (const std::exception& thrown) {  // no thread, or no stack for the root: no PE has run, or all have ended
    if (!failed()) fail(thrown.what());
  } catch (const job_over&) {  // a task outside any finish has waited for a PE
  }
}

/// The calling fiber parks until the last PE has ended.
void job::run_explored(const std::function<void(pe&)>& program) {
  pe_worker& here = *workers_.front();
  const auto caller = sched::this_fiber::self();
  int running = 0;
  try {
    for (int p = 0; p < layout_.pes; ++p) {
      ++running;
      spawn_pe(here, p, [&, p] {
        run_pe(here, p, program);
        if (--running == 0) caller.wake();
      });
    }
  } catch (const std::exception& thrown) {  // the PEs that were spawned leave
    --running;
    fail(thrown.what());
  }
  while (running != 0) sched::this_fiber::park("pgas::run");
  while (here.ending.ends_in_progress() != 0) sched::this_fiber::yield();
}

void job::run(const std::function<void(pe&)>& program) {
  set_up();
  if (remote()) start_progress::of_process().come_to(start_progress::phase::begun);
  const exit_watch::serving no_exit(remote() ? this : nullptr);
  if (explored_) {
    run_explored(program);
  } else {
    run_workers(program);
  }
  tear_down();
  if (recorder_ != nullptr && !failed()) recorder_->job_ended();
  if (failed()) {
    const bool of_input = kind_.load(std::memory_order_relaxed) == fault::usage;  // relaxed: all have joined
    if (remote()) end_now(said_before(carrier_, of_input) ? "" : message_, std::chrono::milliseconds(0));
    if (of_input) throw usage_error(message_);
    throw error(message_);
  }
  if (remote()) carrier_.stop();
}

void job::run_pe(pe_worker& w, int index, const std::function<void(pe&)>& program) noexcept {
  const std::string name = "PE " + std::to_string(index) + ": ";
  try {
    sched::this_fiber::require_stack();
    pe me(w, index);
    try {
      program(me);
    } catch (const job_stop&) {  // every PE has left the same call, after a checkpoint
    }
    w.collective.end(index);  // messages for this PE may still be under way between others
  } catch (const job_over&) {
  } catch (const std::exception& thrown) {
    if (failed()) return;  // the first message counts; and this one may be a future's, which others share
    const std::string_view what = thrown.what();
    fail(what.starts_with(name) ? std::string(what) : name + std::string(what), fault_of(thrown));
  } catch (...) {
    fail(name + "threw something that is not a std::exception");
  }
}

std::string job::message() {
  const std::lock_guard lock(guard_);
  return message_;
}

void job::fail(const std::string& message, fault kind) noexcept {
  {
    const std::lock_guard lock(guard_);
    if (failed()) return;
    message_ = wanted_.name.empty() ? message : wanted_.name + ": " + message;
    failed_at_ = std::chrono::steady_clock::now();
    kind_.store(kind, std::memory_order_relaxed);    // relaxed: likewise
    failed_.store(true, std::memory_order_relaxed);  // relaxed: `message_` travels under the lock
    try {
      // An explored run has no other thread; it ends by its explorer's patience.
      if (!watcher_.joinable() && !explored_) watcher_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {  // no thread: then nothing ends a PE that does not listen
    }
  }
  for (int d = 0; d < layout_.workers_here; ++d) runtime_->unpark(d);
}

std::string job::pes_of(int rank) const {
  int first = -1, last = -1;
  for (int p = 0; p < layout_.pes; ++p) {
    if (layout_.rank_of[layout_.worker_of[static_cast<std::size_t>(p)]] != rank) continue;
    if (first < 0) first = p;
    last = p;
  }
  return first == last ? "PE " + std::to_string(first) : "PEs " + std::to_string(first) + ".." + std::to_string(last);
}

/// The job cannot go on, and a PE may be unable to unwind: says why and ends every process.
/// Ranks that know the same would all say it: each gives those before it time to end the job.
/// \param message  empty: another rank has said why
void job::end_now(const std::string& message, std::chrono::milliseconds turn) noexcept {
  std::this_thread::sleep_for(turn * std::min(rank(), 2));
  if (!message.empty()) std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  if (remote()) transport::let_launcher_read();
  ending_.store(true, std::memory_order_relaxed);  // relaxed: read by exited() on this thread, below MPI_Abort
  carrier_.abort(
      static_cast<int>(kind_.load(std::memory_order_relaxed)));  // relaxed: stored before `failed_`, if at all
}

void job::exited(const char* call) noexcept {
  // MPI_Abort may end the process by exit().
  if (ending_.load(std::memory_order_relaxed)) return;  // relaxed: see end_now()
  end_now((wanted_.name.empty() ? "" : wanted_.name + ": ") + "rank " + std::to_string(rank()) + " (" + pes_of(rank()) +
              ") called " + call + " amid the job; the job ends",
          std::chrono::milliseconds(0));
}

void job::watch() noexcept {
  std::unique_lock lock(guard_);
  while (!over_changed_.wait_for(lock, beat_interval, [this] { return over_; })) {
    if (failed() && std::chrono::steady_clock::now() - failed_at_ > grace) {
      const bool of_input = kind_.load(std::memory_order_relaxed) == fault::usage;  // relaxed: stored before `failed_`
      end_now(said_before(carrier_, of_input) ? "" : message_, std::chrono::milliseconds(0));
    }
    if (!remote()) continue;
    lock.unlock();
    try {
      if (const auto lost = carrier_.beat(); lost && !failed()) {
        end_now((wanted_.name.empty() ? "" : wanted_.name + ": ") + "rank " + std::to_string(lost->rank) + " (" +
                    pes_of(lost->rank) + ") " + lost->why + "; the job ends",
                loss_turn);
      }
    } catch (const std::exception& thrown) {
      fail(std::string("transport: ") + thrown.what());
    }
    lock.lock();
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
