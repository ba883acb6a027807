/// Lets each allocation in turn fail inside a transaction that uses everything: it leaves no trace, and leaks nothing.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <shunt/stm.hpp>
#include <string>
#include <support/expect.hpp>

namespace {

using shunt::testing::expect;

thread_local long fail_in = 0;  // 0: never
std::atomic<long> alive{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fail_in > 0 && --fail_in == 0) throw std::bad_alloc();
  void* const found = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

struct counted {
  explicit counted(std::string t) : text(std::move(t)) { ++alive; }
  counted(const counted& other) : text(other.text) { ++alive; }
  counted(counted&& other) noexcept : text(std::move(other.text)) { ++alive; }
  counted& operator=(const counted&) = default;
  ~counted() { --alive; }
  std::string text;
  char wide[256] = {};  // so that its box always comes from the heap
};

const char* const long_text = "longer than a string can hold without an allocation";

/// \param allocation  the number of the one that fails; 0: none. \return whether none has failed.
bool attempt(long allocation) {
  const long before = alive;
  {
    shunt::tvar<counted> a{counted("a")}, b{counted("b")};
    shunt::tvar<long> numbers[40];
    counted* made = nullptr;
    int called = 0;
    int registered = 0;
    int undone = 0;
    const auto on_abort = [&](shunt::tx& t) {
      t.on_abort([&undone] { ++undone; });
      ++registered;
    };
    bool failed = false;
    fail_in = allocation;
    try {
      shunt::atomically([&](shunt::tx& t) {
        for (auto& n : numbers) t.write(n, t.read(n) + 1);
        t.write(a, counted(long_text));
        t.commute(b, [](const counted& v) { return counted(v.text + long_text); });
        t.or_else(
            [&] {
              t.write(a, counted(long_text));
              for (int i = 0; i < 3; ++i) on_abort(t);
              t.retry();
            },
            [&] { t.nested([&] { t.write(b, counted(t.read(a).text + long_text)); }); });
        t.commute(a, [](const counted& v) { return counted(v.text + long_text); });
        made = t.make<counted>(long_text);
        t.destroy(t.make<counted>(long_text));
        t.on_commit([&called] { ++called; });
      });
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const bool reached = fail_in == 0;
    fail_in = 0;
    expect(failed == (allocation != 0 && reached), "a failed allocation is reported");
    expect(called == (failed ? 0 : 1), "on_commit is called after a commit, and only then");
    expect(undone == registered, "on_abort is called when a part is undone, and where the memory is at its end");
    for (auto& n : numbers) expect(n.load() == (failed ? 0 : 1), "all of the numbers, or none");
    expect(a.load().text.size() > 1 || failed, "a is written");
    expect(!failed || (a.load().text == "a" && b.load().text == "b"), "nothing is written");
    if (!failed) delete made;
    shunt::stm::tx_quiesce();
    if (failed) {
      expect(alive == before + 2, "nothing leaks");
      return false;
    }
  }
  shunt::stm::tx_quiesce();
  expect(alive == before, "nothing leaks at the end");
  return true;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* what) noexcept { std::free(what); }
void operator delete(void* what, std::size_t) noexcept { std::free(what); }
void operator delete(void* what, std::align_val_t) noexcept { std::free(what); }
void operator delete(void* what, std::size_t, std::align_val_t) noexcept { std::free(what); }

int main() {
  return shunt::testing::status_of([] {
    long k = 1;
    while (!attempt(k)) ++k;
    expect(k > 15, "the transaction allocates");
    expect(attempt(0), "without a failure");
    std::printf("%ld allocations failed, one at a time\n", k - 1);
    return 0;
  });
}
