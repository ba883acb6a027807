#include <shunt/context/stack_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/context/switch.hpp>

#include <catch2/catch.hpp>
#include <support/process.hpp>

namespace {

using shunt::context::stack_pool;
using guards = stack_pool::guards;

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Pages of the stack that are in memory.
std::size_t resident(const stack_pool::stack& s) {
  std::vector<unsigned char> pages(s.bytes / page());
  REQUIRE(mincore(s.low, s.bytes, pages.data()) == 0);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; }));
}
std::size_t resident(const std::vector<stack_pool::stack>& stacks) {
  std::size_t sum = 0;
  for (const auto& s : stacks) sum += resident(s);
  return sum;
}

/// Writes to `pages` pages at the top of the stack, as frames do.
void touch(const stack_pool::stack& s, std::size_t pages = 1) {
  for (std::size_t i = 1; i <= pages; ++i) static_cast<char*>(s.low)[s.bytes - i * page()] = 1;
}

/// Whether an access faults: asks the system to read there.
bool faults(const void* at) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const bool refused = write(ends[1], at, 1) == -1 && errno == EFAULT;
  close(ends[0]);
  close(ends[1]);
  return refused;
}
bool guarded(const stack_pool::stack& s) { return faults(static_cast<char*>(s.low) - 1); }

std::vector<stack_pool::stack> take(stack_pool& pool, int count, std::size_t bytes, std::size_t pages = 1) {
  std::vector<stack_pool::stack> stacks;
  for (int i = 0; i < count; ++i) {
    stacks.push_back(pool.take(bytes));
    touch(stacks.back(), pages);
  }
  return stacks;
}

#if defined(SHUNT_ASAN) || defined(SHUNT_TSAN)
constexpr int burst = 2'000;
#else
constexpr int burst = 10'000;
#endif

constexpr int calls_until_idle = 64;
constexpr std::size_t at_once = 64;
constexpr std::size_t kept_warm = 64;  // of 64 KiB: 4 MiB

/// Trims until there is no more to give back.
void trim_all(stack_pool& pool) {
  int calls = 0;
  while (pool.trim()) {
    // At most: what is left of a first look, whose stacks were in use, and the second.
    REQUIRE(++calls < 2 * calls_until_idle + burst / static_cast<int>(at_once) + 1);
  }
}

}  // namespace

TEST_CASE("stack_pool: a stack costs the pages that were used, whatever its size") {
  stack_pool pool;
  const auto bytes =
      GENERATE(std::size_t{16 * 1024}, std::size_t{64 * 1024}, std::size_t{256 * 1024}, std::size_t{8 << 20});
  const auto used = GENERATE(std::size_t{1}, std::size_t{3});
  const auto s = pool.take(bytes);
  CHECK(resident(s) == 0);
  touch(s, used);
  CHECK(resident(s) == used);
}

TEST_CASE("stack_pool: after a burst trim() gives memory back, keeps guards, and leaves the order of reuse") {
  stack_pool pool(GENERATE(guards::best, guards::by_mprotect));
  const auto kept = pool.take(64 * 1024);
  std::memset(kept.low, 77, kept.bytes);
  const auto stacks = take(pool, burst, 64 * 1024, 2);
  CHECK(resident(stacks) == 2 * burst);
  for (const auto& s : stacks) pool.give(s);

  trim_all(pool);
  CHECK(resident(stacks) == 2 * kept_warm);
  for (std::size_t i = 0; i < stacks.size(); i += 97) CHECK(guarded(stacks[i]));
  CHECK(std::all_of(static_cast<char*>(kept.low), static_cast<char*>(kept.low) + kept.bytes,
                    [](char c) { return c == 77; }));
  CHECK(pool.taken() == 1);

  bool last_in_first_out = true;
  for (auto s = stacks.rbegin(); s != stacks.rend(); ++s) {
    const auto again = pool.take(64 * 1024);
    last_in_first_out &= again.low == s->low;
    touch(again);
  }
  CHECK(last_in_first_out);
  CHECK(resident(stacks) == burst + kept_warm);

  for (const auto& s : stacks) pool.give(s);
  trim_all(pool);
  CHECK(resident(stacks) == 2 * kept_warm);
}

TEST_CASE("stack_pool: a stack that was idle and then used is not given back with the others") {
  stack_pool pool;
  auto stacks = take(pool, 1'000, 64 * 1024);
  for (const auto& s : stacks) pool.give(s);
  while (resident(stacks) == 1'000) REQUIRE(pool.trim(1));
  for (auto& s : stacks) s = pool.take(64 * 1024);
  for (const auto& s : stacks) touch(s);
  for (const auto& s : stacks) pool.give(s);
  for (int i = 0; i < calls_until_idle - 1; ++i) CHECK(pool.trim());
  CHECK(resident(stacks) == 1'000);
}

TEST_CASE("stack_pool: a call of trim() gives back at most as many stacks as it was told") {
  stack_pool pool;
  const auto stacks = take(pool, 1'000, 64 * 1024);
  for (const auto& s : stacks) pool.give(s);
  const auto most = GENERATE(std::size_t{1}, std::size_t{10}, std::size_t{100'000});
  std::size_t before = resident(stacks);
  for (int i = 0; i < 3 * calls_until_idle; ++i) {
    static_cast<void>(pool.trim(most));
    const auto now = resident(stacks);
    CHECK(before - now <= most);
    before = now;
  }
  CHECK(before < 1'000);
}

TEST_CASE("stack_pool: stacks that are used again and again keep their memory") {
  stack_pool pool;
  auto stacks = take(pool, 1'000, 64 * 1024);
  for (const auto& s : stacks) pool.give(s);
  const int rounds_between = GENERATE(1, 10, calls_until_idle - 1);
  for (int i = 0; i < 5 * calls_until_idle; ++i) {
    if (i % rounds_between == 0) {
      for (auto& s : stacks) s = pool.take(64 * 1024);
      for (const auto& s : stacks) pool.give(s);
    }
    CHECK(pool.trim());
  }
  CHECK(resident(stacks) == 1'000);
}

TEST_CASE("stack_pool: trim() gives back the stacks that no load in between has needed") {
  stack_pool pool;
  const auto stacks = take(pool, 1'000, 64 * 1024);
  for (const auto& s : stacks) pool.give(s);
  for (int i = 0; i < 4 * calls_until_idle; ++i) {
    std::vector<stack_pool::stack> load;
    for (int j = 0; j < 300; ++j) load.push_back(pool.take(64 * 1024));
    for (auto s = load.rbegin(); s != load.rend(); ++s) pool.give(*s);
    static_cast<void>(pool.trim());
  }
  CHECK(resident(stacks) == 300);
  for (std::size_t i = 0; i < 1'000; ++i) CHECK(resident(stacks[i]) == (i < 700 ? 0 : 1));
}

TEST_CASE("stack_pool: trim() has nothing to do for few stacks or for none") {
  stack_pool pool;
  CHECK_FALSE(pool.trim());
  const auto stacks = take(pool, static_cast<int>(kept_warm), 64 * 1024);
  for (const auto& s : stacks) pool.give(s);
  for (int i = 0; i < 3 * calls_until_idle; ++i) CHECK_FALSE(pool.trim());
  CHECK(resident(stacks) == kept_warm);
}

TEST_CASE("stack_pool: a size beyond any address space is a usage_error, and for the largest size the error says why") {
  stack_pool pool;
  for (const auto bytes : {~std::size_t{0}, ~std::size_t{0} - 4095, std::size_t{1} << 63, stack_pool::largest + 1}) {
    CHECK_THROWS_AS(pool.take(bytes), shunt::usage_error);
  }
  CHECK_THROWS_WITH(pool.take(stack_pool::largest), Catch::Contains("stack pool: no stack of "));
  CHECK(pool.taken() == 0);
  CHECK(guarded(pool.take(1)));
}

TEST_CASE(
    "stack_pool: where there is address space, a gap that faults lies below each stack: 17 pages, or an eighth of a "
    "small stack") {
  stack_pool pool(GENERATE(guards::best, guards::by_mprotect));
  const auto [bytes, pages] =
      GENERATE(table<std::size_t, std::size_t>({{16 << 10, 1}, {64 << 10, 3}, {256 << 10, 17}, {8 << 20, 17}}));
  const auto gap = stack_pool::wide_gap(bytes);
  CHECK(gap == pages * page());
  const auto stacks = take(pool, 70, bytes);  // more than a slab
  for (const auto& s : stacks) {
    for (std::size_t down = 1; down <= gap; down += page()) CHECK(faults(static_cast<char*>(s.low) - down));
    CHECK(faults(static_cast<char*>(s.low) - gap));
    CHECK_FALSE(faults(s.low));
  }
}

namespace {

constexpr int guard_install = 102;  // MADV_GUARD_INSTALL

bool kernel_installs_guards() {
  void* const at = mmap(nullptr, page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(at != MAP_FAILED);
  const bool does = madvise(at, page(), guard_install) == 0 && faults(at);  // an emulator only says so
  munmap(at, page());
  return does;
}

long mappings() {
  std::ifstream maps("/proc/self/maps");
  long lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

long mappings_allowed() {
  long limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return limit;
}

/// From now on the kernel answers MADV_GUARD_INSTALL with `code`. For good: in a child.
bool refuse_guard_install(unsigned code) {
  constexpr unsigned low_half = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2]) + low_half),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, guard_install, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof steps / sizeof *steps, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// How a pool ends that hands out stacks until it has no more; the test does not write to them.
/// \return 0: with an error that names the limit, when that many mappings could be there, and the
///         pool goes on with what is given back.
int end_of_mappings(guards how, long limit) {
  stack_pool pool(how);
  std::vector<stack_pool::stack> stacks;
  stacks.reserve(static_cast<std::size_t>(limit));
  try {
    while (static_cast<long>(stacks.size()) < limit) stacks.push_back(pool.take(16 * 1024));
    return 1;  // more stacks than mappings: no guard can split one
  } catch (const shunt::error& e) {
    if (std::string(e.what()).find("vm.max_map_count") == std::string::npos) return 2;
    if (e.known().native != ENOMEM) return 3;
  } catch (...) {
    return 4;
  }
  if (static_cast<long>(stacks.size()) < limit / 2 - 2'000) return 5;
  if (pool.taken() != stacks.size()) return 6;
  if (!guarded(stacks.front()) || !guarded(stacks.back())) return 7;
  const auto last = stacks.back();
  pool.give(last);
  return pool.take(16 * 1024).low == last.low ? 0 : 8;
}

}  // namespace

TEST_CASE("stack_pool: 200,000 guarded stacks at the kernel's usual settings") {
  if (!kernel_installs_guards()) {
    WARN("this kernel has no MADV_GUARD_INSTALL (Linux 6.13)");
    return;
  }
#if defined(SHUNT_ASAN) || defined(SHUNT_TSAN)
  constexpr int many = 20'000;
#else
  constexpr int many = 200'000;  // 800 MB, for each uses a page
#endif
  const auto before = mappings();
  stack_pool pool;
  const auto stacks = take(pool, many, 16 * 1024);
  CHECK(pool.taken() == many);
  CHECK(mappings() - before < 1'000);
  for (std::size_t i = 0; i < stacks.size(); i += 997) CHECK(guarded(stacks[i]));
}

#if !defined(SHUNT_ASAN) && !defined(SHUNT_TSAN)  // their shadow is more address space than the limit
namespace {

/// How a pool ends whose process has address space for `more` bytes. \param late  the pool has a slab with wide gaps
/// already when the limit is set. \return 0: as it should; 77: the system does not enforce such a limit.
int end_of_space(std::size_t more, bool late) {
  constexpr std::size_t bytes = 64 * 1024;
  stack_pool pool;
  std::vector<stack_pool::stack> stacks;
  stacks.reserve(2 * more / bytes);
  if (late) stacks.push_back(pool.take(bytes));
  if (!shunt::testing::limit_address_space(more)) return 77;
  try {
    for (;;) stacks.push_back(pool.take(bytes));
  } catch (const shunt::error& e) {
    const std::string what = e.what();
    if (what.find("stack pool: no stack of 64 KiB: mmap: ") == std::string::npos) return 2;
    if (what.find("raise RLIMIT_AS (ulimit -v)") == std::string::npos) return 3;
  }
  // Nearly all of the space is stacks, or with wide gaps half of it.
  if (stacks.size() * (bytes + page()) < (late ? more / 3 : more - more / 10)) return 4;
  for (const auto& s : stacks) {
    if (!guarded(s)) return 5;
    touch(s);
  }
  for (const auto& s : stacks) pool.give(s);
  for (int i = 0; i < 3 * calls_until_idle; ++i) static_cast<void>(pool.trim());
  for (const auto& s : stacks) {
    if (!guarded(s)) return 6;
  }
  return resident(stacks) == kept_warm ? 0 : 7;
}

}  // namespace

TEST_CASE(
    "stack_pool: where address space ends, gaps become one page, slabs shrink, and then the error names the limit") {
  const bool late = GENERATE(false, true);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(end_of_space(100 << 20, late));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    WARN("address space has no limit here");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

TEST_CASE("stack_pool: where guards take mappings, and none are left, the error names the limit to raise") {
  // By what a kernel before 6.13 says, and sandboxes; 0: the pool is told.
  const auto refused_with = GENERATE(0, EINVAL, EPERM, ENOSYS);
  const auto limit = mappings_allowed();
  if (limit <= 0 || limit > 300'000) {
    WARN("vm.max_map_count is " << limit << ": not to be reached here");
    return;
  }
  constexpr int no_filters = 77;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (refused_with != 0 && !refuse_guard_install(static_cast<unsigned>(refused_with))) _exit(no_filters);
    _exit(end_of_mappings(refused_with == 0 ? guards::by_mprotect : guards::best, limit));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_filters) {
    WARN("no seccomp filters here");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}

namespace {
bool refuses_now = false;  // plain: edge `refused`
}  // namespace

TEST_CASE("stack_pool: a pool of another thread finds what the refusing function reads") {
  std::atomic<bool> set{false};
  std::thread test([&] {
    refuses_now = true;
    stack_pool::refuse_for_tests([]() noexcept { return refuses_now; });
    set.store(true, std::memory_order_relaxed);  // relaxed: it orders nothing
  });
  while (!set.load(std::memory_order_relaxed)) std::this_thread::yield();
  stack_pool pool;
  CHECK_THROWS_AS(pool.take(1), shunt::error);
  test.join();
  stack_pool::refuse_for_tests(nullptr);
}
