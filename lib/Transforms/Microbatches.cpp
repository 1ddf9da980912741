//===- Microbatches.cpp - a step over several parts of a batch ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function computes what one part of a batch gives; a loop runs it for all
// parts and takes the mean, as training loops that accumulate gradients do.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/EntryFunction.h"

namespace remat {
#define GEN_PASS_DEF_MICROBATCHESPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// What sums of `element` are kept in.
static Type getSumElement(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Float32Type::get(element.getContext())
                                      : element;
}

static RankedTensorType addParts(RankedTensorType type, int64_t parts) {
  SmallVector<int64_t> shape = {parts};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// `value` of floats with elements of another width.
static Value convert(OpBuilder &builder, Location loc, Value value,
                     Type element) {
  unsigned from = value.getType().getIntOrFloatBitWidth(),
           to = element.getIntOrFloatBitWidth();
  if (value.getType() == element)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, element, value);
  return arith::TruncFOp::create(builder, loc, element, value);
}

namespace {
/// The function that is run for each part, and the one that it becomes.
class PartLoop {
public:
  PartLoop(func::FuncOp function, int64_t parts, ArrayRef<int64_t> batch)
      : function(function), parts(parts), batch(batch.begin(), batch.end()),
        loc(function.getLoc()), builder(function.getContext()) {}

  LogicalResult run();

private:
  /// What becomes of a result of the parts.
  enum class Kind { Mean, Carried, Stacked };

  LogicalResult findBatch();
  LogicalResult classify();
  func::FuncOp writePart();
  void writeStep(func::FuncOp part);
  Value split(Value argument);
  Value join(Value stack, RankedTensorType type);

  func::FuncOp function;
  int64_t parts;
  /// Numbers of the arguments of which each part has its own.
  SmallVector<int64_t> batch;
  int64_t rows = 0;
  Location loc;
  OpBuilder builder;
  SmallVector<Kind> kinds;
  /// For each result, the argument that gives it its buffer, or null.
  SmallVector<BlockArgument> donors;
};
} // namespace

LogicalResult PartLoop::findBatch() {
  DenseSet<int64_t> differentiated;
  for (unsigned number = 0; number < function.getNumResults(); ++number)
    if (auto of =
            function.getResultAttrOfType<IntegerAttr>(number, gradientAttrName))
      differentiated.insert(of.getInt());
  auto getRows = [&](int64_t number) -> std::optional<int64_t> {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[number]);
    return type.getRank() == 0 ? std::nullopt
                               : std::optional(type.getDimSize(0));
  };
  int64_t count = function.getNumArguments();
  bool isGiven = !batch.empty();
  for (int64_t number : batch) {
    if (number < 0 || number >= count)
      return function.emitOpError("has ")
             << count << " arguments, cannot split #" << number
             << " into parts";
    if (!getRows(number))
      return function.emitOpError("argument #")
             << number << " has type " << function.getArgumentTypes()[number]
             << ", expected a first dimension to split into parts";
  }
  for (int64_t number = 0; number < count && !isGiven; ++number) {
    std::optional<int64_t> size = getRows(number);
    if (!size || differentiated.contains(number) ||
        getDonatedResult(function, number))
      continue;
    if (batch.empty())
      rows = *size;
    if (*size == rows)
      batch.push_back(number);
  }
  if (batch.empty())
    return function.emitOpError(
        "has no argument to split into parts: expected one with a first "
        "dimension by which nothing is differentiated");
  rows = *getRows(batch.front());
  return success();
}

LogicalResult PartLoop::classify() {
  donors = getDonors(function);
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    bool isFloat = isa<FloatType>(tensor.getElementType());
    bool isGradient =
        function.getResultAttr(number, gradientAttrName) != nullptr;
    if (donors[number])
      kinds.push_back(Kind::Carried);
    else if (isFloat && (isGradient || tensor.getRank() == 0))
      kinds.push_back(Kind::Mean);
    else
      kinds.push_back(Kind::Stacked);
    if (isGradient && !isFloat)
      return function.emitOpError("result #")
             << number << " is a gradient of type " << type
             << ", expected floating-point elements for the mean of parts";
    if (donors[number] &&
        llvm::is_contained(batch, int64_t(donors[number].getArgNumber())))
      return function.emitOpError("argument #")
             << donors[number].getArgNumber()
             << " gives its buffer to a result, expected this of no argument "
                "that is split into parts";
  }
  return success();
}

/// The body of the loop. Arguments: sums of means and what is carried, in the
/// order of the results; the invariants; the parts.
func::FuncOp PartLoop::writePart() {
  func::FuncOp part = function.clone();
  part.setName((function.getName() + "_part").str());
  part.setPrivate();
  part.removeArgAttrsAttr();
  part.removeResAttrsAttr();
  SymbolTable(function->getParentOfType<ModuleOp>())
      .insert(part, std::next(Block::iterator(function)));
  Block &block = part.front();
  Operation *terminator = block.getTerminator();
  unsigned numBefore = block.getNumArguments();
  auto move = [&](unsigned number) {
    BlockArgument old = block.getArgument(number);
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
  };
  builder.setInsertionPoint(terminator);
  SmallVector<Value> carried, stacked;
  SmallVector<unsigned> sums;
  DenseSet<int64_t> moved;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    Value result = terminator->getOperand(number);
    if (kind == Kind::Stacked) {
      stacked.push_back(result);
      continue;
    }
    if (kind == Kind::Carried) {
      carried.push_back(result);
      moved.insert(donors[number].getArgNumber());
      move(donors[number].getArgNumber());
      continue;
    }
    auto type = cast<RankedTensorType>(result.getType());
    Type element = getSumElement(type.getElementType());
    sums.push_back(carried.size());
    BlockArgument sum = block.addArgument(type.clone(element), loc);
    carried.push_back(createElementwise(
        builder, loc, {sum, result}, type.clone(element),
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value share = arith::ConstantOp::create(
              nested, loc, nested.getFloatAttr(element, 1.0 / double(parts)));
          Value term = arith::MulFOp::create(
              nested, loc, convert(nested, loc, args[1], element), share);
          return arith::AddFOp::create(nested, loc, args[0], term);
        }));
  }
  for (unsigned number = 0; number < numBefore; ++number)
    if (!moved.contains(number) && !llvm::is_contained(batch, int64_t(number)))
      move(number);
  for (int64_t number : batch)
    move(number);
  block.eraseArguments(0, numBefore);
  llvm::append_range(carried, stacked);
  terminator->setOperands(carried);
  part.setFunctionType(builder.getFunctionType(block.getArgumentTypes(),
                                               terminator->getOperandTypes()));
  for (unsigned number : sums)
    part.setArgAttr(number, RematDialect::donatedAttrName,
                    builder.getI64IntegerAttr(number));
  return part;
}

/// The parts of an argument, one behind the other in its first dimension.
Value PartLoop::split(Value argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> shape = {parts, type.getDimSize(0) / parts};
  llvm::append_range(shape, type.getShape().drop_front());
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    groups.push_back({dim + 1});
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                       argument, groups);
}

/// A result of all parts: one behind the other where a part has a row for each
/// row of its batch, else in a dimension of its own.
Value PartLoop::join(Value stack, RankedTensorType type) {
  if (type.getRank() == 0 || type.getDimSize(0) != rows)
    return stack;
  SmallVector<int64_t> shape = {parts * rows};
  llvm::append_range(shape, type.getShape().drop_front());
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    groups.push_back({dim + 1});
  return tensor::CollapseShapeOp::create(builder, loc, type.clone(shape), stack,
                                         groups);
}

void PartLoop::writeStep(func::FuncOp part) {
  Block &block = function.front();
  Operation *terminator = block.getTerminator();
  SmallVector<Type> resultTypes = llvm::to_vector(function.getResultTypes());
  terminator->setOperands({});
  while (terminator->getPrevNode()) {
    terminator->getPrevNode()->dropAllUses();
    terminator->getPrevNode()->erase();
  }
  for (int64_t number : batch) {
    BlockArgument argument = block.getArgument(number);
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> shape = llvm::to_vector(type.getShape());
    shape[0] *= parts;
    argument.setType(type.clone(shape));
  }
  builder.setInsertionPoint(terminator);
  SmallVector<Value> inits, invariants, slices;
  SmallVector<Type> types;
  DenseSet<int64_t> carried;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    auto type = cast<RankedTensorType>(resultTypes[number]);
    if (kind == Kind::Mean) {
      inits.push_back(createZeros(
          builder, loc, type.clone(getSumElement(type.getElementType()))));
    } else if (kind == Kind::Carried) {
      inits.push_back(donors[number]);
      carried.insert(donors[number].getArgNumber());
    }
  }
  llvm::append_range(types, ValueRange(inits).getTypes());
  for (auto [number, kind] : llvm::enumerate(kinds))
    if (kind == Kind::Stacked)
      types.push_back(
          addParts(cast<RankedTensorType>(resultTypes[number]), parts));
  for (BlockArgument argument : block.getArguments())
    if (!carried.contains(argument.getArgNumber()) &&
        !llvm::is_contained(batch, int64_t(argument.getArgNumber())))
      invariants.push_back(argument);
  for (int64_t number : batch)
    slices.push_back(split(block.getArgument(number)));
  auto loop = LoopOp::create(builder, loc, types, part.getName(), parts,
                             /*reverse=*/false, inits, invariants, slices);
  auto finals = loop.getFinals().begin(), stacks = loop.getStacks().begin();
  SmallVector<Value> returned;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    auto type = cast<RankedTensorType>(resultTypes[number]);
    if (kind == Kind::Stacked) {
      returned.push_back(join(*stacks++, type));
      continue;
    }
    Value value = *finals++;
    if (value.getType() != type)
      value = createElementwise(
          builder, loc, value, type,
          [&](OpBuilder &nested, Location loc, ValueRange args) {
            return convert(nested, loc, args[0], type.getElementType());
          });
    returned.push_back(value);
  }
  terminator->setOperands(returned);
  function.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), ValueRange(returned).getTypes()));
}

LogicalResult PartLoop::run() {
  if (failed(findBatch()) || failed(classify()))
    return failure();
  writeStep(writePart());
  return success();
}

namespace {
struct Microbatches : remat::impl::MicrobatchesPassBase<Microbatches> {
  using MicrobatchesPassBase::MicrobatchesPassBase;

  void runOnOperation() override {
    auto target = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!target || target.isExternal() || !target.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '")
          << function << "' of one block to run for parts of a batch";
      return signalPassFailure();
    }
    if (parts < 1) {
      target.emitOpError("cannot run for ")
          << parts.getValue() << " parts of a batch, expected 1 or more";
      return signalPassFailure();
    }
    SmallVector<int64_t> numbers =
        llvm::to_vector(llvm::iterator_range(arguments));
    if (failed(PartLoop(target, parts, numbers).run()))
      signalPassFailure();
  }
};
} // namespace
