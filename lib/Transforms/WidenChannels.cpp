//===- WidenChannels.cpp - convolutions of few channels -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores multiply some channels at a time, and are idle where an image
// has less. Zeros make more of them, and so do the steps of a convolution: with
// blocks of as many positions as a step has, a step is one block, and each
// position of a block is a channel. The last block of a filter is filled up
// with zeros then, if the filter has no whole number of blocks. These multiply
// elements of the image beside the window, which makes a NaN of infinity. So
// such filters have blocks only where that may be.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/Library/Convolution.h"
#include "remat/Target/Target.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace remat {
#define GEN_PASS_DEF_WIDENCHANNELSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// A convolution in blocks of positions, whose channels are those of the
/// program for each position of a block, the last position the innermost one.
struct WideConv {
  int64_t channels;
  /// By spatial dimension.
  SmallVector<int64_t> block, step, padding, input, filter;
};

/// Where an element comes from, by dimension of the source.
struct Origin {
  Value index;
  /// Whether it is less than the source's extent; null if it always is.
  Value isInside;
};

class ChannelWidener {
public:
  ChannelWidener(const Target &target, const LibraryOptions &libraries,
                 int64_t multiple, int64_t maxChannels, bool spreadsNaN)
      : target(target), libraries(libraries), multiple(multiple),
        maxChannels(maxChannels), spreadsNaN(spreadsNaN) {}

  /// Returns whether `op` was rewritten.
  bool rewrite(ConvOp op);

private:
  std::optional<WideConv> getWide(ConvOp op) const;
  Value widenInput(ConvOp op, const WideConv &wide);

  const Target &target;
  const LibraryOptions &libraries;
  /// What the target is not asked for, if positive.
  int64_t multiple;
  int64_t maxChannels;
  bool spreadsNaN;
  /// By input and form, so that a gradient reads what its convolution does.
  std::map<std::pair<void *, SmallVector<int64_t>>, Value> inputs;
};

} // namespace

std::optional<WideConv> ChannelWidener::getWide(ConvOp op) const {
  RankedTensorType input = op.getInputType(), filter = op.getFilterType(),
                   output = op.getOutputType();
  if (!input.hasStaticShape() || !filter.hasStaticShape() ||
      !output.hasStaticShape() || input.getNumElements() == 0 ||
      output.getNumElements() == 0 || op.getGroups() != 1 ||
      llvm::any_of(op.getDilations(), [](int64_t d) { return d != 1; }))
    return std::nullopt;
  std::optional<remat_convolution> call = codegen::describeConvolution(op);
  if (!call)
    return std::nullopt;
  int64_t multiple = this->multiple > 0
                         ? this->multiple
                         : target.getChannelMultiple(*call, libraries);
  int64_t channels = input.getDimSize(op.getInputLayout()[1]);
  if (channels >= multiple)
    return std::nullopt;
  WideConv wide;
  wide.padding = llvm::to_vector(op.getPadding());
  for (auto [i, step] : llvm::enumerate(op.getStrides())) {
    int64_t extent = filter.getDimSize(op.getFilterLayout()[2 + i]);
    int64_t &low = wide.padding[2 * i], &high = wide.padding[2 * i + 1];
    bool isBlocked = step > 1 && low >= 0 &&
                     (spreadsNaN || extent % step == 0) &&
                     llvm::alignTo(channels * step, multiple) <=
                         static_cast<uint64_t>(maxChannels);
    wide.block.push_back(isBlocked ? step : 1);
    wide.step.push_back(isBlocked ? 1 : step);
    wide.filter.push_back(isBlocked ? llvm::divideCeil(extent, step) : extent);
    wide.input.push_back(isBlocked
                             ? output.getDimSize(op.getOutputLayout()[2 + i]) +
                                   wide.filter.back() - 1
                             : input.getDimSize(op.getInputLayout()[2 + i]));
    if (isBlocked) {
      channels *= step;
      low = high = 0;
    }
  }
  wide.channels = llvm::alignTo(channels, multiple);
  return wide;
}

/// Whether `index` is less than `extent`, as a number without a sign; null if
/// that is known from its bounds.
static Value isInside(OpBuilder &b, Location loc, Value index, int64_t least,
                      int64_t most, int64_t extent) {
  if (least >= 0 && most < extent)
    return {};
  Value end = arith::ConstantIndexOp::create(b, loc, extent);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, end);
}

/// A tensor of `type` of the elements of `source` that `find` names for the
/// indices of each, and of zeros where one of them is not inside.
static Value gather(
    OpBuilder &builder, Location loc, RankedTensorType type, Value source,
    llvm::function_ref<void(OpBuilder &, ValueRange, MutableArrayRef<Origin>)>
        find) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), ValueRange(), ValueRange(empty),
             ArrayRef(identity), iterators,
             [&](OpBuilder &b, Location at, ValueRange) {
               SmallVector<Value> indices;
               for (int64_t dim = 0; dim < type.getRank(); ++dim)
                 indices.push_back(linalg::IndexOp::create(b, at, dim));
               int64_t rank =
                   cast<RankedTensorType>(source.getType()).getRank();
               SmallVector<Origin> origins(rank);
               find(b, indices, origins);
               Value first = arith::ConstantIndexOp::create(b, at, 0), all;
               SmallVector<Value> places;
               for (const Origin &origin : origins) {
                 places.push_back(origin.index);
                 if (!origin.isInside)
                   continue;
                 places.back() = arith::SelectOp::create(b, at, origin.isInside,
                                                         origin.index, first);
                 all = all ? arith::AndIOp::create(b, at, all, origin.isInside)
                                 .getResult()
                           : origin.isInside;
               }
               Value element = tensor::ExtractOp::create(b, at, source, places);
               if (all) {
                 Value zero = arith::ConstantOp::create(
                     b, at, b.getZeroAttr(type.getElementType()));
                 element = arith::SelectOp::create(b, at, all, element, zero);
               }
               linalg::YieldOp::create(b, at, element);
             })
      .getResult(0);
}

static Value makeIndex(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

/// Sets where position `block * number + inner - low` of each dimension and
/// its channel are, for a channel of `wide`.
static void findInside(OpBuilder &b, Location loc, const WideConv &wide,
                       Value channel, ValueRange numbers,
                       ArrayRef<int64_t> counts, ArrayRef<int64_t> lows,
                       int64_t channels, ArrayRef<int64_t> extents,
                       MutableArrayRef<Origin> found) {
  int64_t positions = 1;
  for (unsigned i = wide.block.size(); i-- > 0;) {
    int64_t block = wide.block[i];
    Value index = numbers[i];
    if (block > 1) {
      Value size = makeIndex(b, loc, block);
      Value inner = arith::RemUIOp::create(b, loc, channel, size);
      channel = arith::DivUIOp::create(b, loc, channel, size);
      index = arith::MulIOp::create(b, loc, index, size);
      index = arith::AddIOp::create(b, loc, index, inner);
      positions *= block;
    }
    if (lows[i] != 0)
      index = arith::SubIOp::create(b, loc, index, makeIndex(b, loc, lows[i]));
    found[1 + i] = {index,
                    isInside(b, loc, index, -lows[i],
                             counts[i] * block - 1 - lows[i], extents[i])};
  }
  found[0] = {channel, isInside(b, loc, channel, 0,
                                (wide.channels - 1) / positions, channels)};
}

/// Sets in which block of `wide` the position of each dimension is, after
/// `lows` of padding, and what its channel is there.
static void findBlock(OpBuilder &b, Location loc, const WideConv &wide,
                      Value channel, ValueRange indices,
                      ArrayRef<int64_t> extents, ArrayRef<int64_t> lows,
                      ArrayRef<int64_t> counts, MutableArrayRef<Origin> found) {
  for (unsigned i = 0; i < wide.block.size(); ++i) {
    int64_t block = wide.block[i];
    Value index = indices[i];
    if (lows[i] != 0)
      index = arith::AddIOp::create(b, loc, index, makeIndex(b, loc, lows[i]));
    Value inside = isInside(b, loc, index, lows[i], extents[i] - 1 + lows[i],
                            counts[i] * block);
    if (block > 1) {
      Value size = makeIndex(b, loc, block);
      Value inner = arith::RemUIOp::create(b, loc, index, size);
      channel = arith::MulIOp::create(b, loc, channel, size);
      channel = arith::AddIOp::create(b, loc, channel, inner);
      index = arith::DivUIOp::create(b, loc, index, size);
    }
    found[1 + i] = {index, inside};
  }
  found[0] = {channel, Value()};
}

/// The padding before the blocks of each dimension.
static SmallVector<int64_t> getLows(ConvOp op, const WideConv &wide) {
  SmallVector<int64_t> lows;
  for (auto [i, block] : llvm::enumerate(wide.block))
    lows.push_back(block > 1 ? op.getPadding()[2 * i] : 0);
  return lows;
}

/// The extents of a tensor's spatial dimensions.
static SmallVector<int64_t> getExtents(RankedTensorType type,
                                       ArrayRef<int64_t> layout) {
  SmallVector<int64_t> extents;
  for (int64_t dim : layout.drop_front(2))
    extents.push_back(type.getDimSize(dim));
  return extents;
}

/// The input or filter of a convolution as `wide` has it.
static RankedTensorType getWideType(RankedTensorType old,
                                    ArrayRef<int64_t> layout,
                                    const WideConv &wide, bool isFilter) {
  SmallVector<int64_t> shape = llvm::to_vector(old.getShape());
  shape[layout[1]] = wide.channels;
  for (auto [i, extent] : llvm::enumerate(isFilter ? wide.filter : wide.input))
    shape[layout[2 + i]] = extent;
  return RankedTensorType::get(shape, old.getElementType());
}

/// `source` as a tensor of `type`: one is an input or a filter, or the gradient
/// of one, as the program has it, the other as `wide` has it, which is `type`
/// if `widens`.
static Value rearrange(OpBuilder &builder, ConvOp op, RankedTensorType type,
                       Value source, const WideConv &wide, bool isFilter,
                       bool widens) {
  ArrayRef<int64_t> layout =
      isFilter ? op.getFilterLayout() : op.getInputLayout();
  ArrayRef<int64_t> counts = isFilter ? wide.filter : wide.input;
  SmallVector<int64_t> lows =
      isFilter ? SmallVector<int64_t>(wide.block.size(), 0) : getLows(op, wide);
  auto old = widens ? cast<RankedTensorType>(source.getType()) : type;
  SmallVector<int64_t> extents = getExtents(old, layout);
  return gather(
      builder, op.getLoc(), type, source,
      [&](OpBuilder &b, ValueRange indices, MutableArrayRef<Origin> origins) {
        SmallVector<Value> positions;
        for (int64_t dim : layout.drop_front(2))
          positions.push_back(indices[dim]);
        Value channel = indices[layout[1]];
        SmallVector<Origin> found(layout.size() - 1);
        if (widens)
          findInside(b, op.getLoc(), wide, channel, positions, counts, lows,
                     old.getDimSize(layout[1]), extents, found);
        else
          findBlock(b, op.getLoc(), wide, channel, positions, extents, lows,
                    counts, found);
        origins[layout[0]] = {indices[layout[0]], Value()};
        for (auto [i, origin] : llvm::enumerate(found))
          origins[layout[1 + i]] = origin;
      });
}

/// `source`, an input or a filter, as `wide` has it.
static Value widen(OpBuilder &builder, ConvOp op, Value source,
                   const WideConv &wide, bool isFilter) {
  RankedTensorType type = getWideType(
      cast<RankedTensorType>(source.getType()),
      isFilter ? op.getFilterLayout() : op.getInputLayout(), wide, isFilter);
  return rearrange(builder, op, type, source, wide, isFilter, /*widens=*/true);
}

/// What of `source`, the gradient of an input or a filter of `wide`, is the
/// result of `op`.
static Value narrow(OpBuilder &builder, ConvOp op, Value source,
                    const WideConv &wide, bool isFilter) {
  return rearrange(builder, op,
                   cast<RankedTensorType>(op.getResult().getType()), source,
                   wide, isFilter, /*widens=*/false);
}

Value ChannelWidener::widenInput(ConvOp op, const WideConv &wide) {
  SmallVector<int64_t> form = {wide.channels};
  llvm::append_range(form, wide.block);
  llvm::append_range(form, wide.input);
  llvm::append_range(form, getLows(op, wide));
  llvm::append_range(form, op.getInputLayout());
  Value &known = inputs[{op.getLhs().getAsOpaquePointer(), form}];
  if (!known) {
    OpBuilder builder(op);
    known = widen(builder, op, op.getLhs(), wide, /*isFilter=*/false);
    auto made = known.getDefiningOp<linalg::GenericOp>();
    copyBackward(op, made);
    copyBackward(op, made.getDpsInits()[0].getDefiningOp());
  }
  return known;
}

bool ChannelWidener::rewrite(ConvOp op) {
  std::optional<WideConv> wide = getWide(op);
  if (!wide)
    return false;
  ConvKind kind = op.getKind();
  Value lhs = kind == ConvKind::InputGrad ? op.getLhs() : widenInput(op, *wide);
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  Value rhs = kind == ConvKind::FilterGrad
                  ? op.getRhs()
                  : widen(builder, op, op.getRhs(), *wide, /*isFilter=*/true);
  RankedTensorType type = cast<RankedTensorType>(op.getResult().getType());
  if (kind == ConvKind::InputGrad)
    type = getWideType(type, op.getInputLayout(), *wide, /*isFilter=*/false);
  else if (kind == ConvKind::FilterGrad)
    type = getWideType(type, op.getFilterLayout(), *wide, /*isFilter=*/true);
  auto conv = cast<ConvOp>(builder.clone(*op));
  conv.getLhsMutable().assign(lhs);
  conv.getRhsMutable().assign(rhs);
  conv.getResult().setType(type);
  conv.setStrides(wide->step);
  conv.setPadding(wide->padding);
  Value result = conv.getResult();
  if (kind != ConvKind::Forward)
    result = narrow(builder, op, result, *wide, kind == ConvKind::FilterGrad);
  for (Operation *made = before ? before->getNextNode()
                                : &op->getBlock()->front();
       made != op; made = made->getNextNode())
    copyBackward(op, made);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return true;
}

namespace {
struct WidenChannels
    : public remat::impl::WidenChannelsPassBase<WidenChannels> {
  using WidenChannelsPassBase::WidenChannelsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.getBody().hasOneBlock())
      return;
    const Target *target = lookupTarget(function);
    if (!target)
      return signalPassFailure();
    LibraryOptions libraries;
    libraries.convolutions = convolutions;
    libraries.allowsTf32 = tf32;
    libraries.device = device;
    ChannelWidener widener(*target, libraries, multiple, maxChannels,
                           spreadsNaN);
    for (ConvOp op : llvm::make_early_inc_range(
             function.getBody().front().getOps<ConvOp>()))
      if (widener.rewrite(op))
        ++numWidened;
  }
};
} // namespace
