# The transport over MPI: one shared object for each MPI, opened at run time, so the library itself needs none.
#
#   SHUNT_MPI   auto      every MPI that is found (default)
#               openmpi, mpich, both     these, or an error
#               off
#
# Sets, for tests:
#   SHUNT_MPIS                                          those built: openmpi, mpich
#   SHUNT_MPIRUN_OPENMPI, SHUNT_MPIRUN_MPICH            command prefix that wants the number of ranks next
#   shunt_add_ranks_test()                              see below; over OpenSHMEM, too (shmem.cmake)
#
# CMake's FindMPI knows one MPI a project; here the wrapper compilers are asked what they would say.
set(SHUNT_MPI auto CACHE STRING "MPIs to build the transport with: auto, openmpi, mpich, both, off")
set_property(CACHE SHUNT_MPI PROPERTY STRINGS auto openmpi mpich both off)
if(NOT SHUNT_MPI MATCHES "^(auto|openmpi|mpich|both|off)$")
  message(FATAL_ERROR "SHUNT_MPI is `${SHUNT_MPI}`: auto, openmpi, mpich, both or off")
endif()

set(SHUNT_MPIS "")
set(shunt_plugin_folder ${PROJECT_BINARY_DIR}/lib/shunt)
file(RELATIVE_PATH shunt_plugin_from_program
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/shunt)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/shunt/transport/open.cpp APPEND PROPERTY COMPILE_DEFINITIONS
  SHUNT_PLUGIN_FOLDER="${CMAKE_INSTALL_FULL_LIBDIR}/shunt"
  SHUNT_PLUGIN_FOLDER_FROM_PROGRAM="${shunt_plugin_from_program}")

# A transport in a shared object of its own, from src/shunt/transport/<folder> and what all networks have in common.
# Self-contained, so that it serves programs with the library linked either way.
function(shunt_add_plugin target folder library)
  set(source ${PROJECT_SOURCE_DIR}/src/shunt)
  file(GLOB sources CONFIGURE_DEPENDS ${source}/transport/${folder}/*.cpp ${source}/transport/network/*.cpp)
  add_library(${target} MODULE
    ${sources}
    ${source}/transport/detail/process_watch.cpp
    ${source}/transport/detail/shared_trains.cpp
    ${source}/transport/detail/siblings.cpp
    ${source}/transport/launcher_output.cpp
    ${source}/base/futex.cpp
    ${source}/base/error.cpp
    ${source}/base/machine.cpp)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${library} ${ARGN} Threads::Threads $<BUILD_INTERFACE:shunt_warnings>)
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${shunt_plugin_folder})
  # A library that the loader finds by itself needs no path in what is installed.
  file(REAL_PATH "${library}" real)
  cmake_path(GET real PARENT_PATH folder_of_library)
  if(NOT folder_of_library IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endfunction()

# A wrapper called plain `mpicc` may belong to any MPI: it is asked for its version.
function(shunt_is_openmpi_wrapper result file)
  execute_process(COMMAND ${file} --showme:version OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(failed OR NOT said MATCHES "Open MPI")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
function(shunt_is_mpich_wrapper result file)
  execute_process(COMMAND ${file} -show OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(failed OR NOT said MATCHES "mpich|-lmpi" OR said MATCHES "openmpi|open-mpi")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
function(shunt_is_openmpi_launcher result file)
  execute_process(COMMAND ${file} --version OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(failed OR NOT said MATCHES "Open MPI|OpenRTE|PRTE")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
function(shunt_is_mpich_launcher result file)
  execute_process(COMMAND ${file} --version OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(failed OR NOT said MATCHES "HYDRA")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# What a wrapper compiler says of itself: sets <result>_INCLUDES, <result>_FOLDERS and <result>_LIBRARIES (what follows
# -I, -L and -l), and <result>_FAILED, in the caller. Several words after the wrapper are several questions.
function(shunt_ask_wrapper result wrapper)
  set(includes "")
  set(folders "")
  set(libraries "")
  set(failed FALSE)
  foreach(question IN LISTS ARGN)
    execute_process(COMMAND ${wrapper} ${question} OUTPUT_VARIABLE line ERROR_QUIET RESULT_VARIABLE status
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
      set(failed TRUE)
    endif()
    separate_arguments(words UNIX_COMMAND "${line}")
    foreach(word IN LISTS words)
      if(word MATCHES "^-I(.+)$")
        list(APPEND includes ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-L(.+)$")
        list(APPEND folders ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-l(.+)$")
        list(APPEND libraries ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endforeach()
  set(${result}_INCLUDES "${includes}" PARENT_SCOPE)
  set(${result}_FOLDERS "${folders}" PARENT_SCOPE)
  set(${result}_LIBRARIES "${libraries}" PARENT_SCOPE)
  set(${result}_FAILED ${failed} PARENT_SCOPE)
endfunction()

# A library of a wrapper's: in the folders that it names, else where the linker looks.
function(shunt_find_wrapped_library variable folders)
  find_library(${variable} NAMES ${ARGN} PATHS ${folders} NO_DEFAULT_PATH)
  find_library(${variable} NAMES ${ARGN})
  mark_as_advanced(${variable})
endfunction()

# Makes shunt_mpi_<mpi> from what a wrapper prints; sets `why` in the caller if it cannot.
function(shunt_add_mpi mpi wrapper question)
  shunt_ask_wrapper(said ${wrapper} ${question})
  set(names "")
  foreach(library IN LISTS said_LIBRARIES)
    if(library MATCHES "^(mpi|mpich)$")
      list(APPEND names ${library})
    endif()
  endforeach()
  find_file(SHUNT_${mpi}_HEADER mpi.h PATHS ${said_INCLUDES} NO_DEFAULT_PATH)
  if(NOT said_INCLUDES)
    find_file(SHUNT_${mpi}_HEADER mpi.h)
  endif()
  mark_as_advanced(SHUNT_${mpi}_HEADER)
  shunt_find_wrapped_library(SHUNT_${mpi}_LIBRARY "${said_FOLDERS}" ${names})
  if(said_FAILED OR NOT SHUNT_${mpi}_HEADER OR NOT SHUNT_${mpi}_LIBRARY)
    set(why "its headers are not installed" PARENT_SCOPE)
    return()
  endif()

  shunt_add_plugin(shunt_mpi_${mpi} mpi ${SHUNT_${mpi}_LIBRARY})
  target_include_directories(shunt_mpi_${mpi} SYSTEM PRIVATE ${said_INCLUDES})
  # The C interface only: the C++ one left the standard in MPI-3.
  target_compile_definitions(shunt_mpi_${mpi} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endfunction()

foreach(mpi openmpi mpich)
  if(mpi STREQUAL "openmpi")
    set(shown "Open MPI")
    set(ask --showme)
    set(launchers mpirun.openmpi mpirun mpiexec)
    set(package libopenmpi-dev)
  else()
    set(shown "MPICH")
    set(ask -show)
    set(launchers mpiexec.mpich mpiexec.hydra mpiexec mpirun)
    set(package libmpich-dev)
  endif()
  if(NOT SHUNT_MPI MATCHES "^(auto|both|${mpi})$")
    message(STATUS "Transport mpi (${shown}): off (SHUNT_MPI=${SHUNT_MPI})")
    continue()
  endif()
  set(why "")
  find_program(SHUNT_${mpi}_WRAPPER NAMES mpicc.${mpi} mpicc VALIDATOR shunt_is_${mpi}_wrapper)
  find_program(SHUNT_${mpi}_LAUNCHER NAMES ${launchers} VALIDATOR shunt_is_${mpi}_launcher)
  mark_as_advanced(SHUNT_${mpi}_WRAPPER SHUNT_${mpi}_LAUNCHER)
  if(SHUNT_${mpi}_WRAPPER)
    shunt_add_mpi(${mpi} ${SHUNT_${mpi}_WRAPPER} ${ask})
  else()
    set(why "there is no mpicc of it")
  endif()
  if(TARGET shunt_mpi_${mpi})
    list(APPEND SHUNT_MPIS ${mpi})
    message(STATUS "Transport mpi (${shown}): ${SHUNT_${mpi}_LIBRARY}")
  elseif(SHUNT_MPI STREQUAL "auto")
    message(STATUS "Transport mpi (${shown}): absent, ${why} (Debian: ${package})")
  else()
    message(FATAL_ERROR "SHUNT_MPI=${SHUNT_MPI}, but ${shown} is absent: ${why} (Debian: ${package})")
  endif()
endforeach()

# --- how tests start a job ---
# More ranks than cores: Open MPI must be told, and to yield while it waits in MPI_Init and MPI_Finalize.
set(SHUNT_MPIRUN_OPENMPI "")
set(SHUNT_MPIRUN_MPICH "")
if(SHUNT_openmpi_LAUNCHER)
  set(SHUNT_MPIRUN_OPENMPI ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    ${SHUNT_openmpi_LAUNCHER} --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -np)
endif()
if(SHUNT_mpich_LAUNCHER)
  set(SHUNT_MPIRUN_MPICH ${SHUNT_mpich_LAUNCHER} -bind-to none -np)
endif()

# shunt_add_ranks_test(<name> RANKS <n>... COMMAND <target> <argument>...
#                      [LAUNCHER_OPENMPI <word>...] [LAUNCHER_MPICH <word>...] [AROUND <word>...]
#                      [PROPERTIES <property> <value>...])
# Makes the tests <name>.<mpi>.<n>, with the label `ranks`, for every MPI that was built and has a launcher, and
# <name>.shmem.<n> for OpenSHMEM. They share the cores, so each takes all of them. LAUNCHER_...: further words for that
# launcher. AROUND: a command that runs the launcher. Trains go over the network, unless SHARED is given: then the names
# are <name>_shared.<mpi>.<n>.
function(shunt_add_ranks_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg
    "SHARED" "" "RANKS;COMMAND;LAUNCHER_OPENMPI;LAUNCHER_MPICH;AROUND;PROPERTIES")
  list(POP_FRONT arg_COMMAND target)
  set(shared 0)
  if(arg_SHARED)
    string(APPEND name _shared)
    set(shared 1)
  endif()
  foreach(mpi IN LISTS SHUNT_MPIS ITEMS shmem)
    string(TOUPPER ${mpi} MPI)
    if(NOT SHUNT_MPIRUN_${MPI})
      continue()
    endif()
    set(transport "")
    if(mpi STREQUAL "shmem")
      set(transport ";SHUNT_TRANSPORT=shmem")
    endif()
    foreach(n IN LISTS arg_RANKS)
      add_test(NAME ${name}.${mpi}.${n}
        COMMAND ${arg_AROUND} ${SHUNT_MPIRUN_${MPI}} ${n} ${arg_LAUNCHER_${MPI}} $<TARGET_FILE:${target}>
                ${arg_COMMAND})
      set_tests_properties(${name}.${mpi}.${n} PROPERTIES LABELS ranks RUN_SERIAL ON TIMEOUT 120
        # Every MPI leaks, from code that it has unloaded by then, so no suppression can name it; and gcc 12's
        # LeakSanitizer crashes in a process that has loaded MPICH.
        ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;SHUNT_SHARED_MEMORY=${shared}${transport}"
        ${arg_PROPERTIES})
    endforeach()
  endforeach()
endfunction()

# shunt_add_processes_test(<name> RANKS <n>... COMMAND <target> <argument>... [AROUND <word>...]
#                          [PROPERTIES <property> <value>...])
# Makes the tests <name>.processes.<n>: processes of this machine, without MPI. None where there is no `shunt start`.
function(shunt_add_processes_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "RANKS;COMMAND;AROUND;PROPERTIES")
  list(POP_FRONT arg_COMMAND target)
  if(NOT TARGET shunt_cli)
    return()
  endif()
  foreach(n IN LISTS arg_RANKS)
    add_test(NAME ${name}.processes.${n}
      COMMAND ${arg_AROUND} $<TARGET_FILE:shunt_cli> start --ranks ${n} $<TARGET_FILE:${target}> ${arg_COMMAND})
    set_tests_properties(${name}.processes.${n} PROPERTIES LABELS ranks RUN_SERIAL ON TIMEOUT 120 ${arg_PROPERTIES})
  endforeach()
endfunction()

# shunt_add_shared_test(...), as shunt_add_ranks_test: between processes that share the memory of their trains, without
# MPI and under each.
function(shunt_add_shared_test)
  shunt_add_processes_test(${ARGV})
  shunt_add_ranks_test(${ARGV} SHARED)
endfunction()
