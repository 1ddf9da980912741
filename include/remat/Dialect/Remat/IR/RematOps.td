//===- RematOps.td - all operations of the remat dialect ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REMATOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATOPS_TD

include "remat/Dialect/Remat/IR/CaptureOps.td"
include "remat/Dialect/Remat/IR/ComputeOps.td"
include "remat/Dialect/Remat/IR/GraphOps.td"
include "remat/Dialect/Remat/IR/LoopOps.td"
include "remat/Dialect/Remat/IR/RuleOps.td"

#endif // REMAT_DIALECT_REMAT_IR_REMATOPS_TD
