//===- ConvolutionBias.h - biases that convolutions add ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library may add a bias to the results of a convolution of 16 bits before it
// rounds and writes them, as Epilogues.h says of products.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_CONVOLUTIONBIAS_H
#define REMAT_UTILS_CONVOLUTIONBIAS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace remat {

/// Whether the library of the target adds biases to convolutions. One that
/// carries them out by plans, which are of convolutions alone, does not.
bool addsConvolutionBias(TargetAttr facts);

/// Whether a bias can be added to `conv`: it has no more dimensions than a
/// library takes, factors of one type of 16 bits, and makes no gradient of a
/// filter.
bool mayHaveBias(ConvOp conv);

/// The dimension of the result of `conv` whose indices are features. It makes
/// no gradient of a filter.
unsigned getFeatureDim(ConvOp conv);

/// A convolution and what is added to each of its features.
struct ConvolutionBias {
  ConvOp conv;
  mlir::Value bias;
};

/// What `op` adds, in f32, to each feature of a convolution that has a result
/// in f32, if it does nothing else but to round the sum to the type of the
/// factors, which is that of the bias.
std::optional<ConvolutionBias> matchConvolutionBias(mlir::linalg::GenericOp op);

} // namespace remat

#endif // REMAT_UTILS_CONVOLUTIONBIAS_H
