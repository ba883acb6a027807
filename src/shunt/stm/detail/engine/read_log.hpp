/// What a transaction has read, and the moment as of which it reads.
///
/// Invariant read_log.R1: all values that were read stood together in their variables at the moment `limit`. A read
/// that finds a newer value moves that moment to now, if everything in the log is unchanged.
///
/// Source: Riegel, Felber, Fetzer: A lazy snapshot algorithm with eager validation, DISC 2006,
/// doi:10.1007/11864219_20.
#pragma once

#include <cstddef>
#include <memory>
#include <shunt/stm/detail/engine/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class write_log;

class read_log {
 public:
  /// Inside, before a body: the log is empty, the snapshot is as of now.
  [[gnu::always_inline]] void start() noexcept {
    end_ = entries_.get();
    limit_ = the_clock.now.load(std::memory_order_acquire) | waiters_bit;  // edge `time`
  }
  /// A value whose word is not above it may be used.
  [[nodiscard]] word limit() const noexcept { return limit_; }
  /// No word is at or below the limit from now on.
  void refuse_all() noexcept { limit_ = 0; }

  /// \throws std::bad_alloc; then nothing has changed.
  [[gnu::always_inline]] void add(const variable* v) {
    if (end_ == room_) [[unlikely]]
      make_room();
    *end_++ = v;
  }

  /// Moves the snapshot to now. \return false: something in the log has changed, or is locked.
  [[nodiscard]] bool extend() noexcept;
  /// During a commit, after the version was taken. \param writes  this transaction's, all of them locked.
  /// \return null: nothing in the log has changed; otherwise the first variable that has.
  [[nodiscard]] const variable* validate(const write_log& writes) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - entries_.get()); }
  [[nodiscard]] const variable* const* begin() const noexcept { return entries_.get(); }
  [[nodiscard]] const variable* const* end() const noexcept { return end_; }

 private:
  void make_room();

  word limit_ = 0;
  const variable** end_ = nullptr;
  const variable** room_ = nullptr;
  std::unique_ptr<const variable*[]> entries_;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
