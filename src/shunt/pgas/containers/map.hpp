/// A distributed map: values by key, each key on the PE that its hash names.
///
/// ```cpp
/// pgas::map<std::string, long> words(me);
/// pgas::superstep(me, [&] {
///   for (const auto& word : text) ++words[word];  // a message each
/// });                                             // all of them have happened, everywhere
/// for (const auto& [word, n] : words.local()) std::printf("%s %ld\n", word.c_str(), n);
/// ```
///
/// Inside of a superstep (superstep.hpp) keys are inserted, changed and erased, by messages that no answer is waited
/// for. Changes of one key happen one after the other, in no promised order. Outside of it the map is read: the PE's
/// own keys by local(), those of any PE by gather() or find().
///
/// Keys are plain values (trivially copyable) or std::string, of any length. Values are of any type that can be made
/// without arguments and moved; what travels to them is plain, or a text.
///
/// Memory: a PE's keys lie in a table of a power of two slots, each a key, a value and a byte; 3/8 to 3/4 of them are
/// used, and while the table doubles there are two. A text is a std::string.
///
/// Cost: as a message to the key's PE and a look into a hash table there, which memory's latency does not slow down:
/// what a message needs is fetched while others before it are processed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <shunt/pgas/containers/detail/keyed.hpp>
#include <shunt/pgas/element_changes.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// \tparam K     a plain value, or std::string
/// \tparam V     default constructible and movable
/// \tparam Hash  key_hash.hpp says what another one must be
template <detail::key_type K, std::default_initializable V, class Hash = key_hash<K>>
  requires detail::stored_value<V>
class map final : private detail::keyed<K, detail::hash_table<K, V, Hash>, Hash> {
  using table_type = detail::hash_table<K, V, Hash>;
  using base = detail::keyed<K, table_type, Hash>;
  using part = typename base::part;
  using key_at = detail::key_at<K>;

 public:
  using key_type = K;     ///< what values are found by
  using mapped_type = V;  ///< of a value

  /// The value of one key, as operator[] returns it. Use it at once: it has the map's address, and a text's.
  /// A key that is not there is inserted with V().
  class element : public element_changes<element, V> {
   public:
    /// The same element.
    element(const element&) = default;
    /// `a[i] = b[k]` would read in a superstep: gather() what is needed before.
    element& operator=(const element&) = delete;
    using element_changes<element, V>::operator=;

   private:
    friend class map;
    friend class element_changes<element, V>;
    element(map& of, key_at at) noexcept : of_(&of), at_(at) {}
    template <class F>
    [[gnu::always_inline]] void change(const F& f) const {
      of_->visit(at_, f);
    }

    map* of_;
    key_at at_;
  };

  /// Collective, but does not wait for all: as actor_of's. \throws std::bad_alloc
  explicit map(pe& me) : base(me) {}
  /// Collective: the last superstep is over.
  ~map() = default;

  // --- in a superstep; usage_error outside of one -------------------------------------------------------------------

  /// One-sided. `++m[key]`, `m[key] += v`, `m[key] = v`, `m[key].max(v)`, … : element_changes.hpp
  [[nodiscard]] element operator[](key_at at) noexcept { return element(*this, at); }

  /// One-sided. Calls f(value), or f(key, value), at the key's PE; a key that is not there is inserted with V() before.
  /// \param f  as actor_of::send() takes it: captures are values
  template <class F>
  [[gnu::always_inline]] void visit(key_at at, const F& f) {
    static_assert(std::is_invocable_v<const F&, V&> || std::is_invocable_v<const F&, const K&, V&>,
                  "visit: the function takes the value, `[](V& value)`, or `[](const K& key, V& value)`");
    static_assert(handler_function<F>,
                  "visit: the function captures a reference, or what is not copied as bytes: capture plain values");
    this->check_change(at.line);
    this->to_owner(at.key, visitor<F>{f}, at.line);
  }
  /// One-sided. The same, if the key is there.
  template <class F>
  void visit_if_present(key_at at, const F& f) {
    static_assert(std::is_invocable_v<const F&, V&> || std::is_invocable_v<const F&, const K&, V&>,
                  "visit_if_present: the function takes the value, `[](V& value)`, or `[](const K& key, V& value)`");
    static_assert(handler_function<F>,
                  "visit_if_present: the function captures a reference, or what is not copied as "
                  "bytes: capture plain values");
    this->check_change(at.line);
    this->to_owner(at.key, visitor_if_present<F>{f}, at.line);
  }

  /// One-sided. The key gets the value, unless it is there already.
  void insert(key_at at, const V& value)
    requires plain_value<V>
  {
    this->check_change(at.line);
    this->to_owner(at.key, inserter{value}, at.line);
  }
  /// One-sided. The key gets the value; of several the last to arrive stays.
  void insert_or_assign(key_at at, const V& value)
    requires plain_value<V>
  {
    this->check_change(at.line);
    this->to_owner(at.key, assigner{value}, at.line);
  }
  /// One-sided. The same for texts, of any length.
  void insert(key_at at, std::string_view value)
    requires std::same_as<V, std::string>
  {
    send_value<false>(at, value);
  }
  /// One-sided. The same for texts, of any length.
  void insert_or_assign(key_at at, std::string_view value)
    requires std::same_as<V, std::string>
  {
    send_value<true>(at, value);
  }
  /// One-sided. The key is there no more.
  void erase(key_at at) {
    this->check_change(at.line);
    this->to_owner(at.key, eraser(), at.line);
  }

  // --- outside of supersteps ----------------------------------------------------------------------------------------

  /// Local. This PE's keys and values, in no order: `for (auto [key, value] : m.local())`. Values may be written.
  /// In a superstep that changes the map, on any PE, iterators end when the next change comes: superstep.hpp.
  [[nodiscard]] auto local() noexcept { return std::ranges::subrange(this->table().begin(), this->table().end()); }
  /// The same, to read.
  [[nodiscard]] auto local() const noexcept {
    return std::ranges::subrange(this->table().begin(), this->table().end());
  }
  /// Local. The value of a key of this PE, until the next change comes. \return null: this PE has no such key.
  [[nodiscard]] V* find_local(detail::key_view<K> key) noexcept {
    auto* const at = this->table().find(key);
    return at == nullptr ? nullptr : &at->value;
  }
  /// The PE that has a key, or would have it.
  [[nodiscard]] int owner(detail::key_view<K> key) const noexcept { return this->owner_of(Hash()(key)); }

  /// Collective. Keys of all PEs.
  [[nodiscard]] std::uint64_t size() const { return this->me().sum(std::uint64_t{this->table().size()}); }

  /// One-sided. The value of a key of any PE, a round trip. For many, and for texts, gather().
  /// \return nothing: there is no such key. A PE that is in the next superstep already may have changed it, unless all
  ///         PEs have a barrier() before that. \throws usage_error in a superstep.
  [[nodiscard]] std::optional<V> find(key_at at)
    requires(plain_value<V> && plain_value<K>)
  {
    this->check_read("find()", at.line);
    return this->messages().fetch(owner(at.key), looker{at.key}, at.line);
  }

  /// Collective. `into[k]` becomes the value of `keys[k]`, or nothing where there is no such key. PEs may ask for
  /// different numbers of keys, or none.
  /// \throws usage_error for ranges of different lengths, or in a superstep. Cost: a message and a reply a key.
  template <std::ranges::random_access_range Keys>
    requires plain_value<V>
  void gather(const Keys& keys, std::span<std::optional<V>> into,
              std::source_location where = std::source_location::current()) {
    this->check_read("gather()", where);
    const auto size = static_cast<std::size_t>(std::ranges::size(keys));
    if (size != into.size()) detail::refuse_lengths(this->me().index(), "gather()", size, into.size(), where);
    this->mine().into = into.data();
    this->template look_up<looker, receiver, text_looker>(keys, where);
  }

  /// Local. Erases those of this PE's keys for which f(key, value) is true. \return how many
  template <class F>
  std::size_t erase_if(F&& f) {
    return this->table().erase_if(std::forward<F>(f));
  }
  /// Local. Erases this PE's keys.
  void clear() noexcept { this->table().clear(); }
  /// Local. Room for so many keys on this PE before its table grows. \throws std::bad_alloc
  void reserve(std::size_t keys) { this->table().reserve(keys); }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's keys and values.
  template <class Writer>
  void save(Writer& to) const {
    this->table().save(to);
  }
  /// Local, outside of supersteps. This PE's keys and values, as they were saved by as many PEs; in another order.
  template <class Reader>
  void load(Reader& from) {
    this->table().load(from);
  }

 private:
  using slot = typename table_type::slot;

  template <class F>
  static void call(const F& f, slot& at) {
    if constexpr (std::is_invocable_v<const F&, V&>) {
      f(at.value);
    } else {
      f(std::as_const(at.key), at.value);
    }
  }
  template <class F>
  struct visitor {
    [[no_unique_address]] F f;
    void operator()(part& p, detail::key_view<K> key) const { call(f, *p.table.find_or_insert(key).first); }
  };
  template <class F>
  struct visitor_if_present {
    [[no_unique_address]] F f;
    void operator()(part& p, detail::key_view<K> key) const {
      if (slot* const at = p.table.find(key)) call(f, *at);
    }
  };
  struct inserter {
    [[no_unique_address]] V value;
    void operator()(part& p, detail::key_view<K> key) const {
      if (const auto [at, is_new] = p.table.find_or_insert(key); is_new) at->value = value;
    }
  };
  struct assigner {
    [[no_unique_address]] V value;
    void operator()(part& p, detail::key_view<K> key) const { p.table.find_or_insert(key).first->value = value; }
  };
  struct eraser {
    void operator()(part& p, detail::key_view<K> key) const noexcept { p.table.erase(key); }
  };

  /// A request for a value.
  struct looker {
    K key;
    std::optional<V> operator()(const part& p) const {
      const slot* const at = p.table.find(key);
      return at == nullptr ? std::nullopt : std::optional<V>(at->value);
    }
  };
  /// Its reply's place.
  struct receiver {
    std::size_t k;
    void operator()(part& p, const std::optional<V>& value) const { static_cast<std::optional<V>*>(p.into)[k] = value; }
  };
  struct reply {
    std::size_t k;
    std::optional<V> value;
    void operator()(part& p) const { static_cast<std::optional<V>*>(p.into)[k] = value; }
  };
  struct text_looker {
    std::size_t k;
    template <class Here>
    void operator()(part& p, std::string_view key, Here& here) const {
      const slot* const at = p.table.find(key);
      here.template send<1>(here.from(), reply{k, at == nullptr ? std::nullopt : std::optional<V>(at->value)});
    }
  };

  /// A value that is a text: behind the key, if that is a text as well.
  template <bool Always>
  void send_value(key_at at, std::string_view value) {
    this->check_change(at.line);
    if constexpr (detail::is_text<K>) {
      std::string both;
      both.reserve(at.key.size() + value.size());
      both.append(at.key).append(value);
      this->send_text(
          owner(at.key), both,
          [bytes = at.key.size()](part& p, std::string_view all) {
            set<Always>(p, all.substr(0, bytes), all.substr(bytes));
          },
          at.line);
    } else {
      this->send_text(
          owner(at.key), value, [key = at.key](part& p, std::string_view all) { set<Always>(p, key, all); }, at.line);
    }
  }
  template <bool Always>
  static void set(part& p, detail::key_view<K> key, std::string_view value) {
    if (const auto [at, is_new] = p.table.find_or_insert(key); is_new || Always) at->value = value;
  }
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
