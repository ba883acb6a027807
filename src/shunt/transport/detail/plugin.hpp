/// A transport in a file of its own: what the file exports, and how the program finds it.
///
/// The library links no network. A transport that needs one is a shared object, which open() loads when a job asks for
/// it. So one program runs without any dependency, and on every MPI that is installed.
///
///   file                       made with     environment that its launcher sets
///   libshunt_mpi_openmpi.so    Open MPI      OMPI_COMM_WORLD_SIZE
///   libshunt_mpi_mpich.so      MPICH         PMI_RANK, PMI_SIZE
///   libshunt_shmem_openmpi.so  Open MPI's    as Open MPI: nothing tells oshrun from mpirun, so it must be asked for
///                              OpenSHMEM
///
/// A plugin is never closed: MPI leaves exit handlers behind, and an exception that a plugin threw refers to its code.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// What a plugin exports: the function shunt_transport_plugin(), which returns one of these.
struct plugin {
  const char* version;  ///< plugin_version() as the plugin was compiled
  const char* library;  ///< "Open MPI 4.1.4"
  /// Collective. The caller owns the result. Throws shunt::error.
  carrier* (*open)(const limits& time_limits);
};

using plugin_function = const plugin* (*)() noexcept;
inline constexpr const char* plugin_symbol = "shunt_transport_plugin";

/// What program and plugin must agree on: the interface's number, which every change of `carrier` raises, and the
/// layouts of what crosses the border.
[[nodiscard]] inline std::string plugin_version() {
  return "shunt transport 4 (train " + std::to_string(sizeof(rail::train)) + ", service " +
         std::to_string(sizeof(service)) + ", limits " + std::to_string(sizeof(limits)) + ", loss " +
         std::to_string(sizeof(loss)) + ", string " + std::to_string(sizeof(std::string)) + ")";
}

/// What a plugin's shunt_transport_plugin() returns. \param library  static text
[[nodiscard]] inline const plugin* offered(const char* library, carrier* (*open)(const limits& time_limits)) noexcept {
  static const std::string version = plugin_version();
  static const plugin only{version.c_str(), library, open};
  return &only;
}

/// What a plugin may be made with: one implementation of what a transport needs.
struct implementation {
  std::string_view transport;  ///< "mpi", "shmem"
  std::string_view name;       ///< "Open MPI"
  std::string_view file;       ///< "libshunt_mpi_openmpi.so"
  bool global;                 ///< its symbols must be visible to what it loads itself
};

/// In order of preference where no launcher decides.
[[nodiscard]] std::span<const implementation> implementations() noexcept;

/// What the environment says about the launcher that started this process.
struct launcher {
  const implementation* mpi = nullptr;  ///< nullptr: not an MPI launcher, or one that serves both
  bool present = false;                 ///< started by some MPI launcher
  int ranks = 1;                        ///< of the job; 0 where it does not say
};
/// Any thread, while none changes the environment.
[[nodiscard]] launcher find_launcher();

/// Folders to search, in order: those in `first`, the program's own, ../lib/shunt beside it, the library's, the
/// installed one. All are absolute, so that no code is loaded from the folder in which the program happens to run. May
/// name folders that do not exist.
/// \param first  separated by colons, as SHUNT_PLUGINS has them; empty ones are left out
/// \throws usage_error for one that is not absolute.
[[nodiscard]] std::vector<std::filesystem::path> plugin_folders(const std::string& first);

/// A plugin's file.
struct candidate {
  const implementation* made_with;
  std::filesystem::path file;
};

/// The first file of every implementation of a transport, in order of preference.
/// \param transport  "mpi", "shmem"
[[nodiscard]] std::vector<candidate> find_plugins(std::span<const std::filesystem::path> folders,
                                                  std::string_view transport = "mpi");

/// Those of `found`, all of the transport `mpi`, that may serve a job that `by` started, the best first.
/// \throws usage_error if there is none; it says what there is, and where it was looked for.
[[nodiscard]] std::vector<candidate> choose(std::span<const candidate> found, const launcher& by,
                                            std::span<const std::filesystem::path> folders);

/// The same for the transport `shmem`, which Open MPI's launchers serve: oshrun, and mpirun too.
/// \throws usage_error if there is none, or another launcher has started the job.
[[nodiscard]] std::vector<candidate> choose_shmem(std::span<const candidate> found, const launcher& by,
                                                  std::span<const std::filesystem::path> folders);

/// Collective. Opens the first file that the system can load (an MPI that has been removed is no reason to fail while
/// there is another one), and asks it for its transport.
/// \param from  not empty
/// \throws usage_error if none can be loaded or one is of another version; shunt::error if MPI fails.
[[nodiscard]] std::unique_ptr<carrier> load(std::span<const candidate> from, const limits& time_limits = {});

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
