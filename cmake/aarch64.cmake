# Toolchain file: compiles for AArch64 with Debian's g++-aarch64-linux-gnu, and runs tests under qemu-user-static.
#
#   cmake --preset aarch64 && cmake --build --preset aarch64 && taskset -c 0 ctest --test-dir build/aarch64 -LE check
#
# On one CPU, for QEMU 7.2 lets a store-release and a later load-acquire of another place change places on x86-64; on
# AArch64 they do not (B2.3.7, "Barrier-ordered-before"), and the sequentially consistent pairs of C++ rest on it. The
# tests that race on purpose then see what no such machine shows.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
# Headers that are the same on every machine (Catch2) come from this one; libraries must not.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
