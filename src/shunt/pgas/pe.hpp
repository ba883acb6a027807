/// A processing element (PE): one of the programs that run the same code over a partitioned global address space.
///
/// Words of the field: SPMD (every PE runs the same program), *collective* (all PEs call, in the same order),
/// *local* (concerns this PE only), *one-sided* (the other PE does not call).
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <shunt/pgas/traffic.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {
class pe_worker;
class distributed;
/// A PE's distributed objects, in the order of construction, and whether a superstep is open: pgas/superstep.hpp.
struct ending_selector;
struct superstep_state {
  std::vector<distributed*> all;
  std::vector<ending_selector> ends;  // room for what finish_superstep() makes
  bool open = false;
};
}  // namespace detail

/// A value that collectives may carry.
template <class T>
concept plain_value = std::is_trivially_copyable_v<T>;

/// What the program of a PE gets from run() or launch(): its number, and the calls of all PEs. The program alone makes
/// collective calls: a handler that makes one gets shunt::error, a task on another worker usage_error.
class pe {
 public:
  /// For the library's own use. On the worker's thread.
  pe(detail::pe_worker& home, int index) noexcept;
  pe(const pe&) = delete;
  pe& operator=(const pe&) = delete;

  /// Local. This PE's number, 0..count()-1.
  [[nodiscard]] int index() const noexcept { return index_; }
  /// Local. PEs of the job.
  [[nodiscard]] int count() const noexcept;
  /// Local. The process this PE lives in, 0..ranks()-1.
  [[nodiscard]] int rank() const noexcept;
  /// Local. Processes of the job; 1 where the transport is threads.
  [[nodiscard]] int ranks() const noexcept;

  /// Collective. Returns when every PE has called it. Says nothing about messages: that is finish().
  /// Cost: log2(workers of the job) messages deep.
  void barrier();

  /// Collective. combine(a, b) over every PE's value in PE order, so that sums of floating point numbers do not depend
  /// on timing. Every PE gets the result. `combine` is a lambda without captures, as it runs for other PEs too. It must
  /// be associative, and must not wait.
  template <plain_value T, class Combine>
  [[nodiscard]] T reduce(const T& mine, Combine combine);
  /// Collective. reduce() with `+`: the sum of all PEs' values, as a T, which may overflow.
  template <plain_value T>
  [[nodiscard]] T sum(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return static_cast<T>(a + b); });
  }
  /// Collective. reduce() to the least value, by `<`.
  template <plain_value T>
  [[nodiscard]] T min(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return b < a ? b : a; });
  }
  /// Collective. reduce() to the greatest value, by `<`.
  template <plain_value T>
  [[nodiscard]] T max(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return a < b ? b : a; });
  }

  /// Collective. combine(a, b) over the values of the PEs before this one, in PE order: an exclusive prefix sum. PE 0
  /// gets T{}, or `first`; with `first`, each PE gets combine(first, what it gets without). The inclusive one is
  /// combine(me.scan(mine, combine), mine). `combine` as in reduce(). With `items` on each PE, `me.scan(items.size())`
  /// is where this PE's begin among all of them.
  /// Cost: that of reduce().
  template <plain_value T, class Combine>
  [[nodiscard]] T scan(const T& mine, Combine combine, const T& first);
  /// Collective. The same, with T{} for PE 0.
  template <plain_value T, class Combine>
  [[nodiscard]] T scan(const T& mine, Combine combine);
  /// Collective. scan() with `+`: the sum of the values of the PEs before this one; T{} for PE 0.
  template <plain_value T>
  [[nodiscard]] T scan(const T& mine) {
    return scan(mine, [](const T& a, const T& b) { return static_cast<T>(a + b); });
  }

  /// Collective. Every PE's value, by PE, on every PE.
  template <plain_value T>
  [[nodiscard]] std::vector<T> gather(const T& mine);
  /// Collective. The same for values whose number differs from PE to PE.
  template <plain_value T>
  [[nodiscard]] std::vector<std::vector<T>> gather(std::span<const T> mine);
  /// Collective. Every PE's text, by PE, on every PE.
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine);

  /// Collective. The value of PE `root` on every PE; those of others are ignored.
  /// \throws usage_error for a root that is no PE.
  template <plain_value T>
  [[nodiscard]] T broadcast(const T& mine, int root);
  /// Collective. The same for a vector of any length; those of other PEs, and their lengths, do not matter.
  template <plain_value T>
  [[nodiscard]] std::vector<T> broadcast(const std::vector<T>& mine, int root);

  /// Collective. What all PEs of the job have sent so far. Messages of a batch that is still open are not counted yet;
  /// after finish() all are.
  [[nodiscard]] pgas::traffic traffic();
  /// Local. Bytes of messages a train carries in this job.
  [[nodiscard]] std::size_t train_bytes() const noexcept;
  /// Local. 1: trains go straight to their destination; 2: over an intermediate worker.
  [[nodiscard]] int hops() const noexcept;

  /// For the library's own use.
  [[nodiscard]] detail::pe_worker& home() noexcept { return *home_; }
  /// For the library's own use.
  [[nodiscard]] detail::superstep_state& supersteps() noexcept { return supersteps_; }
  /// For the library's own use: a number for a selector, 1..65,535, the same on every PE.
  [[nodiscard]] std::uint16_t next_selector_id();
  /// For the library's own use: gives a number back.
  void free_selector_id(std::uint16_t id);
  /// For the library's own use: names this PE's part of a symmetric object. \throws usage_error in a task on another
  /// worker.
  [[nodiscard]] std::uint32_t add_part(void* part, const void* type);
  /// For the library's own use: the name is free for the next object. In a task on another worker it fails the job.
  void remove_part(std::uint32_t name) noexcept;

 private:
  [[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(std::span<const std::byte> mine);
  [[nodiscard]] std::vector<std::byte> broadcast_bytes(std::span<const std::byte> mine, int root);
  // \param operand  where `mine` comes from
  void reduce_bytes(std::span<const std::byte> operand, std::span<std::byte> mine,
                    void (*combine)(std::byte*, const std::byte*));
  [[nodiscard]] bool scan_bytes(std::span<const std::byte> operand, std::span<std::byte> mine,
                                void (*combine)(std::byte*, const std::byte*));
  /// \throws error unless `bytes` are values of `unit` bytes, or exactly one of them.
  void check_bytes(std::span<const std::byte> bytes, std::size_t unit, bool one) const;

  detail::pe_worker* home_;
  int index_;
  detail::superstep_state supersteps_;
  std::uint16_t last_selector_id_ = 0;
  std::vector<std::uint16_t> selector_ids_in_use_;
};

namespace detail {
/// A `combine` of values, on their bytes.
template <plain_value T, class Combine>
void combine_as(std::byte* into, const std::byte* from) {
  static_assert(std::is_empty_v<Combine> && std::is_default_constructible_v<Combine>,
                "combine must be a lambda without captures: it runs for other PEs too");
  T a, b;
  std::memcpy(&a, into, sizeof a);
  std::memcpy(&b, from, sizeof b);
  const T c = Combine{}(a, b);
  std::memcpy(into, &c, sizeof c);
}
}  // namespace detail

template <plain_value T, class Combine>
T pe::reduce(const T& mine, Combine) {
  T result = mine;
  reduce_bytes(std::as_bytes(std::span<const T, 1>(&mine, 1)), std::as_writable_bytes(std::span<T, 1>(&result, 1)),
               detail::combine_as<T, Combine>);
  return result;
}

template <plain_value T, class Combine>
T pe::scan(const T& mine, Combine) {
  T before = mine;
  if (!scan_bytes(std::as_bytes(std::span<const T, 1>(&mine, 1)), std::as_writable_bytes(std::span<T, 1>(&before, 1)),
                  detail::combine_as<T, Combine>))
    return T{};
  return before;
}

template <plain_value T, class Combine>
T pe::scan(const T& mine, Combine combine, const T& first) {
  T before = mine;
  if (!scan_bytes(std::as_bytes(std::span<const T, 1>(&mine, 1)), std::as_writable_bytes(std::span<T, 1>(&before, 1)),
                  detail::combine_as<T, Combine>))
    return first;
  return combine(first, before);
}

template <plain_value T>
std::vector<T> pe::gather(const T& mine) {
  std::vector<T> all;
  for (const auto& bytes : gather_bytes(std::as_bytes(std::span<const T, 1>(&mine, 1)))) {
    check_bytes(bytes, sizeof(T), true);
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    all.push_back(value);
  }
  return all;
}

template <plain_value T>
std::vector<std::vector<T>> pe::gather(std::span<const T> mine) {
  std::vector<std::vector<T>> all;
  for (const auto& bytes : gather_bytes(std::as_bytes(mine))) {
    check_bytes(bytes, sizeof(T), false);
    auto& values = all.emplace_back(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return all;
}

template <plain_value T>
T pe::broadcast(const T& mine, int root) {
  const auto bytes = broadcast_bytes(std::as_bytes(std::span<const T, 1>(&mine, 1)), root);
  check_bytes(bytes, sizeof(T), true);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <plain_value T>
std::vector<T> pe::broadcast(const std::vector<T>& mine, int root) {
  const auto bytes = broadcast_bytes(std::as_bytes(std::span<const T>(mine)), root);
  check_bytes(bytes, sizeof(T), false);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
