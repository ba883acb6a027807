/// Two calls at once, a loop's bodies at once, a sum in parallel. They cost next to nothing where no other worker is
/// idle.
///
/// ```cpp
/// long fibonacci(int n) {
///   if (n < 2) return n;
///   const auto [a, b] = shunt::fork_join([n] { return fibonacci(n - 1); },
///                                        [n] { return fibonacci(n - 2); });
///   return a + b;
/// }
/// ```
///
/// Unlike async() they allocate nothing and make no fiber: the second call waits on the caller's stack for an idle
/// worker, and the caller runs it itself if none came. All three are for fibers, nest at will, and may be used inside
/// finish() and beside futures: a branch may wait, park and yield. See sched/JOBS.md.
///
/// Source: Blumofe, Leiserson: Scheduling multithreaded computations by work stealing. J. ACM
/// 46(5), 1999, doi:10.1145/324133.324234; splitting on demand: Tzannes, Caragea, Barua, Vishkin:
/// Lazy binary-splitting. PPoPP 2010, doi:10.1145/1693453.1693479.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/jobs/jobs.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// The result of a call, as a value; std::monostate for void.
template <typename F>
using branch_result = std::conditional_t<std::is_void_v<std::invoke_result_t<F&>>, std::monostate,
                                         std::decay_t<std::invoke_result_t<F&>>>;

template <typename F>
branch_result<F> call_branch(F& f) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    std::invoke(f);
    return {};
  } else {
    return std::invoke(f);
  }
}

/// How a fork keeps its second call, a G&&: a temporary that fits a register is copied, so that compilers need not keep
/// it in memory; anything else is kept by reference.
template <typename G>
using held = std::conditional_t<!std::is_lvalue_reference_v<G> && sizeof(G) <= sizeof(void*) &&
                                    std::is_trivially_copyable_v<std::remove_reference_t<G>>,
                                G, G&>;

/// The second branch, on the forker's stack. Its outcome exists only if a thief ran it: otherwise the forker calls
/// `call` and uses the result directly.
template <typename G>
class branch final : public sched::job {
 public:
  explicit branch(G& g) noexcept : job(&run), call(g) {}
  branch(const branch&) = delete;
  branch& operator=(const branch&) = delete;
  ~branch() {}  // collect() or drop() destroys the outcome, if there is one

  /// The forker, once, after wait(): the result of the thief's call.
  branch_result<G> collect() {
    struct at_end {
      branch& b;
      ~at_end() { std::destroy_at(&b.outcome_); }
    } const destroys{*this};
    if (outcome_.failure) std::rethrow_exception(std::move(outcome_.failure));
    return std::move(*outcome_.value);
  }
  /// Instead of collect(), for a forker whose first branch has thrown.
  void drop() noexcept { std::destroy_at(&outcome_); }

  held<G> call;

  /// `call`, for a forker that still has the G that the branch was made of: through `call`, compilers would load the
  /// reference again.
  [[nodiscard]] auto& call_made_of([[maybe_unused]] G& g) noexcept {
    if constexpr (std::is_reference_v<held<G>>) {
      return g;
    } else {
      return call;
    }
  }

 private:
  struct outcome {
    std::optional<branch_result<G>> value;
    std::exception_ptr failure;
  };

  static void run(job& self) noexcept {
    auto& me = static_cast<branch&>(self);
    std::construct_at(&me.outcome_);
    try {
      me.outcome_.value.emplace(call_branch(me.call));
    } catch (...) {
      me.outcome_.failure = std::current_exception();
    }
  }

  union {
    outcome outcome_;  // made by run(); edge `done` publishes it
  };
};

/// The forker, if the first branch has thrown: waits for the second or runs it, and drops its result.
/// \param mine  no thief has taken it.
template <typename G>
[[gnu::cold, gnu::noinline]] void end_after_throw(branch<G>& right, bool mine) noexcept {
  if (!mine) {
    right.wait();
    right.drop();
    return;
  }
  try {
    static_cast<void>(call_branch(right.call));
  } catch (...) {  // of two exceptions the first in program order counts, which is the first branch's
  }
}

template <typename G>
[[gnu::cold, gnu::noinline]] branch_result<G> wait_and_collect(branch<G>& right) {
  right.wait();
  return right.collect();
}

/// Calls both. \return a pair of values. Pushes the second call as a job, makes the first, then takes the job back and
/// makes the second itself; if a thief has taken it, waits for that.
template <typename F, typename G>
std::pair<branch_result<F>, branch_result<G>> fork_both(F& f, G&& g, const char* call) {
  branch<G> right(g);
  auto* const jobs = sched::job_deque::here();
  const auto at = jobs != nullptr ? jobs->push(right) : sched::job_deque::push_elsewhere(right, call);
  const auto take = [jobs, at] { return jobs != nullptr ? jobs->take(at) : sched::job_deque::take_elsewhere(at); };
  const auto first = [&]() -> branch_result<F> {
    try {
      return call_branch(f);
    } catch (...) {
      end_after_throw(right, take());
      throw;
    }
  };
  // In braces: evaluated from left to right.
  return std::pair<branch_result<F>, branch_result<G>>{first(), [&]() -> branch_result<G> {
                                                         if (take()) [[likely]]
                                                           return call_branch(right.call_made_of(g));
                                                         return wait_and_collect(right);
                                                       }()};
}

/// \throws usage_error outside a fiber.
void must_be_in_fiber(call_site call);
/// \throws usage_error unless `positive`.
void must_have_grain(call_site call, bool positive);
/// Workers of the running fiber's runtime.
[[nodiscard]] std::size_t workers_here();

template <std::integral Index>
using count_of = std::make_unsigned_t<Index>;

template <std::integral Index>
constexpr count_of<Index> distance(Index first, Index last) noexcept {
  return static_cast<count_of<Index>>(static_cast<count_of<Index>>(last) - static_cast<count_of<Index>>(first));
}

template <std::integral Index>
constexpr Index advanced(Index first, count_of<Index> by) noexcept {
  return static_cast<Index>(static_cast<count_of<Index>>(first) + by);
}

/// A range of so many bodies or more runs for `theft_time` before it offers a half: what ends sooner is not worth a
/// theft, which takes as long for thief and forker together (sched/JOBS.md). A range of fewer bodies offers at once,
/// since each of them may be long.
inline constexpr std::size_t many_bodies = 256;
inline constexpr std::chrono::nanoseconds theft_time{20'000};

/// Runs bodies of [first, last) in order for `theft_time`, or all of them. \return the first that it has not run.
/// It reads the clock after the first body, and then after twice as many each time, but at most a 32nd of the range:
/// light bodies say nothing of those that follow.
template <std::integral Index, typename Body>
[[gnu::noinline]] Index run_for_theft_time(Index first, Index last, Body& body) {
  const auto end = std::chrono::steady_clock::now() + theft_time;
  const auto most = static_cast<count_of<Index>>(distance(first, last) / 32 + 1);
  for (count_of<Index> at_once = 1;; at_once = std::min(static_cast<count_of<Index>>(at_once * 2), most)) {
    if (distance(first, last) <= at_once) break;
    for (const auto stop = advanced(first, at_once); first != stop; ++first) body(first);
    if (std::chrono::steady_clock::now() >= end) return first;
  }
  for (; first != last; ++first) body(first);
  return first;
}

/// Runs the bodies of [first, last) in order, but halves the rest of the range whenever thieves would find nothing to
/// steal here. So a worker that is not stolen from halves log2(n) times only, whatever the grain.
template <std::integral Index, typename Body>
void for_range(Index first, Index last, count_of<Index> grain, Body& body) {
  auto* const jobs = sched::job_deque::here();
  bool waited = false;
  while (distance(first, last) > grain) {
    if (jobs != nullptr ? jobs->runs_dry() : sched::job_deque::runs_dry_elsewhere()) {
      if (!waited && jobs != nullptr && static_cast<std::size_t>(distance(first, last)) >= many_bodies) {
        first = run_for_theft_time(first, last, body);
        waited = true;
        continue;
      }
      const auto middle = advanced(first, static_cast<count_of<Index>>(distance(first, last) / 2));
      auto left = [&] { for_range(first, middle, grain, body); };
      auto right = [&] { for_range(middle, last, grain, body); };
      fork_both(left, right, "parallel_for");
      return;
    }
    if (grain == 1 && jobs != nullptr) {  // a case of its own: for short bodies runs_dry() is most of the cost
      const auto level = jobs->level();
      const auto before_last = advanced(last, static_cast<count_of<Index>>(-1));
#pragma GCC unroll 4  // two branches a body that are not taken, instead of one that is
      while (first != before_last) {
        body(first);
        ++first;
        if (jobs->runs_dry(level)) [[unlikely]]
          break;
      }
      continue;
    }
    for (const auto end = advanced(first, grain); first != end; ++first) body(first);
  }
  for (; first != last; ++first) body(first);
}

template <std::integral Index, typename T, typename Map, typename Combine>
T reduce_range(Index first, Index last, count_of<Index> grain, const T& identity, Map& map, Combine& combine) {
  const auto count = distance(first, last);
  if (count <= grain) {
    T sum = identity;
    for (; first != last; ++first) sum = combine(std::move(sum), map(first));
    return sum;
  }
  const auto grains = static_cast<count_of<Index>>((count - 1) / grain + 1);
  const auto middle = advanced(first, static_cast<count_of<Index>>(grains / 2 * grain));
  auto left = [&]() -> T { return reduce_range(first, middle, grain, identity, map, combine); };
  auto right = [&]() -> T { return reduce_range(middle, last, grain, identity, map, combine); };
  auto both = fork_both(left, right, "parallel_reduce");
  return combine(std::move(both.first), std::move(both.second));
}

}  // namespace detail

/// A fiber only. Calls `f` on this fiber, and `g` after it, or meanwhile on another worker. Returns when both have
/// ended; what they wrote is visible then. `g` runs also if `f` throws. A branch may wait, also for the other one. If
/// another worker still runs `g`, this fiber parks. Where waiting is forbidden (sched::no_wait), both run here.
/// \return both results, as values, in a std::pair; std::monostate for a branch without one; void if neither has one.
/// \throws what `f` threw, else what `g` threw, after both have ended; usage_error outside a fiber, before either is
///         called.
/// Cost: about 2 ns if no worker steals `g`, without any allocation; stolen, some microseconds for the thief. A worker
/// that sleeps is woken: a system call. A stolen `g` has the stack of a root (options::root_stack_bytes); stacks do not
/// grow by stealing.
template <typename F, typename G>
  requires std::invocable<F&> && std::invocable<G&>
auto fork_join(F&& f, G&& g) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&>> && std::is_void_v<std::invoke_result_t<G&>>) {
    static_cast<void>(detail::fork_both(f, std::forward<G>(g), "fork_join"));
  } else {
    return detail::fork_both(f, std::forward<G>(g), "fork_join");
  }
}

/// A fiber only. Calls body(i) for each i in [first, last), in any order, on any workers; returns when all calls have
/// ended. What they wrote is visible then.
/// A range of 256 bodies or more runs here for as long as a theft takes, and at least its first body, before another
/// worker may take a half.
/// \param grain  bodies that run between two looks for idle workers: at least 1.
/// \param body   several workers call it at once: it must synchronize what it shares.
/// \throws usage_error outside a fiber, and for a grain of 0 or less, before any body; else the exception of the lowest
///         index among the bodies that threw. Bodies after it may be left out; others run to their end.
/// Cost: some 0.5 ns a grain, and a few microseconds for each time that another worker takes a half.
template <std::integral Index, typename Body>
  requires std::invocable<Body&, Index>
void parallel_for(Index first, Index last, std::type_identity_t<Index> grain, Body&& body,
                  std::source_location where = std::source_location::current()) {
  detail::must_be_in_fiber({"parallel_for", where});
  detail::must_have_grain({"parallel_for", where}, grain > 0);
  if (first >= last) return;
  detail::for_range(first, last, static_cast<detail::count_of<Index>>(grain), body);
}

/// As above, with a grain for bodies of a few nanoseconds as well as for long ones: a 64th of a worker's share, at most
/// 1024.
template <std::integral Index, typename Body>
  requires std::invocable<Body&, Index>
void parallel_for(Index first, Index last, Body&& body, std::source_location where = std::source_location::current()) {
  detail::must_be_in_fiber({"parallel_for", where});
  if (first >= last) return;
  using count = detail::count_of<Index>;
  const auto share = static_cast<std::size_t>(detail::distance(first, last)) / (64 * detail::workers_here());
  const auto grain = std::clamp<std::size_t>(share, 1, 1024);
  detail::for_range(first, last, static_cast<count>(std::min<std::size_t>(grain, static_cast<count>(-1))), body);
}

/// A fiber only. combine(combine(map(first), map(first + 1)), ...) in parallel: combines each grain from left to right,
/// beginning with `identity`, and the grains in a tree that depends on the range and the grain alone. So the result is
/// the same on any number of workers, also where combine() is not quite associative, as with floating-point numbers.
/// \param identity  combine(identity, x) is x.
/// \throws as parallel_for().
/// Cost: some 8 ns a grain.
template <std::integral Index, typename T, typename Map, typename Combine>
  requires std::invocable<Map&, Index>
[[nodiscard]] T parallel_reduce(Index first, Index last, std::type_identity_t<Index> grain, T identity, Map&& map,
                                Combine&& combine, std::source_location where = std::source_location::current()) {
  detail::must_be_in_fiber({"parallel_reduce", where});
  detail::must_have_grain({"parallel_reduce", where}, grain > 0);
  if (first >= last) return identity;
  return detail::reduce_range(first, last, static_cast<detail::count_of<Index>>(grain), identity, map, combine);
}

/// As above, in at most 4096 grains, of one element at least.
template <std::integral Index, typename T, typename Map, typename Combine>
  requires std::invocable<Map&, Index>
[[nodiscard]] T parallel_reduce(Index first, Index last, T identity, Map&& map, Combine&& combine,
                                std::source_location where = std::source_location::current()) {
  detail::must_be_in_fiber({"parallel_reduce", where});
  if (first >= last) return identity;
  using count = detail::count_of<Index>;
  const auto grain = static_cast<count>((detail::distance(first, last) - 1) / 4096 + 1);
  return detail::reduce_range(first, last, grain, identity, map, combine);
}

}  // namespace task

using task::fork_join;
using task::parallel_for;
using task::parallel_reduce;

}  // namespace v1
}  // namespace shunt
