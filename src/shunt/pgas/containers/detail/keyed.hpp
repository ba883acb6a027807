/// What containers with keys have in common: the owner of a key, and messages to it.
///
/// A plain key travels as a value, in front of what is to be done with it. A text travels as a payload; one that is
/// longer than a train carries, in pieces, which its owner puts together:
///
///   sender      numbers its long texts; sends each piece with (number, bytes of all, where this one begins)
///   owner       keeps the pieces of (sender, number) until all bytes are there, in whatever order they come
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/containers/detail/hash_table.hpp>
#include <shunt/pgas/containers/key_hash.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/superstep.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What may be a key: a plain value, or a text.
template <class K>
concept key_type = plain_value<K> || std::is_same_v<K, std::string>;

template <class K>
inline constexpr bool is_text = std::is_same_v<K, std::string>;

/// A value that may stand for a key: an integer for an integer, a text for a text; for others what converts.
template <class Key, class K>
concept key_for =
    (is_text<K> && std::convertible_to<const Key&, std::string_view>) || (std::integral<K> && std::integral<Key>) ||
    (!is_text<K> && !std::integral<K> && std::convertible_to<const Key&, K>);

/// A key, and the line where it stands: keys convert to it.
template <class K>
struct key_at {
  using held = std::conditional_t<is_text<K>, std::string_view, K>;

  /// \param where  of the expression, for errors \throws usage_error for an integer that is none of K's values
  template <key_for<K> Key>
  constexpr key_at(const Key& k, std::source_location where = std::source_location::current())
      : key(static_cast<held>(k)), line(where) {
    if constexpr (std::integral<K> && !std::is_same_v<Key, K>) {
      // Back and forth, since std::in_range takes no characters.
      if (static_cast<Key>(key) != k || (key < K{}) != (k < Key{})) refuse_key(std::to_string(k), sizeof(K), where);
    }
  }
  held key;
  std::source_location line;
};

/// Texts of which some pieces have come.
class pieces_of_texts {
 public:
  /// \return the text, when all of it has come; else null. It is there until the next call.
  const std::string* add(int from, std::uint64_t number, std::size_t bytes, std::size_t begin, std::string_view piece) {
    text& t = texts_[{from, number}];
    t.bytes.resize(bytes);
    t.bytes.replace(begin, piece.size(), piece);
    t.came += piece.size();
    if (t.came != bytes) return nullptr;
    whole_ = std::move(t.bytes);
    texts_.erase({from, number});
    return &whole_;
  }

 private:
  struct text {
    std::string bytes;
    std::size_t came = 0;
  };
  std::map<std::pair<int, std::uint64_t>, text> texts_;
  std::string whole_;
};

/// A PE's part of an object with keys.
template <class Table>
struct keyed_part {
  Table table;
  pieces_of_texts pieces;
  void* into = nullptr;  // where gather() puts what comes
};

/// A message with a plain key.
template <class Part, class K, class Op>
struct keyed_message {
  K key;
  [[no_unique_address]] Op op;

  void operator()(Part& part) const { op(part, key); }
  void prepare(const Part& part) const noexcept { part.table.prefetch(key); }
};

/// Base of containers with keys. \tparam Table  of a PE: hash_table
template <class K, class Table, class Hash>
class keyed : protected distributed {
 protected:
  using part = keyed_part<Table>;

  explicit keyed(pe& me)
      : distributed(me, 1), pes_(static_cast<std::uint64_t>(me.count())), part_(me), messages_(part_) {}
  ~keyed() = default;

  /// The PE that has a key: by the hash's upper half, of which each PE has an equal share.
  [[nodiscard]] int owner_of(std::uint64_t hash) const noexcept {
    return static_cast<int>(((hash >> 32U) * pes_) >> 32U);
  }

  void check_change(std::source_location where) const {
    if (changeable() == 0) [[unlikely]]
      refuse_change(me().index(), false, 0, 0, where);
  }

  /// Calls op(part, key) at the key's owner; op is a function object of plain values.
  template <std::size_t Mailbox = 0, class Op>
  [[gnu::always_inline]] void to_owner(key_view<K> key, const Op& op, std::source_location where) {
    to_owner<Mailbox>(key, Hash()(key), op, where);
  }
  /// The same, of a key whose hash is known.
  template <std::size_t Mailbox = 0, class Op>
  [[gnu::always_inline]] void to_owner(key_view<K> key, std::uint64_t hash, const Op& op, std::source_location where) {
    if constexpr (is_text<K>) {
      send_text<Mailbox>(owner_of(hash), key, op, where);
    } else {
      messages_.template send<Mailbox>(owner_of(hash), keyed_message<part, K, Op>{key, op}, where);
    }
  }

  /// Calls op(part, text) on PE `to`, or op(part, text, here) if it takes that.
  template <std::size_t Mailbox = 0, class Op>
  void send_text(int to, std::string_view text, const Op& op, std::source_location where) {
    const std::size_t most = longest_piece(sizeof(Op));
    if (text.size() <= most) [[likely]] {
      return messages_.template send<Mailbox>(
          to, text, [op](part& at, std::string_view all, auto& here) { call(op, at, all, here); }, where);
    }
    const auto number = texts_sent_.fetch_add(1, std::memory_order_relaxed);  // relaxed: no two get the same
    const std::size_t bytes = text.size();
    for (std::size_t begin = 0; begin != bytes;) {
      const auto piece = text.substr(begin, most);
      messages_.template send<Mailbox>(
          to, piece,
          [op, number, bytes, begin](part& at, std::string_view some, auto& here) {
            const std::string* const all = at.pieces.add(here.from(), number, bytes, begin, some);
            if (all != nullptr) call(op, at, *all, here);
          },
          where);
      begin += piece.size();
    }
  }

  /// Collective. Asks for each key: Looker{key} answers at its owner, and Receiver{k} takes the answer here; of texts
  /// TextLooker{k} does both.
  template <class Looker, class Receiver, class TextLooker, class Keys>
  void look_up(const Keys& keys, std::source_location where) {
    const auto size = static_cast<std::size_t>(std::ranges::size(keys));
    const auto first = std::ranges::begin(keys);
    // A key that is none of K's values is refused before the first request leaves: the answers to those before it would
    // come when the caller, which has the exception, has given up their place.
    if constexpr (std::integral<K> && !std::is_same_v<std::ranges::range_value_t<const Keys>, K>) {
      for (std::size_t k = 0; k != size; ++k)
        static_cast<void>(key_at<K>(first[static_cast<std::ptrdiff_t>(k)], where));
    }
    for (std::size_t k = 0; k != size; ++k) {
      // Of a text `at` has the address, and a range such as views::transform makes it just now.
      const auto& key = first[static_cast<std::ptrdiff_t>(k)];
      const key_at<K> at(key, where);
      if constexpr (is_text<K>) {
        to_owner(at.key, TextLooker{k}, where);
      } else {
        messages_.ask(owner_of(Hash()(at.key)), Looker{at.key}, Receiver{k}, where);
      }
    }
    messages_.finish();
  }

  [[nodiscard]] Table& table() noexcept { return part_->table; }
  [[nodiscard]] const Table& table() const noexcept { return part_->table; }
  [[nodiscard]] part& mine() noexcept { return *part_; }
  [[nodiscard]] auto& messages() noexcept { return messages_; }

 private:
  [[nodiscard]] ending_selector changes() noexcept override { return end_of::changes(messages_); }

  template <class Op, class Here>
  static void call(const Op& op, part& at, std::string_view text, Here& here) {
    if constexpr (std::is_invocable_v<const Op&, part&, std::string_view, Here&>) {
      op(at, text, here);
    } else {
      op(at, text);
    }
  }
  /// Of a text in front of which stand so many bytes of captures: half a train, or what is left of one.
  [[nodiscard]] std::size_t longest_piece(std::size_t captures) const noexcept {
    constexpr std::size_t heads = 96, of_pieces = 32;  // at least
    const std::size_t train = me().train_bytes(), taken = heads + of_pieces + captures;
    return taken < train ? std::min(train / 2, train - taken) : 1;  // 1: send() says that they are too long
  }

  std::uint64_t pes_;
  std::atomic<std::uint64_t> texts_sent_{0};  // also by tasks of the PE on other workers
  symmetric<part> part_;
  selector_of<is_text<K> ? 2 : 1, part> messages_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
