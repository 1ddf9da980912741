//===- SliceRows.cpp - wide values that exist a slice at a time -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product may be larger than its factors and yet be read only row by row, or
// to be summed up over the rows: a language model's logits, which a cross
// entropy reads, and whose gradient two products read. Such a product, with all
// that reads it, is done for some hundred rows, then for the next. What is as
// wide as the product is then never there as a whole.
//
// The slices are fixed by the shapes, so that no budget or number of threads
// changes a result. They are so large that the library's products lose nothing.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/LoopSizes.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace remat {
#define GEN_PASS_DEF_REMATSLICEROWS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// How far apart the operations that are sliced may stand in the program.
static constexpr unsigned maxDistance = 128;

/// What is smaller is not worth the additional tasks.
static constexpr int64_t minWideBytes = 4 << 20;

/// Rows of a slice, if the shapes have such slices: at 256 a library's product
/// takes as long as in one piece, at 128 some hundredths more.
static constexpr int64_t sliceRows = 256, minSliceRows = 128, maxSlices = 32;

static int64_t getBytes(Value value) {
  return getBufferBytes(cast<RankedTensorType>(value.getType()));
}

static bool isBackward(Operation *op) {
  return op->hasAttr(RematDialect::backwardAttrName);
}

static SetVector<Value> getReadValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

static void collapseToRank1(OpBuilder &builder, Location loc, Value &value) {
  auto type = cast<RankedTensorType>(value.getType());
  ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
  if (type.getRank() != 1)
    value = tensor::CollapseShapeOp::create(
        builder, loc, value, ArrayRef<ReassociationIndices>(all));
}

/// `value` as a tensor of shape `shape`, with as many elements.
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  collapseToRank1(builder, loc, value);
  if (shape.size() == 1)
    return value;
  ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(shape.size())));
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      ArrayRef<ReassociationIndices>(all));
}

namespace {
/// Consecutive rows, as a box in the dimensions that make up the rows.
struct Slab {
  SmallVector<int64_t> offsets, sizes;
};

/// One product and what is sliced with it.
class Slicer {
public:
  Slicer(Block &body) : body(body), builder(body.getParentOp()) {}

  /// Slices `product` if it can be and is worth it. `gone` receives what it
  /// erases.
  bool run(linalg::ContractOp product, DenseSet<Operation *> &gone);

private:
  bool start(linalg::ContractOp product);
  bool isEligible(Operation *op);
  std::optional<LoopList> getRows(linalg::LinalgOp op);
  bool tryAdd(Operation *op, bool asProducer);
  /// Whether `value` has about as many elements as the product.
  bool isWide(Value value) const {
    return 2 * cast<RankedTensorType>(value.getType()).getNumElements() >
           wideElements;
  }
  bool addReaders();
  bool addProducers();
  bool addBetween(bool &changed);
  bool order();
  bool collectForward();
  bool chooseSlices();
  bool isWorthwhile();

  SmallVector<int64_t> getRowSizes(Operation *op);
  int64_t getStart(int64_t slice) const { return slice * rows / slices; }
  void replace();
  void cloneSlice(int64_t slice);
  void clone(Operation *op, int64_t slice);
  Value getPart(Value value, AffineMap map, Operation *op, const Slab &slab);
  Value getChunk(Value value, int64_t count);
  void shiftIndices(Operation *op, Operation *clone, const Slab &slab);
  Value concatenate(OpResult result);

  Block &body;
  OpBuilder builder;
  int64_t rows = 0, wideBytes = 0, wideElements = 0, slices = 0;
  /// With the loops that walk the rows.
  DenseMap<Operation *, LoopList> members;
  /// Members that reduce over the rows.
  DenseSet<Operation *> sums;
  /// The members, and what depends on them between the first and the last.
  SmallVector<Operation *> sorted, behind;
  /// What becomes a part of the backward computation.
  SmallVector<Operation *> forward;
  /// Results of members, of the current slice, and of all.
  DenseMap<Value, Value> current;
  DenseMap<Value, SmallVector<Value>> parts;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is sliced
//===----------------------------------------------------------------------===//

/// The rows are those of the factor whose dimensions lead in the result.
bool Slicer::start(linalg::ContractOp product) {
  if (!isEligible(product) || !isProductBody(*product.getBlock()))
    return false;
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  int64_t factors = 0;
  for (Value input : product.getDpsInputs())
    factors += cast<RankedTensorType>(input.getType()).getNumElements();
  wideBytes = getBytes(product->getResult(0));
  wideElements = type.getNumElements();
  if (wideBytes < minWideBytes || wideElements < factors)
    return false;
  LoopList loops;
  rows = 1;
  std::optional<unsigned> factor;
  for (auto [size, expr] : llvm::zip(type.getShape(), maps[2].getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      break;
    bool inFirst = maps[0].isFunctionOfDim(dim.getPosition());
    bool inSecond = maps[1].isFunctionOfDim(dim.getPosition());
    if (inFirst == inSecond || factor.value_or(inSecond) != inSecond)
      break;
    factor = inSecond;
    loops.push_back(dim.getPosition());
    rows *= size;
  }
  if (rows < 2 * sliceRows ||
      static_cast<int64_t>(loops.size()) == type.getRank())
    return false;
  members[product] = loops;
  return true;
}

bool Slicer::isEligible(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !isa<linalg::GenericOp, linalg::ContractOp>(op) ||
      !linalgOp.hasPureTensorSemantics() || !isMemoryEffectFree(op) ||
      op->hasAttr(RematDialect::policyAttrName) || op->getBlock() != &body)
    return false;
  for (int64_t size : getLoopSizes(linalgOp))
    if (size <= 0)
      return false;
  for (AffineMap map : linalgOp.getIndexingMapsArray())
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
  return llvm::all_of(op->getResults(), [](Value result) {
    bool tagged = false;
    forEachReader(result,
                  [&](Operation *reader) { tagged |= isa<TagOp>(reader); });
    return isBufferType(result.getType()) && !tagged;
  });
}

/// The loops by which `op` reads the rows of what members make; nothing if it
/// does not, or reads it in another way. Bodies may pick elements of the row
/// at hand.
std::optional<LoopList> Slicer::getRows(linalg::LinalgOp op) {
  std::optional<LoopList> loops;
  auto agree = [&](const std::optional<LoopList> &mine) {
    if (!mine || (loops && *loops != *mine))
      return false;
    loops = mine;
    return true;
  };
  auto isMember = [&](Value value) {
    Operation *source = getSource(value);
    return source && members.contains(source);
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isMember(operand.get()))
      continue;
    auto type = cast<RankedTensorType>(operand.get().getType());
    if (sums.contains(getSource(operand.get())) || !op.isDpsInput(&operand) ||
        !agree(
            getLeadingLoops(op.getMatchingIndexingMap(&operand), type, rows)))
      return std::nullopt;
  }
  WalkResult walk = op->walk([&](Operation *inner) {
    if (inner == op)
      return WalkResult::advance();
    if (llvm::none_of(inner->getOperands(), isMember))
      return WalkResult::advance();
    auto extract = dyn_cast<tensor::ExtractOp>(inner);
    if (!extract || sums.contains(getSource(extract.getTensor())))
      return WalkResult::interrupt();
    LoopList mine;
    int64_t points = 1;
    for (auto [size, index] : llvm::zip(
             extract.getTensor().getType().getShape(), extract.getIndices())) {
      auto loop = index.getDefiningOp<linalg::IndexOp>();
      if (points == rows)
        break;
      if (!loop || loop->getBlock() != op.getBlock())
        return WalkResult::interrupt();
      points *= size;
      mine.push_back(loop.getDim());
    }
    return points == rows && agree(mine) ? WalkResult::advance()
                                         : WalkResult::interrupt();
  });
  return walk.wasInterrupted() ? std::nullopt : loops;
}

/// Adds `op` if it works row by row, or reduces over all rows in a type that
/// may be rounded once more.
bool Slicer::tryAdd(Operation *op, bool asProducer) {
  if (members.contains(op))
    return true;
  if (!isEligible(op))
    return false;
  auto linalgOp = cast<linalg::LinalgOp>(op);
  std::optional<LoopList> loops = getRows(linalgOp);
  if (!loops && asProducer)
    loops = getLeadingLoops(linalgOp.getIndexingMapsArray().back(),
                            cast<RankedTensorType>(op->getResult(0).getType()),
                            rows);
  if (!loops)
    return false;
  SmallVector<utils::IteratorType> iterators = linalgOp.getIteratorTypesArray();
  int64_t reduced = llvm::count_if(*loops, [&](int64_t loop) {
    return iterators[loop] == utils::IteratorType::reduction;
  });
  if (reduced != 0 && reduced != static_cast<int64_t>(loops->size()))
    return false;
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (reduced != 0) {
      if (type.getElementType().isF16() || type.getElementType().isBF16())
        return false;
      continue;
    }
    AffineMap map = linalgOp.getMatchingIndexingMap(
        linalgOp.getDpsInitOperand(result.getResultNumber()));
    if (getLeadingLoops(map, type, rows) != loops)
      return false;
  }
  members[op] = *loops;
  if (reduced != 0)
    sums.insert(op);
  return true;
}

/// All that reads something wide.
bool Slicer::addReaders() {
  SmallVector<Operation *> worklist =
      llvm::map_to_vector(members, [](auto &entry) { return entry.first; });
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (OpResult result : op->getResults()) {
      if (sums.contains(op) || !isWide(result))
        continue;
      SetVector<Operation *> readers;
      forEachReader(result, [&](Operation *reader) {
        readers.insert(body.findAncestorOpInBlock(*reader));
      });
      for (Operation *reader : readers) {
        if (members.contains(reader))
          continue;
        if (!tryAdd(reader, /*asProducer=*/false))
          return false;
        worklist.push_back(reader);
      }
    }
  }
  return true;
}

/// What makes something wide for members, and all that reads it.
bool Slicer::addProducers() {
  bool changed = false;
  SmallVector<Operation *> ops =
      llvm::map_to_vector(members, [](auto &entry) { return entry.first; });
  for (Operation *op : ops)
    for (Value operand : cast<linalg::LinalgOp>(op).getDpsInputs()) {
      Operation *source = getSource(operand);
      if (!source || members.contains(source) || !isEligible(source) ||
          llvm::none_of(source->getResults(),
                        [&](Value result) { return isWide(result); }))
        continue;
      auto knownMembers = members;
      auto knownSums = sums;
      if (tryAdd(source, /*asProducer=*/true) && addReaders()) {
        changed = true;
      } else {
        members = std::move(knownMembers);
        sums = std::move(knownSums);
      }
    }
  return changed;
}

/// What depends on a member and is needed by another has to be one, too; fails
/// if it cannot be. Sorts the rest: what depends on members goes behind them.
bool Slicer::addBetween(bool &changed) {
  Operation *first = nullptr, *last = nullptr;
  for (auto &[op, loops] : members) {
    if (!first || op->isBeforeInBlock(first))
      first = op;
    if (!last || last->isBeforeInBlock(op))
      last = op;
  }
  sorted.clear();
  behind.clear();
  DenseSet<Operation *> depending;
  unsigned distance = 0;
  for (Operation *op = first; op != last->getNextNode();
       op = op->getNextNode()) {
    if (++distance > maxDistance)
      return false;
    bool isMember = members.contains(op), depends = false;
    for (Value value : getReadValues(op)) {
      Operation *source = isMember ? getSource(value) : value.getDefiningOp();
      if (!source || (isMember && members.contains(source)))
        continue;
      if (isMember && depending.contains(source)) {
        changed = true;
        if (!tryAdd(source, /*asProducer=*/true))
          return false;
      }
      depends |= members.contains(source) || depending.contains(source);
    }
    if (isMember)
      sorted.push_back(op);
    else if (depends && depending.insert(op).second)
      behind.push_back(op);
  }
  return true;
}

/// Finds all members, and that they can stand together.
bool Slicer::order() {
  bool changed = true;
  while (changed) {
    changed = false;
    if (!addReaders())
      return false;
    changed |= addProducers();
    if (!addBetween(changed))
      return false;
  }
  // Members that joined late may read a sum, or rows in another way.
  for (auto &[op, loops] : members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    std::optional<LoopList> mine = getRows(linalgOp);
    bool readsMember = llvm::any_of(getReadValues(op), [&](Value value) {
      Operation *source = getSource(value);
      return source && members.contains(source);
    });
    if (readsMember && mine != loops)
      return false;
  }
  return true;
}

/// The slices are done where the gradients are known, so what is forward among
/// the members and depends on them becomes backward. That must be little: a
/// loss and what is made of it.
bool Slicer::collectForward() {
  if (llvm::none_of(sorted, isBackward))
    return true;
  DenseSet<Operation *> depending(sorted.begin(), sorted.end());
  int64_t bytes = 0;
  for (Operation *op = sorted.front(); op != body.getTerminator();
       op = op->getNextNode()) {
    if (isBackward(op) || depending.contains(op))
      continue;
    bool depends = llvm::any_of(getReadValues(op), [&](Value value) {
      Operation *source = value.getDefiningOp();
      return source && depending.contains(source);
    });
    if (!depends)
      continue;
    depending.insert(op);
    if (isa<TagOp>(op) || op->hasAttr(RematDialect::policyAttrName))
      return false;
    if (!isAlias(op)) {
      for (Value result : op->getResults())
        if (isBufferType(result.getType()))
          bytes += getBytes(result);
      forward.push_back(op);
    }
  }
  return bytes <= wideBytes / 64;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

SmallVector<int64_t> Slicer::getRowSizes(Operation *op) {
  SmallVector<int64_t> sizes = getLoopSizes(cast<linalg::LinalgOp>(op));
  return llvm::map_to_vector(members[op],
                             [&](int64_t loop) { return sizes[loop]; });
}

/// `count` rows from row `start` on, in dimensions of `sizes`; nothing if they
/// are no box.
static std::optional<Slab> getSlab(ArrayRef<int64_t> sizes, int64_t start,
                                   int64_t count) {
  Slab slab;
  while (!sizes.empty()) {
    int64_t inner = 1;
    for (int64_t size : sizes.drop_front())
      inner *= size;
    slab.offsets.push_back(start / inner);
    start %= inner;
    if (start == 0 && count % inner == 0) {
      slab.sizes.push_back(count / inner);
      count = inner;
    } else if (start + count <= inner) {
      slab.sizes.push_back(1);
    } else {
      return std::nullopt;
    }
    sizes = sizes.drop_front();
  }
  return slab;
}

/// The leading dimensions of a shape that make up the rows.
static ArrayRef<int64_t> getRowShape(ArrayRef<int64_t> shape, int64_t rows) {
  unsigned rank = 0;
  for (int64_t points = 1; points != rows; ++rank)
    points *= shape[rank];
  return shape.take_front(rank);
}

bool Slicer::chooseSlices() {
  // Wherever rows are taken apart: loops of members, and what they read.
  SetVector<ArrayAttr> shapes;
  auto add = [&](ArrayRef<int64_t> shape) {
    shapes.insert(builder.getI64ArrayAttr(shape));
  };
  for (Operation *op : sorted) {
    add(getRowSizes(op));
    for (Value value : getReadValues(op)) {
      Operation *source = getSource(value);
      if (source && members.contains(source))
        add(getRowShape(cast<RankedTensorType>(value.getType()).getShape(),
                        rows));
    }
  }
  auto fits = [&] {
    for (int64_t slice = 0; slice < slices; ++slice)
      for (ArrayAttr shape : shapes) {
        auto sizes =
            llvm::map_to_vector(shape.getAsRange<IntegerAttr>(),
                                [](IntegerAttr size) { return size.getInt(); });
        int64_t start = getStart(slice);
        if (!getSlab(sizes, start, getStart(slice + 1) - start))
          return false;
      }
    return true;
  };
  // Long sums are more exact than short ones: rather larger slices than
  // smaller.
  int64_t wished = std::clamp<int64_t>(rows / sliceRows, 2, maxSlices);
  for (slices = wished; slices >= 2; --slices)
    if (fits())
      return true;
  for (slices = wished + 1; slices <= rows / minSliceRows; ++slices)
    if (fits())
      return true;
  return false;
}

/// Whether what is cut out and put together again is little beside what is
/// never there as a whole.
bool Slicer::isWorthwhile() {
  int64_t copied = 0;
  for (Operation *op : sorted) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    for (OpOperand *input : linalgOp.getDpsInputOperands()) {
      Operation *source = getSource(input->get());
      AffineMap map = linalgOp.getMatchingIndexingMap(input);
      if (!(source && members.contains(source)) &&
          llvm::any_of(members[op],
                       [&](int64_t loop) { return map.isFunctionOfDim(loop); }))
        copied += getBytes(input->get());
    }
    if (!sums.contains(op))
      for (Value result : op->getResults())
        copied += isWide(result) ? 0 : getBytes(result);
  }
  return 2 * copied <= wideBytes;
}

/// The part of `value` that the slice of `op` reads through `map`.
Value Slicer::getPart(Value value, AffineMap map, Operation *op,
                      const Slab &slab) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> sizes(type.getShape());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  bool any = false;
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    for (auto [j, loop] : llvm::enumerate(members[op]))
      if (expr == builder.getAffineDimExpr(loop)) {
        offsets[i] = builder.getIndexAttr(slab.offsets[j]);
        sizes[i] = slab.sizes[j];
        any = true;
      }
  if (!any)
    return value;
  Operation *maker = value.getDefiningOp();
  if (maker && isa<tensor::EmptyOp, linalg::FillOp>(maker)) {
    Value part = tensor::EmptyOp::create(builder, op->getLoc(), sizes,
                                         type.getElementType());
    if (auto fill = dyn_cast<linalg::FillOp>(maker))
      part = linalg::FillOp::create(builder, op->getLoc(), fill.value(), part)
                 .getResult(0);
    return part;
  }
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      builder, op->getLoc(), value, offsets,
      getAsIndexOpFoldResult(builder.getContext(), sizes), strides);
}

/// What the current slice has made of `value`, a member's result in any shape;
/// null if it is none.
Value Slicer::getChunk(Value value, int64_t count) {
  Value root = value;
  while (root.getDefiningOp() && isAlias(root.getDefiningOp()))
    root = root.getDefiningOp()->getOperand(0);
  Value chunk = current.lookup(root);
  if (!chunk)
    return {};
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  ArrayRef<int64_t> rowShape = getRowShape(shape, rows);
  // Any slab of so many rows has this shape.
  SmallVector<int64_t> mine = getSlab(rowShape, 0, count)->sizes;
  llvm::append_range(mine, shape.drop_front(rowShape.size()));
  return reshape(builder, value.getLoc(), chunk, mine);
}

/// A body that asks for its row gets that of the whole, unless to find elements
/// of what is there a slice at a time.
void Slicer::shiftIndices(Operation *op, Operation *clone, const Slab &slab) {
  SmallPtrSet<OpOperand *, 4> local;
  int64_t count = 1;
  for (int64_t size : slab.sizes)
    count *= size;
  builder.setInsertionPoint(clone);
  clone->walk([&](tensor::ExtractOp extract) {
    Value chunk = getChunk(extract.getTensor(), count);
    if (!chunk)
      return;
    extract.getTensorMutable().assign(chunk);
    for (OpOperand &row :
         extract.getIndicesMutable().slice(0, slab.sizes.size()))
      local.insert(&row);
  });
  OpBuilder::InsertionGuard guard(builder);
  for (auto index :
       llvm::to_vector(clone->getRegion(0).front().getOps<linalg::IndexOp>()))
    for (auto [loop, offset] : llvm::zip(members[op], slab.offsets)) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : index->getUses())
        if (!local.contains(&use))
          uses.push_back(&use);
      if (static_cast<int64_t>(index.getDim()) != loop || offset == 0 ||
          uses.empty())
        continue;
      builder.setInsertionPointAfter(index);
      Value shift =
          arith::ConstantIndexOp::create(builder, op->getLoc(), offset);
      Value row = arith::AddIOp::create(builder, op->getLoc(), index, shift);
      for (OpOperand *use : uses)
        use->set(row);
    }
}

void Slicer::clone(Operation *op, int64_t slice) {
  int64_t start = getStart(slice), count = getStart(slice + 1) - start;
  Slab slab = *getSlab(getRowSizes(op), start, count);
  auto linalgOp = cast<linalg::LinalgOp>(op);
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    bool continues =
        sums.contains(op) && slice != 0 && linalgOp.isDpsInit(&operand);
    if (continues)
      value = parts[linalgOp.getTiedOpResult(&operand)].back();
    else if (Value chunk = getChunk(value, count))
      value = chunk;
    else
      value =
          getPart(value, linalgOp.getMatchingIndexingMap(&operand), op, slab);
    operands.push_back(value);
  }
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (OpResult result : clone->getResults())
    result.setType(cast<linalg::LinalgOp>(clone)
                       .getDpsInitOperand(result.getResultNumber())
                       ->get()
                       .getType());
  shiftIndices(op, clone, slab);
  builder.setInsertionPointAfter(clone);
  for (auto [result, part] : llvm::zip(op->getResults(), clone->getResults())) {
    parts[result].push_back(part);
    if (!sums.contains(op))
      current[result] = part;
  }
}

/// All rows of a member's result.
Value Slicer::concatenate(OpResult result) {
  ArrayRef<Value> pieces = parts[result];
  if (sums.contains(result.getOwner()))
    return pieces.back();
  auto type = cast<RankedTensorType>(result.getType());
  ArrayRef<int64_t> rowShape = getRowShape(type.getShape(), rows);
  SmallVector<Value> flat;
  for (auto [slice, piece] : llvm::enumerate(pieces)) {
    SmallVector<int64_t> shape = {getStart(slice + 1) - getStart(slice)};
    llvm::append_range(shape, type.getShape().drop_front(rowShape.size()));
    flat.push_back(reshape(builder, result.getLoc(), piece, shape));
  }
  Value all = tensor::ConcatOp::create(builder, result.getLoc(), 0, flat);
  return reshape(builder, result.getLoc(), all, type.getShape());
}

static void eraseDeadAliases(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    eraseDeadAliases(user->getResult(0));
    user->erase();
  }
}

void Slicer::replace() {
  bool backward = llvm::any_of(sorted, isBackward);
  Operation *end = sorted.back()->getNextNode();
  Operation *before = sorted.back();
  builder.setInsertionPoint(end);
  for (int64_t slice = 0; slice < slices; ++slice)
    for (Operation *op : sorted)
      clone(op, slice);
  for (Operation *op : sorted)
    for (OpResult result : op->getResults()) {
      bool outside = false;
      forEachReader(result, [&](Operation *reader) {
        outside |= !members.contains(body.findAncestorOpInBlock(*reader));
      });
      if (outside)
        result.replaceAllUsesWith(concatenate(result));
    }
  StringAttr mark = builder.getStringAttr(RematDialect::backwardAttrName);
  if (backward) {
    for (Operation *op = before->getNextNode(); op != end;
         op = op->getNextNode())
      op->setAttr(mark, builder.getUnitAttr());
    for (Operation *op : forward)
      op->setAttr(mark, builder.getUnitAttr());
  }
  for (Operation *op : behind)
    op->moveBefore(end);
  for (Operation *op : llvm::reverse(sorted)) {
    for (Value result : op->getResults())
      eraseDeadAliases(result);
    op->erase();
  }
}

bool Slicer::run(linalg::ContractOp product, DenseSet<Operation *> &gone) {
  if (!start(product) || !order() || !collectForward() || !isWorthwhile() ||
      !chooseSlices())
    return false;
  gone.insert(sorted.begin(), sorted.end());
  replace();
  return true;
}

namespace {
struct SliceRows : remat::impl::RematSliceRowsBase<SliceRows> {
  using RematSliceRowsBase::RematSliceRowsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!llvm::hasSingleElement(function.getBody()))
      return;
    Block &body = function.getBody().front();
    SmallVector<linalg::ContractOp> products(body.getOps<linalg::ContractOp>());
    DenseSet<Operation *> gone;
    for (linalg::ContractOp product : products)
      if (!gone.contains(product))
        numSliced += Slicer(body).run(product, gone);
  }
};
} // namespace
