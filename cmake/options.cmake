# Options a user may set, and flags that every target of the project shares. Inside another project
# (add_subdirectory, FetchContent) everything but the library is off, and nothing here reaches the parent.
include(CMakeDependentOption)
option(SHUNT_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SHUNT_APPS "Build the applications and the command's program" ${PROJECT_IS_TOP_LEVEL})
option(SHUNT_BENCH "Build the tables' programs, rivals included" OFF)
option(SHUNT_INSTALL "Install the library" ${PROJECT_IS_TOP_LEVEL})
option(SHUNT_WERROR "Treat warnings as errors" OFF)
# The switch between stacks is ours for these; elsewhere it is Boost.Context's.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|aarch64|arm64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(shunt_own_switch ON)
else()
  set(shunt_own_switch OFF)
endif()
cmake_dependent_option(SHUNT_CONTEXT_BOOST "Switch stacks with Boost.Context" OFF shunt_own_switch ON)
option(SHUNT_PCH "Read the headers that most tests include once for all tests: where all is built at once" OFF)
option(SHUNT_FUZZ "Build the fuzzers: needs Clang with libFuzzer (preset clang-fuzz)" OFF)
option(SHUNT_WEAKEN "Let a run weaken one memory order: needs Clang and its ThreadSanitizer (preset clang-tsan)" OFF)
set(SHUNT_SANITIZE "" CACHE STRING "Sanitizers for every target: 'address,undefined' or 'thread'")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # for editors: .clangd says where
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
elseif(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  message(WARNING "CMAKE_BUILD_TYPE is not set: this project and shunt are compiled without optimisation, and messages "
    "cost some 15 times as much. Configure with -DCMAKE_BUILD_TYPE=Release")
endif()

add_library(shunt_warnings INTERFACE)
# Clang's -Wconversion includes signs, gcc's does not: one rule for both. And std::stable_sort of gcc 12's library uses
# what that library has marked as deprecated, which Clang reports here.
target_compile_options(shunt_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # gcc 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-sign-conversion -Wno-deprecated-declarations>
  $<$<BOOL:${SHUNT_WERROR}>:-Werror>)

# A precompiled header of Clang's without its files' times: one that ccache kept is good for a new clone, too.
set(shunt_without_times "$<$<CXX_COMPILER_ID:Clang,AppleClang>:SHELL:-Xclang -fno-pch-timestamp>")

if(SHUNT_SANITIZE)
  # Lines for the reports; a level of the build type's own would be undone by a -g after it, at a quarter of the build's
  # time.
  add_compile_options(-fsanitize=${SHUNT_SANITIZE} -fno-omit-frame-pointer -g1
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SHUNT_SANITIZE})
endif()

if(SHUNT_WEAKEN)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR NOT SHUNT_SANITIZE MATCHES thread)
    message(FATAL_ERROR "SHUNT_WEAKEN needs Clang and SHUNT_SANITIZE=thread: cmake --preset clang-tsan")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/tests/weaken/weaken.hpp>")
endif()

if(SHUNT_FUZZ)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles("extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }"
    SHUNT_HAS_LIBFUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT SHUNT_HAS_LIBFUZZER)
    message(FATAL_ERROR "SHUNT_FUZZ needs libFuzzer, which ${CMAKE_CXX_COMPILER} does not have "
      "(Debian: clang-19 and libclang-rt-19-dev; -DCMAKE_CXX_COMPILER=clang++-19)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
