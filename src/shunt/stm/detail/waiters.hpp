/// Transactions that retry, by the variables whose next commit they wait for.
///
///   who retries                                        who commits to x
///   1 its link is in x's bucket (under its lock)       1 locks x: the word it replaces has WAITERS or not
///   2 looks at x's word: locked or newer -> does       2 unlocks x: a new version, no WAITERS
///     not wait; else WAITERS is set, by an exchange    3 if the replaced word had WAITERS: wakes those in x's bucket
///     that fails if the word has changed
///   3 leaves its transaction, and sleeps
///
/// No wake is lost: both change the same word. If the retrier's exchange came before the committer's lock, the
/// committer sees WAITERS, and by the edge through that word the link; else the retrier sees the lock, or a version
/// newer than what it read. Everybody who touches a word takes part in transactions, so in solo mode nobody else is at
/// step 2.
#pragma once

#include <cstddef>
#include <shunt/stm/detail/sleeper.hpp>
#include <shunt/stm/detail/word.hpp>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// One retry's wait for any of some variables. On the stack of who retries.
class reading_waiter {
 public:
  /// \param read  what the transaction has read; sorted and freed of doubles here. \throws std::bad_alloc
  explicit reading_waiter(std::vector<const variable*>& read);
  /// Out of all buckets: from here on nobody touches it.
  ~reading_waiter();
  reading_waiter(const reading_waiter&) = delete;
  reading_waiter& operator=(const reading_waiter&) = delete;

  /// Steps 1 and 2; within the transaction. \param limit  its limit.
  /// \return false: something has been committed to already.
  [[nodiscard]] bool stand_in(word limit) noexcept;

  /// What reports say of this wait. \param what  outlives it. \param names  of what was read; may be empty.
  void say(const std::string& what, const std::string& names) {
    what_ = what.c_str();
    if (names.empty()) return;
    with_names_ = what + ": " + names;
    what_ = with_names_.c_str();
  }
  [[nodiscard]] const char* waits_for() const noexcept { return what_; }

  sleeper sleeps;

 private:
  friend void wake_readers_of(const variable* v) noexcept;
  struct link {
    const variable* of;
    reading_waiter* who;
    link* before = nullptr;
    link* after = nullptr;
    bool in = false;
  };
  struct bucket;
  static bucket& bucket_of(const variable* v) noexcept;
  static void take_out(bucket& b, link& l) noexcept;

  std::vector<link> links_;
  const char* what_ = nullptr;
  std::string with_names_;
  std::size_t stands_ = 0;  // so many of them have been in a bucket
};

/// Step 3 of who commits. First come, first woken.
void wake_readers_of(const variable* v) noexcept;

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
