#include <shunt/context/stack_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/base/memory_limit.hpp>
#include <shunt/base/sanitizers.hpp>

#if defined(SHUNT_ASAN)
#include <sanitizer/asan_interface.h>
#endif
#if defined(SHUNT_VALGRIND)
#include <valgrind/memcheck.h>
#endif

namespace shunt {
inline namespace v1 {
namespace context {
namespace {

constexpr int guard_install = 102;  // MADV_GUARD_INSTALL, linux/mman.h since 6.13
constexpr std::size_t smallest = 16 * 1024;
constexpr std::size_t slab_target = 16 * 1024 * 1024;
constexpr std::size_t stacks_a_slab_at_most = 64;
constexpr std::size_t warm_bytes = 4 * 1024 * 1024;
constexpr std::size_t warm_at_most = 64;
constexpr int trims_until_idle = 64;
constexpr std::size_t advised_at_once = 64;
// The gap below a stack: a frame that is not written in order may reach so far beyond its stack before it meets a
// neighbour. DESIGN.md, "Stacks", says what a larger gap costs. Below a small stack the gap is an eighth of it, since
// among many small stacks a larger share makes switches slower. An odd number of pages: neighbours' entries in the page
// tables then lie in different sets of the caches.
constexpr std::size_t widest = 17;  // pages
constexpr std::size_t usual = 256 * 1024;

std::size_t page() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// \param call   the function that failed
/// \param stack  the size of the stack that cannot be had
/// \param bytes  of address space, that `call` asked for
[[noreturn]] void fail(const char* call, int code, std::size_t stack, std::size_t bytes) {
  std::string text =
      "stack pool: no stack of " + std::to_string(stack / 1024) + " KiB: " + call + ": " + std::strerror(code);
  if (code == ENOMEM) text += "; " + memory_limit_in_force(bytes);
  throw error(error_number(3), text, error::facts{-1, -1, code});
}

std::atomic<bool (*)() noexcept> refuses{nullptr};  // set by a test; edge `refused`

bool address_space_is_limited() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// Whether an access to `at` faults: write(2) from there says so. True where no pipe can be had to ask.
bool faults(const void* at) noexcept {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return true;
  const bool readable = write(ends[1], at, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return !readable;
}

/// Gives back the memory of stacks until they are next used. Guards stay, those between the stacks too, so neighbours
/// need only one system call together.
/// \param count  at most advised_at_once
/// \param gap    the smallest gap below any stack: two stacks so far apart have nothing but a gap between them
void give_memory_back(void* const* stacks, std::size_t count, std::size_t bytes, std::size_t gap) noexcept {
  std::array<char*, advised_at_once> lows;
  const auto last =
      std::transform(stacks, stacks + count, lows.begin(), [](void* low) { return static_cast<char*>(low); });
  std::sort(lows.begin(), last);
  for (auto first = lows.begin(), next = first; first != last; first = next) {
    do {
      ++next;
    } while (next != last && *next == *(next - 1) + bytes + gap);
    // Not MADV_FREE: the memory would count as the process's until the system is short of some. The kernel refuses only
    // memory that the program has locked, and so wants to keep.
    madvise(*first, static_cast<std::size_t>(*(next - 1) - *first) + bytes, MADV_DONTNEED);
  }
}

// Valgrind takes a change of the stack pointer for a switch if it leads to another stack that is registered with it,
// and else for a frame of that size. Without Valgrind each of these functions costs a branch.
#if defined(SHUNT_VALGRIND)
bool under_valgrind() noexcept {
  static const bool is = RUNNING_ON_VALGRIND != 0;
  return is;
}
void watch(std::vector<unsigned>& watched, char* low, std::size_t bytes) {
  if (under_valgrind()) watched.push_back(VALGRIND_STACK_REGISTER(low, low + bytes - 1));
}
void unwatch(const std::vector<unsigned>& watched) noexcept {
  for (const unsigned number : watched) VALGRIND_STACK_DEREGISTER(number);
}
/// Memory beneath the last user's frames counts as unaddressable: from here on it may be written.
void reuse(void* low, std::size_t bytes) noexcept {
  if (under_valgrind()) VALGRIND_MAKE_MEM_UNDEFINED(low, bytes);
}
#else
void watch(std::vector<unsigned>&, char*, std::size_t) {}
void unwatch(const std::vector<unsigned>&) noexcept {}
void reuse(void*, std::size_t) noexcept {}
#endif

}  // namespace

stack_pool::~stack_pool() {
  unwatch(watched_);
  for (const auto& s : slabs_) munmap(s.start, s.bytes);
}

std::size_t stack_pool::wide_gap(std::size_t stack_bytes) noexcept {
  return (stack_bytes >= usual ? widest : stack_bytes / page() / 8 | 1) * page();
}

std::size_t stack_pool::gap_below(std::size_t stack_bytes) const noexcept {
  return narrow_ ? page() : wide_gap(stack_bytes);
}

std::string stack_pool::bounds() { return "a stack has at most " + std::to_string(largest >> 30) + " GiB"; }

stack_pool::size_class& stack_pool::class_of(std::size_t bytes) {
  const auto found =
      std::find_if(classes_.begin(), classes_.end(), [bytes](const size_class& c) { return c.bytes == bytes; });
  if (found != classes_.end()) return *found;
  classes_.emplace_back().bytes = bytes;
  return classes_.back();
}

void stack_pool::refuse_for_tests(bool (*when)() noexcept) noexcept {
  // Edge `refused`, refuse_for_tests() -> take(): the variables that `when` reads.
  refuses.store(when, std::memory_order_release);
}

/// The stack that was given back last, or else a new one from a slab.
stack_pool::stack stack_pool::take(std::size_t bytes) {
  if (bytes > largest)
    throw usage_error(error_number(4), "stack pool: a stack of " + std::to_string(bytes) + " bytes: " + bounds());
  bytes = (std::max(bytes, smallest) + page() - 1) / page() * page();
  // acquire: edge `refused`.
  if (auto* const now = refuses.load(std::memory_order_acquire); now != nullptr && now()) [[unlikely]] {
    fail("refused by a test", ENOMEM, bytes, bytes);
  }
  auto& c = class_of(bytes);
  void* low = nullptr;
  if (!c.free.empty()) {
    low = c.free.back();
    c.free.pop_back();
    c.untouched = std::min(c.untouched, c.free.size());
    reuse(low, bytes);
  } else {
    low = carve(c);
  }
  ++taken_;
#if defined(SHUNT_ASAN)
  ASAN_UNPOISON_MEMORY_REGION(low, bytes);  // frames that have not returned left their redzones
#endif
  return {low, bytes};
}

void stack_pool::give(stack s) noexcept {
  --taken_;
  const auto c =
      std::find_if(classes_.begin(), classes_.end(), [&s](const size_class& k) { return k.bytes == s.bytes; });
  SHUNT_ASSERT(c != classes_.end());
  c->free.push_back(s.low);
}

/// Every 64th call takes the stacks that were not touched since the last such call as idle; every call gives back
/// memory of idle stacks, from the bottom.
bool stack_pool::trim(std::size_t most) noexcept {
  const bool look = ++trims_ >= trims_until_idle;
  if (look) trims_ = 0;
  bool more = false;
  for (auto& c : classes_) {
    c.idle = look ? c.untouched : std::min(c.idle, c.untouched);
    c.cold = std::min(c.cold, c.untouched);
    if (look) c.untouched = c.free.size();
    const auto warm = std::min(warm_bytes / c.bytes, warm_at_most);
    if (c.free.size() <= c.cold + warm) continue;
    const auto end = std::min(c.idle, c.free.size() - warm);
    while (c.cold < end && most > 0) {
      const auto count = std::min({end - c.cold, most, advised_at_once});
      give_memory_back(&c.free[c.cold], count, c.bytes, gap_below(c.bytes));
      c.cold += count;
      most -= count;
    }
    more |= c.free.size() > c.cold + warm;
  }
  return more;
}

/// Maps a slab: with wide gaps if there is address space for these, and with as many stacks as it has room for.
void stack_pool::new_slab(size_class& c) {
  if (slabs_.size() == slabs_.capacity()) slabs_.reserve(2 * slabs_.size() + 8);
  if (slabs_.empty()) narrow_ = address_space_is_limited();
  auto stacks = std::clamp<std::size_t>(slab_target / (c.bytes + gap_below(c.bytes)), 1, stacks_a_slab_at_most);
  for (;;) {
    const auto gap = gap_below(c.bytes);
    const auto bytes = stacks * (c.bytes + gap);
    void* const start =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (start != MAP_FAILED) {
      // Huge pages would make the first byte of one stack cost the memory of eight. A kernel without them refuses the
      // advice, which serves as well.
      madvise(start, bytes, MADV_NOHUGEPAGE);
      slabs_.push_back({start, bytes});
      c.fresh = static_cast<char*>(start);
      c.fresh_left = stacks;
      c.fresh_gap = gap;
      return;
    }
    if (errno != ENOMEM || (gap == page() && stacks == 1)) fail("mmap", errno, c.bytes, bytes);
    if (gap > page()) {
      narrow_ = true;
    } else {
      stacks /= 2;
    }
  }
}

void* stack_pool::carve(size_class& c) {
  if (c.free.capacity() <= c.carved) c.free.reserve(std::max<std::size_t>(64, 2 * c.carved));
  if (c.fresh_left == 0) new_slab(c);
  // These throw before anything is counted: the stack stays in the slab.
  install_guard(c.fresh, c.fresh_gap, c.bytes);
  char* const low = c.fresh + c.fresh_gap;
  watch(watched_, low, c.bytes);
  c.fresh = low + c.bytes;
  --c.fresh_left;
  ++c.carved;
  return low;
}

void stack_pool::install_guard(char* at, std::size_t gap, std::size_t of_stack) {
  if (how_ == guards::best && guards_by_madvise_) {
    if (madvise(at, gap, guard_install) == 0) {
      if (guards_proven_ || (faults(at) && faults(at + gap - 1))) {
        guards_proven_ = true;
        return;
      }
    } else if (errno == ENOMEM) {
      fail("guard by madvise", errno, of_stack, gap);
    }
    // An older kernel, a sandbox that refuses advice that it does not know, or an emulator that takes any advice and
    // follows none.
    guards_by_madvise_ = false;
  }
  if (mprotect(at, gap, PROT_NONE) != 0) fail("guard by mprotect", errno, of_stack, gap);
}

}  // namespace context
}  // namespace v1
}  // namespace shunt
