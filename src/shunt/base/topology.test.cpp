// How the CPUs of a kernel are divided between the processes of a job; which machine a process is on.
#include <shunt/base/topology.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <unistd.h>
#include <catch2/catch.hpp>
#include <shunt/base/machine.hpp>

using shunt::cpu_claim;
using shunt::cpu_share;

namespace {

namespace fs = std::filesystem;

std::vector<int> cpus(int first, int last) {
  std::vector<int> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

cpu_claim bound(std::vector<int> to, int wanted = 0) { return {std::move(to), {}, wanted}; }

std::vector<int> workers(const std::vector<cpu_claim>& claims) {
  std::vector<int> all;
  for (const auto& s : shunt::share_cpus(claims)) all.push_back(s.workers);
  return all;
}

/// A fake / in which a process has a boot and namespaces.
class machine_root {
 public:
  machine_root() : path_(fs::temp_directory_path() / ("shunt_machine_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_ / "proc/sys/kernel/random");
    fs::create_directories(path_ / "proc/self/ns");
    std::ofstream(path_ / "proc/sys/kernel/random/boot_id") << "b007\n";
    for (const char* const kind : {"net", "pid", "ipc", "mnt", "uts", "cgroup", "user"}) is_in(kind, 1);
  }
  ~machine_root() { fs::remove_all(path_); }
  machine_root(const machine_root&) = delete;
  machine_root& operator=(const machine_root&) = delete;
  void is_in(const std::string& kind, int number) const {
    const auto link = path_ / "proc/self/ns" / kind;
    fs::remove(link);
    fs::create_symlink(kind + ":[" + std::to_string(number) + "]", link);
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("share_cpus: a rank that its launcher has bound has its whole mask, and room") {
  std::vector<cpu_claim> eight;
  for (int r = 0; r < 8; ++r) eight.push_back(bound(cpus(4 * r, 4 * r + 3)));
  for (const auto& s : shunt::share_cpus(eight)) CHECK(s == cpu_share{4, true, true});
  for (const auto& s : shunt::share_cpus({{bound({0}), bound({1})}})) CHECK(s == cpu_share{1, true, true});
}

TEST_CASE("share_cpus: ranks that are not bound have equal shares") {
  CHECK(workers({bound(cpus(0, 7))}) == std::vector<int>{8});
  CHECK(workers({bound(cpus(0, 7)), bound(cpus(0, 7))}) == std::vector<int>{4, 4});
  CHECK(workers(std::vector<cpu_claim>(3, bound(cpus(0, 7)))) == std::vector<int>{2, 2, 2});
  for (const auto& s : shunt::share_cpus(std::vector<cpu_claim>(4, bound({0, 1})))) {
    CHECK(s == cpu_share{1, false, false});
  }
  for (const auto& s : shunt::share_cpus(std::vector<cpu_claim>(2, bound({0, 1})))) {
    CHECK(s == cpu_share{1, true, false});
  }
}

TEST_CASE("share_cpus: of masks that overlap in part, the least share is as large as can be") {
  // Whichever is asked first: what another process needs is given up for something else.
  CHECK(workers({bound({0, 1, 2}), bound({2})}) == std::vector<int>{2, 1});
  CHECK(workers({bound({2}), bound({0, 1, 2})}) == std::vector<int>{1, 2});
  CHECK(workers({bound({0, 1}), bound({0})}) == std::vector<int>{1, 1});
  CHECK(workers({bound({0, 1}), bound({1, 2}), bound({2, 3})}) == std::vector<int>{2, 1, 1});
  // A chain: the last process gets its CPU only if every other one moves on.
  CHECK(workers({bound({0, 1}), bound({1, 2}), bound({2, 3}), bound({0})}) == std::vector<int>{1, 1, 1, 1});
  // Two sockets of four CPUs, with three ranks on one of them.
  CHECK(workers({bound(cpus(0, 3)), bound(cpus(4, 7)), bound(cpus(4, 7)), bound(cpus(4, 7))}) ==
        std::vector<int>{4, 1, 1, 1});
}

TEST_CASE("share_cpus: one CPU for several ranks is one worker each, and no room; others are not concerned") {
  const auto all = shunt::share_cpus({{bound({0}), bound({0}), bound({1, 2})}});
  CHECK(all[0] == cpu_share{1, false, false});
  CHECK(all[1] == cpu_share{1, false, false});
  CHECK(all[2] == cpu_share{2, true, true});
}

TEST_CASE("share_cpus: a rank has as many workers as it wants, and the others share the rest") {
  const auto all = shunt::share_cpus({{bound(cpus(0, 3), 1), bound(cpus(0, 3))}});
  CHECK(all[0] == cpu_share{1, true, false});
  CHECK(all[1] == cpu_share{3, true, false});
  const auto many = shunt::share_cpus({{bound({0, 1}, 3), bound({0, 1}, 1), bound({2}, 1)}});
  CHECK(many[0] == cpu_share{3, false, false});
  CHECK(many[1] == cpu_share{1, false, false});
  CHECK(many[2] == cpu_share{1, true, true});
}

TEST_CASE("share_cpus: a quota of a group counts once for all its processes") {
  const auto in = [](std::vector<int> mask, std::vector<shunt::cpu_limit> limits) {
    return cpu_claim{std::move(mask), std::move(limits), 0};
  };
  CHECK(workers({in(cpus(0, 7), {{"g", 4}}), in(cpus(0, 7), {{"g", 4}})}) == std::vector<int>{2, 2});
  // Bound to different CPUs, and of one container all the same.
  CHECK(workers({in(cpus(0, 3), {{"g", 4}}), in(cpus(4, 7), {{"g", 4}})}) == std::vector<int>{2, 2});
  // Each has a container of its own.
  CHECK(workers({in(cpus(0, 7), {{"g", 2}}), in(cpus(0, 7), {{"h", 3}})}) == std::vector<int>{2, 3});
  // A group within a group that the other process is in too.
  CHECK(workers({in(cpus(0, 7), {{"h", 1}, {"g", 4}}), in(cpus(0, 7), {{"g", 4}})}) == std::vector<int>{1, 3});
  // Rounded, and one worker at least.
  CHECK(workers({in(cpus(0, 7), {{"g", 0.3}})}) == std::vector<int>{1});
  CHECK(workers({in(cpus(0, 7), {{"g", 2.6}})}) == std::vector<int>{3});
  const auto crowded = shunt::share_cpus({{in({0}, {{"g", 1}}), in({1}, {{"g", 1}})}});
  CHECK(crowded[0] == cpu_share{1, false, true});
  CHECK(crowded[1] == cpu_share{1, false, true});
}

TEST_CASE("share_cpus: hundreds of ranks and CPUs are divided evenly") {
  const std::vector<cpu_claim> all(300, bound(cpus(0, 1023)));
  for (const auto& s : shunt::share_cpus(all)) CHECK(s == cpu_share{3, true, false});
}

TEST_CASE("cpu_limits: the same group has the same number, and another has another") {
  const auto mine = shunt::cpu_limits();
  const auto again = shunt::cpu_limits();
  REQUIRE(mine.size() == again.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    CHECK(mine[i].group == again[i].group);
    for (std::size_t k = 0; k < i; ++k) CHECK(mine[i].group != mine[k].group);
  }
}

TEST_CASE(
    "machine_identity: processes of one boot in different network, process or ipc namespaces are on two machines") {
  const machine_root root;
  const auto kernel = shunt::kernel_identity(root.path());
  const auto machine = shunt::machine_identity(root.path());
  CHECK(kernel == "b007");
  for (const char* const kind : {"net", "pid", "ipc"}) {
    root.is_in(kind, 2);
    CHECK(shunt::machine_identity(root.path()) != machine);
    CHECK(shunt::kernel_identity(root.path()) == kernel);
    root.is_in(kind, 1);
  }
}

TEST_CASE("machine_identity: namespaces that say nothing of a machine are left out") {
  const machine_root root;
  const auto machine = shunt::machine_identity(root.path());
  for (const char* const kind : {"mnt", "uts", "cgroup", "user"}) root.is_in(kind, 2);
  CHECK(shunt::machine_identity(root.path()) == machine);
}

TEST_CASE("machine_identity: without /proc it is the host's name, and equal to itself") {
  CHECK(shunt::machine_identity("/nonexistent") == shunt::machine_identity("/nonexistent"));
  CHECK_FALSE(shunt::kernel_identity("/nonexistent").empty());
}
