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

/// Which of a library's execution plans a convolution has.
enum class ConvolutionPlans {
  /// The one that the library thinks the fastest, under every budget: results
  /// have the same bits under all of them.
  Fastest,
  /// The one with the least workspace of those that it thinks fast.
  Smallest,
  /// The fastest, or where a budget makes a step faster by less workspace, the
  /// smallest in all convolutions.
  Budget
};

} // namespace remat

#endif // REMAT_TARGET_CONVOLUTIONCHOICE_H
