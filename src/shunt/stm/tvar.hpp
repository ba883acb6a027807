/// A variable that many transactions, on any fibers and threads, read and write. Include <shunt/stm.hpp>.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <shunt/base/thread_cache.hpp>
#include <shunt/stm/detail/engine/word.hpp>
#include <shunt/stm/detail/engine/write_log.hpp>
#include <source_location>
#include <type_traits>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

class tx;

/// What a tvar may hold: an object that can be moved into it. Its destructor neither throws, nor uses transactions, nor
/// waits.
template <typename T>
concept tvar_value = std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>> && std::move_constructible<T> &&
                     std::is_nothrow_destructible_v<T>;

namespace detail {

/// Trivially copyable values of few bytes are held inline, in words; all others in a box, which never changes.
template <typename T>
inline constexpr bool is_inline = std::is_trivially_copyable_v<T> && sizeof(T) <= words_inline * sizeof(word);

template <typename T>
struct holding {
  static constexpr std::size_t count = is_inline<T> ? (sizeof(T) + sizeof(word) - 1) / sizeof(word) : 1;
  /// What tx::read() returns: a box stays as long as the transaction.
  using read_type = std::conditional_t<is_inline<T>, T, const T&>;

  struct box : in_thread_cache {
    template <typename U>
    explicit box(U&& v) : value(std::forward<U>(v)) {}
    T value;
  };
  static box* box_in(word w) noexcept { return reinterpret_cast<box*>(static_cast<std::uintptr_t>(w)); }

  static void drop(word w) noexcept { delete box_in(w); }
  static constexpr form how{count, is_inline<T> ? nullptr : &drop};

  using coded = std::array<word, count>;

  // An integer of T's size, where there is one: with it a value stays in registers.
  using same_size =
      std::conditional_t<sizeof(T) == 1, std::uint8_t,
                         std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                            std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                                               std::conditional_t<sizeof(T) == 8, word, void>>>>;
  static constexpr bool is_one_word = is_inline<T> && !std::is_void_v<same_size>;

  /// \throws std::bad_alloc and what moving throws, if boxed.
  template <typename U>
  [[nodiscard, gnu::always_inline]] static coded encode(U&& value) {
    coded w{};
    if constexpr (is_one_word) {
      w[0] = std::bit_cast<same_size>(static_cast<T>(std::forward<U>(value)));
    } else if constexpr (is_inline<T>) {
      const T object(std::forward<U>(value));
      std::memcpy(w.data(), &object, sizeof(T));
    } else {
      w[0] = static_cast<word>(reinterpret_cast<std::uintptr_t>(new box(std::forward<U>(value))));
    }
    return w;
  }
  /// \param w  `count` words.
  [[nodiscard, gnu::always_inline]] static read_type decode(const word* w) noexcept {
    if constexpr (is_one_word) {
      return std::bit_cast<T>(static_cast<same_size>(w[0]));
    } else if constexpr (is_inline<T>) {
      std::array<std::byte, sizeof(T)> bytes;
      std::memcpy(bytes.data(), w, sizeof(T));
      return std::bit_cast<T>(bytes);
    } else {
      return box_in(w[0])->value;
    }
  }
};

struct tvar_access;

}  // namespace detail

/// ```cpp
/// shunt::tvar<int> apples{10}, pears{0};
/// shunt::atomically([&](shunt::tx& t) {
///   t.write(apples, t.read(apples) - 1);
///   t.write(pears, t.read(pears) + 1);
/// });
/// ```
///
/// Trivially copyable values of up to 32 bytes are held inline, others in a box (base/thread_cache.hpp): each write
/// makes a new box, and the old one is deleted once no transaction can see it any more. Size: the value and one word;
/// with a box two words. A tvar that transactions may still reach must not be destroyed: use tx::destroy().
/// Neither copyable nor movable.
template <tvar_value T>
class tvar : private detail::variable {
 public:
  /// What it holds.
  using value_type = T;

  tvar()
    requires std::default_initializable<T>
      : tvar(T()) {}
  /// \throws std::bad_alloc and what moving throws, if boxed.
  explicit tvar(T initial) {
    const auto w = holding::encode(std::move(initial));
    // relaxed: the thread that makes the variable known to others orders these stores before
    for (std::size_t i = 0; i < holding::count; ++i) data_[i].store(w[i], std::memory_order_relaxed);
  }
  ~tvar() {
    if constexpr (!detail::is_inline<T>)
      holding::drop(data_[0].load(std::memory_order_relaxed));  // relaxed: no other thread uses the variable
  }
  tvar(const tvar&) = delete;
  tvar& operator=(const tvar&) = delete;
  /// Refused with what to do instead.
  template <typename U>
    requires(!std::same_as<std::remove_cvref_t<U>, tvar>)
  void operator=(U&&) {
    static_assert(std::same_as<U, tvar>,
                  "a tvar is not assigned: in a transaction write t.write(variable, value), elsewhere store(value)");
  }

  /// Any thread or fiber. \return the value as of some moment during the call. Inside a transaction it is a part of
  /// that transaction: tx::read(). For a value of several words it spins while a commit stores them. Cost: a few ns
  /// inline; a transaction's for a box.
  [[nodiscard]] T load() const
    requires std::copy_constructible<T>;

  /// Any thread or fiber: a transaction that writes `value`. Inside a transaction it is a part of that transaction.
  /// Cost: 5 to 30 ns. \throws as tx::write().
  void store(const T& value)
    requires std::copy_constructible<T>;

  /// Any thread or fiber: a transaction that writes f(value). `f` may be called several times, and changes nothing
  /// else. Inside a transaction it is a part of that transaction. \return what was written. \throws what `f` throws;
  /// then nothing has changed.
  template <std::invocable<const T&> F>
  T update(const F& f, std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>;

 private:
  friend struct detail::tvar_access;
  using holding = detail::holding<T>;
  using variable = detail::variable;

  mutable std::array<std::atomic<detail::word>, holding::count> data_;
};

namespace detail {

/// How the rest of the module reaches what a tvar is made of.
struct tvar_access {
  template <typename T>
  [[nodiscard]] static const variable& base(const tvar<T>& x) noexcept {
    return x;
  }
  template <typename T>
  [[nodiscard]] static std::atomic<word>* data(const tvar<T>& x) noexcept {
    return x.data_.data();
  }
  /// For destructors of objects that own variables: no other thread reaches them any more. What a transaction has
  /// written and not committed is not there: that transaction deletes it, and may be the one that deletes the owner.
  template <typename T>
    requires(holding<T>::count == 1 && is_inline<T>)
  [[nodiscard]] static T committed(const tvar<T>& x) noexcept {
    const word seen = x.data_[0].load(std::memory_order_relaxed);  // relaxed: as in ~tvar()
    return holding<T>::decode(&seen);
  }
};

}  // namespace detail

}  // namespace stm

using stm::tvar;

}  // namespace v1
}  // namespace shunt
