#include <shunt/base/quoted.hpp>

#include <cstddef>

namespace shunt {
inline namespace v1 {
namespace {

constexpr std::size_t most_quoted = 40;  // bytes

}  // namespace

std::string escaped(char byte) {
  constexpr char digits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  switch (byte) {
    case '\t': return "\\t";
    case '\n': return "\\n";
    case '\r': return "\\r";
    default: return {'\\', 'x', digits[value >> 4], digits[value & 15]};
  }
}

std::string quoted(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes.substr(0, most_quoted)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += escaped(c);
    }
  }
  return out + (bytes.size() > most_quoted ? "\"..." : "\"");
}

}  // namespace v1
}  // namespace shunt
