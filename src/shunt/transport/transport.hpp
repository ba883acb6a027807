/// What carries trains between the processes (ranks) of a job.
///
/// One narrow interface, which the program polls: a transport never calls up, never waits in send() or poll(), and
/// knows no fiber and no PE. Inside a process trains move by pointer, without a transport. So they do between processes
/// of a machine that map the memory of their trains at one address: there the transport only says where each worker's
/// inbox lies (shared_place).
///
/// From open() to the destructor a transport of several processes notices a rank that was stopped, cut off or killed.
/// Where the caller waits in open(), exchange(), start() or the destructor, a thread of the transport does so: it says
/// on standard error which rank it is, as far as that can be known, and ends the job.
///
/// Life of a job:   open -> exchange* -> start -> (send | poll | beat)* -> stop -> exchange* -> destructor
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {

/// Channels are independent: trains of one that its rank does not receive never hold up those of another.
inline constexpr int channels = 3;

/// Short trains of a channel that one rank may leave in the memory of another that does not receive them.
inline constexpr int eager_trains = 7;

/// What start() needs to know; alike on every rank.
struct service {
  std::size_t capacity = 0;                   ///< bytes of goods of the largest train
  std::size_t receive_trains = 4;             ///< trains that may wait on this rank, of each channel; at least 1
  std::chrono::milliseconds deadline{5'000};  ///< silence after which a rank counts as lost; 0: never
  std::vector<int> rank_of{};  ///< by worker of the job, in ascending order; empty: no trains in shared memory
  std::size_t yard = 0;        ///< bytes that the trains of one worker take (rail::train_pool::bytes_for)
};

/// What a worker has in memory that several ranks map at one address.
struct shared_place {
  rail::train_inbox* inbox = nullptr;           ///< where trains come to it; null: it has nothing there
  std::atomic<std::uint32_t>* token = nullptr;  ///< which its inbox leaves when it sleeps (base/futex.hpp)
  std::byte* yard = nullptr;                    ///< for its trains, service::yard bytes
};

/// How long a transport waits for other ranks where no service runs, and the name in front of its messages.
struct limits {
  /// Silence after which a rank counts as lost, from open() to the destructor; as service::deadline. 0: never.
  std::chrono::milliseconds deadline{5'000};
  /// Time in which all ranks must have called open(), and in which they must get out of the network at the end: a rank
  /// cannot send a sign of life then. 0: for ever.
  std::chrono::milliseconds gather{30'000};
  std::string name{};  ///< of the application; empty: none
};

/// A rank that no longer answers.
struct loss {
  int rank = 0;     ///< its number, 0..ranks-1
  std::string why;  ///< "ended (process 4711)", "silent for 5.0 s: stopped or unreachable"
};

/// One rank's end of a transport. Every function but patience(), abort() and those that only tell may throw
/// shunt::error if the network fails.
class carrier {
 public:
  /// Collective. If an exception ends the job while a service runs, the other ranks are elsewhere: the destructor does
  /// not wait for them then, and the launcher ends the job.
  virtual ~carrier() = default;

  // Any thread, at any time.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;  ///< "threads", "processes", "mpi", "shmem"
  [[nodiscard]] virtual int rank() const noexcept = 0;               ///< 0..ranks()-1
  /// Processes of the job, at least 1.
  [[nodiscard]] virtual int ranks() const noexcept = 0;
  /// Ranks that share this rank's machine, itself included: they share its cores too.
  [[nodiscard]] virtual int ranks_here() const noexcept = 0;

  /// Collective, outside start()..stop(). Every rank's text, in rank order. Waits for the other ranks.
  [[nodiscard]] virtual std::vector<std::string> exchange(const std::string& mine) = 0;

  /// Collective, outside start()..stop(): allocates the trains that receive. Waits for the other ranks.
  /// \throws shunt::error on every rank if the settings of one rank differ
  virtual void start(const service& settings) = 0;

  /// Any thread, between start() and stop(). Takes the train (invariant T1 of rail/train.hpp), which goes home by
  /// itself once its freight has left: once the rank has a train for it, but for `eager_trains` short ones. Never
  /// waits. Two trains of one channel to one rank arrive in the order of their sends.
  /// \param rank  0..ranks()-1, another one than this
  virtual void send(rail::train& loaded, int rank) = 0;

  /// Any thread, between start() and stop(); if several threads call it at once, all but one return at once. Moves the
  /// network on, and appends the trains that have arrived: the caller sends each home once it is unloaded. Of a train's
  /// head the transport vouches for `bytes`, `channel` and `rank`, the rank that sent it; everything else is as the
  /// network delivered it. Never waits.
  /// \return true: something moved.
  virtual bool poll(rail::train_list& arrived) = 0;

  /// Any thread, between start() and stop(). A worker's place in memory that this rank maps: a train whose memory lies
  /// there too goes to its inbox rather than to send(). The memory stays mapped as long as the process.
  /// \param worker  as service::rank_of counts them
  [[nodiscard]] virtual shared_place place_of(int worker) const noexcept = 0;

  /// Any thread, between start() and stop(). Whether some rank is reached by send() only. If none is, poll() brings
  /// nothing.
  [[nodiscard]] virtual bool has_network() const noexcept = 0;

  /// Any thread. Why ranks of this machine share no memory, one line; empty: they do, or there is one alone.
  [[nodiscard]] virtual std::string why_not_shared() const { return {}; }

  /// Any thread. How long a process may sleep without poll(); nanoseconds::max(): for ever.
  [[nodiscard]] virtual std::chrono::nanoseconds patience() const noexcept = 0;

  /// Any thread. Between start() and stop() a few times a second, also while the programs compute: sends a sign of
  /// life, and looks for those of others. Waits 100 ms at most. \return a rank that counts as lost.
  [[nodiscard]] virtual std::optional<loss> beat() = 0;

  /// Collective, after every message has been processed everywhere. Waits for the other ranks.
  virtual void stop() = 0;

  /// Any thread, at any time: ends every rank that can be reached, and this one, with `status`; with EXIT_FAILURE where
  /// its lower eight bits, which the system keeps, would be those of success.
  [[noreturn]] virtual void abort(int status) noexcept = 0;
};

/// Collective: opens a transport by name. Waits for the other ranks.
/// \param name     "threads" (one process, always there), "processes" (several on this machine, started by
///                 run_processes()), "mpi", "shmem" (under oshrun), or "auto": what the launcher that started this
///                 process serves, else threads. Nothing tells oshrun from mpirun, so "auto" means "mpi" there.
/// \param plugins  folders to search for transports first, absolute, separated by colons; then those of the program's
///                 file and of the library's, and the installed one. The current folder is never searched.
/// \param time_limits  how long it may wait for other ranks
/// \throws usage_error for an unknown name, a transport that this installation lacks (it lists those it has), or a
///         folder that is not absolute; shunt::error if the network fails.
[[nodiscard]] std::unique_ptr<carrier> open(std::string_view name, const std::string& plugins = {},
                                            const limits& time_limits = {});

/// Any thread. Names that open() would accept here, e.g. for a report: "threads", "processes", "mpi (Open MPI)",
/// "shmem (Open MPI)".
/// \throws usage_error for a folder that is not absolute.
[[nodiscard]] std::vector<std::string> available(const std::string& plugins = {});

/// A transport that open() would find, and the file it would load.
struct offer {
  std::string name;  ///< as available() has it
  std::string file;  ///< absolute; empty: it is part of the library
};
/// Any thread. \throws usage_error for a folder that is not absolute.
[[nodiscard]] std::vector<offer> offers(const std::string& plugins = {});

}  // namespace transport
}  // namespace v1
}  // namespace shunt
