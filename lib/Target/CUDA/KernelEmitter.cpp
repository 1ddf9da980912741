//===- KernelEmitter.cpp - a bufferized kernel as launches ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "NestEmitter.h"
#include "RowEmitter.h"
#include "ScatterEmitter.h"
#include "SharedMemory.h"
#include "SumTails.h"

#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <optional>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Threads of a block that has no better reason.
static constexpr int64_t blockThreads = 256;

namespace {

/// One op of the kernel and how it is divided.
struct Step {
  Operation *op;
  std::optional<LoopNest> nest;
  NestPlan plan;
  std::optional<ScatterPlan> scatter;
  /// Where squares about the mean go that are added up beside the sum.
  std::optional<Access> squares;
  /// Where blocks that share results leave their sums.
  SmallVector<unsigned> partials;
  /// What blocks do with their results in the last launch.
  std::vector<LoopNest> tails;
  bool isScalar() const {
    return !nest && !scatter && !isa<memref::StoreOp>(op);
  }
};

class KernelEmitter {
public:
  explicit KernelEmitter(BufferizedKernel &kernel)
      : kernel(kernel), loc(kernel.function.getLoc()) {}

  /// Divides the kernel and lays out its workspace.
  LogicalResult analyze();
  LogicalResult emit(StringRef name, gpu::GPUModuleOp module,
                     CheckList &checks);

  EmittedKernel result;

private:
  LogicalResult addStep(Operation &op);
  std::vector<PlannedNest> getNestsBehind(size_t sum);
  void joinSquares();
  void joinTails();
  void addPartials(Step &step);
  LogicalResult emitScalars(LaunchBuilder &launch, Operation *before);
  LogicalResult
  addLaunch(Operation *before, int64_t blocks, int64_t threads,
            llvm::function_ref<LogicalResult(LaunchBuilder &)> emit,
            int64_t teams = 1);
  LogicalResult emitStep(Step &step);
  LogicalResult emitRowKernel();
  LogicalResult emitTiles();
  LogicalResult emitStore(LaunchBuilder &launch, memref::StoreOp store);

  BufferizedKernel &kernel;
  Location loc;
  std::optional<RowPlan> rows;
  std::vector<Step> steps;

  std::string name;
  gpu::GPUModuleOp module;
  CheckList *checks = nullptr;
};

} // namespace

LogicalResult KernelEmitter::addStep(Operation &op) {
  if (isa<memref::AllocOp, memref::DeallocOp, memref::GetGlobalOp,
          ViewLikeOpInterface>(op))
    return success();
  Step step{&op, {}, {}, {}, {}, {}, {}};
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    FailureOr<LoopNest> nest = makeLoopNest(generic);
    if (failed(nest))
      return failure();
    step.plan = planForGrid(*nest, blockThreads);
    step.nest = std::move(*nest);
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    FailureOr<ScatterPlan> plan = planScatter(scatter);
    if (failed(plan))
      return failure();
    step.scatter = std::move(*plan);
  } else if (!isa<memref::StoreOp>(op) &&
             (op.getNumRegions() != 0 ||
              (!isa<memref::LoadOp, CheckIndexOp, cf::AssertOp>(op) &&
               !isPure(&op)))) {
    return op.emitOpError("is not supported in a kernel on CUDA ('")
           << kernel.function.getName() << "')";
  }
  steps.push_back(std::move(step));
  return success();
}

/// The nests that follow a sum, one behind the other.
std::vector<PlannedNest> KernelEmitter::getNestsBehind(size_t sum) {
  std::vector<PlannedNest> behind;
  for (size_t next = sum + 1; next < steps.size() && steps[next].nest; ++next)
    behind.push_back({&*steps[next].nest, &steps[next].plan});
  return behind;
}

/// Lets sums make the squares about their means, too.
void KernelEmitter::joinSquares() {
  for (size_t first = 0; first < steps.size(); ++first) {
    Step &sum = steps[first];
    if (!sum.nest)
      continue;
    std::optional<size_t> number =
        findSquares({&*sum.nest, &sum.plan}, getNestsBehind(first));
    if (!number)
      continue;
    auto squares = steps.begin() + first + 1 + *number;
    sum.squares = std::move(squares->nest->outputs[0]);
    sum.plan = planForGrid(*sum.nest, blockThreads, /*hasSquares=*/true);
    steps.erase(squares);
  }
}

/// Lets sums take what follows them.
void KernelEmitter::joinTails() {
  for (size_t first = 0; first < steps.size(); ++first) {
    Step &sum = steps[first];
    if (!sum.nest || sum.plan.kind != NestPlan::Sum)
      continue;
    size_t count = countTails(
        {&*sum.nest, &sum.plan, sum.squares ? &*sum.squares : nullptr},
        getNestsBehind(first));
    for (size_t number = 0; number < count; ++number)
      sum.tails.push_back(std::move(*steps[first + 1 + number].nest));
    steps.erase(steps.begin() + first + 1, steps.begin() + first + 1 + count);
  }
}

/// Makes room for what blocks leave that share the results of a sum.
void KernelEmitter::addPartials(Step &step) {
  if (!step.nest || step.plan.splits == 1)
    return;
  auto add = [&](Type type) {
    step.partials.push_back(result.buffers.addScratch(
        Value(), step.plan.splits * step.plan.results, type));
  };
  if (step.squares) {
    Type type = Float64Type::get(kernel.function.getContext());
    add(type);
    return add(type);
  }
  for (const Accumulator &accumulator : findAccumulators(*step.nest))
    add(accumulator.type);
}

LogicalResult KernelEmitter::analyze() {
  if (failed(generalizeOps(kernel.function)))
    return failure();
  Block &body = kernel.function.getBody().front();
  llvm::append_range(result.buffers.arguments, body.getArguments());
  result.buffers.buffers = kernel.buffers;
  if (isRowKernel(kernel.function)) {
    FailureOr<RowPlan> plan = planRows(kernel.function);
    if (failed(plan))
      return failure();
    rows = std::move(*plan);
    for (memref::AllocOp alloc : rows->workspace)
      result.buffers.addScratch(alloc, alloc.getType().getNumElements(),
                                alloc.getType().getElementType());
    return success();
  }
  SmallVector<WorkspaceBuffer> allocations;
  assignWorkspace(kernel.function, allocations);
  for (const WorkspaceBuffer &allocation : allocations) {
    auto type = cast<MemRefType>(allocation.buffer.getType());
    result.buffers.addScratch(allocation.buffer, type.getNumElements(),
                              type.getElementType());
  }
  for (Operation &op : body.without_terminator())
    if (failed(addStep(op)))
      return failure();
  joinSquares();
  joinTails();
  for (Step &step : steps)
    addPartials(step);
  return success();
}

/// The scalars that the kernel computes before `before`, in each launch anew.
LogicalResult KernelEmitter::emitScalars(LaunchBuilder &launch,
                                         Operation *before) {
  for (Operation &op : kernel.function.getBody().front().without_terminator()) {
    if (before && !op.isBeforeInBlock(before))
      break;
    if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
      if (failed(launch.context.addConstant(launch.builder, module, name, get)))
        return failure();
      continue;
    }
    bool isScalar =
        isa<memref::LoadOp, CheckIndexOp, cf::AssertOp>(op) ||
        (op.getNumRegions() == 0 && isPure(&op) && op.getNumResults() == 1 &&
         !isa<MemRefType>(op.getResult(0).getType()));
    if (!isScalar)
      continue;
    Operation *clone = launch.builder.clone(op, launch.context.scalars);
    FailureOr<Value> replacement = launch.context.lowerOp(clone);
    if (failed(replacement))
      return failure();
    if (*replacement)
      launch.context.scalars.map(op.getResult(0), *replacement);
  }
  return success();
}

LogicalResult KernelEmitter::addLaunch(
    Operation *before, int64_t blocks, int64_t threads,
    llvm::function_ref<LogicalResult(LaunchBuilder &)> emit, int64_t teams) {
  LaunchBuilder launch(
      module, loc, name + "_" + std::to_string(result.launches.size()),
      result.buffers, *checks, std::max<int64_t>(blocks, 1), threads, teams);
  if (failed(emitScalars(launch, before)) || failed(emit(launch)))
    return failure();
  Launch finished = launch.finish();
  if (int64_t most = getMostSharedBytes(kernel.function);
      finished.sharedBytes > most)
    return kernel.function.emitOpError("needs ")
           << finished.sharedBytes
           << " bytes of shared memory for a block, and devices that the code "
              "is for have "
           << most;
  result.launches.push_back(std::move(finished));
  return success();
}

LogicalResult KernelEmitter::emitStore(LaunchBuilder &launch,
                                       memref::StoreOp store) {
  OpBuilder &builder = launch.builder;
  FailureOr<BufferView> view = resolveView(store.getMemRef());
  if (failed(view))
    return failure();
  SmallVector<Value> indices;
  for (Value index : store.getIndices())
    indices.push_back(launch.context.scalars.lookupOrDefault(index));
  Value address =
      emitLinear(builder, store.getLoc(), view->offset, view->strides, indices);
  launch.context.store(
      builder, store.getLoc(),
      launch.context.scalars.lookupOrDefault(store.getValueToStore()),
      view->root, address);
  return success();
}

LogicalResult KernelEmitter::emitStep(Step &step) {
  if (auto store = dyn_cast<memref::StoreOp>(step.op))
    return addLaunch(step.op, 1, 1, [&](LaunchBuilder &launch) {
      return emitStore(launch, store);
    });
  if (step.scatter) {
    const ScatterPlan &plan = *step.scatter;
    int64_t filled = countFillThreads(plan);
    if (isFilledBefore(plan) && filled != 0 &&
        failed(addLaunch(step.op, llvm::divideCeil(filled, blockThreads),
                         blockThreads, [&](LaunchBuilder &launch) {
                           emitScatterFill(plan, launch);
                           return success();
                         })))
      return failure();
    if (plan.isEmpty)
      return success();
    auto [blocks, threads] = countScatterThreads(plan);
    return addLaunch(step.op, blocks, threads, [&](LaunchBuilder &launch) {
      return emitScatter(plan, launch);
    });
  }
  auto makeEmitter = [&](const NestPlan &plan, LaunchBuilder &launch) {
    NestEmitter emitter(*step.nest, plan, launch);
    if (step.squares)
      emitter.addSquares(*step.squares, step.plan);
    return emitter;
  };
  auto emitTailsOf = [&](const NestPlan &plan, LaunchBuilder &launch) {
    return emitTails(plan, step.tails, launch);
  };
  bool isShared = !step.partials.empty();
  Operation *before = step.tails.empty() ? step.op : step.tails.back().op;
  if (failed(addLaunch(
          before, NestEmitter::countBlocks(step.plan, blockThreads),
          blockThreads, [&](LaunchBuilder &launch) {
            if (failed(
                    makeEmitter(step.plan, launch).emitOnGrid(step.partials)))
              return failure();
            return isShared ? success() : emitTailsOf(step.plan, launch);
          })))
    return failure();
  if (!isShared)
    return success();
  NestPlan last = planForPartials(step.plan);
  return addLaunch(
      before, NestEmitter::countBlocks(last, blockThreads), blockThreads,
      [&](LaunchBuilder &launch) {
        if (failed(makeEmitter(last, launch).emitPartials(step.partials)))
          return failure();
        return emitTailsOf(last, launch);
      });
}

/// The rows first, as sums over them need what they leave.
LogicalResult KernelEmitter::emitTiles() {
  const TiledRows &tiled = *rows->tiled;
  auto emit = [&](int64_t blocks, bool overRows) {
    return addLaunch(
        nullptr, blocks,
        tiled.countThreads(rows->schedule, overRows, rows->threads),
        [&](LaunchBuilder &launch) {
          return emitTiledRows(tiled, rows->schedule, launch, overRows);
        });
  };
  bool hasRows = llvm::any_of(tiled.steps, [](const TiledStep &step) {
    return step.kind == TiledStep::RowsOnly ||
           step.kind == TiledStep::OverColumns || step.isResult;
  });
  if (hasRows && failed(emit(rows->blocks, /*overRows=*/false)))
    return failure();
  if (!tiled.hasOverRows)
    return success();
  return emit(rows->schedule.numUnits * tiled.countTiles(), /*overRows=*/true);
}

/// What is prepared first, then the rows.
LogicalResult KernelEmitter::emitRowKernel() {
  for (linalg::GenericOp op : rows->prepared) {
    FailureOr<LoopNest> nest = makeLoopNest(op);
    if (failed(nest))
      return failure();
    NestPlan plan = planForGrid(*nest, blockThreads);
    if (failed(addLaunch(
            op, NestEmitter::countBlocks(plan, blockThreads), blockThreads,
            [&](LaunchBuilder &launch) {
              return NestEmitter(std::move(*nest), plan, launch).emitOnGrid();
            })))
      return failure();
  }
  if (rows->tiled)
    return emitTiles();
  return addLaunch(
      nullptr, rows->blocks, rows->threads,
      [&](LaunchBuilder &launch) {
        return emitRows(*rows, kernel.function, launch);
      },
      rows->teams);
}

LogicalResult KernelEmitter::emit(StringRef name, gpu::GPUModuleOp module,
                                  CheckList &checks) {
  this->name = name.str();
  this->module = module;
  this->checks = &checks;
  if (rows)
    return emitRowKernel();
  for (Step &step : steps)
    if (!step.isScalar() && failed(emitStep(step)))
      return failure();
  // Checks alone still have to be made.
  if (result.launches.empty() && !steps.empty())
    return addLaunch(nullptr, 1, 1, [&](LaunchBuilder &) { return success(); });
  return success();
}

LibraryCallRef remat::cuda::matchDeviceCall(func::FuncOp kernel) {
  LibraryCallRef call = matchLibraryCall(kernel);
  if (!call || !call->getSymbol().empty() || call->getPlanWorkspaceBytes() ||
      findTransfer(kernel) || !kernel.getOps<LoopOp>().empty())
    return call;
  const remat_matmul *matmul = call->getMatmul();
  return matmul && remat_matmul_suits_cuda(matmul) ? call : LibraryCallRef();
}

/// Where a matmul has few tiles and long sums, the library lets several blocks
/// share a tile, which leave partial sums.
static int64_t countSplitBytes(const remat_matmul &matmul) {
  // A tile is what a block computes; a device has this many multiprocessors.
  constexpr int64_t tile = 128, multiprocessors = 132;
  // With less to gain, the library takes smaller tiles instead of splits.
  constexpr int64_t leastSplits = 4;
  constexpr int64_t leastTerms = 1024, mostBytes = int64_t(32) << 20;
  if (matmul.k < leastTerms)
    return 0;
  int64_t results = multiplyCounts(matmul.m, matmul.n);
  int64_t tiles = multiplyCounts(llvm::divideCeil(matmul.m, tile),
                                 llvm::divideCeil(matmul.n, tile));
  for (int64_t size : matmul.batch) {
    results = multiplyCounts(results, size);
    tiles = multiplyCounts(tiles, size);
  }
  int64_t splits = std::min(multiprocessors / std::max<int64_t>(tiles, 1),
                            matmul.k / (leastTerms / leastSplits));
  if (splits < leastSplits)
    return 0;
  int64_t bytes = multiplyCounts(multiplyCounts(results, splits), 4);
  return std::min(bytes, mostBytes);
}

/// Where a matmul adds up the columns of its result, each of its tiles leaves
/// their sums, and tiles above each other count how many have done so. This is
/// what cuBLASLt 13.1 asks for with its smallest tiles, of 32 x 32 elements; it
/// has larger ones where these would need more than `mostBytes`.
static int64_t countColumnSumBytes(const remat_matmul &matmul) {
  constexpr int64_t tile = 32, counterBytes = 16;
  constexpr int64_t mostBytes = int64_t(4) << 20;
  if (!(matmul.epilogue & REMAT_EPILOGUE_COLUMN_SUMS))
    return 0;
  int64_t sums = multiplyCounts(matmul.n, llvm::divideCeil(matmul.m, tile));
  int64_t bytes = multiplyCounts(sums, sizeof(float));
  int64_t counters = llvm::divideCeil(matmul.n, tile) * counterBytes;
  return std::min(bytes, mostBytes) + counters + counterBytes;
}

int64_t remat::cuda::getDeviceWorkspaceBytes(const LibraryCall &call) {
  if (std::optional<int64_t> bytes = call.getPlanWorkspaceBytes())
    return llvm::alignTo(*bytes, uint64_t(256));
  const remat_matmul *matmul = call.getMatmul();
  if (!matmul)
    return 0;
  int64_t bytes =
      std::max(countSplitBytes(*matmul), countColumnSumBytes(*matmul));
  return llvm::alignTo(bytes, uint64_t(256));
}

FailureOr<int64_t> remat::cuda::getWorkspaceBytes(BufferizedKernel &kernel) {
  KernelEmitter emitter(kernel);
  if (failed(emitter.analyze()))
    return failure();
  return emitter.result.buffers.workspaceBytes;
}

FailureOr<EmittedKernel> remat::cuda::emitKernel(BufferizedKernel &kernel,
                                                 StringRef name,
                                                 gpu::GPUModuleOp module,
                                                 CheckList &checks) {
  KernelEmitter emitter(kernel);
  if (failed(emitter.analyze()) || failed(emitter.emit(name, module, checks)))
    return failure();
  return std::move(emitter.result);
}
