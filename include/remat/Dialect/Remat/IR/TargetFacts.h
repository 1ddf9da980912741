//===- TargetFacts.h - what passes know of a machine ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See #remat.target. The defaults are those of two cores of a server's CPU;
// where code is generated for another machine, its target says other facts.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_TARGETFACTS_H
#define REMAT_DIALECT_REMAT_IR_TARGETFACTS_H

#include "mlir/IR/BuiltinTypes.h"

namespace remat {

class TargetAttr;

/// The values of parameters of #remat.target that are not given. The cache of
/// the second level of such a core holds half a MiB or more, and the stack of
/// its threads as much as is kept there.
struct TargetDefaults {
  static constexpr int64_t alignment = 64;
  static constexpr int64_t rowBytes = 192 << 10;
  static constexpr int64_t blockBytes = 384 << 10;
  static constexpr int64_t blockRows = 64;
  static constexpr int64_t minBlockRows = 8;
  static constexpr int64_t sumLength = 16 << 10;
  static constexpr int64_t channelBytes = 512 << 10;
  static constexpr int64_t sliceBytes = 4 << 20;
  /// With so many rows a library's contraction takes as long as in one piece,
  /// with half as many some hundredths more.
  static constexpr int64_t sliceRows = 256;
  static constexpr int64_t minSliceRows = 128;
  static constexpr bool inPlace = true;
  static constexpr bool biases = true;
  static constexpr bool epilogues = false;
  static constexpr bool strides = true;
  static constexpr bool sharedStrides = false;
  static constexpr bool rowStages = false;
  static constexpr bool windows = false;
  static constexpr int64_t threads = 2;
  static constexpr int64_t contractionFlops = 300'000'000'000;
  static constexpr int64_t loopFlops = 60'000'000'000;
  static constexpr int64_t bandwidth = 25'000'000'000;
  static constexpr int64_t launchNs = 2000;
  /// PCI Express 4.0 with 16 lanes.
  static constexpr int64_t linkBandwidth = 25'000'000'000;
  /// Copies in memory share its bandwidth.
  static constexpr bool duplexLink = false;
};

/// On a module, a function or a graph: the #remat.target it is compiled for.
constexpr llvm::StringLiteral targetAttrName = "remat.target";

/// The facts of the machine that `op` is compiled for: those of the innermost
/// operation around it, itself included, that has `remat.target`, else the
/// defaults of the target "cpu".
TargetAttr getTargetFacts(mlir::Operation *op);

/// The bytes that a value of a buffer type takes on the machine: rounded up to
/// its alignment. Zero for a tensor without elements.
int64_t getBufferBytes(mlir::RankedTensorType type, TargetAttr target);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_TARGETFACTS_H
