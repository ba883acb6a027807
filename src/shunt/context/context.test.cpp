#include <shunt/context.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <execinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/base/sanitizers.hpp>

#include <catch2/catch.hpp>
#include <support/expect.hpp>
#include <support/process.hpp>

namespace context = shunt::context;

namespace {

/// An execution on a stack of its own that can be entered and left.
class visitor {
 public:
  using body = void (*)(visitor&);
  explicit visitor(body what, std::size_t bytes = 128 * 1024) : what_(what), stack_(pool_.take(bytes)) {
    context::adopt_thread(outside_);
    context::prepare(inside_, stack_.low, stack_.bytes, &begin, this);
  }
  ~visitor() { pool_.give(stack_); }
  visitor(const visitor&) = delete;
  visitor& operator=(const visitor&) = delete;

  void enter() {
    context::switch_to(outside_, inside_);
    if (over) context::retire(inside_);
  }
  void leave() { context::switch_to(inside_, outside_); }
  [[nodiscard]] context::stack_pool::stack stack() const { return stack_; }

  bool over = false;
  int steps = 0;
  std::uintptr_t address = 0;
  int frames = 0;

 private:
  static void begin(void* self) {
    auto& v = *static_cast<visitor*>(self);
    v.what_(v);
    v.over = true;
    context::finish_to(v.inside_, v.outside_);
  }

  body what_;
  context::stack_pool pool_;
  context::stack_pool::stack stack_;
  context::execution outside_;
  context::execution inside_;
};

void finish(visitor& v) {
  while (!v.over) v.enter();
}

}  // namespace

TEST_CASE("switch: runs on the other stack, comes back, and keeps locals and callee-saved registers") {
  visitor v([](visitor& me) {
    volatile int local = 0;
    me.address = reinterpret_cast<std::uintptr_t>(&local);
    double sum = 0.5;
    for (int i = 0; i < 100; ++i) {
      local = local + 1;
      sum += i;
      me.leave();
      me.steps = local;
    }
    CHECK(sum == 4950.5);
  });
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  finish(v);
  CHECK(a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f == 654321);
  CHECK(v.steps == 100);
#if !defined(SHUNT_ASAN)  // there, locals live on a fake stack
  const auto low = reinterpret_cast<std::uintptr_t>(v.stack().low);
  CHECK(v.address >= low);
  CHECK(v.address < low + v.stack().bytes);
#endif
}

TEST_CASE("switch: the first frame is aligned as the ABI asks") {
  visitor v([](visitor& me) {
    alignas(16) volatile char aligned[16] = {};
    me.address = reinterpret_cast<std::uintptr_t>(&aligned[0]);
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", 1.5);  // movaps faults on a misaligned stack
    CHECK(std::strcmp(text, "1.500") == 0);
  });
  finish(v);
  CHECK(v.address % 16 == 0);
}

TEST_CASE("switch: an exception thrown on the other stack is caught there") {
  visitor v([](visitor& me) {
    try {
      me.leave();
      throw std::string("here");
    } catch (const std::string& s) {
      me.steps = static_cast<int>(s.size());
    }
  });
  finish(v);
  CHECK(v.steps == 4);
}

#if !defined(SHUNT_CONTEXT_BOOST)
TEST_CASE("switch: a backtrace ends at the execution's bottom") {
  visitor v([](visitor& me) {
    void* frames[64];
    me.frames = backtrace(frames, 64);
  });
  finish(v);
  CHECK(v.frames >= 2);
  CHECK(v.frames <= 8);
}
#endif

TEST_CASE("exceptions: a thread's state is empty, holds the caught exception inside a handler, and is empty again") {
  CHECK_FALSE(context::exceptions_of_this_thread().any());
  try {
    throw 1;
  } catch (int) {
    CHECK(context::exceptions_of_this_thread().any());
  }
  CHECK_FALSE(context::exceptions_of_this_thread().any());
}

TEST_CASE("stack_pool: stacks are disjoint, of whole pages, writable throughout, and reused last in first out") {
  const auto how = GENERATE(context::stack_pool::guards::best, context::stack_pool::guards::by_mprotect);
  context::stack_pool pool(how);
  std::vector<context::stack_pool::stack> stacks;
  std::set<std::uintptr_t> starts;
  for (int i = 0; i < 200; ++i) {
    stacks.push_back(pool.take(20'000));
    const auto s = stacks.back();
    CHECK(s.bytes >= 20'000);
    CHECK(s.bytes % static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) == 0);
    std::memset(s.low, i, s.bytes);
    starts.insert(reinterpret_cast<std::uintptr_t>(s.low));
  }
  CHECK(pool.taken() == 200);
  std::uintptr_t last_end = 0;
  for (const auto start : starts) {
    CHECK(start > last_end);
    last_end = start + stacks[0].bytes;
  }
  const auto last = stacks[77];
  pool.give(last);
  CHECK(pool.take(20'000).low == last.low);
  CHECK(pool.take(64 * 1024).bytes == 64 * 1024);
}

TEST_CASE("stack_pool: if the system refuses memory the error has its code, and the pool stays usable") {
  context::stack_pool pool;
  shunt::testing::expect_thrown<shunt::error>([&] { static_cast<void>(pool.take(std::size_t{1} << 48)); },
                                              [](const shunt::error& e) {
                                                CHECK(e.known().native == ENOMEM);
                                                CHECK_THAT(e.what(), Catch::Contains("max_map_count"));
                                              });
  CHECK(pool.taken() == 0);
  CHECK(pool.take(16 * 1024).low != nullptr);
}

TEST_CASE("stack_pool: guards inside a mapping need few mappings, whatever the number of stacks") {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    int lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return lines;
  };
  const int before = mappings();
  context::stack_pool pool;
  for (int i = 0; i < 2'000; ++i) static_cast<void>(pool.take(16 * 1024));
  const int more = mappings() - before;
  if (more > 1'000) {
    WARN("this kernel has no MADV_GUARD_INSTALL: two mappings a stack");
  } else {
    CHECK(more < 100);
  }
}

#if !defined(SHUNT_ASAN) && !defined(SHUNT_TSAN)  // they report the fault in their own way
TEST_CASE("stack_pool: running off the end of a stack kills the process at once") {
  const auto how = GENERATE(context::stack_pool::guards::best, context::stack_pool::guards::by_mprotect);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    context::stack_pool pool(how);
    static_cast<void>(pool.take(64 * 1024));  // a neighbour, which must not be written
    const auto stack = pool.take(64 * 1024);
    static context::execution outside;
    static context::execution inside;
    context::adopt_thread(outside);
    context::prepare(
        inside, stack.low, stack.bytes, [](void*) { _exit(shunt::testing::dig() == 12345 ? 1 : 2); }, nullptr);
    context::switch_to(outside, inside);
    _exit(3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}
#endif
