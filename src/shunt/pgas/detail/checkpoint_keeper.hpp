/// What the PEs of a rank share of the job's checkpoints: the thread that writes, and how far it is.
///
///   each PE   hand_in(its parts) --+
///   each PE   hand_in(its parts) --+--> the last one: a file of all of them, by the thread --> written, or failed
///
/// Invariants
///   checkpoint_keeper.K1  Of one checkpoint the rank writes one generation at a time: PEs hand in the parts of the
///                         next when all have agreed that the one before is written, or has failed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/pgas/detail/checkpoint_file.hpp>
#include <shunt/pgas/detail/helper_thread.hpp>
#include <shunt/pgas/detail/stop_signal.hpp>
#include <shunt/pgas/options.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Thrown through the program of every PE to unwind it when the job stops after a checkpoint.
struct job_stop {};

class checkpoint_keeper {
 public:
  /// \param first_pe, pes_here  of the rank \param explored  the run has no other thread
  checkpoint_keeper(const options& wanted, int first_pe, int pes_here, bool explored);
  /// Returns when what has been handed in is written.
  ~checkpoint_keeper() = default;

  [[nodiscard]] const options& wanted() const noexcept { return wanted_; }
  [[nodiscard]] int first_pe() const noexcept { return first_pe_; }
  [[nodiscard]] int pes_here() const noexcept { return pes_here_; }
  [[nodiscard]] helper_thread& thread() noexcept { return thread_; }

  /// A PE's checkpoint begins, and ends. While one is there, the signal to stop is waited for.
  /// \throws usage_error where the PE had one of that name before, in a job that writes or reads checkpoints
  void begin(int pe, const std::string& name);
  void end() noexcept;
  /// Checkpoints that the PE has begun, the one that begins included.
  [[nodiscard]] int count_of(int pe) const;

  /// A PE hands in the parts of a generation. The last one of the rank has them written.
  /// \param path  of the rank's file
  /// \throws error where no thread can be made; std::bad_alloc
  void hand_in(int pe, const std::string& path, const checkpoint_head& head, saved_parts parts);
  struct progress {
    bool writing = false;  // or not all PEs have handed in
    std::string failure;   // of the last one; empty: it is written, or there was none
  };
  /// \param name  of a checkpoint that has begun here
  [[nodiscard]] progress progress_of(const std::string& name) const;
  /// A fiber. Waits until what was handed in is written, or has failed.
  void await(const std::string& name);

  /// Any thread. Whether the program has made a checkpoint.
  [[nodiscard]] bool used() const;
  /// Any thread. Whether the signal to stop has come.
  [[nodiscard]] bool asked_to_stop() const;
  /// Any thread. Whether the signal has come while a checkpoint was there, and the job has not stopped for it.
  [[nodiscard]] bool stop_unheard() const;
  /// The job has written a checkpoint since it was asked to stop, and ends.
  void stopped_after(const std::string& folder);
  /// That generation's folder; empty: the job has not ended so.
  [[nodiscard]] std::string stopped_after() const;

 private:
  struct one_name {
    std::vector<saved_parts> parts;  // by local PE
    int handed_in = 0;
    progress now;
  };
  void write(const std::string& path, const checkpoint_head& head) noexcept;

  const options wanted_;
  const int first_pe_, pes_here_;
  const bool explored_;
  mutable std::mutex lock_;  // of everything below but the thread
  std::map<std::string, one_name> names_;
  std::vector<std::vector<std::string>> begun_;  // by local PE
  int alive_ = 0;
  std::unique_ptr<stop_signal> signal_;
  bool stop_unheard_ = false;
  std::string stopped_after_;
  helper_thread thread_;  // last: it uses all of the above
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
