#include <shunt/pgas/array.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/containers/bag.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

/// What all PEs' random changes make of an array, serially.
std::vector<long> counted(std::uint64_t size, int pes, int changes) {
  std::vector<long> all(size);
  for (int p = 0; p != pes; ++p) {
    const shunt::counter_random random(1, p);
    for (int i = 0; i != changes; ++i) ++all[random.below(static_cast<std::uint64_t>(i), size)];
  }
  return all;
}

template <class Array>
void expect_values(const Array& array, const std::vector<long>& all) {
  for (std::size_t spot = 0; spot != array.local().size(); ++spot) {
    expect(array.local()[spot] == all[array.index_of(spot)], std::to_string(array.index_of(spot)));
  }
}

/// What a job that does that ends with.
std::string failure_of(const std::function<void(pgas::pe&)>& program) {
  return thrown_by([&] { pgas::run(small(2, 1), program); });
}

}  // namespace

TEST_CASE("array: a natural loop does what the serial loop does, for every layout and number of PEs") {
  constexpr std::uint64_t size = 1003;
  constexpr int changes = 300;
  for (const auto& job : all_jobs(tiny)) {
    const auto all = counted(size, job.pes, changes);
    pgas::run(job, [&](pgas::pe& me) {
      pgas::array<long> dealt(me, size);
      pgas::array<long, pgas::blocked> blocks(me, size);
      pgas::array<long, pgas::block_cyclic> rounds(me, size, pgas::block_cyclic(16));
      const shunt::counter_random random(1, me.index());
      pgas::superstep(me, [&] {
        for (std::uint64_t i = 0; i != changes; ++i) {
          const auto key = random.below(i, size);
          ++dealt[key];
          blocks[key] += 1;
          rounds[key].update([](long& at) { ++at; });
        }
      });
      expect_values(dealt, all);
      expect_values(blocks, all);
      expect_values(rounds, all);
      expect(dealt.sum() == long{changes} * me.count());
    });
  }
}

TEST_CASE("array: each operator is the element's own") {
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::array<int> a(me, 10, 12);
    const bool one = me.index() == 1;
    pgas::superstep(me, [&] {
      if (!one) return;
      a[0] = 5;
      a[1] += 5;
      a[2] -= 5;
      a[3] *= 5;
      a[4] |= 3;
      a[5] &= 4;
      a[6] ^= 5;
      a[7].min(5);
      a[8].max(50);
      a[9]++;
      a[9]++;
      a[9]--;
    });
    const int wanted[] = {5, 17, 7, 60, 15, 4, 9, 5, 50, 13};
    for (auto [i, value] : a.own()) expect(value == wanted[i], std::to_string(i));
  });
}

TEST_CASE("array: what a superstep has done is there for all after it, round after round") {
  pgas::run(tiny(7, 3), [](pgas::pe& me) {
    pgas::array<long> a(me, 100);
    for (long round = 1; round <= 10; ++round) {
      pgas::superstep(me, [&] {
        for (int i = 0; i != 100; ++i) a[i] += 1;
      });
      for (const long value : a.local()) expect(value == round * me.count());
      me.barrier();
    }
    a.fill(3);
    expect(a.sum() == 300);
  });
}

TEST_CASE("array: gather and scatter, by spans, by a view, and of none") {
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [](pgas::pe& me) {
      constexpr std::uint64_t size = 500;
      pgas::array<long> table(me, size);
      for (auto [i, value] : table.own()) value = static_cast<long>(i * i);
      me.barrier();
      std::vector<std::uint32_t> indices(static_cast<std::size_t>(me.index() % 3) * 40);
      const shunt::counter_random random(2, me.index());
      for (std::size_t k = 0; k != indices.size(); ++k) {
        indices[k] = static_cast<std::uint32_t>(random.below(k, size));
      }
      std::vector<long> target(indices.size());
      pgas::gather(table, indices, target);
      for (std::size_t k = 0; k != indices.size(); ++k) expect(target[k] == long{indices[k]} * long{indices[k]});
      std::size_t seen = 0;
      for (const auto& [k, value] : table | pgas::gather(indices)) {
        expect(value == target[k]);
        ++seen;
      }
      expect(seen == indices.size());

      // Each PE writes its own multiple: the elements i with i % PEs == its number.
      std::vector<std::uint64_t> mine;
      std::vector<long> values;
      for (auto i = static_cast<std::uint64_t>(me.index()); i < size; i += static_cast<std::uint64_t>(me.count())) {
        mine.push_back(i);
        values.push_back(-static_cast<long>(i));
      }
      pgas::scatter(table, mine, values);
      for (auto [i, value] : table.own()) expect(value == -static_cast<long>(i));
    });
  }
}

TEST_CASE("array: a range is put where its elements are, for every layout, length and number of PEs") {
  constexpr std::uint64_t size = 2000;
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [&](pgas::pe& me) {
      pgas::array<long> dealt(me, size, -1);
      pgas::array<char, pgas::blocked> blocks(me, size, 'x');
      pgas::array<long, pgas::block_cyclic> rounds(me, size, pgas::block_cyclic(16), -1);
      // In turn, by one PE each: a few elements, or more than a train takes, from anywhere.
      const shunt::counter_random random(2);
      for (int round = 0; round != 6; ++round) {
        const std::uint64_t length = round < 2 ? 3 : size / 2, first = random.below(round, size - length + 1);
        std::vector<long> values(length);
        std::vector<char> letters(length);
        for (std::uint64_t k = 0; k != length; ++k) values[k] = round * 10000 + static_cast<long>(k);
        for (std::uint64_t k = 0; k != length; ++k) letters[k] = static_cast<char>('a' + (first + k) % 26);
        const std::vector<long> before(dealt.local().begin(), dealt.local().end());
        pgas::superstep(me, [&] {
          if (me.index() != round % me.count()) return;
          dealt.put(first, values);
          blocks.put(first, letters);
          rounds.put(first, values);
        });
        bool right = true;
        const auto in_range = [=](std::uint64_t i) { return i >= first && i < first + length; };
        for (std::size_t spot = 0; spot != before.size(); ++spot) {
          const auto i = dealt.index_of(spot);
          right = right && dealt.local()[spot] == (in_range(i) ? values[i - first] : before[spot]);
        }
        for (auto [i, value] : rounds.own()) right = right && (!in_range(i) || value == values[i - first]);
        for (auto [i, value] : blocks.own())
          right = right && (!in_range(i) || value == static_cast<char>('a' + i % 26));
        expect(right, std::to_string(round));
      }
    });
  }
}

TEST_CASE("array: items travel along with a change") {
  struct seen {
    long sum = 0;
    unsigned letters = 0;
  };
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::array<seen> a(me, 5);
    pgas::superstep(me, [&] {
      const std::vector<long> numbers{1, 2, 3};
      const std::string text = "four";
      const auto last = a[4];  // once for both
      last.update(std::span<const long>(numbers), [times = 2](seen& at, std::span<const long> some) {
        for (const long n : some) at.sum += times * n;
      });
      last.update(std::span<const char>(text),
                  [](seen& at, std::string_view some) { at.letters += static_cast<unsigned>(some.size()); });
    });
    for (auto [i, value] : a.own())
      expect(value.sum == (i == 4 ? 12 * me.count() : 0) && value.letters == (i == 4 ? 4U : 0U) * 3U);
  });
}

TEST_CASE("array: a value outside of a superstep is fetched") {
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::array<long> a(me, 9);
    for (auto [i, value] : a.own()) value = static_cast<long>(10 * i);
    me.barrier();
    for (int i = 0; i != 9; ++i) {
      const long value = a[i];
      expect(value == 10 * i);
    }
    me.barrier();
    expect(a.owner(4) == 1);
  });
}

TEST_CASE("array: an empty one, one smaller than the job, and structs as elements") {
  struct point {
    double x = 0, y = 0;
  };
  pgas::run(tiny(7, 2), [](pgas::pe& me) {
    pgas::array<int> none(me, 0);
    pgas::array<int, pgas::blocked> few(me, 3);
    pgas::array<point> points(me, 20, point{1, 2});
    pgas::superstep(me, [&] {
      ++few[2];
      points[5].update([by = 0.5](point& p) { p.x += by; });
    });
    expect(none.sum() == 0);
    expect(few.sum() == me.count());
    for (auto [i, p] : points.own()) expect(p.y == 2 && p.x == (i == 5 ? 1 + 0.5 * me.count() : 1));
  });
}

TEST_CASE("array: what a superstep forbids, and what is beyond the array, names the line") {
  using Catch::Contains;
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               ++a[3];
             }),
             Contains("outside of a superstep") && Contains("array.test.cpp") && Contains("SHUNT-0945"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               pgas::superstep(me, [&] { static_cast<void>(int(a[3])); });
             }),
             Contains("an element in a superstep") && Contains("array.test.cpp") && Contains("SHUNT-0946"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10), b(me, 10);
               pgas::superstep(me, [&] { a[3] += b[4]; });  // the element's value, not the element
             }),
             Contains("an element in a superstep") && Contains("array.test.cpp") && Contains("SHUNT-0946"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               pgas::superstep(me, [&] { a[10] = 1; });
             }),
             Contains("element 10 of 10, 0 the first") && Contains("array.test.cpp") && Contains("SHUNT-0947"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               pgas::superstep(me, [&] { a[-1] = 1; });
             }),
             Contains("element -1 of 10"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               pgas::superstep(me, [&] { a.put(8, std::vector<int>(3)); });
             }),
             Contains("element 10 of 10") && Contains("array.test.cpp") && Contains("SHUNT-0947"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               a.put(0, std::vector<int>(3));
             }),
             Contains("outside of a superstep") && Contains("array.test.cpp") && Contains("SHUNT-0945"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               const std::vector<char> much(1 << 20);
               pgas::superstep(me, [&] { a[1].update(std::span<const char>(much), [](int&, std::string_view) {}); });
             }),
             Contains("array.test.cpp") && Contains("a message of 1048592 bytes is too long"));
  CHECK_THAT(failure_of([](pgas::pe& me) { pgas::superstep(me, [&] { pgas::superstep(me, [] {}); }); }),
             Contains("superstep() inside of a superstep") && Contains("SHUNT-0944"));
  CHECK_THAT(failure_of([](pgas::pe& me) { pgas::array<char> a(me, std::uint64_t{1} << 46); }),
             Contains("70368744177664 elements on 2 PEs") && Contains("SHUNT-0948"));
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               std::vector<int> indices(3), values(2);
               pgas::gather(a, indices, values);
             }),
             Contains("gather() gets ranges of 3 and of 2 items") && Contains("SHUNT-0949"));
}

TEST_CASE("array: an exception in a superstep ends the job with its text") {
  CHECK_THAT(failure_of([](pgas::pe& me) {
               pgas::array<int> a(me, 10);
               pgas::superstep(me, [&] {
                 ++a[1];
                 if (me.index() == 0) throw std::runtime_error("mine");
               });
             }),
             Catch::Contains("mine"));
}

TEST_CASE("array: where gather() or scatter() refuses an index it has done nothing, and the job may go on") {
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::array<int> a(me, 10, 7);
    const std::vector<int> indices{1, 2, 10}, values{8, 8, 8};
    const auto messages_of = [&](const auto& calls) {
      const auto before = me.traffic();
      calls();
      return (me.traffic() - before).messages;
    };
    const auto ask = [&] {
      const std::vector<int> asked{4, 5, 6};
      std::vector<int> found(3);
      pgas::gather(a, asked, found);
      expect(found == std::vector<int>{7, 7, 7});
    };
    const auto of_one = messages_of(ask);
    const auto of_all = messages_of([&] {
      expect_thrown<shunt::usage_error>([&] {
        std::vector<int> gone(3);
        pgas::gather(a, indices, gone);
      });
      expect_thrown<shunt::usage_error>([&] { pgas::scatter(a, indices, values); });
      ask();  // to which answers of the refused gather() would come
    });
    expect(of_one == of_all, std::to_string(of_all));
    for (const int value : a.local()) expect(value == 7);
  });
}

TEST_CASE("array: gather() and scatter() take the last element, and refuse any index beyond") {
  const auto bad =
      GENERATE(as<std::int64_t>(), 10, 11, std::int64_t{1} << 62, -1, std::numeric_limits<std::int64_t>::min());
  const auto at = GENERATE(as<std::size_t>(), 0, 1, 4);
  CAPTURE(bad, at);
  pgas::run(tiny(3, 2), [&](pgas::pe& me) {
    pgas::array<int> a(me, 10, 7), none(me, 0);
    std::vector<std::int64_t> indices(5, 9);
    std::vector<int> values(5, 8), nothing;
    pgas::gather(a, indices, values);
    expect(values == std::vector<int>(5, 7));
    indices[at] = bad;
    expect_thrown<shunt::usage_error>([&] { pgas::gather(a, indices, values); });
    expect_thrown<shunt::usage_error>([&] { pgas::scatter(a, indices, values); });
    pgas::gather(none, std::vector<int>(), nothing);
    expect_thrown<shunt::usage_error>([&] { pgas::gather(none, std::vector<int>(1), std::vector<int>(1)); });
  });
}

TEST_CASE("superstep: in a task on another worker it is refused, before its body runs") {
  pgas::run(tiny(2, 2), [](pgas::pe& me) {
    const pgas::array<int> a(me, 10);
    std::string said;
    bool ran = false;
    shunt::sched::waiter over;
    shunt::sched::this_worker::current().spawn(
        [&] {
          said = thrown_by<shunt::usage_error>([&] { pgas::superstep(me, [&] { ran = true; }); });
          over.wake();
        },
        {.worker = 1 - me.index()});
    over.wait("a fiber elsewhere", "test");
    expect(said.starts_with("PE " + std::to_string(me.index()) + ": superstep() in a task on another worker"));
    expect(!ran);
  });
}

TEST_CASE("superstep: PEs with other objects are told so") {
  using Catch::Contains;
  const auto failure = thrown_by([] {
    pgas::run(small(2, 2), [](pgas::pe& me) {
      pgas::array<int> a(me, 10);
      std::optional<pgas::array<int>> one_more;
      if (me.index() == 0) one_more.emplace(me, 10);
      pgas::superstep(me, [] {});
    });
  });
  CHECK_THAT(failure, Contains("superstep() with 2 distributed objects") &&
                          Contains("superstep() with 1 distributed object ") && Contains("SHUNT-0903"));
}

namespace {

/// An object of which one step at the end of a superstep fails on PE 1.
class failing_object final : pgas::detail::distributed {
 public:
  enum class step : std::uint8_t { send_rest, ended };
  failing_object(pgas::pe& me, step fails) : distributed(me, 1), fails_(fails), part_(me), messages_(part_) {}

 private:
  [[nodiscard]] pgas::detail::ending_selector changes() noexcept override {
    return pgas::detail::end_of::changes(messages_);
  }
  void send_rest() override { fail_in(step::send_rest); }
  void ended() override { fail_in(step::ended); }
  void fail_in(step now) const {
    if (fails_ == now && me().index() == 1) throw std::length_error("no memory");
  }

  step fails_;
  pgas::symmetric<int> part_;
  pgas::actor_of<int> messages_;
};

}  // namespace

TEST_CASE("superstep: where one object fails at its end, the others and the other PEs end it, and the PE is told") {
  using step = failing_object::step;
  for (const auto fails : {step::send_rest, step::ended}) {
    pgas::run(small(3, 2), [fails](pgas::pe& me) {
      pgas::bag<int> before(me);
      const failing_object first(me, fails), second(me, fails);
      pgas::bag<int> after(me);
      for (int round = 1; round <= 2; ++round) {
        bool told = false;
        try {
          pgas::superstep(me, [&] {
            before.insert(round);
            after.insert(round);
          });
        } catch (const std::length_error&) {
          told = true;
        }
        expect(told == (me.index() == 1));
        expect(before.size() == 3 * static_cast<std::uint64_t>(round));
        expect(after.size() == 3 * static_cast<std::uint64_t>(round));
      }
    });
  }
}

TEST_CASE("superstep: meanwhile local() shows what has come so far, and all of what the superstep does not change") {
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [](pgas::pe& me) {
      constexpr std::uint64_t size = 203;
      constexpr int changes = 300;
      pgas::array<long> changed(me, size), still(me, size, 7);
      const auto span = changed.local();
      for (long round = 1; round <= 2; ++round) {
        long seen = std::accumulate(span.begin(), span.end(), 0L);
        pgas::superstep(me, [&] {
          for (int i = 0; i != changes; ++i) {
            ++changed[static_cast<std::uint64_t>(i * 7 + me.index()) % size];
            const auto now = changed.local();
            expect(now.data() == span.data() && now.size() == span.size());
            const long sum = std::accumulate(now.begin(), now.end(), 0L);
            expect(seen <= sum && sum <= round * changes * me.count());
            seen = sum;
            for (const auto& [index, value] : still.own()) expect(value == 7 && index < size);
          }
        });
        expect(seen <= std::accumulate(span.begin(), span.end(), 0L));
        expect(changed.sum() == round * changes * me.count());
      }
    });
  }
}

TEST_CASE("superstep: of several objects none shows the next superstep, while its own part is read") {
  for (const auto& job : {tiny(2, 1), tiny(2, 2), tiny(7, 3), tiny(7, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      const auto pes = static_cast<std::uint64_t>(me.count());
      pgas::array<long> first(me, pes), second(me, pes);
      for (long round = 1; round <= 30; ++round) {
        // Some PEs are late, so that others are in the next superstep meanwhile.
        if ((me.index() + round) % 2 == 0) shunt::sched::this_fiber::yield();
        pgas::superstep(me, [&] {
          for (int i = 0; i != 200; ++i) {
            for (std::uint64_t p = 0; p != pes; ++p) ++first[p];
          }
          ++second[pes - 1];
        });
        expect(first.local()[0] == 200 * round * me.count());
        if (me.index() + 1 == me.count()) expect(second.local()[0] == round * me.count());
      }
    });
  }
}
