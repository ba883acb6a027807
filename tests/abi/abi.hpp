#pragma once

namespace shunt::testing {

/// The test, wherever it is linked. \return the program's exit status.
[[gnu::visibility("default")]] int abi();

}  // namespace shunt::testing
