// What a machine shows of the ranks of a job, without MPI. The tests read a fake /proc.
#include <shunt/transport/detail/siblings.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>
#include <catch2/catch.hpp>

namespace {

namespace fs = std::filesystem;
using namespace shunt::transport::detail;

class fake_proc {
 public:
  fake_proc() : path_(fs::temp_directory_path() / ("shunt_siblings_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~fake_proc() { fs::remove_all(path_); }
  fake_proc(const fake_proc&) = delete;
  fake_proc& operator=(const fake_proc&) = delete;
  void process(int pid, int parent, char state, const std::string& variables, bool watchdog = true) const {
    const auto folder = path_ / std::to_string(pid);
    fs::create_directories(folder / "task" / std::to_string(pid + 1));
    std::ofstream(folder / "stat") << pid << " (a (b) c) " << state << ' ' << parent << " 1 1 0\n";
    std::string text = variables;
    for (char& c : text) {
      if (c == ' ') c = '\0';
    }
    std::ofstream(folder / "environ", std::ios::binary) << text << '\0';
    std::ofstream(folder / "task" / std::to_string(pid + 1) / "comm") << (watchdog ? watchdog_name : "other") << '\n';
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

constexpr const char* has_not_begun = "has not begun";

/// Four ranks below launcher 10; this process is rank 0.
struct job_of_four : fake_proc {
  job_of_four() {
    process(1, 0, 'S', "HOME=/");
    process(10, 1, 'S', "HOME=/root");
    for (int r = 0; r < 4; ++r) process(20 + r, 10, 'S', "A=b PMI_RANK=" + std::to_string(r) + " PMI_SIZE=4");
  }
  std::string why(const self& me = {0, 4, 4}) const { return explain(me, siblings(path(), 20), has_not_begun); }
};

}  // namespace

TEST_CASE("siblings: the ranks below the same launcher, and no others") {
  const job_of_four job;
  job.process(30, 1, 'S', "PMI_RANK=1");  // of another job, whose launcher has ended
  job.process(40, 1, 'S', "HOME=/");      // another job
  job.process(41, 40, 'S', "PMI_RANK=2");
  const auto found = siblings(job.path(), 20);
  REQUIRE(found.size() == 3);
  for (int r = 1; r < 4; ++r) {
    CHECK(found[static_cast<std::size_t>(r) - 1].rank == r);
    CHECK(found[static_cast<std::size_t>(r) - 1].pid == 20 + r);
  }
}

TEST_CASE("siblings: the rank beneath a shell counts, and of a rank and its child the one that has a watchdog") {
  const job_of_four job;
  job.process(22, 10, 'S', "PMI_RANK=2", false);
  job.process(52, 22, 'S', "PMI_RANK=2", true);
  job.process(53, 23, 'S', "PMI_RANK=3", false);
  const auto found = siblings(job.path(), 20);
  REQUIRE(found.size() == 3);
  CHECK(found[1].pid == 52);
  CHECK(found[2].pid == 23);
}

TEST_CASE("explain: a stopped rank is named before all others") {
  const job_of_four job;
  job.process(21, 10, 'S', "PMI_RANK=1", false);
  job.process(22, 10, 'T', "PMI_RANK=2");
  CHECK(job.why() == "rank 2 (process 22) is stopped");
  job.process(22, 10, 't', "PMI_RANK=2");
  CHECK(job.why() == "rank 2 (process 22) is stopped");
}

TEST_CASE("explain: where the launcher has started all ranks here, a missing one has ended") {
  const job_of_four job;
  fs::remove_all(fs::path(job.path()) / "23");
  CHECK(job.why() == "rank 3 has ended");
  CHECK(job.why({0, 8, 4}).find("one elsewhere is stopped, unreachable or was never started") != std::string::npos);
}

TEST_CASE("explain: a rank without a watchdog thread has not come as far") {
  const job_of_four job;
  job.process(21, 10, 'R', "PMI_RANK=1", false);
  CHECK(job.why() == "rank 1 (process 21) has not begun");
}

TEST_CASE("explain: if all ranks are here and run, MPI is stuck; if some are elsewhere, one of those is lost") {
  const job_of_four job;
  CHECK(job.why() == "every rank runs, and the network does not go on");
  CHECK(job.why({0, 8, 4}).find("elsewhere") != std::string::npos);
  CHECK(explain({0, 2, 1}, {}, has_not_begun).find("shows no other rank") != std::string::npos);
}

TEST_CASE("siblings: without /proc there are none") { CHECK(siblings("/nonexistent", 20).empty()); }
