/// Distributed arrays, and natural loops over them that become messages.
///
/// ```cpp
/// pgas::array<long> histogram(me, 1'000'000);        // dealt out over the PEs
/// pgas::superstep(me, [&] {
///   for (const auto key : keys) ++histogram[key];    // a message each; no answer is waited for
/// });                                                // all of them have happened, everywhere
/// const long all = histogram.sum();
/// ```
///
/// Inside of a superstep an element may be changed: `h[i] += v`, `++h[i]`, `h[i] = v`, `h[i].min(v)`, `h[i].update(f)`.
/// Each is a message to the element's PE, which does it there, one after the other, in no promised order. Elements are
/// read outside of it: many by gather(), one by itself by its value (`long x = h[i]`, a round trip), and the PE's own
/// by local(). A read inside, and a change outside, throw usage_error with the line.
///
/// What a superstep promises stands in superstep.hpp.
///
/// Cost: a change costs what the same message costs as a lambda (actor_of.hpp).
///
/// Source of the wish for natural loops: Paul et al., arXiv:2107.05516, section 6.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/element_changes.hpp>
#include <shunt/pgas/layout.hpp>
#include <shunt/pgas/superstep.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

/// A PE's elements, and where gather() puts what comes.
template <class T>
struct array_part {
  std::vector<T> values;
  T* into = nullptr;
};

}  // namespace detail

/// An index, and the line where it stands: integers convert to it.
struct array_index {
  /// \param where  of the expression, for errors
  template <std::integral I>
  constexpr array_index(I i, std::source_location where = std::source_location::current()) noexcept
      : value(static_cast<std::uint64_t>(i)), line(where) {}

  std::uint64_t value;        ///< of the element; a negative one is beyond every array
  std::source_location line;  ///< where it is used
};

template <plain_value T>
class sparse_matrix;

/// An array of `size` elements, dealt out over all PEs. The program of each PE makes it, in the same order as its other
/// symmetric objects, and destroys it.
/// \tparam T       trivially copyable
/// \tparam Layout  cyclic, blocked or block_cyclic: which PE has which element
template <plain_value T, class Layout = cyclic>
class array final : private detail::distributed {
  using part = detail::array_part<T>;

 public:
  using value_type = T;  ///< of an element

  /// One element, as operator[] returns it. It has the array's address, and knows where the element is: a loop that
  /// changes one element often makes it once, `const auto row = a[i];`
  class element : public element_changes<element, T> {
   public:
    /// The same element.
    element(const element&) = default;
    /// `a[i] = b[k]` would read in a superstep: gather() what is needed before.
    element& operator=(const element&) = delete;
    using element_changes<element, T>::operator=;

    /// One-sided, outside of a superstep: waits for the element's value, a round trip. For many, gather().
    /// \throws usage_error inside of one.
    operator T() const { return of_->read(at_); }

    using element_changes<element, T>::update;
    /// One-sided, in a superstep. The same with items that travel along, in one message: runs f(element, items) at its
    /// PE, with a std::span<const U>, or of characters a std::string_view, which are gone when it returns.
    /// \throws usage_error outside of one, and for an element beyond the array; shunt::error for more items than fit
    /// into a train. Cost: less than a message an item.
    template <payload_item U, class F>
      requires std::invocable<const F&, T&, detail::payload_view<U>>
    void update(std::span<const U> items, const F& f) const {
      of_->change(at_, to_, items, f);
    }

   private:
    friend class array;
    friend class element_changes<element, T>;
    [[gnu::always_inline]] element(array& of, array_index at) noexcept
        : of_(&of), at_(at), to_(of.layout_.where(at.value)) {}
    template <class F>
    [[gnu::always_inline]] void change(const F& f) const {
      of_->change(at_, to_, f);
    }

    array* of_;
    array_index at_;
    element_place to_;  // of an index beyond the array any: the change is refused
  };

  /// Collective, but does not wait for all: as actor_of's.
  /// \param size     elements of all PEs together, below 2^46; of one PE below 2^32
  /// \param initial  what each of them is
  /// \throws usage_error for more; std::bad_alloc
  explicit array(pe& me, std::uint64_t size, const T& initial = {})
    requires std::default_initializable<Layout>
      : array(me, size, Layout(), initial) {}
  /// The same, with a layout: `pgas::array<double, pgas::block_cyclic> a(me, n, pgas::block_cyclic(64))`.
  array(pe& me, std::uint64_t size, Layout layout, const T& initial = {})
      : distributed(me, size), layout_(laid_out(me, size, layout)), part_(me), changes_(part_) {
    part_->values.assign(layout_.count(me.index()), initial);
  }
  /// Collective: the last superstep is over.
  ~array() = default;

  /// An element of any PE. \param at  0..size()-1. \throws usage_error, when it is used, for another one.
  [[nodiscard]] element operator[](array_index at) noexcept { return element(*this, at); }

  /// Elements of all PEs together.
  [[nodiscard]] std::uint64_t size() const noexcept { return elements(); }
  /// The PE that has an element, 0..size()-1 (contract).
  [[nodiscard]] int owner(std::uint64_t i) const noexcept { return layout_.where(i).pe; }

  /// Local. This PE's elements: to be read, or written, between supersteps. In one they are as superstep.hpp says. The
  /// span is valid as long as the array.
  [[nodiscard]] std::span<T> local() noexcept { return part_->values; }
  /// The same, to read.
  [[nodiscard]] std::span<const T> local() const noexcept { return part_->values; }
  /// Local. Which element local()[spot] is.
  [[nodiscard]] std::uint64_t index_of(std::size_t spot) const noexcept { return layout_.element(me().index(), spot); }
  /// Local, as local(). This PE's elements with their indices: `for (auto [i, value] : a.own()) value = f(i);`
  [[nodiscard]] auto own() noexcept {
    return std::views::iota(std::size_t{0}, part_->values.size()) | std::views::transform([this](std::size_t spot) {
             return std::pair<std::uint64_t, T&>(index_of(spot), part_->values[spot]);
           });
  }

  /// One-sided, in a superstep. The elements first, first + 1, ... become `values`, in order.
  /// \throws usage_error outside of one, and for elements beyond the array
  /// Cost: a message for as many elements of a PE as fit into a train; of a few values one each.
  void put(array_index first, std::span<const T> values)
    requires payload_item<T>
  {
    const std::uint64_t count = values.size();
    if (first.value > changeable() || count > changeable() - first.value) [[unlikely]]
      detail::refuse_change(me().index(), open(), std::max(first.value, elements()), elements(), first.line);
    const int pes = me().count();
    if (count < 4 * static_cast<std::uint64_t>(pes)) {
      for (std::uint64_t k = 0; k != count; ++k) (*this)[{first.value + k, first.line}] = values[k];
      return;
    }
    for (int n = 0; n != pes; ++n) put_at((me().index() + n) % pes, first, values);  // not all to PE 0 first
  }

  /// Local. Each of this PE's elements becomes `value`; a program that fills all calls it on every PE.
  void fill(const T& value) { std::ranges::fill(part_->values, value); }
  /// Collective. The sum of all elements, T{} for none: in the order of the PEs, and of each PE's elements.
  [[nodiscard]] T sum() const {
    T mine{};
    for (const T& value : part_->values) mine = static_cast<T>(mine + value);
    return me().sum(mine);
  }

  /// Collective, outside of supersteps. `into[k]` becomes the element `indices[k]`, for each k. PEs may ask for
  /// different numbers of elements, or none.
  /// \throws usage_error for spans of different lengths, an index beyond the array, or inside of a superstep.
  /// Cost: a message and a reply an element.
  template <std::integral I>
  void gather(std::span<const I> indices, std::span<T> into,
              std::source_location where = std::source_location::current()) {
    check_read("gather()", where);
    if (indices.size() != into.size())
      detail::refuse_lengths(me().index(), "gather()", indices.size(), into.size(), where);
    // All before the first request leaves: an answer would come when the caller has the exception, and `into` is gone.
    check_all(indices, where);
    part_->into = into.data();
    if (indices.size() >> 32 == 0) {
      ask_for<std::uint32_t>(indices, where);
    } else {
      ask_for<std::uint64_t>(indices, where);
    }
    changes_.finish();
  }

  /// Collective, outside of supersteps. The element `indices[k]` becomes `values[k]`, for each k; of two with the same
  /// index either stays. \throws as gather()
  template <std::integral I>
  void scatter(std::span<const I> indices, std::span<const T> values,
               std::source_location where = std::source_location::current()) {
    check_read("scatter()", where);
    if (indices.size() != values.size())
      detail::refuse_lengths(me().index(), "scatter()", indices.size(), values.size(), where);
    check_all(indices, where);  // before the first change
    for (std::size_t k = 0; k != indices.size(); ++k) {
      const auto at = layout_.where(static_cast<std::uint64_t>(indices[k]));
      changes_.send(at.pe, [spot = at.spot, value = values[k]](part& there) { there.values[spot] = value; }, where);
    }
    changes_.finish();
  }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's elements.
  template <class Writer>
  void save(Writer& to) const {
    to.put(elements());
    to.put(layout_mark());
    to.put_items(local());
  }
  /// Local, outside of supersteps. This PE's elements, as they were saved by an array of the same size and layout.
  template <class Reader>
  void load(Reader& from) {
    const auto size = from.template get<std::uint64_t>();
    if (size != elements()) {
      from.refuse("it is of an array of " + std::to_string(size) + " elements, and the program's has " +
                  std::to_string(elements()));
    }
    if (from.template get<std::uint64_t>() != layout_mark()) from.refuse("its array has another layout");
    from.get_items(local());
  }

 private:
  template <plain_value>
  friend class sparse_matrix;

  /// Differs where the layout of two arrays of one size does: which elements this PE has at some spots.
  [[nodiscard]] std::uint64_t layout_mark() const noexcept {
    std::uint64_t mark = part_->values.size();
    for (std::size_t spot = 1; spot < part_->values.size(); spot *= 2) mark = mark * 31 + index_of(spot);
    return mark;
  }

  static Layout laid_out(const pe& me, std::uint64_t size, Layout layout) {
    if (size >> 46 != 0) detail::refuse_array_size(me.index(), me.count(), size);
    layout.place_on(size, me.count());
    if (layout.count(0) >> 32 != 0) detail::refuse_array_size(me.index(), me.count(), size);
    return layout;
  }
  [[nodiscard]] element_place place_of(array_index at) const {
    if (at.value >= elements()) [[unlikely]]
      detail::refuse_element(me().index(), at.value, elements(), at.line);
    return layout_.where(at.value);
  }
  /// \throws usage_error for the first index beyond the array. Cost: less than a tenth of a request each.
  template <std::integral I>
  void check_all(std::span<const I> indices, std::source_location where) const {
    // Of numbers below 2^63, `last - i` is negative where i is beyond. Bits without branches: many indices at once.
    const std::uint64_t last = elements() - 1;
    std::uint64_t beyond = 0;
    for (const I i : indices) beyond |= (last - static_cast<std::uint64_t>(i)) | static_cast<std::uint64_t>(i);
    if (beyond >> 63 == 0) [[likely]]
      return;
    for (const I i : indices) static_cast<void>(place_of({i, where}));
  }
  [[nodiscard]] detail::ending_selector changes() noexcept override { return detail::end_of::changes(changes_); }
  template <class F>
  [[gnu::always_inline]] void change(const array_index& at, const element_place& to, const F& f) {
    check_change(at.value, at.line);
    if constexpr (std::is_empty_v<F>) {  // the index alone travels
      changes_.send(to.pe, [spot = to.spot](part& there) { F()(there.values[spot]); }, at.line);
    } else {
      changes_.send(to.pe, [spot = to.spot, f](part& there) { f(there.values[spot]); }, at.line);
    }
  }
  /// Behind it items of type U lie, so it is as large as their alignment wants.
  template <class U, class F>
  struct alignas(U) alignas(std::uint32_t) change_with_items {
    std::uint32_t spot;
    [[no_unique_address]] F f;

    void operator()(part& there, detail::payload_view<U> items) const { f(there.values[spot], items); }
  };
  template <class U, class F>
  void change(const array_index& at, const element_place& to, std::span<const U> items, const F& f) {
    check_change(at.value, at.line);
    changes_.send(to.pe, items, change_with_items<U, F>{to.spot, f}, at.line);
  }
  /// Not compiled into its caller: there the loop has too few registers left.
  /// \tparam Count  of the indices: each request keeps one until its answer comes
  template <std::unsigned_integral Count, std::integral I>
  [[gnu::noinline]] void ask_for(std::span<const I> indices, std::source_location where) {
    for (std::size_t k = 0; k != indices.size(); ++k) {
      const auto at = layout_.where(static_cast<std::uint64_t>(indices[k]));
      changes_.ask(
          at.pe, [spot = at.spot](const part& there) { return there.values[spot]; },
          [k = static_cast<Count>(k)](part& here, const T& value) { here.into[k] = value; }, where);
    }
  }
  /// Of a range the elements on PE `to`: they lie at neighbouring spots.
  void put_at(int to, const array_index& first, std::span<const T> values) {
    const auto most = std::max<std::uint64_t>(1, (me().train_bytes() - room_of_heads) / sizeof(T));
    std::vector<T> some;
    const auto end = layout_.below(to, first.value + values.size());
    for (auto spot = layout_.below(to, first.value); spot != end; spot += some.size()) {
      some.clear();
      for (auto k = spot; k != end && some.size() != most; ++k)
        some.push_back(values[layout_.element(to, k) - first.value]);
      changes_.send(
          to, std::span<const T>(some),
          [spot](part& there, std::span<const T> all) { std::ranges::copy(all, there.values.data() + spot); },
          first.line);
    }
  }
  [[nodiscard]] T read(array_index at) {
    check_read("an element", at.line);
    const auto from = place_of(at);
    return changes_.fetch(from.pe, [spot = from.spot](const part& there) { return there.values[spot]; }, at.line);
  }

  static constexpr std::size_t room_of_heads = 128;  // in a train of at least 256 bytes

  Layout layout_;
  symmetric<part> part_;
  actor_of<part> changes_;
};

/// Collective. `into[k]` becomes table[indices[k]]: array::gather().
template <class T, class Layout, std::ranges::contiguous_range Indices, std::ranges::contiguous_range Into>
void gather(array<T, Layout>& table, const Indices& indices, Into&& into,
            std::source_location where = std::source_location::current()) {
  table.gather(std::span<const std::ranges::range_value_t<Indices>>(indices),
               std::span<T>(std::ranges::data(into), std::ranges::size(into)), where);
}

/// Collective. table[indices[k]] becomes values[k]: array::scatter().
template <class T, class Layout, std::ranges::contiguous_range Indices, std::ranges::contiguous_range Values>
void scatter(array<T, Layout>& table, const Indices& indices, const Values& values,
             std::source_location where = std::source_location::current()) {
  table.scatter(std::span<const std::ranges::range_value_t<Indices>>(indices),
                std::span<const T>(std::ranges::data(values), std::ranges::size(values)), where);
}

/// `table | gather(indices)`: see below.
template <class I>
struct gathering {
  std::span<const I> indices;  ///< outlive the loop
};

/// Collective, as array::gather(): `for (auto [k, value] : table | pgas::gather(indices)) target[k] = value;`
/// \param indices  k counts them, from 0; they outlive the loop
template <std::ranges::contiguous_range Indices>
[[nodiscard]] auto gather(const Indices& indices) {
  using I = std::ranges::range_value_t<Indices>;
  return gathering<I>{std::span<const I>(std::ranges::data(indices), std::ranges::size(indices))};
}

/// Collective. See gather(indices). \return pairs of k and the element indices[k], all of which lie in memory.
template <class T, class Layout, class I>
[[nodiscard]] std::vector<std::pair<std::size_t, T>> operator|(array<T, Layout>& table, const gathering<I>& what) {
  std::vector<T> values(what.indices.size());
  table.gather(what.indices, std::span<T>(values));
  std::vector<std::pair<std::size_t, T>> all;
  all.reserve(values.size());
  for (std::size_t k = 0; k != values.size(); ++k) all.emplace_back(k, values[k]);
  return all;
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
