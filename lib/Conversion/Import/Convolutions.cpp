//===- Convolutions.cpp - convolutions as remat.conv ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linalg has one op for each layout of a convolution. All are told apart by
// their indexing maps, so those, and not the names, are what is read here.
//
//===----------------------------------------------------------------------===//

#include "FilterGradients.h"

#include "mlir/Dialect/Tensor/Utils/Utils.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCONVOLUTIONSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Reading indexing maps
//===----------------------------------------------------------------------===//

namespace {
/// A spatial dimension: the input is read at `output * stride + window *
/// dilation`.
struct Spatial {
  unsigned output, window;
  int64_t stride, dilation;
};

/// The loops of a convolution by their part in it.
struct ConvLoops {
  SmallVector<unsigned> batch, groups, inputFeatures, outputFeatures;
  SmallVector<Spatial> spatial;
};

/// For each logical dimension of a factor, the dimensions of its tensor that
/// make it up, outermost first.
using DimGroups = SmallVector<SmallVector<int64_t>>;
} // namespace

/// Splits `dim * constant` or `dim`.
static std::optional<std::pair<unsigned, int64_t>> matchTerm(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return std::make_pair(dim.getPosition(), int64_t(1));
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return {};
  auto dim = dyn_cast<AffineDimExpr>(product.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!dim || !factor || factor.getValue() <= 0)
    return {};
  return std::make_pair(dim.getPosition(), factor.getValue());
}

static std::optional<Spatial> matchSpatial(AffineExpr expr, AffineMap filter,
                                           AffineMap output) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return {};
  auto a = matchTerm(sum.getLHS()), b = matchTerm(sum.getRHS());
  if (!a || !b)
    return {};
  if (!output.isFunctionOfDim(a->first))
    std::swap(a, b);
  if (!output.isFunctionOfDim(a->first) || filter.isFunctionOfDim(a->first) ||
      output.isFunctionOfDim(b->first) || !filter.isFunctionOfDim(b->first))
    return {};
  return Spatial{a->first, b->first, a->second, b->second};
}

/// Finds the part of every loop. The maps are those of input, filter, output.
static std::optional<ConvLoops>
matchConvLoops(AffineMap input, AffineMap filter, AffineMap output) {
  if (!filter.isProjectedPermutation() || !output.isProjectedPermutation())
    return {};
  ConvLoops loops;
  llvm::SmallBitVector seen(input.getNumDims());
  llvm::SmallBitVector direct(input.getNumDims());
  for (AffineExpr expr : input.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (seen.test(dim.getPosition()))
        return {};
      seen.set(dim.getPosition());
      direct.set(dim.getPosition());
      continue;
    }
    std::optional<Spatial> spatial = matchSpatial(expr, filter, output);
    if (!spatial || seen.test(spatial->output) || seen.test(spatial->window))
      return {};
    seen.set(spatial->output);
    seen.set(spatial->window);
    loops.spatial.push_back(*spatial);
  }
  if (loops.spatial.empty())
    return {};
  auto isSpatial = [&](unsigned dim) {
    return seen.test(dim) && !direct.test(dim);
  };
  for (unsigned i = 0, e = output.getNumResults(); i < e; ++i) {
    unsigned dim = output.getDimPosition(i);
    bool inFilter = filter.isFunctionOfDim(dim);
    if (isSpatial(dim))
      continue;
    if (direct.test(dim))
      (inFilter ? loops.groups : loops.batch).push_back(dim);
    else if (inFilter)
      loops.outputFeatures.push_back(dim);
    else
      return {};
  }
  for (unsigned i = 0, e = filter.getNumResults(); i < e; ++i) {
    unsigned dim = filter.getDimPosition(i);
    if (isSpatial(dim) || output.isFunctionOfDim(dim))
      continue;
    if (!direct.test(dim))
      return {};
    loops.inputFeatures.push_back(dim);
  }
  // A loop over the input alone sums it; that is no convolution.
  for (unsigned dim : direct.set_bits())
    if (!filter.isFunctionOfDim(dim) && !output.isFunctionOfDim(dim))
      return {};
  return loops;
}

/// Appends the tensor dimensions that the loops index to one group.
static void addGroup(DimGroups &groups, AffineMap map,
                     ArrayRef<ArrayRef<unsigned>> loopLists) {
  SmallVector<int64_t> &group = groups.emplace_back();
  for (ArrayRef<unsigned> loops : loopLists)
    for (unsigned loop : loops)
      for (unsigned i = 0, e = map.getNumResults(); i < e; ++i)
        if (map.getResult(i).isFunctionOfDim(loop))
          group.push_back(i);
}

//===----------------------------------------------------------------------===//
// Merging dimensions
//===----------------------------------------------------------------------===//

namespace {
/// How a tensor becomes one with a dimension for each group: by a transpose
/// where the dimensions of a group are not adjacent, a reshape that merges
/// them, and a reshape that adds dimensions of size one for empty groups.
struct Canonical {
  SmallVector<int64_t> permutation; // Empty for none.
  SmallVector<ReassociationIndices> merge, add;
  RankedTensorType original, transposed, merged, type;
  SmallVector<int64_t> layout;
};
} // namespace

static bool isAdjacent(ArrayRef<int64_t> dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i] != dims[i - 1] + 1)
      return false;
  return true;
}

static Canonical getCanonical(RankedTensorType type, DimGroups groups) {
  Canonical result;
  result.original = result.transposed = type;
  if (!llvm::all_of(groups, isAdjacent)) {
    for (SmallVector<int64_t> &group : groups)
      for (int64_t &dim : group) {
        result.permutation.push_back(dim);
        dim = result.permutation.size() - 1;
      }
    result.transposed = RankedTensorType::get(
        applyPermutation(type.getShape(), result.permutation),
        type.getElementType());
  }
  // Groups in the order of the tensor, empty ones last.
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, groups.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    auto key = [&](unsigned group) {
      int64_t first = groups[group].empty() ? INT64_MAX : groups[group].front();
      return std::make_pair(first, group);
    };
    return key(a) < key(b);
  });
  SmallVector<int64_t> mergedShape, shape;
  result.layout.resize(groups.size());
  for (auto [position, group] : llvm::enumerate(order)) {
    result.layout[group] = position;
    int64_t size = 1;
    for (int64_t dim : groups[group])
      size *= result.transposed.getDimSize(dim);
    shape.push_back(size);
    if (groups[group].empty()) {
      result.add.back().push_back(position);
      continue;
    }
    mergedShape.push_back(size);
    result.merge.emplace_back(groups[group].begin(), groups[group].end());
    result.add.push_back({static_cast<int64_t>(position)});
  }
  result.merged = RankedTensorType::get(mergedShape, type.getElementType());
  result.type = RankedTensorType::get(shape, type.getElementType());
  return result;
}

static Value transpose(OpBuilder &builder, Location loc, Value value,
                       ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  Value init = tensor::EmptyOp::create(
      builder, loc, applyPermutation(type.getShape(), permutation),
      type.getElementType());
  return linalg::TransposeOp::create(builder, loc, value, init, permutation)
      ->getResult(0);
}

static Value toCanonical(OpBuilder &builder, Location loc, Value value,
                         const Canonical &canonical) {
  if (!canonical.permutation.empty())
    value = transpose(builder, loc, value, canonical.permutation);
  if (canonical.merged != canonical.transposed)
    value = tensor::CollapseShapeOp::create(builder, loc, canonical.merged,
                                            value, canonical.merge);
  if (canonical.type != canonical.merged)
    value = tensor::ExpandShapeOp::create(builder, loc, canonical.type, value,
                                          canonical.add);
  return value;
}

static Value fromCanonical(OpBuilder &builder, Location loc, Value value,
                           const Canonical &canonical) {
  if (canonical.type != canonical.merged)
    value = tensor::CollapseShapeOp::create(builder, loc, canonical.merged,
                                            value, canonical.add);
  if (canonical.merged != canonical.transposed)
    value = tensor::ExpandShapeOp::create(builder, loc, canonical.transposed,
                                          value, canonical.merge);
  if (!canonical.permutation.empty())
    value = transpose(builder, loc, value,
                      invertPermutationVector(canonical.permutation));
  return value;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// If `input` is padded by zeros in spatial dimensions only, reads what is
/// padded instead and adds to `padding`, a low and a high amount for each.
static Value foldPad(Value input, ArrayRef<int64_t> spatialDims,
                     SmallVectorImpl<int64_t> &padding) {
  auto pad = input.getDefiningOp<tensor::PadOp>();
  if (!pad)
    return input;
  Value value = pad.getConstantPaddingValue();
  if (!value ||
      !(matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero())))
    return input;
  SmallVector<int64_t> folded(padding.begin(), padding.end());
  for (auto [dim, low, high] :
       llvm::enumerate(pad.getMixedLowPad(), pad.getMixedHighPad())) {
    std::optional<int64_t> lowSize = getConstantIntValue(low);
    std::optional<int64_t> highSize = getConstantIntValue(high);
    if (!lowSize || !highSize || *lowSize < 0 || *highSize < 0)
      return input;
    auto it = llvm::find(spatialDims, static_cast<int64_t>(dim));
    if (it != spatialDims.end()) {
      folded[2 * (it - spatialDims.begin())] += *lowSize;
      folded[2 * (it - spatialDims.begin()) + 1] += *highSize;
    } else if (*lowSize != 0 || *highSize != 0) {
      return input;
    }
  }
  padding.assign(folded);
  return pad.getSource();
}

/// Cuts off what another window would fit into: `remat.conv` has as many
/// outputs as fit.
static Value trimInput(OpBuilder &builder, Location loc, Value input,
                       ArrayRef<int64_t> spatialDims,
                       ArrayRef<int64_t> neededSizes,
                       ArrayRef<int64_t> strides) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> sizes = llvm::to_vector(type.getShape());
  for (auto [dim, needed, stride] :
       llvm::zip(spatialDims, neededSizes, strides))
    if (sizes[dim] - needed >= stride)
      sizes[dim] = needed;
  if (ArrayRef<int64_t>(sizes) == type.getShape())
    return input;
  auto toAttrs = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  return tensor::ExtractSliceOp::create(
      builder, loc, input, toAttrs(SmallVector<int64_t>(sizes.size(), 0)),
      toAttrs(sizes), toAttrs(SmallVector<int64_t>(sizes.size(), 1)));
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static void convertConvolution(RewriterBase &rewriter, linalg::LinalgOp op) {
  if (isa<linalg::ContractOp>(op.getOperation()) || !matchContractionBody(op) ||
      !op.hasPureTensorSemantics())
    return;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  Value input = op.getDpsInputs()[0], filter = op.getDpsInputs()[1];
  if (maps[0].isProjectedPermutation()) {
    std::swap(maps[0], maps[1]);
    std::swap(input, filter);
  }
  std::optional<ConvLoops> loops = matchConvLoops(maps[0], maps[1], maps[2]);
  Type elementType = getElementTypeOrSelf(op->getResult(0));
  if (!loops || getElementTypeOrSelf(input) != elementType ||
      getElementTypeOrSelf(filter) != elementType)
    return;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (llvm::is_contained(sizes, 0))
    return;

  DimGroups inputGroups, filterGroups, outputGroups;
  addGroup(inputGroups, maps[0], {loops->batch});
  addGroup(inputGroups, maps[0], {loops->groups, loops->inputFeatures});
  addGroup(filterGroups, maps[1], {loops->groups, loops->outputFeatures});
  addGroup(filterGroups, maps[1], {loops->inputFeatures});
  addGroup(outputGroups, maps[2], {loops->batch});
  addGroup(outputGroups, maps[2], {loops->groups, loops->outputFeatures});
  SmallVector<int64_t> strides, dilations, spatialDims, neededSizes;
  for (const Spatial &spatial : loops->spatial) {
    addGroup(inputGroups, maps[0], {spatial.output});
    addGroup(filterGroups, maps[1], {spatial.window});
    addGroup(outputGroups, maps[2], {spatial.output});
    strides.push_back(spatial.stride);
    dilations.push_back(spatial.dilation);
    spatialDims.push_back(inputGroups.back().front());
    neededSizes.push_back((sizes[spatial.output] - 1) * spatial.stride +
                          (sizes[spatial.window] - 1) * spatial.dilation + 1);
  }
  int64_t groups = 1;
  for (unsigned loop : loops->groups)
    groups *= sizes[loop];

  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<int64_t> padding(2 * loops->spatial.size(), 0);
  Value trimmed =
      trimInput(rewriter, loc, input, spatialDims, neededSizes, strides);
  input = trimmed == input ? foldPad(input, spatialDims, padding) : trimmed;
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  Canonical x = getCanonical(typeOf(input), inputGroups);
  Canonical w = getCanonical(typeOf(filter), filterGroups);
  Canonical y = getCanonical(typeOf(op->getResult(0)), outputGroups);
  Value result =
      ConvOp::create(rewriter, loc, y.type, ConvKind::Forward,
                     toCanonical(rewriter, loc, input, x),
                     toCanonical(rewriter, loc, filter, w), strides, dilations,
                     padding, groups, x.layout, w.layout, y.layout);
  result = fromCanonical(rewriter, loc, result, y);
  Value init = op.getDpsInits()[0];
  if (!isZeroTensor(init))
    result = createSum(rewriter, loc, result, init);
  rewriter.replaceOp(op, result);
}

namespace {
struct ImportConvolutions
    : public remat::impl::ImportConvolutionsPassBase<ImportConvolutions> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    for (linalg::LinalgOp op : collectOps<linalg::LinalgOp>(getOperation()))
      convertConvolution(rewriter, op);
    for (ConvOp op : collectOps<ConvOp>(getOperation()))
      import::recognizeFilterGradient(rewriter, op);
  }
};
} // namespace
