/// What a job is: how many PEs, carried by what, within which memory.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Bytes of trains that a PE may have, unless told otherwise.
inline constexpr std::size_t default_budget = std::size_t{16} << 20;

/// Trains that may wait on a rank, of each channel of a network: no job has more.
inline constexpr std::size_t most_receive_trains = 16;

/// Bytes of the longest train of a job on one host: past it throughput grows no more there, and a train should stay in
/// the first-level cache from filling to unloading.
inline constexpr std::size_t usual_train = std::size_t{16} << 10;
/// Bytes of the longest train between hosts. Over TCP a train costs some ten microseconds, whatever it carries; and
/// with its heads this one is no longer than what Open MPI sends there without asking the receiver, 64 KiB.
inline constexpr std::size_t long_train = std::size_t{63} << 10;

/// The job that run() and launch() start. `pes`, `budget`, `train_bytes`, `hops`, and what is said of checkpoints are
/// the same on every rank: others are a usage_error.
struct options {
  /// Processing elements of the whole job, 1..65,536 and at least one a rank. 0: one a worker.
  /// `--pes`, SHUNT_PES.
  int pes = 0;

  /// "threads": one process. "processes": as many as `shunt start` started on this machine. "mpi": as many as an MPI
  /// launcher started. "shmem": as many as a launcher of OpenSHMEM started. "auto": what the launcher that started this
  /// process serves, else threads.
  /// `--transport`, SHUNT_TRANSPORT.
  std::string transport = "auto";

  /// Worker threads of one rank. 0: the CPUs this process may use (affinity, cgroup quota), shared between the
  /// ranks of one machine. `--workers`, SHUNT_WORKERS.
  int workers = 0;

  /// Bytes of trains a PE may own. The PEs of one worker put theirs together. Programs wait for a train when a
  /// quarter of it is under way; handlers, which cannot wait, may use the rest; past it the job ends with an error.
  /// Memory is taken when needed, so that an ordinary job uses a fraction. `--budget`, SHUNT_BUDGET.
  std::size_t budget = default_budget;

  /// Bytes of messages a train carries: the longest message is a little less. 0: from the budget, and between hosts
  /// from the network, which is measured as the job begins (network_speed.hpp).
  /// `--train`, SHUNT_TRAIN.
  std::size_t train_bytes = 0;

  /// 1: trains go straight to their destination; 2: over an intermediate worker, so that n workers keep 2*sqrt(n)
  /// open trains instead of n; where R ranks have W workers each, R+W, and a message crosses the network at most once.
  /// 0: two when the budget gives less than 1 KiB a train otherwise. `--hops`, SHUNT_HOPS.
  int hops = 0;

  /// Silence after which another rank counts as lost. `--deadline` (seconds), SHUNT_DEADLINE.
  std::chrono::milliseconds deadline{5'000};

  /// Time in which all ranks of a job must have come together in MPI_Init, and in which they must get out of
  /// MPI_Finalize: MPI gives no sign of life of a rank there. 0: six times `deadline`.
  /// `--start-deadline` (seconds), SHUNT_START_DEADLINE.
  std::chrono::milliseconds start_deadline{0};

  /// Ranks of one machine map the memory of each other's trains, which then move as between threads. false: they send
  /// them over MPI, as far ones do; `processes` has no other way. `--shared-memory` (0 or 1), SHUNT_SHARED_MEMORY.
  bool shared_memory = true;

  /// How long an idle worker watches before it sleeps; 0 when there are more workers than CPUs.
  /// `--spin` (microseconds), SHUNT_SPIN.
  std::chrono::nanoseconds spin{50'000};

  /// Bind workers to CPUs, where this process has them to itself. `--pin` (0 or 1), SHUNT_PIN.
  bool pin = true;

  /// Whether sends and collectives look for two mistakes that give wrong answers: a message that holds the address of a
  /// variable of its sender, and an operand of a collective that messages may still change. Unset: SHUNT_CHECK, 0 or 1;
  /// else the checks are on where the library was built without NDEBUG.
  std::optional<bool> check{};

  /// Where checkpoints are written (checkpoint.hpp): a directory that all hosts share; it is made. Empty: none are
  /// written. `--checkpoint`, SHUNT_CHECKPOINT.
  std::string checkpoint{};

  /// How long after one has begun the next is due; 0: at each call. Unset: only a signal and save() write one.
  /// `--every` (`10min`; ms, s, min, h, d; seconds without a unit), SHUNT_EVERY.
  std::optional<std::chrono::milliseconds> every{};

  /// The signal that asks for a checkpoint and then the end, with status 85: the first time. The second time it ends
  /// the process at once. `--checkpoint-signal` (TERM, INT, HUP, USR1, USR2, XCPU),
  /// SHUNT_CHECKPOINT_SIGNAL.
  int checkpoint_signal = SIGTERM;

  /// A directory with checkpoints, of which the last whole one is taken up. "auto": that of `checkpoint`, if it has
  /// one; else the job begins at its beginning. Empty: it does so anyway. `--restart`, SHUNT_RESTART.
  std::string restart{};

  /// The application: error messages of the job begin with it. options_from() sets the program's name; empty: they do
  /// not.
  std::string name{};
};

/// Reads SHUNT_… variables, then takes the options above out of the command line; the rest stays, in order.
/// \throws usage_error for a value out of range, or an unknown SHUNT_… variable.
[[nodiscard]] options options_from(int& argc, char** argv);

/// The same for programs that parse the command line themselves: only the variables.
[[nodiscard]] options options_from_environment();

/// \throws usage_error that names the first option out of its range.
void check(const options& wanted);

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
