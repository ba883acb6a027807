/// What carries trains between the processes (ranks) of a job.
///
/// One narrow interface, polled: a transport never calls up, never waits in send() or poll(), and knows no
/// fiber and no PE. Inside a process trains move by pointer and no transport is asked.
///
/// From open() to the destructor a transport of several processes notices a rank that was stopped, cut off or killed,
/// also where the caller waits in open(), exchange(), start() or the destructor: then a thread of the transport says
/// on standard error which rank it is, as far as that can be known, and ends the job.
///
/// Life of a job:   open -> exchange* -> start -> (send | poll | beat)* -> stop -> exchange* -> destructor
#pragma once

#include <chrono>
#include <cstddef>
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

/// Channels are independent: trains of one that nobody receives never hold up those of another.
inline constexpr int channels = 3;

/// What start() needs to know; alike on every rank.
struct service {
  std::size_t capacity = 0;                   ///< bytes of goods of the largest train
  std::size_t receive_trains = 4;             ///< trains that may wait on this rank, a channel
  std::chrono::milliseconds deadline{5'000};  ///< silence after which a rank counts as lost
};

/// How long a transport waits for other ranks where no service runs, and the name in front of its messages.
struct limits {
  /// Silence after which a rank counts as lost, from open() to the destructor; as service::deadline. 0: never.
  std::chrono::milliseconds deadline{5'000};
  /// Time in which all ranks must have called open(), and in which they must get out of MPI at the end: MPI gives no
  /// sign of life of a rank then. 0: for ever.
  std::chrono::milliseconds gather{30'000};
  std::string name{};  ///< of the application; empty: none
};

/// A rank that does not answer any more.
struct loss {
  int rank = 0;
  std::string why;  ///< "ended (process 4711)", "silent for 5.0 s: stopped or unreachable"
};

class carrier {
 public:
  virtual ~carrier() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;  ///< "threads", "mpi"
  [[nodiscard]] virtual int rank() const noexcept = 0;               ///< 0..ranks()-1
  [[nodiscard]] virtual int ranks() const noexcept = 0;
  /// Ranks that share this rank's machine, itself included: they share its cores too.
  [[nodiscard]] virtual int ranks_here() const noexcept = 0;

  /// Collective, outside start()..stop(). Every rank's text, in rank order. May wait.
  [[nodiscard]] virtual std::vector<std::string> exchange(const std::string& mine) = 0;

  /// Collective.
  virtual void start(const service& wanted) = 0;

  /// Any thread, between start() and stop(). Takes the train (invariant T1); it goes home by itself once its
  /// freight has left. Order is kept between two trains of one channel to one rank.
  virtual void send(rail::train& loaded, int rank) = 0;

  /// Any thread; several at once are allowed, and all but one return at once. Moves the network on and appends
  /// the trains that have arrived, each to be sent home once unloaded. Of a train's head the transport vouches for
  /// `bytes`, `channel` and `rank`, the rank that sent it; everything else is as the network delivered it.
  /// \return true: something moved.
  virtual bool poll(rail::train_list& arrived) = 0;

  /// How long a process may sleep without poll(); nanoseconds::max(): for ever.
  [[nodiscard]] virtual std::chrono::nanoseconds patience() const noexcept = 0;

  /// Any thread, a few times a second, also while the programs compute: sends a sign of life, and looks for
  /// those of others. \return a rank that counts as lost.
  [[nodiscard]] virtual std::optional<loss> beat() = 0;

  /// Collective, after every message has been processed everywhere; heartbeats end.
  virtual void stop() = 0;

  /// Any thread, at any time: ends every rank that can be reached, and this one, with `status`.
  [[noreturn]] virtual void abort(int status) noexcept = 0;
};

/// Opens a transport by name.
/// \param name     "threads" (one process, always there), "mpi", or "auto": mpi under an MPI launcher of more than one
///                 rank, else threads
/// \param plugins  folders to search for transports first, absolute, separated by colons; then those of the program's
///                 file and of the library's, and the installed one. The current folder is never searched.
/// \param waiting  how long it may wait for other ranks
/// \throws usage_error for an unknown name, a transport that this installation lacks (it lists those it has), or a
///         folder that is not absolute; shunt::error if the network fails.
[[nodiscard]] std::unique_ptr<carrier> open(std::string_view name, const std::string& plugins = {},
                                            const limits& waiting = {});

/// Names that open() would accept here, e.g. for a report: "threads", "mpi (Open MPI)".
/// \throws usage_error for a folder that is not absolute.
[[nodiscard]] std::vector<std::string> available(const std::string& plugins = {});

/// A transport that open() would find, and the file it would load.
struct offer {
  std::string name;  ///< as available() has it
  std::string file;  ///< absolute; empty: it is part of the library
};
[[nodiscard]] std::vector<offer> offers(const std::string& plugins = {});

}  // namespace transport
}  // namespace v1
}  // namespace shunt
