#include <shunt/transport/mpi/carrier.hpp>

#include <climits>
#include <exception>

#include <shunt/base/error.hpp>
#include <shunt/transport/mpi/check.hpp>
#include <shunt/transport/mpi/collectives.hpp>
#include <shunt/transport/network/backoff.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

// --- the life of the job: MPI_Init to MPI_Finalize ---

mpi_carrier::mpi_carrier(const limits& time_limits)
    : network_carrier(engine_, liveness_, INT_MAX), liveness_(gate_, heartbeats_, time_limits) {
  constexpr const char* late = "has not called shunt::pgas::run() yet, or not come as far";
  auto& timer = liveness_.timer();
  const network::limited_wait wait(timer, "MPI_Init", late);
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
  if (ranks_ > 1) heartbeats_.open(gate_.enter(), heartbeat_comm_, rank_, ranks_);
  engine_.use(gate_.enter(), channel_comms_, rank_, ranks_);
  meet_processes();
}

/// Initialises MPI, unless the program has, and makes sure that more than one thread may call it.
void mpi_carrier::initialise() {
  int already = 0, over = 0;
  check(MPI_Initialized(&already), "MPI_Initialized");
  check(MPI_Finalized(&over), "MPI_Finalized");
  if (over != 0) {  // any other call of MPI would end the process, with a message of its own
    throw usage_error(
        error_number(821),
        "MPI cannot begin again in a process: over the transport `mpi` it runs one job, unless the program "
        "itself initialises MPI");
  }
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
  const bool unwinding = is_unwinding();
  if (over == 0 && (is_started() || !finalise(unwinding))) abandon();
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
  // On the heartbeats' communicator: a rank that an exception brought here must not meet another's exchange().
  constexpr const char* gathering = "MPI_Ibarrier, gathering to part";
  if (ranks_ > 1 && !barrier(gate_, heartbeat_comm_, gathering, wait_at_end(unwinding))) return false;
  auto& timer = liveness_.timer();
  const network::limited_wait wait(timer, "the end of the job, after the last message", "has left MPI");
  if (ranks_ > 1) {
    liveness_.stop_watching(gate_.enter());
    for (network::backoff pause;; pause()) {
      if (heartbeats_.say_goodbye(gate_.enter())) break;
    }
    static_cast<void>(barrier(gate_, heartbeat_comm_, "MPI_Ibarrier, leaving", [] { return true; }));
    heartbeats_.close(gate_.enter());
  }
  give_memory_back();
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
  complain(thrown);
  return false;
}

// --- the life of a service: the rest is network_carrier's ---

std::vector<std::string> mpi_carrier::exchange(const std::string& mine) {
  return all_gather(gate_, train_comm_, rank_, ranks_, mine);
}

void mpi_carrier::gather_to_stop() {
  static_cast<void>(barrier(gate_, train_comm_, "MPI_Ibarrier, gathering to stop", [this] {
    liveness_.beat_while_stopping();
    return true;
  }));
}

void mpi_carrier::end_all(const network::gate::pass&, int status) noexcept { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
