#include <shunt/transport/mpi/carrier.hpp>

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <shunt/base/error.hpp>
#include <shunt/base/machine.hpp>
#include <shunt/transport/mpi/backoff.hpp>
#include <shunt/transport/mpi/check.hpp>
#include <shunt/transport/mpi/collectives.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// How long abort() waits for the gate, how long it sleeps between two tries, and how long MPI_Abort may then take to
/// end the process.
constexpr milliseconds abort_gate_limit{200};
constexpr milliseconds abort_gate_interval{1};
constexpr milliseconds abort_limit{800};
/// How long a rank that an exception ends waits for the other ranks to end as it does.
constexpr milliseconds unwinding_limit{2'000};

}  // namespace

// --- the life of the job: MPI_Init to MPI_Finalize ---

mpi_carrier::mpi_carrier(const limits& time_limits) : liveness_(gate_, time_limits) {
  constexpr const char* late = "has not called shunt::pgas::run() yet, or not come as far";
  auto& timer = liveness_.timer();
  const limited_wait wait(timer, "MPI_Init", late);
  initialise();
  timer.enter("MPI_Comm_dup", late);
  const auto own = [](MPI_Comm& copy) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  };
  own(train_comm_);
  own(heartbeat_comm_);
  for (auto& of_channel : channel_comms_) own(of_channel);
  check(MPI_Comm_rank(train_comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(train_comm_, &ranks_), "MPI_Comm_size");
  timer.enter("the first exchange over MPI", late);
  const auto processes = exchange(std::to_string(getpid()) + ' ' + machine_identity());
  if (ranks_ > 1) liveness_.open(heartbeat_comm_, rank_, ranks_, processes);
  for (const auto& p : processes) machines_.push_back(p.substr(p.find(' ') + 1));
}

/// Initialises MPI, unless the program has, and makes sure that more than one thread may call it.
void mpi_carrier::initialise() {
  int already = 0;
  check(MPI_Initialized(&already), "MPI_Initialized");
  int level = MPI_THREAD_SINGLE;
  if (already != 0) {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    initialised_here_ = true;
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  if (level < MPI_THREAD_SERIALIZED) {
    throw error(error_number(801),
                "this MPI was initialised for a single thread: initialise it with MPI_Init_thread and "
                "MPI_THREAD_SERIALIZED or more, or leave that to Shunt");
  }
}

mpi_carrier::~mpi_carrier() {
  int over = 0;
  MPI_Finalized(&over);
  const bool unwinding = std::uncaught_exceptions() > exceptions_;
  if (over == 0 && (started_ || !finalise(unwinding))) {
    // An exception ended the job in the middle: other ranks are not in MPI_Finalize, which would wait for them, and MPI
    // may still write into the trains. The launcher sees a process that ended without MPI_Finalize.
    const auto pass = gate_.enter();
    liveness_.stop_watching(pass);
    engine_.abandon(pass);
  }
}

/// The end of the job, in phases:
///
///   phase      a rank leaves it when              looked after by
///   gathering  all ranks are in the destructor    heartbeats
///   goodbye    no heartbeat is under way          time: others may be ahead
///   leaving    all ranks have said goodbye        time; from here on a process may end
///   finalise   MPI is done                        time
///
/// \return false: MPI failed, or an exception is under way and the other ranks do not come.
bool mpi_carrier::finalise(bool unwinding) try {
  if (ranks_ > 1 && !gather_to_leave(unwinding)) return false;
  auto& timer = liveness_.timer();
  const limited_wait wait(timer, "the end of the job, after the last message", "has left MPI");
  if (ranks_ > 1) {
    liveness_.stop_watching(gate_.enter());
    for (backoff pause;; pause()) {
      if (liveness_.say_goodbye(gate_.enter())) break;
    }
    barrier(gate_, heartbeat_comm_, "MPI_Ibarrier, leaving", [] {});
    liveness_.close(gate_.enter());
  }
  trains_.close();  // no rank has a service any more
  for (auto& of_channel : channel_comms_) MPI_Comm_free(&of_channel);
  MPI_Comm_free(&heartbeat_comm_);
  MPI_Comm_free(&train_comm_);
  if (!initialised_here_) return true;
  timer.enter("MPI_Finalize, with every message processed,", "has left MPI");
  // Ranks should enter MPI_Finalize together: over UCX's TCP, MPICH before 4.2 waits in it for ranks that no longer
  // move the network (DESIGN.md, known compromises).
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return true;
} catch (const std::exception& thrown) {
  const auto& name = liveness_.timer().name();
  std::fprintf(stderr, "%s%s\n", name.empty() ? "" : (name + ": ").c_str(), thrown.what());
  return false;
}

/// Waits until all ranks are in the destructor. \return false: an exception is under way, and the others do not come.
bool mpi_carrier::gather_to_leave(bool unwinding) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const auto pass = gate_.enter();
    // On the heartbeats' communicator: a rank that an exception brought here must not meet another's exchange().
    check(MPI_Ibarrier(heartbeat_comm_, &request), "MPI_Ibarrier, gathering to part");
  }
  const auto start = clock::now();
  for (backoff pause;; pause()) {
    {
      const auto pass = gate_.enter();
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Ibarrier, gathering to part");
      if (done != 0) return true;
    }
    // The caller shows the exception's message; the other ranks notice the end of this process.
    if (unwinding && clock::now() - start > unwinding_limit) return false;
  }
}

// --- the life of a service: start() to stop() ---

std::vector<std::string> mpi_carrier::exchange(const std::string& mine) {
  return all_gather(gate_, train_comm_, rank_, ranks_, mine);
}

/// Checks that every rank asks for the same service, then posts the receives.
void mpi_carrier::start(const service& settings) {
  SHUNT_ASSERT(!started_);
  SHUNT_ASSERT(settings.receive_trains > 0);
  if (settings.capacity > INT_MAX - sizeof(rail::train_head)) {
    throw error(error_number(802),
                "a train of " + std::to_string(settings.capacity) + " bytes is longer than an MPI message",
                {.rank = rank_});
  }
  agree_on(settings);
  share_memory(settings);

  const auto pass = gate_.enter();
  if (has_network_) {
    engine_.start(pass, channel_comms_, settings);
    // relaxed: a hint of how long ago, read by patience().
    last_moved_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  liveness_.service_started(pass, settings.deadline);
  started_ = true;
}

/// \throws shunt::error on every rank if the settings of one differ from those of rank 0
void mpi_carrier::agree_on(const service& settings) {
  const std::string text = std::to_string(settings.capacity) + " bytes, " + std::to_string(settings.receive_trains) +
                           " trains, " + std::to_string(settings.deadline.count()) + " ms";
  const auto all = exchange(text);
  for (int r = 0; r < ranks_; ++r) {
    if (const auto& t = all[static_cast<std::size_t>(r)]; t != all[0]) {
      throw error(error_number(803),
                  "rank " + std::to_string(r) + " asks the transport for " + t + ", rank 0 for " + all[0] +
                      ": the options of all ranks must be alike",
                  {.rank = r});
    }
  }
}

/// Ranks of a machine; the others are reached over MPI. Where they cannot share memory, so are they.
void mpi_carrier::share_memory(const service& settings) {
  std::vector<bool> near;
  for (const auto& m : machines_) near.push_back(m == machines_[static_cast<std::size_t>(rank_)]);
  const bool all_near = std::find(near.begin(), near.end(), false) == near.end();
  trains_.open(near, rank_, settings, [this](const std::string& mine) { return exchange(mine); });
  has_network_ = ranks_ > 1 && !(all_near && trains_.is_open());
}

void mpi_carrier::send(rail::train& loaded, int rank) {
  SHUNT_ASSERT(rank >= 0 && rank < ranks_ && rank != rank_);
  SHUNT_ASSERT(loaded.head.channel < channels);
  SHUNT_ASSERT(loaded.head.bytes <= engine_.capacity());
  loaded.head.rank = static_cast<std::uint16_t>(rank);
  loaded.head.empty = 0;
  static_cast<void>(out_.push(loaded));  // the outbox is never armed: no thread sleeps on it
  // A thread that holds the gate may have looked into the outbox already; then the next poll() takes the train.
  if (const auto pass = gate_.try_enter()) static_cast<void>(engine_.send_all(*pass, out_));
}

/// Moves the network on, if the gate is open: a closed gate says that another thread does so at this moment.
bool mpi_carrier::poll(rail::train_list& arrived) {
  if (!has_network_) return false;
  bool moved = false;
  do {
    if (gate_.is_urgent()) break;
    const auto pass = gate_.try_enter();
    if (!pass || !started_) break;
    if (engine_.progress(*pass, out_, arrived)) moved = true;
  } while (out_.any());  // put in by a sender that found the gate closed
  // relaxed: a hint for patience().
  if (moved) last_moved_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  return moved;
}

nanoseconds mpi_carrier::patience() const noexcept {
  if (!has_network_) return nanoseconds::max();
  // An eighth of the time that nothing has moved: sleeping makes no wait longer than by that.
  // relaxed: a hint.
  const clock::time_point moved{clock::duration(last_moved_.load(std::memory_order_relaxed))};
  return std::clamp<nanoseconds>((clock::now() - moved) / 8, shortest_sleep, longest_sleep);
}

/// The service ends once every rank's sends are complete and all ranks are here. Heartbeats go on.
void mpi_carrier::stop() {
  SHUNT_ASSERT(started_);
  if (ranks_ > 1) {
    complete_sends();
    // Every message has been processed, so no train is under way; a synchronous send that is not complete, or a train
    // that arrives, says that the caller was wrong. An eager one may be missed.
    barrier(gate_, train_comm_, "MPI_Ibarrier, gathering to stop", [this] { liveness_.beat_while_stopping(); });
  }
  const auto pass = gate_.enter();
  engine_.stop(pass, rank_);
  liveness_.service_stopped(pass);
  started_ = false;
}

/// Moves the network on until this rank's sends are complete.
void mpi_carrier::complete_sends() {
  for (backoff pause;; pause()) {
    {
      const auto pass = gate_.enter();
      rail::train_list late;
      static_cast<void>(engine_.progress(pass, out_, late));
      if (!late.empty())
        throw error(error_number(804), "stop() while trains for this rank are under way", {.rank = rank_});
      if (engine_.all_sent(pass) && !out_.any()) return;
    }
    liveness_.beat_while_stopping();
  }
}

/// Ends the process in any case: by MPI_Abort, by a thread of its own if that does not return, or at once if the gate
/// stays closed.
void mpi_carrier::abort(int status) noexcept {
  // relaxed: only the order of the calls matters. Later callers wait for the first one to end the process.
  if (ending_.exchange(true, std::memory_order_relaxed)) {
    std::this_thread::sleep_for(abort_gate_limit + abort_limit);
    std::_Exit(status);
  }
  try {
    std::thread([status] {  // MPI_Abort talks to the launcher, which may not answer
      std::this_thread::sleep_for(abort_gate_limit + abort_limit);
      std::_Exit(status);
    })
        .detach();
  } catch (...) {  // no thread to be had: MPI_Abort's own promise must do
  }
  const auto pass = gate_.enter_urgently(abort_gate_limit, abort_gate_interval);
  // A thread that holds the gate for so long hangs inside MPI. Ending without MPI_Finalize is what the launcher takes
  // as failure, and it ends the other ranks.
  if (!pass) std::_Exit(status == 0 ? EXIT_FAILURE : status);
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
