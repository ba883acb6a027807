// Starting jobs: options from the command line and the environment, layouts of PEs, plans of buffers.
#include <support/jobs.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <shunt/pgas/detail/job.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::StartsWith;
using namespace std::chrono_literals;

namespace {

/// Sets a variable for a while.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

/// A command line that may be changed in place.
struct line {
  explicit line(std::vector<std::string> given) : words(std::move(given)) {
    for (auto& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    argc = static_cast<int>(words.size());
  }
  [[nodiscard]] std::vector<std::string> left() const { return {argv.begin(), argv.begin() + argc}; }
  std::vector<std::string> words;
  std::vector<char*> argv;
  int argc = 0;
};

std::string refusal_of(std::vector<std::string> words) {
  line l(std::move(words));
  return thrown_by<usage_error>([&] { static_cast<void>(pgas::options_from(l.argc, l.argv.data())); });
}

}  // namespace

TEST_CASE("options_from: takes the options of a job out of the command line, and leaves the rest in order") {
  line l({"/some/where/histo", "--pes", "6", "--table=7", "--workers=2", "x", "--transport", "threads", "--budget",
          "64k", "--train=1k", "--hops", "2", "--deadline=3", "--spin", "0", "--form", "class"});
  const auto o = pgas::options_from(l.argc, l.argv.data());
  CHECK(o.pes == 6);
  CHECK(o.workers == 2);
  CHECK(o.transport == "threads");
  CHECK(o.budget == 64 * 1024);
  CHECK(o.train_bytes == 1024);
  CHECK(o.hops == 2);
  CHECK(o.deadline == 3s);
  CHECK(o.spin == 0ns);
  CHECK(o.name == "histo");
  CHECK(l.left() == std::vector<std::string>{"/some/where/histo", "--table=7", "x", "--form", "class"});
  CHECK(l.argv[static_cast<std::size_t>(l.argc)] == nullptr);
}

TEST_CASE("options_from: a bad value names the option, the text and what is right") {
  CHECK_THAT(refusal_of({"p", "--pes", "0"}), Contains("--pes") && Contains("0"));
  CHECK_THAT(refusal_of({"p", "--pes", "65537"}), Contains("--pes") && Contains("65536"));
  CHECK_THAT(refusal_of({"p", "--pes", "many"}), Contains("--pes") && Contains("many"));
  CHECK_THAT(refusal_of({"p", "--pes=-3"}), Contains("--pes"));
  CHECK_THAT(refusal_of({"p", "--pes"}), Contains("--pes needs a value"));
  CHECK_THAT(refusal_of({"p", "--pes="}), Contains("--pes"));
  CHECK_THAT(refusal_of({"p", "--hops", "3"}), Contains("--hops"));
  CHECK_THAT(refusal_of({"p", "--budget", "12T"}), Contains("--budget") && Contains("12T"));
  CHECK_THAT(refusal_of({"p", "--train", "9"}), Contains("--train"));
  CHECK_THAT(refusal_of({"p", "--deadline", "0"}), Contains("--deadline"));
  CHECK_THAT(refusal_of({"p", "--start-deadline", "0"}), Contains("--start-deadline"));
}

TEST_CASE("options: every option has its variable, which the command line overrides") {
  const variable pes("SHUNT_PES", "5"), workers("SHUNT_WORKERS", "2"), transport("SHUNT_TRANSPORT", "threads"),
      budget("SHUNT_BUDGET", "1M"), train("SHUNT_TRAIN", "2k"), hops("SHUNT_HOPS", "2"),
      deadline("SHUNT_DEADLINE", "9"), start("SHUNT_START_DEADLINE", "11"), spin("SHUNT_SPIN", "7");
  const auto o = pgas::options_from_environment();
  CHECK(o.pes == 5);
  CHECK(o.workers == 2);
  CHECK(o.transport == "threads");
  CHECK(o.budget == 1 << 20);
  CHECK(o.train_bytes == 2048);
  CHECK(o.hops == 2);
  CHECK(o.deadline == 9s);
  CHECK(o.start_deadline == 11s);
  CHECK(o.spin == 7us);
  line l({"p", "--pes", "3", "--train", "1k"});
  const auto both = pgas::options_from(l.argc, l.argv.data());
  CHECK(both.pes == 3);
  CHECK(both.train_bytes == 1024);
  CHECK(both.workers == 2);
  std::atomic<int> ran{0};
  pgas::run(both, [&](pgas::pe& me) {
    expect(me.count() == 3 && me.train_bytes() == 1024 && me.hops() == 2);
    ++ran;
  });
  CHECK(ran == 3);
}

TEST_CASE("options: a bad or unknown variable is named") {
  {
    const variable bad("SHUNT_PES", "none");
    CHECK_THROWS_WITH(pgas::options_from_environment(), Contains("SHUNT_PES") && Contains("none"));
  }
  {
    const variable misspelt("SHUNT_WORKER", "2");
    CHECK_THROWS_WITH(pgas::options_from_environment(), Contains("SHUNT_WORKER") && Contains("SHUNT_WORKERS"));
    line l({"p"});
    CHECK(pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) {}) == 2);
  }
  const variable empty("SHUNT_PES", "");
  CHECK(pgas::options_from_environment().pes == 0);
}

TEST_CASE("launch: 0 after a good job, 1 after an error, 2 after a usage error; its options are gone from argv") {
  {
    line l({"p", "--pes", "3", "--workers=2", "rest"});
    std::atomic<int> ran{0};
    CHECK(pgas::launch(l.argc, l.argv.data(), [&](pgas::pe& me) { ran += me.count(); }) == 0);
    CHECK(ran == 9);
    CHECK(l.left() == std::vector<std::string>{"p", "rest"});
  }
  {
    line l({"p", "--pes", "2"});
    CHECK(pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) { throw std::runtime_error("on purpose"); }) == 1);
  }
  {
    line l({"p", "--pes", "2"});
    CHECK(pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) { throw shunt::usage_error("on purpose"); }) == 2);
    CHECK_THROWS_AS(pgas::run({.pes = 2}, [](pgas::pe&) { throw shunt::usage_error("on purpose"); }),
                    shunt::usage_error);
  }
  {
    line l({"p", "--pes", "x"});
    CHECK(pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) {}) == 2);
  }
  {
    line l({"p", "--transport", "pigeons"});
    CHECK(pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) {}) == 2);
  }
  {
    line l({"p", "--pes", "2", "--budget", "4096", "--train", "4096"});
    CHECK(pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) {}) == 2);
  }
}

TEST_CASE("launch: a word that is nearly a job's option is left to the program, and told") {
  const auto said = [](const std::vector<std::string>& words) {
    line l(words);
    const int kept = dup(STDERR_FILENO);
    std::FILE* const into = std::tmpfile();
    REQUIRE(into != nullptr);
    dup2(fileno(into), STDERR_FILENO);
    const int status = pgas::launch(l.argc, l.argv.data(), [](pgas::pe&) {});
    dup2(kept, STDERR_FILENO);
    close(kept);
    std::rewind(into);
    char text[512];
    const std::string all(text, std::fread(text, 1, sizeof text, into));
    std::fclose(into);
    CHECK(status == 0);
    CHECK(l.left().size() == words.size() - 2);
    return all;
  };
  CHECK(said({"p", "--pes", "2", "--pess", "4"}) ==
        "p: --pess is left to the program; the job's own option is --pes\n");
  CHECK(said({"p", "--pes", "2", "--buget=4k"}) ==
        "p: --buget is left to the program; the job's own option is --budget\n");
  CHECK(said({"p", "--pes", "2", "--table", "pess"}).empty());
  CHECK(said({"p", "--pes", "2", "--", "--pess"}).empty());
}

TEST_CASE("run: refuses options out of range before anything starts") {
  const auto refuses = [](auto change) {
    auto o = tiny(2, 2);
    change(o);
    bool started = false;
    CHECK_THROWS_AS(pgas::run(o, [&](pgas::pe&) { started = true; }), usage_error);
    CHECK_FALSE(started);
  };
  refuses([](pgas::options& o) { o.pes = -1; });
  refuses([](pgas::options& o) { o.pes = 65'537; });
  refuses([](pgas::options& o) { o.workers = -1; });
  refuses([](pgas::options& o) { o.workers = 5000; });
  refuses([](pgas::options& o) { o.hops = 3; });
  refuses([](pgas::options& o) { o.hops = -1; });
  refuses([](pgas::options& o) { o.deadline = 0ms; });
  refuses([](pgas::options& o) { o.start_deadline = -1ms; });
  refuses([](pgas::options& o) { o.spin = -1ns; });
  refuses([](pgas::options& o) { o.transport = "pigeons"; });
  refuses([](pgas::options& o) { o.budget = 0; });
  refuses([](pgas::options& o) {
    o.budget = 4607;
    o.pes = 1;
    o.workers = 1;
  });
  refuses([](pgas::options& o) { o.train_bytes = 1; });
  refuses([](pgas::options& o) {
    o.train_bytes = std::size_t{1} << 33;
    o.budget = std::size_t{1} << 40;
  });
}

TEST_CASE("run: a budget that is too small says how much is needed, and that is enough") {
  auto o = tiny(1, 1);
  o.budget = 100;
  const auto message = thrown_by<usage_error>([&] { pgas::run(o, [](pgas::pe&) {}); });
  REQUIRE_THAT(message, StartsWith("--budget") && Contains("at least "));
  o.budget = std::stoul(message.substr(message.find("at least ") + 9));
  std::atomic<int> ran{0};
  pgas::run(o, [&](pgas::pe&) { ++ran; });
  CHECK(ran == 1);
}

TEST_CASE("run: PEs are numbered, once each, on as many workers as there are") {
  const int workers = GENERATE(1, 2, 3, 5);
  SECTION("0 PEs are one a worker") {
    auto o = tiny(0, workers);
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(workers));
    pgas::run(o, [&](pgas::pe& me) {
      expect(me.count() == workers && me.rank() == 0 && me.ranks() == 1);
      ++seen[static_cast<std::size_t>(me.index())];
    });
    for (const auto& n : seen) CHECK(n == 1);
  }
  SECTION("more PEs than workers, and fewer") {
    const int pes = GENERATE(1, 2, 7, 100);
    std::vector<std::thread::id> where(static_cast<std::size_t>(pes));
    pgas::run(tiny(pes, workers), [&](pgas::pe& me) {
      where[static_cast<std::size_t>(me.index())] = std::this_thread::get_id();
      me.barrier();
      // Pinned: the same thread after a wait.
      expect(where[static_cast<std::size_t>(me.index())] == std::this_thread::get_id());
    });
    int threads = 1;
    for (std::size_t p = 1; p < where.size(); ++p) threads += where[p] != where[p - 1];
    CHECK(threads == std::min(pes, workers));
  }
}

TEST_CASE("run: trains are as large as told, or as the budget allows") {
  auto o = tiny(4, 2);
  pgas::run(o, [](pgas::pe& me) { expect(me.train_bytes() == 512 && me.hops() == 1); });
  o.train_bytes = 1000;
  o.budget = 1 << 20;
  pgas::run(o, [](pgas::pe& me) { expect(me.train_bytes() >= 1000 && me.train_bytes() % 64 == 0); });
  o.train_bytes = 0;
  pgas::run(o, [](pgas::pe& me) { expect(me.train_bytes() >= 1024); });
}

TEST_CASE("run: two hops when one would make trains too short, and not otherwise") {
  auto o = tiny(64, 16, 0);
  o.train_bytes = 0;
  o.budget = 8'000;
  pgas::run(o, [](pgas::pe& me) {
    expect(me.hops() == 2);
    pgas::symmetric<long> n(me, 0);
    pgas::actor_of a(n);
    for (int i = 0; i < me.count(); ++i) a.send(i, [](long& x) { ++x; });
    a.finish();
    expect(*n == me.count());
  });
  o.budget = 1 << 20;
  pgas::run(o, [](pgas::pe& me) { expect(me.hops() == 1); });
}

// --- where PEs live, and the way messages take ---

TEST_CASE("layout: blocks of PEs in order over workers, workers in order over ranks, every PE once") {
  const auto workers = GENERATE(std::vector<int>{1}, std::vector<int>{3}, std::vector<int>{2, 2},
                                std::vector<int>{1, 3, 2}, std::vector<int>{4, 1, 1, 4});
  const int ranks = static_cast<int>(workers.size());
  const int pes = GENERATE(1, 2, 4, 5, 7, 64);
  if (pes < ranks) return;
  std::vector<pgas::detail::job_layout> by_rank;
  for (int r = 0; r < ranks; ++r) by_rank.push_back(pgas::detail::job_layout::over(pes, workers, r));
  int counted = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto& plan = by_rank[static_cast<std::size_t>(r)];
    CHECK(plan.pes == pes);
    CHECK(plan.workers == by_rank[0].workers);
    CHECK(plan.worker_of == by_rank[0].worker_of);
    CHECK(plan.first_pe == by_rank[0].first_pe);
    CHECK(plan.rank_of == by_rank[0].rank_of);
    CHECK(plan.first_worker_here == counted);
    CHECK(plan.workers_here >= 1);
    CHECK(plan.workers_here <= workers[static_cast<std::size_t>(r)]);
    counted += plan.workers_here;
    for (int d = 0; d < plan.workers; ++d) {
      const bool here = d >= plan.first_worker_here && d < plan.first_worker_here + plan.workers_here;
      CHECK((plan.rank_of[static_cast<std::size_t>(d)] == r) == here);
      CHECK(plan.first_pe[static_cast<std::size_t>(d)] < plan.first_pe[static_cast<std::size_t>(d) + 1]);
    }
  }
  CHECK(counted == by_rank[0].workers);
  CHECK(by_rank[0].first_pe.front() == 0);
  CHECK(by_rank[0].first_pe.back() == pes);
}

TEST_CASE("layout: over two hops every message arrives, over neighbours only, and neighbours are mutual") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 17, 23);
  const auto plan = pgas::detail::job_layout::over(workers, {workers}, 0);
  std::vector<std::vector<std::uint16_t>> via(static_cast<std::size_t>(workers));
  std::vector<std::vector<int>> neighbours(static_cast<std::size_t>(workers));
  for (int d = 0; d < workers; ++d) {
    via[static_cast<std::size_t>(d)] = plan.hops_from(d, 2, neighbours[static_cast<std::size_t>(d)]);
  }
  const auto is_neighbour = [&](int a, int b) {
    const auto& n = neighbours[static_cast<std::size_t>(a)];
    return std::find(n.begin(), n.end(), b) != n.end();
  };
  for (int from = 0; from < workers; ++from) {
    CHECK_FALSE(is_neighbour(from, from));
    for (int to = 0; to < workers; ++to) {
      CAPTURE(workers, from, to);
      CHECK(is_neighbour(from, to) == is_neighbour(to, from));
      const int first = via[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      CHECK((first == from) == (to == from));
      if (first != from) CHECK(is_neighbour(from, first));
      // The second hop ends the way.
      if (first != to) CHECK(via[static_cast<std::size_t>(first)][static_cast<std::size_t>(to)] == to);
    }
  }
}
