/// A job as one rank sees it: its workers, its transport, and whether it has failed.
///
/// A thread of its own watches over it in jobs of several processes, and after a failure: it asks the transport for
/// lost ranks, and ends the process where a PE does not unwind.
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

#include <shunt/pgas/detail/buffer_plan.hpp>
#include <shunt/pgas/detail/checkpoint_keeper.hpp>
#include <shunt/pgas/detail/job_layout.hpp>
#include <shunt/pgas/detail/job_link.hpp>
#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/pgas/detail/recorder.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <shunt/pgas/options.hpp>
#include <shunt/pgas/placement.hpp>
#include <shunt/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

class pe;

namespace detail {

class job final : public job_link {
 public:
  job(const options& wanted, transport::carrier& carrier);
  ~job();

  /// Runs the program on every PE of this rank; returns when all have ended everywhere.
  /// \throws shunt::error with the job's message when it failed.
  void run(const std::function<void(pe&)>& program);

  // run(), in steps, for tests that stand in for the programs.
  /// Makes workers, and a runtime for them unless the run is explored, and starts the transport.
  void set_up();
  /// Ends what set_up() began, after the runtime has run; the transport is not stopped.
  void tear_down();
  /// Any thread. Why the job has failed; empty: it has not.
  [[nodiscard]] std::string message();

  void fail(const std::string& message, fault kind = fault::failure) noexcept override;

  /// exit() was called in this process: says so, and ends the job. \param call  as the program wrote it
  void exited(const char* call) noexcept;

  using job_link::fault_of;
  bool deliver(rail::train& t, int to_worker) override;
  void spawn_on(int local_worker, const char* name, std::function<void()> body) override;
  [[nodiscard]] task_sends* sends_of(int pe) noexcept override;
  [[nodiscard]] std::string fault_of(const rail::train& t) const override { return validator_.fault_of(t); }
  [[nodiscard]] const options& wanted() const noexcept { return wanted_; }
  [[nodiscard]] const job_layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const buffer_plan& trains() const noexcept { return trains_; }
  [[nodiscard]] int rank() const noexcept { return carrier_.rank(); }
  [[nodiscard]] pe_worker& worker_here(int local) noexcept { return *workers_[static_cast<std::size_t>(local)]; }
  [[nodiscard]] int workers_here() const noexcept { return layout_.workers_here; }
  [[nodiscard]] sched::runtime& runtime() noexcept { return *runtime_; }
  /// After set_up().
  [[nodiscard]] const checkpoint_keeper& keeper() const noexcept { return *keeper_; }

 private:
  /// For rail::train_inbox::wake_function.
  struct wake_target {
    sched::runtime* runtime;
    int local;
  };
  static void wake(void* target) noexcept;
  [[nodiscard]] worker_facts facts_of(int local) const;
  [[nodiscard]] transport::shared_place place_of(int worker) const;
  void find_inboxes();
  [[nodiscard]] bool remote() const noexcept { return carrier_.ranks() > 1; }
  [[nodiscard]] sched::options runtime_options() const;
  void run_workers(const std::function<void(pe&)>& program);
  void run_explored(const std::function<void(pe&)>& program);
  void spawn_pe(pe_worker& here, int index, std::function<void()> body);
  void start_transport();
  void run_pe(pe_worker& w, int index, const std::function<void(pe&)>& program) noexcept;
  void watch() noexcept;
  void end_now(const std::string& message, std::chrono::milliseconds turn) noexcept;
  void agree();
  [[nodiscard]] std::string pes_of(int rank) const;

  options wanted_;
  std::vector<rank_cpus> cpus_;  // by rank
  job_layout layout_;
  buffer_plan trains_;
  std::unique_ptr<recorder> recorder_;  // null: the job is not recorded
  validator validator_;
  const bool checked_;   // options::check
  const bool explored_;  // a strategy decides: the PEs run in the calling fiber's runtime, on its one worker
  std::unique_ptr<sched::runtime> own_runtime_;  // unless explored_
  sched::runtime* runtime_ = nullptr;
  std::vector<wake_target> wake_targets_;
  std::vector<std::vector<std::uint16_t>> hop_tables_;  // by local worker
  std::unique_ptr<checkpoint_keeper> keeper_;
  std::vector<std::unique_ptr<pe_worker>> workers_;
  std::vector<rail::train_inbox*> inboxes_;  // by worker of the job; null: a network is between
  std::atomic<bool> ending_{false};          // the carrier's abort() has been called
  std::mutex guard_;                         // of everything below
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
