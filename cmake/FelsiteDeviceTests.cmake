# Tests that run on Vulkan devices, once on each driver at hand.

# The machine's own lavapipe, and the drivers that scripts/drivers fetched. When a driver appears or
# disappears, the next build configures again, so configuring is never too early.
file(GLOB system_lavapipe CONFIGURE_DEPENDS /usr/share/vulkan/icd.d/lvp_icd*.json)
file(GLOB fetched_drivers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.deps/drivers/*.json)
set(felsite_test_drivers "")  # NAME=ICD file
foreach(icd IN LISTS system_lavapipe)
  list(APPEND felsite_test_drivers lavapipe=${icd})
  break()  # a second one would be for another architecture
endforeach()
foreach(icd IN LISTS fetched_drivers)
  cmake_path(GET icd STEM name)
  list(APPEND felsite_test_drivers ${name}=${icd})
endforeach()
if(NOT felsite_test_drivers)
  message(WARNING "There is no Vulkan driver to test on: the device tests are left out.")
endif()
# Drivers are not instrumented: the thread sanitizer would see their worker threads but not how they
# synchronize. So it ignores them, and lavapipe starts none.
set(felsite_device_environment "")
if("thread" IN_LIST FELSITE_SANITIZE)
  set(felsite_device_environment LP_NUM_THREADS=0 TSAN_OPTIONS=ignore_noninstrumented_modules=1)
endif()
# Everything on lavapipe runs under the validation layer, which must be installed, with its
# synchronization checks; the sanitizers and the other drivers run without it.
set(felsite_validated_driver lavapipe)
if(FELSITE_SANITIZE)
  set(felsite_validated_driver "")
endif()
# How many generated programs are compared. A sanitizer does not help to compare bytes, so it runs a
# part of them, which covers all the code, on one driver; Mesa 25 takes a fifth of a second to
# compile each. FELSITE_DEVICE_PROGRAMS=1500 makes a test executable compare that many on any
# driver. One driver sees faults in all calls with all results; the others see one result for each
# call, and in long runs one call in four.
set(felsite_generated_lavapipe25 FELSITE_DEVICE_PROGRAMS=150 FELSITE_GRID_SYNC_PROGRAMS=15
                                 FELSITE_FAULTS_SPARING=1)
set(felsite_generated_swiftshader FELSITE_FAULTS_SPARING=1)
# Mesa 25 takes minutes to compile the kernels of these; the other drivers run them.
set(felsite_excluded_lavapipe25 "grid barriers in uniform loops and conditions*")
# From Debian 13 on the machine's own lavapipe is Mesa 25 too, but only this driver sees all faults.
string(REGEX MATCH "lavapipe=[^;]+" system_icd "${felsite_test_drivers}")
if(system_icd)
  string(REPLACE "lavapipe=" "" system_icd ${system_icd})
  file(READ ${system_icd} system_icd)
  string(JSON system_api_version GET "${system_icd}" ICD api_version)
  if(system_api_version VERSION_GREATER_EQUAL 1.4)  # Mesa 22, in Debian 12, has 1.1 there
    set(felsite_generated_lavapipe ${felsite_generated_lavapipe25})
    list(REMOVE_ITEM felsite_generated_lavapipe FELSITE_FAULTS_SPARING=1)
    set(felsite_excluded_lavapipe ${felsite_excluded_lavapipe25})
    # Its LLVM aborts otherwise: the quirk `lavapipe-llvm-avx512`.
    list(APPEND felsite_device_environment LP_NATIVE_VECTOR_WIDTH=128)
  endif()
endif()
set(felsite_device_arguments "")
set(felsite_excluded "")
if(FELSITE_SANITIZE)
  list(FILTER felsite_test_drivers INCLUDE REGEX "^lavapipe=")
  set(felsite_generated_lavapipe FELSITE_DEVICE_PROGRAMS=40 FELSITE_GRID_SYNC_PROGRAMS=25
                                 FELSITE_FAULTS_SPARING=1)
  # Tables of values and masks, and long runs, repeat the same code; tests/codegen lowers it all.
  # With 140 000 workgroups lavapipe needs more memory than any machine has, but only with a
  # sanitizer's allocator.
  set(felsite_device_arguments --source-file-exclude=*test_operations*)
  set(felsite_excluded "each pair of features*" "*of 10 000*" "a long run*"
                       "a grid that runs in parts*")
endif()

# An additional check in their main: the validation layer must be silent.
add_library(test_device_checks OBJECT support/layer_silence.cpp)
target_include_directories(test_device_checks PRIVATE ${PROJECT_SOURCE_DIR}/src
                                                      ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_device_checks PRIVATE felsite felsite_vulkan felsite_warnings
                                                 doctest::doctest)

# The masks under which conformance also runs on lavapipe: each stands for devices that lack
# something that the runtime prefers to use.
set(felsite_conformance_masks
    none
    -timeline_semaphores
    -synchronization2
    -push_descriptors
    -in_place_memory
    -in_place_reads
    transfer_queue,-in_place_memory
    -external_host_memory
    -conditional_rendering)
# Under a sanitizer only the two masks that run the most different code; each repeats the whole
# suite.
if(FELSITE_SANITIZE)
  set(felsite_conformance_masks none -in_place_memory)
endif()

# One executable test_PART; felsite_driver_test adds tests that run it.
function(felsite_device_executable part)
  file(GLOB sources CONFIGURE_DEPENDS ${part}/*.cpp)
  add_executable(test_${part} $<TARGET_OBJECTS:test_main>
                 $<TARGET_OBJECTS:test_device_checks> ${sources})
  target_include_directories(test_${part} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${part} PRIVATE felsite felsite_vulkan felsite_warnings
                                             doctest::doctest fmt::fmt ${CMAKE_DL_LIBS})
  target_compile_definitions(test_${part} PRIVATE FELSITE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  felsite_test_settings(${part})
endfunction()

# felsite_driver_test(NAME PART DRIVER [VARIABLE=VALUE...]): a test NAME that runs test_PART on one
# of felsite_test_drivers.
function(felsite_driver_test test part driver)
  string(REGEX MATCH "^([^=]+)=(.+)$" unused ${driver})
  set(name ${CMAKE_MATCH_1})
  set(icd ${CMAKE_MATCH_2})
  set(arguments ${felsite_device_arguments})
  set(excluded ${felsite_excluded} ${felsite_excluded_${name}})
  if(excluded)
    list(JOIN excluded "," patterns)  # doctest accepts only one such option
    list(APPEND arguments --test-case-exclude=${patterns})
  endif()
  add_test(NAME ${test} COMMAND test_${part} ${arguments})
  file(READ ${icd} icd_text)
  string(JSON library GET "${icd_text}" ICD library_path)
  set(validation "")
  if(name STREQUAL felsite_validated_driver)
    set(validation FELSITE_VALIDATION=sync)
  endif()
  # Both names of the loader's variable: loaders that know the second one prefer it.
  set(environment
      VK_ICD_FILENAMES=${icd} VK_DRIVER_FILES=${icd} FELSITE_TEST_DRIVER=${name}
      FELSITE_TEST_DRIVER_LIBRARY=${library} ${felsite_generated_${name}} ${validation}
      ${felsite_device_environment} ${ARGN}
      LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/driver_leaks.lsan:print_suppressions=0)
  set_tests_properties(${test} PROPERTIES TIMEOUT 1800 ENVIRONMENT "${environment}")
endfunction()

# One executable test_PART, and one test PART_DRIVER for each driver.
function(felsite_device_test part)
  felsite_device_executable(${part})
  foreach(driver IN LISTS felsite_test_drivers)
    string(REGEX REPLACE "=.*" "" name ${driver})
    felsite_driver_test(${part}_${name} ${part} ${driver})
  endforeach()
endfunction()

# The conformance suite: on the reference, on a backend of the tests, on each driver, and on lavapipe
# under each mask.
function(felsite_conformance_tests)
  felsite_device_executable(conformance)
  target_sources(test_conformance PRIVATE support/host_memory_backend.cpp)
  foreach(backend reference host_memory)
    add_test(NAME conformance_${backend} COMMAND test_conformance)
    set_tests_properties(conformance_${backend} PROPERTIES TIMEOUT 600 ENVIRONMENT
                         "FELSITE_CONFORMANCE_BACKEND=${backend}")
  endforeach()
  foreach(driver IN LISTS felsite_test_drivers)
    string(REGEX REPLACE "=.*" "" name ${driver})
    felsite_driver_test(conformance_${name} conformance ${driver} FELSITE_CONFORMANCE_BACKEND=vulkan)
    if(NOT name STREQUAL "lavapipe")
      continue()
    endif()
    foreach(mask IN LISTS felsite_conformance_masks)
      string(REPLACE "-" "no_" mask_name ${mask})
      string(REPLACE "," "_" mask_name ${mask_name})
      felsite_driver_test(conformance_${name}_${mask_name} conformance ${driver}
                          FELSITE_CONFORMANCE_BACKEND=vulkan FELSITE_CONFORMANCE_MASK=${mask})
    endforeach()
  endforeach()
endfunction()

# Programs with grid barriers in every form: on the reference, on each driver, and on lavapipe
# without optional features, where more of what lives across a barrier is emulated.
function(felsite_grid_sync_tests)
  felsite_device_executable(grid_sync)
  add_test(NAME grid_sync_reference COMMAND test_grid_sync)
  set(environment FELSITE_GRID_SYNC_BACKEND=reference)
  if(FELSITE_SANITIZE)
    list(APPEND environment FELSITE_GRID_SYNC_PROGRAMS=60)
  endif()
  set_tests_properties(grid_sync_reference PROPERTIES TIMEOUT 600 ENVIRONMENT "${environment}")
  foreach(driver IN LISTS felsite_test_drivers)
    string(REGEX REPLACE "=.*" "" name ${driver})
    felsite_driver_test(grid_sync_${name} grid_sync ${driver} FELSITE_GRID_SYNC_BACKEND=vulkan)
    if(name STREQUAL "lavapipe" AND NOT FELSITE_SANITIZE)
      felsite_driver_test(grid_sync_${name}_none grid_sync ${driver} FELSITE_GRID_SYNC_BACKEND=vulkan
                          FELSITE_GRID_SYNC_MASK=none FELSITE_GRID_SYNC_PROGRAMS=30)
    endif()
  endforeach()
endfunction()

# felsite_glsl(TARGET SHADER HEADER [OPTION...]): compiles a GLSL kernel into a header with the
# array of its words: NAME_words for a header NAME.comp.h.
function(felsite_glsl target shader header)
  find_program(FELSITE_GLSLANG NAMES glslangValidator glslang REQUIRED)
  mark_as_advanced(FELSITE_GLSLANG)
  cmake_path(GET header STEM array)
  set(include_dir ${CMAKE_CURRENT_BINARY_DIR}/glsl)
  cmake_path(GET header PARENT_PATH folder)
  file(MAKE_DIRECTORY ${include_dir}/${folder})
  add_custom_command(
    OUTPUT ${include_dir}/${header}
    COMMAND ${FELSITE_GLSLANG} --quiet -V --target-env vulkan1.1 ${ARGN} --vn ${array}_words -o
            ${include_dir}/${header} ${CMAKE_CURRENT_SOURCE_DIR}/${shader}
    DEPENDS ${shader}
    VERBATIM)
  target_sources(${target} PRIVATE ${include_dir}/${header})
  target_include_directories(${target} PRIVATE ${include_dir})
endfunction()
