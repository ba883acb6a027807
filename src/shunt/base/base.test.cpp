#include <shunt/base.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <shunt/base/spin_lock.hpp>
#include <support/expect.hpp>

namespace {

using shunt::testing::thrown_by;
using words = std::array<std::uint32_t, 4>;

}  // namespace

// Random123 1.14, tests/kat_vectors
static_assert(shunt::philox4x32_10({0, 0, 0, 0}, {0, 0}) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(shunt::philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(shunt::philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST_CASE("counter_random: positions, streams and seeds are independent, and a position is a value") {
  const shunt::counter_random a(7);
  const shunt::counter_random other_seed(8);
  const shunt::counter_random other_stream(7, 1);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(a.at(i) == a.block(i / 2)[i % 2]);
    seen.insert({a.at(i), other_seed.at(i), other_stream.at(i)});
  }
  CHECK(seen.size() == 3000);
  CHECK(a.at(0) == shunt::counter_random(7).at(0));
  static_assert(shunt::counter_random(1).at(5) == shunt::counter_random(1).at(5));
}

TEST_CASE("counter_random: below is in range and even, unit is in [0, 1) and even") {
  const shunt::counter_random numbers(42);
  constexpr std::uint64_t bound = 10;
  constexpr int draws = 100'000;
  std::array<int, bound> counts{};
  double sum = 0;
  bool in_range = true;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const auto n = numbers.below(i, bound);
    in_range = in_range && n < bound;
    ++counts[n % bound];
    const double u = numbers.unit(i);
    in_range = in_range && u >= 0 && u < 1;
    sum += u;
  }
  CHECK(in_range);
  double chi_squared = 0;
  for (const int c : counts) chi_squared += (c - 1e4) * (c - 1e4) / 1e4;
  CHECK(chi_squared < 27.9);  // 9 degrees of freedom, 0.1 %
  CHECK(sum / draws == Approx(0.5).margin(0.004));
  CHECK(numbers.below(3, 1) == 0);
  CHECK(numbers.below(3, 0) == 0);
}

TEST_CASE("parse_count: takes digits within bounds, and names option and bounds otherwise") {
  CHECK(shunt::parse_count("--n", "0") == 0);
  CHECK(shunt::parse_count("--n", "18446744073709551615") == ~std::uint64_t{0});
  CHECK(shunt::parse_count("--n", "4", 4, 4) == 4);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1k", "0x1", "1.0", "18446744073709551616"}) {
    CHECK_THROWS_AS(shunt::parse_count("--n", text), shunt::usage_error);
  }
  CHECK(thrown_by<shunt::usage_error>([] { static_cast<void>(shunt::parse_count("--pes", "5x", 1, 4096)); }) ==
        "--pes: '5x' is not a whole number from 1 to 4096 [SHUNT-0002]");
  CHECK(thrown_by<shunt::usage_error>([] { static_cast<void>(shunt::parse_count("--pes", "0", 1)); }) ==
        "--pes: '0' is not a whole number, at least 1 [SHUNT-0002]");
}

TEST_CASE("parse_bytes: knows k, M and G, and refuses what overflows") {
  CHECK(shunt::parse_bytes("--b", "12") == 12);
  CHECK(shunt::parse_bytes("--b", "12k") == 12 * 1024);
  CHECK(shunt::parse_bytes("--b", "1M") == 1024 * 1024);
  CHECK(shunt::parse_bytes("--b", "3g") == 3ULL << 30);
  for (const char* text : {"", "k", "1kb", "1 k", "1T", "18014398509481984k"}) {
    CHECK_THROWS_AS(shunt::parse_bytes("--b", text), shunt::usage_error);
  }
  CHECK_THROWS_AS(shunt::parse_bytes("--b", "1k", 0, 1023), shunt::usage_error);
}

TEST_CASE("environment: reads registered variables; empty is unset") {
  ::setenv("SHUNT_PES", "12", 1);
  CHECK(shunt::environment::read("SHUNT_PES") == "12");
  ::setenv("SHUNT_PES", "", 1);
  CHECK_FALSE(shunt::environment::read("SHUNT_PES"));
  ::unsetenv("SHUNT_PES");
  CHECK_FALSE(shunt::environment::read("SHUNT_PES"));
  for (const auto& v : shunt::environment::known()) {
    CHECK_FALSE(v.meaning.empty());
    CHECK_FALSE(v.default_value.empty());
  }
}

TEST_CASE("quoted: bytes are printable and on one line, and of many the first 40") {
  using namespace std::string_literals;
  CHECK(shunt::quoted("") == R"("")");
  CHECK(shunt::quoted("a b") == R"("a b")");
  CHECK(shunt::quoted("a\t\r\n\"\\\x1b\0\xc3"s) == R"("a\t\r\n\"\\\x1b\x00\xc3")");
  CHECK(shunt::quoted(std::string(40, 'x')) == '"' + std::string(40, 'x') + '"');
  CHECK(shunt::quoted(std::string(41, 'x')) == '"' + std::string(40, 'x') + "\"...");
  CHECK(shunt::escaped('\x7f') == "\\x7f");
}

TEST_CASE("edit_distance: insertions, deletions and replacements") {
  CHECK(shunt::edit_distance("", "") == 0);
  CHECK(shunt::edit_distance("", "pes") == 3);
  CHECK(shunt::edit_distance("pes", "") == 3);
  CHECK(shunt::edit_distance("--pess", "--pes") == 1);
  CHECK(shunt::edit_distance("--pse", "--pes") == 2);
  CHECK(shunt::edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("environment: a misspelt variable is an error that lists the near ones") {
  CHECK_NOTHROW(shunt::environment::check());
  ::setenv("SHUNT_WORKRES", "2", 1);
  CHECK(thrown_by<shunt::usage_error>(shunt::environment::check) ==
        "SHUNT_WORKRES: no such variable; did you mean SHUNT_WORKERS? [SHUNT-0001]");
  ::unsetenv("SHUNT_WORKRES");
  ::setenv("SHUNT_SOMETHING_ELSE", "2", 1);
  const auto all = thrown_by<shunt::usage_error>(shunt::environment::check);
  ::unsetenv("SHUNT_SOMETHING_ELSE");
  for (const auto& v : shunt::environment::known()) {
    CHECK(all.find(v.name) != std::string::npos);
  }
}

namespace {

/// A fake / with the few files that cpu_quota() reads.
class fake_root {
 public:
  fake_root() {
    std::string pattern = (std::filesystem::temp_directory_path() / "shunt-root-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~fake_root() { std::filesystem::remove_all(root_); }
  fake_root(const fake_root&) = delete;
  fake_root& operator=(const fake_root&) = delete;
  void put(const std::string& path, const std::string& text) const {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  [[nodiscard]] std::string path() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

constexpr const char* mounts_2 =
    "22 1 0:20 / /proc rw shared:1 - proc proc rw\n"
    "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
constexpr const char* mounts_1 =
    "30 1 0:26 / /sys/fs/cgroup/memory rw shared:4 - cgroup cgroup rw,memory\n"
    "31 1 0:27 /docker/x /sys/fs/cgroup/c\\040pu rw shared:5 master:2 - cgroup cgroup rw,cpuacct,cpu";

}  // namespace

TEST_CASE("cpu_quota: version 2, the least of the group and its ancestors") {
  const fake_root root;
  CHECK_FALSE(shunt::cpu_quota(root.path()));
  root.put("proc/self/mountinfo", mounts_2);
  root.put("proc/self/cgroup", "0::/a/b/c");
  CHECK_FALSE(shunt::cpu_quota(root.path()));
  root.put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000");
  CHECK_FALSE(shunt::cpu_quota(root.path()));
  root.put("sys/fs/cgroup/a/b/cpu.max", "400000 100000");
  CHECK(shunt::cpu_quota(root.path()) == 4.0);
  root.put("sys/fs/cgroup/a/cpu.max", "150000 100000");
  CHECK(shunt::cpu_quota(root.path()) == 1.5);
  root.put("sys/fs/cgroup/a/b/c/cpu.max", "50000 100000");
  CHECK(shunt::cpu_quota(root.path()) == 0.5);
  root.put("sys/fs/cgroup/other/cpu.max", "10000 100000");
  CHECK(shunt::cpu_quota(root.path()) == 0.5);
  root.put("proc/self/cgroup", "0::/../elsewhere");  // a namespace that does not show the group
  root.put("sys/fs/cgroup/cpu.max", "300000 100000");
  CHECK(shunt::cpu_quota(root.path()) == 3.0);
}

TEST_CASE("cpu_quota: version 1, in a mount that shows a container's part, under an odd name") {
  const fake_root root;
  root.put("proc/self/mountinfo", mounts_1);
  root.put("proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x/inner\n0::/");
  const std::string cpu = "sys/fs/cgroup/c pu/";
  root.put(cpu + "inner/cpu.cfs_quota_us", "-1");
  root.put(cpu + "inner/cpu.cfs_period_us", "100000");
  CHECK_FALSE(shunt::cpu_quota(root.path()));
  root.put(cpu + "cpu.cfs_quota_us", "250000");
  root.put(cpu + "cpu.cfs_period_us", "100000");
  CHECK(shunt::cpu_quota(root.path()) == 2.5);
}

TEST_CASE("topology: this machine has CPUs, and workers are between 1 and their number") {
  const auto m = shunt::describe_machine();
  CHECK(m.configured_cpus >= 1);
  REQUIRE_FALSE(m.usable.empty());
  CHECK(std::is_sorted(m.usable.begin(), m.usable.end()));
  CHECK(m.workers >= 1);
  CHECK(m.workers <= static_cast<int>(m.usable.size()));
  CHECK(m.workers == shunt::default_workers());
}

TEST_CASE("topology: a pinned thread uses one CPU, and its keeper puts the mask back") {
  const auto before = shunt::usable_cpus();
  {
    const shunt::affinity_keeper keep;
    REQUIRE(shunt::pin_this_thread(before.back()));
    CHECK(shunt::usable_cpus() == std::vector<int>{before.back()});
  }
  CHECK(shunt::usable_cpus() == before);
  CHECK_FALSE(shunt::pin_this_thread(1'000'000));
  CHECK(shunt::usable_cpus() == before);
}

TEST_CASE("clock: ticks advance, and relax returns") {
  const auto before = shunt::ticks();
  for (int i = 0; i < 1000; ++i) shunt::relax();
  CHECK(shunt::ticks() > before);
}

TEST_CASE("thread_cache: a block is kept for the next object of its size, and of no larger one") {
  using shunt::thread_cache;
  if (!thread_cache::keeps) return;
  for (const std::size_t bytes : {1, 8, 16, 24, 63, 64, 65, 128, 200, 248, 256}) {
    CAPTURE(bytes);
    void* const first = thread_cache::take(bytes);
    std::memset(first, 0xff, bytes);
    const auto kept = thread_cache::kept(bytes);
    thread_cache::give(first, bytes);
    CHECK(thread_cache::kept(bytes) == kept + 1);
    const auto next_size = (bytes + 7) / 8 * 8 + 1;
    void* const larger = thread_cache::take(next_size);
    CHECK(larger != first);
    thread_cache::give(larger, next_size);
    CHECK(thread_cache::take(bytes) == first);
    CHECK(thread_cache::kept(bytes) == kept);
    thread_cache::give(first, bytes);
  }
}

TEST_CASE("thread_cache: a thread keeps so many blocks and no more; the others are for all threads") {
  using shunt::thread_cache;
  std::vector<void*> all;
  for (std::uint32_t i = 0; i < 3 * thread_cache::kept_of_a_size; ++i) {
    all.push_back(thread_cache::take(100));
    std::memset(all.back(), static_cast<int>(i), 100);
  }
  std::size_t most = 0, after_that = 0;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    CHECK(static_cast<unsigned char*>(all[i])[99] == static_cast<unsigned char>(i));  // no other object lies here
    thread_cache::give(all[i], 100);
    if (most == thread_cache::kept_of_a_size && after_that == 0) after_that = thread_cache::kept(100);
    most = std::max(most, thread_cache::kept(100));
  }
  CHECK(most == (thread_cache::keeps ? thread_cache::kept_of_a_size : 0));
  CHECK(after_that < std::max<std::size_t>(most, 1));
  CHECK(thread_cache::kept(thread_cache::largest + 1) == 0);
  void* const large = thread_cache::take(thread_cache::largest + 1);
  thread_cache::give(large, thread_cache::largest + 1);
  CHECK(thread_cache::kept(thread_cache::largest + 1) == 0);
  if (!thread_cache::keeps) return;
  std::sort(all.begin(), all.end());
  std::thread([&] {
    std::vector<void*> again{thread_cache::take(100)};
    for (auto kept = thread_cache::kept(100); kept-- > 0;) again.push_back(thread_cache::take(100));
    CHECK(thread_cache::kept(100) == 0);  // as many as it said
    for (void* const at : again) thread_cache::give(at, 100);
    again.clear();
    for (auto i = all.size() - thread_cache::kept_of_a_size; i-- > 0;) again.push_back(thread_cache::take(100));
    for (void* const at : again) {
      CHECK(std::binary_search(all.begin(), all.end(), at));
      thread_cache::give(at, 100);
    }
  }).join();
}

TEST_CASE(
    "thread_cache: a thread that frees blocks keeps them, leaves them to all threads when it ends, then keeps none") {
  using shunt::thread_cache;
  struct later {
    void* block = nullptr;
    std::atomic<int>* over = nullptr;
    ~later() {  // after the cache, which was opened later
      thread_cache::give(block, 64);
      thread_cache::give(thread_cache::take(64), 64);
      *over = thread_cache::kept(64) == 0 ? 1 : 2;
    }
  };
  std::atomic<int> over{0};
  void* const mine = thread_cache::take(64);
  const auto kept_here = thread_cache::kept(64);
  std::set<void*> there;
  std::thread([&] {
    static thread_local later last;
    last.over = &over;
    last.block = thread_cache::take(64);
    const auto kept = thread_cache::kept(64);
    thread_cache::give(mine, 64);
    CHECK(thread_cache::kept(64) == kept + std::size_t{thread_cache::keeps});
    there = {mine, last.block};
  }).join();
  CHECK(over == 1);
  CHECK(thread_cache::kept(64) == kept_here);
  if (!thread_cache::keeps) return;
  std::vector<void*> all;  // more than any thread keeps
  for (std::size_t i = 0; i < kept_here + 2 * thread_cache::kept_of_a_size; ++i) all.push_back(thread_cache::take(64));
  for (void* const at : all) {
    there.erase(at);
    thread_cache::give(at, 64);
  }
  CHECK(there.empty());
}

TEST_CASE("in_thread_cache: objects lie there, except those of a larger alignment, which lie on the heap") {
  struct small : shunt::in_thread_cache {
    long value = 7;
  };
  struct alignas(128) wide : shunt::in_thread_cache {
    long value = 7;
  };
  delete new small;
  CHECK((shunt::thread_cache::kept(sizeof(small)) > 0) == shunt::thread_cache::keeps);
  const auto kept = shunt::thread_cache::kept(sizeof(wide));
  auto* const w = new wide;
  CHECK(reinterpret_cast<std::uintptr_t>(w) % alignof(wide) == 0);
  delete w;
  CHECK(shunt::thread_cache::kept(sizeof(wide)) == kept);
}

TEST_CASE("latency_histogram: every time is exact to within 1.6 %, from 0 to centuries") {
  using std::chrono::nanoseconds;
  for (const double scale : {0.0, 1.0, 7.0, 63.0, 64.0, 65.0, 127.0, 128.0, 1e3, 123'456.0, 1e9, 3.6e12, 9e18}) {
    shunt::latency_histogram h;
    const nanoseconds time(static_cast<std::int64_t>(scale));
    h.record(time);
    h.record(nanoseconds::max());  // so that the maximum does not cut the bucket
    CHECK(h.count() == 2);
    const auto told = static_cast<double>(h.percentile(0.5).count());
    CHECK(told >= scale);
    CHECK(told <= scale * 1.016);
    CHECK(h.max() == nanoseconds::max());
  }
}

TEST_CASE("latency_histogram: percentiles are those of the recorded times; a negative time counts as 0") {
  using std::chrono::nanoseconds;
  shunt::latency_histogram h;
  CHECK(h.percentile(0.5) == nanoseconds(0));
  for (int i = 1; i <= 50; ++i) h.record(nanoseconds(i));
  h.record(nanoseconds(-5));
  CHECK(h.percentile(0) == nanoseconds(0));
  CHECK(h.percentile(0.5) == nanoseconds(25));
  CHECK(h.percentile(1) == nanoseconds(50));
  CHECK(h.max() == nanoseconds(50));
}

TEST_CASE("spin_lock: what a holder wrote is seen by the next, whether it waits or tries") {
  constexpr int rounds = 20'000;
  shunt::spin_lock lock;
  long held = 0, refused = 0;
  const auto count = [&](bool tries) {
    for (int i = 0; i < rounds; ++i) {
      if (!tries) {
        lock.lock();
      } else {
        while (!lock.try_lock()) std::this_thread::yield();
      }
      ++held;
      refused += lock.try_lock() ? 0 : 1;
      lock.unlock();
    }
  };
  std::thread waiting(count, false);
  count(true);
  waiting.join();
  CHECK(held == 2 * rounds);
  CHECK(refused == 2 * rounds);
}

TEST_CASE("divisor: divides exactly what is below 2^46, by all numbers below 2^17") {
  std::mt19937_64 random(1);
  bool right = true;
  for (std::uint64_t by = 1; by < (1 << 17); by += by < 300 ? 1 : 97) {
    const shunt::divisor d(by);
    for (int i = 0; i != 20; ++i) {
      const std::uint64_t n = random() >> 18, multiple = n / by * by;
      right = right && d.quotient(n) == n / by && d.quotient(multiple) == multiple / by;
      if (multiple != 0) right = right && d.quotient(multiple - 1) == (multiple - 1) / by;
    }
  }
  CHECK(right);
}

TEST_CASE("leave_token: what was written before it is seen by the thread that it wakes") {
  std::atomic<std::uint32_t> word{0};
  int value = 0;
  std::thread waker([&] {
    value = 7;
    shunt::leave_token(word);
  });
  while (word.exchange(0, std::memory_order_acquire) == 0) {
    static_cast<void>(shunt::futex_wait(word, 0, std::chrono::seconds(10), shunt::futex_scope::machine));
  }
  CHECK(value == 7);
  waker.join();
}
