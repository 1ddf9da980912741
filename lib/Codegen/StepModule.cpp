//===- StepModule.cpp - a placed graph as a module of code ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/StepModule.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Runtime/StepTable.h"
#include "remat/Utils/Overwritable.h"
#include "remat/Utils/PaddedRows.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

KernelCompiler::~KernelCompiler() = default;

LibraryCallRef KernelCompiler::match(func::FuncOp kernel) const {
  return matchLibraryCall(kernel);
}

int64_t KernelCompiler::getWorkspaceBytes(const LibraryCall &call,
                                          int threads) const {
  return call.getWorkspaceBytes(threads);
}

std::string remat::codegen::getDeviceCodeName(StringRef step) {
  return (step + "_device_code").str();
}

namespace {

/// A function that the step table calls: made of a kernel, or somebody else's.
struct EntryPoint {
  std::string symbol;
  bool isExternal;
};

class StepModule {
public:
  StepModule(ModuleOp module, StringRef name, int threads,
             KernelCompiler &compiler)
      : module(module), name(name), threads(threads), compiler(compiler),
        context(module.getContext()), ptr(LLVM::LLVMPointerType::get(context)),
        i32(IntegerType::get(context, 32)), i64(IntegerType::get(context, 64)) {
  }
  LogicalResult run();

private:
  LogicalResult compileKernels();
  LogicalResult compileKernels(GraphOp of);
  LogicalResult compileKernel(TaskOp task);
  uint32_t addExternal(StringRef symbol);
  void createFailFunction();
  void declareExternals();
  void declareDeviceCode();
  void createModuleTable(StringRef blob);
  LLVM::GlobalOp createGlobal(OpBuilder &builder, Type type, StringRef name,
                              LLVM::Linkage linkage, Attribute value);

  ModuleOp module;
  StringRef name;
  int threads;
  KernelCompiler &compiler;
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

FailureOr<GraphOp> remat::codegen::findPlacedGraph(ModuleOp module) {
  GraphOp graph;
  for (GraphOp op : getStepGraphs(module)) {
    if (graph)
      return op.emitOpError("is a second graph, expected one in a module");
    graph = op;
  }
  if (!graph)
    return module.emitError("expected a 'remat.graph' in the module");
  if (!graph.isPlaced())
    return graph.emitOpError("is not placed, expected 'arena_bytes' and a slot "
                             "for each value");
  return graph;
}

/// The number of a function that is provided where the step is linked.
uint32_t StepModule::addExternal(StringRef symbol) {
  for (auto [number, entryPoint] : llvm::enumerate(entryPoints))
    if (entryPoint.symbol == symbol)
      return number;
  entryPoints.push_back({symbol.str(), /*isExternal=*/true});
  return entryPoints.size() - 1;
}

/// Checks that `kernel` may write results of `task` where they are placed: the
/// graph's own verifier does not know what kernels do.
static LogicalResult verifyInPlace(TaskOp task, func::FuncOp kernel,
                                   ArrayRef<std::optional<unsigned>> operands) {
  if (llvm::none_of(operands, [](auto operand) { return bool(operand); }))
    return success();
  SmallVector<SmallVector<unsigned>> overwritable = findOverwritable(kernel);
  for (auto [number, operand] : llvm::enumerate(operands))
    if (operand && !llvm::is_contained(overwritable[number], *operand))
      return task.emitOpError("writes result ")
             << number << " over operand " << *operand << ", which kernel '"
             << kernel.getName()
             << "' may still read; expected a place of its own";
  return success();
}

LogicalResult StepModule::compileKernel(TaskOp task) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
  if (!function)
    return task.emitOpError("calls kernel '")
           << task.getKernel() << "', expected a 'func.func'";
  CompiledKernel &kernel = kernels[getCodeKey(task)];
  for (unsigned number = 0; number < task.getNumResults(); ++number)
    kernel.inPlace.push_back(task.getInPlaceOperand(number));
  if (failed(verifyInPlace(task, function, kernel.inPlace)))
    return failure();
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    PaddedRow row = getResultRow(function, number);
    int64_t element = getElementBytes(getElementTypeOrSelf(type));
    int64_t bytes = row.elements * element;
    // Parts of rows that a program itself writes may be of any length; tables
    // have none of them.
    bool isPadded =
        bytes <= std::numeric_limits<uint32_t>::max() &&
        row.stride * element == static_cast<int64_t>(llvm::alignTo(
                                    bytes, uint64_t(REMAT_ROW_ALIGNMENT)));
    kernel.resultRows.push_back(isPadded ? bytes : 0);
  }
  kernel.call = compiler.match(function);
  auto loops = function.getOps<LoopOp>();
  if (kernel.call && !loops.empty())
    kernel.loop = *loops.begin();
  if (kernel.call) {
    kernel.workspaceBytes = compiler.getWorkspaceBytes(*kernel.call, threads);
    StringRef symbol = kernel.call->getSymbol();
    if (!symbol.empty() && compiler.isForDevice())
      return task.emitOpError("calls the function '")
             << symbol << "' of the host, which the step's device cannot";
    if (!symbol.empty())
      kernel.number = addExternal(symbol);
    kernel.isEither = compiler.isForDevice() && isEither(function);
    if (!kernel.isEither)
      return success();
  }
  int64_t callBytes = kernel.workspaceBytes;
  std::string symbol = (name + "_kernel_" + Twine(entryPoints.size())).str();
  if (failed(compiler.compile(function, symbol, *code, checks, kernel)))
    return failure();
  kernel.codeWorkspaceBytes = kernel.workspaceBytes;
  kernel.workspaceBytes = std::max(kernel.workspaceBytes, callBytes);
  kernel.number = entryPoints.size();
  kernel.isOnDevice = compiler.isForDevice();
  entryPoints.push_back({symbol, /*isExternal=*/false});
  return success();
}

LogicalResult StepModule::compileKernels() {
  code = ModuleOp::create(module.getLoc());
  (*code)->setAttr(targetAttrName, getTargetFacts(module));
  createFailFunction();
  return compileKernels(graph);
}

/// Compiles the kernels of tasks of the graph and of the bodies that it runs.
LogicalResult StepModule::compileKernels(GraphOp of) {
  for (TaskOp task : of.getOps<TaskOp>()) {
    if (kernels.contains(getCodeKey(task)))
      continue;
    if (failed(compileKernel(task)))
      return failure();
    if (LoopOp loop = kernels[getCodeKey(task)].loop)
      for (GraphOp body : findBodies(loop))
        if (failed(compileKernels(body)))
          return failure();
  }
  return success();
}

/// void fail(status, check, index, bound): keeps the first failure.
void StepModule::createFailFunction() {
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

LLVM::LLVMFunctionType remat::codegen::getKernelType(MLIRContext *context) {
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i64 = IntegerType::get(context, 64);
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                     {ptr, i64, i64, ptr});
}

LLVM::LLVMFuncOp remat::codegen::createKernelFunction(OpBuilder &builder,
                                                      Location loc,
                                                      StringRef symbol) {
  auto function = LLVM::LLVMFuncOp::create(builder, loc, symbol,
                                           getKernelType(builder.getContext()),
                                           LLVM::Linkage::External);
  // Other steps in a process may have kernels of this name.
  function.setVisibility_(LLVM::Visibility::Hidden);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return function;
}

Value remat::codegen::loadPointer(OpBuilder &builder, Location loc,
                                  Value buffers, int32_t number) {
  Type ptr = buffers.getType();
  Value slot = LLVM::GEPOp::create(builder, loc, ptr, ptr, buffers,
                                   ArrayRef<LLVM::GEPArg>{number});
  return LLVM::LoadOp::create(builder, loc, ptr, slot);
}

Value remat::codegen::offsetPointer(OpBuilder &builder, Location loc,
                                    Value pointer, int64_t offset) {
  Value bytes = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                         builder.getI64IntegerAttr(offset));
  return LLVM::GEPOp::create(builder, loc, pointer.getType(),
                             builder.getI8Type(), pointer, ValueRange(bytes));
}

/// Declares the functions that are defined elsewhere.
void StepModule::declareExternals() {
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  for (const EntryPoint &entryPoint : entryPoints)
    if (entryPoint.isExternal)
      LLVM::LLVMFuncOp::create(builder, module.getLoc(), entryPoint.symbol,
                               getKernelType(context), LLVM::Linkage::External);
}

LLVM::GlobalOp StepModule::createGlobal(OpBuilder &builder, Type type,
                                        StringRef name, LLVM::Linkage linkage,
                                        Attribute value) {
  return LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                /*isConstant=*/true, linkage, name, value,
                                /*alignment=*/bufferAlignment);
}

/// Declares the code of a device, of which only its emitter knows the size.
void StepModule::declareDeviceCode() {
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  createGlobal(builder, type, getDeviceCodeName(name), LLVM::Linkage::External,
               Attribute());
}

/// The constant `remat_module` with its blob and its kernels.
void StepModule::createModuleTable(StringRef blob) {
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  Location loc = module.getLoc();
  auto blobType = LLVM::LLVMArrayType::get(builder.getI8Type(), blob.size());
  std::string blobName = (name + "_blob").str();
  std::string tableName = (name + "_kernels").str();
  createGlobal(builder, blobType, blobName, LLVM::Linkage::Internal,
               builder.getStringAttr(blob));

  bool isForDevice = compiler.isForDevice();
  if (isForDevice)
    entryPoints.clear();
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

  auto type = LLVM::LLVMStructType::getLiteral(
      context, {i32, ptr, i64, ptr, i32, ptr, ptr});
  auto global =
      createGlobal(builder, type, name, LLVM::Linkage::External, Attribute());
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
  if (isForDevice)
    set(5, LLVM::AddressOfOp::create(body, loc, ptr, getDeviceCodeName(name)));
  else
    set(5, LLVM::ZeroOp::create(body, loc, ptr));
  // Whoever makes machine code knows what for.
  set(6, LLVM::ZeroOp::create(body, loc, ptr));
  LLVM::ReturnOp::create(body, loc, value);
}

LogicalResult StepModule::run() {
  FailureOr<GraphOp> found = findPlacedGraph(module);
  if (failed(found))
    return failure();
  graph = *found;
  if (failed(compileKernels()))
    return failure();
  FailureOr<std::string> blob =
      buildStepTable(graph, kernels, checks, threads, compiler.getTableFlags());
  if (failed(blob) || failed(compiler.finish(*code)))
    return failure();
  declareExternals();
  if (compiler.isForDevice())
    declareDeviceCode();
  createModuleTable(*blob);
  module.getBodyRegion().takeBody(code->getBodyRegion());
  return success();
}

LogicalResult remat::codegen::lowerStep(ModuleOp module, StringRef name,
                                        int threads, KernelCompiler &compiler) {
  return StepModule(module, name, threads, compiler).run();
}
