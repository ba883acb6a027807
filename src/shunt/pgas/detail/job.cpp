#include <shunt/pgas/detail/job.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <sstream>
#include <system_error>

#include <unistd.h>

#include <shunt/base/memory_limit.hpp>
#include <shunt/pgas/detail/exit_watch.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Largest train without being asked: past it throughput grows no more, and a train should stay in the first-level
/// cache from filling to unloading.
constexpr std::size_t full_train = std::size_t{16} << 10;
/// Below it the handing over of a train costs more than what it carries.
constexpr std::size_t useful_train = 1024;
constexpr std::size_t least_train = 512;
/// Trains a lane, as far as the budget goes and those under way stay within some rings: one is filled, one travels, one
/// is unloaded, one comes home.
constexpr std::size_t trains_a_lane = 4;
/// Bytes of open trains. With a thousand lanes no cache near the core holds them: better full trains than none in it.
constexpr std::size_t open_trains = std::size_t{8} << 20;
/// A lane for each PE pays while its trains are no shorter.
constexpr std::size_t useful_plain_train = 2 * useful_train;
/// Bytes of trains in turn, where the budget allows: train_pool::take says why so many.
constexpr std::size_t deep_ring = std::size_t{2} << 20;

constexpr auto beat_interval = std::chrono::milliseconds(200);
/// How long PEs have to unwind after a failure before the process ends without them.
constexpr auto grace = std::chrono::seconds(3);
/// How much later than the rank before it a rank reports its own failure (well within the least deadline), and the loss
/// of another, which all see at once.
constexpr auto failure_turn = std::chrono::milliseconds(350);
constexpr auto loss_turn = std::chrono::milliseconds(1500);
/// MPICH's launcher drops what it has not read when a rank aborts.
constexpr auto drain = std::chrono::milliseconds(100);

int columns_of(int docks) {
  int c = 1;
  while (c * c < docks) ++c;
  return c;
}

}  // namespace

layout layout::over(int pes, const std::vector<int>& workers, int rank) {
  layout plan;
  plan.pes = pes;
  plan.docks = 0;
  const auto ranks = static_cast<int>(workers.size());
  const auto share = [](long whole, long part, long parts) { return static_cast<int>(whole * part / parts); };
  for (int r = 0; r < ranks; ++r) {
    const int first = share(pes, r, ranks);
    const int here = share(pes, r + 1, ranks) - first;
    const int docks_there = std::min(here, workers[static_cast<std::size_t>(r)]);
    if (r == rank) {
      plan.first_dock_here = plan.docks;
      plan.docks_here = docks_there;
    }
    for (int d = 0; d < docks_there; ++d) {
      plan.first_pe.push_back(first + share(here, d, docks_there));
      plan.rank_of.push_back(static_cast<std::uint16_t>(r));
    }
    plan.docks += docks_there;
  }
  plan.first_pe.push_back(pes);
  plan.dock_of.resize(static_cast<std::size_t>(pes));
  for (int d = 0; d < plan.docks; ++d) {
    for (int p = plan.first_pe[static_cast<std::size_t>(d)]; p < plan.first_pe[static_cast<std::size_t>(d) + 1]; ++p) {
      plan.dock_of[static_cast<std::size_t>(p)] = static_cast<std::uint16_t>(d);
    }
  }
  return plan;
}

int layout::columns() const noexcept { return columns_of(docks); }

std::vector<std::uint16_t> layout::hops_from(int from, int hops, std::vector<int>& neighbours) const {
  std::vector<std::uint16_t> by_dock(static_cast<std::size_t>(docks));
  const int columns = columns_of(docks);
  const auto direct = [&](int d) {
    return hops == 1 || d / columns == from / columns || d % columns == from % columns;
  };
  neighbours.clear();
  for (int d = 0; d < docks; ++d) {
    int via = d;
    if (direct(d)) {
      if (d != from) neighbours.push_back(d);
    } else {
      // Along the row first. In a last row that is not full that place may be empty; then `from` is in that row,
      // the destination's row is full, and the column comes first.
      via = from / columns * columns + d % columns;
      if (via >= docks) via = d / columns * columns + from % columns;
    }
    by_dock[static_cast<std::size_t>(d)] = static_cast<std::uint16_t>(via);
  }
  std::vector<std::uint16_t> by_pe(dock_of.size());
  std::transform(dock_of.begin(), dock_of.end(), by_pe.begin(), [&](std::uint16_t d) { return by_dock[d]; });
  return by_pe;
}

timetable timetable::of(std::size_t budget, int pes, int docks, std::size_t wanted_capacity, int wanted_hops) {
  const std::size_t share = budget / 4;  // regular trains of programs; as much for handlers; half to spare
  const auto affordable = [&](std::size_t lanes) {
    const std::size_t each = std::min(share / trains_a_lane, open_trains) / lanes;
    return each < sizeof(rail::train) ? std::size_t{0} : std::bit_floor(each);
  };
  const auto by_dock = static_cast<std::size_t>(docks);
  const auto by_hop = static_cast<std::size_t>(2 * columns_of(docks));
  const auto by_pe = static_cast<std::size_t>(pes);
  timetable t;
  t.hops = wanted_hops != 0 ? wanted_hops : affordable(by_dock) < useful_train && docks > 4 ? 2 : 1;
  t.plain = t.hops == 1 && (pes == docks || affordable(by_pe) >= useful_plain_train);
  const std::size_t lanes = t.plain ? by_pe : t.hops == 1 ? by_dock : by_hop;
  t.capacity = wanted_capacity != 0 ? wire::round_up(wanted_capacity, cache_line)
                                    : std::clamp(affordable(lanes), least_train, full_train);
  const std::size_t each = t.capacity + sizeof(rail::train);
  const std::size_t under_way = std::min((trains_a_lane - 1) * lanes, (trains_a_lane - 1) * deep_ring / each);
  t.regular = std::min(share / each, lanes + std::max(under_way, deep_ring / each));
  t.resting = std::max<std::size_t>(1, deep_ring / each);
  t.limit = budget / each;
  if (t.regular < 2) {
    throw usage_error("--budget: " + std::to_string(budget) + " bytes a worker are too few for trains of " +
                      std::to_string(t.capacity) + " bytes, at least " + std::to_string(8 * each) + " are needed");
  }
  return t;
}

job::job(const options& wanted, transport::carrier& carrier)
    : wanted_(wanted), carrier_(carrier), remote_(carrier.ranks() > 1) {
  wire::handler_table::number();
  agree();
}

job::~job() = default;

void job::agree() {
  std::ostringstream mine;
  mine << wanted_.pes << ' ' << wanted_.budget << ' ' << wanted_.train_bytes << ' ' << wanted_.hops << ' '
       << wire::handler_table::size() << ' ' << wire::handler_table::digest();
  const auto all = carrier_.exchange(mine.str());
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] != all.front()) {
      throw usage_error("rank " + std::to_string(r) +
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
    throw usage_error("--pes " + std::to_string(pes) + ": with " + std::to_string(ranks) +
                      " ranks at least as many PEs are needed");
  }
  wanted_.pes = pes;
  plan_ = layout::over(pes, by_rank, carrier_.rank());
  const auto least_pes = static_cast<std::size_t>(pes / std::max(1, plan_.docks));
  trains_ = timetable::of(wanted_.budget * std::max<std::size_t>(1, least_pes), pes, plan_.docks, wanted_.train_bytes,
                          wanted_.hops);
  validator_ = validator(
      {carrier_.rank(), pes, plan_.docks, trains_.hops, plan_.columns(), trains_.plain, plan_.dock_of, plan_.rank_of});
}

void job::deliver(rail::train& t, int to_dock) {
  const int rank = plan_.rank_of[static_cast<std::size_t>(to_dock)];
  if (rank == carrier_.rank()) {
    docks_[static_cast<std::size_t>(to_dock - plan_.first_dock_here)]->train_inbox.deliver(t);
  } else {
    carrier_.send(t, rank);
  }
}

void job::set_up() {
  // A worker runs on each dock that has PEs, which may be fewer than there are CPUs for.
  std::vector<int> busy(static_cast<std::size_t>(carrier_.ranks()), 0);
  for (const auto rank : plan_.rank_of) ++busy[rank];
  const auto mine = divide(cpus_, busy)[static_cast<std::size_t>(rank())].share;
  sched::options how;
  how.workers = plan_.docks_here;
  how.pin = wanted_.pin && mine.alone;
  // The only rank of its kernel: the runtime itself compares its workers with the CPUs.
  const auto neighbours = std::count_if(cpus_.begin(), cpus_.end(), [&](const rank_cpus& r) {
    return r.kernel == cpus_[static_cast<std::size_t>(rank())].kernel;
  });
  how.spin = mine.room || neighbours == 1 ? wanted_.spin : std::chrono::nanoseconds(0);
  runtime_ = std::make_unique<sched::runtime>(how);
  if (remote()) {
    carrier_.start({trains_.capacity, std::min<std::size_t>(16, trains_.regular), wanted_.deadline});
    try {
      watcher_ = std::thread([this] { watch(); });
    } catch (const std::system_error& refused) {
      throw error(std::string("run: cannot start the thread that watches the other ranks: ") + refused.what() + "; " +
                  thread_limit_in_force());
    }
  }
  for (int d = 0; d < plan_.docks_here; ++d) {
    const int index = plan_.first_dock_here + d;
    const int first = plan_.first_pe[static_cast<std::size_t>(index)];
    docks_.push_back(
        std::make_unique<dock>(*this, index, d, first, plan_.first_pe[static_cast<std::size_t>(index) + 1] - first));
    hop_tables_.push_back(plan_.hops_from(index, trains_.hops, docks_.back()->neighbours));
    docks_.back()->hop_of = hop_tables_.back().data();
    runtime_->attach(d, *docks_.back());
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

void job::run(const std::function<void(pe&)>& program) {
  set_up();
  const exit_watch::serving no_exit(remote() ? this : nullptr);
  for (int d = 0; d < plan_.docks_here; ++d) {
    dock& here = *docks_[static_cast<std::size_t>(d)];
    for (int p = here.first_pe; p < here.first_pe + here.pes_here; ++p) {
      runtime_->spawn([this, &here, p, &program] { run_pe(here, p, program); },
                      {.worker = d, .name = "PE " + std::to_string(p), .even_without_stack = true});
    }
  }
  try {
    runtime_->run([] {});
  } catch (const usage_error&) {
    throw;                                  // the call's fault; nothing has begun
  } catch (const std::exception& thrown) {  // no thread, or no stack for the root: no PE has run, or all have ended
    fail(thrown.what());
  }
  tear_down();
  if (failed()) {
    if (remote()) end_now(message_, failure_turn);
    if (kind_.load(std::memory_order_relaxed) == fault::usage) throw usage_error(message_);  // relaxed: all have joined
    throw error(message_);
  }
  if (remote()) carrier_.stop();
}

void job::run_pe(dock& d, int index, const std::function<void(pe&)>& program) noexcept {
  const std::string who = "PE " + std::to_string(index) + ": ";
  try {
    sched::this_fiber::require_stack();
    pe me(d, index);
    program(me);
    d.end(index);  // goods for this PE may still be under way between others
  } catch (const job_over&) {
  } catch (const std::exception& thrown) {
    const std::string_view what = thrown.what();
    fail(what.starts_with(who) ? std::string(what) : who + std::string(what), fault_of(thrown));
  } catch (...) {
    fail(who + "threw something that is not a std::exception");
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
      if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {  // no thread: then nothing ends a PE that does not listen
    }
  }
  for (int d = 0; d < plan_.docks_here; ++d) runtime_->unpark(d);
}

std::string job::pes_of(int rank) const {
  int first = -1, last = -1;
  for (int p = 0; p < plan_.pes; ++p) {
    if (plan_.rank_of[plan_.dock_of[static_cast<std::size_t>(p)]] != rank) continue;
    if (first < 0) first = p;
    last = p;
  }
  return first == last ? "PE " + std::to_string(first) : "PEs " + std::to_string(first) + ".." + std::to_string(last);
}

/// The job cannot go on, and somebody may be unable to unwind: says why and ends every process.
/// Ranks that know the same would all say it: each gives those before it time to end the job.
void job::end_now(const std::string& message, std::chrono::milliseconds turn) noexcept {
  std::this_thread::sleep_for(turn * std::min(rank(), 2));
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  if (remote()) std::this_thread::sleep_for(drain);
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
      end_now(message_, failure_turn);
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
