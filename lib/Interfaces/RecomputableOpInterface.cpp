//===- RecomputableOpInterface.cpp - may it run again? --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Interfaces/RecomputableOpInterface.h"

#include "remat/Interfaces/RecomputableOpInterface.cpp.inc"

using namespace mlir;
using namespace remat;

Recomputability remat::getRecomputability(Operation *op) {
  auto recomputable = dyn_cast<RecomputableOpInterface>(op);
  return recomputable ? recomputable.getRecomputability()
                      : Recomputability::Repeatable;
}

bool remat::runsOnce(Operation *op) {
  Recomputability kind = getRecomputability(op);
  return kind == Recomputability::Random || kind == Recomputability::Effects;
}
