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

function(configure directory)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${directory} -G ${GENERATOR}
    -D CMAKE_C_COMPILER=${C_COMPILER} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
    -D CMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS} -D MODELS=${MODELS} ${ARGN})
endfunction()

# The file contains each of the regular expressions as often as it says.
function(expect file)
  file(READ ${file} text)
  while(ARGN)
    list(POP_FRONT ARGN count pattern)
    string(REGEX MATCHALL "${pattern}" found "${text}")
    list(LENGTH found length)
    if(NOT length EQUAL count)
      message(FATAL_ERROR "${file} has '${pattern}' ${length} times, expected ${count}")
    endif()
  endwhile()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${REMAT_BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/moved)

# C programs that run steps, and that compile them, are built without LLVM.
set(no_llvm -D CMAKE_DISABLE_FIND_PACKAGE_MLIR=ON -D CMAKE_DISABLE_FIND_PACKAGE_LLVM=ON)
foreach(part runtime c)
  configure(${WORK}/${part} -D CMAKE_PREFIX_PATH=${WORK}/moved -D PARTS=${part} ${no_llvm})
  run(${CMAKE_COMMAND} --build ${WORK}/${part})
endforeach()
run(${WORK}/runtime/version)
run(${WORK}/c/capi ${MODELS}/mlp_tiny.mlir)

# With LLVM, a project in C gets everything.
configure(${WORK}/all -D CMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/all)
run(${WORK}/all/train)
run(${WORK}/all/capi ${MODELS}/mlp_tiny.mlir)
run(${WORK}/all/outside-opt --remat-pipeline=budget=100% ${MODELS}/mlp_tiny.mlir -o ${WORK}/placed.mlir)

# A dialect of its own, from the captured program to machine code, and run under
# several budgets. What it says of itself is in the plan.
set(dsl ${WORK}/all/dialect)
set(model ${CMAKE_CURRENT_LIST_DIR}/dialect/model.mlir)
run(${dsl}/dsl-opt --remat-pipeline=budget=80%\ threads=1 ${model} -o ${WORK}/dsl.mlir)
expect(${WORK}/dsl.mlir
  # Kernels with the operations in them, and none of what is taken apart.
  1 " = dsl.gelu %" 1 " = dsl.dropout %" 1 " = dsl.normalize %" 1 " = linalg.softmax " 0 "dsl.scaled_add"
  # What is cheap is made again, under any budget.
  2 "remat.task [0-9]+ @gelu"
  # This budget repeats a normalization, and draws random numbers once.
  1 "remat.task [0-9]+ copy [0-9]+ @normalize"
  1 "@dropout[^\n]* pinned "
  # The workspace is what the operation asks for, in multiples of 64 bytes.
  2 "@normalize[^\n]* workspace 5056 ")
run(${dsl}/dsl-opt --remat-lower-cpu ${WORK}/dsl.mlir -o ${WORK}/code.mlir)
foreach(budget 100% 80% min)
  run(${dsl}/dsl-run ${model} ${budget})
endforeach()

# The build tree can be used without installing.
configure(${WORK}/build-tree -D Remat_DIR=${REMAT_BUILD}/lib/cmake/remat)
run(${CMAKE_COMMAND} --build ${WORK}/build-tree --target train)
run(${WORK}/build-tree/train)
file(REMOVE_RECURSE ${WORK})
