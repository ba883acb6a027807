/// Which build of a program this is.
#pragma once

#include <string>

namespace shunt {
inline namespace v1 {

/// Any thread. The identity that the linker gave the program's file (its note NT_GNU_BUILD_ID), in hexadecimal digits;
/// empty where it has none. Two files with the same one are the same build. \throws std::bad_alloc
[[nodiscard]] std::string build_id();

}  // namespace v1
}  // namespace shunt
