# Build options, warnings and instrumentation for Felsite's own code.
option(FELSITE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(FELSITE_BUILD_TOOL "Build the felsite command" ${PROJECT_IS_TOP_LEVEL})
option(FELSITE_BUILD_BENCH "Build felsite-bench, which needs glslang" ${PROJECT_IS_TOP_LEVEL})
# Warnings of other compilers and releases must not stop those who only build or package Felsite.
option(FELSITE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(FELSITE_INSTALL "Install the library, its headers and the command" ${PROJECT_IS_TOP_LEVEL})
option(FELSITE_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(FELSITE_COVERAGE "Instrument for gcov" OFF)
set(FELSITE_SANITIZE "" CACHE STRING "Sanitizers, as a list: address;undefined or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(FELSITE_CCACHE ccache)
mark_as_advanced(FELSITE_CCACHE)
if(FELSITE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${FELSITE_CCACHE})
endif()

# Every target of Felsite links this privately.
add_library(felsite_warnings INTERFACE)
target_compile_options(
  felsite_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wswitch-enum $<$<BOOL:${FELSITE_WERROR}>:-Werror>
            # The values of float operations are part of the contract; contracting two operations
            # into a fused multiply-add would change them.
            -ffp-contract=off
            # Nobody reads errno after a square root, and setting it prevents vectorisation.
            -fno-math-errno)
# g++ 12 warns about every "text" + std::string (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(felsite_warnings INTERFACE -Wno-restrict)
endif()

# The sorts of libstdc++ 12 use functions that it marks as deprecated, which clang warns about.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(felsite_warnings INTERFACE -Wno-deprecated-declarations)
endif()

if(FELSITE_SANITIZE)
  list(JOIN FELSITE_SANITIZE "," felsite_sanitizers)
  add_compile_options(-fsanitize=${felsite_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${felsite_sanitizers})
endif()
if(FELSITE_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
