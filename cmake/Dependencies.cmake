# What the project builds with: Debian packages, installed by scripts/setup.
macro(peelcheck_require package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found; run ./scripts/setup, which installs what is missing")
  endif()
endmacro()

peelcheck_require(Threads)
peelcheck_require(absl)
peelcheck_require(Eigen3)
peelcheck_require(GTest)
peelcheck_require(benchmark)
peelcheck_require(nlohmann_json)
peelcheck_require(CLI11)
peelcheck_require(rapidcheck)

# Boost.Math, header-only, for the special functions of opinfo_db/ops. Asked for by a header: Boost's own package files need more of it.
find_path(PEELCHECK_BOOST_MATH_INCLUDE boost/math/special_functions/polygamma.hpp)
if(NOT PEELCHECK_BOOST_MATH_INCLUDE)
  message(FATAL_ERROR "Boost.Math was not found; run ./scripts/setup, which installs what is missing")
endif()
add_library(peelcheck_boost_math INTERFACE)
target_include_directories(peelcheck_boost_math SYSTEM INTERFACE ${PEELCHECK_BOOST_MATH_INCLUDE})
