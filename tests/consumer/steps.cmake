# What the tests of this folder have in common.
function(require_variables)
  foreach(variable IN LISTS ARGN)
    if(NOT DEFINED ${variable})
      message(FATAL_ERROR "${variable} is not set")
    endif()
  endforeach()
endfunction()

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(failed)
    message(FATAL_ERROR "${ARGN} failed:\n${out}")
  endif()
endfunction()

# Configures, builds and runs the consumer against the install tree PREFIX.
function(use_installed PREFIX)
  step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR} -B ${WORK}/build -G Ninja
       -DCMAKE_PREFIX_PATH=${PREFIX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
       -DCMAKE_CXX_COMPILER=${CXX} -DWITH_VULKAN=${WITH_VULKAN}
       # What Felsite is made of must not be needed by those who use it.
       -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_xxHash=ON)
  step(${CMAKE_COMMAND} --build ${WORK}/build)
  step(${WORK}/build/consumer)
  if(WITH_VULKAN)
    step(${WORK}/build/felsite_first)
    step(${WORK}/build/felsite_last)
  endif()
endfunction()
