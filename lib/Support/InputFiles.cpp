//===- InputFiles.cpp - text that programs read ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Support/InputFiles.h"

using namespace llvm;
using namespace remat;

static Expected<std::unique_ptr<MemoryBuffer>>
decode(StringRef path, ErrorOr<std::unique_ptr<MemoryBuffer>> file) {
  if (!file)
    return createFileError(path, file.getError());
  StringRef text = (*file)->getBuffer();
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return createFileError(path,
                           createStringError("is text in UTF-16, expected "
                                             "UTF-8; save it as that"));
  if (text.consume_front("\xEF\xBB\xBF"))
    return MemoryBuffer::getMemBufferCopy(text, (*file)->getBufferIdentifier());
  return std::move(*file);
}

Expected<std::unique_ptr<MemoryBuffer>> remat::readTextFile(StringRef path) {
  return decode(path, MemoryBuffer::getFile(path));
}

Expected<std::unique_ptr<MemoryBuffer>>
remat::readTextFileOrInput(StringRef path) {
  return decode(path, MemoryBuffer::getFileOrSTDIN(path));
}
