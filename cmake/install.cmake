# The library as a product: headers, static or shared library, transports to be loaded, a CMake package, a pkg-config
# file, and commands for gdb.
#
#   find_package(shunt 0.1 REQUIRED)                    target shunt::shunt
#   find_package(shunt 0.1 REQUIRED COMPONENTS mpi)     fails where the MPI transport was not installed; shmem: likewise
#   pkg-config --cflags --libs shunt
#
# Components, each of which is a Debian package of its own (packages.cmake):
#   lib      the library, if it is shared
#   dev      headers, the static library, the CMake package, the pkg-config file, commands for gdb
#   mpi      the transports over MPI and OpenSHMEM
#   tools    the command with the applications, its manual page, completions for shells
#   translate  shunt-translate, where Clang's libraries were found
include(CMakePackageConfigHelpers)
set(shunt_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)

install(TARGETS shunt EXPORT shunt
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev)
# Public headers, and the private ones that they need. Found when they are installed, so that an #include that came or
# went since the build was configured is seen.
install(CODE "
  include([[${PROJECT_SOURCE_DIR}/cmake/headers.cmake]])
  shunt_headers([[${PROJECT_SOURCE_DIR}/src]] public needed)
  set(includes [[${CMAKE_INSTALL_INCLUDEDIR}]])
  cmake_path(ABSOLUTE_PATH includes BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  foreach(header IN LISTS public needed)
    cmake_path(GET header PARENT_PATH folder)
    file(INSTALL DESTINATION \"\${includes}/\${folder}\" TYPE FILE FILES \"${PROJECT_SOURCE_DIR}/src/\${header}\")
  endforeach()" COMPONENT dev)
install(EXPORT shunt NAMESPACE shunt:: FILE shuntTargets.cmake DESTINATION ${shunt_package_dir} COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/shunt.py DESTINATION ${CMAKE_INSTALL_DATADIR}/shunt/gdb COMPONENT dev)
# In no component: each Debian package has the licence in its own way.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Transports are modules: opened by name when a job asks for one, never linked.
set(shunt_components "")
get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL MODULE_LIBRARY)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/shunt COMPONENT mpi)
    if(target MATCHES "^shunt_(mpi|shmem)_")
      list(APPEND shunt_components ${CMAKE_MATCH_1})
      list(REMOVE_DUPLICATES shunt_components)
    endif()
  endif()
endforeach()

if(TARGET shunt_cli)
  install(TARGETS shunt_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()
if(TARGET shunt_translate)
  install(TARGETS shunt_translate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT translate)
endif()
if(TARGET shunt_pages)
  set(pages ${PROJECT_BINARY_DIR}/pages)
  install(FILES ${pages}/shunt.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${pages}/shunt.bash RENAME shunt COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/_shunt DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
endif()

# A shared library names what it needs by itself.
set(shunt_needs_zlib OFF)
if(ZLIB_FOUND AND NOT shunt_type STREQUAL SHARED_LIBRARY)
  set(shunt_needs_zlib ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/shuntConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/shuntConfig.cmake INSTALL_DESTINATION ${shunt_package_dir})
# Before 1.0 a minor version may break what was there.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/shuntConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/shuntConfig.cmake ${PROJECT_BINARY_DIR}/cmake/shuntConfigVersion.cmake
  DESTINATION ${shunt_package_dir} COMPONENT dev)

# Relative to the file itself, so that an install tree can be moved.
file(RELATIVE_PATH shunt_pc_prefix
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" shunt_pc_prefix "${shunt_pc_prefix}")
if(SHUNT_CONTEXT_BOOST)
  set(shunt_pc_cflags " -DSHUNT_CONTEXT_BOOST")
  set(shunt_pc_libs " -lboost_context")
endif()
if(ZLIB_FOUND)
  string(APPEND shunt_pc_libs " -lz")
endif()
if(SHUNT_STACK_CLASH_PROTECTION)
  string(APPEND shunt_pc_cflags " -fstack-clash-protection")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/shunt.pc.in ${PROJECT_BINARY_DIR}/cmake/shunt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/shunt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
