//===- LoopOps.cpp - loops that stay loops --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "StackSyntax.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Stacks of values
//===----------------------------------------------------------------------===//

/// How many values a stack is of at most. Each is an operand or a result of an
/// operation; a size in a type is no reason to make so many.
static constexpr int64_t maxStackElements = 1 << 20;

/// Whether it has a static number of elements, whatever that is.
static bool hasElements(RankedTensorType type) {
  return type && type.getRank() > 0 && !type.isDynamicDim(0);
}

SmallVector<Type> remat::getStackElementTypes(Type stack) {
  auto type = dyn_cast<RankedTensorType>(stack);
  if (!hasElements(type) || type.getDimSize(0) > maxStackElements)
    return {};
  return SmallVector<Type>(type.getDimSize(0),
                           type.clone(type.getShape().drop_front()));
}

ParseResult remat::parseStack(OpAsmParser &parser,
                              SmallVectorImpl<Type> &elements, Type &stack) {
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseType(stack))
    return failure();
  auto type = dyn_cast<RankedTensorType>(stack);
  if (hasElements(type) && type.getDimSize(0) > maxStackElements)
    return parser.emitError(place)
           << "expected a stack of at most " << maxStackElements
           << " elements in the first dimension, got " << type.getDimSize(0);
  llvm::append_range(elements, getStackElementTypes(stack));
  return success();
}

void remat::printStack(OpAsmPrinter &printer, Operation *, TypeRange,
                       Type stack) {
  printer << stack;
}

static LogicalResult verifyStack(Operation *op, Type stack) {
  if (!getStackElementTypes(stack).empty())
    return success();
  return op->emitOpError("has a stack of type ")
         << stack << ", expected one or more elements in the first dimension";
}

LogicalResult StackOp::verify() { return verifyStack(*this, getType()); }

LogicalResult UnstackOp::verify() {
  return verifyStack(*this, getStack().getType());
}

OpFoldResult StackOp::fold(FoldAdaptor) {
  auto unstack = getElements().front().getDefiningOp<UnstackOp>();
  if (unstack && ValueRange(getElements()) == unstack.getResults())
    return unstack.getStack();
  return {};
}

LogicalResult UnstackOp::fold(FoldAdaptor,
                              SmallVectorImpl<OpFoldResult> &results) {
  auto stack = getStack().getDefiningOp<StackOp>();
  if (!stack)
    return failure();
  llvm::append_range(results, stack.getElements());
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void LoopOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                   StringRef body, int64_t count, bool reverse,
                   ValueRange inits, ValueRange invariants, ValueRange slices,
                   Value trips, bool conditional) {
  build(builder, state, results, body, count, conditional, reverse, inits,
        invariants, slices, /*advance=*/nullptr, /*slots=*/nullptr,
        /*host_slots=*/nullptr, /*period=*/nullptr, {}, {}, {}, trips,
        /*asserts=*/false, /*inner_policy=*/nullptr);
}

bool LoopOp::isAsserting(Block &body) {
  return !llvm::all_of(body.without_terminator(),
                       [](Operation &op) { return isMemoryEffectFree(&op); });
}

/// As of an assertion: it stays where it is, and is not erased. The attribute
/// says so since passes on functions must not look into others.
void LoopOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (getAsserts())
    effects.emplace_back(MemoryEffects::Write::get());
}

Speculation::Speculatability LoopOp::getSpeculatability() {
  return getAsserts() ? Speculation::NotSpeculatable
                      : Speculation::Speculatable;
}

/// What the number of iterations asks of a loop.
static LogicalResult checkCount(LoopOp loop) {
  auto i64 = RankedTensorType::get({}, IntegerType::get(loop.getContext(), 64));
  auto i1 = RankedTensorType::get({}, IntegerType::get(loop.getContext(), 1));
  if (Value trips = loop.getTrips(); trips && trips.getType() != i64)
    return loop.emitOpError("has trips of type ")
           << trips.getType() << ", expected " << i64;
  if (loop.getConditional()) {
    if (loop.getTrips() || loop.getReverse() || loop.getAdvance())
      return loop.emitOpError("with 'while' has 'trips', 'reverse' or 'again', "
                              "expected none of them");
    TypeRange carried = loop.getInits().getTypes();
    if (carried.size() < 2 || carried[0] != i1 || carried[1] != i64)
      return loop.emitOpError("with 'while' carries (")
             << carried << "), expected " << i1 << " and " << i64
             << " in front";
  }
  if (loop.getCount() != 0)
    return success();
  if (!loop.isCountedAtRunTime())
    return loop.emitOpError(
        "has no iterations, expected a 'count' of 1 or more");
  if (!loop.getSlices().empty() || !loop.getStacks().empty() ||
      loop.getAdvance())
    return loop.emitOpError("has slices, stacked results or 'again', expected "
                            "a 'count' of 1 or more");
  return success();
}

LogicalResult LoopOp::verify() {
  if (getNumResults() < getInits().size())
    return emitOpError("has ") << getNumResults() << " results, expected "
                               << getInits().size() << " or more";
  if (getFinals().getTypes() != getInits().getTypes())
    return emitOpError("carries (")
           << getInits().getTypes() << "), but ends with ("
           << getFinals().getTypes() << ")";
  bool isGiven = getAdvance().has_value() || getSlots().has_value() ||
                 !getStateInits().empty() || !getStateInvariants().empty() ||
                 !getStateSlices().empty();
  if (isGiven && (!getAdvance() || !getSlots()))
    return emitOpError("makes states again, expected 'advance' and 'slots'");
  if (getHostSlots().has_value() != getPeriod().has_value() ||
      (getHostSlots() && !isGiven))
    return emitOpError("keeps states in host memory, expected 'host_slots', "
                       "'period' and 'advance'");
  return checkCount(*this);
}

/// Appends what an iteration sees of tensors with an element for each.
static LogicalResult addElements(LoopOp loop, TypeRange types, StringRef what,
                                 SmallVectorImpl<Type> &elements) {
  int64_t count = loop.getCount();
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() == 0 || tensor.getDimSize(0) != count)
      return loop.emitOpError("has ")
             << what << " of type " << type << ", expected " << count
             << " elements in the first dimension";
    elements.push_back(tensor.clone(tensor.getShape().drop_front()));
  }
  return success();
}

/// Checks that `symbol` is a function of these types.
static LogicalResult checkFunction(LoopOp loop, SymbolTableCollection &symbols,
                                   FlatSymbolRefAttr symbol,
                                   TypeRange arguments, TypeRange results) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      symbols.lookupNearestSymbolFrom(loop, symbol));
  if (!function)
    return loop.emitOpError("runs '")
           << symbol.getValue() << "', which is no function";
  auto check = [&](StringRef what, TypeRange types,
                   TypeRange expected) -> LogicalResult {
    if (types == expected)
      return success();
    return loop.emitOpError("runs '")
           << symbol.getValue() << "' with " << what << " (" << types
           << "), expected (" << expected << ")";
  };
  if (failed(check("arguments", function.getArgumentTypes(), arguments)))
    return failure();
  return check("results", function.getResultTypes(), results);
}

/// Adds the functions that `op` itself runs.
static void addRunBy(Operation *op, SymbolTableCollection &symbols,
                     SetVector<Operation *> &functions) {
  auto add = [&](SymbolRefAttr symbol) {
    if (symbol)
      if (auto function = dyn_cast_or_null<FunctionOpInterface>(
              symbols.lookupNearestSymbolFrom(op, symbol)))
        functions.insert(function);
  };
  if (auto loop = dyn_cast<LoopOp>(op)) {
    add(loop.getBodyAttr());
    add(loop.getAdvanceAttr());
  } else if (auto task = dyn_cast<TaskOp>(op)) {
    add(task.getKernelAttr());
  } else if (auto call = dyn_cast<CallOpInterface>(op)) {
    add(dyn_cast<SymbolRefAttr>(call.getCallableForCallee()));
  }
}

/// Checks that no iteration of `loop` comes to the loop again.
static LogicalResult checkNoRecursion(LoopOp loop,
                                      SymbolTableCollection &symbols) {
  Operation *around = loop->getParentOfType<FunctionOpInterface>();
  SetVector<Operation *> functions;
  addRunBy(loop, symbols, functions);
  for (size_t i = 0; i < functions.size() && !functions.contains(around); ++i)
    functions[i]->walk(
        [&](Operation *op) { addRunBy(op, symbols, functions); });
  if (!functions.contains(around))
    return success();
  return loop.emitOpError("is recursive: it is in '")
         << SymbolTable::getSymbolName(around).getValue()
         << "', which its iterations run again";
}

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> arguments(getInits().getTypes()), results(arguments);
  llvm::append_range(arguments, getInvariants().getTypes());
  llvm::append_range(arguments, getStateInits().getTypes());
  if (failed(
          addElements(*this, getSlices().getTypes(), "a slice", arguments)) ||
      failed(addElements(*this, getStacks().getTypes(), "a stacked result",
                         results)) ||
      failed(checkFunction(*this, symbols, getBodyAttr(), arguments, results)))
    return failure();
  if (!getAdvanceAttr())
    return checkNoRecursion(*this, symbols);
  SmallVector<Type> states(getStateInits().getTypes());
  arguments = states;
  llvm::append_range(arguments, getStateInvariants().getTypes());
  if (failed(addElements(*this, getStateSlices().getTypes(), "a slice",
                         arguments)))
    return failure();
  if (failed(
          checkFunction(*this, symbols, getAdvanceAttr(), arguments, states)))
    return failure();
  return checkNoRecursion(*this, symbols);
}
