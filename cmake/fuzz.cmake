# Fuzzers: programs of libFuzzer, from *.fuzz.cpp files that lie beside the code that they test.
#
# A file defines LLVMFuzzerTestOneInput(). Each becomes two things:
#
#   fuzz_<name>           where SHUNT_FUZZ is on (Clang with libFuzzer): the fuzzer, and a test with the label `fuzz`
#                         that gives it RUNS inputs, from the corpus and mutated, the same at each run
#   test_<name>_corpus    elsewhere: a test without a label that gives each file of the corpus to the same function
#                         once, so that every compiler and every sanitizer sees the corpus
#
# The fuzzers of the whole tree, as .ci/run's stage `fuzz` runs them:
#
#   cmake --preset clang-fuzz -DCMAKE_CXX_COMPILER=clang++-19 && cmake --build build/clang-fuzz --target shunt_fuzzers
#   ctest --test-dir build/clang-fuzz -L fuzz --output-on-failure
#
# One of them, for long (new inputs go into the first folder; see -help=1):
#
#   mkdir -p /tmp/found
#   build/clang-fuzz/bin/fuzz_graph -fork=2 -max_total_time=28800 /tmp/found src/shunt/graph/corpus
#
# An input that fails is left as crash-*, oom-* or timeout-*: mend the fault, and add the input to the corpus.
#
# SHUNT_FUZZ itself lies in options.cmake, since every target must be compiled for coverage.
if(NOT SHUNT_FUZZ)
  message(STATUS "Fuzzers are not built, their corpora are tested once: SHUNT_FUZZ is off (preset clang-fuzz)")
endif()
add_custom_target(shunt_fuzzers)

# shunt_add_fuzzer(<name> SOURCES <file>... CORPUS <folder> RUNS <n> [LIBRARIES <target>...] [LENGTH <bytes>]
#   [DICTIONARY <file>] [INSIDE])
#   RUNS    inputs of the test, chosen so that they take about a minute
#   LENGTH  of the longest input, 4096 unless said
#   INSIDE  it tests private parts of the library
function(shunt_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSIDE" "CORPUS;RUNS;LENGTH;DICTIONARY" "SOURCES;LIBRARIES")
  foreach(needed SOURCES CORPUS RUNS)
    if(NOT arg_${needed})
      message(FATAL_ERROR "shunt_add_fuzzer(${name}): no ${needed}")
    endif()
  endforeach()
  cmake_path(ABSOLUTE_PATH arg_CORPUS)
  if(NOT IS_DIRECTORY ${arg_CORPUS})
    message(FATAL_ERROR "shunt_add_fuzzer(${name}): no folder ${arg_CORPUS}")
  endif()
  if(SHUNT_FUZZ)
    set(target fuzz_${name})
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    add_dependencies(shunt_fuzzers ${target})
    if(NOT arg_LENGTH)
      set(arg_LENGTH 4096)
    endif()
    # An empty folder of its own takes what is found, so that a run depends on the corpus in the tree alone.
    set(dictionary "")
    if(arg_DICTIONARY)
      cmake_path(ABSOLUTE_PATH arg_DICTIONARY)
      set(dictionary " -dict='${arg_DICTIONARY}'")
    endif()
    string(JOIN " " line "rm -rf found && mkdir found && exec '$<TARGET_FILE:${target}>' -runs=${arg_RUNS} -seed=1"
      "-max_len=${arg_LENGTH} -timeout=60 -rss_limit_mb=2048${dictionary} found '${arg_CORPUS}'")
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz/${name})
    add_test(NAME ${target} COMMAND ${SHUNT_BASH} -c "${line}" WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz/${name})
    set_tests_properties(${target} PROPERTIES LABELS fuzz TIMEOUT 1200 COST 20)
  else()
    set(target test_${name}_corpus)
    add_executable(${target} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/corpus.cpp)
    add_test(NAME ${name}_corpus COMMAND ${target} ${arg_CORPUS})
    set_tests_properties(${name}_corpus PROPERTIES TIMEOUT 600)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set(library shunt::shunt)
  if(arg_INSIDE)
    set(library shunt_inside)
  endif()
  target_link_libraries(${target} PRIVATE ${library} ${arg_LIBRARIES} shunt_warnings)
endfunction()

# What arrives from another process.
shunt_add_fuzzer(arrivals SOURCES src/shunt/pgas/arrivals.fuzz.cpp CORPUS src/shunt/pgas/corpus RUNS 400000 LENGTH 1041
  INSIDE)
# What stands in files of graphs. It compresses each input, too.
if(ZLIB_FOUND)
  shunt_add_fuzzer(graph SOURCES src/shunt/graph/read.fuzz.cpp LIBRARIES ZLIB::ZLIB CORPUS src/shunt/graph/corpus
    DICTIONARY src/shunt/graph/read.dict RUNS 20000)
endif()
# What a client or a server sends. Module io parses it by Boost.Beast.
find_path(shunt_found_beast boost/beast/http/parser.hpp)
mark_as_advanced(shunt_found_beast)
if(shunt_found_beast)
  shunt_add_fuzzer(http SOURCES src/shunt/io/http.fuzz.cpp CORPUS src/shunt/io/corpus DICTIONARY src/shunt/io/http.dict
    RUNS 200000 LENGTH 1024)
else()
  message(STATUS "HTTP is not tested: Boost.Beast not found (Debian: libboost-dev)")
endif()
