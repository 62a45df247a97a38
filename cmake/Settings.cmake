# Compiler settings: C++20, warnings are errors, results that do not depend on the machine.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Contraction to fused multiply-adds would make bits depend on the compiler's mood; errno of libm keeps loops from vectorising.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Werror -ffp-contract=off -fno-math-errno)
# Entries are aggregates whose members all have defaults; naming only some of them is the point.
add_compile_options(-Wno-missing-field-initializers)
# gcc 12 takes the unused inline part of an absl::InlinedVector for an uninitialised read, and a counted pointer's release for the
# last one.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-maybe-uninitialized -Wno-use-after-free)
endif()

# Off by default: index arithmetic between int64_t and size_t makes more noise than it finds.
option(PEELCHECK_CONVERSION_WARNINGS "Build with -Wconversion" OFF)
if(PEELCHECK_CONVERSION_WARNINGS)
  add_compile_options(-Wconversion)
endif()

# One of: "", "address,undefined", "thread". Set by the presets asan and tsan.
set(PEELCHECK_SANITIZE "" CACHE STRING "Sanitizers to build with")
if(PEELCHECK_SANITIZE)
  add_compile_options(-fsanitize=${PEELCHECK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PEELCHECK_SANITIZE})
endif()

# __FILE__ without the folder of the checkout: reports and tests name files from the repository's root.
# Compiler caches may rewrite the absolute path to a relative one.
file(RELATIVE_PATH source_from_build ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
string(REGEX REPLACE "/$" "" source_from_build "${source_from_build}")
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/= -fmacro-prefix-map=${source_from_build}/=)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
