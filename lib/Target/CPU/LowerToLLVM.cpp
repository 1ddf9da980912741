//===- LowerToLLVM.cpp - a placed graph as a module of code ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/LowerToLLVM.h"

#include "KernelEmitter.h"
#include "ScalarLowering.h"
#include "remat/Codegen/StepTableEmission.h"

#include "remat/Runtime/LibraryCalls.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

namespace {

/// A function that the step table calls: made around the loops of an emitted
/// kernel, or, without a kernel, somebody else's.
struct EntryPoint {
  std::string symbol;
  std::string loops;
  std::optional<EmittedKernel> kernel;
};

class ModuleLowering {
public:
  ModuleLowering(ModuleOp module, const LoweringOptions &options)
      : module(module), options(options), context(module.getContext()),
        ptr(LLVM::LLVMPointerType::get(context)),
        i32(IntegerType::get(context, 32)), i64(IntegerType::get(context, 64)) {
  }
  LogicalResult run();

private:
  LogicalResult findGraph();
  LogicalResult compileKernels();
  LogicalResult compileKernel(TaskOp task);
  uint32_t addExternal(StringRef symbol);
  void createFailFunction();
  void createEntryPoints();
  void createEntryPoint(const EntryPoint &entryPoint);
  void declareExternal(StringRef symbol);
  void createModuleTable(StringRef blob);
  LLVM::GlobalOp createGlobal(OpBuilder &builder, Type type, StringRef name,
                              LLVM::Linkage linkage, Attribute value);

  ModuleOp module;
  const LoweringOptions &options;
  MLIRContext *context;
  Type ptr, i32, i64;
  GraphOp graph;
  OwningOpRef<ModuleOp> code;
  CheckList checks;
  llvm::StringMap<CompiledKernel> kernels;
  /// The functions that the step table calls, by their numbers.
  std::vector<EntryPoint> entryPoints;
};

} // namespace

LogicalResult ModuleLowering::findGraph() {
  for (GraphOp op : module.getOps<GraphOp>()) {
    if (graph)
      return op.emitOpError("is a second graph, expected one in a module");
    graph = op;
  }
  if (!graph)
    return module.emitError("expected a 'remat.graph' in the module");
  if (!graph.isPlaced())
    return graph.emitOpError("is not placed, expected 'arena_bytes' and a slot "
                             "for each value");
  return success();
}

/// The number of a function that is provided where the step is linked.
uint32_t ModuleLowering::addExternal(StringRef symbol) {
  for (auto [number, entryPoint] : llvm::enumerate(entryPoints))
    if (entryPoint.symbol == symbol)
      return number;
  entryPoints.push_back({symbol.str(), {}, std::nullopt});
  return entryPoints.size() - 1;
}

LogicalResult ModuleLowering::compileKernel(TaskOp task) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
  if (!function)
    return task.emitOpError("calls kernel '")
           << task.getKernel() << "', expected a 'func.func'";
  CompiledKernel &kernel = kernels[task.getKernel()];
  kernel.call = matchLibraryCall(function);
  if (kernel.call) {
    kernel.workspaceBytes = kernel.call->getWorkspaceBytes(options.threads);
    if (StringRef symbol = kernel.call->getSymbol(); !symbol.empty())
      kernel.number = addExternal(symbol);
    return success();
  }
  FailureOr<BufferizedKernel> bufferized = bufferizeKernel(function);
  if (failed(bufferized))
    return failure();
  std::string number = std::to_string(entryPoints.size());
  std::string loops = options.name + "_loops_" + number;
  FailureOr<EmittedKernel> result =
      emitKernel(*bufferized, loops, *code, checks);
  if (failed(result))
    return failure();
  kernel.number = entryPoints.size();
  kernel.workspaceBytes = result->workspaceBytes;
  kernel.extent = result->extent;
  kernel.grain = result->grain;
  entryPoints.push_back({options.name + "_kernel_" + number, loops, *result});
  return success();
}

LogicalResult ModuleLowering::compileKernels() {
  code = ModuleOp::create(module.getLoc());
  (*code)->setAttr(targetAttrName, getTargetFacts(module));
  createFailFunction();
  for (TaskOp task : graph.getOps<TaskOp>())
    if (!kernels.contains(task.getKernel()) && failed(compileKernel(task)))
      return failure();
  return lowerScalars(*code);
}

/// void fail(status, check, index, bound): keeps the first failure.
void ModuleLowering::createFailFunction() {
  OpBuilder builder(code->getBodyRegion());
  Location loc = module.getLoc();
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
  auto field = [&](int32_t number) {
    return LLVM::GEPOp::create(builder, loc, ptr, statusType, status,
                               ArrayRef<LLVM::GEPArg>{0, number});
  };
  builder.setInsertionPointToStart(entry);
  Value failed = LLVM::LoadOp::create(builder, loc, i32, field(0));
  Value zero = LLVM::ConstantOp::create(builder, loc, i32, 0);
  Value first =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, failed, zero);
  LLVM::CondBrOp::create(builder, loc, first, record, exit);
  builder.setInsertionPointToStart(record);
  Value one = LLVM::ConstantOp::create(builder, loc, i32, 1);
  LLVM::StoreOp::create(builder, loc, one, field(0));
  for (unsigned i = 1; i < 4; ++i)
    LLVM::StoreOp::create(builder, loc, entry->getArgument(i), field(i));
  LLVM::BrOp::create(builder, loc, ValueRange(), exit);
  builder.setInsertionPointToStart(exit);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// A remat_kernel_fn that unpacks the pointers of a kernel's loops, so that
/// those can be declared not to alias.
void ModuleLowering::createEntryPoint(const EntryPoint &entryPoint) {
  const EmittedKernel &kernel = *entryPoint.kernel;
  auto function = code->lookupSymbol<LLVM::LLVMFuncOp>(entryPoint.loops);
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  Location loc = function.getLoc();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {ptr, i64, i64, ptr});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, entryPoint.symbol, type,
                                        LLVM::Linkage::External);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  unsigned numWorkspaces = kernel.workspace.size();
  unsigned numBuffers = function.getNumArguments() - 3 - numWorkspaces;
  auto loadBuffer = [&](int32_t i) -> Value {
    Value slot =
        LLVM::GEPOp::create(builder, loc, ptr, ptr, block->getArgument(0),
                            ArrayRef<LLVM::GEPArg>{i});
    return LLVM::LoadOp::create(builder, loc, ptr, slot);
  };
  SmallVector<Value> operands;
  for (unsigned i = 0; i < numBuffers; ++i)
    operands.push_back(loadBuffer(i));
  if (numWorkspaces != 0) {
    Value workspace = loadBuffer(numBuffers);
    for (const WorkspaceBuffer &buffer : kernel.workspace) {
      Value offset = LLVM::ConstantOp::create(
          builder, loc, i64, builder.getI64IntegerAttr(buffer.offset));
      operands.push_back(LLVM::GEPOp::create(builder, loc, ptr,
                                             builder.getI8Type(), workspace,
                                             ValueRange(offset)));
    }
  }
  operands.append(
      {block->getArgument(1), block->getArgument(2), block->getArgument(3)});
  LLVM::CallOp::create(builder, loc, function, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  function.setLinkage(LLVM::Linkage::Internal);
  function.setNoInline(true);
}

/// Declares a remat_kernel_fn that is defined elsewhere.
void ModuleLowering::declareExternal(StringRef symbol) {
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {ptr, i64, i64, ptr});
  LLVM::LLVMFuncOp::create(builder, module.getLoc(), symbol, type,
                           LLVM::Linkage::External);
}

void ModuleLowering::createEntryPoints() {
  for (const EntryPoint &entryPoint : entryPoints) {
    if (entryPoint.kernel)
      createEntryPoint(entryPoint);
    else
      declareExternal(entryPoint.symbol);
  }
}

LLVM::GlobalOp ModuleLowering::createGlobal(OpBuilder &builder, Type type,
                                            StringRef name,
                                            LLVM::Linkage linkage,
                                            Attribute value) {
  return LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                /*isConstant=*/true, linkage, name, value,
                                /*alignment=*/bufferAlignment);
}

/// The constant `remat_module` with its blob and its kernels.
void ModuleLowering::createModuleTable(StringRef blob) {
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  Location loc = module.getLoc();
  auto blobType = LLVM::LLVMArrayType::get(builder.getI8Type(), blob.size());
  std::string blobName = options.name + "_blob";
  std::string tableName = options.name + "_kernels";
  createGlobal(builder, blobType, blobName, LLVM::Linkage::Internal,
               builder.getStringAttr(blob));

  auto tableType = LLVM::LLVMArrayType::get(ptr, entryPoints.size());
  auto table = createGlobal(builder, tableType, tableName,
                            LLVM::Linkage::Internal, Attribute());
  OpBuilder body(context);
  body.createBlock(&table.getInitializerRegion());
  Value entries = LLVM::PoisonOp::create(body, loc, tableType);
  for (auto [number, entryPoint] : llvm::enumerate(entryPoints)) {
    Value address =
        LLVM::AddressOfOp::create(body, loc, ptr, entryPoint.symbol);
    entries = LLVM::InsertValueOp::create(body, loc, entries, address,
                                          static_cast<int64_t>(number));
  }
  LLVM::ReturnOp::create(body, loc, entries);

  auto type =
      LLVM::LLVMStructType::getLiteral(context, {i32, ptr, i64, ptr, i32});
  auto global = createGlobal(builder, type, options.name,
                             LLVM::Linkage::External, Attribute());
  body.createBlock(&global.getInitializerRegion());
  Value value = LLVM::PoisonOp::create(body, loc, type);
  auto set = [&](int64_t field, Value fieldValue) {
    value = LLVM::InsertValueOp::create(body, loc, value, fieldValue, field);
  };
  set(0, LLVM::ConstantOp::create(
             body, loc, i32, body.getI32IntegerAttr(REMAT_STEP_TABLE_VERSION)));
  set(1, LLVM::AddressOfOp::create(body, loc, ptr, blobName));
  set(2, LLVM::ConstantOp::create(body, loc, i64,
                                  body.getI64IntegerAttr(blob.size())));
  set(3, LLVM::AddressOfOp::create(body, loc, ptr, tableName));
  set(4, LLVM::ConstantOp::create(body, loc, i32,
                                  body.getI32IntegerAttr(entryPoints.size())));
  LLVM::ReturnOp::create(body, loc, value);
}

LogicalResult ModuleLowering::run() {
  if (failed(findGraph()) || failed(compileKernels()))
    return failure();
  FailureOr<std::string> blob =
      buildStepTable(graph, kernels, checks, options.threads);
  if (failed(blob))
    return failure();
  createEntryPoints();
  createModuleTable(*blob);
  module.getBodyRegion().takeBody(code->getBodyRegion());
  return success();
}

LogicalResult remat::cpu::lowerToLLVM(ModuleOp module,
                                      const LoweringOptions &options) {
  // Within a pass these are loaded already, by its list of dialects.
  module.getContext()
      ->loadDialect<affine::AffineDialect, arith::ArithDialect,
                    bufferization::BufferizationDialect,
                    complex::ComplexDialect, cf::ControlFlowDialect,
                    func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                    math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect, vector::VectorDialect>();
  return ModuleLowering(module, options).run();
}
