//===- ExamplePlugin.cpp - an algorithm in a shared library ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The example as a library that the tools load by --load-planner. It links no
// library of remat: the tool that loads it has everything.
//
//===----------------------------------------------------------------------===//

#include "ExampleAlgorithm.h"

extern "C" void rematRegisterPlanners(llvm::Error &error) {
  llvm::ErrorAsOutParameter isChecked(error);
  error = registerLargestFirst();
}
