//===- Algorithms.h - stored algorithms of matmuls --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cuBLASLt's heuristic chooses depends on the device and on the version of
// the library, and nobody promises that it chooses the same in another process.
// So a step can be given the choices of another: plain bytes, a header and a
// record for each description.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_ALGORITHMS_H
#define REMAT_LIB_RUNTIME_CUDA_ALGORITHMS_H

#include "remat/Runtime/StepTable.h"

#include <cstring>
#include <string>
#include <vector>

namespace remat::cuda {

/// What the library calls its choice, which may be copied as it is, and the
/// workspace that this needs.
struct MatmulAlgorithm {
  uint64_t data[8];
  uint64_t workspaceBytes;
};

/// What choices hold for.
struct AlgorithmMachine {
  /// As much of the device's name as there is room for, with a NUL.
  char device[104];
  uint64_t libraryVersion;
  uint32_t capability;
  uint32_t reserved;

  /// For messages.
  std::string describe() const;
};

/// Choices by description.
class Algorithms {
public:
  struct Record {
    /// Without gaps and with zeros where nothing is said: compared as bytes.
    remat_matmul matmul;
    uint32_t allowsTf32;
    /// That the addresses of the buffers were multiples of, as in
    /// MatmulLimits; 0 of those that there are not.
    uint32_t alignments[7];
    MatmulAlgorithm algorithm;
  };

  /// Takes what `write` has given; false with a message if it is damaged or of
  /// another version.
  bool read(const void *data, uint64_t bytes, std::string &error);
  std::string write() const;

  /// What the choices hold for.
  const AlgorithmMachine &getMachine() const { return machine; }
  void setMachine(const AlgorithmMachine &given) { machine = given; }
  /// Null if there is none.
  const Record *find(const remat_matmul &matmul, bool allowsTf32) const;
  void add(const Record &record) { records.push_back(record); }

private:
  AlgorithmMachine machine = {};
  std::vector<Record> records;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_ALGORITHMS_H
