/// A job as one rank sees it: its docks, its transport, and whether it has failed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <shunt/pgas/detail/dock.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <shunt/pgas/options.hpp>
#include <shunt/pgas/placement.hpp>
#include <shunt/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

class pe;

namespace detail {

/// How PEs, docks and ranks lie: contiguous blocks, larger ones first within nothing: PE p of P lives on rank
/// r when r*P/R <= p < (r+1)*P/R, and on a dock of it by the same rule.
struct layout {
  int pes = 1;
  int docks = 1;
  int first_dock_here = 0;
  int docks_here = 1;
  std::vector<std::uint16_t> dock_of;  // by PE
  std::vector<int> first_pe;           // by dock, and one more
  std::vector<std::uint16_t> rank_of;  // by dock

  /// \param workers  docks that each rank can carry, by rank
  static layout over(int pes, const std::vector<int>& workers, int rank);
  /// \return by PE, the dock for which dock `from` loads goods; and the docks among them, in `neighbours`.
  [[nodiscard]] std::vector<std::uint16_t> hops_from(int from, int hops, std::vector<int>& neighbours) const;
  /// Of the grid of two hops; docks of one row or one column are neighbours.
  [[nodiscard]] int columns() const noexcept;
};

/// Trains: how large, and how many.
struct timetable {
  std::size_t capacity = 0;
  std::size_t regular = 0;  ///< a channel
  std::size_t resting = 0;  ///< of them that come home before one is used again
  std::size_t limit = 0;
  int hops = 1;
  bool plain = true;  ///< a lane for each PE; else for each dock, or each neighbour of two hops

  /// \param budget  bytes of one dock
  /// \throws usage_error if the budget is too small for any timetable.
  static timetable of(std::size_t budget, int pes, int docks, std::size_t wanted_capacity, int wanted_hops);
};

class job {
 public:
  job(const options& wanted, transport::carrier& carrier);
  ~job();

  /// Runs the program on every PE of this rank; returns when all have ended everywhere.
  /// \throws shunt::error with the job's message when it failed.
  void run(const std::function<void(pe&)>& program);

  // run(), in steps, for tests that stand in for the programs.
  /// Makes runtime and docks, and starts the transport.
  void set_up();
  /// Ends what set_up() began, after the runtime has run; the transport is not stopped.
  void tear_down();
  /// Any thread. Why the job has failed; empty: it has not.
  [[nodiscard]] std::string message();

  /// What a job that has failed ends with: an error, or a usage_error, and its exit status.
  enum class fault : std::uint8_t { failure = 1, usage = 2 };
  /// Any thread. The first message counts, and its `kind`.
  void fail(const std::string& message, fault kind = fault::failure) noexcept;
  [[nodiscard]] static fault fault_of(const std::exception& thrown) noexcept {
    return dynamic_cast<const usage_error*>(&thrown) != nullptr ? fault::usage : fault::failure;
  }
  [[nodiscard]] bool failed() const noexcept {
    return failed_.load(std::memory_order_relaxed);  // relaxed: the message has its own lock
  }

  /// exit() was called in this process: says so, and ends the job. \param call  as the program wrote it
  void exited(const char* call) noexcept;

  void deliver(rail::train& t, int to_dock);
  /// Any thread. What is wrong with a train of another process; empty: nothing.
  [[nodiscard]] std::string fault_of(const rail::train& t) const { return validator_.fault_of(t); }
  [[nodiscard]] bool remote() const noexcept { return remote_; }
  [[nodiscard]] transport::carrier& carrier() noexcept { return carrier_; }
  [[nodiscard]] const options& wanted() const noexcept { return wanted_; }
  [[nodiscard]] const layout& plan() const noexcept { return plan_; }
  [[nodiscard]] const timetable& trains() const noexcept { return trains_; }
  [[nodiscard]] int rank() const noexcept { return carrier_.rank(); }
  [[nodiscard]] dock& dock_here(int local) noexcept { return *docks_[static_cast<std::size_t>(local)]; }
  [[nodiscard]] int docks_here() const noexcept { return plan_.docks_here; }
  [[nodiscard]] sched::runtime& runtime() noexcept { return *runtime_; }

 private:
  void run_pe(dock& d, int index, const std::function<void(pe&)>& program) noexcept;
  void watch() noexcept;
  void end_now(const std::string& message, std::chrono::milliseconds turn) noexcept;
  void agree();
  [[nodiscard]] std::string pes_of(int rank) const;

  options wanted_;
  transport::carrier& carrier_;
  bool remote_;
  std::vector<rank_cpus> cpus_;  // by rank
  layout plan_;
  timetable trains_;
  validator validator_;
  std::unique_ptr<sched::runtime> runtime_;
  std::vector<std::unique_ptr<dock>> docks_;
  std::vector<std::vector<std::uint16_t>> hop_tables_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> ending_{false};  // the carrier's abort() has been called
  std::mutex guard_;                 // of everything below
  std::condition_variable over_changed_;
  bool over_ = false;
  std::string message_;
  std::atomic<fault> kind_{fault::failure};
  std::chrono::steady_clock::time_point failed_at_{};
  std::thread watcher_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
