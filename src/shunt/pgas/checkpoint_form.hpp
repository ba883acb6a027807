/// What the parts of a checkpoint (checkpoint.hpp) look like in a file, and how a type of yours says so.
///
/// These may be parts, and within parts:
///   plain values              trivially copyable: numbers, enumerations, structs of them; no pointers, no views
///   sequences and sets        std::vector, std::deque, std::string, std::map, std::unordered_set, … of such
///   pairs, tuples, arrays     std::pair, std::tuple, std::array, std::optional of such
///   distributed objects       pgas::symmetric, pgas::array and the containers: each PE's part of them
///   types with save and load  yours:
///
/// ```cpp
/// class walkers {
///  public:
///   void save(pgas::checkpoint_writer& to) const {
///     to.put(places_);
///     to.put(steps_);
///   }
///   void load(pgas::checkpoint_reader& from) {  // in the same order
///     from.get(places_);
///     from.get(steps_);
///     index_ = index_of(places_);               // what is not kept is made anew
///   }
///
///  private:
///   std::vector<int> places_;
///   long steps_ = 0;
///   std::map<int, std::size_t> index_;
/// };
/// ```
/// A plain value is kept byte by byte, as it lies in memory: an address in it would mean nothing in another process,
/// and nothing can tell. Give a struct that holds one save() and load().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/pgas/pe.hpp>
#include <shunt/wire/handlers.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

class checkpoint_writer;
class checkpoint_reader;

namespace detail {

/// How values of a type lie in a checkpoint.
enum class saved_form : std::uint8_t { none, by_itself, plain, range, tuple, optional };

template <class T>
concept saves_itself = requires(const T& from, T& into, checkpoint_writer& to, checkpoint_reader& reader) {
  from.save(to), into.load(reader);
};
template <class T>
concept saved_range = std::ranges::sized_range<T> && requires(T& all, std::ranges::range_value_t<T> item) {
  all.clear();
  all.insert(all.end(), std::move(item));
};
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
/// Pairs alone: that of a map is trivially copyable as long as its key is const.
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool refers = std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
template <class T>
inline constexpr bool refers<std::reference_wrapper<T>> = true;

template <class T>
[[nodiscard]] consteval saved_form form_of() {
  constexpr bool refused = refers<T> || (std::ranges::range<T> && std::ranges::view<T>);
  if constexpr (saves_itself<T>) {
    return saved_form::by_itself;
  } else if constexpr (!refused && !is_pair<T> && plain_value<T>) {
    return saved_form::plain;
  } else if constexpr (!refused && is_optional<T>) {
    return saved_form::optional;
  } else if constexpr (!refused && saved_range<T>) {
    return saved_form::range;
  } else if constexpr (!refused && (is_pair<T> || requires { std::tuple_size<T>::value; })) {
    return saved_form::tuple;
  } else {
    return saved_form::none;
  }
}

/// A range's item as a variable: a map's keys are const where they lie.
template <class T>
struct loaded_item {
  using type = T;
};
template <class K, class V>
struct loaded_item<std::pair<const K, V>> {
  using type = std::pair<K, V>;
};

/// A type as a checkpoint names it: its name, and the sizes of plain values in it.
template <class T>
[[nodiscard]] std::string layout_text() {
  std::string text(wire::type_name<T>());
  if constexpr (form_of<T>() == saved_form::plain) {
    text += ", " + std::to_string(sizeof(T)) + " bytes";
  } else if constexpr (form_of<T>() == saved_form::range) {
    text += " of " + layout_text<typename loaded_item<std::ranges::range_value_t<T>>::type>();
  }
  return text;
}

}  // namespace detail

/// Takes what save() gives it, in its order. The bytes lie in memory until they are in the file: as many as were put,
/// and less than a MiB more, and less than twice as many where that is more than 4 KiB.
class checkpoint_writer {
 public:
  checkpoint_writer() = default;  ///< with nothing in it

  /// Any of the types above. \throws std::bad_alloc, and what a save() throws
  template <class T>
  void put(const T& value) {
    constexpr auto form = detail::form_of<T>();
    static_assert(form != detail::saved_form::none,
                  "a checkpoint keeps plain values (no pointers, no views), containers of them, and types with "
                  "save(checkpoint_writer&) const and load(checkpoint_reader&)");
    if constexpr (form == detail::saved_form::by_itself) {
      value.save(*this);
    } else if constexpr (form == detail::saved_form::plain) {
      put_bytes(std::as_bytes(std::span<const T, 1>(std::addressof(value), 1)));
    } else if constexpr (form == detail::saved_form::optional) {
      put(value.has_value());
      if (value) put(*value);
    } else if constexpr (form == detail::saved_form::range) {
      put_range(value);
    } else {
      std::apply([this](const auto&... each) { (this->put(each), ...); }, value);
    }
  }
  /// Items, and how many they are.
  template <class T>
  void put_items(std::span<const T> items) {
    put(std::uint64_t{items.size()});
    if constexpr (detail::form_of<T>() == detail::saved_form::plain) {
      put_bytes(std::as_bytes(items));
    } else {
      for (const T& item : items) put(item);
    }
  }
  /// Bytes as they are, without their number. \throws std::bad_alloc
  void put_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() > blocks_end_ - blocks_at_) return put_more(bytes);
    if (!bytes.empty()) std::memcpy(blocks_.back().bytes.get() + blocks_at_, bytes.data(), bytes.size());
    blocks_at_ += bytes.size();
  }

  /// Bytes that have been put.
  [[nodiscard]] std::uint64_t size() const noexcept { return full_ + blocks_at_; }
  /// Calls f(bytes) for each piece of what has been put, in order.
  template <class F>
  void each_piece(F&& f) const {
    for (const block& each : blocks_) {
      f(std::span<const std::byte>(each.bytes.get(), &each == &blocks_.back() ? blocks_at_ : each.used));
    }
  }

 private:
  struct block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t used;  // but for the last one
  };

  template <class Range>
  void put_range(const Range& all) {
    if constexpr (std::ranges::contiguous_range<const Range>) {
      put_items(std::span(std::ranges::data(all), std::ranges::size(all)));
    } else {
      put(std::uint64_t{std::ranges::size(all)});
      for (const std::ranges::range_value_t<Range>& item : all) put(item);
    }
  }
  void put_more(std::span<const std::byte> bytes);

  std::vector<block> blocks_;
  std::size_t blocks_at_ = 0;   // of the last one: bytes in use
  std::size_t blocks_end_ = 0;  // and how many there are
  std::size_t full_ = 0;        // bytes in the blocks before
};

namespace detail {

/// What put() makes of a value, in one piece. \throws std::bad_alloc
template <class T>
[[nodiscard]] std::vector<std::byte> saved_bytes(const T& value) {
  checkpoint_writer to;
  to.put(value);
  std::vector<std::byte> all;
  all.reserve(to.size());
  to.each_piece([&all](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  return all;
}

}  // namespace detail

/// Gives load() what save() put, in the same order.
class checkpoint_reader {
 public:
  /// For the library's own use. \param bytes  outlive the reader. \param what  of which file, PE and part they are
  checkpoint_reader(std::span<const std::byte> bytes, std::string what) : left_(bytes), what_(std::move(what)) {}

  /// A value as put() was given it. \throws shunt::error that names file, PE and part, where less is left
  template <class T>
  void get(T& value) {
    constexpr auto form = detail::form_of<T>();
    static_assert(form != detail::saved_form::none, "see checkpoint_writer::put()");
    if constexpr (form == detail::saved_form::by_itself) {
      value.load(*this);
    } else if constexpr (form == detail::saved_form::plain) {
      get_bytes(std::as_writable_bytes(std::span<T, 1>(std::addressof(value), 1)));
    } else if constexpr (form == detail::saved_form::optional) {
      value.reset();
      if (get<bool>()) get(value.emplace());
    } else if constexpr (form == detail::saved_form::range) {
      get_range(value);
    } else {
      std::apply([this](auto&... each) { (this->get(each), ...); }, value);
    }
  }
  /// The same, as a value. \tparam T  default constructible
  template <class T>
  [[nodiscard]] T get() {
    T value{};
    get(value);
    return value;
  }
  /// As many items as put_items() was given. \throws as get(); also where they were not as many
  template <class T>
  void get_items(std::span<T> items) {
    const auto there = get<std::uint64_t>();
    if (there != items.size()) {
      refuse("it has " + std::to_string(there) + " items, and the program " + std::to_string(items.size()));
    }
    if constexpr (detail::form_of<T>() == detail::saved_form::plain) {
      get_bytes(std::as_writable_bytes(items));
    } else {
      for (T& item : items) get(item);
    }
  }
  /// As many bytes as `into` has. \throws as get()
  void get_bytes(std::span<std::byte> into) {
    if (into.size() > left_.size()) [[unlikely]]
      refuse("load() reads beyond what save() has put");
    if (!into.empty()) std::memcpy(into.data(), left_.data(), into.size());
    left_ = left_.subspan(into.size());
  }
  /// Bytes that have not been read.
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }
  /// What was read cannot be: the job ends. \param why  behind the file, the PE and the part
  /// \throws shunt::error always
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  template <class Range>
  void get_range(Range& all) {
    using item = typename detail::loaded_item<std::ranges::range_value_t<Range>>::type;
    const auto count = get<std::uint64_t>();
    all.clear();
    if constexpr (std::ranges::contiguous_range<Range> && detail::form_of<item>() == detail::saved_form::plain) {
      if (count > left_.size() / sizeof(item)) refuse("load() reads beyond what save() has put");
      all.resize(static_cast<std::size_t>(count));
      get_bytes(std::as_writable_bytes(std::span(std::ranges::data(all), std::ranges::size(all))));
    } else {
      for (std::uint64_t i = 0; i != count; ++i) {
        item one{};
        get(one);
        all.insert(all.end(), std::move(one));
      }
    }
  }

  std::span<const std::byte> left_;
  std::string what_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
