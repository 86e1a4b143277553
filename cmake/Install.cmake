# SPDX-License-Identifier: GPL-3.0-or-later
# Install target, pkg-config and CMake config files.
include(CMakePackageConfigHelpers)

install(TARGETS dpaudit dpaudit_lab EXPORT dpauditTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS dpaudit_zip LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
if(TARGET dpaudit_mpi)
  install(TARGETS dpaudit_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dpaudit)
endif()
install(TARGETS dpaudit_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/dpaudit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT dpauditTargets NAMESPACE dpaudit:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dpaudit)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/dpauditConfig.cmake.in
  ${CMAKE_BINARY_DIR}/dpauditConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dpaudit)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dpauditConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dpauditConfig.cmake ${CMAKE_BINARY_DIR}/dpauditConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dpaudit)

# Relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH DPA_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_SOURCE_DIR}/cmake/dpaudit.pc.in ${CMAKE_BINARY_DIR}/dpaudit.pc @ONLY)
configure_file(${CMAKE_SOURCE_DIR}/cmake/dpaudit-lab.pc.in ${CMAKE_BINARY_DIR}/dpaudit-lab.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/dpaudit.pc ${CMAKE_BINARY_DIR}/dpaudit-lab.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Man pages and completion come from the command's own tables, asked of the freshly built command.
set(DPA_MAN ${CMAKE_BINARY_DIR}/man)
set(DPA_COMPLETION ${CMAKE_BINARY_DIR}/completion)
set(DPA_STAMP ${CMAKE_BINARY_DIR}/generated.stamp)
add_custom_command(OUTPUT ${DPA_STAMP} DEPENDS dpaudit_cli ${CMAKE_SOURCE_DIR}/cmake/Generate.cmake
  COMMAND ${CMAKE_COMMAND} -DDPAUDIT=$<TARGET_FILE:dpaudit_cli> "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -DMAN=${DPA_MAN} -DCOMPLETION=${DPA_COMPLETION}
    -P ${CMAKE_SOURCE_DIR}/cmake/Generate.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${DPA_STAMP})
add_custom_target(dpa_generated ALL DEPENDS ${DPA_STAMP})
install(DIRECTORY ${DPA_MAN}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/man/dpaudit-formats.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${DPA_COMPLETION}/dpaudit.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dpaudit)
install(FILES ${DPA_COMPLETION}/_dpaudit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${DPA_COMPLETION}/dpaudit.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Where `dpaudit example` looks: beside the folder of the command, in the build tree as after the installation.
set(DPA_SHARE ${CMAKE_INSTALL_DATADIR}/dpaudit)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${DPA_SHARE} USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/dpaudit)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/examples ${CMAKE_BINARY_DIR}/share/dpaudit/examples SYMBOLIC)
