# Installs remat, moves the installation, and builds and runs the project beside
# this file against it. Variables are set by the test's command line.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

function(build directory)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${directory} -G ${GENERATOR}
    -D CMAKE_C_COMPILER=${C_COMPILER} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
    -D CMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS} -D MODELS=${MODELS} ${ARGN})
  run(${CMAKE_COMMAND} --build ${directory})
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${REMAT_BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/moved)

build(${WORK}/runtime -D CMAKE_PREFIX_PATH=${WORK}/moved -D RUNTIME_ONLY=ON
  -D CMAKE_DISABLE_FIND_PACKAGE_MLIR=ON -D CMAKE_DISABLE_FIND_PACKAGE_LLVM=ON)
run(${WORK}/runtime/version)

build(${WORK}/all -D CMAKE_PREFIX_PATH=${WORK}/moved)
run(${WORK}/all/train)
run(${WORK}/all/outside-opt --remat-pipeline=budget=100% ${MODELS}/mlp_tiny.mlir -o ${WORK}/placed.mlir)

# The build tree can be used without installing.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build-tree -G ${GENERATOR}
  -D CMAKE_C_COMPILER=${C_COMPILER} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
  -D CMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS} -D MODELS=${MODELS}
  -D Remat_DIR=${REMAT_BUILD}/lib/cmake/remat)
run(${CMAKE_COMMAND} --build ${WORK}/build-tree --target train)
run(${WORK}/build-tree/train)
file(REMOVE_RECURSE ${WORK})
