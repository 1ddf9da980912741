//===- CudaTable.h - entries that a CUDA device runs ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each table of a step has of its own: the step's, and those of the bodies
// of its loops. All else, they share.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUDATABLE_H
#define REMAT_LIB_RUNTIME_CUDA_CUDATABLE_H

#include "CublasLt.h"
#include "CudnnConvolution.h"
#include "DeviceStep.h"
#include "MatmulParts.h"

namespace remat::cuda {

class CudaStep;

class CudaTable : public DeviceTable {
public:
  /// The entries have the step's statuses from number `firstStatus` on.
  CudaTable(CudaStep &step, const Table &table, uint64_t firstStatus,
            bool isBody)
      : step(step), table(table), firstStatus(firstStatus), isBody(isBody) {}
  /// In the step's context.
  ~CudaTable() override;
  remat_status load(std::string &error);

  remat_status run(uint32_t entry, void *const *buffers, int64_t *nanoseconds,
                   std::string &error) override;
  remat_status enter(uint32_t entry, bool isTimed, std::string &error) override;
  remat_status leave(uint32_t entry, int64_t *nanoseconds,
                     std::string &error) override;
  bool findFailure(uint32_t first, uint32_t end,
                   CheckFailure &failure) const override;

private:
  bool createEvents(std::string &error);
  void findMatmuls();
  std::vector<const remat_plan *> findPlans(uint32_t convolution,
                                            std::string &error) const;
  bool takePlan(uint32_t convolution, const std::vector<uint32_t> &entries,
                std::string &error);
  bool takeCode(uint32_t convolution);
  bool prepareConvolutions(std::string &error);
  bool begin(uint32_t entry, bool isTimed, std::string &error);
  bool end(uint32_t entry, int64_t *nanoseconds, std::string &error);
  bool runEntry(uint32_t entry, void *const *buffers, std::string &error);
  bool runKernel(uint32_t entry, uint32_t kernel, void *const *buffers,
                 std::string &error);
  bool runMatmul(uint32_t entry, void *const *buffers, std::string &error);
  bool runConvolution(uint32_t entry, void *const *buffers, std::string &error);
  bool runCopy(uint32_t entry, void *const *buffers, std::string &error);
  Stream streamOf(uint32_t entry) const;

  CudaStep &step;
  const Table &table;
  const uint64_t firstStatus;
  const bool isBody;
  /// Of each launch.
  std::vector<Function> functions;
  /// Of each description that entries have.
  std::vector<const DividedMatmul *> matmuls;
  std::vector<std::unique_ptr<PreparedConvolution>> convolutions;
  /// The kernels of those that the library does not carry out, or REMAT_NONE.
  std::vector<uint32_t> convolutionKernels;
  /// Of each entry that another stream waits for; those of a body are in one.
  std::vector<Event> events;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CUDATABLE_H
