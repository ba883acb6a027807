#include <shunt/transport/detail/plugin.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <shunt/base/error.hpp>
#include <shunt/transport/detail/processes.hpp>
#include <shunt/transport/detail/threads.hpp>

// Where the library is, or would be, installed; the build says so.
#ifndef SHUNT_PLUGIN_FOLDER
#define SHUNT_PLUGIN_FOLDER ""
#endif
// The same, as seen from a program's folder in an install tree.
#ifndef SHUNT_PLUGIN_FOLDER_FROM_PROGRAM
#define SHUNT_PLUGIN_FOLDER_FROM_PROGRAM "../lib/shunt"
#endif

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

namespace fs = std::filesystem;

// Open MPI loads components that use its symbols but do not name its library (mca_pml_ob1.so and mca_btl_tcp.so among
// them, in 4.1): they find the symbols only if these are global. MPICH is one library, whose symbols stay apart from
// the program's own.
constexpr std::array<implementation, 3> known{{{"mpi", "Open MPI", "libshunt_mpi_openmpi.so", true},
                                               {"mpi", "MPICH", "libshunt_mpi_mpich.so", false},
                                               {"shmem", "Open MPI", "libshunt_shmem_openmpi.so", true}}};

/// "mpi (Open MPI)"
std::string shown_as(const candidate& c) {
  return std::string(c.made_with->transport) + " (" + std::string(c.made_with->name) + ")";
}

int number(const char* text) noexcept {
  int n = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), n);
  return n;
}

std::string list(std::span<const fs::path> folders) {
  std::string text;
  for (const auto& f : folders) text += (text.empty() ? "" : ", ") + f.string();
  return text;
}

/// The file of the shared object that holds this function; empty where it is the program itself.
///
/// The linker's list names it, where the program is "". dladdr's own answer (dli_fname) is no path for a program: it is
/// what the program was called with, so a program found in PATH would be taken for a file of the current folder.
fs::path library_file() {
  Dl_info self{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&library_file), &self, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ==
          0 ||
      map == nullptr || map->l_name == nullptr) {
    return {};
  }
  const fs::path file = map->l_name;
  // Relative: found through LD_LIBRARY_PATH or dlopen() from a folder that is perhaps no longer the current one.
  if (!file.is_absolute()) return {};
  std::error_code failed;
  const auto real = fs::canonical(file, failed);
  return failed ? fs::path() : real;
}

}  // namespace

std::span<const implementation> implementations() noexcept { return known; }

launcher find_launcher() {
  const char* const of_openmpi = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (of_openmpi != nullptr) return {.mpi = &known[0], .present = true, .ranks = number(of_openmpi)};
  const char* const of_mpich = std::getenv("PMI_SIZE");
  if (of_mpich != nullptr || std::getenv("PMI_RANK") != nullptr) {
    return {.mpi = &known[1], .present = true, .ranks = number(of_mpich)};
  }
  // A resource manager that speaks PMIx, which both understand; Slurm says how many.
  if (std::getenv("PMIX_RANK") != nullptr) {
    return {.mpi = nullptr, .present = true, .ranks = number(std::getenv("SLURM_NTASKS"))};
  }
  return {};
}

/// In the order of the search: what the caller names, what lies around the program's file and the library's, and the
/// folder of the installation. Each once.
std::vector<fs::path> plugin_folders(const std::string& first) {
  std::vector<fs::path> folders;
  const auto add = [&folders](const fs::path& folder) {
    if (!folder.is_absolute()) return;
    const auto plain = folder.lexically_normal();
    for (const auto& f : folders) {
      if (f == plain) return;
    }
    folders.push_back(plain);
  };
  for (std::size_t at = 0; at <= first.size();) {
    const auto end = std::min(first.find(':', at), first.size());
    const fs::path folder = first.substr(at, end - at);
    at = end + 1;
    if (folder.empty()) continue;
    if (!folder.is_absolute()) {
      throw usage_error(error_number(812),
                        "SHUNT_PLUGINS: `" + folder.string() +
                            "` is relative, so that code of whatever folder a program is started in would be loaded; "
                            "write the whole path, from `/` on");
    }
    add(folder);
  }
  std::error_code failed;  // no /proc: the other folders remain
  const auto program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    const auto folder = program.parent_path();
    add(folder);
    add(folder / "lib" / "shunt");
    add(folder / ".." / "lib" / "shunt");
    add(folder / SHUNT_PLUGIN_FOLDER_FROM_PROGRAM);
  }
  // Where the library is a shared object: the folder beside it, for an install tree that was moved.
  if (const auto library = library_file(); !library.empty()) add(library.parent_path() / "shunt");
  add(SHUNT_PLUGIN_FOLDER);
  return folders;
}

std::vector<candidate> find_plugins(std::span<const fs::path> folders, std::string_view transport) {
  std::vector<candidate> found;
  for (const auto& one : known) {
    if (one.transport != transport) continue;
    for (const auto& folder : folders) {
      std::error_code failed;
      const auto file = folder / one.file;
      if (fs::is_regular_file(file, failed)) {
        found.push_back({&one, file});
        break;
      }
    }
  }
  return found;
}

/// The plugin of the launcher's MPI, or all where no launcher decides. A message says what there is and what would
/// help.
std::vector<candidate> choose(std::span<const candidate> found, const launcher& by, std::span<const fs::path> folders) {
  std::string there = "threads";
  for (const auto& c : found) there += ", " + shown_as(c);
  if (found.empty()) {
    throw usage_error(error_number(813), "this installation has no transport `mpi`, only: " + there + ". Looked for " +
                                             std::string(known[0].file) + " and " + std::string(known[1].file) +
                                             " in " + list(folders) +
                                             "; build Shunt with -DSHUNT_MPI=auto on a machine with an MPI");
  }
  if (by.mpi == nullptr) return {found.begin(), found.end()};
  for (const auto& c : found) {
    if (c.made_with == by.mpi) return {c};
  }
  throw usage_error(error_number(814), "this job was started by the launcher of " + std::string(by.mpi->name) +
                                           ", but this installation has only: " + there + ". Use the launcher of " +
                                           std::string(found.front().made_with->name) + ", or add " +
                                           std::string(by.mpi->file) + " to one of " + list(folders));
}

std::vector<candidate> choose_shmem(std::span<const candidate> found, const launcher& by,
                                    std::span<const fs::path> folders) {
  if (found.empty()) {
    throw usage_error(error_number(850), "this installation has no transport `shmem`: there is no " +
                                             std::string(known[2].file) + " in " + list(folders) +
                                             "; build Shunt with -DSHUNT_SHMEM=auto on a machine with oshcc");
  }
  if (by.mpi != nullptr && by.mpi != &known[0]) {
    throw usage_error(error_number(855), "this job was started by the launcher of " + std::string(by.mpi->name) +
                                             ", which does not serve the transport `shmem`: use oshrun");
  }
  return {found.begin(), found.end()};
}

/// Tries the files in turn. One that loads decides: only a file that cannot be loaded makes way for the next.
std::unique_ptr<carrier> load(std::span<const candidate> from, const limits& time_limits) {
  std::string failures;
  for (const auto& c : from) {
    SHUNT_ASSERT(c.file.is_absolute());  // dlopen() would look for a bare name in the folders of LD_LIBRARY_PATH
    const std::string shown = "the transport `" + std::string(c.made_with->transport) + "` (" +
                              std::string(c.made_with->name) + ") in " + c.file.string();
    void* const handle =
        dlopen(c.file.c_str(), RTLD_NOW | RTLD_NODELETE | (c.made_with->global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (handle == nullptr) {
      const char* const why = dlerror();
      failures +=
          (failures.empty() ? "" : "; ") + shown + " cannot be loaded: " + (why == nullptr ? "no reason given" : why);
      continue;
    }
    const auto ask = reinterpret_cast<plugin_function>(dlsym(handle, plugin_symbol));
    const plugin* const offer = ask == nullptr ? nullptr : ask();
    // No further candidate now: two MPIs in one process would find each other's symbols.
    if (offer == nullptr || plugin_version() != offer->version) {
      throw usage_error(error_number(815), shown + " belongs to another version of Shunt: it is `" +
                                               (offer == nullptr ? "unknown" : offer->version) +
                                               "`, this program needs `" + plugin_version() + "`");
    }
    return std::unique_ptr<carrier>(offer->open(time_limits));
  }
  throw usage_error(error_number(816), failures);
}

}  // namespace detail

std::unique_ptr<carrier> open(std::string_view name, const std::string& plugins, const limits& time_limits) {
  using namespace detail;
  const auto by = find_launcher();
  auto of_job = find_process_of_job();
  // An MPI launcher that a process of such a job has started serves its own, which inherit the variables alone.
  if (of_job && by.present && ::fcntl(of_job->meeting, F_GETFD) < 0) of_job.reset();
  if (of_job && (name == "processes" || name == "auto")) return open_processes(*of_job, time_limits);
  if (of_job && (name == "mpi" || name == "shmem")) {
    throw usage_error(error_number(842),
                      "--transport " + std::string(name) +
                          ": this process was started by `shunt start`, so that each would be a job of "
                          "its own; leave the option out, or start the program by mpirun or oshrun");
  }
  if (name == "processes") {
    throw usage_error(error_number(839),
                      "the transport `processes` joins processes that a launcher has started, and this one was started "
                      "alone: use `shunt start --ranks R PROGRAM`, or `shunt run APP --transport processes --ranks R`");
  }
  // A job of unknown size counts as large: ranks that do not know of each other would all print.
  const bool wide = by.present && by.ranks != 1;
  if (name == "threads" || (name == "auto" && !wide)) return open_threads();
  const auto folders = plugin_folders(plugins);
  if (name == "shmem") return load(choose_shmem(find_plugins(folders, name), by, folders), time_limits);
  const auto found = find_plugins(folders);
  if (name != "mpi" && name != "auto") {
    std::string there;
    for (const auto& t : available(plugins)) there += (there.empty() ? "" : ", ") + t;
    throw usage_error(error_number(817),
                      "there is no transport `" + std::string(name) + "`; this installation has: auto, " + there);
  }
  return load(choose(found, by, folders), time_limits);
}

std::vector<offer> offers(const std::string& plugins) {
  std::vector<offer> all{{"threads", ""}, {"processes", ""}};
  const auto folders = detail::plugin_folders(plugins);
  for (const std::string_view transport : {"mpi", "shmem"}) {
    for (const auto& c : detail::find_plugins(folders, transport)) {
      all.push_back({detail::shown_as(c), c.file.string()});
    }
  }
  return all;
}

std::vector<std::string> available(const std::string& plugins) {
  std::vector<std::string> names;
  for (const auto& o : offers(plugins)) names.push_back(o.name);
  return names;
}

}  // namespace transport
}  // namespace v1
}  // namespace shunt
