# Tests that run on Vulkan devices, once on each driver at hand.

# The machine's own lavapipe, and those that scripts/drivers fetched. A driver that comes or goes
# makes the next build configure again, so it is never too early to configure.
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
# Nothing that is not instrumented may run under the thread sanitizer: it sees the drivers' worker
# threads but not how they synchronize, and reports races that are none.
if("thread" IN_LIST FELSITE_SANITIZE)
  set(felsite_test_drivers "")
elseif(NOT felsite_test_drivers)
  message(WARNING "There is no Vulkan driver to test on: the device tests are left out.")
endif()
# How many generated programs are compared. A sanitizer does not help with comparing bytes, so a part
# of them shows it all the code, on one driver; Mesa 25 compiles each of them in a fifth of a second.
# FELSITE_DEVICE_PROGRAMS=2000 with a test executable compares as many on any driver.
set(felsite_generated_lavapipe25 FELSITE_DEVICE_PROGRAMS=200)
set(felsite_device_arguments "")
if(FELSITE_SANITIZE)
  list(FILTER felsite_test_drivers INCLUDE REGEX "^lavapipe=")
  set(felsite_generated_lavapipe FELSITE_DEVICE_PROGRAMS=60)
  # Tables of values and masks run the same code again and again; tests/codegen lowers it all.
  set(felsite_device_arguments --source-file-exclude=*test_operations*
                               "--test-case-exclude=each pair of features*")
endif()

add_library(test_device_main OBJECT device_main.cpp)
target_link_libraries(test_device_main PRIVATE felsite_warnings doctest::doctest)

# One executable test_PART, and one test PART_DRIVER for each driver.
function(felsite_device_test part)
  file(GLOB sources CONFIGURE_DEPENDS ${part}/*.cpp)
  add_executable(test_${part} $<TARGET_OBJECTS:test_device_main> ${sources})
  target_include_directories(test_${part} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${part} PRIVATE felsite felsite_vulkan felsite_warnings
                                             doctest::doctest fmt::fmt ${CMAKE_DL_LIBS})
  target_compile_definitions(test_${part} PRIVATE FELSITE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  foreach(driver IN LISTS felsite_test_drivers)
    string(REGEX MATCH "^([^=]+)=(.+)$" unused ${driver})
    set(name ${CMAKE_MATCH_1})
    set(icd ${CMAKE_MATCH_2})
    add_test(NAME ${part}_${name} COMMAND test_${part} ${felsite_device_arguments})
    file(READ ${icd} icd_text)
    string(JSON library GET "${icd_text}" ICD library_path)
    # Both names of the variable for the loader: those that know the second one prefer it.
    set(environment
        VK_ICD_FILENAMES=${icd} VK_DRIVER_FILES=${icd} FELSITE_TEST_DRIVER=${name}
        FELSITE_TEST_DRIVER_LIBRARY=${library} ${felsite_generated_${name}}
        LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/driver_leaks.lsan:print_suppressions=0)
    set_tests_properties(${part}_${name} PROPERTIES TIMEOUT 1800 ENVIRONMENT "${environment}")
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
