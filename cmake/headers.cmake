# shunt_headers(<source> <public> <needed>)
# The headers of the library below the folder <source>, relative to it: in <public> those that programs may include (all
# but those in a folder `detail`, and those of the plugin for MPI), in <needed> the private ones that the public ones
# include, and that these include, and so on. Both are installed, by install.cmake, and nothing else.
cmake_policy(VERSION 3.25)  # of the function; a script that installs sets none
function(shunt_headers source public needed)
  file(GLOB_RECURSE headers RELATIVE ${source} ${source}/shunt/*.hpp ${source}/shunt/*/shmem.h)
  list(FILTER headers EXCLUDE REGEX "/detail/|/transport/(mpi|network|shmem)/")
  set(${public} ${headers} PARENT_SCOPE)
  set(private "")
  while(headers)
    list(POP_FRONT headers header)
    file(STRINGS ${source}/${header} lines REGEX "^ *# *include <shunt/.*/detail/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*<(.*)>.*" "\\1" included "${line}")
      if(NOT included IN_LIST private)
        list(APPEND private ${included})
        list(APPEND headers ${included})
      endif()
    endforeach()
  endwhile()
  list(SORT private)
  set(${needed} ${private} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)  # cmake -P: prints them
  shunt_headers(${CMAKE_CURRENT_LIST_DIR}/../src public needed)
  list(JOIN public "\n" public)
  list(JOIN needed "\n" needed)
  message("${public}\n${needed}")
endif()
