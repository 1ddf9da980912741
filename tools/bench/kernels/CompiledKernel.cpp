//===- CompiledKernel.cpp - a function, ready to be run again -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledKernel.h"

#include "../../common/Driver.h"
#include "remat/Pipelines/StepCompiler.h"

#include <cstring>

using namespace remat;
using namespace remat::bench;

llvm::Expected<std::unique_ptr<CompiledKernel>>
CompiledKernel::create(const std::string &text, bool backward, int threads) {
  tools::ModelReader reader;
  auto module = reader.read(llvm::MemoryBuffer::getMemBufferCopy(text));
  if (!module)
    return module.takeError();
  StepOptions options;
  options.threads = threads;
  options.derivatives.emplace();
  if (backward) {
    DifferentiateOptions derivative;
    derivative.mode = DifferentiateOptions::Reverse;
    options.derivatives->push_back(derivative);
  }
  if (failed(compileToTasks(**module, options)))
    return llvm::createStringError("the kernel was not compiled");
  auto summary = planModule(**module, PlanOptions());
  if (!summary)
    return summary.takeError();
  const Target *target = lookupTarget(module->get());
  if (!target)
    return llvm::createStringError("the target is not known");
  LoweringOptions lowering;
  lowering.threads = threads;
  auto code = target->load(**module, lowering, EmitOptions());
  if (!code)
    return code.takeError();
  std::unique_ptr<CompiledKernel> kernel(new CompiledKernel());
  kernel->code = std::move(*code);
  remat_step_options stepOptions = {};
  stepOptions.threads = threads;
  if (remat_step_load(kernel->code->getModule(), &stepOptions, &kernel->step) !=
      REMAT_OK)
    return llvm::createStringError(remat_last_error());
  kernel->arguments =
      kernel->makeTensors(remat_step_argument_count(kernel->step), false);
  kernel->results =
      kernel->makeTensors(remat_step_result_count(kernel->step), true);
  return kernel;
}

CompiledKernel::~CompiledKernel() { remat_step_free(step); }

/// Floats are numbers around 0.5; integers count from 0 to 63, so that they are
/// indices into anything larger.
static void fill(std::vector<char> &buffer, int32_t dtype) {
  if (dtype == REMAT_F32) {
    for (size_t i = 0; i < buffer.size() / 4; ++i) {
      float value = 0.25f + static_cast<float>(i * 2654435761u % 1024) / 2048;
      std::memcpy(&buffer[4 * i], &value, 4);
    }
  } else if (dtype == REMAT_I64) {
    for (size_t i = 0; i < buffer.size() / 8; ++i) {
      int64_t value = static_cast<int64_t>(i % 64);
      std::memcpy(&buffer[8 * i], &value, 8);
    }
  }
}

std::vector<remat_tensor> CompiledKernel::makeTensors(size_t count,
                                                      bool isResult) {
  std::vector<remat_tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    remat_tensor_info info;
    if (isResult)
      remat_step_result(step, i, &info);
    else
      remat_step_argument(step, i, &info);
    buffers.emplace_back(info.bytes);
    if (!isResult)
      fill(buffers.back(), info.dtype);
    tensors.push_back(
        {buffers.back().data(), info.dtype, info.rank, info.dims});
  }
  return tensors;
}

bool CompiledKernel::run() {
  return remat_step_run(step, arguments.data(), arguments.size(),
                        results.data(), results.size()) == REMAT_OK;
}

std::string CompiledKernel::getError() const { return remat_step_error(step); }

int64_t CompiledKernel::getBytes() const {
  int64_t bytes = 0;
  for (const std::vector<char> &buffer : buffers)
    bytes += static_cast<int64_t>(buffer.size());
  return bytes;
}
