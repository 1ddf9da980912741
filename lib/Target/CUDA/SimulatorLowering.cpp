//===- SimulatorLowering.cpp - launches as code for the simulator ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of launches become functions of the CPU, one call of which is
// one thread. The numbers of block and thread and the shared memory become
// arguments, a barrier a call of the simulator.
//
//===----------------------------------------------------------------------===//

#include "SimulatorLowering.h"
#include "KernelEmitter.h"
#include "Simulator.h"
#include "WarpOps.h"

#include "remat/Codegen/StepModule.h"
#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Target/CPU/ScalarLowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr llvm::StringLiteral launchName = "remat_simulate_launch";
static constexpr llvm::StringLiteral barrierName = "remat_simulate_barrier";
static constexpr llvm::StringLiteral shuffleName = "remat_simulate_shuffle";
static constexpr llvm::StringLiteral coreName = "remat_simulate_tensor_core";
static constexpr llvm::StringLiteral sumName = "remat_simulate_sum";
static constexpr llvm::StringLiteral matrixName = "remat_simulate_matrix_load";
static constexpr llvm::StringLiteral wordName = "remat_simulate_word";
static constexpr llvm::StringLiteral copyName = "remat_simulate_copy";
static constexpr llvm::StringLiteral groupName = "remat_simulate_copy_group";
static constexpr llvm::StringLiteral waitName = "remat_simulate_copy_wait";

namespace {

struct SimulatedKernel {
  std::string symbol;
  EmittedKernel kernel;
};

class SimulatorCompiler : public KernelCompiler {
public:
  explicit SimulatorCompiler(bool reverse) : reverse(reverse) {}
  LibraryCallRef match(func::FuncOp kernel) const override {
    return matchDeviceCall(kernel);
  }
  int64_t getWorkspaceBytes(const LibraryCall &call, int) const override {
    return getDeviceWorkspaceBytes(call);
  }
  LogicalResult compile(func::FuncOp kernel, StringRef symbol, ModuleOp code,
                        CheckList &checks, CompiledKernel &result) override;
  LogicalResult finish(ModuleOp code) override;

private:
  void convertFunction(ModuleOp code, gpu::GPUFuncOp function,
                       const Launch &launch);
  void createThread(ModuleOp code, const SimulatedKernel &kernel,
                    const Launch &launch);
  void createFunction(ModuleOp code, const SimulatedKernel &kernel);

  bool reverse;
  gpu::GPUModuleOp gpuModule;
  std::vector<SimulatedKernel> kernels;
  /// Launches whose threads wait for each other.
  llvm::StringSet<> together;
};

} // namespace

LogicalResult SimulatorCompiler::compile(func::FuncOp kernel, StringRef symbol,
                                         ModuleOp code, CheckList &checks,
                                         CompiledKernel &result) {
  FailureOr<BufferizedKernel> bufferized =
      bufferizeKernel(kernel, result.inPlace);
  if (failed(bufferized))
    return failure();
  if (!gpuModule) {
    OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
    gpuModule = gpu::GPUModuleOp::create(builder, code.getLoc(), "kernels");
  }
  FailureOr<EmittedKernel> emitted =
      emitKernel(*bufferized, symbol, gpuModule, checks);
  if (failed(emitted))
    return failure();
  result.workspaceBytes = emitted->buffers.workspaceBytes;
  // What is in the kernel's module goes with it.
  for (Value &argument : emitted->buffers.arguments)
    argument = Value();
  for (KernelBuffers::Scratch &scratch : emitted->buffers.scratch)
    scratch.root = Value();
  kernels.push_back({symbol.str(), std::move(*emitted)});
  return success();
}

/// Forgets that a memref or a pointer is in a memory space of its own.
static void dropMemorySpace(Value value) {
  if (auto type = dyn_cast<MemRefType>(value.getType()))
    value.setType(MemRefType::get(type.getShape(), type.getElementType(),
                                  type.getLayout()));
  else if (isa<LLVM::LLVMPointerType>(value.getType()))
    value.setType(LLVM::LLVMPointerType::get(value.getContext()));
}

static Value createI32(OpBuilder &builder, Location loc, int32_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                  builder.getI32IntegerAttr(value));
}

/// Replaces what an operation gives as parts of a struct by what calls of
/// `name` give, by number. Erases it.
static void takeParts(OpBuilder &builder, Operation *op, StringRef name,
                      Type type) {
  SmallVector<Value> parts;
  for (int32_t number = 0; number < 4; ++number)
    parts.push_back(LLVM::CallOp::create(
                        builder, op->getLoc(), type, name,
                        ValueRange(createI32(builder, op->getLoc(), number)))
                        .getResult());
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    auto extract = cast<LLVM::ExtractValueOp>(user);
    extract.getResult().replaceAllUsesWith(
        parts[extract.getPosition().front()]);
    extract.erase();
  }
  op->erase();
}

/// A product on tensor cores becomes calls that take and give scalars.
static void convertTensorCore(NVVM::MmaOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  SmallVector<Value> operands(op->getOperands());
  bool isHalf = operands.front().getType() != i32;
  for (Value &operand : operands)
    if (isa<VectorType>(operand.getType()))
      operand = LLVM::BitcastOp::create(builder, loc, i32, operand);
  operands.push_back(createI32(builder, loc, isHalf));
  LLVM::CallOp::create(builder, loc, TypeRange(), coreName, operands);
  takeParts(builder, op, sumName, builder.getF32Type());
}

/// So does a load of matrices.
static void convertMatrixLoad(NVVM::LdMatrixOp op) {
  OpBuilder builder(op);
  Value transposes =
      createI32(builder, op.getLoc(), op.getLayout() == NVVM::MMALayout::col);
  LLVM::CallOp::create(builder, op.getLoc(), TypeRange(), matrixName,
                       ValueRange{op.getPtr(), transposes});
  takeParts(builder, op, wordName, builder.getI32Type());
}

/// Copies that a thread does not wait for; false if `op` is about none.
static bool convertCopy(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  StringRef name;
  SmallVector<Value> operands;
  if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op)) {
    name = copyName;
    Value bytes = copy.getCpSize();
    operands = {copy.getDst(), copy.getSrc(),
                bytes ? bytes : createI32(builder, loc, copy.getSize())};
  } else if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
    name = groupName;
  } else if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
    name = waitName;
    operands = {createI32(builder, loc, wait.getN())};
  } else {
    return false;
  }
  LLVM::CallOp::create(builder, loc, TypeRange(), name, operands);
  op->erase();
  return true;
}

/// Loads the words of a vector one by one, since LLVM 22 for x86 miscompiles
/// the truncation of a loaded vector's elements to i2 and i4: the bits above
/// stay set. Whether an element is truncated is not known yet, so this is done
/// for all integers that may be.
static Value loadWords(vector::LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  SmallVector<Value> words;
  for (int64_t i = 0; i < load.getVectorType().getNumElements(); ++i) {
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    Value address =
        arith::AddIOp::create(builder, loc, load.getIndices().front(), offset);
    words.push_back(
        memref::LoadOp::create(builder, loc, load.getBase(), address));
  }
  return vector::FromElementsOp::create(builder, loc, load.getVectorType(),
                                        words);
}

void SimulatorCompiler::convertFunction(ModuleOp code, gpu::GPUFuncOp function,
                                        const Launch &launch) {
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  Location loc = function.getLoc();
  SmallVector<Type> types(function.getArgumentTypes());
  Type shared = MemRefType::get({std::max<int64_t>(launch.sharedBytes, 1)},
                                builder.getI8Type());
  types.append({shared, builder.getIndexType(), builder.getIndexType()});
  auto result = func::FuncOp::create(builder, loc, function.getName(),
                                     builder.getFunctionType(types, {}));
  result.setPrivate();
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (Attribute noAlias =
            function.getArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName()))
      result.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), noAlias);
  result.getBody().takeBody(function.getBody());
  Block &entry = result.getBody().front();
  Value memory = entry.addArgument(shared, loc);
  Value block = entry.addArgument(builder.getIndexType(), loc);
  Value thread = entry.addArgument(builder.getIndexType(), loc);
  SmallVector<NVVM::MmaOp> products;
  SmallVector<NVVM::LdMatrixOp> loads;
  result.walk([&](Operation *op) {
    OpBuilder at(op);
    Value replacement;
    if (isa<gpu::BlockIdOp>(op)) {
      replacement = block;
    } else if (isa<gpu::ThreadIdOp>(op)) {
      replacement = thread;
    } else if (isa<gpu::DynamicSharedMemoryOp>(op)) {
      replacement = memory;
    } else if (isa<gpu::BarrierOp>(op)) {
      together.insert(launch.function);
      LLVM::CallOp::create(at, op->getLoc(), TypeRange(), barrierName,
                           ValueRange());
      op->erase();
    } else if (isa<NVVM::SyncWarpOp>(op)) {
      // An exchange of nothing.
      together.insert(launch.function);
      Value zero =
          LLVM::ConstantOp::create(at, op->getLoc(), at.getI32IntegerAttr(0));
      LLVM::CallOp::create(at, op->getLoc(), at.getI32Type(), shuffleName,
                           ValueRange{zero, zero});
      op->erase();
    } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
      // Threads of whole warps exchange words by the bits of their numbers.
      together.insert(launch.function);
      Value word = LLVM::CallOp::create(
                       at, op->getLoc(), at.getI32Type(), shuffleName,
                       ValueRange{shuffle.getValue(), shuffle.getOffset()})
                       .getResult();
      shuffle.getShuffleResult().replaceAllUsesWith(word);
      op->erase();
    } else if (auto product = dyn_cast<NVVM::MmaOp>(op)) {
      together.insert(launch.function);
      products.push_back(product);
    } else if (auto load = dyn_cast<NVVM::LdMatrixOp>(op)) {
      together.insert(launch.function);
      loads.push_back(load);
    } else if (convertCopy(op)) {
      together.insert(launch.function);
    } else if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
               call && call.getIntrin() == powerOfTwoName) {
      Value power = math::Exp2Op::create(at, op->getLoc(), op->getOperand(0));
      op->getResult(0).replaceAllUsesWith(power);
      op->erase();
    } else if (isa<LLVM::InlineAsmOp>(op)) {
      // One of emitOpaque.
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    } else if (auto load = dyn_cast<vector::LoadOp>(op);
               load && load.getVectorType().getElementType().isIntOrIndex() &&
               getElementBytes(load.getVectorType().getElementType()) > 1) {
      replacement = loadWords(load);
    } else if (isa<gpu::ReturnOp>(op)) {
      func::ReturnOp::create(at, op->getLoc());
      op->erase();
    } else {
      for (Value value : op->getResults())
        dropMemorySpace(value);
    }
    if (replacement) {
      op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
    }
  });
  // Their sums are taken apart by other operations, which go with them.
  for (NVVM::MmaOp product : products)
    convertTensorCore(product);
  for (NVVM::LdMatrixOp load : loads)
    convertMatrixLoad(load);
}

/// void (buffers, status, shared, block, thread): a SimulatedThread.
void SimulatorCompiler::createThread(ModuleOp code,
                                     const SimulatedKernel &kernel,
                                     const Launch &launch) {
  auto body = code.lookupSymbol<LLVM::LLVMFuncOp>(launch.function);
  MLIRContext *context = code.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  Location loc = body.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {ptr, ptr, ptr, i64, i64});
  auto thread = LLVM::LLVMFuncOp::create(
      builder, loc, launch.function + "_thread", type, LLVM::Linkage::Internal);
  Block *entry = thread.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value buffers = entry->getArgument(0);
  unsigned numScratch = kernel.kernel.buffers.scratch.size();
  unsigned numBuffers = kernel.kernel.buffers.arguments.size();
  SmallVector<Value> operands;
  for (unsigned i = 0; i < numBuffers; ++i)
    operands.push_back(loadPointer(builder, loc, buffers, i));
  if (numScratch != 0) {
    Value workspace = loadPointer(builder, loc, buffers, numBuffers);
    for (const KernelBuffers::Scratch &scratch : kernel.kernel.buffers.scratch)
      operands.push_back(
          offsetPointer(builder, loc, workspace, scratch.offset));
  }
  llvm::append_range(operands, entry->getArguments().drop_front());
  LLVM::CallOp::create(builder, loc, body, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  body.setLinkage(LLVM::Linkage::Internal);
}

void SimulatorCompiler::createFunction(ModuleOp code,
                                       const SimulatedKernel &kernel) {
  for (const Launch &launch : kernel.kernel.launches)
    createThread(code, kernel, launch);
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  Location loc = code.getLoc();
  LLVM::LLVMFuncOp function = createKernelFunction(builder, loc, kernel.symbol);
  auto i32 = [&](int32_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                    builder.getI32IntegerAttr(value));
  };
  auto i64 = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                    builder.getI64IntegerAttr(value));
  };
  for (const Launch &launch : kernel.kernel.launches) {
    Value thread = LLVM::AddressOfOp::create(
        builder, loc, LLVM::LLVMPointerType::get(code.getContext()),
        launch.function + "_thread");
    SmallVector<Value> operands{thread,
                                function.getArgument(0),
                                function.getArgument(3),
                                i64(launch.blocks),
                                i64(launch.threads),
                                i64(launch.sharedBytes),
                                i32(together.contains(launch.function)),
                                i32(reverse)};
    LLVM::CallOp::create(builder, loc, TypeRange(), launchName, operands);
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

LogicalResult SimulatorCompiler::finish(ModuleOp code) {
  MLIRContext *context = code.getContext();
  // The failure that is reported is the one of a device.
  code.lookupSymbol(failFunctionName)->erase();
  OpBuilder builder = OpBuilder::atBlockBegin(code.getBody());
  Type nothing = LLVM::LLVMVoidType::get(context);
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto declare = [&](StringRef name, ArrayRef<Type> types, Type result) {
    LLVM::LLVMFuncOp::create(builder, code.getLoc(), name,
                             LLVM::LLVMFunctionType::get(result, types));
  };
  declare(barrierName, {}, nothing);
  declare(shuffleName, {i32, i32}, i32);
  Type f32 = builder.getF32Type();
  SmallVector<Type> parts(6, i32);
  parts.append(4, f32);
  parts.push_back(i32);
  declare(coreName, parts, nothing);
  declare(sumName, {i32}, f32);
  declare(matrixName, {ptr, i32}, nothing);
  declare(wordName, {i32}, i32);
  declare(copyName, {ptr, ptr, i32}, nothing);
  declare(groupName, {}, nothing);
  declare(waitName, {i32}, nothing);
  createFailFunction(builder, code.getLoc());
  declare(launchName, {ptr, ptr, ptr, i64, i64, i64, i32, i32}, nothing);
  for (const SimulatedKernel &kernel : kernels)
    for (const Launch &launch : kernel.kernel.launches)
      convertFunction(code,
                      gpuModule.lookupSymbol<gpu::GPUFuncOp>(launch.function),
                      launch);
  if (gpuModule) {
    for (auto global :
         llvm::make_early_inc_range(gpuModule.getOps<memref::GlobalOp>()))
      global->moveBefore(code.getBody(), code.getBody()->begin());
    gpuModule.erase();
  }
  if (failed(cpu::lowerScalars(code)))
    return failure();
  for (const SimulatedKernel &kernel : kernels)
    createFunction(code, kernel);
  return success();
}

LogicalResult remat::cuda::lowerForSimulator(ModuleOp module,
                                             const LoweringOptions &options,
                                             bool reverse) {
  SimulatorCompiler compiler(reverse);
  return lowerStep(module, options.name, options.threads, compiler);
}
