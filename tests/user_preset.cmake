cmake_minimum_required(VERSION 3.25)
# The preset of users configures without what only tests and benchmarks need.
include(${SOURCE_DIR}/tests/consumer/steps.cmake)
require_variables(SOURCE_DIR WORK CXX)
file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} -E chdir ${SOURCE_DIR} ${CMAKE_COMMAND} --preset user -B ${WORK}
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON
     -DCMAKE_DISABLE_FIND_PACKAGE_glslang=ON -DCMAKE_DISABLE_FIND_PACKAGE_SPIRV-Tools-opt=ON
     -DFELSITE_VOLK_INCLUDE_DIR=FELSITE_VOLK_INCLUDE_DIR-NOTFOUND
     -DFELSITE_GLSLANG=FELSITE_GLSLANG-NOTFOUND)
file(STRINGS ${WORK}/CMakeCache.txt looked_for REGEX "^FELSITE_(VOLK_INCLUDE_DIR|GLSLANG):[^=]*=/")
file(STRINGS ${WORK}/build.ninja errors REGEX "-Werror")
if(looked_for OR errors)
  message(FATAL_ERROR "the preset of users has ${looked_for} ${errors}")
endif()
file(STRINGS ${WORK}/build.ninja tool REGEX "^build felsite: ")
if(NOT tool)
  message(FATAL_ERROR "the preset of users does not build the command")
endif()
