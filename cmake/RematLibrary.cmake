# How remat's targets are compiled. Everything links the distribution's shared
# libMLIR and libLLVM: its MLIRConfig.cmake does not export
# MLIR_LINK_MLIR_DYLIB, so the component targets would be the static archives.
# These are linked with REMAT_STATIC_LLVM, for a libRemat.so that runs where
# there is no LLVM.

# One precompiled header for all code that includes MLIR.
add_library(remat_pch STATIC ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
target_include_directories(remat_pch SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(remat_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(remat_pch PUBLIC ${remat_llvm_definitions})
# libstdc++'s std::stable_sort uses what libstdc++ itself calls deprecated.
target_compile_options(remat_pch PUBLIC -U__DEPRECATED
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden> -Wall -Wextra -Wno-unused-parameter)
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(remat_pch PUBLIC $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()
target_include_directories(remat_pch PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_precompile_headers(remat_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h)
add_dependencies(remat_pch RematOpsIncGen RematInterfacesIncGen)

# What everything on MLIR links; RematConfig.cmake adds its include paths.
add_library(remat_mlir INTERFACE)
if(REMAT_STATIC_LLVM)
  # Files, since Debian's targets of archives of MLIR link the shared libLLVM.
  # The linker takes what it needs of them, in any order.
  get_property(remat_archives GLOBAL PROPERTY MLIR_ALL_LIBS)
  list(APPEND remat_archives ${LLVM_AVAILABLE_LIBS})
  list(FILTER remat_archives INCLUDE REGEX "^(LLVM|MLIR)")
  foreach(target IN LISTS remat_archives)
    set(type)
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
    endif()
    if(type STREQUAL STATIC_LIBRARY)
      target_link_libraries(remat_mlir INTERFACE $<TARGET_FILE:${target}>)
    endif()
  endforeach()
  find_library(REMAT_ZSTD_ARCHIVE libzstd.a REQUIRED)
  find_library(REMAT_ZLIB_ARCHIVE libz.a REQUIRED)
  target_link_libraries(remat_mlir INTERFACE ${REMAT_ZSTD_ARCHIVE} ${REMAT_ZLIB_ARCHIVE})
  target_link_options(remat_mlir INTERFACE LINKER:--gc-sections)
else()
  target_link_libraries(remat_mlir INTERFACE MLIR LLVM)
endif()

# remat_compile_together(target): where CMAKE_UNITY_BUILD is on, several files
# are compiled as one. `using namespace llvm` in some of them makes names
# ambiguous in those that use another namespace: the fewer ones stay alone.
function(remat_compile_together target)
  get_target_property(sources ${target} SOURCES)
  set(of_llvm)
  set(others)
  foreach(source IN LISTS sources)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      file(STRINGS ${source} found REGEX "^using namespace llvm;" LIMIT_COUNT 1)
      if(found)
        list(APPEND of_llvm ${source})
      else()
        list(APPEND others ${source})
      endif()
    endif()
  endforeach()
  list(LENGTH of_llvm num_of_llvm)
  list(LENGTH others num_others)
  if(num_of_llvm LESS num_others)
    set(others ${of_llvm})
  endif()
  set_source_files_properties(${others} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# remat_configure_target(target): include paths, flags and the shared PCH.
function(remat_configure_target target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_include_directories(${target} SYSTEM PUBLIC
    $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}> $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>)
  target_compile_definitions(${target} PRIVATE ${remat_llvm_definitions})
  target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:remat_pch,INTERFACE_COMPILE_OPTIONS>)
  target_precompile_headers(${target} REUSE_FROM remat_pch)
  remat_compile_together(${target})
endfunction()

# remat_add_library(name SOURCES... LINK_LIBS libs... DEPENDS tablegen-targets...)
function(remat_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(remat::${name} ALIAS ${name})
  remat_configure_target(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} remat_mlir)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# remat_hide_symbols(target map): a shared library exports what the version
# script `map` says, and no symbol of what it was linked from.
function(remat_hide_symbols target map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  # The program that loads a sanitized library has the sanitizers' functions.
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
endfunction()

# remat_add_tool(name SOURCES... LINK_LIBS libs...)
function(remat_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  # -fPIC, not -fPIE, as the precompiled header was built. Libraries that a tool
  # loads, such as planners, use its symbols.
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE OFF ENABLE_EXPORTS ON)
  target_compile_options(${name} PRIVATE -fPIC)
  remat_configure_target(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} remat_mlir)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
