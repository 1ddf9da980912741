//===- OutputFlags.cpp - flags that name files to write -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/OutputFlags.h"
#include "common/Driver.h"

#include "remat/Support/OutputFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

Error tools::checkFileNames(ArrayRef<OutputFlag> flags,
                            ArrayRef<StringRef> inputs) {
  for (const OutputFlag &flag : flags) {
    for (StringRef input : inputs)
      if (!OutputFiles::isStream(flag.path) &&
          sys::fs::equivalent(flag.path, input))
        return makeError("'" + flag.flag + "' would overwrite '" + input +
                         "', which is read; give it another file");
    for (const OutputFlag &other : flags.drop_front(&flag - flags.data() + 1)) {
      bool isSame = flag.path == other.path ||
                    (OutputFiles::isStandardOutput(flag.path) &&
                     OutputFiles::isStandardOutput(other.path));
      if (!flag.path.empty() && isSame)
        return makeError("'" + flag.flag + "' and '" + other.flag +
                         "' name the same file '" + flag.path + "'");
    }
  }
  return Error::success();
}

raw_ostream &tools::getTextStream(ArrayRef<OutputFlag> flags) {
  bool isPiped = any_of(flags, [](const OutputFlag &flag) {
    return OutputFiles::isStandardOutput(flag.path);
  });
  return isPiped ? errs() : outs();
}
