/// A file of a checkpoint: the parts of the PEs that one rank has.
///
///   | fixed, 32 bytes | head: what it is, and a table | part | part | ...     parts lie PE by PE, without gaps
///   fixed    | magic | format | check | bytes of the head | bytes of the file |
///   check    CRC-32C of all of fixed but magic and itself, and of the head
///   table    for each part of each PE its bytes, and their CRC-32C
///
/// Any rank of any job of the program can read the parts of any PE: it needs the head, and these.
///
/// Invariants
///   checkpoint_file.F1  Each byte of a file is the magic's, or stands under a check, or is a check.
///   checkpoint_file.F2  A file that has its name has all its bytes, on the disk: it is written under another name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <shunt/pgas/checkpoint_form.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What a program must have in common with the one that wrote a checkpoint.
struct checkpoint_identity {
  std::string program;              // its file's name
  std::string name;                 // of the checkpoint
  int pes = 0;                      // of the job
  std::vector<std::string> layout;  // of each part: its name and type

  /// How another one differs, as a sentence about that one's file; empty: not at all.
  [[nodiscard]] std::string difference(const checkpoint_identity& here) const;

  void save(checkpoint_writer& to) const;
  void load(checkpoint_reader& from);
};

/// What a file says of itself.
struct checkpoint_head {
  checkpoint_identity of;
  std::string build;             // of the program; empty: it has none
  std::uint64_t generation = 0;  // of this name
  std::uint64_t stamp = 0;       // a random number of the job that wrote it
  int first_pe = 0;              // of those in this file
  int pes_here = 0;

  struct entry {
    std::uint64_t bytes = 0;
    std::uint32_t check = 0;
  };
  std::vector<entry> table;  // by PE, then by part

  [[nodiscard]] const entry& of_part(int pe, std::size_t part) const noexcept {
    return table[static_cast<std::size_t>(pe - first_pe) * of.layout.size() + part];
  }
  /// Whether its numbers agree with each other.
  [[nodiscard]] bool is_sound() const noexcept;

  void save(checkpoint_writer& to) const;
  void load(checkpoint_reader& from);
};

/// The parts of one PE.
using saved_parts = std::vector<checkpoint_writer>;

/// The file's name among those of its generation: "pes-0-3".
[[nodiscard]] std::string checkpoint_file_name(int first_pe, int pes_here);

/// A thread that may wait for the disk. Fills the table, and writes the file: under another name, which it changes when
/// all bytes are on the disk.
/// \param parts  by PE of this file \return what went wrong, as one line; empty: nothing. Then there is no file.
[[nodiscard]] std::string write_checkpoint_file(const std::string& path, checkpoint_head head,
                                                std::span<const saved_parts> parts);

/// A thread that may wait for the disk. Returns when the name of a file or folder is on the disk, in the folder that it
/// lies in. \return what went wrong; empty: nothing
[[nodiscard]] std::string sync_folder_of(const std::string& path);

/// Reads a file of a checkpoint. A thread that may wait for the disk.
class checkpoint_file {
 public:
  /// Opens it, and reads the head. \throws shunt::error that names the file, where it is damaged or cannot be read
  explicit checkpoint_file(const std::string& path);
  ~checkpoint_file();
  checkpoint_file(const checkpoint_file&) = delete;
  checkpoint_file& operator=(const checkpoint_file&) = delete;

  [[nodiscard]] const checkpoint_head& head() const noexcept { return head_; }
  /// The bytes of a part. \throws shunt::error that names file, PE and part, where they are damaged or cannot be read
  [[nodiscard]] std::vector<std::byte> part(int pe, std::size_t part) const;
  /// "FILE: PE 3, part 1 (TYPE)"
  [[nodiscard]] std::string name_of(int pe, std::size_t part) const;

 private:
  void read_head();
  void read(std::span<std::byte> into, std::uint64_t at) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  int fd_;
  checkpoint_head head_;
  std::uint64_t data_ = 0;  // where the parts begin
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
