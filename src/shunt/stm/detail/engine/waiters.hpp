/// Transactions that retry, by the variables whose next commit they wait for.
///
///   the retrying transaction                          the transaction that commits to x
///   1 puts its link into x's bucket (under its lock)  1 locks x: the word it replaces has WAITERS or not
///   2 looks at x's word: locked or newer -> does      2 unlocks x: a new version, no WAITERS
///     not wait; else sets WAITERS, by an exchange     3 if the replaced word had WAITERS: wakes the waiters in x's
///     that fails if the word has changed                bucket
///   3 leaves its transaction, and waits
///
/// No wake is lost, because both sides change the same word. If the retrying transaction's exchange came before the
/// committing transaction's lock, the latter sees WAITERS, and by the edge through that word the link. Otherwise the
/// retrying transaction sees the lock, or a version newer than what it read. Every thread that changes a word is a
/// participant, so in exclusive mode no other thread is at step 2.
#pragma once

#include <cstddef>
#include <shunt/stm/detail/engine/waiter.hpp>
#include <shunt/stm/detail/engine/word.hpp>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// One retry's wait for a commit to any of some variables. On the stack of the retrying fiber or thread.
class retry_waiter {
 public:
  /// \param read  what the transaction has read; sorted and freed of doubles here. \throws std::bad_alloc
  explicit retry_waiter(std::vector<const variable*>& read);
  /// Takes its links out of all buckets: afterwards no other thread touches it.
  ~retry_waiter();
  retry_waiter(const retry_waiter&) = delete;
  retry_waiter& operator=(const retry_waiter&) = delete;

  /// Steps 1 and 2; within the transaction. \param limit  the transaction's.
  /// \return false: a transaction has committed to one of the variables already.
  [[nodiscard]] bool enlist(word limit) noexcept;

  /// What reports say of this wait. \param what  outlives it. \param names  of the variables; may be empty.
  void describe(const std::string& what, const std::string& names) {
    what_ = what.c_str();
    if (names.empty()) return;
    with_names_ = what + ": " + names;
    what_ = with_names_.c_str();
  }
  /// Step 3. \return false: the deadline came first.
  bool wait_until(time_point deadline) { return waiter_.wait_until(deadline, what_); }
  /// Any thread, while this object lives.
  void wake() { waiter_.wake(); }

 private:
  friend void wake_retrying(const variable* v) noexcept;
  struct link {
    const variable* of;
    retry_waiter* owner;
    link* before = nullptr;
    link* after = nullptr;
    bool in = false;
  };
  struct bucket;
  static bucket& bucket_of(const variable* v) noexcept;
  static void unlink(bucket& b, link& l) noexcept;

  waiter waiter_;
  std::vector<link> links_;
  const char* what_ = nullptr;
  std::string with_names_;
  std::size_t enlisted_ = 0;  // the number of links that have been in a bucket
};

/// Step 3 of the committing transaction: wakes all transactions that wait for a commit to `v`, in the order in which
/// they came.
void wake_retrying(const variable* v) noexcept;

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
