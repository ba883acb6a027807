# cpack runs this on the folders of the packages, after it has installed into them and before it packs: adds what Debian
# wants in each (copyright, changelogs), and puts what has another place there.
cmake_policy(VERSION 3.25)
find_program(gzip gzip REQUIRED)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

# Leaves FILE.gz, without the file's name and time in it.
function(compress file)
  execute_process(COMMAND ${gzip} -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} COMPONENT)
  set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX})
  if(NOT IS_DIRECTORY ${usr})
    message(FATAL_ERROR "cpack has installed nothing of component ${component}: there is no ${usr}")
  endif()
  set(documents ${usr}/share/doc/${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
  file(COPY ${CPACK_SHUNT_PACKAGING}/copyright DESTINATION ${documents})
  configure_file(${CPACK_SHUNT_PACKAGING}/changelog.in ${documents}/changelog.Debian @ONLY)
  configure_file(${CPACK_SHUNT_CHANGES} ${documents}/changelog COPYONLY)
  compress(${documents}/changelog.Debian)
  compress(${documents}/changelog)
  if(EXISTS ${usr}/share/man/man1/shunt.1)
    compress(${usr}/share/man/man1/shunt.1)
  endif()
  # Where Debian's zsh looks.
  if(EXISTS ${usr}/share/zsh/site-functions)
    file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
  endif()
endforeach()

if(NOT CPACK_SHUNT_PREFIX STREQUAL CPACK_PACKAGING_INSTALL_PREFIX)
  message("These packages are for tests: their library looks for transports in ${CPACK_SHUNT_PREFIX}, for which the "
    "build was configured. `cmake --workflow --preset packages` makes those to install.")
endif()
