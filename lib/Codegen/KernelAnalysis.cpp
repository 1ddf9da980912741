//===- KernelAnalysis.cpp - what a kernel costs on CPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelBufferization.h"
#include "remat/Codegen/KernelWorkspace.h"
#include "remat/Codegen/LoopNest.h"

#include "remat/Codegen/KernelInfo.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Interfaces/KernelOpInterface.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

static int64_t getBytes(Type type, int64_t elements) {
  return multiplyCounts(elements, getElementBytes(getElementTypeOrSelf(type)));
}

static int64_t getBytes(Type type) {
  return getBytes(type, cast<ShapedType>(type).getNumElements());
}

namespace {

/// Traffic of the arguments of a bufferized kernel. An argument is read at most
/// whole, however often it is used.
class TrafficCounter {
public:
  void add(Value memref, bool isWrite) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    if (!type)
      return;
    FailureOr<BufferView> view = resolveView(memref);
    if (failed(view) || !isa<BlockArgument>(view->root))
      return;
    addElements(view->root, type.getNumElements(), isWrite);
  }
  void addElements(Value root, int64_t elements, bool isWrite) {
    int64_t &count = (isWrite ? written : read)[root];
    count = addCounts(count, elements);
  }
  static int64_t total(const DenseMap<Value, int64_t> &counts) {
    int64_t bytes = 0;
    for (auto [root, elements] : counts)
      bytes = addCounts(bytes, std::min(getBytes(root.getType(), elements),
                                        getBytes(root.getType())));
    return bytes;
  }
  DenseMap<Value, int64_t> read, written;
};

} // namespace

/// Adds up what a structured op does.
static LogicalResult countOp(linalg::GenericOp op, KernelInfo &info,
                             TrafficCounter &traffic) {
  FailureOr<LoopNest> nest = makeLoopNest(op);
  if (failed(nest))
    return failure();
  int64_t points = nest->numPoints();
  if (op->hasAttr(blockAttrName) && op.getNumReductionLoops() != 0 &&
      op->getNumOperands() == 3 && isContractionBody(*op.getBody())) {
    int64_t flops = multiplyCounts(2, points);
    info.contractionFlops = addCounts(info.contractionFlops, flops);
    if (llvm::any_of(op.getDpsInputs(), [](Value factor) {
          Type type = getElementTypeOrSelf(factor.getType());
          return type.isF16() || type.isBF16();
        }))
      info.narrowFlops = addCounts(info.narrowFlops, flops);
  } else {
    info.flops =
        addCounts(info.flops, multiplyCounts(points, nest->bodyCost() - 1));
  }
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.payloadUsesValueFromOperand(input))
      traffic.add(input->get(), false);
  for (Value output : op.getDpsInits())
    traffic.add(output, true);
  op.getBody()->walk([&](memref::LoadOp load) {
    FailureOr<BufferView> view = resolveView(load.getMemRef());
    if (succeeded(view) && isa<BlockArgument>(view->root))
      traffic.addElements(view->root, points, false);
  });
  return success();
}

static LogicalResult countBufferized(func::FuncOp function, KernelInfo &info) {
  TrafficCounter traffic;
  for (Operation &op : function.getBody().front()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (failed(countOp(generic, info, traffic)))
        return failure();
    } else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
      for (OpOperand *input : destination.getDpsInputOperands())
        traffic.add(input->get(), false);
      for (OpOperand &init : destination.getDpsInitsMutable())
        traffic.add(init.get(), true);
      if (auto scatter = dyn_cast<ScatterOp>(op)) {
        int64_t points = 1, cost = 1;
        for (int64_t size : scatter.getSizes())
          points = multiplyCounts(points, size);
        for (Operation &inner : scatter.getBody().front())
          cost += getOpCost(&inner);
        info.flops = addCounts(info.flops, multiplyCounts(points, cost));
      }
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      traffic.add(copy.getSource(), false);
      traffic.add(copy.getTarget(), true);
    }
  }
  info.bytesRead = TrafficCounter::total(traffic.read);
  info.bytesWritten = TrafficCounter::total(traffic.written);
  return success();
}

/// What the operations of other dialects in a kernel say of themselves.
static void applyDeclaredCosts(func::FuncOp function, KernelInfo &info) {
  std::optional<OpCost> declared;
  int64_t workspace = 0;
  function.walk([&](KernelOpInterface op) {
    workspace = std::max(workspace, op.getWorkspaceBytes());
    if (std::optional<OpCost> cost = op.getKernelCost()) {
      declared = declared.value_or(OpCost());
      declared->flops = addCounts(declared->flops, cost->flops);
      declared->contractionFlops =
          addCounts(declared->contractionFlops, cost->contractionFlops);
      declared->bytesRead = addCounts(declared->bytesRead, cost->bytesRead);
      declared->bytesWritten =
          addCounts(declared->bytesWritten, cost->bytesWritten);
    }
  });
  info.workspaceBytes =
      std::max(info.workspaceBytes,
               int64_t(llvm::alignTo(uint64_t(workspace), bufferAlignment)));
  if (!declared)
    return;
  info.flops = declared->flops;
  info.contractionFlops = declared->contractionFlops;
  info.narrowFlops = 0;
  info.bytesRead = declared->bytesRead;
  info.bytesWritten = declared->bytesWritten;
}

static FailureOr<func::FuncOp> getFunction(FunctionOpInterface kernel) {
  auto function = dyn_cast<func::FuncOp>(kernel.getOperation());
  if (!function || function.isExternal())
    return kernel.emitOpError("is not a kernel, expected a 'func.func' with a "
                              "body");
  return function;
}

FailureOr<KernelInfo>
remat::codegen::analyzeGeneratedKernel(FunctionOpInterface kernel) {
  FailureOr<func::FuncOp> function = getFunction(kernel);
  if (failed(function))
    return failure();
  KernelInfo info;
  FailureOr<BufferizedKernel> bufferized = bufferizeKernel(*function);
  if (failed(bufferized) || failed(countBufferized(bufferized->function, info)))
    return failure();
  SmallVector<WorkspaceBuffer> buffers;
  info.workspaceBytes = assignWorkspace(bufferized->function, buffers);
  applyDeclaredCosts(*function, info);
  return info;
}

FailureOr<KernelInfo> remat::codegen::analyzeKernel(FunctionOpInterface kernel,
                                                    int threads) {
  FailureOr<func::FuncOp> function = getFunction(kernel);
  if (failed(function))
    return failure();
  KernelInfo info;
  info.call = matchLibraryCall(kernel);
  if (!info.call)
    return analyzeGeneratedKernel(kernel);
  info.flops = info.call->countFlops();
  info.workspaceBytes = info.call->getWorkspaceBytes(threads);
  llvm::SmallDenseSet<unsigned> read;
  for (const LibraryCall::Operand &operand : info.call->getOperands())
    if (operand.constant)
      info.bytesRead += getBytes(operand.constant.getType());
    else if (read.insert(operand.argument).second)
      info.bytesRead +=
          getBytes(function->getArgumentTypes()[operand.argument]);
  for (Type type : function->getResultTypes())
    info.bytesWritten += getBytes(type);
  return info;
}
