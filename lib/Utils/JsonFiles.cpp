//===- JsonFiles.cpp - files in JSON --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/JsonFiles.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace remat;

Expected<json::Value> remat::readJsonFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path);
  if (!file)
    return createStringError(file.getError(),
                             path + ": " + file.getError().message());
  Expected<json::Value> value = json::parse((*file)->getBuffer());
  if (!value)
    return createStringError(path + ": " + toString(value.takeError()));
  return value;
}
