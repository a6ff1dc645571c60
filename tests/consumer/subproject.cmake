cmake_minimum_required(VERSION 3.25)
# Felsite within another project: that project's warnings, build type and installation stay as they
# are. Then the same as a shared library, installed on request, and used from there.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
require_variables(FELSITE_SOURCE WORK CXX CXX_FLAGS WITH_VULKAN NM)
file(REMOVE_RECURSE ${WORK}/defaults ${WORK}/prefix ${WORK}/build)
set(configure
    ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subproject -G Ninja
    -DFELSITE_SOURCE=${FELSITE_SOURCE} -DCMAKE_CXX_COMPILER=${CXX})

step(${configure} -B ${WORK}/defaults)
file(STRINGS ${WORK}/defaults/build.ninja errors REGEX "-Werror")
if(errors)
  message(FATAL_ERROR "within another project warnings are errors: ${errors}")
endif()
file(STRINGS ${WORK}/defaults/CMakeCache.txt build_type REGEX "^CMAKE_BUILD_TYPE:STRING=.")
if(build_type)
  message(FATAL_ERROR "the parent project has no build type, and got one: ${build_type}")
endif()
step(${CMAKE_COMMAND} --install ${WORK}/defaults --prefix ${WORK}/prefix)
if(EXISTS ${WORK}/prefix)
  message(FATAL_ERROR "within another project Felsite was installed into ${WORK}/prefix")
endif()

# The tree is kept, so that the next run compiles what changed; without optimizing, for speed.
step(${configure} -B ${WORK}/shared -DBUILD_SHARED_LIBS=ON -DFELSITE_INSTALL=ON
     -DCMAKE_CXX_FLAGS=-O0 -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
step(${CMAKE_COMMAND} --build ${WORK}/shared)
step(${WORK}/shared/parent)
step(${CMAKE_COMMAND} --install ${WORK}/shared --prefix ${WORK}/prefix)
file(GLOB_RECURSE library ${WORK}/prefix/libfelsite.so)
step(${CMAKE_COMMAND} -DLIBRARY=${library} -DNM=${NM} -P ${CMAKE_CURRENT_LIST_DIR}/../symbols.cmake)
use_installed(${WORK}/prefix)
