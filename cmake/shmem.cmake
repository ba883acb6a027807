# The transport over OpenSHMEM: one shared object, opened at run time, so the library itself needs none.
#
#   SHUNT_SHMEM   auto   if an oshcc is found (default)
#                 on     or an error
#                 off
#
# Sets, for tests:
#   SHUNT_MPIRUN_SHMEM   command prefix that wants the number of ranks next; empty: the transport or its launcher is
#                        absent
set(SHUNT_SHMEM auto CACHE STRING "Build the transport over OpenSHMEM: auto, on, off")
set_property(CACHE SHUNT_SHMEM PROPERTY STRINGS auto on off)
if(NOT SHUNT_SHMEM MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "SHUNT_SHMEM is `${SHUNT_SHMEM}`: auto, on or off")
endif()

# Only Open MPI's answers, which the transport was made for.
function(shunt_is_openmpi_oshcc result file)
  execute_process(COMMAND ${file} --showme:version OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(failed OR NOT said MATCHES "Open SHMEM|Open MPI")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Makes shunt_shmem_openmpi from what the wrapper prints; sets `why` in the caller if it cannot.
function(shunt_add_shmem wrapper)
  shunt_ask_wrapper(said ${wrapper} --showme:compile --showme:link)
  find_file(SHUNT_SHMEM_HEADER shmem.h PATHS ${said_INCLUDES} NO_DEFAULT_PATH)
  mark_as_advanced(SHUNT_SHMEM_HEADER)
  shunt_find_wrapped_library(SHUNT_SHMEM_LIBRARY "${said_FOLDERS}" oshmem)
  shunt_find_wrapped_library(SHUNT_SHMEM_MPI_LIBRARY "${said_FOLDERS}" mpi)
  if(said_FAILED OR NOT SHUNT_SHMEM_HEADER OR NOT SHUNT_SHMEM_LIBRARY OR NOT SHUNT_SHMEM_MPI_LIBRARY)
    set(why "its header or library is not installed" PARENT_SCOPE)
    return()
  endif()
  shunt_add_plugin(shunt_shmem_openmpi shmem ${SHUNT_SHMEM_LIBRARY} ${SHUNT_SHMEM_MPI_LIBRARY})
  target_include_directories(shunt_shmem_openmpi SYSTEM PRIVATE ${said_INCLUDES})
  # Open MPI makes all private memory below the symbol `_end` symmetric: where a program is linked with it, that is the
  # program's own data. Opened by a plugin, it finds the `_end` of a library, far above; then stacks and heaps count,
  # too, and it crashes on more than 32 pieces of them. No data but the symmetric heap is wanted, so it finds this one.
  target_link_options(shunt_shmem_openmpi PRIVATE LINKER:--defsym=_end=4096)
endfunction()

set(why "there is no oshcc of Open MPI")
if(NOT SHUNT_SHMEM STREQUAL "off")
  find_program(SHUNT_OSHCC NAMES oshcc shmemcc VALIDATOR shunt_is_openmpi_oshcc)
  find_program(SHUNT_OSHRUN_PROGRAM NAMES oshrun shmemrun VALIDATOR shunt_is_openmpi_launcher)
  mark_as_advanced(SHUNT_OSHCC SHUNT_OSHRUN_PROGRAM)
  if(SHUNT_OSHCC)
    shunt_add_shmem(${SHUNT_OSHCC})
  endif()
endif()
if(SHUNT_SHMEM STREQUAL "off")
  message(STATUS "Transport shmem: off (SHUNT_SHMEM=off)")
elseif(TARGET shunt_shmem_openmpi)
  message(STATUS "Transport shmem: ${SHUNT_SHMEM_LIBRARY}")
elseif(SHUNT_SHMEM STREQUAL "auto")
  message(STATUS "Transport shmem: absent, ${why} (Debian: libopenmpi-dev, openmpi-bin)")
else()
  message(FATAL_ERROR "SHUNT_SHMEM=on, but ${why} (Debian: libopenmpi-dev, openmpi-bin)")
endif()

# --- how tests start a job ---
# As for MPI. So little symmetric memory that a service which does not give it back is noticed.
set(SHUNT_MPIRUN_SHMEM "")
if(TARGET shunt_shmem_openmpi AND SHUNT_OSHRUN_PROGRAM)
  set(SHUNT_MPIRUN_SHMEM ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    SHMEM_SYMMETRIC_SIZE=16M ${SHUNT_OSHRUN_PROGRAM} --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -np)
endif()
