/// Distributed disjoint sets (union-find) over the numbers 0..size-1: components of a graph, clusters.
///
/// ```cpp
/// pgas::disjoint_sets sets(me, vertices);
/// pgas::superstep(me, [&] {
///   for (const auto& [a, b] : edges) sets.unite(a, b);
/// });
/// sets.flatten();                                   // own() then has the least number of each element's set
/// const auto components = sets.count();
/// ```
///
/// Each element points to a lesser one of its set, the least one to itself. A union climbs from one element towards the
/// other, as a message that goes from owner to owner, always at the greater of the two:
///
///   greater one points to      then
///   itself                     it points to the other one; done
///   the other one              done
///   one that is greater than   it points to the other one, and what it pointed to goes on with that (splicing: paths
///   the other one              grow shorter by the way)
///   one that is less           the other one goes on with that
///
/// Each step makes the greater of the two less, so a union ends; whatever unions run at the same time, each keeps what
/// is left to unite on its way, and none waits for another.
///
/// Source: Rem, in Dijkstra, A Discipline of Programming (1976), chapter 23; Patwary, Blair, Manne, Experiments on
/// union-find algorithms, SEA 2010, doi:10.1007/978-3-642-13193-6_35, where it is the fastest. Its form as messages is
/// Shunt's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/layout.hpp>
#include <shunt/pgas/superstep.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// Memory: 8 bytes an element.
class disjoint_sets final : private detail::distributed {
 public:
  /// Collective, but does not wait for all: as actor_of's. Each element is a set of its own, and lies on PE
  /// element % PEs.
  /// \param size  elements, below 2^46; of one PE below 2^32 \throws usage_error for more; std::bad_alloc
  disjoint_sets(pe& me, std::uint64_t size) : distributed(me, size), part_(me, me, size), messages_(part_) {}
  /// Collective: the last superstep is over.
  ~disjoint_sets() = default;

  /// One-sided, in a superstep. The sets of a and b become one. \throws usage_error outside of one, or for numbers that
  /// are not below size().
  void unite(std::uint64_t a, std::uint64_t b, std::source_location where = std::source_location::current()) {
    const std::uint64_t greater = std::max(a, b);
    if (greater >= changeable()) [[unlikely]]
      detail::refuse_change(me().index(), open(), greater, elements(), where);
    if (a == b) return;
    messages_.send(part_->layout.where(greater).pe, climb{greater, std::min(a, b)}, where);
  }

  /// Elements, of all PEs.
  [[nodiscard]] std::uint64_t size() const noexcept { return elements(); }

  /// Collective, outside of supersteps. Afterwards each element points to the least one of its set, its label: own()
  /// and local() have it. Cost: rounds of one request and reply an element that is not there yet; as many as the
  /// logarithm of the longest path.
  void flatten(std::source_location where = std::source_location::current()) {
    check_read("flatten()", where);
    std::vector<std::uint32_t> left;  // elements of this PE that may not point to their label
    for (std::size_t spot = 0; spot != part_->to.size(); ++spot) {
      if (part_->to[spot] != part_->element(spot)) left.push_back(static_cast<std::uint32_t>(spot));
    }
    while (me().sum(std::uint64_t{left.size()}) != 0) {
      for (const std::uint32_t spot : left) {
        const auto at = part_->layout.where(part_->to[spot]);
        messages_.ask(
            at.pe, [from = at.spot](const part& there) { return there.to[from]; },
            [spot](part& here, std::uint64_t next) {
              if (here.to[spot] == next) return;
              here.to[spot] = next;
              here.changed.push_back(spot);
            },
            where);
      }
      messages_.finish();
      left.swap(part_->changed);
      part_->changed.clear();
    }
    messages_.finish();  // which holds back the next superstep's unions
  }
  /// Collective. How many sets there are.
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t mine = 0;
    for (std::size_t spot = 0; spot != part_->to.size(); ++spot)
      mine += part_->to[spot] == part_->element(spot) ? 1 : 0;
    return me().sum(mine);
  }

  /// Local. What this PE's elements point to: after flatten(), their labels; in a superstep that unites, elements of
  /// their sets, lesser ones with each union that comes.
  [[nodiscard]] std::span<const std::uint64_t> local() const noexcept { return part_->to; }
  /// Local. Which element local()[spot] is of.
  [[nodiscard]] std::uint64_t index_of(std::size_t spot) const noexcept { return part_->element(spot); }
  /// Local. This PE's elements with what they point to: `for (auto [element, label] : sets.own())`.
  [[nodiscard]] auto own() const noexcept {
    return std::views::iota(std::size_t{0}, part_->to.size()) | std::views::transform([this](std::size_t spot) {
             return std::pair<std::uint64_t, std::uint64_t>(index_of(spot), part_->to[spot]);
           });
  }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): what this PE's elements point to.
  template <class Writer>
  void save(Writer& to) const {
    to.put(elements());
    to.put_items(local());
  }
  /// Local, outside of supersteps. As it was saved, of as many elements on as many PEs.
  template <class Reader>
  void load(Reader& from) {
    const auto size = from.template get<std::uint64_t>();
    if (size != elements()) {
      from.refuse("it is of disjoint sets of " + std::to_string(size) + " elements, and the program's have " +
                  std::to_string(elements()));
    }
    from.get_items(std::span<std::uint64_t>(part_->to));
  }

 private:
  [[nodiscard]] detail::ending_selector changes() noexcept override { return detail::end_of::changes(messages_); }
  /// Unions send on, so their end is found by quiesce(); the superstep's then holds back the next one's.
  void send_rest() override { messages_.quiesce(); }

  /// Invariant: to[spot] is at most the element itself.
  struct part {
    part(const pe& me, std::uint64_t size) : pe_index(me.index()) {
      if (size >> 46 != 0) detail::refuse_array_size(me.index(), me.count(), size);
      layout.place_on(size, me.count());
      if (layout.count(0) >> 32 != 0) detail::refuse_array_size(me.index(), me.count(), size);
      to.resize(layout.count(pe_index));
      for (std::size_t spot = 0; spot != to.size(); ++spot) to[spot] = element(spot);
    }
    [[nodiscard]] std::uint64_t element(std::size_t spot) const noexcept { return layout.element(pe_index, spot); }

    int pe_index;
    cyclic layout;
    std::vector<std::uint64_t> to;
    std::vector<std::uint32_t> changed;  // by a round of flatten()
  };

  /// A union on its way, on the PE that has `greater`.
  struct climb {
    std::uint64_t greater;
    std::uint64_t less;

    template <class Here>
    void operator()(part& at, Here& here) const {
      std::uint64_t a = greater, b = less;
      for (auto place = at.layout.where(a); place.pe == at.pe_index; place = at.layout.where(a)) {
        std::uint64_t& to = at.to[place.spot];
        const std::uint64_t next = to;
        if (next == b) return;
        if (next == a) {
          to = b;
          return;
        }
        if (next > b) {
          to = b;
          a = next;
        } else {
          a = b;
          b = next;
        }
      }
      here.send(at.layout.where(a).pe, climb{a, b});
    }
  };

  symmetric<part> part_;
  actor_of<part> messages_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
