// RandomAccess: its stream, its table against a serial one, its verification, and the bound on what is under way.
#include <support/jobs.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include "random_access/random_access_class.hpp"
#include "random_access/random_access_lambda.hpp"

using namespace shunt;
using namespace shunt::testing;
using apps::access_plan;
using apps::access_stream;
using apps::access_table;

namespace {

std::vector<std::uint64_t> serial_table(unsigned scale, std::uint64_t updates) {
  std::vector<std::uint64_t> words(std::size_t{1} << scale);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
  access_stream stream(0);
  for (std::uint64_t i = 0; i < updates; ++i) {
    const auto x = stream.next();
    words[x & (words.size() - 1)] ^= x;
  }
  return words;
}

std::uint64_t xor_of(pgas::pe& me, std::uint64_t mine) {
  return me.reduce(mine, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}

}  // namespace

TEST_CASE("access_stream: begins anywhere, and is the benchmark's") {
  access_stream stream(0);
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const auto x = stream.next();
    CHECK(x == access_stream::at(i));
    if (i <= 63) CHECK(x == std::uint64_t{1} << i);
  }
  CHECK(access_stream::at(0) == 1);
  CHECK(access_stream::at(64) == 7);  // t^64 is t^2 + t + 1
  CHECK(access_stream::at(65) == 14);
  access_stream late(1'000'000'007);
  CHECK(late.next() == access_stream::at(1'000'000'008));
  // Its period, as the benchmark's rules state it.
  constexpr std::uint64_t period = 1'317'624'576'693'539'401;
  CHECK(access_stream::at(period) == 1);
  for (const std::uint64_t prime : {7, 73, 127, 337, 92'737, 649'657}) {
    CHECK(period % prime == 0);
    CHECK(access_stream::at(period / prime) != 1);
  }
}

TEST_CASE("random_access: the table is that of a serial loop, in both forms, and verifies without an error") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 3);
  const std::uint64_t look_ahead = GENERATE(0u, 100u, 1024u);
  CAPTURE(pes, workers, look_ahead);
  constexpr unsigned scale = 9;
  constexpr std::uint64_t updates = std::uint64_t{4} << scale;
  const auto wanted = serial_table(scale, updates);
  pgas::run(tiny(pes, workers), [&](pgas::pe& me) {
    pgas::symmetric<access_table> by_lambda(me, me, scale), by_class(me, me, scale);
    const auto plan = access_plan::of(me, updates, look_ahead);
    apps::lambda_form::random_access(by_lambda, plan, [](std::uint64_t) {});
    apps::class_form::random_access{{me}, *by_class}.run(plan, [](std::uint64_t) {});
    for (std::uint32_t s = 0; s < by_lambda->words.size(); ++s) {
      expect(by_lambda->words[s] == wanted[by_lambda->home.global(s)]);
    }
    expect(by_class->words == by_lambda->words);
    expect(me.sum(by_lambda->errors_after(updates, me.index())) == 0);
  });
}

TEST_CASE("random_access: the verification counts the words that are wrong") {
  pgas::run(tiny(2, 1), [&](pgas::pe& me) {
    pgas::symmetric<access_table> table(me, me, 8);
    apps::lambda_form::random_access(table, access_plan::of(me, 1024, 0), [](std::uint64_t) {});
    if (me.index() == 1) table->words[3] ^= 1, table->words[77] += 5;
    expect(me.sum(table->errors_after(1024, me.index())) == 2);
    pgas::symmetric<access_table> short_of_one(me, me, 8);
    apps::lambda_form::random_access(short_of_one, access_plan::of(me, 1023, 0), [](std::uint64_t) {});
    expect(me.sum(short_of_one->errors_after(1024, me.index())) == 1);
  });
}

TEST_CASE("random_access: a process has no more updates under way than it may look ahead") {
  const int pes = GENERATE(1, 2, 3, 7);
  CAPTURE(pes);
  constexpr std::uint64_t updates = 1'000, look_ahead = 64;
  pgas::run(tiny(pes, 2), [&](pgas::pe& me) {
    pgas::symmetric<access_table> table(me, me, 8);
    const auto plan = access_plan::of(me, updates, look_ahead);
    expect(me.sum(plan.at_once) <= look_ahead);  // all PEs of the one process
    expect(me.sum(plan.count) == updates);
    const auto at_first = xor_of(me, [&] {
      std::uint64_t all = 0;
      for (const auto word : table->words) all ^= word;
      return all;
    }());
    std::uint64_t before = 0, steps = 0, drawn = 0;
    access_stream stream(plan.first);
    apps::lambda_form::random_access(table, plan, [&](std::uint64_t done) {
      ++steps;
      expect(done - before <= plan.at_once);
      for (; before < done; ++before) drawn ^= stream.next();
      // Whatever the PEs have drawn so far is in the table.
      std::uint64_t all = 0;
      for (const auto word : table->words) all ^= word;
      expect(xor_of(me, all) == (at_first ^ xor_of(me, drawn)));
    });
    expect(before == plan.count);
    expect(steps == plan.steps);
  });
}

TEST_CASE("random_access: a look-ahead of less than one update a PE is refused") {
  CHECK_THROWS_AS(pgas::run(tiny(7, 2), [&](pgas::pe& me) { static_cast<void>(access_plan::of(me, 100, 6)); }),
                  usage_error);
}
