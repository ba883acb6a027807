#include <shunt/pgas/detail/send_check.hpp>

#include <cstring>
#include <utility>

#include <shunt/base/sanitizers.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Longer messages carry arrays, and what a program has not written of an array may be an old address.
constexpr std::size_t most_bytes = 128;

#ifdef SHUNT_ASAN
extern "C" void* __asan_get_current_fake_stack();
extern "C" void* __asan_addr_is_in_fake_stack(void* fake_stack, void* where, void** begin, void** end);

/// AddressSanitizer may keep a variable elsewhere (detect_stack_use_after_return).
bool is_variable_elsewhere(std::uintptr_t where) noexcept {
  void* const fake = __asan_get_current_fake_stack();
  return fake != nullptr &&
         __asan_addr_is_in_fake_stack(fake, reinterpret_cast<void*>(where), nullptr, nullptr) != nullptr;
}
#else
constexpr bool is_variable_elsewhere(std::uintptr_t) noexcept { return false; }
#endif

}  // namespace

send_check::send_check(bool on, std::size_t buffers, const selector_table& selectors)
    : decoys_(on ? std::make_unique<send_buffer[]>(buffers) : nullptr), selectors_(selectors) {}

std::byte* send_check::place_for(int hop, const handed_message& message) {
  hop_ = hop;
  what_ = message;
  bytes_.resize(message.whole());
  return bytes_.data();
}

auto send_check::take() noexcept -> built_message { return {hop_, what_, std::exchange(bytes_, {})}; }

void send_check::give(built_message&& done) noexcept {
  if (bytes_.empty()) bytes_ = std::move(done.bytes);
}

void send_check::look_at(const built_message& m) const {
  // Over two hops a continuation travels with its request, and its addresses come home.
  if (!m.what.may_be_read) return;
  const auto flags = entry_of(m.what.key).flags();
  if ((flags & wire::replies) != 0 || ((flags & wire::requests) != 0 && m.what.kept_bytes == 0)) return;
  look_at(selectors_, m.what.from, m.what.to, m.what.key, std::span(m.bytes).first(m.what.bytes), m.what.where);
}

/// Looks at each aligned word. A word that lies in the live part of the running stack is an address, or a number that
/// happens to be one: of random 64-bit numbers one in 2^48 on a stack that is filled with 64 KiB.
void send_check::look_at(const selector_table& selectors, int from, int to, batch_key key,
                         std::span<const std::byte> captures, const std::source_location& where) {
  if (from == to || captures.size() > most_bytes) return;
  const auto stack = sched::this_fiber::live_stack();
  const auto low = address(stack.data());
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= captures.size(); at += sizeof(std::uintptr_t)) {
    std::uintptr_t word;
    std::memcpy(&word, captures.data() + at, sizeof word);
    if (word - low < stack.size() || is_variable_elsewhere(word))
      refuse_address(from, to, key, "a variable on the sender's stack", where);
    if (selectors.is_part_of(from, word)) refuse_address(from, to, key, "the sender's part of an object", where);
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
