//===- Launch.cpp - functions that a GPU runs on many threads -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "NarrowQuotients.h"
#include "WarpOps.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

unsigned KernelBuffers::addScratch(Value root, int64_t elements, Type type) {
  MemRefType flat = MemRefType::get({elements}, getStorageType(type));
  scratch.push_back({root, flat, workspaceBytes});
  workspaceBytes +=
      llvm::alignTo(uint64_t(elements * getElementBytes(type)), 256);
  return scratch.size() - 1;
}

static Type getWorkgroupType(MLIRContext *context, int64_t size, Type element) {
  auto space =
      gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
  return MemRefType::get({size}, element, MemRefLayoutAttrInterface(), space);
}

LaunchBuilder::LaunchBuilder(gpu::GPUModuleOp module, Location loc,
                             StringRef name, const KernelBuffers &buffers,
                             CheckList &checks, int64_t blocks, int64_t threads,
                             int64_t teams)
    : builder(OpBuilder::atBlockEnd(module.getBody())), blocks(blocks),
      threads(threads), teams(teams) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types;
  for (Value root : buffers.arguments)
    types.push_back(getFlatType(cast<MemRefType>(root.getType())));
  for (const KernelBuffers::Scratch &place : buffers.scratch)
    types.push_back(place.type);
  types.push_back(LLVM::LLVMPointerType::get(context));
  function = gpu::GPUFuncOp::create(builder, loc, name,
                                    builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr(
      {static_cast<int32_t>(threads * teams), 1, 1}));
  Block &entry = function.getBody().front();
  builder.setInsertionPointToStart(&entry);
  this->context.entry = &entry;
  this->context.checks = &checks;
  this->context.status = entry.getArguments().back();
  for (auto [root, buffer] : llvm::zip(buffers.arguments, buffers.buffers))
    this->context.buffers[root] = entry.getArgument(buffer);
  unsigned first = buffers.arguments.size();
  for (auto [number, place] : llvm::enumerate(buffers.scratch)) {
    scratch.push_back(entry.getArgument(first + number));
    if (place.root)
      this->context.buffers[place.root] = scratch.back();
  }
  auto bound = [&](int64_t size) { return builder.getIndexAttr(size); };
  block =
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x, bound(blocks));
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x,
                                   bound(threads * teams));
  if (teams == 1)
    return;
  Value size = emitIndex(builder, loc, threads);
  team = arith::DivUIOp::create(builder, loc, thread, size);
  thread = arith::RemUIOp::create(builder, loc, thread, size);
  block = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, block, emitIndex(builder, loc, teams),
                            nsw),
      team, nsw);
}

/// Bytes of a part of a team's shared memory, whose size is a multiple of 16.
static int64_t getPartBytes(int64_t elements, Type elementType) {
  return llvm::alignTo(uint64_t(elements * getElementBytes(elementType)), 16);
}

Value LaunchBuilder::createShared(int64_t offset, int64_t elements,
                                  Type elementType) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = function.getLoc();
  MLIRContext *context = builder.getContext();
  builder.setInsertionPointToStart(&function.getBody().front());
  if (!shared)
    shared = gpu::DynamicSharedMemoryOp::create(
        builder, loc,
        getWorkgroupType(context, ShapedType::kDynamic, builder.getI8Type()));
  builder.setInsertionPointAfterValue(team ? team : shared);
  Type type = getWorkgroupType(context, elements, getStorageType(elementType));
  // The same part of all teams lies together.
  Value place = emitIndex(builder, loc, offset);
  if (team)
    place = arith::AddIOp::create(
        builder, loc, place,
        arith::MulIOp::create(
            builder, loc, team,
            emitIndex(builder, loc, getPartBytes(elements, elementType))));
  return memref::ViewOp::create(builder, loc, cast<MemRefType>(type), shared,
                                place, ValueRange());
}

Value LaunchBuilder::addShared(int64_t elements, Type elementType) {
  int64_t offset = sharedBytes;
  sharedBytes += teams * getPartBytes(elements, elementType);
  return createShared(offset, elements, elementType);
}

Value LaunchBuilder::getReductionScratch(unsigned number, Type elementType) {
  int64_t bytes = getElementBytes(elementType);
  auto [place, isNew] =
      reductionScratch.try_emplace({number, bytes}, sharedBytes);
  if (isNew)
    sharedBytes += teams * getPartBytes(threads, elementType);
  return createShared(place->second, threads, elementType);
}

void LaunchBuilder::setLeastBlocks(int64_t count) {
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(count));
}

void LaunchBuilder::emitBarrier(Location loc) {
  if (teams == 1) {
    gpu::BarrierOp::create(builder, loc);
    return;
  }
  emitWarpBarrier(builder, loc);
}

/// The buffers that a launch both writes and reads.
static SmallVector<BlockArgument> findExchanged(gpu::GPUFuncOp function) {
  DenseSet<Value> written, read;
  function.walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      Value buffer = effect.getValue();
      if (!buffer)
        continue;
      while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
        buffer = view.getViewSource();
      if (isa<MemoryEffects::Write>(effect.getEffect()))
        written.insert(buffer);
      else if (isa<MemoryEffects::Read>(effect.getEffect()))
        read.insert(buffer);
    }
  });
  return llvm::filter_to_vector(
      function.getBody().getArguments(), [&](BlockArgument argument) {
        return written.contains(argument) && read.contains(argument);
      });
}

/// Tells that nothing else changes a buffer. Where threads of a block wait for
/// each other, one of them may read what another has written, which to LLVM is
/// something else: it would take a value that was read before the barrier.
static void setNoAlias(gpu::GPUFuncOp function) {
  bool hasBarriers = function
                         .walk([](Operation *op) {
                           return isa<gpu::BarrierOp, NVVM::SyncWarpOp>(op)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
  SmallVector<BlockArgument> exchanged;
  if (hasBarriers)
    exchanged = findExchanged(function);
  Block &entry = function.getBody().front();
  for (BlockArgument argument : entry.getArguments().drop_back())
    if (!llvm::is_contained(exchanged, argument))
      function.setArgAttr(argument.getArgNumber(),
                          LLVM::LLVMDialect::getNoAliasAttrName(),
                          UnitAttr::get(function.getContext()));
}

Launch LaunchBuilder::finish() {
  builder.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(builder, function.getLoc());
  multiplyNarrowQuotients(function);
  setNoAlias(function);
  return {function.getName().str(), blocks, threads * teams, sharedBytes};
}

Value remat::cuda::openLoop(OpBuilder &builder, Location loc, Value begin,
                            Value end, int64_t step) {
  auto loop = scf::ForOp::create(builder, loc, begin, end,
                                 emitIndex(builder, loc, step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

void remat::cuda::openIf(OpBuilder &builder, Location loc, Value condition) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  builder.setInsertionPointToStart(op.thenBlock());
}
