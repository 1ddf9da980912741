//===- Passes.td - optimizations of joint functions --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes from L1 to L1, a file for each theme. lib/Pipelines has their order.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PASSES
#define REMAT_TRANSFORMS_PASSES

include "remat/Transforms/BatchPasses.td"
include "remat/Transforms/FusionPasses.td"
include "remat/Transforms/LoopPasses.td"
include "remat/Transforms/RewritePasses.td"
include "remat/Transforms/StepPasses.td"

#endif // REMAT_TRANSFORMS_PASSES
