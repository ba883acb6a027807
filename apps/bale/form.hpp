/// The forms in which kernels are written.
#pragma once

#include <cstdint>

namespace shunt::apps {

enum class form : std::uint8_t { lambda, class_, natural };

/// In which of them an application is.
enum class forms : std::uint8_t { none, two, three };

}  // namespace shunt::apps
