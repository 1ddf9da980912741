//===- CudnnConvolution.cpp - convolutions by cuDNN -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnConvolution.h"

using namespace remat::cuda;
using namespace remat::cudnn;

ConvolutionLibrary::~ConvolutionLibrary() {
  if (handle)
    lib.Destroy(handle);
}

std::unique_ptr<ConvolutionLibrary>
ConvolutionLibrary::load(uint32_t version, std::string &error) {
  const Library *library = Library::get(error);
  if (!library)
    return nullptr;
  // Another version may read the plan as another algorithm, with other bits.
  if (library->getVersion() != version) {
    error = "the step has convolutions by cuDNN " + printVersion(version) +
            ", and this machine has cuDNN " +
            printVersion(library->getVersion());
    return nullptr;
  }
  auto loaded = std::make_unique<ConvolutionLibrary>(*library);
  if (Status status = library->Create(&loaded->handle)) {
    loaded->handle = nullptr;
    error = "cuDNN cannot be initialized: " + library->describe(status);
    return nullptr;
  }
  return loaded;
}

std::unique_ptr<PreparedConvolution>
ConvolutionLibrary::prepare(const std::string &text, uint64_t workspaceBytes,
                            std::string &error) const {
  auto prepared = std::make_unique<PreparedConvolution>(lib, handle);
  if (!prepared->prepare(text, workspaceBytes, error))
    return nullptr;
  return prepared;
}

bool PreparedConvolution::prepare(const std::string &text,
                                  uint64_t workspaceBytes, std::string &error) {
  plan.set(Attribute::PlanHandle, Type::Handle, handle);
  plan.setText(Attribute::PlanText, text);
  int64_t bytes = 0;
  if (!plan.finalize() ||
      plan.read(Attribute::PlanWorkspace, Type::Int64, 1, &bytes) != 1) {
    error = "cuDNN does not take the plan of a convolution on this device: " +
            lib.describe(plan.getStatus());
    return false;
  }
  if (static_cast<uint64_t>(bytes) <= workspaceBytes)
    return true;
  error = "cuDNN wants " + std::to_string(bytes) +
          " bytes of workspace for the plan of a convolution, planned were " +
          std::to_string(workspaceBytes);
  return false;
}

bool PreparedConvolution::run(const ConvolutionTensors &tensors,
                              void *workspace, Stream stream,
                              std::string &error) const {
  const int64_t numbers[] = {inputNumber, filterNumber, outputNumber};
  void *const pointers[] = {tensors.input, tensors.filter, tensors.output};
  Descriptor pack(lib, Kind::VariantPack);
  pack.set(Attribute::PackNumbers, Type::Int64, 3, numbers);
  pack.set(Attribute::PackPointers, Type::Pointer, 3, pointers);
  pack.set(Attribute::PackWorkspace, Type::Pointer, workspace);
  pack.finalize();
  Status status = pack.getStatus();
  if (status == 0)
    status = lib.SetStream(handle, stream);
  if (status == 0)
    status = lib.BackendExecute(handle, plan.get(), pack.get());
  if (status != 0)
    error = "cuDNN failed: " + lib.describe(status);
  return status == 0;
}
