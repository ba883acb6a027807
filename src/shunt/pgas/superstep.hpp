/// Supersteps: between two of them distributed objects (array.hpp, containers/) are read, inside they are changed.
///
/// ```cpp
/// pgas::array<long> histogram(me, 1'000'000);
/// pgas::map<std::uint64_t, long> counts(me);
/// pgas::superstep(me, [&] {
///   for (const auto key : keys) {
///     ++histogram[key % histogram.size()];
///     ++counts[key];
///   }
/// });  // all changes of all PEs have happened, everywhere
/// ```
///
/// What a superstep promises: when it returns, on every PE, all changes that any PE made in it have happened. So what a
/// PE reads of its own part between two supersteps has the whole of the first, and nothing of the next: as long as it
/// reads before its next call of the library. Another PE may be in the next superstep by then; what is read of others,
/// by gather() or one by one, takes a barrier() before that.
///
/// In a superstep a container's own part is not read: changes arrive meanwhile.
///
/// Source: Valiant, A bridging model for parallel computation, doi:10.1145/79173.79181.
#pragma once

#include <concepts>
#include <source_location>
#include <utility>

#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

/// What a PE has of each distributed object; in the order of construction, which is the same on every PE.
class distributed {
 public:
  distributed(const distributed&) = delete;
  distributed& operator=(const distributed&) = delete;

  /// Returns when all changes have happened.
  void finish_changes() { finish_(*this); }
  /// A superstep of this PE begins, or ends.
  void set_open(bool open) noexcept { changeable_ = open ? size_ : 0; }

 protected:
  /// \param size    of the object: how many elements it has, or any number but 0
  /// \param finish  waits until all changes of the object have happened
  distributed(pe& me, std::uint64_t size, void (*finish)(distributed&));
  ~distributed();
  /// Whether a superstep of this PE is open.
  [[nodiscard]] bool open() const noexcept;
  /// What reads calls it first. \param call  static text: "gather()". \throws usage_error if a superstep is open.
  void check_read(const char* call, std::source_location where) const;
  [[nodiscard]] pe& me() const noexcept { return *me_; }
  [[nodiscard]] std::uint64_t elements() const noexcept { return size_; }
  /// Elements that may be changed now: all in a superstep, none outside. One comparison finds both mistakes.
  [[nodiscard]] std::uint64_t changeable() const noexcept { return changeable_; }

 private:
  pe* me_;
  std::uint64_t size_;
  std::uint64_t changeable_;
  void (*finish_)(distributed&);
};

/// \throws usage_error where one is open already.
void open_superstep(pe& me, std::source_location where);
void finish_superstep(pe& me);
void close_superstep(pe& me) noexcept;

}  // namespace detail

/// Collective. Calls body(), in which distributed objects may be changed, and waits until all changes that any PE has
/// made have happened, everywhere.
/// \throws what `body` throws: then what it has changed so far belongs to the next superstep; usage_error inside of a
///         superstep; what finish() throws.
/// Cost: a finish() for each distributed object that the PE has.
template <std::invocable F>
void superstep(pe& me, F&& body, std::source_location where = std::source_location::current()) {
  detail::open_superstep(me, where);
  try {
    std::forward<F>(body)();
  } catch (...) {
    detail::close_superstep(me);
    throw;
  }
  detail::finish_superstep(me);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
