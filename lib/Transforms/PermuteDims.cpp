//===- PermuteDims.cpp - operations on permuted tensors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A structured operation follows any order: its indexing maps are composed with
// it, and its loops are put in the order of its result or largest operand. What
// it reads at computed places stays as it is.
//
//===----------------------------------------------------------------------===//

#include "PermuteDims.h"

#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace remat;

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
class Permuter {
public:
  Permuter(func::FuncOp function, const DimOrders &orders)
      : block(function.getBody().front()), orders(orders),
        rewriter(function.getContext()) {}

  void run();

private:
  Value transpose(Value value, ArrayRef<int64_t> order, Operation *reason);
  Value makeFree(Value value, ArrayRef<int64_t> order);
  Value read(Value value, ArrayRef<int64_t> order);
  Value read(Value value);
  ArrayRef<int64_t> getOrder(Value value) const;
  AffineMap permuteMap(AffineMap map, Value value) const;
  void rewrite(Operation *op);
  SmallVector<Value> rewriteStructured(linalg::LinalgOp op);
  linalg::GenericOp sortLoops(linalg::GenericOp op, linalg::LinalgOp old);
  Value rewriteScatter(ScatterOp op);
  Value rewriteConvolution(ConvOp op);
  Value rewritePad(tensor::PadOp op);
  template <typename SliceOp>
  Value rewriteSlice(SliceOp op);
  Value rewriteConcat(tensor::ConcatOp op);
  Value rewriteView(Operation *op);
  void restore(Value value);

  Block &block;
  const DimOrders &orders;
  IRRewriter rewriter;
  /// The operation that is being rewritten.
  Operation *current = nullptr;
  /// The new forms, and those of arguments in the backward computation.
  DenseMap<Value, Value> permuted, argumentsAgain;
};
} // namespace

/// The order of `value`, empty if it stays.
ArrayRef<int64_t> Permuter::getOrder(Value value) const {
  auto found = orders.find(value);
  return found == orders.end() ? ArrayRef<int64_t>() : found->second;
}

/// `value` with its dimensions in another order, for `reason`.
Value Permuter::transpose(Value value, ArrayRef<int64_t> order,
                          Operation *reason) {
  if (isIdentityPermutation(order))
    return value;
  RankedTensorType type = permuteType(getTensorType(value), order);
  Location loc = reason->getLoc();
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  AffineMap written = rewriter.getMultiDimIdentityMap(type.getRank());
  // The result's dimension d is the input's order[d].
  SmallVector<unsigned> readDims(type.getRank());
  for (auto [to, from] : llvm::enumerate(order))
    readDims[from] = to;
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      rewriter, loc, TypeRange{type}, ValueRange{value}, ValueRange{empty},
      ArrayRef<AffineMap>{
          AffineMap::getPermutationMap(readDims, rewriter.getContext()),
          written},
      loops, [](OpBuilder &builder, Location bodyLoc, ValueRange arguments) {
        linalg::YieldOp::create(builder, bodyLoc, arguments[0]);
      });
  for (Operation *made : {empty.getDefiningOp(), op.getOperation()}) {
    copyBackward(reason, made);
    if (Operation *source = value.getDefiningOp())
      copyBackward(source, made);
  }
  return op.getResult(0);
}

Value Permuter::makeFree(Value value, ArrayRef<int64_t> order) {
  RankedTensorType type = permuteType(getTensorType(value), order);
  if (DenseElementsAttr splat = getSplat(value))
    return arith::ConstantOp::create(rewriter, current->getLoc(),
                                     splat.resizeSplat(type));
  Value made = tensor::EmptyOp::create(rewriter, current->getLoc(),
                                       type.getShape(), type.getElementType());
  copyBackward(current, made.getDefiningOp());
  if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    auto copy =
        linalg::FillOp::create(rewriter, current->getLoc(), fill.value(), made);
    copyBackward(current, copy);
    made = copy.getResult(0);
  }
  return made;
}

/// `value` in the given order, which is its own if it has one.
Value Permuter::read(Value value, ArrayRef<int64_t> order) {
  if (order.empty())
    return value;
  if (orders.contains(value) && getOrder(value) == order) {
    // An argument is there anyway: its new form need not be kept from the
    // forward to the backward computation.
    bool isAgain = isa<BlockArgument>(value) && isBackward(current);
    Value &known = (isAgain ? argumentsAgain : permuted)[value];
    if (!known)
      known = transpose(value, order, current);
    return known;
  }
  return isOrderFree(value) ? makeFree(value, order)
                            : transpose(value, order, current);
}

Value Permuter::read(Value value) { return read(value, getOrder(value)); }

AffineMap Permuter::permuteMap(AffineMap map, Value value) const {
  ArrayRef<int64_t> order = getOrder(value);
  if (order.empty())
    return map;
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                        applyPermutation(map.getResults(), order),
                        map.getContext());
}

/// Adds the loops that move in `map`, outer dimensions first.
static void addLoops(AffineMap map, llvm::SetVector<unsigned> &loops) {
  for (AffineExpr expr : map.getResults())
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      if (expr.isFunctionOfDim(loop))
        loops.insert(loop);
}

/// Puts the loops of `op` in the order of its result, or of the largest tensor
/// that it reads if that has more dimensions. `old` is what it was.
linalg::GenericOp Permuter::sortLoops(linalg::GenericOp op,
                                      linalg::LinalgOp old) {
  OpOperand *leading = nullptr;
  for (OpOperand &init : old.getDpsInitsMutable())
    if (!leading && orders.contains(old.getTiedOpResult(&init)))
      leading = &init;
  int64_t size = 0;
  if (!leading)
    for (OpOperand *input : old.getDpsInputOperands())
      if (orders.contains(input->get()) &&
          getTensorType(input->get()).getNumElements() > size) {
        leading = input;
        size = getTensorType(input->get()).getNumElements();
      }
  llvm::SetVector<unsigned> loops;
  if (leading)
    addLoops(op.getIndexingMapsArray()[leading->getOperandNumber()], loops);
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    loops.insert(loop);
  SmallVector<unsigned> order = loops.takeVector();
  if (hasOrderedReductions(op))
    keepReductionOrder(order, [&](unsigned loop) {
      return linalg::isReductionIterator(op.getIteratorTypesArray()[loop]);
    });
  FailureOr<linalg::GenericOp> sorted =
      linalg::interchangeGenericOp(rewriter, op, order);
  return succeeded(sorted) ? *sorted : op;
}

SmallVector<Value> Permuter::rewriteStructured(linalg::LinalgOp op) {
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  for (OpOperand *input : op.getDpsInputOperands()) {
    inputs.push_back(read(input->get()));
    maps.push_back(permuteMap(op.getMatchingIndexingMap(input), input->get()));
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    OpResult result = op.getTiedOpResult(&init);
    // An init that stays while its result does not is copied.
    inits.push_back(orders.contains(result) ? read(init.get(), getOrder(result))
                                            : init.get());
    maps.push_back(permuteMap(op.getMatchingIndexingMap(&init), result));
    types.push_back(inits.back().getType());
  }
  auto generic =
      linalg::GenericOp::create(rewriter, op.getLoc(), types, inputs, inits,
                                maps, op.getIteratorTypesArray());
  IRMapping mapping;
  op->getRegion(0).cloneInto(&generic.getRegion(), mapping);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    generic->setAttr(attribute.getName(), attribute.getValue());
  generic = sortLoops(generic, op);
  return SmallVector<Value>(generic.getResults());
}

Value Permuter::rewriteScatter(ScatterOp op) {
  ArrayRef<int64_t> order = getOrder(op.getResult());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  llvm::SetVector<unsigned> loops;
  int64_t size = 0;
  for (auto [input, map] :
       llvm::zip(op.getInputs(), op.getIndexingMapsArray())) {
    inputs.push_back(read(input));
    maps.push_back(permuteMap(map, input));
    int64_t elements = getTensorType(input).getNumElements();
    if (orders.contains(input) && elements > size) {
      loops.clear();
      addLoops(maps.back(), loops);
      size = elements;
    }
  }
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    loops.insert(loop);
  // New loop i is what loop loops[i] was.
  SmallVector<AffineExpr> dims(loops.size());
  SmallVector<int64_t> sizes;
  for (auto [to, from] : llvm::enumerate(loops)) {
    dims[from] = rewriter.getAffineDimExpr(to);
    sizes.push_back(op.getSizes()[from]);
  }
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(dims, {}, dims.size(), 0);
  Value init = order.empty() ? op.getInit() : read(op.getInit(), order);
  auto scatter = ScatterOp::create(
      rewriter, op.getLoc(), init.getType(), inputs, init,
      rewriter.getAffineMapArrayAttr(maps),
      rewriter.getDenseI64ArrayAttr(sizes), op.getMaximumAttr());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    scatter->setAttr(attribute.getName(), attribute.getValue());
  Block *body = rewriter.createBlock(&scatter.getBody());
  IRMapping mapping;
  for (unsigned loop : loops)
    mapping.map(op.getPointArguments()[loop],
                body->addArgument(rewriter.getIndexType(), op.getLoc()));
  for (BlockArgument element : op.getElementArguments())
    mapping.map(element, body->addArgument(element.getType(), op.getLoc()));
  for (Operation &inner : op.getBody().front())
    rewriter.clone(inner, mapping);
  if (!order.empty()) {
    Operation *yield = body->getTerminator();
    SmallVector<Value> indices(yield->getOperands().drop_back());
    for (auto [to, from] : llvm::enumerate(order))
      yield->setOperand(to, indices[from]);
  }
  rewriter.setInsertionPointAfter(scatter);
  return scatter.getResult();
}

Value Permuter::rewriteConvolution(ConvOp op) {
  auto getLayout = [&](Value value, ArrayRef<int64_t> layout) {
    DimOrder dims(layout);
    if (ArrayRef<int64_t> order = getOrder(value); !order.empty()) {
      DimOrder places = invertPermutationVector(order);
      for (int64_t &dim : dims)
        dim = places[dim];
    }
    return rewriter.getDenseI64ArrayAttr(dims);
  };
  bool isInputGrad = op.getKind() == ConvKind::InputGrad;
  bool isFilterGrad = op.getKind() == ConvKind::FilterGrad;
  Value input = isInputGrad ? op.getResult() : op.getLhs();
  Value filter = isFilterGrad ? op.getResult() : op.getRhs();
  Value output = isInputGrad    ? op.getLhs()
                 : isFilterGrad ? op.getRhs()
                                : op.getResult();
  Value operands[] = {read(op.getLhs()), read(op.getRhs())};
  auto conv = cast<ConvOp>(rewriter.clone(*op));
  conv->setOperands(operands);
  if (ArrayRef<int64_t> order = getOrder(op.getResult()); !order.empty())
    conv.getResult().setType(permuteType(op.getType(), order));
  conv.setInputLayoutAttr(getLayout(input, op.getInputLayout()));
  conv.setFilterLayoutAttr(getLayout(filter, op.getFilterLayout()));
  conv.setOutputLayoutAttr(getLayout(output, op.getOutputLayout()));
  return conv.getResult();
}

Value Permuter::rewritePad(tensor::PadOp op) {
  ArrayRef<int64_t> order = getOrder(op.getResult());
  auto pad = tensor::PadOp::create(
      rewriter, op.getLoc(), permuteType(op.getResultType(), order),
      read(op.getSource(), order), applyPermutation(op.getMixedLowPad(), order),
      applyPermutation(op.getMixedHighPad(), order),
      op.getConstantPaddingValue(), op.getNofold());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    pad->setAttr(attribute.getName(), attribute.getValue());
  return pad.getResult();
}

template <typename SliceOp>
Value Permuter::rewriteSlice(SliceOp op) {
  ArrayRef<int64_t> order = getOrder(op.getResult());
  Value source = read(op.getSource(), order);
  auto offsets = applyPermutation(op.getMixedOffsets(), order);
  auto sizes = applyPermutation(op.getMixedSizes(), order);
  auto strides = applyPermutation(op.getMixedStrides(), order);
  SliceOp slice;
  if constexpr (std::is_same_v<SliceOp, tensor::InsertSliceOp>)
    slice = SliceOp::create(rewriter, op.getLoc(), source,
                            read(op.getDest(), order), offsets, sizes, strides);
  else
    slice =
        SliceOp::create(rewriter, op.getLoc(), permuteType(op.getType(), order),
                        source, offsets, sizes, strides);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    slice->setAttr(attribute.getName(), attribute.getValue());
  return slice.getResult();
}

Value Permuter::rewriteConcat(tensor::ConcatOp op) {
  ArrayRef<int64_t> order = getOrder(op.getResult());
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(read(input, order));
  auto concat = cast<tensor::ConcatOp>(rewriter.clone(*op));
  concat->setOperands(inputs);
  concat.setDim(llvm::find(order, static_cast<int64_t>(op.getDim())) -
                order.begin());
  concat.getResult().setType(permuteType(op.getResultType(), order));
  return concat.getResult();
}

Value Permuter::rewriteView(Operation *op) {
  RankedTensorType type =
      permuteType(getTensorType(op->getResult(0)), getOrder(op->getResult(0)));
  Value source = read(op->getOperand(0));
  SmallVector<ReassociationIndices> groups = *getNewGroups(op, orders);
  Operation *view;
  if (isa<tensor::ExpandShapeOp>(op))
    view = tensor::ExpandShapeOp::create(rewriter, op->getLoc(), type, source,
                                         groups);
  else
    view = tensor::CollapseShapeOp::create(rewriter, op->getLoc(), type, source,
                                           groups);
  copyBackward(op, view);
  return view->getResult(0);
}

void Permuter::rewrite(Operation *op) {
  current = op;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> results;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    results = rewriteStructured(linalgOp);
  else if (auto scatter = dyn_cast<ScatterOp>(op))
    results = {rewriteScatter(scatter)};
  else if (auto conv = dyn_cast<ConvOp>(op))
    results = {rewriteConvolution(conv)};
  else if (auto pad = dyn_cast<tensor::PadOp>(op))
    results = {rewritePad(pad)};
  else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    results = {rewriteSlice(slice)};
  else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    results = {rewriteSlice(slice)};
  else if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    results = {rewriteConcat(concat)};
  else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    results = {rewriteView(op)};
  else {
    // What it reads may have to be transposed first.
    Value source = read(op->getOperand(0), getOrder(op->getResult(0)));
    Operation *copy = rewriter.clone(*op);
    copy->setOperand(0, source);
    copy->getResult(0).setType(copy->getOperand(0).getType());
    results = {copy->getResult(0)};
  }
  for (auto [old, made] : llvm::zip(op->getResults(), results)) {
    if (orders.contains(old))
      permuted[old] = made;
    else
      rewriter.replaceAllUsesWith(old, made);
  }
}

/// Gives what does not follow the value as it was.
void Permuter::restore(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    user = block.findAncestorOpInBlock(*user);
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  if (!first)
    return;
  Value made = permuted.lookup(value);
  // What is returned need not stay in its other form.
  if (first == block.getTerminator())
    rewriter.setInsertionPointAfterValue(made);
  else
    rewriter.setInsertionPoint(first);
  Value restored =
      transpose(made, invertPermutationVector(getOrder(value)), first);
  rewriter.replaceAllUsesWith(value, restored);
}

void Permuter::run() {
  SmallVector<Operation *> followers;
  for (Operation &op : block)
    if (followsOrders(&op, orders))
      followers.push_back(&op);
  for (Operation *op : followers)
    rewrite(op);
  // From the end, so that what is left are uses by others.
  for (Operation *op : llvm::reverse(followers)) {
    for (Value result : op->getResults())
      if (orders.contains(result))
        restore(result);
    rewriter.eraseOp(op);
  }
}

void remat::applyOrders(func::FuncOp function, const DimOrders &orders) {
  Permuter(function, orders).run();
}
