//===- KernelPool.cpp - the kernels that tasks call -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a function of the tensors that a task passes to it. What is
// cheaper to make than to read is cloned into it. Tasks with equal bodies share
// one, whatever their operations are named or marked.
//
//===----------------------------------------------------------------------===//

#include "KernelPool.h"
#include "KernelNames.h"

#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// What a kernel makes and what it reads
//===----------------------------------------------------------------------===//

bool remat::isClonedIntoKernels(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, linalg::FillOp>(op))
    return true;
  // A view of something that is cloned is cloned with it.
  if (isViewOp(op)) {
    Operation *source = getProducer(op->getOperand(0));
    return source && isClonedIntoKernels(source);
  }
  return llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
         isMemoryEffectFree(op);
}

Value remat::skipTransparent(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isTransparentOp(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Collects what a kernel around `root` has to clone, in order, and the tensors
/// that it reads.
static void collectInputs(Value root, SetVector<Operation *> &prologue,
                          SetVector<Value> &operands) {
  Value value = skipTransparent(root);
  Operation *op = value.getDefiningOp();
  if (!op || !isClonedIntoKernels(op)) {
    operands.insert(value);
    return;
  }
  if (prologue.contains(op))
    return;
  for (Value operand : getReadValues(op))
    collectInputs(operand, prologue, operands);
  prologue.insert(op);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The number that all elements of `value` are, if it is filled with one or a
/// constant.
static Value findFilling(OpBuilder &builder, Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return fill.value();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return {};
  return createScalarConstant(builder, value.getLoc(),
                              elements.getElementType(),
                              elements.getSplatValue<Attribute>());
}

/// Lets the copy of equal elements be a fill, which needs no buffer beside its
/// result.
static Operation *simplifyCopy(OpBuilder &builder, Operation *op) {
  auto copy = dyn_cast<linalg::CopyOp>(op);
  if (!copy)
    return op;
  Value source = copy.getDpsInputs()[0], filling = findFilling(builder, source);
  if (!filling)
    return op;
  auto direct = linalg::FillOp::create(builder, op->getLoc(), filling,
                                       copy.getDpsInits()[0]);
  copy.erase();
  if (source.use_empty())
    source.getDefiningOp()->erase();
  return direct;
}

func::FuncOp KernelPool::getOrCreate(Operation *op,
                                     SmallVectorImpl<Value> &operandList) {
  SetVector<Operation *> prologue;
  SetVector<Value> operands;
  SetVector<Value> reads = getReadValues(op);
  for (Value value : reads)
    collectInputs(value, prologue, operands);
  operandList = operands.takeVector();
  return getOrCreate(
      op->getLoc(), describeComputation(op), prologue.getArrayRef(),
      operandList, op->getResultTypes(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        for (Value value : reads)
          mapping.map(value, mapping.lookup(skipTransparent(value)));
        return simplifyCopy(builder, builder.clone(*op, mapping))->getResults();
      });
}

func::FuncOp KernelPool::getOrCreateLoop(LoopOp loop,
                                         SmallVectorImpl<Value> &operandList) {
  SetVector<Operation *> prologue;
  SetVector<Value> operands;
  SmallVector<Value> reads = getBufferOperands(loop);
  for (Value value : reads)
    collectInputs(value, prologue, operands);
  operandList = operands.takeVector();
  SmallVector<Value> results = getBufferResults(loop);
  return getOrCreate(
      loop.getLoc(), describeComputation(loop.getOperation()),
      prologue.getArrayRef(), operandList, ValueRange(results).getTypes(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        for (Value value : reads)
          mapping.map(value, mapping.lookup(skipTransparent(value)));
        for (Value slice : loop->getOperands())
          if (StackOp stack = findStack(slice);
              stack && !mapping.contains(slice))
            builder.clone(*stack, mapping);
        builder.clone(*loop, mapping);
        for (Value result : loop.getStacks())
          if (UnstackOp unstack = findUnstack(result))
            builder.clone(*unstack, mapping);
        return llvm::map_to_vector(
            results, [&](Value value) { return mapping.lookup(value); });
      });
}

/// Whether something outside of `cluster` reads `value` or a view of it.
static bool isReadOutside(Value value, const DenseSet<Operation *> &cluster) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isViewOp(user) || isTransparentOp(user)
               ? isReadOutside(user->getResult(0), cluster)
               : !cluster.contains(user);
  });
}

func::FuncOp KernelPool::getOrCreate(const Cluster &cluster,
                                     SmallVectorImpl<Value> &operandList,
                                     SmallVectorImpl<Value> &results) {
  DenseSet<Operation *> members(cluster.begin(), cluster.end());
  SetVector<Operation *> prologue, sequence;
  SetVector<Value> operands;
  // Views of what members make are a part of the kernel.
  std::function<void(Value)> collect = [&](Value value) {
    value = skipTransparent(value);
    Operation *op = value.getDefiningOp();
    if (op && members.contains(op))
      return;
    if (op && isViewOp(op) && members.contains(getProducer(value))) {
      collect(op->getOperand(0));
      sequence.insert(op);
      return;
    }
    collectInputs(value, prologue, operands);
  };
  for (Operation *op : cluster) {
    for (Value value : getReadValues(op))
      collect(value);
    sequence.insert(op);
    for (Value result : op->getResults())
      if (isReadOutside(result, members))
        results.push_back(result);
  }
  operandList = operands.takeVector();
  // A pad goes by what it pads, and a sum by what it adds.
  std::string name = describeComputation(cluster);
  if (llvm::any_of(cluster,
                   [](Operation *op) { return op->hasAttr(rowsAttrName); }))
    name += "_rows";
  return getOrCreate(
      cluster.front()->getLoc(), name, prologue.getArrayRef(), operandList,
      ValueRange(results).getTypes(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        for (Operation *op : sequence) {
          for (Value value : getReadValues(op))
            mapping.map(value, mapping.lookup(skipTransparent(value)));
          builder.clone(*op, mapping);
        }
        return llvm::map_to_vector(
            results, [&](Value value) { return mapping.lookup(value); });
      });
}

func::FuncOp KernelPool::getOrCreateCopy(Value value,
                                         SmallVectorImpl<Value> &operandList,
                                         bool transfers) {
  SetVector<Operation *> prologue;
  SetVector<Value> operands;
  collectInputs(value, prologue, operands);
  operandList = operands.takeVector();
  return getOrCreate(
      value.getLoc(), transfers ? "transfer" : "copy", prologue.getArrayRef(),
      operandList, value.getType(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        auto type = cast<RankedTensorType>(value.getType());
        Value empty = tensor::EmptyOp::create(
            builder, value.getLoc(), type.getShape(), type.getElementType());
        auto copy = linalg::CopyOp::create(
            builder, value.getLoc(),
            ValueRange{mapping.lookup(skipTransparent(value))},
            ValueRange{empty});
        if (transfers)
          copy->setAttr(transferAttrName, builder.getUnitAttr());
        return simplifyCopy(builder, copy)->getResults();
      });
}

/// Removes the attributes that say where an operation stood, so that equal
/// kernels look equal.
static void stripProvenance(func::FuncOp kernel) {
  Builder builder(kernel.getContext());
  StringAttr names[] = {builder.getStringAttr(RematDialect::policyAttrName),
                        builder.getStringAttr(RematDialect::nameAttrName),
                        builder.getStringAttr(RematDialect::backwardAttrName)};
  kernel.walk([&](Operation *op) {
    if (op->getDiscardableAttrDictionary().empty())
      return;
    for (StringAttr name : names)
      op->removeDiscardableAttr(name);
  });
}

/// A hash of everything but names and locations.
static llvm::hash_code hashKernel(func::FuncOp kernel) {
  llvm::hash_code hash = mlir::hash_value(Type(kernel.getFunctionType()));
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

static bool areEqualKernels(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// `name`, with a number behind it if there is something of that name.
std::string KernelPool::makeUnique(StringRef name) {
  unsigned &number = numOfName[name];
  std::string unique;
  do {
    unique = number == 0 ? name.str() : (name + "_" + Twine(number)).str();
    ++number;
  } while (symbols.lookup(unique));
  return unique;
}

func::FuncOp KernelPool::getOrCreate(Location loc, StringRef name,
                                     ArrayRef<Operation *> prologue,
                                     ArrayRef<Value> operands,
                                     TypeRange results, BuildBody buildBody) {
  OpBuilder builder(module.getContext());
  auto type = builder.getFunctionType(ValueRange(operands).getTypes(), results);
  auto kernel = func::FuncOp::create(builder, loc, "kernel", type);
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Operation *op : prologue) {
    for (Value value : getReadValues(op))
      mapping.map(value, mapping.lookup(skipTransparent(value)));
    builder.clone(*op, mapping);
  }
  SmallVector<Value> returned = buildBody(builder, mapping);
  func::ReturnOp::create(builder, loc, returned);
  stripProvenance(kernel);

  SmallVector<func::FuncOp, 1> &known = kernelsOfHash[hashKernel(kernel)];
  for (func::FuncOp other : known)
    if (areEqualKernels(kernel, other)) {
      kernel->erase();
      return other;
    }
  known.push_back(kernel);
  kernel.setName(makeUnique(name));
  ++numKernels;
  symbols.insert(kernel, module.getBody()->end());
  return kernel;
}
