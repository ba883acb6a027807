# The programs: the applications, the command's program, the examples, the tables' programs.
if(SHUNT_APPS OR SHUNT_BENCH)  # the tables measure the applications' code
  add_subdirectory(apps)
endif()
if(SHUNT_APPS)
  add_subdirectory(tools/simulate)
  add_subdirectory(tools/cli)
  add_subdirectory(tools/translate)
endif()

if(SHUNT_TESTS)
  # One idea a file; each is built and run.
  file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp
    ${PROJECT_SOURCE_DIR}/examples/tutorial/*.cpp)
  foreach(example IN LISTS examples)
    get_filename_component(name ${example} NAME_WE)
    add_executable(example_${name} ${example})
    target_link_libraries(example_${name} PRIVATE shunt::shunt shunt_warnings)
    shunt_precompiled(example_${name})
    add_test(NAME example_${name} COMMAND example_${name})
    set_tests_properties(example_${name} PROPERTIES TIMEOUT 120)
  endforeach()
  if(EXISTS ${PROJECT_SOURCE_DIR}/examples/CMakeLists.txt)
    add_subdirectory(examples)
  endif()
endif()

if(SHUNT_BENCH AND EXISTS ${PROJECT_SOURCE_DIR}/bench/CMakeLists.txt)
  add_subdirectory(bench)
endif()

# What `./shunt run` needs: the command's program, and what it may load at run time.
if(TARGET shunt_cli)
  add_custom_target(shunt_programs DEPENDS shunt_cli)
  if(TARGET shunt_pages)  # they are installed with it
    add_dependencies(shunt_programs shunt_pages)
  endif()
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL MODULE_LIBRARY)
      add_dependencies(shunt_programs ${target})
    endif()
  endforeach()
endif()
