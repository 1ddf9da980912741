//===- AllTargets.cpp - the targets that remat has ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/AllTargets.h"

#include "remat/Target/CPU/CPUTarget.h"
#include "remat/Target/CPU/Passes.h"
#include "remat/Target/CUDA/CUDATarget.h"
#include "remat/Target/CUDA/Passes.h"

void remat::registerAllTargets() {
  registerTarget(cpu::createTarget());
  registerTarget(cuda::createTarget());
}

void remat::registerAllTargetPasses() {
  registerRematTargetCPUPasses();
  registerRematTargetCUDAPasses();
}
