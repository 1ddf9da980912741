# Writes files as arrays of a C++ source, so that a program has them inside:
#
#   cmake -DOUTPUT=FILE.inc "-DFILES=name=path;name=path" -P EmbedFiles.cmake
#
# File `name` becomes the array `name`, of as many bytes as it has.

set(source "// Made by EmbedFiles.cmake.\n")
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([^=]+)=(.+)$" entry "${entry}")
  set(name ${CMAKE_MATCH_1})
  file(READ "${CMAKE_MATCH_2}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){24})" "\\1\n" bytes "${bytes}")
  string(APPEND source "static constexpr unsigned char ${name}[] = {\n${bytes}};\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}")
