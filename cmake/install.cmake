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
  # find_package(attend COMPONENTS mpi): attend::mpi, and MPI with it.
  install(TARGETS attend_mpi_library EXPORT attendMpiTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT attendMpiTargets NAMESPACE attend:: DESTINATION ${package_folder})
  # The unit names the program by its whole path, which is known when this is installed: --prefix may differ from what was configured.
  install(CODE "
    set(program \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/attend\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/attend.service.in\" \"${PROJECT_BINARY_DIR}/attend.service\" @ONLY)" COMPONENT program)
  install(FILES ${PROJECT_BINARY_DIR}/attend.service DESTINATION lib/systemd/system COMPONENT program)
endif()

configure_package_config_file(cmake/attendConfig.cmake.in attendConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attendConfig.cmake ${PROJECT_BINARY_DIR}/attendConfigVersion.cmake
  DESTINATION ${package_folder})
