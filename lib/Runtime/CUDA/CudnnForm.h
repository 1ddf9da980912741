//===- CudnnForm.h - convolutions as cuDNN takes them -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUDNNFORM_H
#define REMAT_LIB_RUNTIME_CUDA_CUDNNFORM_H

#include "remat/Runtime/StepTable.h"

#include <vector>

namespace remat::cudnn {

/// Tensors have batch, channels and at least two spatial dims; those of the
/// filter are the output's channels and a group's input channels.
struct ConvolutionForm {
  struct Tensor {
    std::vector<int64_t> dims, strides;
  };
  Tensor input, filter, output;
  std::vector<int64_t> stride, dilation, prePadding, postPadding;
};

/// The form of a sound description; false if the library has none: types that
/// differ, no elements, groups of the filter that are not one behind the other,
/// windows that end before the input does by more than a stride.
bool findConvolutionForm(const remat_convolution &convolution,
                         ConvolutionForm &form);

} // namespace remat::cudnn

#endif // REMAT_LIB_RUNTIME_CUDA_CUDNNFORM_H
