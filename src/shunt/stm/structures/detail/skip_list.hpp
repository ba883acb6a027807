/// What tmap, tset and tpriority_queue are made of: an ordered list with levels of links that skip nodes.
///
///   level 2   head ─────────────────> 30 ─────────────> end
///   level 1   head ──> 10 ──────────> 30 ─────────────> end
///   level 0   head ──> 10 ──> 20 ──> 30 ──> 40 ──────> end       each arrow is a tvar
///
/// A node is on level k with a probability of 1 in 4^k. A search begins on the highest level and goes down where the
/// next node is too far; it reads some 4 links a level, on log4(n) levels. A change writes the links to the node, and
/// the node's own links. Other searches read the high links often, and changes write them as rarely as the low links
/// are read. So two operations at different keys of n conflict with a probability of some log(n) / n.
///
/// Invariants
///   skip_list.S1  Along each level keys are in order: none is less than the one before it.
///   skip_list.S2  A node that is on a level is on all levels below it.
///   skip_list.S3  No node is on level levels_ or above; levels_ never shrinks.
///
/// An operation that removes a node reads the node's links: so it conflicts with one that inserts or removes the node
/// behind it.
///
/// Source: Pugh: Skip lists: a probabilistic alternative to balanced trees, CACM 33 (6), 1990, doi:10.1145/78973.78977.
#pragma once

#include <array>
#include <memory>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/structures/tx_item.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Enough for 4^16 nodes; with more nodes operations get slower, and stay correct.
inline constexpr int levels_at_most = 16;

/// \return 1..levels_at_most: more than k with a probability of 1 in 4^k.
[[nodiscard]] int random_height() noexcept;

/// \tparam Less  of two keys, const.
/// \tparam Rest  what a node holds beside its key.
template <typename Key, typename Less, typename Rest>
class skip_list {
 public:
  struct node;
  using link = tvar<node*>;

 private:
  /// The links of one node, or of the head. Three of four nodes have one link, and need no second object.
  class tower {
   public:
    tower(int height, node* first)
        : height_(height),
          bottom_(first),
          upper_(height > 1 ? new link[static_cast<std::size_t>(height - 1)] : nullptr) {}
    [[nodiscard]] int height() const noexcept { return height_; }
    [[nodiscard]] link& operator[](int level) {
      return level == 0 ? bottom_ : upper_[static_cast<std::size_t>(level - 1)];
    }
    [[nodiscard]] const link& operator[](int level) const {
      return level == 0 ? bottom_ : upper_[static_cast<std::size_t>(level - 1)];
    }

   private:
    const int height_;
    link bottom_;
    const std::unique_ptr<link[]> upper_;
  };

 public:
  struct node : in_thread_cache {
    template <typename... Arguments>
    node(int height, node* next, Key k, Arguments&&... rest_from)
        : links(height, next), key(std::move(k)), rest(std::forward<Arguments>(rest_from)...) {}
    tower links;
    const Key key;
    [[no_unique_address]] Rest rest;
  };

  /// The links that lead past a position, one a level, on the lowest levels_ levels.
  using way = std::array<link*, levels_at_most>;

  explicit skip_list(Less less) : less_(std::move(less)) {}
  ~skip_list() {
    for (node* n = tvar_access::committed(head_[0]); n != nullptr;)
      delete std::exchange(n, tvar_access::committed(n->links[0]));
  }
  skip_list(const skip_list&) = delete;
  skip_list& operator=(const skip_list&) = delete;

  /// \return the first node with a key that is not less; null: there is none.
  [[nodiscard]] node* not_less(tx& t, const Key& key) const {
    return descend(t, head_, t.read(levels_), [&](const Key& k) { return less_(k, key); }, [](int, const link&) {});
  }
  [[nodiscard]] node* not_less(tx& t, const Key& key, way& to) {
    return descend(t, head_, t.read(levels_), [&](const Key& k) { return less_(k, key); }, leads(to));
  }
  /// \return the first node with a greater key; null: there is none.
  node* greater(tx& t, const Key& key, way& to) {
    return descend(t, head_, t.read(levels_), [&](const Key& k) { return !less_(key, k); }, leads(to));
  }
  [[nodiscard]] bool is(const node* n, const Key& key) const { return n != nullptr && !less_(key, n->key); }

  [[nodiscard]] node* first(tx& t) const { return t.read(head_[0]); }
  [[nodiscard]] node* after(tx& t, const node* n) const { return t.read(n->links[0]); }

  /// Inserts a node at the position that `to` leads to.
  template <typename... Arguments>
  void insert(tx& t, way& to, Key key, Arguments&&... rest) {
    const int height = random_height();
    if (const int levels = t.read(levels_); height > levels) {
      for (int level = levels; level < height; ++level) to[level_index(level)] = &head_[level];
      t.write(levels_, height);
    }
    node* const made = t.make<node>(height, t.read(*to[0]), std::move(key), std::forward<Arguments>(rest)...);
    for (int level = 1; level < height; ++level) t.write(made->links[level], t.read(*to[level_index(level)]));
    for (int level = 0; level < height; ++level) t.write(*to[level_index(level)], made);
  }

  [[nodiscard]] bool contains(tx& t, const Key& key) const { return is(not_less(t, key), key); }
  /// \return false: there is no such key.
  bool erase(tx& t, const Key& key) {
    way to;
    node* const n = not_less(t, key, to);
    if (!is(n, key)) return false;
    for (int level = 0; level < n->links.height(); ++level) t.write(*to[level_index(level)], t.read(n->links[level]));
    t.destroy(n);
    return true;
  }
  /// O(nodes).
  [[nodiscard]] std::size_t size(tx& t) const {
    std::size_t count = 0;
    for (const node* n = first(t); n != nullptr; n = after(t, n)) ++count;
    return count;
  }

  /// \param gone  the first node: each level on which it is begins with it.
  void erase_first(tx& t, node* gone) {
    for (int level = 0; level < gone->links.height(); ++level) t.write(head_[level], t.read(gone->links[level]));
    t.destroy(gone);
  }
  /// O(nodes).
  void clear(tx& t) {
    for (node* n = first(t); n != nullptr;) t.destroy(std::exchange(n, after(t, n)));
    for (int level = t.read(levels_); level-- > 0;) t.write(head_[level], nullptr);
  }

 private:
  [[nodiscard]] static constexpr std::size_t level_index(int level) noexcept { return static_cast<std::size_t>(level); }

  [[nodiscard]] static auto leads(way& to) {
    return [&to](int level, link& l) { to[level_index(level)] = &l; };
  }

  /// Goes past the first keys, for which `passes` is true, and calls leaves(level, link) with the last link on each
  /// level. \return the node that follows.
  template <typename Tower, typename Passes, typename Leaves>
  static node* descend(tx& t, Tower& head, int levels, const Passes& passes, const Leaves& leaves) {
    Tower* at = &head;
    node* beyond = nullptr;
    for (int level = levels; level-- > 0;) {
      node* next = t.read((*at)[level]);
      while (next != beyond && passes(next->key)) {
        at = &next->links;
        next = t.read((*at)[level]);
      }
      beyond = next;
      leaves(level, (*at)[level]);
    }
    return beyond;
  }

  [[no_unique_address]] const Less less_;
  tvar<int> levels_{1};
  tower head_{levels_at_most, nullptr};
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
