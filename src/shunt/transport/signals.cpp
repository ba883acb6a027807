#include <shunt/transport/processes.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace transport {

bool catches_signal(int process, int number) noexcept {
  char path[32] = "/proc/";
  char* const digits = std::to_chars(path + 6, path + sizeof path - sizeof "/status", process).ptr;
  std::memcpy(digits, "/status", sizeof "/status");
  const int from = ::open(path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return false;
  std::array<char, 4096> text{};
  const auto length = ::read(from, text.data(), text.size());
  ::close(from);
  const std::string_view all(text.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  const auto line = all.find("\nSigCgt:\t");
  if (line == all.npos) return false;
  const auto mask = all.substr(line + 9, all.find('\n', line + 1) - line - 9);
  std::uint64_t caught = 0;
  std::from_chars(mask.data(), mask.data() + mask.size(), caught, 16);
  return (caught >> (number - 1) & 1) != 0;
}

}  // namespace transport
}  // namespace v1
}  // namespace shunt
