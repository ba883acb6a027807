#include <shunt/base/symbols.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include <cxxabi.h>

#if defined(__linux__)
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace shunt {
inline namespace v1 {
namespace {

std::string hexadecimal(std::uintptr_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%zx", static_cast<std::size_t>(number));
  return text.data();
}

std::string readable(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                     &std::free);
  return plain ? plain.get() : symbol;
}

}  // namespace

/// The functions of one program file, by their address in it (ELF, System V ABI, chapter 4). None if the file cannot be
/// read, or is not such a file: names are a help, never a reason to fail.
struct symbols::file {
  struct function {
    std::uintptr_t begin;
    std::uintptr_t bytes;
    std::string symbol;
  };

#if defined(__linux__)
  explicit file(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat about{};
    if (fstat(fd, &about) == 0 && about.st_size > 0) {
      const auto bytes = static_cast<std::size_t>(about.st_size);
      void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED) {
        const image whole{static_cast<const char*>(at), bytes};
        if (!read(whole, SHT_SYMTAB)) read(whole, SHT_DYNSYM);
        munmap(at, bytes);
      }
    }
    close(fd);
    std::sort(functions.begin(), functions.end(),
              [](const function& a, const function& b) { return a.begin < b.begin; });
  }
#else
  explicit file(const char*) {}
#endif

  /// The function that has this address of the file; null: none.
  [[nodiscard]] const function* at(std::uintptr_t address) const noexcept {
    auto after = std::upper_bound(functions.begin(), functions.end(), address,
                                  [](std::uintptr_t a, const function& f) { return a < f.begin; });
    if (after == functions.begin()) return nullptr;
    --after;
    const bool inside = address - after->begin < std::max<std::uintptr_t>(after->bytes, 1);
    return inside ? &*after : nullptr;
  }

  std::vector<function> functions;

#if defined(__linux__)
 private:
  struct image {
    const char* start;
    std::size_t bytes;

    /// `count` objects at `offset`; null unless all of them lie inside the file.
    template <typename T>
    [[nodiscard]] const T* get(std::size_t offset, std::size_t count = 1) const noexcept {
      if (offset > bytes || (bytes - offset) / sizeof(T) < count || offset % alignof(T) != 0) return nullptr;
      return reinterpret_cast<const T*>(start + offset);
    }
  };

  /// Takes the functions of the first symbol table of this type. Every offset is checked: the file may be damaged.
  /// \return whether there is such a section.
  bool read(const image& whole, std::uint32_t section_type) {
    const auto* const header = whole.get<ElfW(Ehdr)>(0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    const auto* const sections = whole.get<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    if (sections == nullptr) return false;
    for (std::size_t i = 0; i < header->e_shnum; ++i) {
      const auto& table = sections[i];
      if (table.sh_type != section_type || table.sh_link >= header->e_shnum) continue;
      const auto& texts = sections[table.sh_link];
      const auto count = table.sh_size / sizeof(ElfW(Sym));
      const auto* const entries = whole.get<ElfW(Sym)>(table.sh_offset, count);
      const auto* const text = whole.get<char>(texts.sh_offset, texts.sh_size);
      if (entries == nullptr || text == nullptr) continue;
      const std::string_view all(text, texts.sh_size);
      for (std::size_t k = 0; k < count; ++k) {
        const auto& entry = entries[k];
        if (ELF64_ST_TYPE(entry.st_info) != STT_FUNC || entry.st_value == 0 || entry.st_name >= all.size()) continue;
        const auto rest = all.substr(entry.st_name);
        functions.push_back({entry.st_value, entry.st_size, std::string(rest.substr(0, rest.find('\0')))});
      }
      return true;
    }
    return false;
  }
#endif
};

struct symbols::parts {
  std::map<std::string, file> files;
};

symbols::symbols() : parts_(std::make_unique<parts>()) {}
symbols::~symbols() = default;

/// The loader knows which file has the address, and the file's table knows the function. Without a name, file and
/// offset; without a file, the address.
std::string symbols::name(const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
#if defined(__linux__)
  Dl_info about{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(address), &about, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
      map != nullptr) {
    const std::string path = map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : "/proc/self/exe";
    const auto inside = address - map->l_addr;
    if (path.front() == '/') {  // else the vDSO, or relative to a folder that may have changed
      const auto known = parts_->files.try_emplace(path, path.c_str()).first;
      if (const auto* const f = known->second.at(inside)) return readable(f->symbol.c_str());
    }
    const std::string_view whole = about.dli_fname == nullptr ? std::string_view{} : about.dli_fname;
    return std::string(whole.substr(whole.rfind('/') + 1)) + "+" + hexadecimal(inside);
  }
#endif
  return hexadecimal(address);
}

}  // namespace v1
}  // namespace shunt
