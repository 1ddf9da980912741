//===- StepAnomalies.cpp - a step that looks for NaNs ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a run does around each entry when NaNs and infinities are looked for.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

using namespace remat;

void remat_step::prepareAnomalies() {
  if (!(flags & looksForAnomalies))
    return;
  AnomalyCheck::Read read = [](const void *data, uint64_t) { return data; };
  if (device)
    read = [this, brought = std::vector<char>()](
               const void *data, uint64_t bytes) mutable -> const void * {
      brought.resize(bytes);
      return device->copy(brought.data(), data, bytes, error) ? brought.data()
                                                              : nullptr;
    };
  anomalyCheck =
      std::make_unique<AnomalyCheck>(table, threads, std::move(read));
}

void remat_step::beginAnomalies() {
  if (!anomalyCheck)
    return;
  // That of a body is what its last run left.
  error.clear();
  anomalyCheck->begin();
  for (const std::unique_ptr<remat_step> &body : bodies)
    body->beginAnomalies();
}

remat_status remat_step::enterEntry(uint32_t index) {
  if (!anomalyCheck)
    return REMAT_OK;
  anomalyCheck->enter(index, pointers.data() + prepared[index].firstPointer);
  return error.empty() ? REMAT_OK : REMAT_DEVICE_ERROR;
}

remat_status remat_step::leaveEntry(uint32_t index) {
  if (!anomalyCheck)
    return REMAT_OK;
  std::string message;
  bool isSound = anomalyCheck->leave(
      index, pointers.data() + prepared[index].firstPointer, message);
  if (!error.empty())
    return REMAT_DEVICE_ERROR;
  if (isSound)
    return REMAT_OK;
  anomalyCheck->report(index, message);
  if (!(flags & REMAT_STEP_ANOMALY_ERROR))
    return REMAT_OK;
  error = message;
  return REMAT_ANOMALY;
}
