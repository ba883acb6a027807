/// How an attempt at a transaction ends, and why.
#pragma once

#include <cstdint>
#include <shunt/stm/detail/engine/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Thrown inside bodies only, and caught by stm_access::run_attempt(). Not std::exceptions, so that bodies that catch
/// std::exception do not catch them.
struct conflict {};
struct retry_requested {};

/// What an attempt comes to. committed_with_extras: committed, and there is more to do than to leave.
enum class outcome : std::uint8_t { committed, committed_with_extras, conflict, retry };

/// Why an attempt is lost to a conflict.
enum class cause : std::uint8_t {
  locked,            ///< a variable was locked for long
  stale,             ///< a variable is newer than the snapshot, which cannot be extended
  validation,        ///< a variable that was read had changed at the commit
  wants_irrevocable  ///< the body asked to run irrevocably
};
struct conflict_site {
  const variable* at = nullptr;
  cause why = cause::stale;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
