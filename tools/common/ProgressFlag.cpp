//===- ProgressFlag.cpp - whether to say how far a tool is ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/ProgressFlag.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace remat::tools;

ProgressFlag::ProgressFlag(cl::OptionCategory &category, StringRef what)
    : help(("Say once a second on standard error how far " + what + " is:")
               .str()),
      flag("progress", cl::ValueOptional, cl::cat(category),
           cl::init(ShowProgress::Auto), cl::desc(help),
           cl::values(clEnumValN(ShowProgress::Auto, "auto",
                                 "on a terminal (default)"),
                      clEnumValN(ShowProgress::Always, "always",
                                 "everywhere (also without a value)"),
                      clEnumValN(ShowProgress::Always, "", ""),
                      clEnumValN(ShowProgress::Never, "never", "nowhere"))) {}

bool ProgressFlag::shows() const {
  return flag == ShowProgress::Auto ? sys::Process::StandardErrIsDisplayed()
                                    : flag == ShowProgress::Always;
}
