# `cmake --install` puts the library, its headers, the program and a package file in place, for find_package(attend); with
# `--component program` the program alone, with its manual pages and completions (src/app/CMakeLists.txt).
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attend)

install(TARGETS attend EXPORT attendTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT attendTargets NAMESPACE attend:: DESTINATION ${package_folder})
if(ATTEND_APP)
  install(TARGETS attend_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  file(GLOB units ${PROJECT_SOURCE_DIR}/packaging/*.service)
  if(units)
    install(FILES ${units} DESTINATION lib/systemd/system COMPONENT program)
  endif()
endif()

configure_package_config_file(cmake/attendConfig.cmake.in attendConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  DESTINATION ${package_folder})
