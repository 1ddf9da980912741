//===- Convolutions.cpp - convolutions of any layout ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What StableHLO calls left and right are the input and the filter. An input
// with zeros between its elements is that of a transposed convolution: the
// gradient of another convolution with respect to its input, with the filter
// turned around. Groups of the batch become groups of features.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// The place of batch (or output feature), feature and spatial dimensions in
/// `[b, f, 0, 1]`; empty if it is none.
static SmallVector<int64_t> parseLayout(StringRef text, StringRef first,
                                        StringRef second) {
  SmallVector<StringRef> parts;
  text.trim("[]").split(parts, ',');
  SmallVector<int64_t> layout(parts.size(), -1);
  for (auto [dim, part] : llvm::enumerate(parts)) {
    part = part.trim();
    uint64_t spatial;
    if (part == first)
      layout[0] = dim;
    else if (part == second && layout.size() > 1)
      layout[1] = dim;
    else if (!part.getAsInteger(10, spatial) && spatial + 2 < layout.size())
      layout[spatial + 2] = dim;
  }
  if (layout.size() < 2 || llvm::is_contained(layout, -1))
    return {};
  return layout;
}

namespace {
class Convolution {
public:
  Convolution(Operation *op, Lowering &lowering)
      : op(op), builder(lowering.builder), loc(op->getLoc()),
        type(lowering.getTensorType(op->getResult(0))) {
    // Of narrow numbers the products may be asked for in a wider type.
    Value *sides[] = {&input, &filter};
    for (auto [number, side] : llvm::enumerate(sides))
      *side = createConverted(
          builder, loc, lowering.get(op->getOperand(number)),
          type.getElementType(), isUnsigned(op->getOperand(number)));
  }

  LogicalResult read();
  Value build();

private:
  LogicalResult check();
  void mergeBatchGroups();
  Value buildTransposed();
  int64_t getSize(Value value, int64_t dim) const {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  }

  Operation *op;
  OpBuilder &builder;
  Location loc;
  Value input, filter;
  RankedTensorType type;
  SmallVector<int64_t> inputLayout, filterLayout, outputLayout;
  SmallVector<int64_t> strides, inputDilations, dilations, padding;
  int64_t groups = 1, batchGroups = 1;
};
} // namespace

LogicalResult Convolution::read() {
  std::string text = Fields(op, "dimension_numbers").getText().str();
  auto [left, rest] = StringRef(text).split('x');
  auto [right, result] = rest.split("->");
  inputLayout = parseLayout(left, "b", "f");
  filterLayout = parseLayout(right, "o", "i");
  outputLayout = parseLayout(result, "b", "f");
  size_t rank = type.getRank();
  for (Value side : {input, filter})
    if (cast<RankedTensorType>(side.getType()).getRank() != type.getRank())
      return op->emitOpError("has an operand of type ")
             << side.getType() << ", expected the rank of the result, " << rank;
  if (inputLayout.size() != rank || filterLayout.size() != rank ||
      outputLayout.size() != rank || rank < 3)
    return op->emitOpError("expected dimension_numbers of batch, features and "
                           "at least one spatial dimension, got ")
           << getAttr(op, "dimension_numbers");
  strides = getIntegers(op, "window_strides", rank - 2, 1);
  inputDilations = getIntegers(op, "lhs_dilation", rank - 2, 1);
  dilations = getIntegers(op, "rhs_dilation", rank - 2, 1);
  padding = getIntegers(op, "padding", 2 * (rank - 2), 0);
  groups = getInteger(op, "feature_group_count", 1);
  batchGroups = getInteger(op, "batch_group_count", 1);
  if (strides.size() != rank - 2 || inputDilations.size() != rank - 2 ||
      dilations.size() != rank - 2 || padding.size() != 2 * (rank - 2) ||
      !areAtLeast(strides, 1) || !areAtLeast(inputDilations, 1) ||
      !areAtLeast(dilations, 1))
    return op->emitOpError("expected one stride and dilation, of at least 1, "
                           "and two paddings for each spatial dimension");
  return check();
}

/// Refuses groups that do not divide the features, and a result of another
/// shape.
LogicalResult Convolution::check() {
  int64_t batch = getSize(input, inputLayout[0]),
          features = getSize(input, inputLayout[1]),
          filters = getSize(filter, filterLayout[0]);
  if (groups < 1 || batchGroups < 1 || (groups > 1 && batchGroups > 1) ||
      features % groups != 0 || batch % batchGroups != 0 ||
      filters % groups != 0 || filters % batchGroups != 0)
    return op->emitOpError("has feature_group_count ")
           << groups << " and batch_group_count " << batchGroups
           << ", expected divisors of the " << features << " and " << filters
           << " features and of the batch of " << batch;
  if (getSize(filter, filterLayout[1]) != features / groups)
    return op->emitOpError("has a filter of ")
           << getSize(filter, filterLayout[1]) << " features, expected "
           << features / groups;
  SmallVector<int64_t> shape(type.getRank());
  shape[outputLayout[0]] = batch / batchGroups;
  shape[outputLayout[1]] = filters;
  for (unsigned i = 0; i < strides.size(); ++i) {
    int64_t size = getSize(input, inputLayout[i + 2]),
            window = getSize(filter, filterLayout[i + 2]);
    FailureOr<int64_t> padded = getPaddedSize(
        op, size, inputDilations[i], padding[2 * i], padding[2 * i + 1]);
    if (failed(padded))
      return failure();
    window = getSpread(window, dilations[i]);
    shape[outputLayout[i + 2]] =
        *padded < window ? 0 : (*padded - window) / strides[i] + 1;
  }
  return checkShape(op, shape);
}

/// Groups of the batch, which are the slow part of it, become the slow part of
/// the features.
void Convolution::mergeBatchGroups() {
  if (batchGroups == 1)
    return;
  auto from = cast<RankedTensorType>(input.getType());
  int64_t batch = inputLayout[0], feature = inputLayout[1];
  SmallVector<int64_t> split(from.getShape());
  split[batch] /= batchGroups;
  split.insert(split.begin() + batch, batchGroups);
  input = createReshape(builder, loc, input, split);
  // The group goes in front of the features.
  SmallVector<int64_t> permutation, merged;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t now = dim < batch ? dim : dim + 1;
    if (dim == feature)
      permutation.push_back(batch);
    permutation.push_back(now);
    merged.push_back(dim == batch     ? split[batch + 1]
                     : dim == feature ? from.getDimSize(dim) * batchGroups
                                      : from.getDimSize(dim));
  }
  input = createTranspose(builder, loc, input, permutation);
  input = createReshape(builder, loc, input, merged);
  groups = batchGroups;
}

/// As the gradient of a convolution with respect to its input; nothing if that
/// is not what this is.
Value Convolution::buildTransposed() {
  bool isDilated =
      llvm::any_of(inputDilations, [](int64_t d) { return d > 1; });
  if (!isDilated || groups != 1 ||
      llvm::any_of(strides, [](int64_t stride) { return stride != 1; }))
    return {};
  SmallVector<int64_t> own, turned;
  for (unsigned i = 0; i < strides.size(); ++i) {
    int64_t reach = (getSize(filter, filterLayout[i + 2]) - 1) * dilations[i];
    own.push_back(reach - padding[2 * i]);
    own.push_back(reach - padding[2 * i + 1]);
    turned.push_back(filterLayout[i + 2]);
  }
  if (llvm::any_of(own, [](int64_t amount) { return amount < 0; }))
    return {};
  SmallVector<int64_t> swapped(filterLayout);
  std::swap(swapped[0], swapped[1]);
  return ConvOp::create(builder, loc, type, ConvKind::InputGrad, input,
                        createReversed(builder, loc, filter, turned),
                        inputDilations, dilations, own, 1, outputLayout,
                        swapped, inputLayout);
}

Value Convolution::build() {
  SmallVector<int64_t> reversal = getIntegers(op, "window_reversal"), turned;
  for (unsigned i = 0; i < reversal.size() && i < strides.size(); ++i)
    if (reversal[i])
      turned.push_back(filterLayout[i + 2]);
  filter = createReversed(builder, loc, filter, turned);
  if (type.getNumElements() == 0 ||
      cast<RankedTensorType>(input.getType()).getNumElements() == 0 ||
      cast<RankedTensorType>(filter.getType()).getNumElements() == 0)
    return createZeros(builder, loc, type);
  mergeBatchGroups();
  if (Value transposed = buildTransposed())
    return transposed;
  // What remat.conv has no word for is done to the input before.
  unsigned rank = type.getRank();
  SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0);
  for (unsigned i = 0; i < strides.size(); ++i) {
    int64_t dim = inputLayout[i + 2];
    interior[dim] = inputDilations[i] - 1;
    for (unsigned side = 0; side < 2; ++side)
      if (padding[2 * i + side] < 0) {
        (side == 0 ? low : high)[dim] = padding[2 * i + side];
        padding[2 * i + side] = 0;
      }
  }
  Value zero = createZeroConstant(builder, loc, type.getElementType());
  input = createPadded(builder, loc, input, zero, low, high, interior);
  return ConvOp::create(builder, loc, type, ConvKind::Forward, input, filter,
                        strides, dilations, padding, groups, inputLayout,
                        filterLayout, outputLayout);
}

static LogicalResult lowerConvolution(Operation *op, Lowering &lowering) {
  for (Value value :
       {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
    if (Type element = getElementTypeOrSelf(value); isa<ComplexType>(element))
      return op->emitOpError("is not supported for elements of type ")
             << element;
  Convolution convolution(op, lowering);
  if (failed(convolution.read()))
    return failure();
  return lowering.set(op, convolution.build());
}

void foreign::addConvolutions(LoweringTable &table) {
  table["stablehlo.convolution"] = {lowerConvolution, 2};
}
