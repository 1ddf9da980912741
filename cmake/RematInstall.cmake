# What is installed, and how other projects find it: find_package(Remat), in an
# installation or in the build tree. A library that is missing in this list
# makes CMake complain about the export set.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(remat_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/remat)

set(remat_libraries
  RematAllTargets
  RematAutoDiff
  RematCAPI
  RematCodegen
  RematCost
  RematDialectTransforms
  RematImport
  RematInterfaces
  RematIR
  RematPipelines
  RematPlanning
  RematSupport
  RematTarget
  RematTargetCPU
  RematTargetCUDA
  RematTransforms
  RematUtils)
set(remat_tools remat-compile remat-lsp-server remat-opt remat-pack remat-plan remat-run)

# The runtime is a package of its own, for programs without LLVM.
set_target_properties(remat_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(remat_onednn PROPERTIES EXPORT_NAME onednn)
set_target_properties(remat_gomp PROPERTIES EXPORT_NAME gomp)
set_target_properties(remat_mlir PROPERTIES EXPORT_NAME mlir)
install(TARGETS remat_runtime remat_onednn remat_gomp EXPORT RematRuntimeTargets)
# The C API, too: libRemat.so brings what it needs, the programs that use it are
# built without LLVM.
install(TARGETS Remat EXPORT RematCTargets)
install(TARGETS RematPlugin EXPORT RematTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS remat_mlir ${remat_libraries} ${remat_tools} EXPORT RematTargets)
foreach(set RematRuntimeTargets RematCTargets RematTargets)
  install(EXPORT ${set} NAMESPACE remat:: DESTINATION ${remat_package_dir})
  export(EXPORT ${set} NAMESPACE remat::
    FILE ${PROJECT_BINARY_DIR}/lib/cmake/remat/${set}.cmake)
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/remat ${PROJECT_SOURCE_DIR}/include/remat-c
  ${PROJECT_BINARY_DIR}/include/remat
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN CMakeFiles EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/docs/LICENSE.TXT DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/RematConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lib/cmake/remat/RematConfig.cmake
  INSTALL_DESTINATION ${remat_package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/lib/cmake/remat/RematConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/RematAddStep.cmake
  ${PROJECT_BINARY_DIR}/lib/cmake/remat/RematAddStep.cmake COPYONLY)
install(FILES
  ${PROJECT_BINARY_DIR}/lib/cmake/remat/RematConfig.cmake
  ${PROJECT_BINARY_DIR}/lib/cmake/remat/RematConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/RematAddStep.cmake
  DESTINATION ${remat_package_dir})
