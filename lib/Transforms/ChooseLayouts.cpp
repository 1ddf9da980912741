//===- ChooseLayouts.cpp - channels-last where convolutions are -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the sets of values whose dimensions belong together, from what
// convolutions read and write, and decides for each set by the bytes that are
// copied: by the library on its way, and by transpositions. How operations are
// rewritten is in PermuteDims.cpp.
//
//===----------------------------------------------------------------------===//

#include "PermuteDims.h"
#include "remat/Codegen/Library/Convolution.h"
#include "remat/Target/Target.h"
#include "remat/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace remat {
#define GEN_PASS_DEF_CHOOSELAYOUTSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static int64_t getBytes(Value value) {
  return getBufferBytes(cast<RankedTensorType>(value.getType()));
}

namespace {

/// A convolution's input and output.
struct Activations {
  Value input, output;
  ArrayRef<int64_t> inputLayout, outputLayout;
};

class LayoutChooser {
public:
  /// Without a target, what is not channels-last is taken to be copied.
  LayoutChooser(func::FuncOp function, const LayoutCosts &costs,
                const Target *target, const LibraryOptions &libraries)
      : block(function.getBody().front()), costs(costs), target(target),
        libraries(libraries), facts(getTargetFacts(function)) {}

  /// The values to permute.
  DimOrders choose();

private:
  /// Another value that wants the same order, or one that follows from it.
  struct Tie {
    Value other;
    /// The reshape or convolution between the two; null if they are equal.
    Operation *via;
  };

  void collectTies();
  void collectConvolution(ConvOp op);
  void require(Value value, ArrayRef<int64_t> layout);
  std::optional<DimOrder> getOrderAcross(Value value, ArrayRef<int64_t> order,
                                         const Tie &tie) const;
  bool collectSet(Value seed, SmallVectorImpl<Value> &values);
  int64_t weighBytes(int64_t bytes, RankedTensorType type) const;
  int64_t countCopied(ConvOp op) const;
  int64_t countTransposed(Value value) const;
  int64_t getCost(ArrayRef<Value> values) const;
  bool isWorth(ArrayRef<Value> values, int64_t saved) const;

  Block &block;
  const LayoutCosts &costs;
  const Target *target;
  const LibraryOptions &libraries;
  TargetAttr facts;
  DenseMap<Value, SmallVector<Tie>> ties;
  /// What convolutions want, in program order.
  llvm::MapVector<Value, DimOrder> wanted;
  /// What was looked at, and what of it is permuted.
  DimOrders orders, chosen;
};

} // namespace

static Activations getActivations(ConvOp op) {
  bool isInputGrad = op.getKind() == ConvKind::InputGrad;
  bool isFilterGrad = op.getKind() == ConvKind::FilterGrad;
  return {isInputGrad ? op.getResult() : op.getLhs(),
          isInputGrad    ? op.getLhs()
          : isFilterGrad ? op.getRhs()
                         : op.getResult(),
          op.getInputLayout(), op.getOutputLayout()};
}

/// Notes that a convolution wants `value` channels-last, unless it is as well
/// as that: all of its positions or all of its features are one.
void LayoutChooser::require(Value value, ArrayRef<int64_t> layout) {
  auto type = cast<RankedTensorType>(value.getType());
  DimOrder order = getChannelsLast(layout);
  DimOrder now = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  if (order == now || !isSameOrder(type, order, now))
    wanted.try_emplace(value, order);
}

void LayoutChooser::collectConvolution(ConvOp op) {
  Activations a = getActivations(op);
  if (isOrderFree(a.input) || isOrderFree(a.output))
    return;
  // What the caller has, the library reads as it is: a copy would have to be
  // kept, or made for each convolution, which is what the library does.
  if (!isa<BlockArgument>(a.input))
    require(a.input, a.inputLayout);
  if (!isa<BlockArgument>(a.output))
    require(a.output, a.outputLayout);
  if (wanted.contains(a.input) && wanted.contains(a.output)) {
    ties[a.input].push_back({a.output, op});
    ties[a.output].push_back({a.input, op});
  }
}

void LayoutChooser::collectTies() {
  auto tie = [&](Value a, Value b) {
    ties[a].push_back({b, nullptr});
    ties[b].push_back({a, nullptr});
  };
  for (Operation &op : block) {
    if (auto conv = dyn_cast<ConvOp>(op)) {
      collectConvolution(conv);
    } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
      Value operand = op.getOperand(0), result = op.getResult(0);
      if (isOrderFree(operand))
        continue;
      ties[operand].push_back({result, &op});
      ties[result].push_back({operand, &op});
    } else if (canFollowOrder(&op)) {
      forEachTie(&op, tie);
    }
  }
}

/// The order that the other value gets by `tie` if `value` has `order`.
std::optional<DimOrder> LayoutChooser::getOrderAcross(Value value,
                                                      ArrayRef<int64_t> order,
                                                      const Tie &tie) const {
  auto found = wanted.find(tie.other);
  if (isa_and_present<ConvOp>(tie.via))
    return found->second;
  std::optional<DimOrder> result =
      tie.via ? orderThroughView(tie.via, value, order)
              : std::optional<DimOrder>(DimOrder(order));
  // Among equal orders, the one that a convolution wants.
  if (result && tie.via && found != wanted.end() &&
      isSameOrder(cast<RankedTensorType>(tie.other.getType()), *result,
                  found->second))
    return found->second;
  return result;
}

/// Collects what belongs to `seed`. Returns false if its convolutions want
/// different things, or the size of something is not known.
bool LayoutChooser::collectSet(Value seed, SmallVectorImpl<Value> &values) {
  bool agrees = true;
  orders[seed] = wanted.lookup(seed);
  values.push_back(seed);
  for (unsigned i = 0; i < values.size(); ++i) {
    Value value = values[i];
    DimOrder order = orders.lookup(value);
    agrees &= cast<RankedTensorType>(value.getType()).hasStaticShape();
    if (auto found = wanted.find(value); found != wanted.end())
      agrees &= found->second == order;
    for (const Tie &tie : ties[value]) {
      std::optional<DimOrder> other = getOrderAcross(value, order, tie);
      if (!other)
        continue;
      auto [known, isNew] = orders.try_emplace(tie.other, *other);
      if (isNew)
        values.push_back(tie.other);
      else
        agrees &= isSameOrder(cast<RankedTensorType>(tie.other.getType()),
                              known->second, *other);
    }
  }
  return agrees && !isIdentityPermutation(orders.lookup(seed));
}

/// Sets the strides of an input or output that is in `order`, none if it stays.
static void setStrides(int64_t *strides, Value value, ArrayRef<int64_t> layout,
                       ArrayRef<int64_t> order) {
  if (order.empty())
    return;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> places = invertPermutationVector(order);
  SmallVector<int64_t> inner =
      computeStrides(applyPermutation(type.getShape(), order));
  for (auto [i, dim] : llvm::enumerate(layout))
    strides[i] = inner[places[dim]];
}

/// Bytes of whole machine words that are copied in the time of `bytes` of
/// `type`: narrow elements are copied one by one.
int64_t LayoutChooser::weighBytes(int64_t bytes, RankedTensorType type) const {
  int64_t width = getElementBytes(type.getElementType());
  return width < costs.elementBytes ? bytes / width * costs.elementBytes
                                    : bytes;
}

/// The bytes of its input and output that a convolution copies.
int64_t LayoutChooser::countCopied(ConvOp op) const {
  Activations a = getActivations(op);
  DimOrder input = chosen.lookup(a.input), output = chosen.lookup(a.output);
  int64_t bytes = 0;
  if (!target) {
    bytes = (input.empty() ? getBytes(a.input) : 0) +
            (output.empty() ? getBytes(a.output) : 0);
  } else if (std::optional<remat_convolution> call =
                 codegen::describeConvolution(op)) {
    setStrides(call->input_strides, a.input, a.inputLayout, input);
    setStrides(call->output_strides, a.output, a.outputLayout, output);
    bytes = target->countCopiedBytes(*call, libraries);
  }
  return weighBytes(bytes, cast<RankedTensorType>(a.input.getType()));
}

/// The bytes of `value` if it has to be transposed.
int64_t LayoutChooser::countTransposed(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  auto found = chosen.find(value);
  if (found == chosen.end() ||
      isSameOrder(type, found->second,
                  llvm::to_vector(llvm::seq<int64_t>(type.getRank()))))
    return 0;
  Operation *source = value.getDefiningOp();
  bool isMade = source && followsOrders(source, chosen);
  bool isNeeded = llvm::any_of(value.getUsers(), [&](Operation *user) {
    bool follows = user->getBlock() == &block && followsOrders(user, chosen);
    return isMade ? !follows : follows;
  });
  return isNeeded ? weighBytes(getBytes(value), type) : 0;
}

/// The convolutions that read or write one of `values`.
static llvm::SetVector<ConvOp> collectConvolutions(ArrayRef<Value> values) {
  llvm::SetVector<ConvOp> convolutions;
  for (Value value : values) {
    if (auto conv = value.getDefiningOp<ConvOp>())
      convolutions.insert(conv);
    for (Operation *user : value.getUsers())
      if (auto conv = dyn_cast<ConvOp>(user))
        convolutions.insert(conv);
  }
  return convolutions;
}

/// The bytes that are copied because of how `values` are.
int64_t LayoutChooser::getCost(ArrayRef<Value> values) const {
  int64_t copied = 0, transposed = 0;
  for (Value value : values)
    transposed += countTransposed(value);
  for (ConvOp conv : collectConvolutions(values))
    copied += countCopied(conv);
  return copied + costs.transposed * transposed;
}

static double countFlops(ConvOp op) {
  RankedTensorType filter = op.getFilterType();
  double products =
      filter.getNumElements() /
      std::max<int64_t>(filter.getDimSize(op.getFilterLayout().front()), 1);
  return 2 * products * op.getOutputType().getNumElements();
}

/// Whether so many bytes that are not copied are a part of the convolutions'
/// time that is worth the transpositions. A library copies filters as well,
/// whatever the activations' layout, and those of small images take longer than
/// the images.
bool LayoutChooser::isWorth(ArrayRef<Value> values, int64_t saved) const {
  if (saved <= 0)
    return false;
  double flops = 0, filters = 0;
  for (ConvOp conv : collectConvolutions(values)) {
    RankedTensorType filter = conv.getFilterType();
    flops += countFlops(conv);
    filters += static_cast<double>(weighBytes(getBufferBytes(filter), filter));
  }
  auto bandwidth = static_cast<double>(facts.getBandwidth());
  double seconds = flops / static_cast<double>(facts.getContractionFlops()) +
                   filters / bandwidth;
  return static_cast<double>(saved) / bandwidth >= costs.minGain * seconds;
}

DimOrders LayoutChooser::choose() {
  collectTies();
  for (const auto &seed : wanted) {
    SmallVector<Value> values;
    if (orders.contains(seed.first) || !collectSet(seed.first, values))
      continue;
    int64_t before = getCost(values);
    for (Value value : values)
      chosen[value] = orders.lookup(value);
    if (isWorth(values, before - getCost(values)))
      continue;
    for (Value value : values)
      chosen.erase(value);
  }
  return std::move(chosen);
}

namespace {
struct ChooseLayouts
    : public remat::impl::ChooseLayoutsPassBase<ChooseLayouts> {
  using ChooseLayoutsPassBase::ChooseLayoutsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.getBody().hasOneBlock())
      return;
    const Target *target = lookupTarget(function);
    if (!target)
      return signalPassFailure();
    LayoutCosts costs = target->getLayoutCosts();
    if (weight >= 0)
      costs.transposed = weight;
    if (minGain >= 0)
      costs.minGain = minGain;
    LibraryOptions libraries;
    libraries.convolutions = convolutions;
    libraries.allowsTf32 = tf32;
    libraries.device = device;
    DimOrders orders =
        LayoutChooser(function, costs, askLibrary ? target : nullptr, libraries)
            .choose();
    numValues += orders.size();
    if (!orders.empty())
      applyOrders(function, orders);
  }
};
} // namespace
