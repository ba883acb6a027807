/// The generations of a checkpoint in a directory.
///
///   DIR/walk.6/pes-0-1 pes-2-3                whole: the files have all PEs of the job
///   DIR/walk.7/pes-0-1 pes-2-3.unfinished     being written, or given up
///
/// Nothing says beside the files that a generation is whole, so nothing can say it wrongly: a file has its name when it
/// is on the disk (checkpoint_file.F2), and each says of which job, generation and PEs it is.
///
/// Invariants
///   checkpoint_folder.D1  A job gives its first generation a number above those of all that are there, whole or not.
///                         So the files of one folder are of one job.
///   checkpoint_folder.D2  Before the folder of a whole generation is removed, two later ones are whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shunt/pgas/detail/checkpoint_file.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// A generation, with all its files.
struct whole_generation {
  struct file {
    std::string path;
    int first_pe = 0;
    int pes_here = 0;
  };
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;
  std::string build;
  std::vector<file> files;  // by PE

  void save(checkpoint_writer& to) const;
  void load(checkpoint_reader& from);
};

/// All functions: a thread that may wait for the disk, one of the job at a time.
class checkpoint_folder {
 public:
  /// \param directory  as the user named it \param name  of the checkpoint
  checkpoint_folder(std::string directory, std::string name);

  /// Makes the directory, and those above it. \throws usage_error that names it, where that cannot be, or where no file
  /// can be made in it
  void make() const;
  /// The folder of a generation.
  [[nodiscard]] std::string path_of(std::uint64_t generation) const;
  /// A file by which the ranks of a job find out whether they see the same directory.
  [[nodiscard]] std::string mark_of(std::uint64_t stamp) const;
  /// Those that jobs have left which were killed. \throws error where the directory cannot be listed
  void remove_marks() const;
  /// Generations of which something is there, the oldest first. \throws error where the directory cannot be listed
  [[nodiscard]] std::vector<std::uint64_t> generations() const;
  /// The last whole generation; nothing: there is none. \param notes  gets a line for each later one that is not whole
  /// \throws error for files that are damaged, of several jobs, or of something else than `here`, and for a folder that
  ///         cannot be listed
  [[nodiscard]] std::optional<whole_generation> last(const checkpoint_identity& here,
                                                     std::vector<std::string>& notes) const;
  /// Removes generations up to `current`. The last two that are whole stay, and those that cannot be read.
  /// \param is_whole  whether every rank has written its file of `current`; otherwise it goes, and counts for nothing
  void prune(std::uint64_t current, bool is_whole) const noexcept;

 private:
  /// \return the generation, or how it is not whole
  struct look {
    std::optional<whole_generation> found;
    std::string missing;
  };
  [[nodiscard]] look look_at(std::uint64_t generation, const checkpoint_identity* here) const;

  std::string directory_;
  std::string name_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
