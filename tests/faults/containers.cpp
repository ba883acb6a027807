/// Lets each large allocation in turn fail at the end of a superstep: a container keeps what it has.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>
#include <shunt/pgas/containers/detail/hot_keys.hpp>
#include <support/expect.hpp>

namespace pgas = shunt::pgas;
using shunt::testing::expect;

namespace {

/// Smaller ones are the runtime's, too.
constexpr std::size_t large = 16'384;
thread_local long fail_in = 0;  // large allocations of this thread; 0: none fails

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes >= large && fail_in > 0 && --fail_in == 0) throw std::bad_alloc();
  void* const found = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

constexpr std::uint64_t rows = 5'000, columns = 7'000;
using entries = std::map<std::pair<std::uint64_t, std::uint64_t>, long>;

/// Entries of a round: some of the first one's are in the second, too.
void add_round(pgas::sparse_matrix<long>& a, entries& serial, std::uint64_t round) {
  for (std::uint64_t k = 0; k != 9'000; ++k) {
    const std::uint64_t i = (17 * k + round) % rows, j = (k * k) % columns;
    a.add(i, j, static_cast<long>(k));
    serial[{i, j}] += static_cast<long>(k);
  }
}

bool has(pgas::sparse_matrix<long>& a, const entries& wanted) {
  entries found;
  a.each_entry([&](std::uint64_t i, std::uint64_t j, long value) { found[{i, j}] = value; });
  return found == wanted;
}

/// Whether a times ones is what the entries say: it uses all that the matrix keeps.
bool multiplies(pgas::pe& me, pgas::sparse_matrix<long>& a, const entries& serial) {
  pgas::array<long> ones(me, columns, 1), sums(me, rows);
  a.multiply(ones, sums);
  std::map<std::uint64_t, long> wanted;
  for (const auto& [at, value] : serial) wanted[at.first] += value;
  for (const auto& [row, sum] : wanted) {
    if (sums.local()[row] != sum) return false;
  }
  return true;
}

/// Made before a container, it is the last to end before that one does: what has arrived has been handled.
class before_the_end final : pgas::detail::distributed {
 public:
  explicit before_the_end(pgas::pe& me) : distributed(me, 1), part_(me), messages_(part_) {}
  long allocation = 0;  // that fails from there on

 private:
  [[nodiscard]] pgas::detail::ending_selector changes() noexcept override {
    return pgas::detail::end_of::changes(messages_);
  }
  void ended() override { fail_in = allocation; }

  pgas::symmetric<int> part_;
  pgas::actor_of<int> messages_;
};

/// \param allocation  of the end of the second superstep, that fails \return whether there was none of that number
bool matrix_attempt(pgas::pe& me, long allocation) {
  before_the_end end(me);
  pgas::sparse_matrix<long> a(me, rows, columns);
  entries serial;
  pgas::superstep(me, [&] { add_round(a, serial, 0); });
  const entries before = serial;
  bool failed = false, none_left = false;
  try {
    pgas::superstep(me, [&] {
      add_round(a, serial, 1);
      end.allocation = allocation;
    });
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  none_left = std::exchange(fail_in, 0) > 0;
  end.allocation = 0;
  if (failed) {
    expect(has(a, before), "rows as before the superstep, allocation " + std::to_string(allocation));
    expect(multiplies(me, a, before), "the product with them");
    pgas::superstep(me, [] {});
  }
  expect(has(a, serial), "all entries");
  expect(multiplies(me, a, serial), "the product with all");
  return none_left;
}

void matrix_keeps_its_rows() {
  pgas::run({.pes = 1, .transport = "threads", .workers = 1}, [](pgas::pe& me) {
    long allocation = 1;
    while (!matrix_attempt(me, allocation)) ++allocation;
    expect(allocation > 4, "that some have failed");
    std::printf("a matrix lost no entry where one of %ld allocations failed\n", allocation - 1);
  });
}

/// Without memory for more buckets, keys go past the cache.
void cache_counts_each_key_once() {
  using hash_of = pgas::key_hash<std::uint64_t>;
  for (long allocation = 1; allocation <= 8; ++allocation) {
    pgas::detail::hot_keys<std::uint64_t, hash_of> cache(1 << 16);
    std::map<std::uint64_t, std::uint64_t> serial, sent;
    const auto send = [&](const auto& entry) { sent[entry.key] += entry.count(); };
    for (std::uint64_t k = 0; k != 40'000; ++k) {
      const std::uint64_t key = k * k % 30'011;
      ++serial[key];
      if (k == 2'000) fail_in = allocation;
      if (!cache.count_or_take_in(key, hash_of()(key), send)) ++sent[key];
    }
    fail_in = 0;
    cache.take_out_all(send);
    expect(sent == serial, "each key as often as it came, allocation " + std::to_string(allocation));
  }
}

}  // namespace

// NOLINTBEGIN: the whole program's
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
// NOLINTEND

int main() {
  return shunt::testing::status_of([] {
    cache_counts_each_key_once();
    matrix_keeps_its_rows();
    return 0;
  });
}
