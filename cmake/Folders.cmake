# One target per folder, and the programs made of them.
#
# Folders are OBJECT libraries: entries, engines and checks register themselves, and the linker drops such files from a STATIC library
# without a word. Objects do not travel through target_link_libraries, so each program names the folders whose objects it holds.

# peelcheck_folder(<name> LINKS <targets>): <name>/**/*.cc without tests.
function(peelcheck_folder name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE PEELCHECK_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PUBLIC ${ARG_LINKS})
  if(name STREQUAL "engine")
    # The kernels are plain loops that the compiler vectorises.
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
endfunction()


# peelcheck_program(<name> [SOURCES ..] FOLDERS ..)
function(peelcheck_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;FOLDERS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}_objects.cc CONTENT "// ${name} is made of its folders' objects.\n")
    set(ARG_SOURCES ${CMAKE_BINARY_DIR}/${name}_objects.cc)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_definitions(${name} PRIVATE PEELCHECK_VERSION="${PROJECT_VERSION}"
    PEELCHECK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  list(REMOVE_DUPLICATES ARG_FOLDERS)
  foreach(folder IN LISTS ARG_FOLDERS)
    target_link_libraries(${name} PRIVATE ${folder})
  endforeach()
endfunction()

# peelcheck_folder_test(<name> FOLDERS ..): all <name>/**/*_test.cc in one program, one ctest per test, label `unit`.
function(peelcheck_folder_test name)
  cmake_parse_arguments(ARG "" "" "FOLDERS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*_test.cc)
  if(NOT sources)
    add_custom_target(${name}_test)
    return()
  endif()
  peelcheck_program(${name}_test SOURCES ${sources} FOLDERS ${ARG_FOLDERS})
  target_compile_definitions(${name}_test PRIVATE PEELCHECK_BINARY="${CMAKE_BINARY_DIR}/peelcheck")
  target_link_libraries(${name}_test PRIVATE GTest::gtest GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
