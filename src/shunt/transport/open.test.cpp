#include <shunt/transport/detail/plugin.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <shunt/base/error.hpp>
#include <support/expect.hpp>

namespace {

namespace fs = std::filesystem;
namespace transport = shunt::transport;
namespace detail = shunt::transport::detail;
using shunt::usage_error;
using shunt::testing::thrown_by;

/// Sets or removes an environment variable for a test, and puts the old value back.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// An environment without the variables of any launcher; a test sets those of one.
struct clean_environment {
  variable openmpi{"OMPI_COMM_WORLD_SIZE", nullptr};
  variable mpich{"PMI_SIZE", nullptr};
  variable mpich_rank{"PMI_RANK", nullptr};
  variable pmix{"PMIX_RANK", nullptr};
  variable slurm{"SLURM_NTASKS", nullptr};
};

/// An empty folder of the test's own.
class folder {
 public:
  folder() : path_(fs::temp_directory_path() / ("shunt_open_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~folder() { fs::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  const fs::path& path() const { return path_; }
  void put(std::string_view name) const { std::ofstream(path_ / name) << "not a shared object"; }

 private:
  fs::path path_;
};

TEST_CASE("open: the transport `threads` is always there") {
  CHECK(transport::open("threads")->name() == "threads");
  const auto names = transport::available();
  CHECK(names.front() == "threads");
}

TEST_CASE("open: for an unknown name the error lists the known ones") {
  CHECK_THAT(thrown_by<usage_error>([] { static_cast<void>(transport::open("pigeon")); }),
             Catch::Contains("`pigeon`") && Catch::Contains("auto, threads"));
}

TEST_CASE("open: auto means threads unless a launcher started several ranks") {
  const clean_environment no_launcher;
  CHECK(transport::open("auto")->name() == "threads");
  const variable alone("PMI_SIZE", "1");
  CHECK(transport::open("auto")->name() == "threads");
}

TEST_CASE("find_launcher: the environment tells which MPI's launcher it was, and how many ranks it started") {
  const clean_environment no_launcher;
  CHECK_FALSE(detail::find_launcher().present);
  SECTION("Open MPI, also where it offers PMIx") {
    const variable size("OMPI_COMM_WORLD_SIZE", "6");
    const variable rank("PMIX_RANK", "0");
    CHECK(detail::find_launcher().mpi->name == "Open MPI");
    CHECK(detail::find_launcher().ranks == 6);
  }
  SECTION("MPICH") {
    const variable size("PMI_SIZE", "4");
    CHECK(detail::find_launcher().mpi->name == "MPICH");
    CHECK(detail::find_launcher().ranks == 4);
  }
  SECTION("MPICH without a size counts as a job of several ranks") {
    const variable rank("PMI_RANK", "2");
    CHECK(detail::find_launcher().mpi->name == "MPICH");
    CHECK(detail::find_launcher().ranks == 0);
  }
  SECTION("a resource manager serves either") {
    const variable rank("PMIX_RANK", "0");
    const variable size("SLURM_NTASKS", "3");
    CHECK(detail::find_launcher().present);
    CHECK(detail::find_launcher().mpi == nullptr);
    CHECK(detail::find_launcher().ranks == 3);
  }
}

TEST_CASE("plugin_folders: the caller's folder comes first, then the program's own and the one beside it") {
  const auto program = fs::read_symlink("/proc/self/exe").parent_path();
  const auto folders = detail::plugin_folders("/somewhere");
  REQUIRE(folders.size() >= 4);
  CHECK(folders[0] == "/somewhere");
  CHECK(folders[1] == program);
  CHECK(std::find(folders.begin(), folders.end(), (program / ".." / "lib" / "shunt").lexically_normal()) !=
        folders.end());
}

TEST_CASE("plugin_folders: colons separate folders, which keep their order; empty names are left out") {
  const auto folders = detail::plugin_folders(":/one::/two/../three:/one:");
  REQUIRE(folders.size() >= 3);
  CHECK(folders[0] == "/one");
  CHECK(folders[1] == "/three");
  CHECK(folders[2] == fs::read_symlink("/proc/self/exe").parent_path());
}

TEST_CASE("plugin_folders: a relative folder is a usage_error, so that no code of the current folder is loaded") {
  for (const char* const relative : {"lib", ".", "./lib", "../lib", "/one:lib:/two"}) {
    CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(detail::plugin_folders(relative)); }),
               Catch::Contains("SHUNT_PLUGINS") && Catch::Contains("is relative"));
    CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(transport::available(relative)); }),
               Catch::Contains("is relative"));
  }
}

TEST_CASE("plugin_folders: the current folder is never among them") {
  const folder elsewhere;
  const auto before = fs::current_path();
  const auto usual = detail::plugin_folders("");
  fs::current_path(elsewhere.path());
  const auto there = detail::plugin_folders("");
  fs::current_path(before);
  CHECK(there == usual);
  for (const auto& f : there) {
    CHECK(f.is_absolute());
    CHECK(f.string().find(elsewhere.path().string()) == std::string::npos);
  }
}

TEST_CASE("offers: lists every transport with its file") {
  const folder one;
  one.put("libshunt_mpi_mpich.so");
  const auto all = transport::offers(one.path().string());
  REQUIRE(all.size() >= 2);
  CHECK(all.front().name == "threads");
  CHECK(all.front().file.empty());
  CHECK(std::any_of(all.begin(), all.end(), [&](const transport::offer& o) {
    return o.name == "mpi (MPICH)" && o.file == (one.path() / "libshunt_mpi_mpich.so").string();
  }));
}

TEST_CASE("choose: without any plugin the error says what there is and which folders were searched") {
  const clean_environment no_launcher;
  const folder empty;
  const std::vector<fs::path> folders{empty.path()};
  const auto found = detail::find_plugins(folders);
  CHECK(found.empty());
  CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(detail::choose(found, {}, folders)); }),
             Catch::Contains("only: threads.") && Catch::Contains(empty.path().string()));
}

TEST_CASE("choose: takes the launcher's MPI, and every MPI where there is no launcher") {
  const clean_environment no_launcher;
  const folder both;
  both.put("libshunt_mpi_openmpi.so");
  both.put("libshunt_mpi_mpich.so");
  const std::vector<fs::path> folders{both.path()};
  const auto found = detail::find_plugins(folders);
  REQUIRE(found.size() == 2);
  CHECK(detail::choose(found, detail::find_launcher(), folders).size() == 2);
  const variable size("PMI_SIZE", "2");
  const auto chosen = detail::choose(found, detail::find_launcher(), folders);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen.front().made_with->name == "MPICH");
}

TEST_CASE("choose: if the launcher's MPI is missing the error names it and the one that is there") {
  const clean_environment no_launcher;
  const folder other;
  other.put("libshunt_mpi_mpich.so");
  const std::vector<fs::path> folders{other.path()};
  const variable size("OMPI_COMM_WORLD_SIZE", "2");
  CHECK_THAT(thrown_by<usage_error>([&] {
               static_cast<void>(detail::choose(detail::find_plugins(folders), detail::find_launcher(), folders));
             }),
             Catch::Contains("launcher of Open MPI") && Catch::Contains("mpi (MPICH)") &&
                 Catch::Contains("libshunt_mpi_openmpi.so"));
}

TEST_CASE("choose_shmem: without its plugin the error names the file, and another launcher is refused") {
  const clean_environment no_launcher;
  const folder one;
  const std::vector<fs::path> folders{one.path()};
  const auto choose = [&] {
    return detail::choose_shmem(detail::find_plugins(folders, "shmem"), detail::find_launcher(), folders);
  };
  CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(choose()); }),
             Catch::Contains("`shmem`") && Catch::Contains("libshunt_shmem_openmpi.so"));
  one.put("libshunt_shmem_openmpi.so");
  CHECK(choose().size() == 1);
  CHECK(detail::find_plugins(folders).empty());
  const variable size("OMPI_COMM_WORLD_SIZE", "2");
  CHECK(choose().size() == 1);
  const variable none("OMPI_COMM_WORLD_SIZE", nullptr);
  const variable mpich("PMI_SIZE", "2");
  CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(choose()); }),
             Catch::Contains("MPICH") && Catch::Contains("use oshrun"));
}

TEST_CASE("offers: lists the plugin of OpenSHMEM after those of MPI") {
  const folder one;
  one.put("libshunt_shmem_openmpi.so");
  const auto all = transport::available(one.path().string());
  CHECK(std::find(all.begin(), all.end(), "shmem (Open MPI)") != all.end());
}

TEST_CASE("load: for a file that is no transport the error names the file") {
  const clean_environment no_launcher;
  const folder broken;
  broken.put("libshunt_mpi_openmpi.so");
  const std::vector<fs::path> folders{broken.path()};
  CHECK_THAT(thrown_by<usage_error>([&] { static_cast<void>(detail::load(detail::find_plugins(folders))); }),
             Catch::Contains("libshunt_mpi_openmpi.so cannot be loaded"));
  CHECK(transport::available(broken.path().string())[2] == "mpi (Open MPI)");
}

}  // namespace
