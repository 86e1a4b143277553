# SPDX-License-Identifier: GPL-3.0-or-later
# Install target, pkg-config and CMake config files.
include(CMakePackageConfigHelpers)

install(TARGETS dpaudit EXPORT dpauditTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS dpaudit_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/dpaudit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT dpauditTargets NAMESPACE dpaudit:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dpaudit)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/dpauditConfig.cmake.in
  ${CMAKE_BINARY_DIR}/dpauditConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dpaudit)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dpauditConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dpauditConfig.cmake ${CMAKE_BINARY_DIR}/dpauditConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dpaudit)

configure_file(${CMAKE_SOURCE_DIR}/cmake/dpaudit.pc.in ${CMAKE_BINARY_DIR}/dpaudit.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/dpaudit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
