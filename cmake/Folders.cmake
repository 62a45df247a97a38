# One target per folder, and the programs made of them.
#
# Folders are OBJECT libraries: entries, engines and checks register themselves, and the linker drops
# such files from a STATIC library without a word. Objects do not travel through
# target_link_libraries (usage requirements do), so each program names all folders whose objects it
# holds.
include(GoogleTest)

# peelcheck_folder(<name> LINKS <targets> [PRIVATE_LINKS <targets>])
#
# All of <name>/**/*.cc but tests, fuzzers and benchmarks. What is linked privately is seen by the
# folder's own files only, and still reaches the link line of every program.
function(peelcheck_folder name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE PEELCHECK_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  # The kernels are plain loops that the compiler vectorises; the vocabulary and the reports wait for the compiler, not for the processor.
  if(name STREQUAL "engine")
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
    # Eigen's decompositions take minutes to compile at -O3, and their small matrices gain nothing.
    set_source_files_properties(${CMAKE_SOURCE_DIR}/engine/kernels/linalg.cc PROPERTIES COMPILE_OPTIONS -O1)
  elseif(NOT name MATCHES "generators|checks")
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# peelcheck_program(<name> [SOURCES ..] FOLDERS ..)
function(peelcheck_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;FOLDERS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}_objects.cc
      CONTENT "// ${name} is made of its folders' objects.\n")
    set(ARG_SOURCES ${CMAKE_BINARY_DIR}/${name}_objects.cc)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_definitions(${name} PRIVATE
    PEELCHECK_VERSION="${PROJECT_VERSION}"
    PEELCHECK_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    PEELCHECK_BINARY="$<TARGET_FILE:peelcheck>")
  target_link_libraries(${name} PRIVATE ${ARG_FOLDERS})
endfunction()

# peelcheck_folder_test(<name> FOLDERS .. [LINKS ..])
#
# All <name>/**/*_test.cc in one program <name>_test; one ctest per test, label `unit`. A folder
# without tests has an empty target of that name.
function(peelcheck_folder_test name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*_test.cc)
  if(NOT sources)
    add_custom_target(${name}_test)
    return()
  endif()
  peelcheck_program(${name}_test SOURCES ${sources} FOLDERS ${ARG_FOLDERS})
  target_link_libraries(${name}_test PRIVATE GTest::gtest GTest::gtest_main ${ARG_LINKS})
  target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  # Listing is quick; 60 s are for a sanitizer build on a busy machine, where the default of 5 s fails.
  gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${name}." PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
