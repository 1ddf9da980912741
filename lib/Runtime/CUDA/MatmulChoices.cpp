//===- MatmulChoices.cpp - one algorithm for each description -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other algorithms add up in another order. So all entries with one description
// share one, in every run, and in every step that is given the choices of this.
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include <cstring>

using namespace remat;
using namespace remat::cuda;

bool CudaStep::describeMachine(AlgorithmMachine &machine,
                               std::string &error) const {
  machine = {};
  machine.capability = capability;
  machine.libraryVersion = matmulLibrary->getVersion();
  char name[sizeof(machine.device)] = {};
  if (!check(driver.DeviceGetName(name, sizeof(name) - 1, device),
             "asking for the device's name", error))
    return false;
  // Machines are compared with what is behind the name.
  std::strncpy(machine.device, name, sizeof(machine.device) - 1);
  return true;
}

/// Also takes the choices of the options; a status with a message if they are
/// of another machine.
remat_status CudaStep::loadMatmulLibrary(const remat_step_options &options,
                                         Algorithms &algorithms,
                                         std::string &error) {
  matmulLibrary = MatmulLibrary::load(error);
  if (!matmulLibrary)
    return REMAT_LIBRARY_ERROR;
  AlgorithmMachine machine;
  if (!describeMachine(machine, error))
    return REMAT_DEVICE_ERROR;
  if (!options.algorithms) {
    algorithms.setMachine(machine);
    return REMAT_OK;
  }
  if (!algorithms.read(options.algorithms, options.algorithm_bytes, error))
    return REMAT_INVALID_ARGUMENT;
  const AlgorithmMachine &known = algorithms.getMachine();
  if (std::memcmp(&known, &machine, sizeof(machine)) == 0)
    return REMAT_OK;
  error = "the stored algorithms of matmuls are of " + known.describe() +
          ", expected " + machine.describe() +
          "; load the step without them to choose others";
  return REMAT_STALE_ALGORITHMS;
}

/// Prepares a description with the algorithm that is known for it, or with one
/// that is known from then on.
remat_status CudaStep::prepareMatmul(size_t number, MatmulLimits limits,
                                     Algorithms &known, std::string &error) {
  const remat_matmul &matmul = table.matmuls[number];
  limits.allowsTf32 = (table.header.flags & REMAT_TABLE_TF32) != 0;
  Algorithms::Record record = {};
  constexpr size_t buffers = sizeof(limits.alignments) / sizeof(uint32_t);
  static_assert(sizeof(limits.alignments) <= sizeof(record.alignments));
  const Algorithms::Record *stored = known.find(matmul, limits.allowsTf32);
  for (size_t i = 0; stored && i < buffers; ++i)
    if (limits.alignments[i] < stored->alignments[i]) {
      error = "the stored algorithm of a matmul needs addresses that are "
              "multiples of " +
              std::to_string(stored->alignments[i]) + ", and buffer " +
              std::to_string(i) + " is at one of " +
              std::to_string(limits.alignments[i]);
      return REMAT_STALE_ALGORITHMS;
    }
  limits.stored = stored ? &stored->algorithm : nullptr;
  matmuls[number] = matmulLibrary->prepare(matmul, limits, error);
  if (!matmuls[number])
    return stored ? REMAT_STALE_ALGORITHMS : REMAT_LIBRARY_ERROR;
  if (stored)
    return REMAT_OK;
  record.matmul = matmul;
  record.allowsTf32 = limits.allowsTf32;
  for (size_t i = 0; i < buffers; ++i)
    record.alignments[i] = limits.alignments[i];
  record.algorithm = matmuls[number]->getAlgorithm();
  known.add(record);
  return REMAT_OK;
}
