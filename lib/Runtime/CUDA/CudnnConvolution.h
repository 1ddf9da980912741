//===- CudnnConvolution.h - convolutions by cuDNN ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUDNNCONVOLUTION_H
#define REMAT_LIB_RUNTIME_CUDA_CUDNNCONVOLUTION_H

#include "Cudnn.h"

#include "remat/Runtime/StepTable.h"

#include <memory>

namespace remat::cuda {

/// The addresses of a convolution's tensors, whichever of them is the result.
struct ConvolutionTensors {
  void *input, *filter, *output;
};

/// A plan of the step table in the current context.
class PreparedConvolution {
public:
  PreparedConvolution(const cudnn::Library &library, cudnn::Handle handle)
      : lib(library), handle(handle), plan(library, cudnn::Kind::Plan) {}

  /// Makes the plan of its text, with no more workspace than was planned. False
  /// with a message on failure.
  bool prepare(const std::string &text, uint64_t workspaceBytes,
               std::string &error);
  /// Computes the result on `stream`. False with a message on failure.
  bool run(const ConvolutionTensors &tensors, void *workspace, Stream stream,
           std::string &error) const;

private:
  const cudnn::Library &lib;
  cudnn::Handle handle;
  cudnn::Descriptor plan;
};

/// The library, in the current context.
class ConvolutionLibrary {
public:
  explicit ConvolutionLibrary(const cudnn::Library &library) : lib(library) {}
  ConvolutionLibrary(const ConvolutionLibrary &) = delete;
  ~ConvolutionLibrary();

  /// Null with a message if there is none, or not the one of `version`.
  static std::unique_ptr<ConvolutionLibrary> load(uint32_t version,
                                                  std::string &error);

  /// Null with a message on failure.
  std::unique_ptr<PreparedConvolution> prepare(const std::string &text,
                                               uint64_t workspaceBytes,
                                               std::string &error) const;

private:
  const cudnn::Library &lib;
  cudnn::Handle handle = nullptr;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CUDNNCONVOLUTION_H
