//===- JsonFiles.cpp - files in JSON --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/JsonFiles.h"

#include "remat/Support/InputFiles.h"
#include "remat/Support/Json.h"

using namespace llvm;
using namespace remat;

Expected<json::Value> remat::readJsonFile(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> file = readTextFile(path);
  if (!file)
    return file.takeError();
  Expected<json::Value> value = parseJson((*file)->getBuffer());
  if (!value)
    return createStringError(path + ": " + toString(value.takeError()));
  return value;
}
