/// Faults: the system has no memory for a stack, at each point of a program in turn.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <string>

#include <catch2/catch.hpp>
#include <shunt/context/stack_pool.hpp>

namespace shunt::testing {

/// While one lives, of the stacks that the process takes the n-th is refused, counted from 1; and all after it, if
/// `on`.
class refused_stacks {
 public:
  refused_stacks(long n, bool on) {
    from() = n;
    also_later() = on;
    taken() = 0;
    context::stack_pool::refuse_for_tests(&now);
  }
  ~refused_stacks() { context::stack_pool::refuse_for_tests(nullptr); }
  refused_stacks(const refused_stacks&) = delete;
  refused_stacks& operator=(const refused_stacks&) = delete;

  /// So many were asked for.
  [[nodiscard]] static long asked() noexcept { return taken(); }
  /// Lets all be had from now on.
  static void end() noexcept { context::stack_pool::refuse_for_tests(nullptr); }

 private:
  static std::atomic<long>& from() noexcept {
    static std::atomic<long> n{0};
    return n;
  }
  static std::atomic<bool>& also_later() noexcept {
    static std::atomic<bool> is{false};
    return is;
  }
  static std::atomic<long>& taken() noexcept {
    static std::atomic<long> n{0};
    return n;
  }
  static bool now() noexcept {
    const long this_one = ++taken();
    return also_later() ? this_one >= from() : this_one == from();
  }
};

/// Runs `program` with each of its stacks refused in turn, alone and with all that follow. It must end: as if nothing
/// had happened, or by an exception that names the stack pool.
/// \return how often it ended by one.
inline int with_each_stack_refused(const std::function<void()>& program) {
  int refusals = 0;
  for (const bool all_later : {false, true}) {
    for (long n = 1;; ++n) {
      REQUIRE(n < 1000);
      const refused_stacks refused(n, all_later);
      try {
        program();
      } catch (const std::exception& e) {
        CAPTURE(n, all_later, e.what());
        CHECK(std::string(e.what()).find("stack pool: no stack of ") != std::string::npos);
        ++refusals;
      }
      if (refused_stacks::asked() < n) break;  // there are no more
    }
  }
  return refusals;
}

}  // namespace shunt::testing
