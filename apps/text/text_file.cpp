#include "text/text_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <shunt/base/error.hpp>
#include <system_error>

namespace shunt::apps {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& path, int why) {
  throw usage_error(error_number(1104), option + " " + path + ": " + std::generic_category().message(why));
}

}  // namespace

text_file::text_file(const std::string& option, const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse(option, path, errno);
  struct stat facts{};
  int failed = fstat(file, &facts) == 0 ? 0 : errno;
  if (failed == 0 && !S_ISREG(facts.st_mode)) failed = S_ISDIR(facts.st_mode) ? EISDIR : ESPIPE;
  void* at = MAP_FAILED;
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (failed == 0 && size != 0) {
    at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED) failed = errno;
  }
  close(file);
  if (failed != 0) refuse(option, path, failed);
  if (size != 0) text_ = {static_cast<const char*>(at), size};
}

text_file::~text_file() {
  // The memory was mapped by the constructor, and is const to all others.
  if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
}

}  // namespace shunt::apps
