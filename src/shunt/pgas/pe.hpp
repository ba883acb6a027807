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
}

/// A value that collectives may carry.
template <class T>
concept plain_value = std::is_trivially_copyable_v<T>;

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
  /// Local. The process this PE lives in, 0..ranks()-1, and how many there are.
  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int ranks() const noexcept;

  /// Collective. Returns when every PE has called it. Says nothing about messages: that is finish().
  /// Cost: log2(workers of the job) messages deep.
  void barrier();

  /// Collective. combine(a, b) over every PE's value in PE order, so that sums of floating point numbers do not depend
  /// on timing. Every PE gets the result. `combine` must be associative, and must not wait.
  template <plain_value T, class Combine>
  [[nodiscard]] T reduce(const T& mine, Combine combine);
  template <plain_value T>
  [[nodiscard]] T sum(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return static_cast<T>(a + b); });
  }
  template <plain_value T>
  [[nodiscard]] T min(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return b < a ? b : a; });
  }
  template <plain_value T>
  [[nodiscard]] T max(const T& mine) {
    return reduce(mine, [](const T& a, const T& b) { return a < b ? b : a; });
  }

  /// Collective. combine(a, b) over the values of the PEs before this one, in PE order: an exclusive prefix sum. PE 0
  /// gets T{}, or `first`; with `first`, each PE gets combine(first, what it gets without). The inclusive one is
  /// combine(me.scan(mine, combine), mine). `combine` must be associative, and must not wait. With `items` on each PE,
  /// `me.scan(items.size())` is where this PE's begin among all of them.
  /// Cost: that of reduce().
  template <plain_value T, class Combine>
  [[nodiscard]] T scan(const T& mine, Combine combine, const T& first);
  template <plain_value T, class Combine>
  [[nodiscard]] T scan(const T& mine, Combine combine);
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
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine);

  /// Collective. The value of PE `root` on every PE; those of others are ignored.
  /// \throws usage_error for a root that is no PE.
  template <plain_value T>
  [[nodiscard]] T broadcast(const T& mine, int root);
  template <plain_value T>
  [[nodiscard]] std::vector<T> broadcast(const std::vector<T>& mine, int root);

  /// Collective. What all PEs of the job have sent so far.
  [[nodiscard]] pgas::traffic traffic();
  /// Local. Bytes of messages a train carries in this job; trains that go straight (1) or over an intermediate (2).
  [[nodiscard]] std::size_t train_bytes() const noexcept;
  [[nodiscard]] int hops() const noexcept;

  /// For the library's own use.
  [[nodiscard]] detail::pe_worker& home() noexcept { return *home_; }
  [[nodiscard]] std::uint16_t next_selector_id();
  void free_selector_id(std::uint16_t id);
  [[nodiscard]] std::uint32_t add_part(void* part, const void* type);
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
