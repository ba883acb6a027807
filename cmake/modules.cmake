# The library: an object library for each module, and all of them together in `shunt`.
#
#   src/shunt/modules.txt     which module may include and link which
#   shunt_module_<module>     its objects
#   shunt                     the library, of every module's objects; a shared one exports what exports.map lists
#   shunt_layers              links each module with nothing but the modules in its row: a call into another module, by
#                             whatever declaration, is an undefined reference. Tests build it; nothing else needs it.
#
# The sources are what lies in a module's folder. Tests and fuzzers lie there too, and the transports over networks,
# which are plugins: mpi.cmake, shmem.cmake.
find_package(Threads REQUIRED)
include(CheckCXXCompilerFlag)
include(CheckIncludeFileCXX)
set(CMAKE_REQUIRED_FLAGS -Werror)  # clang says no more than that it does not use what it does not know on a machine
check_cxx_compiler_flag(-fstack-clash-protection SHUNT_STACK_CLASH_PROTECTION)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT SHUNT_STACK_CLASH_PROTECTION)
  message(STATUS "Large frames are not probed: the compiler has no -fstack-clash-protection for this machine")
endif()
if(SHUNT_CONTEXT_BOOST)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()

# How the library is compiled, and what compiles with it.
function(shunt_settings target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC Threads::Threads PRIVATE ${CMAKE_DL_LIBS} $<BUILD_INTERFACE:shunt_warnings>)
  # Public: a fiber's stack is small, and code of programs runs on it. With this option a frame of more than a page
  # touches its pages in order, so that one that does not fit always ends in the gap below its stack, however large it
  # is. Without it a frame may reach beyond the gap, into another fiber's stack. Frames of less than a page are compiled
  # as without it.
  if(SHUNT_STACK_CLASH_PROTECTION)
    target_compile_options(${target} PUBLIC $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fstack-clash-protection>)
  endif()
  if(SHUNT_CONTEXT_BOOST)
    target_compile_definitions(${target} PUBLIC SHUNT_CONTEXT_BOOST)
    target_link_libraries(${target} PUBLIC Boost::context)
  endif()
  if(ZLIB_FOUND)
    target_link_libraries(${target} PRIVATE ZLIB::ZLIB)
  endif()
  # In a static library too: programs may link it into a shared library of theirs.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# Valgrind follows switches between stacks that it was told of. Its header is all that this takes; nothing is linked.
check_include_file_cxx(valgrind/memcheck.h SHUNT_VALGRIND_HEADER)
if(SHUNT_VALGRIND_HEADER)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/shunt/context/stack_pool.cpp
    APPEND PROPERTY COMPILE_DEFINITIONS SHUNT_VALGRIND)
else()
  message(STATUS "Valgrind is not told of stacks: its header is absent (Debian: valgrind)")
endif()

# Files that gzip has compressed: module graph.
find_package(ZLIB QUIET)
if(ZLIB_FOUND)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/shunt/graph/detail/gzip_stream.cpp
    APPEND PROPERTY COMPILE_DEFINITIONS SHUNT_ZLIB)
else()
  message(STATUS "Graphs in files that gzip has compressed are refused: zlib not found (Debian: zlib1g-dev)")
endif()

# A fused multiply-add rounds once where two instructions round twice: it would make the generated graphs depend on the
# processor that the compiler was told to aim at.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/shunt/graph/generate.cpp
  APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)

# Reading the headers is most of the work: with all sources of a module in one unit the library takes a tenth of the
# processor time. Off, a change compiles one source alone again.
option(SHUNT_UNITY "Compile each module of the library as one unit" ON)
function(shunt_one_unit target)
  if(SHUNT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

add_custom_target(shunt_layers)
set(shunt_modules "")
set(shunt_objects "")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/shunt/modules.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/src/shunt/modules.txt rows REGEX "^[a-z]")
foreach(row IN LISTS rows)
  string(REGEX MATCHALL "[a-z_]+" row "${row}")
  list(POP_FRONT row module)
  foreach(below IN LISTS row)
    if(NOT below IN_LIST shunt_modules)
      message(FATAL_ERROR "src/shunt/modules.txt: `${below}`, in the row of `${module}`, has no row above that one")
    endif()
  endforeach()
  list(APPEND shunt_modules ${module})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/shunt/${module}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "\\.(test|bench|plugin|fuzz)\\.cpp$|/transport/(mpi|network|shmem)/")
  add_library(shunt_module_${module} OBJECT ${sources})
  shunt_settings(shunt_module_${module})
  shunt_one_unit(shunt_module_${module})
  # tests/stm replaces the engine of `stm` by a copy with a flaw, instead of the object with the whole engine. So what
  # that copy includes is one unit, and the rest of `stm` another.
  if(module STREQUAL "stm")
    set_target_properties(shunt_module_stm PROPERTIES UNITY_BUILD_MODE GROUP)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/stm/history.cpp)
    file(STRINGS ${PROJECT_SOURCE_DIR}/tests/stm/history.cpp engine REGEX "^#include \"[./]*src/.*[.]cpp\"$")
    list(TRANSFORM engine REPLACE "^#include \"[./]*(src/.*)\"$" "${PROJECT_SOURCE_DIR}/\\1")
    set_source_files_properties(${sources} PROPERTIES UNITY_GROUP rest)
    set_source_files_properties(${engine} PROPERTIES UNITY_GROUP engine)
  endif()
  list(APPEND shunt_objects $<TARGET_OBJECTS:shunt_module_${module}>)
  set(shunt_objects_of_${module} $<TARGET_OBJECTS:shunt_module_${module}>)  # and of all modules below it
  foreach(under IN LISTS row)
    list(APPEND shunt_objects_of_${module} ${shunt_objects_of_${under}})
  endforeach()
  list(REMOVE_DUPLICATES shunt_objects_of_${module})

  list(TRANSFORM row PREPEND shunt_layer_ OUTPUT_VARIABLE below)
  add_library(shunt_layer_${module} SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:shunt_module_${module}>)
  set_target_properties(shunt_layer_${module} PROPERTIES LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/layers)
  target_link_options(shunt_layer_${module} PRIVATE LINKER:--no-undefined)
  target_link_libraries(shunt_layer_${module} PRIVATE ${below} Threads::Threads ${CMAKE_DL_LIBS})
  if(ZLIB_FOUND AND module STREQUAL "graph")
    target_link_libraries(shunt_layer_graph PRIVATE ZLIB::ZLIB)
  endif()
  if(SHUNT_CONTEXT_BOOST)
    target_link_libraries(shunt_layer_${module} PRIVATE Boost::context)
  endif()
  add_dependencies(shunt_layers shunt_layer_${module})
endforeach()

# In <target>, a shared library, all but what programs need is hidden: private classes, helpers of the sources, and what
# the compiler made of the standard library's templates.
function(shunt_limit_exports target)
  target_link_options(${target} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
endfunction()

if(SHUNT_WEAKEN)  # tests/weaken
  set(shunt_weaken ${PROJECT_SOURCE_DIR}/tests/weaken/weaken.cpp)
  set_property(SOURCE ${shunt_weaken} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=thread)
endif()
add_library(shunt ${shunt_objects} ${shunt_weaken})
add_library(shunt::shunt ALIAS shunt)
shunt_settings(shunt)
set_target_properties(shunt PROPERTIES LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
get_target_property(shunt_type shunt TYPE)
if(shunt_type STREQUAL SHARED_LIBRARY)
  shunt_limit_exports(shunt)
endif()
