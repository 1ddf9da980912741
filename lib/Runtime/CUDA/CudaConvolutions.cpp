//===- CudaConvolutions.cpp - the convolutions of a step on a device ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"
#include "CudaTable.h"

using namespace remat;
using namespace remat::cuda;

static std::string printCapability(uint32_t capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

/// The plans of a convolution for devices like this one; none with a message.
std::vector<const remat_plan *> CudaTable::findPlans(uint32_t convolution,
                                                     std::string &error) const {
  std::vector<const remat_plan *> plans;
  std::string others;
  for (const remat_plan &plan : table.plans) {
    if (plan.convolution != convolution || plan.kernel != REMAT_NONE)
      continue;
    if (plan.capability == step.capability)
      plans.push_back(&plan);
    else
      others += (others.empty() ? "" : ", ") + printCapability(plan.capability);
  }
  if (plans.empty())
    error = "the step has no plan of the convolution for a device of compute "
            "capability " +
            printCapability(step.capability) +
            (others.empty() ? "" : ", only for " + others);
  return plans;
}

/// Whether the tensors of an entry begin where the plan expects it.
static bool checkAlignment(const Table &table, const remat_entry &entry,
                           bool isBody, std::string &error) {
  for (uint32_t i = 0; i < entry.operand_count + entry.result_count; ++i) {
    const remat_buffer &buffer = table.operand(entry, i);
    uint32_t alignment = findAlignment(table, buffer, isBody);
    if (alignment % cudnn::tensorAlignment == 0)
      continue;
    bool isElement = buffer.offset % cudnn::tensorAlignment == 0;
    error = "a tensor begins at " +
            (isElement
                 ? "any multiple of " + std::to_string(alignment) +
                       " bytes, as it is of an iteration of a loop"
                 : "byte " + std::to_string(buffer.offset) + " of its memory") +
            ", expected a multiple of " +
            std::to_string(cudnn::tensorAlignment);
    if (isElement)
      error += ": unroll the loop, or compile the step without cuDNN";
    return false;
  }
  return true;
}

/// One plan for all entries with one description.
bool CudaTable::takePlan(uint32_t convolution,
                         const std::vector<uint32_t> &entries,
                         std::string &error) {
  std::vector<const remat_plan *> plans = findPlans(convolution, error);
  if (plans.empty())
    return false;
  for (uint32_t index : entries) {
    const remat_entry &entry = table.entries[index];
    uint64_t room = entry.workspace == REMAT_NONE
                        ? 0
                        : table.buffers[entry.workspace].bytes;
    for (const remat_plan *plan : plans)
      if (room < plan->workspace_bytes) {
        error = "the plan of the convolution needs " +
                std::to_string(plan->workspace_bytes) +
                " bytes of workspace, the entry has " + std::to_string(room);
        return false;
      }
    if (!checkAlignment(table, entry, isBody, error))
      return false;
  }
  std::unique_ptr<PreparedConvolution> &prepared = convolutions[convolution];
  for (size_t i = 0; !prepared && i < plans.size(); ++i) {
    if (!step.convolutionLibrary)
      step.convolutionLibrary =
          ConvolutionLibrary::load(plans[i]->version, error);
    if (!step.convolutionLibrary)
      return false;
    prepared = step.convolutionLibrary->prepare(
        table.string(plans[i]->text), plans[i]->workspace_bytes, error);
  }
  return prepared != nullptr;
}

/// The code for all entries with one description, if the step has any.
bool CudaTable::takeCode(uint32_t convolution) {
  for (const remat_plan &plan : table.plans)
    if (plan.convolution == convolution && plan.kernel != REMAT_NONE)
      convolutionKernels[convolution] = plan.kernel;
  return convolutionKernels[convolution] != REMAT_NONE;
}

bool CudaTable::prepareConvolutions(std::string &error) {
  convolutions.resize(table.convolutions.size());
  convolutionKernels.assign(table.convolutions.size(), REMAT_NONE);
  std::vector<std::vector<uint32_t>> users(table.convolutions.size());
  for (uint32_t i = 0; i < table.entries.size(); ++i)
    if (table.entries[i].kind == REMAT_ENTRY_CONVOLUTION)
      users[table.entries[i].callee].push_back(i);
  for (uint32_t i = 0; i < users.size(); ++i) {
    if (users[i].empty() || takePlan(i, users[i], error))
      continue;
    if (!takeCode(i)) {
      error.insert(0, table.describe(users[i].front()) + ": ");
      return false;
    }
    step.degradedCalls += users[i].size();
  }
  return true;
}

bool CudaTable::runConvolution(uint32_t index, void *const *buffers,
                               std::string &error) {
  const remat_entry &entry = table.entries[index];
  if (uint32_t kernel = convolutionKernels[entry.callee]; kernel != REMAT_NONE)
    return runKernel(index, kernel, buffers, error);
  ConvolutionTensors tensors = {buffers[0], buffers[1], buffers[2]};
  switch (table.convolutions[entry.callee].kind) {
  case REMAT_CONV_INPUT_GRADIENT:
    tensors = {buffers[2], buffers[1], buffers[0]};
    break;
  case REMAT_CONV_FILTER_GRADIENT:
    tensors = {buffers[0], buffers[2], buffers[1]};
    break;
  default:
    break;
  }
  void *workspace = entry.workspace == REMAT_NONE ? nullptr : buffers[3];
  return step.countLaunch(error) &&
         convolutions[entry.callee]->run(tensors, workspace, streamOf(index),
                                         error);
}
