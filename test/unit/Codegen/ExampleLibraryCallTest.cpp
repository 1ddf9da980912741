//===- ExampleLibraryCallTest.cpp - a library call from outside -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a program that embeds remat adds a kind of library call:
// docs/extending.md shows this file. The call takes kernels that are one
// elementwise addition of two arguments and carries them out by a C function of
// this program.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "remat/Codegen/LibraryCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "gtest/gtest.h"

#include <atomic>

using namespace mlir;
using namespace remat;
using namespace remat::test;

static std::atomic<int> calls = 0;

/// A remat_kernel_fn: the buffers of the operands, then those of the results.
extern "C" __attribute__((visibility("default"))) void
exampleAdd(void *const *buffers, int64_t, int64_t, remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *b = static_cast<const float *>(buffers[1]);
  auto *sum = static_cast<float *>(buffers[2]);
  for (int i = 0; i < 6; ++i)
    sum[i] = a[i] + b[i];
  ++calls;
}

namespace {

class AddCall : public codegen::LibraryCall {
public:
  AddCall(unsigned lhs, unsigned rhs, int64_t elements) : elements(elements) {
    operands = {lhs, rhs};
  }
  int64_t countFlops() const override { return elements; }
  int64_t getWorkspaceBytes(int threads) const override { return 0; }
  llvm::StringRef getSymbol() const override { return "exampleAdd"; }

private:
  int64_t elements;
};

/// A call for additions of six numbers, null for all other kernels.
codegen::LibraryCallRef matchAdd(FunctionOpInterface kernel) {
  auto op =
      dyn_cast_or_null<linalg::GenericOp>(codegen::getResultMaker(kernel));
  if (!op || op.getNumDpsInputs() != 2 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::hasSingleElement(op.getBody()->without_terminator()) ||
      !isa<arith::AddFOp>(op.getBody()->front()))
    return {};
  auto lhs = codegen::getKernelArgument(op.getDpsInputs()[0]);
  auto rhs = codegen::getKernelArgument(op.getDpsInputs()[1]);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!lhs || !rhs || type.getNumElements() != 6 ||
      !type.getElementType().isF32() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  return std::make_shared<AddCall>(lhs.getArgNumber(), rhs.getArgNumber(), 6);
}

constexpr const char *addition = R"mlir(
#id = affine_map<(i) -> (i)>
func.func @k(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel"]}
      ins(%x, %y : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}
)mlir";

TEST(ExampleLibraryCall, CarriesOutAKernel) {
  ASSERT_TRUE(codegen::registerLibraryCall("example.add", matchAdd));
  EXPECT_FALSE(codegen::registerLibraryCall("example.add", matchAdd));
  EXPECT_FALSE(codegen::registerLibraryCall("matmul", matchAdd));
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {10, 20, 30, 40, 50, 60};
  RunResult run = runKernel(addition, {toBytes(x), toBytes(y)});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(fromBytes<float>(run.results[0]),
            (std::vector<float>{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(calls, 1);
}

TEST(ExampleLibraryCall, LeavesOthersAlone) {
  codegen::registerLibraryCall("example.add", matchAdd);
  std::string text = addition;
  for (size_t at; (at = text.find("6xf32")) != std::string::npos;)
    text.replace(at, 5, "7xf32");
  int before = calls;
  std::vector<float> x(7, 1), y(7, 2);
  RunResult run = runKernel(text, {toBytes(x), toBytes(y)});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(fromBytes<float>(run.results[0]), std::vector<float>(7, 3));
  EXPECT_EQ(calls, before);
}

} // namespace
