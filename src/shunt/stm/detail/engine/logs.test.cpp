// The logs of one attempt, without a transaction: what was read, what will be written, what is undone, what commutes.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <shunt/stm/detail/engine/commute_log.hpp>
#include <shunt/stm/detail/engine/read_log.hpp>
#include <shunt/stm/detail/engine/undo_log.hpp>
#include <shunt/stm/detail/engine/write_log.hpp>
#include <vector>

using namespace shunt::stm::detail;

namespace {

constexpr form plain{1, nullptr};

/// Boxes that drop() deletes: it counts them. Numbers of boxes stand for their addresses.
int dropped_boxes = 0;
constexpr form boxed{1, [](word) noexcept { ++dropped_boxes; }};

/// A commit to `v` by another transaction. \return the version that `v` has now.
word commit_to(const variable& v) {
  const auto version = the_clock.now.fetch_add(one_step) + one_step;
  v.lock = version;
  return version;
}

/// The word of a variable that this entry has locked.
word locked_by(const entry& e) { return locked_bit | reinterpret_cast<std::uintptr_t>(&e); }

/// As a transaction adds an entry: the value is stored behind it.
entry& write(write_log& log, const variable& v, word value, const form& how = plain) {
  entry& e = log.add(&v, nullptr, &how);
  e.value[0] = value;
  e.before = v.lock;
  return e;
}

}  // namespace

// --- read_log ---

TEST_CASE("read_log: keeps what was read in order, across growth, and starts empty as of now") {
  read_log log;
  const std::vector<variable> all(600);  // more than two times its first room
  for (int attempt = 0; attempt < 2; ++attempt) {
    log.start();
    CHECK(log.size() == 0);
    CHECK(log.limit() == (the_clock.now | waiters_bit));
    for (std::size_t i = 0; i < all.size(); ++i) {
      log.add(&all[i]);
      REQUIRE(log.size() == i + 1);
    }
    std::size_t i = 0;
    for (const variable* const v : log) REQUIRE(v == &all[i++]);
  }
}

TEST_CASE("read_log: the limit is above the word of every variable committed to before, and below all others") {
  const variable before, waited_for, after, locked;
  commit_to(before);
  waited_for.lock = commit_to(waited_for) | waiters_bit;
  read_log log;
  log.start();
  commit_to(after);
  locked.lock = locked_bit;
  CHECK(before.lock <= log.limit());
  CHECK(waited_for.lock <= log.limit());
  CHECK(after.lock > log.limit());
  CHECK(locked.lock > log.limit());
  log.refuse_all();
  CHECK(variable().lock > log.limit());
}

TEST_CASE("read_log: extend moves the snapshot to now only if everything read is as it was") {
  const variable read, other;
  read_log log;
  log.start();
  log.add(&read);
  const auto first = log.limit();
  const auto version = commit_to(other);
  REQUIRE(log.extend());
  CHECK(log.limit() == (version | waiters_bit));
  CHECK(first < log.limit());

  const auto second = log.limit();
  SECTION("a commit to it") { commit_to(read); }
  SECTION("a lock on it") { read.lock = locked_bit; }
  CHECK_FALSE(log.extend());
  CHECK(log.limit() == second);
}

TEST_CASE("read_log: extend does not mind that a transaction waits for what was read") {
  const variable read;
  read_log log;
  log.start();
  log.add(&read);
  read.lock |= waiters_bit;
  CHECK(log.extend());
}

TEST_CASE("read_log: validate names the first variable that has changed, and accepts this transaction's own locks") {
  const variable all[3];
  read_log log;
  write_log writes, others;
  log.start();
  for (const auto& v : all) log.add(&v);
  CHECK(log.validate(writes) == nullptr);

  SECTION("commits of others") {
    commit_to(all[2]);
    CHECK(log.validate(writes) == &all[2]);
    commit_to(all[1]);
    CHECK(log.validate(writes) == &all[1]);
  }
  SECTION("a lock of another transaction") {
    all[1].lock = locked_by(write(others, all[1], 0));
    CHECK(log.validate(writes) == &all[1]);
    all[1].lock = locked_bit;  // of no entry
    CHECK(log.validate(writes) == &all[1]);
  }
  SECTION("an own lock, of a variable that was as it had been read") {
    all[1].lock = locked_by(write(writes, all[1], 0));
    CHECK(log.validate(writes) == nullptr);
  }
  SECTION("an own lock, of a variable that another transaction had committed to before") {
    commit_to(all[1]);
    all[1].lock = locked_by(write(writes, all[1], 0));
    CHECK(log.validate(writes) == &all[1]);
  }
}

// --- write_log ---

TEST_CASE("write_log: finds each variable that it holds, and no other, at every size") {
  write_log log;
  const std::deque<variable> all(300);
  const auto round = GENERATE(range(0, 2));  // the second time in a log that has been used
  for (int i = 0; i <= round; ++i) {
    log.clear();
    CHECK(log.empty());
    for (std::size_t n = 0; n < all.size(); ++n) {
      REQUIRE(log.size() == n);
      REQUIRE(log.find(&all[n]) == nullptr);
      write(log, all[n], 10 * n);
      for (std::size_t k = n < 40 ? 0 : n; k <= n; ++k) {
        REQUIRE(log.may_hold(&all[k]));
        REQUIRE(log.holds(&all[k]));
        REQUIRE(log.find(&all[k])->value[0] == 10 * k);
        REQUIRE(log[k].target == &all[k]);
      }
    }
    for (std::size_t k = 0; k < all.size(); ++k) REQUIRE(log.find(&all[k])->value[0] == 10 * k);
  }
}

TEST_CASE("write_log: truncate keeps the first entries, and the others can be added anew") {
  const std::size_t whole = GENERATE(as<std::size_t>(), 5, 16, 17, 40, 100);
  const std::size_t kept = GENERATE(as<std::size_t>(), 0, 1, 5, 15, 16, 17, 39, 100);
  if (kept > whole) return;
  write_log log;
  const std::deque<variable> all(200);
  for (std::size_t i = 0; i < whole; ++i) write(log, all[i], i);
  log.truncate(kept);
  CHECK(log.size() == kept);
  for (std::size_t i = 0; i < whole; ++i) REQUIRE((log.find(&all[i]) != nullptr) == (i < kept));
  // In another order.
  for (std::size_t i = all.size(); i-- > kept;) {
    REQUIRE(log.find(&all[i]) == nullptr);
    write(log, all[i], 1'000 + i);
  }
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(log.find(&all[i])->value[0] == (i < kept ? i : 1'000 + i));
}

TEST_CASE("write_log: one look says whether variables may be read in place") {
  write_log log;
  const variable v;
  CHECK_FALSE(log.read_in_place());
  CHECK_FALSE(log.may_hold(&v));
  log.allow_reads_in_place(true);
  CHECK(log.read_in_place());
  CHECK_FALSE(log.may_hold(&v));

  SECTION("not once something is written") { write(log, v, 1); }
  SECTION("not once a variable is marked, which find() does not know") {
    log.mark(&v);
    CHECK(log.may_hold(&v));
    CHECK_FALSE(log.holds(&v));
  }
  SECTION("not once it is forbidden") {
    log.forbid_reads_in_place();
    CHECK_FALSE(log.may_hold(&v));
  }
  CHECK_FALSE(log.read_in_place());
  log.clear();
  CHECK(log.read_in_place());  // the next attempt
  log.allow_reads_in_place(false);
  CHECK_FALSE(log.read_in_place());
}

TEST_CASE("write_log: knows its own locks from others") {
  write_log mine, theirs;
  const std::deque<variable> all(40);
  CHECK(mine.owner_of(locked_bit) == nullptr);
  for (const auto& v : all) {
    write(mine, v, 1);
    write(theirs, v, 2);
  }
  for (const entry& e : mine) CHECK(mine.owner_of(locked_by(e)) == &e);
  for (const entry& e : theirs) CHECK(mine.owner_of(locked_by(e)) == nullptr);
  CHECK(mine.owner_of(locked_bit) == nullptr);
  mine.truncate(1);
  CHECK(mine.owner_of(locked_by(*mine.begin())) == mine.begin());
  CHECK(mine.owner_of(locked_by(*mine.end())) == nullptr);
}

// --- undo_log ---

TEST_CASE("undo_log: a part that is undone leaves the values of the part around it, and drops its own boxes") {
  write_log writes;
  undo_log undo;
  const variable a, b, c;
  dropped_boxes = 0;
  write(writes, a, 1, boxed);
  write(writes, b, 2);
  CHECK_FALSE(undo.is_outer(0));  // there is no part yet

  const auto overwrite = [&](std::size_t position, word value) {
    if (undo.is_outer(position)) undo.save(position, writes[position].value);
    writes[position].value[0] = value;
  };
  const auto outer = undo.begin_part(writes.size());
  CHECK(undo.is_outer(1));
  write(writes, c, 3);
  CHECK_FALSE(undo.is_outer(2));
  overwrite(0, 10);
  overwrite(1, 20);
  const auto saved = undo.size();
  CHECK(saved == 2);

  const auto inner = undo.begin_part(writes.size());
  CHECK(undo.is_outer(2));
  overwrite(0, 100);
  overwrite(0, 101);
  overwrite(2, 300);
  undo.roll_back(writes, saved);
  CHECK(undo.size() == saved);
  CHECK(writes[0].value[0] == 10);
  CHECK(writes[2].value[0] == 3);
  CHECK(dropped_boxes == 2);  // 101 and 100; the others are no boxes
  undo.end_part(inner);
  CHECK_FALSE(undo.is_outer(2));

  SECTION("the part ends well: the boxes that it replaced go at the end of the transaction") {
    undo.end_part(outer);
    CHECK_FALSE(undo.is_outer(0));
    undo.drop_boxes(writes);
    CHECK(dropped_boxes == 3);
    CHECK(writes[0].value[0] == 10);
  }
  SECTION("the part is undone, too") {
    undo.roll_back(writes, 0);
    undo.end_part(outer);
    CHECK(dropped_boxes == 3);
    CHECK(writes[0].value[0] == 1);
    CHECK(writes[1].value[0] == 2);
  }
  undo.clear();
  CHECK(undo.size() == 0);
}

// --- commute_log ---

TEST_CASE("commute_log: gives changes back in the order in which they came, of one variable or of any") {
  commute_log log;
  const variable a, b;
  std::vector<int> done;
  const auto add = [&](const variable& v, int number) {
    log.add({&v, nullptr, &plain, [&done, number](words&) { done.push_back(number); }});
  };
  const auto take = [&](const variable* v) {
    auto change = log.take(v);
    words value{};
    if (change) change->apply(value);
    return change ? change->target : nullptr;
  };
  CHECK(log.empty());
  CHECK(take(nullptr) == nullptr);
  add(a, 1);
  add(b, 2);
  add(a, 3);
  add(b, 4);
  CHECK(take(&b) == &b);
  CHECK(take(nullptr) == &a);
  CHECK(take(nullptr) == &a);
  CHECK(take(&a) == nullptr);
  CHECK_FALSE(log.empty());
  CHECK(take(&b) == &b);
  CHECK(log.empty());
  CHECK(done == std::vector{2, 1, 3, 4});
  add(a, 5);
  log.clear();
  CHECK(log.empty());
}
