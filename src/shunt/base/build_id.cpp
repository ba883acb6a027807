#include <shunt/base/build_id.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <elf.h>
#include <link.h>

namespace shunt {
inline namespace v1 {
namespace {

/// The description of the note NT_GNU_BUILD_ID among a segment's notes; empty: there is none.
std::span<const std::byte> build_note_in(std::span<const std::byte> notes) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data(), sizeof head);
    notes = notes.subspan(sizeof head);
    const std::size_t name = padded(head.n_namesz), whole = name + padded(head.n_descsz);
    if (whole > notes.size()) return {};
    const std::string_view owner(reinterpret_cast<const char*>(notes.data()), head.n_namesz);
    if (head.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU", 4)) {
      return notes.subspan(name, head.n_descsz);
    }
    notes = notes.subspan(whole);
  }
  return {};
}

}  // namespace

std::string build_id() {
  std::string digits;
  // The first file that the loader lists is the program.
  static_cast<void>(dl_iterate_phdr(
      [](dl_phdr_info* file, std::size_t, void* into) {
        for (int i = 0; i < file->dlpi_phnum; ++i) {
          const auto& segment = file->dlpi_phdr[i];
          if (segment.p_type != PT_NOTE) continue;
          const auto* const notes = reinterpret_cast<const std::byte*>(file->dlpi_addr + segment.p_vaddr);
          for (const std::byte b : build_note_in({notes, segment.p_memsz})) {
            for (const unsigned half : {static_cast<unsigned>(b) >> 4U, static_cast<unsigned>(b) & 15U}) {
              static_cast<std::string*>(into)->push_back("0123456789abcdef"[half]);
            }
          }
          if (!static_cast<std::string*>(into)->empty()) break;
        }
        return 1;
      },
      &digits));
  return digits;
}

}  // namespace v1
}  // namespace shunt
