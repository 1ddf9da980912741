//===- GraphOps.cpp - graphs of tasks -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/GraphLiveness.h"

#include "StackSyntax.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

std::string remat::getCopyKernelName(StringRef kernel, int64_t copy) {
  return (kernel + ".copy" + Twine(copy)).str();
}

//===----------------------------------------------------------------------===//
// GraphOp
//===----------------------------------------------------------------------===//

void GraphOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                    FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Block *block = new Block;
  block->addArguments(
      type.getInputs(),
      SmallVector<Location>(type.getNumInputs(), state.location));
  state.addRegion()->push_back(block);
}

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void GraphOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult GraphOp::verify() {
  for (Type type :
       llvm::concat<const Type>(getArgumentTypes(), getResultTypes())) {
    if (!isBufferType(type))
      return emitOpError("needs tensors of numbers with static shape and at "
                         "most 2^48 bytes, got ")
             << type;
  }
  for (StringAttr name :
       {getBudgetAttrName(), getHostBudgetAttrName(), getSaveAllPeakAttrName(),
        getPlannedPeakAttrName(), getArenaBytesAttrName(),
        getHostArenaBytesAttrName(), getStateBytesAttrName()})
    if (auto bytes = (*this)->getAttrOfType<IntegerAttr>(name);
        bytes && bytes.getInt() < 0)
      return emitOpError() << name << " must not be negative, got "
                           << bytes.getInt();
  if (isPlaced() && !isPlanned())
    return emitOpError("has 'arena_bytes' but no 'planned_peak'");
  return success();
}

//===----------------------------------------------------------------------===//
// ReturnOp
//===----------------------------------------------------------------------===//

LogicalResult ReturnOp::verify() {
  auto graph = cast<GraphOp>((*this)->getParentOp());
  if (getOperandTypes() != graph.getResultTypes())
    return emitOpError("returns (") << getOperandTypes() << "), expected ("
                                    << graph.getResultTypes() << ")";
  DenseSet<Value> roots;
  for (OpOperand &operand : (*this)->getOpOperands()) {
    Value root = getViewRoot(operand.get());
    if (isa<BlockArgument>(root))
      return emitOpError("operand ")
             << operand.getOperandNumber()
             << " is an argument of the graph or a view of one";
    if (!roots.insert(root).second)
      return emitOpError("operand ") << operand.getOperandNumber()
                                     << " shares the buffer of another result";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// TaskOp
//===----------------------------------------------------------------------===//

std::optional<Policy> TaskOp::getResultPolicy(unsigned result) {
  if (!getPolicies())
    return std::nullopt;
  auto policy = dyn_cast<PolicyAttr>((*getPolicies())[result]);
  if (!policy)
    return std::nullopt;
  return policy.getValue();
}

ArrayRef<Attribute> TaskOp::getResultNames(unsigned result) {
  if (!getNames())
    return {};
  return cast<ArrayAttr>((*getNames())[result]).getValue();
}

SlotAttr TaskOp::getResultSlot(unsigned result) {
  std::optional<ArrayAttr> placement = getPlacement();
  return placement ? dyn_cast<SlotAttr>((*placement)[result]) : SlotAttr();
}

bool TaskOp::isPlannedBackward() {
  return getBackwardLevel() >=
         (*this)->getParentOfType<GraphOp>().getPlannedLevel();
}

std::optional<unsigned> TaskOp::getInPlaceOperand(unsigned result) {
  std::optional<ArrayAttr> placement = getPlacement();
  auto number =
      placement ? dyn_cast<IntegerAttr>((*placement)[result]) : IntegerAttr();
  if (!number)
    return std::nullopt;
  return number.getInt();
}

/// Checks where the results of a task are said to lie.
static LogicalResult verifyPlacement(TaskOp task, ArrayAttr placement) {
  if (placement.size() != task.getNumResults())
    return task.emitOpError("has ")
           << placement.size() << " places, expected " << task.getNumResults();
  for (auto [number, place] : llvm::enumerate(placement)) {
    if (isa<UnitAttr, SlotAttr>(place))
      continue;
    auto operand = dyn_cast<IntegerAttr>(place);
    if (!operand || operand.getInt() < 0 ||
        operand.getInt() >= int64_t(task.getOperands().size()))
      return task.emitOpError("places result ")
             << number << " at " << place
             << ", expected a '#remat.slot', the number of one of "
             << task.getOperands().size() << " operands or 'unit'";
    if (getBufferBytes(task.getResult(number)) !=
        getBufferBytes(task.getOperand(operand.getInt())))
      return task.emitOpError("result ")
             << number << " does not have the size of operand "
             << operand.getInt() << ", in whose place it is";
  }
  return success();
}

/// The step table has 32 bits for the number of a copy.
static constexpr int64_t maxCopies = UINT32_MAX - 1;
/// Calls are listed, whether they have tasks or not.
static constexpr int64_t maxPhase = UINT16_MAX;

/// What the memory that a task needs for itself, and its place, may be.
static LogicalResult verifyWorkspace(TaskOp task, StringRef name, int64_t bytes,
                                     std::optional<uint64_t> offset) {
  if (bytes < 0 || bytes > maxBufferBytes)
    return task.emitOpError("'") << name << "' must be between 0 and "
                                 << maxBufferBytes << ", got " << bytes;
  if (!offset)
    return success();
  auto place = static_cast<int64_t>(*offset);
  if (place < 0 || place % bufferAlignment != 0)
    return task.emitOpError("'") << name << "_offset' must be a multiple of "
                                 << bufferAlignment << ", got " << place;
  // The workspace is rounded up to a target's alignment.
  if (place > INT64_MAX - 2 * maxBufferBytes)
    return task.emitOpError(
               "has a workspace that ends beyond 2^63 bytes, got '")
           << name << "_offset' " << place;
  return success();
}

LogicalResult TaskOp::verify() {
  if (static_cast<int64_t>(getId()) < 0 || static_cast<int64_t>(getCopy()) < 0)
    return emitOpError("'id' and 'copy' must not be negative");
  if (int64_t copy = getCopy(); copy > maxCopies)
    return emitOpError("'copy' must be at most ")
           << maxCopies << ", got " << copy;
  if (int64_t phase = getPhase(); phase < 0 || phase > maxPhase)
    return emitOpError("'phase' must be between 0 and ")
           << maxPhase << ", got " << phase;
  if (getLevel() && !getBackward())
    return emitOpError("has a 'level' but is not 'backward'");
  if (std::optional<uint64_t> level = getPolicyLevel();
      level && *level <= getBackwardLevel())
    return emitOpError("has 'policy_level' ")
           << *level << ", expected one above the level of the task, "
           << getBackwardLevel();
  if (static_cast<int64_t>(getCost()) < 0)
    return emitOpError("'cost' must not be negative");
  if (failed(verifyWorkspace(*this, "workspace", getWorkspace(),
                             getWorkspaceOffset())) ||
      failed(verifyWorkspace(*this, "host_workspace", getHostWorkspace(),
                             getHostWorkspaceOffset())))
    return failure();
  for (Type type :
       llvm::concat<const Type>(getOperandTypes(), getResultTypes()))
    if (!isBufferType(type))
      return emitOpError("needs tensors of numbers with static shape and at "
                         "most 2^48 bytes, got ")
             << type;
  if (std::optional<ArrayAttr> policies = getPolicies()) {
    if (policies->size() != getNumResults())
      return emitOpError("has ")
             << policies->size() << " policies, expected " << getNumResults();
    for (Attribute policy : *policies)
      if (!isa<PolicyAttr, UnitAttr>(policy))
        return emitOpError("has policy ")
               << policy << ", expected a '#remat.policy' or 'unit'";
  }
  if (std::optional<ArrayAttr> names = getNames())
    if (names->size() != getNumResults())
      return emitOpError("has names for ")
             << names->size() << " results, expected " << getNumResults();
  if (getPlacement())
    return verifyPlacement(*this, *getPlacement());
  return success();
}

LogicalResult TaskOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel)
    return emitOpError("calls '")
           << getKernel() << "', which is not a function";
  if (!kernel->hasAttr(RematDialect::kernelAttrName))
    return emitOpError("calls '")
           << getKernel() << "', which is not marked 'remat.kernel'";
  if (TypeRange(kernel.getArgumentTypes()) != getOperandTypes() ||
      TypeRange(kernel.getResultTypes()) != getResultTypes())
    return emitOpError("has type ")
           << FunctionType::get(getContext(), getOperandTypes(),
                                getResultTypes())
           << ", expected the kernel's "
           << FunctionType::get(getContext(), kernel.getArgumentTypes(),
                                kernel.getResultTypes());
  return success();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

static LogicalResult verifyTransfer(Operation *op, Type type) {
  if (!isBufferType(type))
    return op->emitOpError("needs a tensor of numbers with static shape and at "
                           "most 2^48 bytes, got ")
           << type;
  return success();
}

LogicalResult OffloadOp::verify() {
  return verifyTransfer(*this, getSource().getType());
}

LogicalResult ReloadOp::verify() {
  return verifyTransfer(*this, getResult().getType());
}

#define GET_OP_CLASSES
#include "remat/Dialect/Remat/IR/RematOps.cpp.inc"
