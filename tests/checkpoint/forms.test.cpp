// What may be a part, and comes back as it was.
#include <shunt/pgas/checkpoint.hpp>

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/crc32c.hpp>
#include <shunt/pgas/containers.hpp>

#include "folder.hpp"

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;

namespace {

std::vector<std::byte> bytes_of(const pgas::checkpoint_writer& written) {
  std::vector<std::byte> all;
  written.each_piece([&](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  return all;
}

/// Whether a value comes back.
template <class T>
bool returns(const T& value) {
  pgas::checkpoint_writer to;
  to.put(value);
  const auto bytes = bytes_of(to);
  REQUIRE(bytes.size() == to.size());
  pgas::checkpoint_reader from(bytes, "it");
  T other{};
  from.get(other);
  return other == value && from.left() == 0;
}

enum class color : std::uint8_t { red, green };
struct plain {
  int a;
  double b;
  friend bool operator==(const plain&, const plain&) = default;
};
/// Of a type with hooks: what is not kept is made anew.
struct sorted {
  std::vector<std::string> words;
  std::size_t letters = 0;

  void save(pgas::checkpoint_writer& to) const { to.put(words); }
  void load(pgas::checkpoint_reader& from) {
    from.get(words);
    letters = 0;
    for (const auto& word : words) letters += word.size();
  }
  friend bool operator==(const sorted&, const sorted&) = default;
};

}  // namespace

TEST_CASE("crc32c: the published value, whatever the pieces, by tables and by instruction") {
  const std::string text = "123456789";
  const auto bytes = std::as_bytes(std::span(text));
  CHECK(crc32c::of(bytes) == 0xe3069283);
  CHECK(detail::crc32c_by_tables(0xffffffff, bytes) == ~0xe3069283U);
  CHECK(crc32c::of({}) == 0);
  const std::string longer = shunt::testing::text(100, 3);
  const auto all = std::as_bytes(std::span(longer));
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    crc32c pieces;
    pieces.add(all.first(cut));
    pieces.add(all.subspan(cut));
    CHECK(pieces.value() == crc32c::of(all));
    CHECK(~detail::crc32c_by_tables(0xffffffff, all.first(cut)) == crc32c::of(all.first(cut)));
  }
}

TEST_CASE("checkpoint_writer: every kind of part comes back") {
  CHECK(returns(7));
  CHECK(returns(color::green));
  CHECK(returns(plain{1, 2.5}));
  CHECK(returns(std::array<plain, 3>{plain{1, 2}, {3, 4}, {5, 6}}));
  CHECK(returns(std::string("text")));
  CHECK(returns(std::string()));
  CHECK(returns(std::vector<int>{1, 2, 3}));
  CHECK(returns(std::vector<int>()));
  CHECK(returns(std::vector<bool>{true, false, true}));
  CHECK(returns(std::vector<std::string>{"a", "", "ccc"}));
  CHECK(returns(std::deque<long>{4, 5}));
  CHECK(returns(std::set<std::string>{"x", "y"}));
  CHECK(returns(std::map<char, int>{{'a', 1}, {'b', 2}}));
  CHECK(returns(std::unordered_map<std::string, std::vector<double>>{{"a", {1, 2}}, {"b", {}}}));
  CHECK(returns(std::pair<char, int>{'a', 1}));
  CHECK(returns(std::tuple<int, std::string>{1, "one"}));
  CHECK(returns(std::array<std::string, 2>{"one", "two"}));
  CHECK(returns(std::optional<std::string>("some")));
  CHECK(returns(std::optional<std::string>()));
  CHECK(returns(sorted{{"ab", "c"}, 3}));
  CHECK(returns(std::vector<sorted>{{{"ab", "c"}, 3}, {{}, 0}}));
}

TEST_CASE("checkpoint_writer: pieces of any length lie one behind the other") {
  pgas::checkpoint_writer to;
  std::string all;
  for (const std::size_t length : {1, 4095, 1, 3, 5000, 1 << 20, 7, (3 << 20) + 1, 0, 9}) {
    const auto piece = text(length, static_cast<int>(length));
    to.put_bytes(std::as_bytes(std::span(piece)));
    all += piece;
  }
  const auto bytes = bytes_of(to);
  REQUIRE(bytes.size() == all.size());
  CHECK(to.size() == all.size());
  CHECK(std::memcmp(bytes.data(), all.data(), all.size()) == 0);
}

TEST_CASE("checkpoint_reader: what is read beyond the end, or in another number, is refused") {
  pgas::checkpoint_writer to;
  to.put(std::vector<int>{1, 2, 3});
  const auto bytes = bytes_of(to);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    pgas::checkpoint_reader from(std::span<const std::byte>(bytes).first(length), "FILE: PE 1, part 2");
    std::vector<int> into;
    CHECK_THAT(thrown_by<error>([&] { from.get(into); }),
               Contains("FILE: PE 1, part 2: load() reads beyond what save() has put"));
  }
  std::array<int, 2> two{};
  pgas::checkpoint_reader from(bytes, "it");
  CHECK_THAT(thrown_by<error>([&] { from.get_items(std::span<int>(two)); }),
             Contains("it has 3 items, and the program 2"));
}

TEST_CASE("checkpoint: distributed objects come back on the PEs that they were on, whatever the workers and hops") {
  for (const auto& job : {small(1, 1), small(2, 2), small(3, 1), small(7, 3), small(7, 2, 2)}) {
    const folder there;
    // As the first job leaves them, and the second finds them.
    const auto with_all = [](pgas::pe& me, bool first) {
      long step = 0;
      pgas::symmetric<std::vector<int>> part(me);
      pgas::array<long> cells(me, 100);
      pgas::array<int, pgas::blocked> blocks(me, 10);
      pgas::map<std::string, std::string> words(me);
      pgas::map<int, std::vector<int>> lists(me);
      pgas::multimap<int, long> groups(me);
      pgas::set<std::uint64_t> seen(me);
      pgas::counting_set<std::string> counts(me);
      pgas::bag<int> items(me);
      pgas::disjoint_sets sets(me, 50);
      pgas::sparse_matrix<double> matrix(me, 20, 30);
      const auto fill = [&] {
        step = 17;
        part->assign(static_cast<std::size_t>(me.index()), me.index());
        pgas::superstep(me, [&] {
          for (int i = me.index(); i < 100; i += me.count()) {
            cells[i] = 3 * i;
            blocks[i / 10] += i;
            words.insert("key " + std::to_string(i), text(static_cast<std::size_t>(i) * 20, i));
            lists.visit(i % 10, [i](std::vector<int>& l) { l.push_back(i); });
            groups.insert(i % 7, i);
            seen.insert(i);
            counts.insert("word " + std::to_string(i % 5));
            items.insert(i);
            if (i < 48) sets.unite(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i) + 2);
            matrix.add(static_cast<std::uint64_t>(i % 20), static_cast<std::uint64_t>(i % 30), i);
          }
        });
      };
      if (first) fill();
      pgas::checkpoint saved(me, "all", step, part, cells, blocks, words, lists, groups, seen, counts, items, sets,
                             matrix);
      if (first) {
        expect(!saved.restored() && saved.save());
        return;
      }
      expect(saved.restored() && saved.restored_generation() == 1 && step == 17);
      expect(*part == std::vector<int>(static_cast<std::size_t>(me.index()), me.index()), "symmetric");
      for (const auto [i, value] : cells.own()) expect(value == 3 * static_cast<long>(i), "array");
      for (const auto [i, value] : blocks.own()) expect(value == 100 * static_cast<int>(i) + 45, "array, blocked");
      expect(words.size() == 100 && seen.size() == 100 && items.size() == 100 && groups.size() == 100);
      for (const auto [key, value] : words.local()) {
        const int i = std::stoi(key.substr(4));
        expect(words.owner(key) == me.index() && value == text(static_cast<std::size_t>(i) * 20, i), "map");
      }
      for (const auto [key, list] : lists.local()) expect(list.size() == 10 && list[3] % 10 == key, "map of vectors");
      for (const auto& key : seen.local()) expect(seen.owner(key) == me.index(), "set");
      for (const auto [word, n] : counts.local()) expect(n == 20, "counting_set");
      expect(counts.total() == 100);
      sets.flatten();
      expect(sets.count() == 2, "disjoint_sets");
      expect(matrix.entries() == 60, "sparse_matrix");
      pgas::array<double> ones(me, 30, 1.0), sums(me, 20);
      matrix.multiply(ones, sums);
      for (const auto [i, value] : sums.own()) expect(value == 5 * static_cast<double>(i) + 200, "multiply");
      // They go on as they would have.
      pgas::superstep(me, [&] {
        ++cells[0];
        words.erase("key 7");
        matrix.add(0, 0, 1.0);
      });
      expect(cells[0] == me.count() && words.size() == 99);
    };
    pgas::run(writing(job, there), [&](pgas::pe& me) { with_all(me, true); });
    auto other = job;
    other.workers = job.workers == 1 ? 2 : 1;
    other.hops = 1;
    pgas::run(restarted(other, there), [&](pgas::pe& me) { with_all(me, false); });
  }
}

TEST_CASE("checkpoint: an object of another size or layout is refused, with both") {
  const folder there;
  pgas::run(writing(small(2, 1), there), [](pgas::pe& me) {
    pgas::array<int> cells(me, 100);
    pgas::array<int, pgas::block_cyclic> rounds(me, 1000, pgas::block_cyclic(16));
    pgas::checkpoint one(me, "size", cells);
    pgas::checkpoint other(me, "layout", rounds);
    expect(one.save() && other.save());
  });
  CHECK_THAT(failure_of(restarted(small(2, 1), there),
                        [](pgas::pe& me) {
                          pgas::array<int> cells(me, 101);
                          const pgas::checkpoint one(me, "size", cells);
                        }),
             Contains("/size.1/pes-0-1: PE ") && Contains(", part 1 (shunt::") &&
                 Contains("it is of an array of 100 elements, and the program's has 101") && Contains("SHUNT-0960"));
  CHECK_THAT(failure_of(restarted(small(2, 1), there),
                        [](pgas::pe& me) {
                          pgas::array<int, pgas::block_cyclic> rounds(me, 1000, pgas::block_cyclic(20));
                          const pgas::checkpoint other(me, "layout", rounds);
                        }),
             Contains("its array has another layout"));
}

TEST_CASE("checkpoint: a load() that leaves bytes is refused") {
  struct wide {
    void save(pgas::checkpoint_writer& to) const { to.put(1L); }
    void load(pgas::checkpoint_reader& from) { static_cast<void>(from.get<int>()); }
  };
  const folder there;
  save_one<wide>(writing(small(1, 1), there), [](pgas::pe&, wide&) {});
  CHECK_THAT(failure_of(restarted(small(1, 1), there),
                        [](pgas::pe& me) {
                          wide part;
                          const pgas::checkpoint saved(me, "state", part);
                        }),
             Contains("load() leaves 4 of 8 bytes that save() has put"));
}
