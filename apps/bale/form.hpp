/// The two forms in which every kernel is written.
#pragma once

#include <cstdint>

namespace shunt::apps {

enum class form : std::uint8_t { lambda, class_ };

}  // namespace shunt::apps
