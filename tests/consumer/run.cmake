cmake_minimum_required(VERSION 3.25)
# Installs Felsite into a fresh prefix, as a user and as a packager does, and uses it there.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
require_variables(FELSITE_BUILD WORK CXX CXX_FLAGS WITH_VULKAN)
file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${FELSITE_BUILD} --prefix ${WORK}/prefix)
use_installed(${WORK}/prefix)
# Not built under the sanitizers.
if(EXISTS ${WORK}/prefix/bin/felsite)
  step(${WORK}/prefix/bin/felsite --version)
endif()

step(${CMAKE_COMMAND} -E env DESTDIR=${WORK}/package ${CMAKE_COMMAND} --install ${FELSITE_BUILD}
     --prefix /usr)
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
file(GLOB_RECURSE packaged RELATIVE ${WORK}/package/usr ${WORK}/package/*)
if(NOT installed OR NOT installed STREQUAL packaged)
  message(FATAL_ERROR "a package holds\n${packaged}\nand not\n${installed}")
endif()
# Neither the build's folder nor that of the sources is in what is installed.
file(GLOB_RECURSE configs ${WORK}/prefix/*.cmake)
foreach(config IN LISTS configs)
  file(STRINGS ${config} lines REGEX "fmt|xxHash|nlohmann|${FELSITE_BUILD}")
  if(lines)
    message(FATAL_ERROR "${config} says: ${lines}")
  endif()
endforeach()
