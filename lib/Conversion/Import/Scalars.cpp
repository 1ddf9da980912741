//===- Scalars.cpp - scalars between operations on tensors ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX takes scalars out of 0-d tensors, computes with them and captures them in
// bodies; PyTorch does so for random seeds. Tasks work on tensors only, so such
// scalars become 0-d tensors: whatever computes them is moved into the body of
// a generic.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/SliceAnalysis.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/SimplifyGeneric.h"
#include "llvm/ADT/SetVector.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTSCALARSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static bool isScalar(Value value) { return !isa<ShapedType>(value.getType()); }

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

/// The 0-d tensor that `value` is the element of, if it was extracted from one.
static Value getExtractedTensor(Value value) {
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  if (extract && extract.getIndices().empty())
    return extract.getTensor();
  return {};
}

namespace {
/// Replaces uses of function-level scalars by 0-d tensors.
class ScalarsToTensors {
public:
  explicit ScalarsToTensors(MLIRContext *context) : rewriter(context, &marks) {}

  /// Rewrites `op` if it uses function-level scalars that are not constants.
  void convert(Operation *op);

  /// Has a region give 0-d tensors in place of scalars.
  void convertResults(Operation *region);

private:
  bool collectSlice(Value scalar, llvm::SetVector<Operation *> &slice);
  Value getTensor(Value scalar);
  Value broadcast(Location loc, Value tensor, RankedTensorType type);
  void convertFill(linalg::FillOp fill);
  void convertFromElements(tensor::FromElementsOp op);
  void convertInsert(tensor::InsertOp insert);
  void convertGeneric(linalg::GenericOp generic);

  BackwardMarkListener marks;
  IRRewriter rewriter;
  DenseMap<Value, Value> tensorOfScalar;
};
} // namespace

/// Collects the operations that compute `scalar` from tensors, operands first.
/// Fails if one of them cannot stand in a body.
bool ScalarsToTensors::collectSlice(Value scalar,
                                    llvm::SetVector<Operation *> &slice) {
  if (isConstant(scalar) || getExtractedTensor(scalar))
    return true;
  Operation *op = scalar.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  if (slice.contains(op))
    return true;
  for (Value operand : op->getOperands())
    if (isScalar(operand) && !collectSlice(operand, slice))
      return false;
  slice.insert(op);
  return true;
}

/// A 0-d tensor with the element `scalar`, or null if there is none.
Value ScalarsToTensors::getTensor(Value scalar) {
  if (Value tensor = getExtractedTensor(scalar))
    return tensor;
  Value &cached = tensorOfScalar[scalar];
  if (cached)
    return cached;
  llvm::SetVector<Operation *> slice;
  if (!collectSlice(scalar, slice))
    return {};

  llvm::SetVector<Value> inputs;
  SmallVector<Value> leaves;
  for (Operation *op : slice)
    for (Value operand : op->getOperands())
      if (Value tensor =
              isScalar(operand) ? getExtractedTensor(operand) : Value()) {
        inputs.insert(tensor);
        leaves.push_back(operand);
      }
  // Of the phase of the scalar, whoever reads it.
  OpBuilder builder(rewriter.getContext());
  builder.setInsertionPointAfterValue(scalar);
  Location loc = scalar.getLoc();
  Value init = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{},
                                       scalar.getType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              AffineMap::get(rewriter.getContext()));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    IRMapping mapping;
    for (Value leaf : leaves) {
      auto it = llvm::find(inputs, getExtractedTensor(leaf));
      mapping.map(leaf, args[it - inputs.begin()]);
    }
    for (Operation *op : slice)
      b.clone(*op, mapping);
    linalg::YieldOp::create(b, loc, mapping.lookupOrDefault(scalar));
  };
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange{init.getType()}, inputs.getArrayRef(),
      ValueRange{init}, maps, ArrayRef<utils::IteratorType>{}, body);
  if (Operation *source = scalar.getDefiningOp()) {
    copyBackward(source, init.getDefiningOp());
    copyBackward(source, generic);
  }
  return cached = generic.getResult(0);
}

/// A tensor of `type` all of whose elements are that of the 0-d `tensor`.
Value ScalarsToTensors::broadcast(Location loc, Value tensor,
                                  RankedTensorType type) {
  Value init = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                       type.getElementType());
  unsigned rank = type.getRank();
  SmallVector<AffineMap> maps = {AffineMap::get(rank, 0, rewriter.getContext()),
                                 rewriter.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange{type}, ValueRange{tensor},
             ValueRange{init}, maps, iterators,
             [](OpBuilder &b, Location loc, ValueRange args) {
               linalg::YieldOp::create(b, loc, args[0]);
             })
      .getResult(0);
}

void ScalarsToTensors::convertFill(linalg::FillOp fill) {
  if (isConstant(fill.value()) || !isScalar(fill.value()))
    return;
  Value tensor = getTensor(fill.value());
  if (!tensor)
    return;
  auto type = cast<RankedTensorType>(fill.getResult(0).getType());
  // A fill may cast.
  if (getElementTypeOrSelf(tensor) != type.getElementType())
    return;
  rewriter.setInsertionPoint(fill);
  rewriter.replaceOp(fill, broadcast(fill.getLoc(), tensor, type));
}

void ScalarsToTensors::convertFromElements(tensor::FromElementsOp op) {
  RankedTensorType type = op.getType();
  if (type.getNumElements() == 0 || llvm::all_of(op.getElements(), isConstant))
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<Value> parts;
  auto partType = RankedTensorType::get({1}, type.getElementType());
  for (Value element : op.getElements()) {
    Value part;
    if (isConstant(element)) {
      Value empty = tensor::EmptyOp::create(rewriter, loc, partType.getShape(),
                                            type.getElementType());
      part = linalg::FillOp::create(rewriter, loc, element, empty).getResult(0);
    } else {
      Value tensor = getTensor(element);
      if (!tensor)
        return;
      if (type.getRank() == 0)
        return rewriter.replaceOp(op, tensor);
      part = tensor::ExpandShapeOp::create(rewriter, loc, partType, tensor,
                                           ArrayRef<ReassociationIndices>{});
    }
    parts.push_back(part);
  }
  Value joined = parts.size() == 1
                     ? parts.front()
                     : tensor::ConcatOp::create(rewriter, loc, 0, parts);
  if (joined.getType() != type) {
    ReassociationIndices all =
        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    joined = tensor::ExpandShapeOp::create(rewriter, loc, type, joined,
                                           ArrayRef<ReassociationIndices>{all});
  }
  rewriter.replaceOp(op, joined);
}

/// An insertion into a tensor of one element replaces all of it.
void ScalarsToTensors::convertInsert(tensor::InsertOp insert) {
  auto type = cast<RankedTensorType>(insert.getType());
  if (type.getNumElements() != 1 || type.getRank() != 0)
    return;
  rewriter.setInsertionPoint(insert);
  auto elements = tensor::FromElementsOp::create(
      rewriter, insert.getLoc(), type, ValueRange{insert.getScalar()});
  rewriter.replaceOp(insert, elements);
  convertFromElements(elements);
}

/// Makes operands of the function-level scalars that `generic` reads.
void ScalarsToTensors::convertGeneric(linalg::GenericOp generic) {
  llvm::SetVector<Value> scalars;
  for (Value input : generic.getDpsInputs())
    if (isScalar(input))
      scalars.insert(input);
  generic.getBody()->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isScalar(operand) && !isConstant(operand) &&
          !generic.getRegion().isAncestor(operand.getParentRegion()))
        scalars.insert(operand);
  });
  if (scalars.empty())
    return;

  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  Block *body = generic.getBody();
  unsigned loops = generic.getNumLoops();
  rewriter.setInsertionPoint(generic);
  AffineMap scalarMap = AffineMap::get(loops, 0, rewriter.getContext());
  // Inputs that are scalars already have a block argument.
  SmallVector<AffineMap> oldMaps = generic.getIndexingMapsArray();
  for (OpOperand *input : generic.getDpsInputOperands()) {
    Value value = input->get();
    AffineMap map = oldMaps[input->getOperandNumber()];
    if (isScalar(value) && !isConstant(value))
      if (Value tensor = getTensor(value)) {
        value = tensor;
        map = scalarMap;
      }
    inputs.push_back(value);
    maps.push_back(map);
  }
  for (Value scalar : scalars) {
    Value tensor = isConstant(scalar) ? Value() : getTensor(scalar);
    if (!tensor)
      continue;
    BlockArgument argument =
        body->insertArgument(inputs.size(), scalar.getType(), generic.getLoc());
    inputs.push_back(tensor);
    maps.push_back(scalarMap);
    scalar.replaceUsesWithIf(argument, [&](OpOperand &use) {
      return generic.getRegion().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  for (OpOperand &init : generic.getDpsInitsMutable())
    maps.push_back(oldMaps[init.getOperandNumber()]);
  rewriter.modifyOpInPlace(generic, [&] {
    generic.getInputsMutable().assign(inputs);
    generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

void ScalarsToTensors::convertResults(Operation *region) {
  Operation *yield = region->getRegion(0).front().getTerminator();
  for (OpResult result : region->getResults()) {
    if (!isScalar(result))
      continue;
    auto type = RankedTensorType::get({}, result.getType());
    OpOperand &yielded = yield->getOpOperand(result.getResultNumber());
    rewriter.setInsertionPoint(yield);
    yielded.set(tensor::FromElementsOp::create(rewriter, region->getLoc(), type,
                                               ValueRange{yielded.get()}));
    result.setType(type);
    rewriter.setInsertionPointAfter(region);
    auto scalar = tensor::ExtractOp::create(rewriter, region->getLoc(), result,
                                            ValueRange());
    result.replaceAllUsesExcept(scalar, scalar);
  }
}

void ScalarsToTensors::convert(Operation *op) {
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    convertFill(fill);
  else if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    convertFromElements(elements);
  else if (auto insert = dyn_cast<tensor::InsertOp>(op))
    convertInsert(insert);
  else if (auto generic = dyn_cast<linalg::GenericOp>(op))
    convertGeneric(generic);
}

namespace {
struct ImportScalars
    : public remat::impl::ImportScalarsPassBase<ImportScalars> {
  void runOnOperation() override {
    ScalarsToTensors converter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (isa<CheckpointOp, ScopeOp>(op))
        converter.convertResults(op);
    });
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                       : WalkResult::advance();
    });
    for (Operation *op : ops)
      converter.convert(op);
    // What read constant tensors reads scalar constants now.
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp generic :
         collectOps<linalg::GenericOp>(getOperation()))
      simplifyGeneric(rewriter, generic);
  }
};
} // namespace
