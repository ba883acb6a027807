/// Checks for code that runs outside of the test's own thread: fibers of any worker, PEs, other threads, programs
/// without a test framework. Catch's assertions are for the thread that runs the test.
///
///   expect         throws if something does not hold; so the run, the job or the exploration ends with that exception
///   expect_thrown  wants an exception, and looks at it
///   expect_place   wants an exception that names the line of the call
///   thrown_by      the text of the exception that a call throws
///   expectations   counts what does not hold, where an exception would be caught, or would end the process
///   status_of      what main() returns
///
/// Each of them may be called by any thread and any fiber, and names the line that calls it.
#pragma once

#include <atomic>
#include <cstdio>
#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace shunt::testing {

/// Something does not hold. No shunt::error: code that expects one must not take this for it.
class unmet : public std::logic_error {
 public:
  unmet(std::string_view what, const std::source_location& where) : std::logic_error(text(what, where)) {}

  [[nodiscard]] static std::string text(std::string_view what, const std::source_location& where) {
    std::string all = std::string(where.file_name()) + ':' + std::to_string(where.line()) + ": does not hold";
    if (!what.empty()) all.append(": ").append(what);
    return all;
  }
};

/// \param what  what should hold, or what was found instead; for the message. \throws unmet
inline void expect(bool holds, std::string_view what = {},
                   const std::source_location& where = std::source_location::current()) {
  if (!holds) throw unmet(what, where);
}

/// Calls `call`, which must throw an `Error`, and calls `look` with that. Other exceptions pass through.
/// \throws unmet if nothing is thrown.
template <class Error, class Call, class Look>
void expect_thrown(const Call& call, const Look& look,
                   const std::source_location& where = std::source_location::current()) {
  try {
    call();
  } catch (const Error& thrown) {
    look(thrown);
    return;
  }
  throw unmet("nothing was thrown", where);
}
template <class Error, class Call>
void expect_thrown(const Call& call, const std::source_location& where = std::source_location::current()) {
  expect_thrown<Error>(call, [](const Error&) {}, where);
}

/// Calls `call`, which must throw an `Error` that names a line of the statement which calls this function: by where(),
/// and in its text. \throws unmet if it does not.
template <class Error, class Call>
void expect_place(const Call& call, const std::source_location& where = std::source_location::current()) {
  constexpr unsigned lines = 6;  // of that statement, at most
  expect_thrown<Error>(
      call,
      [&](const Error& thrown) {
        const auto& found = thrown.where();
        expect(std::string_view(found.file_name()) == where.file_name() && found.line() >= where.line() &&
                   found.line() < where.line() + lines,
               std::string(found.file_name()) + ':' + std::to_string(found.line()), where);
        const auto place = "(" + std::string(found.file_name()) + ":" + std::to_string(found.line()) + ")";
        expect(std::string_view(thrown.what()).find(place) != std::string_view::npos, thrown.what(), where);
      },
      where);
}

/// \return what() of the `Error` that `call` throws; empty: it throws nothing. Other exceptions pass through.
template <class Error = std::exception, class Call>
[[nodiscard]] std::string thrown_by(const Call& call) {
  try {
    call();
  } catch (const Error& thrown) {
    return thrown.what();
  }
  return {};
}

class expectations {
 public:
  /// Writes to stderr what does not hold, the first few times.
  void expect(bool holds, std::string_view what = {},
              const std::source_location& where = std::source_location::current()) noexcept {
    // relaxed: unmet() is read after the threads that count have been joined.
    if (holds || unmet_.fetch_add(1, std::memory_order_relaxed) >= most_told) return;
    std::fprintf(stderr, "%s\n", unmet::text(what, where).c_str());
  }
  /// How often something did not hold.
  [[nodiscard]] long unmet_count() const noexcept {
    return unmet_.load(std::memory_order_relaxed);  // relaxed: see expect()
  }

 private:
  static constexpr long most_told = 10;
  std::atomic<long> unmet_{0};
};

/// For main(). \return what `program` returns; 1 if it throws, with the reason on stderr.
template <class Program>
[[nodiscard]] int status_of(const Program& program) noexcept {
  try {
    return program();
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%s\n", thrown.what());
    return 1;
  }
}

}  // namespace shunt::testing
