/// Memory orders that one run of a program may weaken: included before every file of a build with SHUNT_WEAKEN.
///
/// In such a build `std::memory_order_release` is a call that returns the order as written, except at the one site that
/// the environment names. So one build serves for each order of the tree, and with nothing named it is as written.
///
///   WEAKEN_SITE=src/shunt/base/spin_lock.hpp:26:52:relaxed   path, line and column of the order; what it becomes
///   WEAKEN_SEEN=FILE                                         weakening::slots bytes: each thread sets a bit of a site
///
/// Invariants
///   weaken.W1  What decides is read before main and never written again: it needs no synchronisation.
///   weaken.W2  What decides is compiled without ThreadSanitizer, which therefore sees of the program the same accesses
///              as without it.
///   weaken.W3  The standard library's headers keep their orders: all that name one are included before the macros.
///
/// The sites, what each half of an order becomes, and which test sees it: tools/weaken.py.
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <string_view>
#include <thread>
#include <type_traits>

namespace weakening {

inline constexpr std::size_t slots = 1U << 20;  // of a file of sites that ran; the site's number modulo this

/// The number of a site: FNV-1a (64 bits) of the path from src/shunt/ on, of the line and of the column.
constexpr std::uint64_t site(std::string_view path, unsigned line, unsigned column) {
  if (const auto at = path.rfind("src/shunt/"); at != std::string_view::npos) path.remove_prefix(at);
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](unsigned byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  for (const char c : path) add(static_cast<unsigned char>(c));
  for (const unsigned number : {line, column}) {
    add(number & 0xffU);
    add(number >> 8U);
  }
  return hash;
}

/// What the site has in this run. Any thread, and signal handlers.
std::memory_order chosen(std::uint64_t site, std::memory_order written) noexcept;

[[gnu::always_inline]] constexpr std::memory_order order(std::uint64_t site, std::memory_order written) noexcept {
  return std::is_constant_evaluated() ? written : chosen(site, written);
}

}  // namespace weakening

// `std::` stands before the name: std::memory_order(x) is a conversion of an order to itself.
#define WEAKENING_ORDER(written)                                                                          \
  memory_order(::weakening::order(                                                                        \
      std::integral_constant<std::uint64_t,                                                               \
                             ::weakening::site(__FILE__, __LINE__, unsigned{__builtin_COLUMN()})>::value, \
      std::memory_order::written))
#define memory_order_acquire WEAKENING_ORDER(acquire)
#define memory_order_release WEAKENING_ORDER(release)
#define memory_order_acq_rel WEAKENING_ORDER(acq_rel)
#define memory_order_seq_cst WEAKENING_ORDER(seq_cst)
