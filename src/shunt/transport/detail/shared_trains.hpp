/// Memory that ranks of one machine share: the inboxes of their workers, and the trains that these fill.
///
/// One rank makes a file without a name (memfd), the others open it, and all map it at the same address: what points
/// into it means the same in every process. So a train goes from rank to rank as it goes from thread to thread, by a
/// pointer that is put into an inbox. Nothing is left when the last process has ended, however it ended.
///
///   | inbox, token | inbox, token | ... |  yard of worker 0  |  yard of worker 1  | ...
///      a place each, of whole cache lines     reserved; the system gives pages as trains are bought
///
/// Opening it is collective:
///
///   state      what the rank that comes first does       what the others do        then all exchange
///   alone      makes the file, of the size wanted        nothing                   where the file is
///   offered    maps it at the next address               open it; map it there     whether they could
///   mapped     builds the inboxes                        nothing                   nothing: they are built
///
/// If one of them cannot map it, all of them are `offered` again with the next address, and after the last one they
/// share nothing; why_not() says why.
///
/// What a process has mapped stays mapped as long as it lives, and reads as 0 once it is closed: a thread that wakes a
/// worker (sched::detail::parker) may come late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <shunt/transport/detail/memory_file.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

class shared_trains {
 public:
  /// Collective among all ranks of the job. \return each rank's text, by rank.
  using exchange = std::function<std::vector<std::string>(const std::string&)>;

  /// \param inherited  a memory file that every rank has; none: the first makes one, and the others open it by /proc
  explicit shared_trains(owned_descriptor inherited = owned_descriptor{}) noexcept : inherited_(std::move(inherited)) {}
  /// Unmaps nothing and frees nothing: ranks that an exception has not reached may use the memory.
  ~shared_trains() { leave(); }
  shared_trains(const shared_trains&) = delete;
  shared_trains& operator=(const shared_trains&) = delete;

  /// Collective among all ranks of the job, while no worker uses an earlier map.
  /// \param near  by rank, whether it shall share this one's memory; alike on all of those. This rank does.
  void open(const std::vector<bool>& near, int rank, const service& settings, const exchange& talk);

  /// Any thread, after open(). A worker's place; {}: it has none here.
  [[nodiscard]] shared_place place_of(int worker) const noexcept;
  /// Whether this rank shares memory with all of `near`.
  [[nodiscard]] bool is_open() const noexcept { return base_ != nullptr; }
  /// Why it does not, one line; empty: it does, or was never asked to.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// No worker of any rank uses a place any more: the first rank gives the pages back to the system.
  void close() noexcept;

 private:
  struct place;
  [[nodiscard]] std::size_t yards_at() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return yards_at() + places_ * yard_; }
  [[nodiscard]] std::string make_file();
  [[nodiscard]] std::string open_file(const std::string& offered);
  [[nodiscard]] std::string map_at(std::uintptr_t address);
  void leave() noexcept;
  void give_pages_back() noexcept;
  void build() noexcept;

  owned_descriptor inherited_;
  owned_descriptor file_;      // unless inherited
  std::vector<int> place_of_;  // by worker; -1: none
  std::size_t places_ = 0;
  std::size_t yard_ = 0;
  bool first_ = false;
  std::byte* base_ = nullptr;
  std::string why_not_;
};

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
