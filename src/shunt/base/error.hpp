/// The one family of exceptions, and contracts.
///
/// Three kinds of bad news, three manners:
///
///   expected on a hot path (full, empty, closed)   a `[[nodiscard]]` value
///   the layer below has failed                     an exception, `shunt::error`
///   the caller has broken a contract               `SHUNT_ASSERT`: checked in debug builds, never an optimiser's
///                                                  assumption
#pragma once

#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>

namespace shunt {
inline namespace v1 {

/// The number of an error. Each kind of error that Shunt throws has one: what() ends with it (or its first line does),
/// as `[SHUNT-0101]`, and docs/errors.md has a section of that name, which says what the error means and what to do.
class error_number {
 public:
  constexpr error_number() noexcept = default;  ///< none: of errors that programs make
  /// \param value  1..9999
  explicit constexpr error_number(int value) noexcept : value_(value) {}
  /// 0 for none.
  [[nodiscard]] constexpr int value() const noexcept { return value_; }
  /// "SHUNT-0101"; "" for none.
  [[nodiscard]] std::string text() const;
  /// A message with the number at the end of its first line, as what() has it: the lines below are details.
  [[nodiscard]] std::string added_to(const std::string& message) const;
  /// Whether both are the same number, or none.
  friend constexpr bool operator==(error_number, error_number) noexcept = default;

 private:
  int value_ = 0;
};

/// Something below the caller, or something the caller asked for, failed.
///
/// what() is one line that a user can act on. It names the place (PE, rank, option, file and line), what failed, and
/// what to do. The other members are the same facts for programs.
class error : public std::runtime_error {
 public:
  /// Numbers that a program may want; -1 and 0 stand for "none".
  struct facts {
    int pe = -1;      ///< processing element concerned, 0..count-1
    int rank = -1;    ///< process concerned, 0..ranks-1
    long native = 0;  ///< code of the layer below: errno, an MPI class
  };

  /// \param what  a sentence for the user. \param where  the line that the user must look at, see where().
  explicit error(const std::string& what, std::source_location where = std::source_location::current())
      : std::runtime_error(what), where_(where) {}
  /// The same, with what is known of the failure as numbers.
  error(const std::string& what, facts known, std::source_location where = std::source_location::current())
      : std::runtime_error(what), facts_(known), where_(where) {}
  /// An error of Shunt's own: what() has the number too.
  error(error_number number, const std::string& what, std::source_location where = std::source_location::current());
  /// The same, with what is known of the failure as numbers.
  error(error_number number, const std::string& what, facts known,
        std::source_location where = std::source_location::current());

  /// Which error it is; none for errors that programs make.
  [[nodiscard]] error_number number() const noexcept { return number_; }
  /// What is known of the failure, as numbers.
  [[nodiscard]] const facts& known() const noexcept { return facts_; }
  /// The line of the program's call, where the call that failed was given it: call_site. Otherwise the line that made
  /// the error.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  error_number number_;
  facts facts_{};
  std::source_location where_;
};

/// The user asked for something that does not exist or cannot be: an option, a variable, a file.
/// Programs report what() as one line and end with status 2.
class usage_error : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

/// Any thread. \return what() of the exception, or that it has none.
/// \param failure  not null (contract). \throws std::bad_alloc
[[nodiscard]] std::string what_of(const std::exception_ptr& failure);

namespace detail {
/// Any thread. Prints `file:line: contract broken: text` and aborts. Debug builds only.
[[noreturn]] void contract_broken(const char* text, const char* file, int line) noexcept;
}  // namespace detail

}  // namespace v1
}  // namespace shunt

/// Checks a contract of the caller in debug builds; evaluates nothing in release builds.
#if !defined(NDEBUG)
#define SHUNT_ASSERT(condition)                        \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::shunt::detail::contract_broken(#condition, __FILE__, __LINE__))
#else
#define SHUNT_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
