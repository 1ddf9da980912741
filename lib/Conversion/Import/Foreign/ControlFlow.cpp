//===- ControlFlow.cpp - loops and choices --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX writes scans, maps and loops over a range as a loop that carries its own
// counter, compares it with a constant and adds a constant to it. Such a loop
// becomes an scf.for, and what its iterations hand on unchanged is not carried.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

namespace {
/// How a loop counts: `number` is the counter among what it carries.
struct Counter {
  unsigned number;
  int64_t begin, step, trips;
  /// Where it ends, if that or where it begins is known at run time only: a
  /// foreign value around the loop. It counts up then.
  Value end;
};
} // namespace

/// The number of the argument of `block` that `value` is.
static std::optional<unsigned> findArgument(Value value, Block &block) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &block)
    return std::nullopt;
  return argument.getArgNumber();
}

static bool isInvariant(Operation *op, unsigned number) {
  Block &body = op->getRegion(1).front();
  return body.back().getOperand(number) == body.getArgument(number);
}

/// The integer that `value`, in a region of the loop `op`, is in all
/// iterations.
static std::optional<int64_t> findFixed(Value value, Operation *op,
                                        Lowering &lowering) {
  for (Region &region : op->getRegions())
    if (auto number = findArgument(value, region.front())) {
      if (!isInvariant(op, *number))
        return std::nullopt;
      return lowering.findInteger(op->getOperand(*number));
    }
  return lowering.findInteger(value);
}

/// What is added to the argument `number` in each iteration.
static std::optional<int64_t> findStep(Operation *op, unsigned number,
                                       Lowering &lowering) {
  Block &body = op->getRegion(1).front();
  Operation *next = body.back().getOperand(number).getDefiningOp();
  if (!next || next->getNumOperands() != 2)
    return std::nullopt;
  StringRef name = next->getName().getStringRef();
  Value a = next->getOperand(0), b = next->getOperand(1);
  Value counter = body.getArgument(number);
  if (name == "stablehlo.add" && b == counter)
    std::swap(a, b);
  if (a != counter)
    return std::nullopt;
  std::optional<int64_t> step = findFixed(b, op, lowering);
  if (!step || name == "stablehlo.add")
    return step;
  if (name == "stablehlo.subtract")
    return -*step;
  return std::nullopt;
}

/// The value around the loop `op` that `value`, in a region of it, is in all
/// iterations; null if it is not always the same.
static Value findInvariant(Value value, Operation *op) {
  for (Region &region : op->getRegions()) {
    if (auto number = findArgument(value, region.front()))
      return isInvariant(op, *number) ? op->getOperand(*number) : Value();
    if (region.isAncestor(value.getParentRegion()))
      return nullptr;
  }
  return value;
}

static std::optional<Counter> findCounter(Operation *op, Lowering &lowering) {
  Block &condition = op->getRegion(0).front();
  Operation *test = condition.back().getOperand(0).getDefiningOp();
  if (!test || test->getName().getStringRef() != "stablehlo.compare" ||
      test->getNumOperands() != 2 || !isIntegerScalar(test->getOperand(0)))
    return std::nullopt;
  Value counter = test->getOperand(0), bound = test->getOperand(1);
  StringRef direction = getEnum(test, "comparison_direction");
  auto isCounter = [&](Value value) {
    auto number = findArgument(value, condition);
    return number && !isInvariant(op, *number);
  };
  if (!isCounter(counter)) {
    std::swap(counter, bound);
    direction = llvm::StringSwitch<StringRef>(direction)
                    .Case("LT", "GT")
                    .Case("GT", "LT")
                    .Case("LE", "GE")
                    .Case("GE", "LE")
                    .Default(direction);
  }
  if (!isCounter(counter))
    return std::nullopt;
  Counter found;
  found.number = *findArgument(counter, condition);
  std::optional<int64_t> begin =
      lowering.findInteger(op->getOperand(found.number));
  std::optional<int64_t> end = findFixed(bound, op, lowering);
  std::optional<int64_t> step = findStep(op, found.number, lowering);
  if (!step || *step == 0)
    return std::nullopt;
  if (!begin || !end) {
    auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(counter));
    found.end = findInvariant(bound, op);
    found.begin = found.trips = 0;
    found.step = *step;
    bool isUp = direction == "LT" && *step > 0 && found.end && type &&
                !type.isUnsigned() && type.getWidth() <= 64;
    return isUp ? std::optional(found) : std::nullopt;
  }
  found.begin = *begin;
  found.step = *step;
  // The distance that is left to go, in the direction of the steps.
  int64_t low = *begin, high = *end, stride = *step;
  if (stride == INT64_MIN)
    return std::nullopt;
  bool isUp = direction == "LT" || direction == "LE";
  bool isDown = direction == "GT" || direction == "GE";
  bool isUntil = direction == "NE";
  if (stride < 0 || isDown) {
    if (stride > 0 || isUp)
      return std::nullopt;
    std::swap(low, high);
    stride = -stride;
  }
  int64_t distance;
  if (llvm::SubOverflow(high, low, distance))
    return std::nullopt;
  if (distance == INT64_MAX)
    return std::nullopt;
  if (direction == "LE" || direction == "GE")
    ++distance;
  if ((!isUp && !isDown && !isUntil) ||
      (isUntil && (distance < 0 || distance % stride != 0)))
    return std::nullopt;
  found.trips = distance <= 0 ? 0 : llvm::divideCeil(distance, stride);
  int64_t last;
  if (llvm::MulOverflow(found.trips, found.step, last) ||
      llvm::AddOverflow(found.begin, last, last))
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The value of the counter in iteration `iteration`, as a tensor of rank 0.
/// `begin` is where it begins, if that is known at run time only.
static Value createCounter(Lowering &lowering, Location loc, Value iteration,
                           const Counter &counter, Value begin,
                           RankedTensorType type) {
  OpBuilder &builder = lowering.builder;
  Type element = type.getElementType();
  Value number = arith::IndexCastOp::create(builder, loc, element, iteration);
  if (counter.step != 1)
    number = arith::MulIOp::create(
        builder, loc, number,
        createInteger(builder, loc, element, counter.step));
  if (begin)
    number = arith::AddIOp::create(builder, loc, number, begin);
  else if (counter.begin != 0)
    number = arith::AddIOp::create(
        builder, loc, number,
        createInteger(builder, loc, element, counter.begin));
  return tensor::FromElementsOp::create(builder, loc, type, number);
}

/// How often a loop runs that counts from `begin`, to where the program knows
/// only when it runs.
static Value createTrips(Lowering &lowering, Location loc, Value begin,
                         const Counter &counter) {
  OpBuilder &builder = lowering.builder;
  auto toIndex = [&](Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  };
  Value zero = createIndex(builder, loc, 0);
  Value distance = arith::SubIOp::create(
      builder, loc, toIndex(lowering.getScalar(counter.end)), toIndex(begin));
  Value trips = arith::MaxSIOp::create(builder, loc, distance, zero);
  if (counter.step == 1)
    return trips;
  Value more = createIndex(builder, loc, counter.step - 1),
        step = createIndex(builder, loc, counter.step);
  trips = arith::AddIOp::create(builder, loc, trips, more);
  return arith::DivSIOp::create(builder, loc, trips, step);
}

namespace {
/// Lets operations be built in another block for a while.
struct InBlock {
  InBlock(OpBuilder &builder, Block *block) : guard(builder) {
    builder.setInsertionPointToEnd(block);
  }
  OpBuilder::InsertionGuard guard;
};
} // namespace

static LogicalResult lowerCounted(Operation *op, Lowering &lowering,
                                  const Counter &counter) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Block &body = op->getRegion(1).front();
  // What is carried, and where it is among what stands for the operands.
  SmallVector<SmallVector<Value>> given;
  SmallVector<Value> inits;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    given.push_back(lowering.get(ValueRange(operand)));
    if (number != counter.number && !isInvariant(op, number))
      llvm::append_range(inits, given.back());
  }
  Value zero = createIndex(builder, loc, 0), one = createIndex(builder, loc, 1);
  Value begin, trips;
  if (counter.end) {
    begin = lowering.getScalar(op->getOperand(counter.number));
    trips = createTrips(lowering, loc, begin, counter);
  } else {
    trips = createIndex(builder, loc, counter.trips);
  }
  auto loop = scf::ForOp::create(builder, loc, zero, trips, one, inits);
  if (Attribute most = op->getAttr(RematDialect::maxTripCountAttrName))
    loop->setAttr(RematDialect::maxTripCountAttrName, most);
  RankedTensorType counterType =
      lowering.getTensorType(op->getOperand(counter.number));
  // Puts `carried` between what is known otherwise.
  auto complete = [&](ValueRange carried, Value count) {
    SmallVector<Value> all;
    for (unsigned number = 0; number < op->getNumOperands(); ++number) {
      if (number == counter.number) {
        all.push_back(count);
      } else if (isInvariant(op, number)) {
        llvm::append_range(all, given[number]);
      } else {
        llvm::append_range(all, carried.take_front(given[number].size()));
        carried = carried.drop_front(given[number].size());
      }
    }
    return all;
  };
  {
    // A loop that carries nothing comes with an end.
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    InBlock inLoop(builder, loop.getBody());
    Value count = createCounter(lowering, loc, loop.getInductionVar(), counter,
                                begin, counterType);
    auto next =
        lowering.lowerBlock(body, complete(loop.getRegionIterArgs(), count));
    if (failed(next))
      return failure();
    SmallVector<Value> yielded;
    ValueRange rest(*next);
    for (unsigned number = 0; number < op->getNumOperands(); ++number) {
      if (number != counter.number && !isInvariant(op, number))
        llvm::append_range(yielded, rest.take_front(given[number].size()));
      rest = rest.drop_front(given[number].size());
    }
    scf::YieldOp::create(builder, loc, yielded);
  }
  Value last =
      counter.end
          ? createCounter(lowering, loc, trips, counter, begin, counterType)
          : createInteger(builder, loc, counterType,
                          counter.begin + counter.trips * counter.step);
  return lowering.set(op, complete(loop.getResults(), last));
}

/// Refuses a loop that does not carry values of the same types all along.
static LogicalResult checkLoop(Operation *op) {
  TypeRange carried = op->getOperandTypes();
  auto check = [&](StringRef what, TypeRange types) -> LogicalResult {
    if (types == carried)
      return success();
    return op->emitOpError("has ")
           << what << " (" << types << "), expected (" << carried << ")";
  };
  Block &condition = op->getRegion(0).front(), &body = op->getRegion(1).front();
  if (failed(check("results", op->getResultTypes())) ||
      failed(check("a condition of", condition.getArgumentTypes())) ||
      failed(check("a body of", body.getArgumentTypes())) ||
      failed(check("a body that returns", body.back().getOperandTypes())))
    return failure();
  OperandRange test = condition.back().getOperands();
  if (test.size() != 1 || !isIntegerScalar(test[0]) ||
      !getElementTypeOrSelf(test[0]).isInteger(1))
    return op->emitOpError("has a condition that returns (")
           << test.getTypes() << "), expected (tensor<i1>)";
  return success();
}

//===----------------------------------------------------------------------===//
// Loops whose number of iterations is known at run time only
//===----------------------------------------------------------------------===//

/// What stands for the operands of `op` when `carried` does for those that
/// change.
static SmallVector<Value> addInvariants(Operation *op, ValueRange carried,
                                        ArrayRef<SmallVector<Value>> given) {
  SmallVector<Value> all;
  for (unsigned number = 0; number < op->getNumOperands(); ++number) {
    if (isInvariant(op, number)) {
      llvm::append_range(all, given[number]);
      continue;
    }
    llvm::append_range(all, carried.take_front(given[number].size()));
    carried = carried.drop_front(given[number].size());
  }
  return all;
}

/// Those of `all`, of which there are as many as `given`, that change.
static SmallVector<Value> dropInvariants(Operation *op, ValueRange all,
                                         ArrayRef<SmallVector<Value>> given) {
  SmallVector<Value> carried;
  for (unsigned number = 0; number < op->getNumOperands(); ++number) {
    if (!isInvariant(op, number))
      llvm::append_range(carried, all.take_front(given[number].size()));
    all = all.drop_front(given[number].size());
  }
  return carried;
}

/// Lowers a loop to an scf.while, which `remat-keep-loops` makes a loop that
/// counts of, if it does.
static LogicalResult lowerUncounted(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  SmallVector<SmallVector<Value>> given;
  SmallVector<Value> all;
  for (Value operand : op->getOperands()) {
    given.push_back(lowering.get(ValueRange(operand)));
    llvm::append_range(all, given.back());
  }
  SmallVector<Value> inits = dropInvariants(op, all, given);
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  SmallVector<Location> locations(types.size(), loc);
  auto loop = scf::WhileOp::create(builder, loc, types, inits);
  if (Attribute most = op->getAttr(RematDialect::maxTripCountAttrName))
    loop->setAttr(RematDialect::maxTripCountAttrName, most);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types, locations),
        *after = builder.createBlock(&loop.getAfter(), {}, types, locations);
  builder.setInsertionPointAfter(loop);
  {
    InBlock inCondition(builder, before);
    auto test =
        lowering.lowerBlock(op->getRegion(0).front(),
                            addInvariants(op, before->getArguments(), given));
    if (failed(test))
      return failure();
    Value goesOn =
        tensor::ExtractOp::create(builder, loc, test->front(), ValueRange());
    scf::ConditionOp::create(builder, loc, goesOn, before->getArguments());
  }
  {
    InBlock inBody(builder, after);
    auto next =
        lowering.lowerBlock(op->getRegion(1).front(),
                            addInvariants(op, after->getArguments(), given));
    if (failed(next))
      return failure();
    scf::YieldOp::create(builder, loc, dropInvariants(op, *next, given));
  }
  return lowering.set(op, addInvariants(op, loop.getResults(), given));
}

static LogicalResult lowerWhile(Operation *op, Lowering &lowering) {
  if (failed(checkLoop(op)))
    return failure();
  if (lowering.isScalar())
    return op->emitOpError("is not supported in the body of a reduction");
  if (std::optional<Counter> counter = findCounter(op, lowering))
    return lowerCounted(op, lowering, *counter);
  return lowerUncounted(op, lowering);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// One of the regions of `op` from number `begin` on; the last is for all other
/// numbers.
static FailureOr<SmallVector<Value>>
lowerBranches(Operation *op, Lowering &lowering, Value number, unsigned begin) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  if (begin + 1 == op->getNumRegions())
    return lowering.lowerBlock(op->getRegion(begin).front(), {});
  Value isThis = number;
  if (!number.getType().isInteger(1))
    isThis = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, number,
        createInteger(builder, loc, number.getType(), begin));
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    if (lowering.isScalar())
      types.push_back(lowering.getType(result));
    else if (failed(lowering.convertType(loc, result.getType(), types)))
      return failure();
  auto choice = scf::IfOp::create(builder, loc, types, isThis,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (bool isThen : {true, false}) {
    Block *block = isThen ? choice.thenBlock() : choice.elseBlock();
    if (!block->empty())
      block->back().erase();
    InBlock inBranch(builder, block);
    auto yielded = isThen
                       ? lowering.lowerBlock(op->getRegion(begin).front(), {})
                       : lowerBranches(op, lowering, number, begin + 1);
    if (failed(yielded))
      return failure();
    if (ValueRange(*yielded).getTypes() != TypeRange(types))
      return op->emitOpError("has a branch that returns (")
             << ValueRange(*yielded).getTypes() << "), expected (" << types
             << ")";
    scf::YieldOp::create(builder, loc, *yielded);
  }
  return llvm::to_vector_of<Value>(choice.getResults());
}

/// `case` takes its last region for numbers that no other has, and `if` the
/// second for false.
static LogicalResult lowerChoice(Operation *op, Lowering &lowering) {
  if (op->getNumRegions() == 0)
    return op->emitOpError("has no branches, expected at least 1");
  if (!isIntegerScalar(op->getOperand(0)))
    return op->emitOpError("chooses by a value of type ")
           << op->getOperand(0).getType() << ", expected an integer of rank 0";
  // A truth value chooses between two, the first if it is true.
  bool isTruth = getElementTypeOrSelf(op->getOperand(0)).isInteger(1);
  if (isTruth != (op->getName().stripDialect() == "if"))
    return op->emitOpError("chooses by a value of type ")
           << op->getOperand(0).getType();
  Value number = lowering.getScalar(op->getOperand(0));
  auto results = lowerBranches(op, lowering, number, 0);
  return failed(results) ? failure() : lowering.set(op, *results);
}

void foreign::addControlFlow(LoweringTable &table) {
  constexpr int any = KnownOp::any;
  table["stablehlo.while"] = {lowerWhile, any, any, 2, KnownOp::Groups};
  table["stablehlo.case"] = {lowerChoice, 1, any, any, KnownOp::Groups};
  table["stablehlo.if"] = {lowerChoice, 1, any, 2, KnownOp::Groups};
}
