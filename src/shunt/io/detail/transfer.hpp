/// Bytes into and out of a watch: what streams and pipes have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <shunt/io/bytes.hpp>
#include <shunt/io/detail/watch.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// What was read and not asked for yet: the rest behind a delimiter. At most as long as the largest
/// `most` that read_until() was given.
class rest {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return std::string_view(kept_).substr(begin_); }
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  /// Bytes that went to the caller.
  void taken(std::size_t count) noexcept {
    begin_ += count;
    if (begin_ < kept_.size()) return;
    kept_.clear();
    begin_ = 0;
  }
  /// The first `count` of them, to the caller. \throws std::bad_alloc; then they stay.
  [[nodiscard]] std::string take(std::size_t count) {
    std::string first(view().substr(0, count));
    taken(count);
    return first;
  }
  /// Space for `more` bytes behind the rest; then grown(). \throws std::bad_alloc
  [[nodiscard]] char* space(std::size_t more) {
    if (begin_ != 0) {
      kept_.erase(0, begin_);
      begin_ = 0;
    }
    const auto size = kept_.size();
    kept_.resize(size + more);
    return kept_.data() + size;
  }
  void grown(std::size_t unused) noexcept { kept_.resize(kept_.size() - unused); }
  /// Gives back the memory that its bytes do not need: a connection that waits has none to spare.
  void shrink() noexcept { kept_.shrink_to_fit(); }

 private:
  std::string kept_;
  std::size_t begin_ = 0;
};

/// How bytes leave: a socket must not raise SIGPIPE, and can be told so; for others the thread is.
enum class sends_as : bool { file, socket };

// One fiber at a time in the first three.
[[nodiscard]] outcome read_some(watch* on, rest& kept, room into, const limit& how_long);
/// moved < into.size(): bad says why.
[[nodiscard]] outcome read_exactly(watch* on, rest& kept, room into, const limit& how_long);
/// Bytes in `kept` up to and with the delimiter; 0 without `bad`: the end. With `bad`: bytes that wait
/// in `kept`. \throws usage_error for no delimiter, or 0 bytes; std::bad_alloc.
[[nodiscard]] outcome read_until(watch* on, rest& kept, std::string_view delimiter, std::size_t most,
                                 const limit& how_long);
[[nodiscard]] outcome write_all(watch* on, sends_as how, bytes what, const limit& how_long);

// A socket's, inlined: see watch::receive().
[[nodiscard, gnu::always_inline]] inline outcome receive_some(watch* on, rest& kept, room into, const limit& how_long) {
  if (!kept.empty() || into.size() == 0) [[unlikely]]
    return read_some(on, kept, into, how_long);
  sched::this_fiber::require_wait("read");
  if (on == nullptr) [[unlikely]]
    return {0, errc::closed};
  return on->receive(into.data(), into.size(), how_long);
}
[[nodiscard, gnu::always_inline]] inline outcome send_all(watch* on, bytes what, const limit& how_long) {
  std::size_t gone = 0;
  if (what.size() == 0) [[unlikely]]
    return {};
  sched::this_fiber::require_wait("write");
  if (on == nullptr) [[unlikely]]
    return {0, errc::closed};
  do {
    const auto one = on->send(what.data() + gone, what.size() - gone, how_long);
    if (one.bad) [[unlikely]]
      return {gone, one.bad};
    gone += one.moved;
  } while (gone < what.size());
  return {gone, {}};
}

[[noreturn, gnu::cold]] void raise(const std::string& what, const outcome& of);

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
