#include <shunt/pgas/openshmem/calls.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/base/exit_status.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace openshmem {
namespace {

/// Bytes of a PE that one step of a reduction gathers: every PE has those of all PEs for a moment.
constexpr std::size_t step_of_reduction = 4096;
/// How long the message that ends the other PEs has until this one is gone.
constexpr auto until_others_have_ended = std::chrono::milliseconds(100);

/// Does what is asked for to an element. \return what it was
template <class T>
T apply_to(T& element, operation what, T operand) {
  using wide = std::uint64_t;
  const T before = element;
  switch (what) {
    case operation::put: element = operand; break;
    case operation::add: element = static_cast<T>(wide{before} + wide{operand}); break;
    case operation::bit_and: element = static_cast<T>(before & operand); break;
    case operation::bit_or: element = static_cast<T>(before | operand); break;
    case operation::bit_xor: element = static_cast<T>(before ^ operand); break;
  }
  return before;
}

/// f(address), with the address as one of unsigned integers of that size.
template <class F>
decltype(auto) as_integers(void* at, std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(static_cast<std::uint8_t*>(at));
    case 2: return f(static_cast<std::uint16_t*>(at));
    case 4: return f(static_cast<std::uint32_t*>(at));
    default: return f(static_cast<std::uint64_t*>(at));
  }
}

}  // namespace

void change(void* at, std::size_t bytes, operation what, std::uint64_t operand, int pe) {
  world& all = world::here();
  all.require_pe(pe);
  as_integers(at, bytes, [&]<class T>(T* element) {
    if (what == operation::put) {  // two kinds of messages: the shorter one for the commonest call
      all.send(element, pe, [value = static_cast<T>(operand)](T& x) { x = value; });
    } else {
      all.send(element, pe, [value = static_cast<T>(operand), what](T& x) { apply_to(x, what, value); });
    }
  });
}

std::uint64_t fetch_change(void* at, std::size_t bytes, operation what, std::uint64_t operand, int pe) {
  return as_integers(at, bytes, [&]<class T>(T* element) -> std::uint64_t {
    return world::here().fetch(element, pe,
                               [value = static_cast<T>(operand), what](T& x) { return apply_to(x, what, value); });
  });
}

std::uint64_t compare_swap(void* at, std::size_t bytes, std::uint64_t expected, std::uint64_t operand, int pe) {
  return as_integers(at, bytes, [&]<class T>(T* element) -> std::uint64_t {
    return world::here().fetch(element, pe, [old = static_cast<T>(expected), value = static_cast<T>(operand)](T& x) {
      return x == old ? std::exchange(x, value) : T{x};
    });
  });
}

std::uint64_t fetch(const void* at, std::size_t bytes, int pe) {
  return as_integers(const_cast<void*>(at), bytes, [&]<class T>(T* element) -> std::uint64_t {
    return world::here().fetch(element, pe, [](T& x) { return x; });
  });
}

void reduce(void* to, const void* from, std::size_t count, std::size_t bytes,
            void (*combine)(void*, const void*, std::size_t)) {
  auto& me = world::here().me();
  const auto items = std::max<std::size_t>(1, step_of_reduction / bytes);
  for (std::size_t done = 0; done < count; done += items) {
    const auto here = std::min(items, count - done);
    const auto all = me.gather(std::span(static_cast<const std::byte*>(from) + done * bytes, here * bytes));
    auto result = all.front();
    for (std::size_t pe = 1; pe != all.size(); ++pe) combine(result.data(), all[pe].data(), here);
    std::memcpy(static_cast<std::byte*>(to) + done * bytes, result.data(), result.size());
  }
}

void broadcast(void* to, const void* from, std::size_t bytes, int root, bool also_there) {
  auto& me = world::here().me();
  std::vector<std::byte> what;
  if (me.index() == root) {
    const auto* const begin = static_cast<const std::byte*>(from);
    what.assign(begin, begin + bytes);
  }
  what = me.broadcast(what, root);
  if ((me.index() != root || also_there) && !what.empty()) std::memmove(to, what.data(), what.size());
}

void collect(void* to, const void* from, std::size_t bytes) {
  const auto all = world::here().me().gather(std::span(static_cast<const std::byte*>(from), bytes));
  auto* at = static_cast<std::byte*>(to);
  for (const auto& one : all) {
    if (!one.empty()) std::memcpy(at, one.data(), one.size());
    at += one.size();
  }
}

void all_to_all(void* to, const void* from, std::size_t bytes) {
  auto& all = world::here();
  auto* const mine = static_cast<std::byte*>(to) + static_cast<std::size_t>(all.me().index()) * bytes;
  for (int pe = 0; pe != all.me().count(); ++pe) {
    all.put(mine, static_cast<const std::byte*>(from) + static_cast<std::size_t>(pe) * bytes, bytes, pe);
  }
  all.barrier();
}

void require_all_pes(int start, int log_stride, int count) {
  if (start == 0 && log_stride == 0 && count == world::here().me().count()) return;
  throw usage_error(error_number(972), "an active set of " + std::to_string(count) + " PEs from PE " +
                                           std::to_string(start) +
                                           ": collective calls are of all PEs here, 0 to n - 1 with stride 1");
}

bool try_lock(long* word) {
  const auto mine = bits_of(static_cast<long>(world::here().me().index()) + 1);
  return compare_swap(word, sizeof *word, 0, mine, 0) == 0;
}

void lock(long* word) {
  while (!try_lock(word)) {
  }
}

void unlock(long* word) {
  auto& all = world::here();
  all.quiet();
  static_cast<void>(fetch_change(word, sizeof *word, operation::put, 0, 0));
}

void end_job(int status) {
  std::fflush(nullptr);
  auto& all = world::here();
  if (status == 0 && all.me().count() > 1) {
    // A launcher ends the others only where one fails: these end by a message.
    for (int pe = 0; pe != all.me().count(); ++pe) {
      if (pe != all.me().index()) all.send_end(pe);
    }
    all.progress();
    std::this_thread::sleep_for(until_others_have_ended);
  }
  std::_Exit(status == 0 ? 0 : status_of_failure(status));
}

void finalize() { world::here().barrier(); }

}  // namespace openshmem
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
