/// What the ranks of a job on one machine say to each other before trains run, in memory that all of them map.
///
/// The launcher makes it, a file without a name, and every process inherits it.
///
///   | launcher, the trains' file | meeting `talk`, meeting `leave` | a slot a rank: state, process, a piece of text |
///
///   meeting    arrived   round   a rank comes                    the last one comes
///   open       < ranks   n       arrived + 1; waits for n + 1    arrived = 0, round = n + 1: all go on
///
/// Two meetings: a rank that an exception brings to its end must not be taken for one that talks.
///
/// Edges
///   `met`   a rank comes -> all go on    what each wrote into its slot before: a read-modify-write each, then the
///                                        store of the round, which the waiting ranks acquire
///
/// A rank that ends amid a meeting never comes: the waiting ones look for that every `look_interval`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/transport/detail/memory_file.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

class job_memory {
 public:
  /// Called while a rank waits, every `look_interval`, with the time it has waited. A wait for others has a copy of its
  /// own. \return whether to go on waiting.
  using look = std::function<bool(std::chrono::nanoseconds waited)>;
  static constexpr std::chrono::milliseconds look_interval{100};

  /// By the launcher. \param trains  the file of the ranks' trains \throws shunt::error where the system refuses it.
  [[nodiscard]] static owned_descriptor make(int ranks, int trains);
  /// For the launcher, which is no rank.
  static constexpr int launcher = -1;

  /// \param file  a descriptor; not kept
  /// \param rank  of this process, or `launcher`
  /// \throws usage_error if `file` is not what make() has made for so many ranks
  job_memory(int file, int rank, int ranks);
  ~job_memory();
  job_memory(const job_memory&) = delete;
  job_memory& operator=(const job_memory&) = delete;

  /// This process is there, once more.
  void say_opened() noexcept;
  /// Whether a rank has said so at least as often as this one.
  [[nodiscard]] bool has_opened(int rank) const noexcept;
  /// Of the last time that it has; 0: never.
  [[nodiscard]] int process_of(int rank) const noexcept;
  /// This rank leaves a service by an exception: the others must not wait for it.
  void say_left() noexcept;
  /// A rank that has said so; -1: none.
  [[nodiscard]] int find_left() const noexcept;
  /// Whether a descriptor is that of the file given to make().
  [[nodiscard]] bool is_file_of_trains(int descriptor) const noexcept;

  // --- what the launcher knows ---

  [[nodiscard]] int launchers_process() const noexcept { return static_cast<int>(head_->launcher); }
  /// By the launcher: the process that it has started as a rank, which may become, or start, the rank's own.
  void note_start(int rank, int process) noexcept;
  /// By the launcher: that process has ended.
  void note_end(int rank) noexcept;
  /// By the launcher: the job is over for every rank, also for those that it cannot reach.
  void note_over() noexcept;
  [[nodiscard]] int started_process(int rank) const noexcept;
  [[nodiscard]] bool has_ended(int rank) const noexcept;
  [[nodiscard]] bool is_over() const noexcept;

  /// Collective. \return false: `at_look` did not want to wait any longer; nothing can be said to the others then.
  [[nodiscard]] bool meet(const look& at_look) noexcept { return meet_at(head_->talk, at_look); }
  /// The same, to leave the job.
  [[nodiscard]] bool meet_to_leave(const look& at_look) noexcept { return meet_at(head_->leave, at_look); }

  /// Collective. \return every rank's text, by rank. \throws shunt::error if `at_look` did not want to wait any longer.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine, const look& at_look);

 private:
  struct meeting {
    alignas(cache_line) std::atomic<std::uint32_t> arrived{0};
    alignas(cache_line) std::atomic<std::uint32_t> round{0};
  };
  struct head {
    std::uint64_t kind = 0;
    std::uint32_t ranks = 0;
    std::uint32_t launcher = 0;
    file_identity trains;
    std::atomic<std::uint32_t> over{0};
    meeting talk;
    meeting leave;
  };
  struct slot {
    static constexpr std::size_t piece = 4000;
    alignas(cache_line) std::atomic<std::uint32_t> process{0};
    std::atomic<std::uint32_t> opened{0};
    std::atomic<std::uint32_t> left{0};     // by an exception
    std::atomic<std::uint32_t> started{0};  // the process that the launcher has started
    std::atomic<std::uint32_t> ended{0};    // that one has
    std::uint64_t bytes = 0;                // of the whole text
    std::byte text[piece] = {};
  };
  static constexpr std::uint64_t kind_of_file = 0x3153'544e'5548'5301;  // "SHUNTS1", and a version

  [[nodiscard]] static std::size_t bytes_for(int ranks) noexcept {
    return sizeof(head) + static_cast<std::size_t>(ranks) * sizeof(slot);
  }
  [[nodiscard]] bool meet_at(meeting& where, look at_look) noexcept;
  [[nodiscard]] slot& slot_of(int rank) const noexcept { return slots_[static_cast<std::size_t>(rank)]; }

  int rank_;
  int ranks_;
  void* memory_ = nullptr;
  head* head_ = nullptr;
  slot* slots_ = nullptr;
};

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
