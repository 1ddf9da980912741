//===- NestEmitter.cpp - loops for elementwise ops and reductions ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three forms of loops:
//
// * pointwise: units, parallel loops, innermost loop of unit stride. Two
//   operands with different dimensions of unit stride are walked in tiles.
// * reduction along memory: as above around the reduction loops, with the sums
//   in registers. The sum is marked `reassoc`, and nothing else is, so that
//   LLVM may vectorize it.
// * reduction across memory: a block of neighbouring results is summed on the
//   stack, some rows at a time, so that memory is walked in order. Sums over
//   several loops whose innermost is short are done likewise: its terms are
//   neighbours on the stack, and added up when all rows are.
//
// Long sums of floats are kept in f64, so that their error does not grow with
// their length. The order of a sum depends on shapes only.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "OrderedFloats.h"
#include "Tuning.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

//===----------------------------------------------------------------------===//
// Choice of loops
//===----------------------------------------------------------------------===//

/// How badly memory is walked if `loop` is the innermost one.
int64_t NestEmitter::getInnerCost(unsigned loop) const {
  int64_t cost = 0;
  auto add = [&](const Access &access) {
    int64_t stride = std::abs(access.coefficients[loop]);
    if (stride != 0)
      cost += stride == 1                        ? NestTuning::nextCost
              : stride <= NestTuning::nearStride ? NestTuning::nearCost
                                                 : NestTuning::farCost;
  };
  for (const Access &access : nest.inputs)
    if (access.isRead)
      add(access);
  for (const Access &access : nest.outputs)
    add(access);
  // Short loops are not worth vectorizing.
  return cost +
         NestTuning::startCost / std::max<int64_t>(nest.loops[loop].size, 1);
}

void NestEmitter::chooseLoops() {
  if (nest.isEmpty())
    return;
  if (nest.sequential) {
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
      parallel.push_back(loop);
    return;
  }
  int64_t best = 0;
  // Loops that are open or have bounds of their own are outside of all others.
  auto isOutside = [&](unsigned loop) {
    return nest.loops[loop].isOpen() || nest.loops[loop].begin;
  };
  // Of reductions that have an order, only the last may be inside of the
  // others.
  auto hasOthersInside = [&](unsigned loop) {
    return nest.isOrdered && nest.loops[loop].isReduction &&
           llvm::any_of(ArrayRef(nest.loops).drop_front(loop + 1),
                        [](const Loop &next) { return next.isReduction; });
  };
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    if (isOutside(loop) || hasOthersInside(loop))
      continue;
    int64_t cost = getInnerCost(loop);
    if (inner < 0 || cost <= best) {
      inner = loop;
      best = cost;
    }
  }
  for (bool outside : {true, false})
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
      if (static_cast<int>(loop) != inner && isOutside(loop) == outside &&
          !nest.loops[loop].isOpen())
        (nest.loops[loop].isReduction ? reductions : parallel).push_back(loop);
  innerIsReduction = inner >= 0 && nest.loops[inner].isReduction;
  if (reductions.empty() && !innerIsReduction)
    chooseTile();
}

/// Looks for an operand that is contiguous in another loop than the innermost.
void NestEmitter::chooseTile() {
  if (inner < 0 || nest.loops[inner].size < NestTuning::minTiled ||
      nest.loops[inner].end)
    return;
  auto findLoop = [&](const Access &access) {
    if (tiled >= 0 ||
        std::abs(access.coefficients[inner]) < NestTuning::tiledStride)
      return;
    for (unsigned loop : parallel)
      if (std::abs(access.coefficients[loop]) == 1 && !nest.loops[loop].end &&
          nest.loops[loop].size >= NestTuning::minTiled)
        tiled = loop;
  };
  for (const Access &access : nest.inputs)
    if (access.isRead)
      findLoop(access);
  for (const Access &access : nest.outputs)
    findLoop(access);
  if (tiled >= 0)
    llvm::erase(parallel, static_cast<unsigned>(tiled));
}

/// Moves parallel loops to the range of units until it is long enough.
void NestEmitter::chooseUnits() {
  if (nest.isEmpty() || nest.sequential)
    return;
  int64_t extent = 1;
  auto addUnits = [&](unsigned loop, int64_t block) {
    units.push_back({loop, nest.loops[loop].size, block});
    extent *= units.back().getCount();
  };
  bool isPart = llvm::any_of(
      nest.loops, [](const Loop &loop) { return loop.isOpen() || loop.begin; });
  while (!isPart && !parallel.empty() && extent < NestTuning::wantedUnits) {
    addUnits(parallel.front(), 1);
    parallel.erase(parallel.begin());
  }
  if (tiled >= 0) {
    addUnits(tiled, NestTuning::tileSize);
    addUnits(inner, NestTuning::tileSize);
    return;
  }
  if (inner < 0 || innerIsReduction)
    return;
  int64_t size = nest.loops[inner].size;
  if (!reductions.empty()) {
    // Narrow blocks would walk memory in small steps.
    int64_t block = extent >= NestTuning::manyUnits
                        ? NestTuning::maxAccumulators
                        : llvm::divideCeil(size, NestTuning::wantedBlocks);
    block = std::clamp<int64_t>(
        llvm::alignTo(block, NestTuning::accumulatorMultiple),
        NestTuning::minAccumulators, NestTuning::maxAccumulators);
    addUnits(inner, block);
  } else if (!isPart && extent < NestTuning::wantedUnits &&
             size >= 2 * NestTuning::minBlock) {
    int64_t block = llvm::divideCeil(size * extent, NestTuning::wantedUnits);
    addUnits(inner,
             std::max<int64_t>(llvm::alignTo(block, NestTuning::blockMultiple),
                               NestTuning::minBlock));
  }
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value NestEmitter::emitAddress(OpBuilder &builder, const Access &access) {
  Value address =
      emitLinear(builder, loc, access.offset, access.coefficients, indices);
  if (access.base)
    address = arith::AddIOp::create(builder, loc, address, access.base, nsw);
  if (!access.nonlinear)
    return address;
  auto op = cast<linalg::GenericOp>(nest.op);
  SmallVector<Value> dims(op.getNumLoops(), emitIndex(builder, loc, 0));
  for (auto [loop, index] : llvm::zip(nest.loops, indices))
    if (loop.dims.size() == 1)
      dims[loop.dims[0]] = index;
  Value rest =
      affine::expandAffineExpr(builder, loc, access.nonlinear, dims, {});
  return arith::AddIOp::create(builder, loc, address, rest);
}

Value NestEmitter::emitElement(OpBuilder &builder, const Access &access) {
  if (access.scalar)
    return kernel.scalars.lookupOrDefault(access.scalar);
  Value address = emitAddress(builder, access);
  return kernel.load(builder, loc, access.root, access.elementType, address);
}

/// The value that an accumulator starts from.
Value NestEmitter::emitInit(OpBuilder &builder,
                            const Accumulator &accumulator) {
  const Access &access = nest.outputs[accumulator.output];
  Value init;
  if (TypedAttr constant = nest.inits[accumulator.output])
    init = arith::ConstantOp::create(builder, loc, constant);
  else if (access.isRead)
    init = emitElement(builder, access);
  else
    init = emitZero(builder, loc, access.elementType);
  return convertFloat(builder, loc, init, accumulator.type);
}

Value NestEmitter::emitCombined(OpBuilder &builder, BodyEmitter &body,
                                const Accumulator &accumulator, Value old) {
  if (!accumulator.combiner) {
    Value yielded = nest.body->getTerminator()->getOperand(accumulator.output);
    return body.lookup(yielded);
  }
  Value term = emitTerm(builder, nest, body, accumulator);
  return emitCombination(builder, nest, accumulator, old, term,
                         arith::FastMathFlags::reassoc);
}

/// Whether the innermost loop walks results on the stack, or parts of sums:
/// where it is too short for sums in registers.
bool NestEmitter::hasSumsOnStack() const {
  if (reductions.empty() || inner < 0)
    return false;
  if (!innerIsReduction)
    return true;
  return nest.loops[inner].size <= NestTuning::maxPartialSums &&
         !nest.loops[inner].end &&
         llvm::all_of(accumulators, [](const Accumulator &accumulator) {
           return isa_and_nonnull<arith::AddFOp, arith::AddIOp>(
               accumulator.combiner);
         });
}

/// Whether a thread's units, which are neighbouring columns, are walked row by
/// row together: one by one they would read pieces of each row.
bool NestEmitter::joinsUnits() const {
  return hasSumsOnStack() && !innerIsReduction && units.size() == 1 &&
         parallel.empty() && units.front().size <= NestTuning::maxJoined;
}

/// The columns of the units from `begin` to `end`.
UnitBlock NestEmitter::emitJoined(OpBuilder &builder, Value begin, Value end) {
  Value block = emitIndex(builder, loc, units.front().block);
  UnitBlock joined;
  joined.begin = arith::MulIOp::create(builder, loc, begin, block, nsw);
  joined.end = arith::MinSIOp::create(
      builder, loc, arith::MulIOp::create(builder, loc, end, block, nsw),
      emitIndex(builder, loc, units.front().size));
  return joined;
}

/// Tells the body at what depth its arguments are known. `depths` holds the
/// depth of each loop.
void NestEmitter::defineBody(BodyEmitter &body) {
  unsigned innermost = depth;
  auto getDepth = [&](const Access &access) {
    unsigned result = 0;
    for (auto [loop, coefficient] : llvm::enumerate(access.coefficients))
      if (coefficient != 0)
        result = std::max(result, depths[loop]);
    return access.nonlinear ? innermost : result;
  };
  for (auto [argument, access] :
       llvm::zip(nest.body->getArguments(), nest.inputs))
    body.defineArgument(argument, getDepth(access),
                        [this, &access = access](OpBuilder &b) {
                          return emitElement(b, access);
                        });
  for (auto [number, argument] : llvm::enumerate(getOutputArguments(nest))) {
    const Access &access = nest.outputs[number];
    TypedAttr init = nest.sequential ? TypedAttr() : nest.inits[number];
    body.defineArgument(argument, innermost,
                        [this, &access, init](OpBuilder &b) -> Value {
                          if (init)
                            return arith::ConstantOp::create(b, loc, init);
                          return emitElement(b, access);
                        });
  }
  for (const auto &[loop, info] : llvm::enumerate(nest.loops))
    if (info.dims.size() == 1)
      body.defineIndex(
          info.dims[0], depths[loop],
          [this, loop = loop](OpBuilder &) { return indices[loop]; });
  requireResults(body, nest, accumulators);
  // Accumulators that the body reads as they are come from registers or the
  // stack; the emitters of the loops map them.
  for (const Accumulator &accumulator : accumulators)
    if (!accumulator.combiner)
      body.defineArgument(
          getOutputArguments(nest)[accumulator.output], innermost,
          [&accumulator](OpBuilder &) { return accumulator.value; });
  body.prepare(innermost);
}

Value NestEmitter::emitEnd(OpBuilder &builder, unsigned loop) {
  const Loop &info = nest.loops[loop];
  return info.end ? info.end : emitIndex(builder, loc, info.size);
}

LogicalResult NestEmitter::enterLoop(OpBuilder &builder, BodyEmitter &body,
                                     unsigned loop, Value begin, Value end) {
  const Loop &info = nest.loops[loop];
  if (!begin)
    begin = info.begin ? info.begin : emitIndex(builder, loc, 0);
  if (!end)
    end = emitEnd(builder, loop);
  auto op = openLoop(builder, loc, begin, end);
  if (static_cast<int>(loop) == inner && info.size >= NestTuning::minKept)
    keepLoop(op);
  indices[loop] = op.getInductionVar();
  return body.emit(builder, depths[loop]);
}

/// Stores the outputs that are no accumulators.
void NestEmitter::emitStores(OpBuilder &builder, BodyEmitter &body) {
  for (auto [number, access] : llvm::enumerate(nest.outputs)) {
    if (findAccumulator(number))
      continue;
    Value value = body.lookup(nest.body->getTerminator()->getOperand(number));
    kernel.store(builder, loc, value, access.root,
                 emitAddress(builder, access));
  }
}

void NestEmitter::emitFinal(OpBuilder &builder, const Accumulator &accumulator,
                            Value value) {
  const Access &access = nest.outputs[accumulator.output];
  kernel.store(builder, loc,
               convertFloat(builder, loc, value, access.elementType),
               access.root, emitAddress(builder, access));
}

//===----------------------------------------------------------------------===//
// The forms of loops
//===----------------------------------------------------------------------===//

/// Whether the end of the innermost loop, which does not fill a vector, may be
/// done by one that overlaps the one before: where that makes the same again.
bool NestEmitter::mayOverlap() const {
  if (inner < 0 || tiled >= 0)
    return false;
  const Loop &info = nest.loops[inner];
  if (info.size < NestTuning::minKept ||
      info.size % NestTuning::minKept < NestTuning::minOverlapped ||
      info.begin || info.end ||
      llvm::any_of(
          units,
          [&](const UnitLoop &unit) {
            return static_cast<int>(unit.loop) == inner;
          }))
    return false;
  // Results of the kernel may lie where it reads.
  return llvm::all_of(nest.outputs, [&](const Access &output) {
    Value buffer = kernel.buffers.lookup(output.root);
    return buffer && buffer.getDefiningOp<memref::AllocaOp>() &&
           !output.isRead &&
           llvm::none_of(nest.inputs, [&](const Access &input) {
             return input.root == output.root;
           });
  });
}

LogicalResult NestEmitter::emitPointwise(OpBuilder &builder,
                                         BodyEmitter &body) {
  if (mayOverlap()) {
    int64_t size = nest.loops[inner].size, rest = size % NestTuning::minKept;
    Value whole = emitIndex(builder, loc, size - rest);
    Value last = emitIndex(builder, loc, size - NestTuning::minKept);
    if (failed(enterLoop(builder, body, inner, {}, whole)))
      return failure();
    emitStores(builder, body);
    builder.setInsertionPointAfter(builder.getBlock()->getParentOp());
    if (failed(enterLoop(builder, body, inner, last)))
      return failure();
    emitStores(builder, body);
    return success();
  }
  for (int loop : {tiled, inner}) {
    if (loop < 0)
      continue;
    UnitBlock block;
    for (auto [unit, unitBlock] : llvm::zip(units, blocks))
      if (static_cast<int>(unit.loop) == loop)
        block = unitBlock;
    if (failed(enterLoop(builder, body, loop, block.begin, block.end)))
      return failure();
  }
  emitStores(builder, body);
  return success();
}

LogicalResult NestEmitter::emitAlongMemory(OpBuilder &builder,
                                           BodyEmitter &body) {
  SmallVector<Value> values;
  for (const Accumulator &accumulator : accumulators) {
    Value init = emitInit(builder, accumulator);
    values.push_back(hasOrderedKey(accumulator)
                         ? emitOrderedKey(builder, loc, accumulator, init)
                         : init);
  }
  SmallVector<unsigned> loops(reductions);
  if (inner >= 0)
    loops.push_back(inner);
  SmallVector<scf::ForOp> nestLoops;
  for (unsigned loop : loops) {
    Value zero = emitIndex(builder, loc, 0);
    auto op = openLoop(builder, loc, zero, emitEnd(builder, loop), values);
    int64_t size = nest.loops[loop].size;
    if (static_cast<int>(loop) == inner && size >= NestTuning::minKept)
      keepLoop(op,
               innerIsReduction
                   ? std::clamp<int64_t>(size / NestTuning::interleavedElements,
                                         1, NestTuning::maxInterleaved)
                   : 0);
    nestLoops.push_back(op);
    indices[loop] = op.getInductionVar();
    values.assign(op.getRegionIterArgs().begin(), op.getRegionIterArgs().end());
    for (auto [accumulator, value] : llvm::zip(accumulators, values))
      accumulator.value = value;
    if (failed(body.emit(builder, depths[loop])))
      return failure();
  }
  SmallVector<Value> results;
  for (const Accumulator &accumulator : accumulators) {
    if (hasOrderedKey(accumulator)) {
      Value key = emitOrderedKey(builder, loc, accumulator,
                                 emitTerm(builder, nest, body, accumulator));
      results.push_back(
          emitKeptKey(builder, loc, accumulator, accumulator.value, key));
      continue;
    }
    results.push_back(
        emitCombined(builder, body, accumulator, accumulator.value));
  }
  emitStores(builder, body);
  for (scf::ForOp op : llvm::reverse(nestLoops)) {
    // Without carried values the loop has its terminator already.
    if (!results.empty())
      scf::YieldOp::create(builder, loc, results);
    builder.setInsertionPointAfter(op);
    results.assign(op.getResults().begin(), op.getResults().end());
  }
  for (auto [accumulator, value] : llvm::zip(accumulators, results))
    emitFinal(builder, accumulator,
              hasOrderedKey(accumulator)
                  ? emitFromKey(builder, loc, value, accumulator.type)
                  : value);
  return success();
}

/// Outputs that start from a constant, where the op itself cannot set them.
void NestEmitter::emitFills(OpBuilder &builder) {
  auto op = cast<linalg::GenericOp>(nest.op);
  for (auto [number, init] : llvm::enumerate(nest.inits)) {
    if (!init)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    auto view = resolveView(op.getDpsInits()[number]);
    SmallVector<Value> place;
    for (int64_t size : view->shape)
      place.push_back(openLoop(builder, loc, emitIndex(builder, loc, 0),
                               emitIndex(builder, loc, size))
                          .getInductionVar());
    Value value = arith::ConstantOp::create(builder, loc, init);
    kernel.store(builder, loc, value, view->root,
                 emitLinear(builder, loc, view->offset, view->strides, place));
  }
}

LogicalResult NestEmitter::emit(OpBuilder &builder, Value begin, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  indices.clear();
  for (const Loop &loop : nest.loops)
    indices.push_back(loop.index);
  depths.assign(nest.loops.size(), 0);

  // All loops of the units are known at depth 1, the others one by one.
  depth = 1;
  for (const UnitLoop &unit : units)
    depths[unit.loop] = 1;
  SmallVector<unsigned> order(parallel);
  if (tiled >= 0)
    order.push_back(tiled);
  llvm::append_range(order, reductions);
  if (inner >= 0)
    order.push_back(inner);
  for (unsigned loop : order)
    depths[loop] = ++depth;

  if (joinsUnits()) {
    blocks = {emitJoined(builder, begin, end)};
  } else {
    auto unitLoop = openLoop(builder, loc, begin, end);
    if (nest.isEmpty() || nest.sequential)
      emitFills(builder);
    if (nest.isEmpty())
      return success();
    blocks = splitUnit(builder, loc, unitLoop.getInductionVar(), units);
  }
  BodyEmitter body(*nest.body, kernel);
  defineBody(body);
  for (auto [unit, block] : llvm::zip(units, blocks)) {
    if (unit.block == 1)
      indices[unit.loop] = block.begin;
    else if (Value last = nest.loops[unit.loop].end)
      block.end = arith::MinSIOp::create(builder, loc, block.end, last);
  }
  if (failed(body.emit(builder, 0)) || failed(body.emit(builder, 1)))
    return failure();
  for (unsigned loop : parallel)
    if (failed(enterLoop(builder, body, loop)))
      return failure();
  if (accumulators.empty() && reductions.empty() && !innerIsReduction)
    return emitPointwise(builder, body);
  return hasSumsOnStack() ? emitOnStack(builder, body)
                          : emitAlongMemory(builder, body);
}

std::unique_ptr<Emitter>
remat::cpu::makeNestEmitter(LoopNest nest, const KernelContext &kernel) {
  return std::make_unique<NestEmitter>(std::move(nest), kernel);
}
