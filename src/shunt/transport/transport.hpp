/// What carries trains between the processes (ranks) of a job.
///
/// One narrow interface, polled: a transport never calls up, never waits in send() or poll(), and knows no
/// fiber and no PE. Inside a process trains move by pointer and no transport is asked.
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

#include <shunt/rail/platform.hpp>
#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {

/// Channels are independent: trains of one that nobody receives never hold up those of another.
inline constexpr int channels = 3;

/// What start() needs to know; alike on every rank.
struct service {
  std::size_t capacity = 0;         ///< bytes of goods of the largest train
  std::size_t receive_trains = 4;   ///< trains that may wait on this rank, a channel
  std::chrono::milliseconds deadline{5'000};  ///< silence after which a rank counts as lost
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
  /// the trains that have arrived, each to be sent home once unloaded. \return true: something moved.
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
/// \param plugins  folder to search for transports first; empty: beside the program and the installed library
/// \throws usage_error for an unknown name or a transport that this installation lacks; it lists those it has.
[[nodiscard]] std::unique_ptr<carrier> open(std::string_view name, const std::string& plugins = {});

/// Names that open() would accept here, e.g. for a report: "threads", "mpi (Open MPI)".
[[nodiscard]] std::vector<std::string> available(const std::string& plugins = {});

}  // namespace transport
}  // namespace v1
}  // namespace shunt
