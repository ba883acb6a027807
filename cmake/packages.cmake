# Debian packages, by `cpack`: one for each component of install.cmake that this build has.
#
#   cmake --workflow --preset packages      configures, builds and packs: build/packages/*.deb
#   cpack -G DEB -B FOLDER                  in a build folder: packs what is built there
#
#   libshunt0.1    lib     where the library is shared. Named after its soname, so that two can be installed
#   libshunt-dev   dev
#   shunt-mpi      mpi
#   shunt-tools    tools
#
# The maintainer is that of Debian's tools: DEBFULLNAME and DEBEMAIL. Without them the address leads nowhere.
# SOURCE_DATE_EPOCH, if it is set, is the date in the changelog.
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_COMPONENTS_ALL dev)
if(shunt_type STREQUAL SHARED_LIBRARY)
  list(APPEND CPACK_COMPONENTS_ALL lib)
endif()
if(SHUNT_MPIS OR TARGET shunt_shmem_openmpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
if(TARGET shunt_cli)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
if(TARGET shunt_translate)
  list(APPEND CPACK_COMPONENTS_ALL translate)
endif()

if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_PACKAGE_CONTACT "The Shunt authors <shunt@example.org>")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shunt)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
set(CPACK_SHUNT_PACKAGING ${PROJECT_SOURCE_DIR}/packaging/debian)
set(CPACK_SHUNT_CHANGES ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
set(CPACK_SHUNT_PREFIX ${CMAKE_INSTALL_PREFIX})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE shunt)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)  # on the packages of CPACK_COMPONENT_..._DEPENDS, in the same version
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # on what dpkg-shlibdeps finds in programs and shared objects
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
# The first line of each description below is the package's synopsis.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")

set(about "Shunt is a C++20 library for concurrent programs, from one core to a cluster:
fibers, tasks, actors, transactions, pipelines and sockets run on one
work-stealing scheduler and can wait for one another.")

set(CPACK_DEBIAN_LIB_PACKAGE_NAME libshunt${soversion})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_SUGGESTS shunt-mpi)
set(CPACK_DEBIAN_LIB_DESCRIPTION "Concurrency runtime from cache line to cluster: shared library
${about}

This package has the shared library.")
set(control ${PROJECT_BINARY_DIR}/packaging)
file(CONFIGURE OUTPUT ${control}/shlibs CONTENT
  "libshunt ${soversion} libshunt${soversion} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${control}/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)

# What a program that links the library needs. A shared one names what it needs by itself.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libshunt-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS libc6-dev)
if(ZLIB_FOUND AND NOT shunt_type STREQUAL SHARED_LIBRARY)
  list(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS zlib1g-dev)
endif()
if(SHUNT_CONTEXT_BOOST)
  list(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS libboost-context-dev)
endif()
list(JOIN CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "cmake, gdb, pkg-config, shunt-mpi")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Concurrency runtime from cache line to cluster: for development
${about}

This package has the headers, the library to link with, a CMake package, a
pkg-config file, and commands for gdb that show fibers.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME shunt-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "openmpi-bin | mpich")
set(CPACK_DEBIAN_MPI_PACKAGE_ENHANCES "libshunt-dev, shunt-tools")
set(CPACK_DEBIAN_MPI_DESCRIPTION "Concurrency runtime from cache line to cluster: transport over MPI
${about}

This package has the plugins that carry messages between processes: over Open
MPI, over MPICH, and over the OpenSHMEM of Open MPI. Programs open one at run
time, and are not linked with it.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME shunt-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS shunt-mpi)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "Concurrency runtime from cache line to cluster: applications
${about}

This package has the command shunt. It runs applications on graphs, sparse
matrices, tables and data acquisition, on threads or over MPI, and says what
limits a machine.")

set(CPACK_DEBIAN_TRANSLATE_PACKAGE_NAME shunt-translate)
set(CPACK_DEBIAN_TRANSLATE_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TRANSLATE_PACKAGE_DEPENDS libclang-common-19-dev)
set(CPACK_DEBIAN_TRANSLATE_PACKAGE_RECOMMENDS libshunt-dev)
set(CPACK_DEBIAN_TRANSLATE_DESCRIPTION "Concurrency runtime from cache line to cluster: checks and translations
${about}

This package has the command shunt-translate. It finds mistakes in programs that
use Shunt, and rewrites them: loops into messages, lambdas into classes.")

if(shunt_type STREQUAL SHARED_LIBRARY)
  set(CPACK_COMPONENT_DEV_DEPENDS lib)
  set(CPACK_COMPONENT_TOOLS_DEPENDS lib)
endif()
include(CPack)
