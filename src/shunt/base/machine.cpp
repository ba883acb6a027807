#include <shunt/base/machine.hpp>

#include <climits>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace shunt {
inline namespace v1 {

std::string kernel_identity(const std::string& root) {
  std::string text;
  std::ifstream(root + "/proc/sys/kernel/random/boot_id") >> text;
  if (text.empty()) {
    char name[HOST_NAME_MAX + 1] = "";
    if (gethostname(name, sizeof name - 1) == 0) text = name;
  }
  return text;
}

std::string machine_identity(const std::string& root) {
  std::string text = kernel_identity(root);
  for (const char* const kind : {"net", "pid", "ipc"}) {
    std::error_code unknown;  // no /proc, or a kernel without this kind of namespace
    const auto number = std::filesystem::read_symlink(root + "/proc/self/ns/" + kind, unknown);
    text += ' ' + (unknown ? std::string(kind) + ":?" : number.string());
  }
  return text;
}

}  // namespace v1
}  // namespace shunt
