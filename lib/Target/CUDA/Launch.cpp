//===- Launch.cpp - functions that a GPU runs on many threads -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

MemRefType remat::cuda::getFlatType(MemRefType type) {
  return MemRefType::get({type.getNumElements()},
                         getStorageType(type.getElementType()));
}

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
                             CheckList &checks, int64_t blocks, int64_t threads)
    : builder(OpBuilder::atBlockEnd(module.getBody())), blocks(blocks),
      threads(threads) {
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
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  Block &entry = function.getBody().front();
  builder.setInsertionPointToStart(&entry);
  this->context.entry = &entry;
  this->context.checks = &checks;
  this->context.status = entry.getArguments().back();
  for (auto [root, argument] :
       llvm::zip(buffers.arguments, entry.getArguments()))
    this->context.buffers[root] = argument;
  unsigned first = buffers.arguments.size();
  for (auto [number, place] : llvm::enumerate(buffers.scratch)) {
    scratch.push_back(entry.getArgument(first + number));
    if (place.root)
      this->context.buffers[place.root] = scratch.back();
  }
  for (unsigned i = 0, e = types.size() - 1; i < e; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
  auto bound = [&](int64_t size) { return builder.getIndexAttr(size); };
  block =
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x, bound(blocks));
  thread =
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x, bound(threads));
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
  builder.setInsertionPointAfterValue(shared);
  Type type = getWorkgroupType(context, elements, getStorageType(elementType));
  return memref::ViewOp::create(builder, loc, cast<MemRefType>(type), shared,
                                emitIndex(builder, loc, offset), ValueRange());
}

Value LaunchBuilder::addShared(int64_t elements, Type elementType) {
  int64_t offset = sharedBytes;
  sharedBytes +=
      llvm::alignTo(uint64_t(elements * getElementBytes(elementType)), 16);
  return createShared(offset, elements, elementType);
}

Value LaunchBuilder::getReductionScratch(unsigned number, Type elementType) {
  // As large as any type needs.
  constexpr int64_t maxElementBytes = 16;
  while (reductionScratch.size() <= number) {
    reductionScratch.push_back(sharedBytes);
    sharedBytes += threads * maxElementBytes;
  }
  return createShared(reductionScratch[number], threads, elementType);
}

void LaunchBuilder::emitBarrier(Location loc) {
  gpu::BarrierOp::create(builder, loc);
}

Launch LaunchBuilder::finish() {
  builder.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(builder, function.getLoc());
  return {function.getName().str(), blocks, threads, sharedBytes};
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

void remat::cuda::declareFailFunction(gpu::GPUModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MLIRContext *context = module.getContext();
  Location loc = module.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {ptr, i32, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, failFunctionName, type,
                                           LLVM::Linkage::Internal);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(builder);
  Block *record = function.addBlock(), *exit = function.addBlock();
  auto statusType =
      LLVM::LLVMStructType::getLiteral(context, {i32, i32, i64, i64});
  Value status = entry->getArgument(0);
  builder.setInsertionPointToStart(entry);
  Value zero = LLVM::ConstantOp::create(builder, loc, i32, 0);
  Value one = LLVM::ConstantOp::create(builder, loc, i32, 1);
  Value exchanged = LLVM::AtomicCmpXchgOp::create(
      builder, loc, status, zero, one, LLVM::AtomicOrdering::monotonic,
      LLVM::AtomicOrdering::monotonic);
  Value first = LLVM::ExtractValueOp::create(builder, loc, exchanged,
                                             ArrayRef<int64_t>{1});
  LLVM::CondBrOp::create(builder, loc, first, record, exit);
  builder.setInsertionPointToStart(record);
  for (int32_t field = 1; field < 4; ++field) {
    Value place = LLVM::GEPOp::create(builder, loc, ptr, statusType, status,
                                      ArrayRef<LLVM::GEPArg>{0, field});
    LLVM::StoreOp::create(builder, loc, entry->getArgument(field), place);
  }
  LLVM::BrOp::create(builder, loc, ValueRange(), exit);
  builder.setInsertionPointToStart(exit);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}
