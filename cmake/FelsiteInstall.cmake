# Supports find_package(felsite CONFIG) from an install tree; tests/consumer uses it.
include(CMakePackageConfigHelpers)

install(TARGETS felsite EXPORT felsiteTargets)
install(DIRECTORY include/felsite DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(felsite_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/felsite)
install(EXPORT felsiteTargets NAMESPACE felsite:: DESTINATION ${felsite_config_dir})
configure_package_config_file(cmake/felsiteConfig.cmake.in ${PROJECT_BINARY_DIR}/felsiteConfig.cmake
                              INSTALL_DESTINATION ${felsite_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/felsiteConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/felsiteConfig.cmake
              ${PROJECT_BINARY_DIR}/felsiteConfigVersion.cmake
        DESTINATION ${felsite_config_dir})
