//===- ConvolutionChoice.h - who carries out convolutions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CONVOLUTIONCHOICE_H
#define REMAT_TARGET_CONVOLUTIONCHOICE_H

namespace remat {

/// Who carries out convolutions where code can be generated for them, and a
/// library can make execution plans (`remat.plans`).
enum class ConvolutionChoice {
  /// The one that is estimated to be faster. What a library has a plan for is
  /// generated as well, for machines that do not take the plan.
  Auto,
  /// Generated code.
  Generated,
  /// cuDNN, which must be there when the step is compiled and when it is
  /// loaded.
  Cudnn
};

} // namespace remat

#endif // REMAT_TARGET_CONVOLUTIONCHOICE_H
