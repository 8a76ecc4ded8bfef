# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)
install(TARGETS quarkq RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS quarkq_shared EXPORT quarkqTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/quarkq DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quarkqTargets NAMESPACE quarkq:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
configure_package_config_file(cmake/quarkqConfig.cmake.in ${PROJECT_BINARY_DIR}/quarkqConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quarkqConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quarkqConfig.cmake ${PROJECT_BINARY_DIR}/quarkqConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
