/// How the ranks of a job say why it cannot begin: once, and not once a rank.
///
///   rank   its start      takes part in the next exchange with    then
///   0      goes well      what the others wait for                ends as rank 1 has failed, without a word
///   1      fails          a failure                               prints it: no rank before it has failed so
///   2      fails alike    the same                                ends without a word
///
/// Invariant
///   start.S1  Until all ranks know of each other's CPUs, each exchange of a job's start is exchange_at_start() on some
///             ranks and tell_failure() on the others. What comes later is computed from what all know, so it fails on
///             all ranks or on none: then all call tell_failure().
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What the ranks have agreed on, as one of them sees it.
struct start_failure {
  std::string what;        ///< of the lowest rank that has failed; with its number, unless all have failed so
  int status = 1;          ///< of that rank: with which all ranks end
  bool here = false;       ///< this rank prints what it has found: it has failed, and none before it has failed so
  bool everywhere = true;  ///< all ranks have failed so
};

/// Thrown on a rank whose own start goes well.
class failed_elsewhere final : public error {
 public:
  /// \param known  what the ranks have agreed on
  explicit failed_elsewhere(start_failure known) : error(known.what), agreed(std::move(known)) {}
  const start_failure agreed;  ///< what the ranks have agreed on
};

/// Collective, before the transport is started. Every rank's text, in rank order; none begins with a `!`.
/// \throws failed_elsewhere if a rank has called tell_failure() instead
[[nodiscard]] std::vector<std::string> exchange_at_start(transport::carrier& over, const std::string& mine);

/// Collective, in place of exchange_at_start(), on a rank whose start has failed.
/// \param status  1..9, of its end
[[nodiscard]] start_failure tell_failure(transport::carrier& over, const std::string& what, int status);

/// Whether a launcher says that it has started others beside this process.
[[nodiscard]] bool one_of_several();

/// How far this process has come with its job: it says how an error of it is told. Any thread.
class start_progress {
 public:
  /// In the order in which a job comes to them.
  enum class phase : std::uint8_t {
    before,   ///< no transport has been opened: report_failure() may open one, to tell the other ranks
    opening,  ///< one is being opened, or failed to
    open,     ///< the ranks know of each other, and programs do not run
    agreed,   ///< the start has failed, and the ranks know on which
    alone,    ///< the job has one rank
    begun     ///< programs run, or have run
  };
  /// The process's one.
  static start_progress& of_process();

  void come_to(phase now);
  /// \param known  with phase::agreed
  void agree(start_failure known);
  [[nodiscard]] phase now();
  /// After phase::agreed.
  [[nodiscard]] start_failure agreed();

 private:
  std::mutex guard_;  // of what follows
  phase now_ = phase::before;
  start_failure agreed_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
