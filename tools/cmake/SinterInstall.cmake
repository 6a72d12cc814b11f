# cmake --install: the tools, what they need beside them, the public headers, and the
# package files for CMake and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/sinter
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(tools)
foreach(tool sinterc sinter-run sinter-opt sinter-inspect)
  if(TARGET ${tool})
    list(APPEND tools ${tool})
  endif()
endforeach()
if(tools)
  # sinterc looks for the prelinked runtime in ../lib/sinter, seen from itself.
  install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/sinter DESTINATION lib)
  install(TARGETS ${tools} EXPORT SinterTargets
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(EXPORT SinterTargets NAMESPACE Sinter::
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
endif()

set(configDir ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/SinterConfig.cmake.in ${CMAKE_BINARY_DIR}/SinterConfig.cmake
  INSTALL_DESTINATION ${configDir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SinterConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/SinterConfig.cmake
              ${CMAKE_BINARY_DIR}/SinterConfigVersion.cmake
        DESTINATION ${configDir})

configure_file(${CMAKE_CURRENT_LIST_DIR}/sinter.pc.in ${CMAKE_BINARY_DIR}/sinter.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sinter.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
