/// Bytes of a program's input in a message: printable, and on one line.
#pragma once

#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {

/// Any thread. A byte that is not printable, as it stands in a string of C++: "\n", "\x1b". \throws std::bad_alloc
[[nodiscard]] std::string escaped(char byte);

/// Any thread. The bytes in double quotes, those that are not printable escaped; of more than 40 the first 40, with
/// "..." behind the quotes. \throws std::bad_alloc
[[nodiscard]] std::string quoted(std::string_view bytes);

}  // namespace v1
}  // namespace shunt
