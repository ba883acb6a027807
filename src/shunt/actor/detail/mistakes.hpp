/// What is wrong with a call of a method, as a type whose name says it: compilers print it where they refuse the call.
///
/// ```cpp
/// argument<1>::given<int>::but_the_method_takes<std::string>
/// ```
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <shunt/actor/detail/method_call.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// The first argument is number 1.
template <std::size_t Number>
struct argument {
  template <typename Given>
  struct given {
    template <typename Wanted>
    struct but_the_method_takes {};
  };
};
/// The first parameter is number 1.
template <std::size_t Number>
struct parameter {
  template <typename P>
  struct is_a_reference_to_what_belongs_to_the_sender {};
};
template <std::size_t Given>
struct arguments_given {
  template <std::size_t Wanted>
  struct but_the_method_takes {};
};
template <typename T>
struct no_method_of {};

template <typename... P>
struct parameter_types {
  static constexpr std::size_t count = sizeof...(P);
  template <std::size_t I>
  using type = std::tuple_element_t<I, std::tuple<P...>>;

  /// \return the first parameter that is no value, or `count`.
  static consteval std::size_t first_that_is_no_value() {
    const bool good[] = {(!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>)..., false};
    std::size_t i = 0;
    while (good[i]) ++i;
    return i;
  }
  /// \return the first argument that does not convert. As many as parameters.
  template <typename... A>
  static consteval std::size_t first_that_does_not_convert() {
    const bool good[] = {std::is_convertible_v<A&&, std::remove_cvref_t<P>>..., false};
    std::size_t i = 0;
    while (good[i]) ++i;
    return i;
  }
};

/// \return a value of the type that mistake_in_call names.
template <auto M, typename T, typename... A>
consteval auto find_mistake() {
  if constexpr (!requires { typename method_traits<decltype(M)>::owner; }) {
    return std::type_identity<no_method_of<T>>{};
  } else if constexpr (!std::derived_from<T, typename method_traits<decltype(M)>::owner>) {
    return std::type_identity<no_method_of<T>>{};
  } else {
    using wanted = typename method_traits<decltype(M)>::template parameters<parameter_types>;
    constexpr std::size_t reference = wanted::first_that_is_no_value();
    if constexpr (reference < wanted::count) {
      return std::type_identity<
          typename parameter<reference + 1>::template is_a_reference_to_what_belongs_to_the_sender<
              typename wanted::template type<reference>>>{};
    } else if constexpr (sizeof...(A) != wanted::count) {
      return std::type_identity<typename arguments_given<sizeof...(A)>::template but_the_method_takes<wanted::count>>{};
    } else {
      constexpr std::size_t wrong = wanted::template first_that_does_not_convert<A...>();
      if constexpr (wrong == wanted::count) {
        return std::type_identity<void>{};  // none
      } else {
        using given = std::remove_cvref_t<std::tuple_element_t<wrong, std::tuple<A...>>>;
        return std::type_identity<typename argument<wrong + 1>::template given<given>::template but_the_method_takes<
            std::remove_cvref_t<typename wanted::template type<wrong>>>>{};
      }
    }
  }
}

/// void, or what is wrong with a call of M on a T with such arguments.
template <auto M, typename T, typename... A>
using mistake_in_call = typename decltype(find_mistake<M, T, A...>())::type;

template <typename Mistake>
inline constexpr bool none = std::is_void_v<Mistake>;

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
