// When a checkpoint is written, and what the job does meanwhile.
#include <shunt/pgas/checkpoint.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas/detail/checkpoint_file.hpp>
#include <shunt/pgas/detail/checkpoint_keeper.hpp>
#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/sched/explore/explore.hpp>
#include <shunt/task.hpp>
#include <support/process.hpp>
#include <support/slowly.hpp>

#include "folder.hpp"

using namespace shunt;
using namespace shunt::testing;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

constexpr std::uint64_t cells = 101;

/// Where a job goes on: between these steps, from a checkpoint unless `fresh`.
struct beginning {
  bool fresh = true;
  std::uint64_t least = 0, most = 0;
};

/// A program of so many steps whose answer depends on each; it fails before step `end`.
/// \param saves_end  there it has a checkpoint of that step, however slow the disk is
std::uint64_t steps_of(pgas::pe& me, std::uint64_t steps, const beginning& from, std::uint64_t end, bool saves_end) {
  std::uint64_t step = 0;
  pgas::array<std::uint64_t> sums(me, cells, 1);
  pgas::checkpoint saved(me, "steps", step, sums);
  expect(saved.restored() != from.fresh, "from a checkpoint");
  expect(step >= from.least && step <= from.most, "from the last one");
  for (; step != steps; ++step) {
    saved.save_if_due();
    if (step == end && saves_end) expect(saved.save());
    if (step == end) throw error("the machine is gone");
    std::vector<std::uint64_t> now(sums.local().begin(), sums.local().end());
    me.barrier();
    pgas::superstep(me, [&] {
      for (std::size_t spot = 0; spot != now.size(); ++spot) sums[(now[spot] + step) % cells] += now[spot] % 7 + 1;
    });
  }
  std::uint64_t hash = 0;
  for (const auto [i, value] : sums.own()) hash += counter_random(i).at(value);
  return me.sum(hash);
}

std::uint64_t answer_of(const pgas::options& job, std::uint64_t steps, const beginning& from) {
  std::atomic<std::uint64_t> found{0};
  pgas::run(job, [&](pgas::pe& me) { found = steps_of(me, steps, from, steps, false); });
  return found;
}

}  // namespace

TEST_CASE("checkpoint: a job that has failed goes on where it was, with other workers") {
  constexpr std::uint64_t steps = 30;
  for (const auto& job : {small(1, 1), small(2, 1), small(3, 2), small(7, 3, 2)}) {
    const auto undisturbed = answer_of(job, steps, {});
    const folder there;
    auto checked = writing(job, there);
    checked.every = 0ms;
    checked.restart = "auto";
    beginning from;
    for (const std::uint64_t end : {1, 7, 8, 23}) {
      const bool saves_end = end == 7 || end == 23;
      CHECK_THAT(
          failure_of(checked, [&](pgas::pe& me) { static_cast<void>(steps_of(me, steps, from, end, saves_end)); }),
          Contains("the machine is gone"));
      from = {false, saves_end ? end : from.least, end};
      checked.workers = 1 + checked.workers % 3;
    }
    CHECK(answer_of(checked, steps, from) == undisturbed);
  }
}

TEST_CASE("checkpoint: without --checkpoint nothing is written, and nothing is waited for") {
  const folder there;
  pgas::run(small(2, 2), [&](pgas::pe& me) {
    int part = 0;
    pgas::checkpoint saved(me, "state", part);
    if (me.index() == 0) expect(!saved.save_if_due() && !saved.save() && saved.wait());  // PE 1 makes no call
    expect(!saved.restored() && saved.restored_generation() == 0);
  });
  CHECK(there.names().empty());
}

TEST_CASE("checkpoint: PE 0's clock decides for all, and without --every only save() writes") {
  for (const bool always : {false, true}) {
    const folder there;
    auto job = writing(small(3, 2), there);
    if (always) job.every = 0ms;
    pgas::run(job, [&](pgas::pe& me) {
      int part = 0;
      pgas::checkpoint saved(me, "state", part);
      const bool begun = saved.save_if_due();
      expect(begun == always);
      expect(me.sum(begun ? 1 : 0) == (always ? me.count() : 0));
      expect(saved.wait());
      if (!always) expect(saved.save());
    });
    CHECK(there.names() == std::vector<std::string>{"state.1"});
  }
}

TEST_CASE("checkpoint: two of one program have generations of their own") {
  const folder there;
  pgas::run(writing(small(2, 1), there), [](pgas::pe& me) {
    int a = me.index(), b = 10 + me.index();
    pgas::checkpoint first(me, "first", a), second(me, "second", b);
    expect(first.save() && second.save() && first.save());
  });
  CHECK(there.names() == std::vector<std::string>{"first.1", "first.2", "second.1"});
  CHECK(failure_of(restarted(small(2, 1), there), [](pgas::pe& me) {
          int a = 0, b = 0;
          const pgas::checkpoint first(me, "first", a), second(me, "second", b);
          expect(a == me.index() && b == 10 + me.index());
        }).empty());
}

TEST_CASE("checkpoint: names that cannot be, a second one, and one amid a superstep are refused") {
  const folder there;
  const auto refusal = [&](const std::function<void(pgas::pe&)>& program) {
    return failure_of(writing(small(2, 2), there), program);
  };
  CHECK_THAT(refusal([](pgas::pe& me) {
               int part = 0;
               const pgas::checkpoint saved(me, "no/name", part);
             }),
             Contains("checkpoint `no/name`: a name has") && Contains("SHUNT-0953"));
  CHECK_THAT(refusal([](pgas::pe& me) {
               int part = 0;
               for (int i = 0; i != 2; ++i) const pgas::checkpoint saved(me, "state", part);
             }),
             Contains("checkpoint `state` is made for the second time"));
  CHECK_THAT(refusal([](pgas::pe& me) {
               int part = 0;
               pgas::checkpoint saved(me, "state", part);
               pgas::superstep(me, [&] { saved.save_if_due(); });
             }),
             Contains("checkpoint `state` in a superstep") && Contains("SHUNT-0965"));
}

TEST_CASE("checkpoint: values that were fetched are no messages under way") {
  const folder there;
  pgas::run(writing(small(3, 2), there), [](pgas::pe& me) {
    pgas::array<long> cells_of_all(me, 30, 5);
    pgas::checkpoint saved(me, "state", cells_of_all);
    for (int i = 0; i != 30; ++i) expect(cells_of_all[i] == 5);
    expect(saved.save());
  });
  CHECK(there.names() == std::vector<std::string>{"state.1"});
}

TEST_CASE("helper_thread: messages are handled on a worker whose PE waits for the thread") {
  std::atomic<bool> came{false};
  pgas::run(tiny(2, 1), [&](pgas::pe& me) {
    pgas::symmetric<std::atomic<bool>*> flag(me, &came);
    pgas::actor_of messages(flag);
    if (me.index() == 0) {
      me.home().facts.keeper->thread().perform([&came] {
        while (!came) std::this_thread::yield();
      });
    } else {
      messages.send(0, [](std::atomic<bool>*& to) { *to = true; });
    }
    messages.finish();
  });
  CHECK(came);
}

TEST_CASE("helper_thread: what the work throws, the fiber that waits for it gets") {
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    const auto name = std::to_string(me.index());
    for (int i = 0; i != 20; ++i) {
      expect(thrown_by<error>([&] { me.home().facts.keeper->thread().perform([&] { throw error(name); }); }) == name);
    }
  });
}

TEST_CASE("checkpoint: a signal ends the job after a checkpoint, and the objects of its programs") {
  struct counted {
    explicit counted(std::atomic<int>& to) : alive(to) { ++alive; }
    ~counted() { --alive; }
    std::atomic<int>& alive;
  };
  for (const auto& job : {small(1, 1), small(3, 2), small(7, 3, 2)}) {
    const folder there;
    std::atomic<int> alive{0}, beyond{0};
    auto asked = writing(job, there);
    asked.checkpoint_signal = SIGUSR2;
    const auto said = thrown_by<pgas::checkpoint_stop>([&] {
      pgas::run(asked, [&](pgas::pe& me) {
        const counted here(alive);
        pgas::symmetric<long> sum(me, 0L);
        pgas::actor_of adder(sum);
        long step = 0;
        pgas::checkpoint saved(me, "state", step, sum);
        for (; step != 10; ++step) {
          expect(!saved.save_if_due());
          adder.send((me.index() + 1) % me.count(), [](long& n) { ++n; });
          adder.finish();
          if (step == 4 && me.index() == me.count() - 1) expect(::kill(::getpid(), SIGUSR2) == 0);
        }
        ++beyond;
      });
    });
    CHECK_THAT(said, Contains("stopped by a signal, after a checkpoint: " + there.path() + "/state.1") &&
                         Contains("SHUNT-0962"));
    CHECK(alive == 0);
    CHECK(beyond == 0);
    CHECK(failure_of(restarted(job, there), [](pgas::pe& me) {
            pgas::symmetric<long> sum(me, 0L);
            long step = 0;
            const pgas::checkpoint saved(me, "state", step, sum);
            expect(saved.restored() && step >= 5 && *sum == step);
          }).empty());
    struct sigaction now{};
    CHECK(::sigaction(SIGUSR2, nullptr, &now) == 0);
    CHECK(now.sa_handler == SIG_DFL);
  }
}

namespace {

/// A job that a signal asks to stop when save_if_due() has been called for the last time.
void asked_too_late(const pgas::options& job) {
  pgas::run(job, [](pgas::pe& me) {
    int part = 0;
    pgas::checkpoint saved(me, "state", part);
    expect(!saved.save_if_due());
    me.barrier();
    if (me.index() == 0) expect(::raise(SIGUSR2) == 0);
  });
}

pgas::options stopped_by_usr2(const folder& there) {
  auto job = writing(small(2, 1), there);
  job.checkpoint_signal = SIGUSR2;
  return job;
}

}  // namespace

TEST_CASE("checkpoint: a signal after the last chance to obey is left to the next job") {
  const folder there;
  const auto job = stopped_by_usr2(there);
  asked_too_late(job);  // throws nothing: it has run to its end
  CHECK(there.names().empty());
  int asked = 0;
  const auto once_more = [&] {
    pgas::run(job, [&](pgas::pe& me) {
      int part = 0;
      pgas::checkpoint saved(me, "state", part);
      saved.save_if_due();
      if (me.index() == 0) ++asked;
    });
  };
  CHECK_THAT(thrown_by<pgas::checkpoint_stop>(once_more), Contains("stopped by a signal, after a checkpoint"));
  CHECK(there.names() == std::vector<std::string>{"state.1"});
  CHECK(asked == 0);
  once_more();  // it has been obeyed
  CHECK(asked == 1);
}

TEST_CASE("child: a job that is asked to stop too late", "[.child]") {
  const folder there;
  asked_too_late(stopped_by_usr2(there));
}

TEST_CASE("checkpoint: a signal after the last chance to obey is told") {
  const auto child = this_program_runs("child: a job that is asked to stop too late");
  INFO(child.said);
  CHECK(child.ended_with(0));
  CHECK(child.says("program: rank 0: a signal has asked the job to stop after its last save_if_due()"));
}

TEST_CASE("checkpoint: launch() ends with 85 after a signal") {
  const folder there;
  std::string words[] = {"program", "--pes", "2", "--checkpoint", there.path() + "/", "--transport=threads"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(std::size(words));
  const int status = pgas::launch(argc, argv.data(), [](pgas::pe& me) {
    int part = 0;
    pgas::checkpoint saved(me, "state", part);
    if (me.index() == 0) expect(::kill(::getpid(), SIGTERM) == 0);
    me.barrier();
    saved.save_if_due();
    throw error("goes on");
  });
  CHECK(status == pgas::status_of_stop);
  CHECK(status == 85);
  CHECK(there.names() == std::vector<std::string>{"state.1"});
}

TEST_CASE("checkpoint: the options, and what they cannot be") {
  const auto options_of = [](std::vector<std::string> words) {
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(words.size());
    const auto o = pgas::options_from(argc, argv.data());
    pgas::check(o);
    return o;
  };
  const auto o = options_of(
      {"p", "--checkpoint", "/a/b//", "--every=10min", "--restart", "auto", "--checkpoint-signal", "SIGUSR2"});
  CHECK(o.checkpoint == "/a/b");
  CHECK(o.every == 10min);
  CHECK(o.restart == "auto");
  CHECK(o.checkpoint_signal == SIGUSR2);
  CHECK_FALSE(options_of({"p"}).every);
  CHECK(options_of({"p"}).checkpoint_signal == SIGTERM);
  const auto refusal = [&](const std::vector<std::string>& words) {
    return thrown_by<usage_error>([&] { static_cast<void>(options_of(words)); });
  };
  CHECK_THAT(refusal({"p", "--every", "10min"}), Contains("--every: needs --checkpoint DIR"));
  CHECK_THAT(refusal({"p", "--restart", "auto"}), Contains("--restart auto: needs --checkpoint DIR"));
  CHECK_THAT(refusal({"p", "--checkpoint="}), Contains("--checkpoint needs a value"));
  CHECK_THAT(refusal({"p", "--checkpoint-signal", "KILL"}), Contains("'KILL' is not one of TERM, INT"));
  CHECK_THAT(refusal({"p", "--checkpoint", "d", "--every", "10 min"}), Contains("'10 min' is not a time"));
}

TEST_CASE("parse_time: whole numbers with a unit") {
  CHECK(parse_time("o", "0") == 0ms);
  CHECK(parse_time("o", "7") == 7s);
  CHECK(parse_time("o", "20ms") == 20ms);
  CHECK(parse_time("o", "3s") == 3s);
  CHECK(parse_time("o", "10min") == 10min);
  CHECK(parse_time("o", "2h") == 2h);
  CHECK(parse_time("o", "1000d") == 24'000h);
  for (const char* const bad : {"", "min", "1.5h", "-1s", "1001d", "5 s", "5m", "99999999999999999999s"}) {
    CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(parse_time("--every", bad)); }),
               Contains("--every: '" + std::string(bad) + "' is not a time"));
  }
}

TEST_CASE("explored job: a checkpoint is a cut between two supersteps, in any order") {
  constexpr std::size_t runs = 100 / slowly;
  const auto found = test::explore(
      [] {
        const folder there;
        pgas::options job{.pes = 3};
        job.checkpoint = there.path();
        job.every = 0ms;
        pgas::run(job, [&](pgas::pe& me) {
          long step = 0;
          pgas::symmetric<long> sum(me, 0L);
          pgas::actor_of adder(sum);
          pgas::checkpoint saved(me, "state", step, sum);
          for (; step != 3; ++step) {
            saved.save_if_due();
            for (int pe = 0; pe != me.count(); ++pe) adder.send(pe, [](long& n) { ++n; });
            adder.finish();
          }
        });
        // The caller is the thread that writes: each call finds the one before it written.
        expect(there.names() == std::vector<std::string>{"state.2", "state.3"}, "two of three");
        for (const auto& generation : there.names()) {
          const pgas::detail::checkpoint_file file(there.path() + "/" + generation + "/pes-0-2");
          long first = -1;
          for (int pe = 0; pe != 3; ++pe) {
            long values[2];
            for (std::size_t part = 0; part != 2; ++part) {
              const auto bytes = file.part(pe, part);
              pgas::checkpoint_reader(bytes, "it").get(values[part]);
            }
            if (pe == 0) first = values[0];
            expect(values[0] == first && values[1] == 3 * values[0], "a cut");
          }
          expect("state." + std::to_string(first + 1) == generation, "of its step");
        }
      },
      runs);
  CHECK(found.failure == "");
  CHECK(found.runs == runs);
}

TEST_CASE("explored job: a checkpoint while messages are under way is refused, in some order") {
  const auto found = test::explore(
      [] {
        const folder there;
        pgas::options job{.pes = 2};
        job.checkpoint = there.path();
        job.check = false;
        pgas::run(job, [&](pgas::pe& me) {
          pgas::symmetric<long> sum(me, 0L);
          pgas::actor_of adder(sum);
          pgas::checkpoint saved(me, "state", sum);
          adder.send(1 - me.index(), [](long& n) { ++n; });
          static_cast<void>(saved.save());
          adder.finish();
        });
      },
      200);
  CHECK_THAT(found.failure,
             Contains("messages are under way: call finish() or quiesce() before it") && Contains("SHUNT-0966"));
}
