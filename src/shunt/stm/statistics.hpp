/// What transactions cost, and why.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm {

/// Of one class of transactions, since the process began; all threads together. Approximate while they run.
struct class_statistics {
  std::string name;  ///< "bank.cpp:41", or what transaction_class was given

  std::uint64_t commits = 0;  ///< transactions that were committed
  // Attempts that were lost to other transactions, by cause.
  std::uint64_t locked = 0;         ///< a variable was locked for long
  std::uint64_t stale = 0;          ///< a variable was newer than what had been read
  std::uint64_t validation = 0;     ///< what had been read had changed by the commit
  std::uint64_t retries = 0;        ///< tx::retry() that reached atomically()
  std::uint64_t irrevocable = 0;    ///< commits without others: of irrevocable transactions, and of oldest ones
  std::uint64_t most_attempts = 1;  ///< of one transaction
  std::chrono::nanoseconds lost{};  ///< from the first conflict of each transaction to its commit, in all

  // Variables that a transaction of a sample read and wrote.
  double mean_reads = 0;          ///< variables read, the mean of the sample
  double mean_writes = 0;         ///< variables written, the mean
  std::uint64_t most_reads = 0;   ///< variables read, the largest number of the sample
  std::uint64_t most_writes = 0;  ///< variables written, the largest number

  int workers = 0;  ///< on which the class is allowed at present; 0: all

  /// Attempts that were lost, in all.
  [[nodiscard]] std::uint64_t aborts() const noexcept { return locked + stale + validation; }
};

/// A variable at which attempts were lost.
struct hot_variable {
  const void* address = nullptr;  ///< of the tvar
  std::string name{};             ///< given by stm::named; empty: none
  std::uint64_t aborts = 0;       ///< approximately
};

/// What collect_statistics() found.
struct statistics {
  std::vector<class_statistics> classes;  ///< those that have run, most commits first
  std::vector<hot_variable> hot;          ///< most aborts first
};

/// Any thread, at any time. \throws std::bad_alloc
[[nodiscard]] statistics collect_statistics();

/// A table to be read: a line for each class, then the hot variables. \throws std::bad_alloc
[[nodiscard]] std::string to_text(const statistics& s);

}  // namespace stm
}  // namespace v1
}  // namespace shunt
