//===- PartialResults.cpp - results that are written in part --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The map of a result may select every second element, a column, or a diagonal
// of it; the others are those of the init. What comes after import takes a
// structured operation to write all of its results.
//
//===----------------------------------------------------------------------===//

#include "PartialResults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

#include "remat/Utils/Structured.h"
#include "remat/Utils/WrittenElements.h"

using namespace mlir;
using namespace remat;

namespace {
/// The elements of `whole` at `coordinates`, as a tensor of their own.
class Part {
public:
  Part(RewriterBase &rewriter, linalg::GenericOp generic, OpOperand *init);

  /// Whether the elements are a slice or a diagonal.
  bool isSupported() const { return isSlice() || isDiagonal(); }
  /// The map to the part.
  AffineMap getMap() const;
  Value createEmpty();
  Value read();
  /// `whole` with the elements of `part`.
  Value insert(Value part);

private:
  bool isSlice() const;
  bool isDiagonal() const;
  int64_t getSize(const Coordinate &coordinate) const {
    return coordinate.loop ? sizes[*coordinate.loop] : 1;
  }
  SmallVector<int64_t> getShape() const;
  /// The number in `loops` of what `coordinate` is.
  unsigned getDim(const Coordinate &coordinate) const {
    return llvm::find(loops, *coordinate.loop) - loops.begin();
  }
  Value insertDiagonal(Value part);
  void getSlice(SmallVectorImpl<OpFoldResult> &offsets,
                SmallVectorImpl<OpFoldResult> &extents,
                SmallVectorImpl<OpFoldResult> &strides);

  RewriterBase &rewriter;
  Location loc;
  Value whole;
  RankedTensorType type;
  SmallVector<int64_t> sizes;
  SmallVector<Coordinate> coordinates;
  /// The loops that select elements, in the order of the dimensions.
  llvm::SetVector<unsigned> loops;
};
} // namespace

Part::Part(RewriterBase &rewriter, linalg::GenericOp generic, OpOperand *init)
    : rewriter(rewriter), loc(generic.getLoc()), whole(init->get()),
      type(cast<RankedTensorType>(whole.getType())),
      sizes(getLoopSizes(generic)) {
  AffineMap map = generic.getMatchingIndexingMap(init);
  if (auto found = getCoordinates(map))
    coordinates = *found;
  for (const Coordinate &coordinate : coordinates)
    if (coordinate.loop)
      loops.insert(*coordinate.loop);
}

/// Whether no loop indexes two dimensions.
bool Part::isSlice() const {
  return int64_t(coordinates.size()) == type.getRank() &&
         int64_t(loops.size()) ==
             llvm::count_if(coordinates, [](const Coordinate &coordinate) {
               return coordinate.loop.has_value();
             });
}

bool Part::isDiagonal() const {
  return int64_t(coordinates.size()) == type.getRank() &&
         llvm::all_of(coordinates, [](const Coordinate &coordinate) {
           return !coordinate.loop ||
                  (coordinate.stride == 1 && coordinate.offset == 0);
         });
}

SmallVector<int64_t> Part::getShape() const {
  if (isSlice())
    return llvm::map_to_vector(coordinates, [&](const Coordinate &coordinate) {
      return getSize(coordinate);
    });
  return llvm::map_to_vector(loops, [&](unsigned loop) { return sizes[loop]; });
}

AffineMap Part::getMap() const {
  SmallVector<AffineExpr> exprs;
  if (isSlice())
    for (const Coordinate &coordinate : coordinates) {
      // Strides of slices are positive, so a loop may run backwards in it.
      AffineExpr expr = coordinate.loop
                            ? rewriter.getAffineDimExpr(*coordinate.loop)
                            : rewriter.getAffineConstantExpr(0);
      exprs.push_back(coordinate.stride < 0 ? getSize(coordinate) - 1 - expr
                                            : expr);
    }
  else
    for (unsigned loop : loops)
      exprs.push_back(rewriter.getAffineDimExpr(loop));
  return AffineMap::get(sizes.size(), 0, exprs, rewriter.getContext());
}

Value Part::createEmpty() {
  return tensor::EmptyOp::create(rewriter, loc, getShape(),
                                 type.getElementType());
}

void Part::getSlice(SmallVectorImpl<OpFoldResult> &offsets,
                    SmallVectorImpl<OpFoldResult> &extents,
                    SmallVectorImpl<OpFoldResult> &strides) {
  for (const Coordinate &coordinate : coordinates) {
    int64_t size = getSize(coordinate);
    int64_t last = coordinate.offset + coordinate.stride * (size - 1);
    offsets.push_back(rewriter.getIndexAttr(std::min(coordinate.offset, last)));
    extents.push_back(rewriter.getIndexAttr(size));
    strides.push_back(rewriter.getIndexAttr(
        coordinate.loop ? std::abs(coordinate.stride) : 1));
  }
}

/// The elements of `whole`.
Value Part::read() {
  if (isSlice()) {
    SmallVector<OpFoldResult> offsets, extents, strides;
    getSlice(offsets, extents, strides);
    return tensor::ExtractSliceOp::create(rewriter, loc, whole, offsets,
                                          extents, strides);
  }
  SmallVector<AffineExpr> exprs;
  for (const Coordinate &coordinate : coordinates)
    exprs.push_back(coordinate.loop
                        ? rewriter.getAffineDimExpr(getDim(coordinate))
                        : rewriter.getAffineConstantExpr(coordinate.offset));
  Value empty = createEmpty();
  SmallVector<AffineMap> maps = {
      AffineMap::get(loops.size(), 0, exprs, rewriter.getContext()),
      rewriter.getMultiDimIdentityMap(loops.size())};
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, empty.getType(), whole, empty, maps, iterators,
             [](OpBuilder &nested, Location loc, ValueRange args) {
               linalg::YieldOp::create(nested, loc, args[0]);
             })
      .getResult(0);
}

Value Part::insert(Value part) {
  if (!isSlice())
    return insertDiagonal(part);
  SmallVector<OpFoldResult> offsets, extents, strides;
  getSlice(offsets, extents, strides);
  return tensor::InsertSliceOp::create(rewriter, loc, part, whole, offsets,
                                       extents, strides);
}

/// Selects between the two for each element of `whole`.
Value Part::insertDiagonal(Value part) {
  // The first dimension that each loop indexes.
  SmallVector<unsigned> first(loops.size());
  for (unsigned dim = coordinates.size(); dim-- > 0;)
    if (coordinates[dim].loop)
      first[getDim(coordinates[dim])] = dim;
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : first)
    exprs.push_back(rewriter.getAffineDimExpr(dim));
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps = {
      AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext()), identity,
      identity};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value isPart;
    for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
      if (coordinate.loop && first[getDim(coordinate)] == dim)
        continue;
      Value expected =
          coordinate.loop
              ? linalg::IndexOp::create(nested, loc, first[getDim(coordinate)])
                    .getResult()
              : arith::ConstantIndexOp::create(nested, loc, coordinate.offset)
                    .getResult();
      Value isHere = arith::CmpIOp::create(
          nested, loc, arith::CmpIPredicate::eq,
          linalg::IndexOp::create(nested, loc, dim), expected);
      isPart =
          isPart
              ? arith::AndIOp::create(nested, loc, isPart, isHere).getResult()
              : isHere;
    }
    Value element =
        arith::SelectOp::create(nested, loc, isPart, args[0], args[1]);
    linalg::YieldOp::create(nested, loc, element);
  };
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  return linalg::GenericOp::create(rewriter, loc, type, ValueRange{part, whole},
                                   empty, maps, iterators, body)
      .getResult(0);
}

FailureOr<linalg::GenericOp>
import::writeWholeResults(RewriterBase &rewriter, linalg::GenericOp generic) {
  if (!generic.hasPureTensorSemantics())
    return generic;
  SmallVector<std::pair<unsigned, Part>> parts;
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    if (writesAllElements(generic, &init))
      continue;
    unsigned number = init.getOperandNumber() - generic.getNumDpsInputs();
    Part part(rewriter, generic, &init);
    if (!part.isSupported())
      return generic.emitOpError("writes some elements of result #")
             << number << " only, by "
             << AffineMapAttr::get(generic.getMatchingIndexingMap(&init))
             << ", expected all, a slice or a diagonal";
    parts.push_back({number, part});
  }
  if (parts.empty())
    return generic;
  rewriter.setInsertionPoint(generic);
  SmallVector<Value> outputs(generic.getOutputs());
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  for (auto &[number, part] : parts) {
    OpOperand *init = generic.getDpsInitOperand(number);
    outputs[number] = generic.payloadUsesValueFromOperand(init)
                          ? part.read()
                          : part.createEmpty();
    maps[init->getOperandNumber()] = part.getMap();
  }
  auto made = linalg::GenericOp::create(
      rewriter, generic.getLoc(), ValueRange(outputs).getTypes(),
      generic.getInputs(), outputs, maps, generic.getIteratorTypesArray());
  made->setDiscardableAttrs(generic->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(generic.getRegion(), made.getRegion(),
                              made.getRegion().end());
  SmallVector<Value> results = llvm::to_vector_of<Value>(made.getResults());
  for (auto &[number, part] : parts)
    results[number] = part.insert(results[number]);
  rewriter.replaceOp(generic, results);
  return made;
}
