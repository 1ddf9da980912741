//===- CudnnForm.cpp - convolutions as cuDNN takes them -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnForm.h"

#include <algorithm>

using namespace remat::cudnn;

/// The padding behind the input with which the library finds `output` windows.
/// The same as before it is what most algorithms take. What else there is
/// beside the input, no window reads.
static bool findPostPadding(const remat_convolution &c, int dim,
                            int64_t &padding) {
  int64_t reach = c.dilation[dim] * (c.filter[dim] - 1) + 1;
  auto windows = [&](int64_t post) {
    int64_t room = c.input[dim] + c.pad_lo[dim] + post - reach;
    return room < 0 ? 0 : room / c.stride[dim] + 1;
  };
  int64_t least = (c.output[dim] - 1) * c.stride[dim] + reach - c.input[dim] -
                  c.pad_lo[dim];
  for (int64_t post : {c.pad_lo[dim], c.pad_hi[dim], least}) {
    padding = post;
    if (post >= 0 && windows(post) == c.output[dim])
      return c.pad_lo[dim] >= 0;
  }
  return false;
}

static void addDim(ConvolutionForm &form, const remat_convolution &c, int dim,
                   int64_t postPadding) {
  form.input.dims.push_back(c.input[dim]);
  form.input.strides.push_back(c.input_strides[2 + dim]);
  form.filter.dims.push_back(c.filter[dim]);
  form.filter.strides.push_back(c.filter_strides[3 + dim]);
  form.output.dims.push_back(c.output[dim]);
  form.output.strides.push_back(c.output_strides[2 + dim]);
  form.stride.push_back(c.stride[dim]);
  form.dilation.push_back(c.dilation[dim]);
  form.prePadding.push_back(c.pad_lo[dim]);
  form.postPadding.push_back(postPadding);
}

/// A dim of one element, where there are fewer dims than the library wants.
static void addUnitDim(ConvolutionForm &form) {
  for (ConvolutionForm::Tensor *tensor :
       {&form.input, &form.filter, &form.output}) {
    tensor->dims.push_back(1);
    // As a dense dim would have it, which decides the layout.
    tensor->strides.push_back(tensor->strides.back());
  }
  form.stride.push_back(1);
  form.dilation.push_back(1);
  form.prePadding.push_back(0);
  form.postPadding.push_back(0);
}

bool remat::cudnn::findConvolutionForm(const remat_convolution &c,
                                       ConvolutionForm &form) {
  bool isTaken = c.bias == 0 && c.input_dtype == c.filter_dtype &&
                 c.input_dtype == c.output_dtype &&
                 (c.input_dtype == REMAT_F32 || c.input_dtype == REMAT_F64 ||
                  c.input_dtype == REMAT_F16 || c.input_dtype == REMAT_BF16);
  int64_t groupOutputs = c.output_channels / c.groups;
  if (c.groups > 1 && c.filter_strides[0] != c.filter_strides[1] * groupOutputs)
    return false;
  form = {};
  form.input = {{c.batch, c.input_channels},
                {c.input_strides[0], c.input_strides[1]}};
  form.filter = {{c.output_channels, c.input_channels / c.groups},
                 {c.filter_strides[1], c.filter_strides[2]}};
  form.output = {{c.batch, c.output_channels},
                 {c.output_strides[0], c.output_strides[1]}};
  for (int dim = 0; isTaken && dim < c.spatial_rank; ++dim) {
    int64_t postPadding = 0;
    isTaken = c.output[dim] > 0 && findPostPadding(c, dim, postPadding);
    addDim(form, c, dim, postPadding);
  }
  while (form.stride.size() < 2)
    addUnitDim(form);
  for (const auto *tensor : {&form.input, &form.filter, &form.output})
    for (int64_t size : tensor->dims)
      isTaken &= size > 0;
  return isTaken;
}
