# One test program a module, from the *.test.cpp files that lie beside the sources.
#
# Labels     none      unit tests: run in every build, sanitizers included
#            check     of the code as such: layers, headers, exports, what must not compile, the install tree
#            command   of the command's lines and exit statuses
#            ranks     jobs of several processes
#            model     protocols under a model checker
#            fuzz      fuzzers, a minute each: see fuzz.cmake
#            tools     what a debugger and Valgrind see of small programs
find_package(Catch2 2 REQUIRED)
find_program(SHUNT_BASH bash REQUIRED)
add_library(shunt_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
target_link_libraries(shunt_test_main PUBLIC Catch2::Catch2)
target_compile_features(shunt_test_main PRIVATE cxx_std_20)
# The largest unit of a build, and none of our code. Sanitizers see it nevertheless: the linker may take its copy of an
# inline function (of std::shared_ptr, say) for all.
target_compile_options(shunt_test_main PRIVATE -O0 -g0)
target_include_directories(shunt_test_main PUBLIC ${PROJECT_SOURCE_DIR}/tests)  # <support/...>

# Reading Catch2 and the standard headers is a third of the time that an average test takes to compile. With SHUNT_PCH
# all tests and examples share one precompiled header. A file that forgot an include then compiles too, so .ci/run has
# builds without. Nor is it for gcc 12 at -O3, which then warns of std::string's operator+ in one test (GCC bug 105651).
if(SHUNT_PCH)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/shunt_pch.cpp CONTENT "")
  add_library(shunt_pch OBJECT ${PROJECT_BINARY_DIR}/shunt_pch.cpp)
  target_link_libraries(shunt_pch PRIVATE shunt::shunt shunt_warnings Catch2::Catch2)
  target_precompile_headers(shunt_pch PRIVATE <catch2/catch.hpp> <algorithm> <array> <atomic> <chrono>
    <condition_variable> <cstdint> <cstring> <deque> <exception> <functional> <map> <memory> <mutex> <optional>
    <random> <set> <span> <stdexcept> <string> <string_view> <thread> <tuple> <utility> <vector>)
  target_compile_options(shunt_pch PRIVATE ${shunt_without_times})
endif()
# shunt_precompiled(<target>...): these, which compile with the library's options, use it.
function(shunt_precompiled)
  if(SHUNT_PCH)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM shunt_pch)
    endforeach()
  endif()
endfunction()

# The library for tests of private parts, which a shared one does not export.
if(shunt_type STREQUAL SHARED_LIBRARY)
  add_library(shunt_inside STATIC EXCLUDE_FROM_ALL ${shunt_objects})
  shunt_settings(shunt_inside)
  set_target_properties(shunt_inside PROPERTIES LINKER_LANGUAGE CXX)
else()
  add_library(shunt_inside ALIAS shunt)
endif()

# shunt_add_test(<name> SOURCES <file>... [LIBRARIES <target>...] [INSIDE])
# Makes the program test_<name> and the test <name>. INSIDE: it tests private parts of the library.
function(shunt_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSIDE" "" "SOURCES;LIBRARIES")
  set(library shunt::shunt)
  if(arg_INSIDE)
    set(library shunt_inside)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE
    ${library} ${arg_LIBRARIES} shunt_test_main shunt_warnings Catch2::Catch2)
  shunt_precompiled(test_${name})
  add_test(NAME ${name} COMMAND test_${name})
  # COST: the longest before the small ones, so that none runs alone in the end. TIMEOUT: ends what hangs; a slow
  # machine's ThreadSanitizer takes minutes.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200 COST 10)
  if(CMAKE_CROSSCOMPILING_EMULATOR)  # a test that starts its own program once more needs it, too
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "TESTS_EMULATOR=${emulator}")
  endif()
endfunction()

file(GLOB modules RELATIVE ${PROJECT_SOURCE_DIR}/src/shunt CONFIGURE_DEPENDS src/shunt/*)
foreach(module IN LISTS modules)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/shunt/${module}/*.test.cpp)
  list(FILTER sources EXCLUDE REGEX "/io/tls\\.test\\.cpp$|/task/senders\\.test\\.cpp$")
  if(sources)
    shunt_add_test(${module} SOURCES ${sources} INSIDE)
  endif()
endforeach()

# Only the programs that include <shunt/io/tls.hpp> link OpenSSL.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(OpenSSL 3 QUIET)
endif()
if(OPENSSL_FOUND)
  shunt_add_test(tls SOURCES ${PROJECT_SOURCE_DIR}/src/shunt/io/tls.test.cpp LIBRARIES OpenSSL::SSL)
else()
  message(STATUS "TLS is not tested: OpenSSL 3 not found (Debian: libssl-dev)")
endif()

# Senders and receivers are tested over the project's own stand-in, or over what SHUNT_STDEXEC names.
set(SHUNT_STDEXEC "" CACHE PATH "The folder with stdexec/execution.hpp over which tests of senders are compiled")
mark_as_advanced(SHUNT_STDEXEC)
if(SHUNT_STDEXEC)
  set(shunt_execution ${SHUNT_STDEXEC})
  message(STATUS "Senders are tested over stdexec: ${SHUNT_STDEXEC}")
else()
  set(shunt_execution ${PROJECT_SOURCE_DIR}/tests/execution)
  find_path(shunt_found_stdexec stdexec/execution.hpp)
  mark_as_advanced(shunt_found_stdexec)
  if(shunt_found_stdexec)
    message(STATUS "Senders are tested over the project's stand-in. stdexec: found, "
      "-DSHUNT_STDEXEC=${shunt_found_stdexec} tests over it")
  else()
    message(STATUS "Senders are tested over the project's stand-in. stdexec: absent (SHUNT_STDEXEC=FOLDER)")
  endif()
endif()
shunt_add_test(senders SOURCES ${PROJECT_SOURCE_DIR}/src/shunt/task/senders.test.cpp INSIDE)
target_include_directories(test_senders SYSTEM BEFORE PRIVATE ${shunt_execution})
# Compiled once more, for later versions' names of the tags, which only the stand-in can have at will.
if(NOT SHUNT_STDEXEC)
  add_library(shunt_senders_tags OBJECT ${PROJECT_SOURCE_DIR}/src/shunt/task/senders.test.cpp)
  target_link_libraries(shunt_senders_tags PRIVATE shunt_inside shunt_warnings Catch2::Catch2)
  target_include_directories(shunt_senders_tags PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_include_directories(shunt_senders_tags SYSTEM BEFORE PRIVATE ${shunt_execution})
  target_compile_definitions(shunt_senders_tags PRIVATE STAND_IN_TAGS)
  shunt_precompiled(shunt_senders_tags)
endif()

if(ZLIB_FOUND)  # tests of graph compress what it reads
  target_link_libraries(test_graph PRIVATE ZLIB::ZLIB)
  target_compile_definitions(test_graph PRIVATE SHUNT_ZLIB)
endif()

# The module `context` once more, over Boost.Context: as on machines for which the project has no switch of its own.
if(NOT SHUNT_CONTEXT_BOOST)
  find_package(Boost 1.74 QUIET COMPONENTS context)
  if(Boost_CONTEXT_FOUND)
    file(GLOB sources CONFIGURE_DEPENDS src/shunt/context/*.cpp src/shunt/context/detail/*.cpp
      src/shunt/base/*.cpp src/shunt/base/detail/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/base/[^/]*\\.(test|bench)\\.cpp$|\\.(bench|fuzz)\\.cpp$")
    add_executable(test_context_boost ${sources} ${shunt_weaken})
    shunt_one_unit(test_context_boost)
    target_compile_definitions(test_context_boost PRIVATE SHUNT_CONTEXT_BOOST)
    target_compile_features(test_context_boost PRIVATE cxx_std_20)
    target_include_directories(test_context_boost PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(test_context_boost PRIVATE
      Boost::context Threads::Threads shunt_test_main shunt_warnings Catch2::Catch2)
    add_test(NAME context_boost COMMAND test_context_boost)
    set_tests_properties(context_boost PROPERTIES TIMEOUT 1200)
    # Each of the two holds 200,000 stacks at a time: 800 MB.
    set_tests_properties(context context_boost PROPERTIES RESOURCE_LOCK many_stacks)
  else()
    message(STATUS "Boost.Context not found: the switch over it is not tested")
  endif()
endif()
