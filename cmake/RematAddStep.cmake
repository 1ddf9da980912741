# remat_add_step(name MODEL file [MANIFEST file] [BUDGET budget]
#                [OPTIONS options...])
#
# Compiles a model by remat-compile into the library `name`, with the header
# `name.h` that declares the remat_module `name`.
function(remat_add_step name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "MODEL;MANIFEST;BUDGET" "OPTIONS")
  if(NOT ARG_MODEL)
    message(FATAL_ERROR "remat_add_step(${name}) needs a MODEL")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "remat_add_step(${name}) does not know '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  get_filename_component(model ${ARG_MODEL} ABSOLUTE)
  set(inputs ${model})
  set(options ${ARG_OPTIONS})
  if(ARG_MANIFEST)
    get_filename_component(manifest ${ARG_MANIFEST} ABSOLUTE)
    list(APPEND inputs ${manifest})
    list(APPEND options --manifest=${manifest})
  endif()
  if(ARG_BUDGET)
    list(APPEND options --budget=${ARG_BUDGET})
  endif()
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${name}.step)
  file(MAKE_DIRECTORY ${directory})
  add_custom_command(
    OUTPUT ${directory}/${name}.o ${directory}/${name}.h
    COMMAND remat::remat-compile ${model} --name=${name} ${options}
      -o ${directory}/${name}.o --header=${directory}/${name}.h
    DEPENDS ${inputs} remat::remat-compile
    COMMENT "Compiling the step ${name}" VERBATIM)
  set_source_files_properties(${directory}/${name}.o PROPERTIES
    EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${name} STATIC ${directory}/${name}.o ${directory}/${name}.h)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} INTERFACE ${directory})
  target_link_libraries(${name} PUBLIC remat::runtime m)
endfunction()
