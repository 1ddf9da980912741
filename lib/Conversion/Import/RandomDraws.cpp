//===- RandomDraws.cpp - exporters' generators of random numbers ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generator that was expanded by an exporter is integer arithmetic on a seed
// and the indices of an element, whose outcome becomes a fraction. Whatever the
// arithmetic is, it stands for a draw; as remat.random it says so, which lets a
// region draw anew where it need not preserve random state.
//
//===----------------------------------------------------------------------===//

#include "RandomDraws.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat;

/// All values of the function that are computed from `state` by operations
/// without tensors of floating-point numbers among their results.
static DenseSet<Value> findSeeds(BlockArgument state) {
  DenseSet<Value> seeds = {state};
  for (Operation &op : *state.getOwner()) {
    // What a loop makes of a state is one.
    if (auto loop = dyn_cast<LoopOp>(op)) {
      for (auto [init, final] : llvm::zip(loop.getInits(), loop.getFinals()))
        if (seeds.contains(init))
          seeds.insert(final);
      continue;
    }
    bool isInteger = op.getNumRegions() == 0 &&
                     llvm::all_of(op.getResultTypes(), [](Type type) {
                       return getElementTypeOrSelf(type).isIntOrIndex();
                     });
    if (isInteger && llvm::any_of(op.getOperands(), [&](Value operand) {
          return seeds.contains(operand);
        }))
      seeds.insert_range(op.getResults());
  }
  return seeds;
}

/// The only seed that `value`, computed in the body of `generic`, is made of,
/// beside indices and constants; null if it is made of anything else.
static Value findSeed(Value value, linalg::GenericOp generic,
                      const DenseSet<Value> &seeds) {
  llvm::SmallSetVector<Value, 16> slice;
  slice.insert(value);
  Value seed;
  for (size_t i = 0; i < slice.size(); ++i) {
    Value current = slice[i];
    Operation *op = current.getDefiningOp();
    if (seeds.contains(current)) {
      if (seed && seed != current)
        return {};
      seed = current;
    } else if (!op) {
      return {};
    } else if (isa<arith::ArithDialect>(op->getDialect()) &&
               current.getType().isIntOrIndex()) {
      slice.insert_range(op->getOperands());
    } else if (!isa<linalg::IndexOp>(op)) {
      return {};
    }
  }
  return seed;
}

/// The first conversion of a drawn integer to a fraction in the body, and the
/// seed.
static std::pair<arith::UIToFPOp, Value>
findDraw(linalg::GenericOp generic, const DenseSet<Value> &seeds) {
  for (auto convert : generic.getBody()->getOps<arith::UIToFPOp>())
    if (Value seed = findSeed(convert.getIn(), generic, seeds);
        seed && seed.getType().isInteger(64))
      return {convert, seed};
  return {};
}

/// Adds numbers of remat.random to the inputs of `generic` and uses them in the
/// place of `convert`, whose operand was uniform over all integers.
static linalg::GenericOp replaceDraw(linalg::GenericOp generic,
                                     arith::UIToFPOp convert, Value seed) {
  OpBuilder builder(generic);
  Location loc = convert.getLoc();
  auto element = cast<FloatType>(convert.getType());
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  Value key = tensor::FromElementsOp::create(builder, loc, scalar, seed);
  Value offset = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(scalar, int64_t(0)));
  auto type = RankedTensorType::get(generic.getStaticLoopRanges(), element);
  Value numbers =
      RandomOp::create(builder, loc, type, key, offset, /*fresh=*/false);

  SmallVector<Value> inputs = generic.getInputs();
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  maps.insert(maps.begin() + inputs.size(),
              builder.getMultiDimIdentityMap(type.getRank()));
  inputs.push_back(numbers);
  auto replacement = linalg::GenericOp::create(
      builder, generic.getLoc(), generic.getResultTypes(), inputs,
      generic.getOutputs(), maps, generic.getIteratorTypesArray());
  replacement.getRegion().takeBody(generic.getRegion());
  BlockArgument number =
      replacement.getBody()->insertArgument(inputs.size() - 1, element, loc);
  builder.setInsertionPoint(convert);
  int64_t width = convert.getIn().getType().getIntOrFloatBitWidth();
  Value scale = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(element, std::ldexp(1.0, width)));
  convert.replaceAllUsesWith(
      arith::MulFOp::create(builder, loc, number, scale).getResult());
  convert.erase();
  generic.replaceAllUsesWith(replacement);
  generic.erase();
  return replacement;
}

void remat::import::importDraws(BlockArgument state) {
  DenseSet<Value> seeds = findSeeds(state);
  SmallVector<linalg::GenericOp> generics;
  state.getOwner()->walk([&](linalg::GenericOp generic) {
    if (generic.hasPureTensorSemantics() &&
        !llvm::is_contained(generic.getStaticLoopRanges(),
                            ShapedType::kDynamic))
      generics.push_back(generic);
  });
  for (linalg::GenericOp generic : generics)
    for (auto [convert, seed] = findDraw(generic, seeds); convert;
         std::tie(convert, seed) = findDraw(generic, seeds))
      generic = replaceDraw(generic, convert, seed);
  for (auto loop : state.getOwner()->getOps<LoopOp>()) {
    auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        loop, loop.getBodyAttr());
    for (auto [operand, argument] :
         llvm::zip(loop->getOperands(), body.getArguments()))
      if (seeds.contains(operand))
        importDraws(argument);
  }
}
