//===- Recompute.cpp - values of a kernel that are made again -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recompute.h"

#include "remat/Codegen/KernelContext.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// The argument or allocation behind a memref; null for a scalar.
static Value getBuffer(Value memref) {
  if (!isa<MemRefType>(memref.getType()))
    return Value();
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

namespace {

/// The operation that makes a value, and those that read it.
struct Use {
  linalg::GenericOp maker;
  SmallVector<linalg::GenericOp> readers;
};

} // namespace

/// Whether `maker` computes each element on its own from what it reads.
static bool isElementwise(linalg::GenericOp maker) {
  if (maker.getNumDpsInits() != 1 || maker.getNumReductionLoops() != 0 ||
      maker.payloadUsesValueFromOperand(maker.getDpsInitOperand(0)) ||
      !maker.getMatchingIndexingMap(maker.getDpsInitOperand(0)).isPermutation())
    return false;
  return !maker.getBody()
              ->walk([](memref::LoadOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// Whether `generic` gives each element of `init`, which is a whole buffer, a
/// value without regard to what was there.
static bool overwritesAll(linalg::GenericOp generic, OpOperand &init) {
  auto inits = generic->getAttrOfType<ArrayAttr>(RematDialect::initsAttrName);
  unsigned number = init.getOperandNumber() - generic.getNumDpsInputs();
  bool isConstant = inits && isa<TypedAttr>(inits[number]);
  return (isConstant || !generic.payloadUsesValueFromOperand(&init)) &&
         generic.getMatchingIndexingMap(&init).isProjectedPermutation();
}

/// Adds the operations that use a buffer itself or through views that have all
/// of its elements. False if others do, or views of a part.
static bool findUsers(Value buffer, SetVector<Operation *> &users) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(user)) {
      if (!findUsers(user->getResult(0), users))
        return false;
    } else if (isa<linalg::GenericOp, memref::DeallocOp>(user)) {
      users.insert(user);
    } else {
      return false;
    }
  }
  return true;
}

/// What `operand` is of its buffer, of another one.
static Value viewAgain(OpBuilder &builder, Value operand, Value buffer) {
  auto view = operand.getDefiningOp<ViewLikeOpInterface>();
  if (!view)
    return buffer;
  IRMapping mapping;
  mapping.map(view.getViewSource(),
              viewAgain(builder, view.getViewSource(), buffer));
  return builder.clone(*view, mapping)->getResult(0);
}

static void separateValues(memref::AllocOp alloc) {
  SetVector<Operation *> found;
  if (!findUsers(alloc, found))
    return;
  SmallVector<Operation *> users = found.takeVector();
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Value current = alloc;
  bool isWritten = false;
  for (Operation *user : users) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    OpBuilder builder(user);
    Value next = current;
    for (OpOperand &operand : user->getOpOperands()) {
      if (getBuffer(operand.get()) != alloc)
        continue;
      bool isInit = generic && generic.isDpsInit(&operand);
      if (isInit && isWritten && overwritesAll(generic, operand))
        next =
            memref::AllocOp::create(builder, user->getLoc(), alloc.getType());
      Value buffer = isInit ? next : current;
      if (buffer != alloc)
        operand.set(viewAgain(builder, operand.get(), buffer));
      isWritten |= isInit;
    }
    current = next;
  }
}

void remat::cuda::separateValues(func::FuncOp function) {
  for (auto alloc : llvm::to_vector(function.getOps<memref::AllocOp>()))
    ::separateValues(alloc);
}

static std::optional<Use> findUse(memref::AllocOp alloc) {
  Use use;
  for (OpOperand &operand : alloc->getUses()) {
    if (isa<memref::DeallocOp>(operand.getOwner()))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(operand.getOwner());
    if (!generic)
      return std::nullopt;
    if (generic.isDpsInput(&operand)) {
      if (generic.payloadUsesValueFromOperand(&operand) &&
          !llvm::is_contained(use.readers, generic))
        use.readers.push_back(generic);
    } else if (use.maker) {
      return std::nullopt;
    } else {
      use.maker = generic;
    }
  }
  if (!use.maker || !isElementwise(use.maker))
    return std::nullopt;
  return use;
}

/// By what the loops of `maker` are replaced where `operand` is read.
static SmallVector<AffineExpr> mapLoops(linalg::GenericOp maker,
                                        OpOperand *operand) {
  auto reader = cast<linalg::GenericOp>(operand->getOwner());
  AffineMap read = reader.getMatchingIndexingMap(operand);
  AffineMap written = maker.getMatchingIndexingMap(maker.getDpsInitOperand(0));
  SmallVector<AffineExpr> loops(maker.getNumLoops());
  for (unsigned i = 0; i < written.getNumResults(); ++i)
    loops[written.getDimPosition(i)] = read.getResult(i);
  return loops;
}

/// Whether an operation of the kernel writes to `buffer`.
static bool isWritten(BlockArgument buffer) {
  for (auto generic : buffer.getOwner()->getOps<linalg::GenericOp>())
    for (Value init : generic.getDpsInits())
      if (getBuffer(init) == buffer)
        return true;
  return false;
}

/// Whether an operation after `maker`, up to `reader`, may write over something
/// that `maker` reads. A result may lie where an operand of its type does, but
/// no two results share a buffer.
static bool isOverwritten(linalg::GenericOp maker, linalg::GenericOp reader,
                          OpOperand *operand) {
  for (OpOperand *input : maker.getDpsInputOperands()) {
    Value source = getBuffer(input->get());
    if (!source || !maker.payloadUsesValueFromOperand(input))
      continue;
    auto argument = dyn_cast<BlockArgument>(source);
    bool isOperand = argument && !isWritten(argument);
    for (Operation *op = maker->getNextNode(); op; op = op->getNextNode()) {
      auto generic = dyn_cast<linalg::GenericOp>(op);
      for (OpOperand &target : generic ? generic.getDpsInitsMutable()
                                       : MutableOperandRange(op, 0, 0)) {
        Value root = getBuffer(target.get());
        if (root == source)
          return true;
        if (!isOperand || !isa<BlockArgument>(root) ||
            root.getType() != source.getType())
          continue;
        // It may be in place of what it reads, at the element that it writes.
        AffineMap map =
            maker.getMatchingIndexingMap(input).replaceDimsAndSymbols(
                mapLoops(maker, operand), {}, reader.getNumLoops(), 0);
        if (op != reader || map != reader.getMatchingIndexingMap(&target))
          return true;
      }
      if (op == reader)
        break;
    }
  }
  return false;
}

static bool mayInline(linalg::GenericOp maker, linalg::GenericOp reader,
                      Value value) {
  if (!maker->isBeforeInBlock(reader) ||
      (reader.getNumReductionLoops() != 0 && reader->getNumOperands() == 3 &&
       isContractionBody(*reader.getBody())))
    return false;
  for (OpOperand *operand : reader.getDpsInputOperands()) {
    if (operand->get() != value)
      continue;
    for (AffineExpr expr : mapLoops(maker, operand))
      if (!isa_and_nonnull<AffineDimExpr, AffineConstantExpr>(expr))
        return false;
    if (isOverwritten(maker, reader, operand))
      return false;
  }
  return true;
}

/// Computes in `reader` what it reads of `value`. The operand stays, as it may
/// be the only one that tells a loop's size.
static void inlineMaker(linalg::GenericOp maker, linalg::GenericOp reader,
                        Value value) {
  OpBuilder builder(reader);
  Location loc = reader.getLoc();
  SmallVector<Value> inputs(reader.getInputs());
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  SmallVector<unsigned> places;
  SmallVector<SmallVector<AffineExpr>> loops;
  unsigned numInputs = inputs.size();
  for (OpOperand *operand : reader.getDpsInputOperands()) {
    if (operand->get() != value)
      continue;
    places.push_back(operand->getOperandNumber());
    loops.push_back(mapLoops(maker, operand));
    for (OpOperand *input : maker.getDpsInputOperands()) {
      maps.insert(maps.begin() + inputs.size(),
                  maker.getMatchingIndexingMap(input).replaceDimsAndSymbols(
                      loops.back(), {}, reader.getNumLoops(), 0));
      inputs.push_back(input->get());
    }
  }
  auto result = linalg::GenericOp::create(
      builder, loc, TypeRange(), inputs, reader.getOutputs(), maps,
      reader.getIteratorTypesArray(), nullptr,
      llvm::to_vector(reader->getDiscardableAttrs()));
  result.getRegion().takeBody(reader.getRegion());
  Block *body = result.getBody();
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  unsigned next = numInputs;
  for (auto [place, exprs] : llvm::zip(places, loops)) {
    IRMapping mapping;
    for (BlockArgument argument : maker.getBody()->getArguments().drop_back(1))
      mapping.map(argument, body->insertArgument(next++, argument.getType(),
                                                 argument.getLoc()));
    auto emitLoop = [&, &exprs = exprs](OpBuilder &at, unsigned loop) -> Value {
      if (auto dim = dyn_cast<AffineDimExpr>(exprs[loop]))
        return linalg::IndexOp::create(at, loc, dim.getPosition());
      return emitIndex(at, loc,
                       cast<AffineConstantExpr>(exprs[loop]).getValue());
    };
    for (Operation &op : maker.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(op)) {
        mapping.map(index.getResult(), emitLoop(inner, index.getDim()));
        continue;
      }
      SmallVector<linalg::IndexOp> nested;
      inner.clone(op, mapping)->walk([&](linalg::IndexOp index) {
        nested.push_back(index);
      });
      for (linalg::IndexOp index : nested) {
        OpBuilder at(index);
        index.getResult().replaceAllUsesWith(emitLoop(at, index.getDim()));
        index.erase();
      }
    }
    Value made = maker.getBody()->getTerminator()->getOperand(0);
    body->getArgument(place).replaceAllUsesWith(mapping.lookupOrDefault(made));
  }
  reader.erase();
}

bool remat::cuda::recomputeInReaders(memref::AllocOp alloc, bool some) {
  std::optional<Use> use = findUse(alloc);
  if (!use)
    return false;
  SmallVector<linalg::GenericOp> readers;
  for (linalg::GenericOp reader : use->readers)
    if (mayInline(use->maker, reader, alloc))
      readers.push_back(reader);
  bool isComplete = readers.size() == use->readers.size();
  if (readers.empty() || (!some && !isComplete))
    return false;
  for (linalg::GenericOp reader : readers)
    inlineMaker(use->maker, reader, alloc);
  if (isComplete)
    use->maker.erase();
  return true;
}
