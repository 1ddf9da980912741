//===- Loops.cpp - control flow between operations on tensors -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is a straight line: what a loop carries from one iteration to the
// next are values like any other, which the planner keeps or computes again.
// So loops are unrolled, and both branches of a choice are computed. What a
// branch uses of values from outside has a derivative of 0 where the branch is
// not taken: there its own derivative may be infinite.
//
//===----------------------------------------------------------------------===//

#include "CleanUp.h"
#include "LoopBounds.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "Foreign/Lowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTLOOPSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// Writes out the iterations of loops and the branches of choices.
class Expander {
public:
  Expander(OpBuilder &builder, int64_t limit)
      : builder(builder), limit(limit) {}

  /// Replaces `op`, an scf.for or scf.if.
  LogicalResult replace(Operation *op);

private:
  LogicalResult expand(Operation *op, IRMapping &mapping);
  LogicalResult expandFor(scf::ForOp op, IRMapping &mapping);
  LogicalResult expandIf(scf::IfOp op, IRMapping &mapping);
  LogicalResult expandBranch(Region &branch, Value condition,
                             IRMapping &mapping);
  Value gate(Location loc, Value condition, bool isThen, Value value);
  LogicalResult expandBlock(Block &block, IRMapping &mapping);
  LogicalResult copy(Operation *op, IRMapping &mapping);
  void gateCount(LoopOp loop);
  Value choose(Location loc, Value condition, Value a, Value b);

  OpBuilder &builder;
  /// How many more operations may be made.
  int64_t limit;
  /// Conditions of the branches around what is copied, and whether these are
  /// taken if they hold.
  SmallVector<std::pair<Value, bool>> taken;
};
} // namespace

/// A constant that `value` is known to be, after mapping.
static std::optional<int64_t> getConstant(Value value, IRMapping &mapping) {
  return getConstantIntValue(getAsOpFoldResult(mapping.lookupOrDefault(value)));
}

/// Lets `loop` run no iteration where a branch that it is in is not taken, if
/// how many it runs there is anybody's guess.
void Expander::gateCount(LoopOp loop) {
  if (!loop.isCountedAtRunTime() || taken.empty())
    return;
  OpBuilder before(loop);
  Location loc = loop.getLoc();
  OpOperand &use = loop.getConditional() ? loop.getInitsMutable()[0]
                                         : loop.getTripsMutable()[0];
  auto type = cast<RankedTensorType>(use.get().getType());
  Value number =
      tensor::ExtractOp::create(before, loc, use.get(), ValueRange());
  Value none = arith::ConstantOp::create(
      before, loc, before.getIntegerAttr(type.getElementType(), 0));
  for (auto [condition, isThen] : taken)
    number = arith::SelectOp::create(
        before, loc, condition, isThen ? number : none, isThen ? none : number);
  use.set(tensor::FromElementsOp::create(before, loc, type, number));
}

/// Copies `op`, or maps its results to constants.
LogicalResult Expander::copy(Operation *op, IRMapping &mapping) {
  if (--limit < 0)
    return op->emitOpError("is in a loop that unrolls to too many operations");
  // What is inside of regions must not be mapped to the previous copy.
  IRMapping outside;
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    outside.map(value, mapping.lookupOrDefault(value));
  Operation *clone = builder.clone(*op, outside);
  clone->walk([&](LoopOp loop) { gateCount(loop); });
  SmallVector<Value> results = llvm::to_vector_of<Value>(clone->getResults());
  SmallVector<Value> folded;
  if (succeeded(builder.tryFold(clone, folded)) && !folded.empty()) {
    results = folded;
    clone->erase();
  }
  mapping.map(op->getResults(), results);
  return success();
}

LogicalResult Expander::expandBlock(Block &block, IRMapping &mapping) {
  for (Operation &op : block.without_terminator())
    if (failed(expand(&op, mapping)))
      return failure();
  return success();
}

/// What loops are that need not be unrolled.
static constexpr StringLiteral orKept =
    ", or a loop that can stay one: without codecs, regions that run again as "
    "a whole or draw other numbers then, regions beside the option 'policy', "
    "a region around it beside a policy in it, other effects and dynamic "
    "shapes, and counting by a positive constant";

/// Refuses a loop that cannot be unrolled and is not one that stays.
static LogicalResult refuse(Operation *loop, StringRef expected) {
  return loop->emitOpError("is not supported: expected ") << expected << orKept;
}

LogicalResult Expander::expandFor(scf::ForOp op, IRMapping &mapping) {
  Type type = op.getInductionVar().getType();
  if (import::getCounterWidth(type) > 64)
    return op.emitOpError("counts with ") << type << ", expected at most i64";
  std::optional<int64_t> low = getConstant(op.getLowerBound(), mapping);
  std::optional<int64_t> high = getConstant(op.getUpperBound(), mapping);
  std::optional<int64_t> step = getConstant(op.getStep(), mapping);
  if (!low || !high || !step)
    return refuse(op, "constant bounds");
  if (*step <= 0)
    return op.emitOpError("has step ") << *step << ", expected 1 or more";
  std::optional<int64_t> trips =
      import::countIterations(op, *low, *high, *step);
  if (!trips || *trips > limit)
    return op.emitOpError("unrolls to too many iterations: expected at most ")
           << limit << orKept;
  SmallVector<Value> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(mapping.lookupOrDefault(init));
  for (int64_t number = 0; number < *trips; ++number) {
    mapping.map(op.getInductionVar(),
                arith::ConstantOp::create(
                    builder, op.getLoc(),
                    import::getCounter(type, *low, *step, number)));
    for (auto [argument, value] : llvm::zip(op.getRegionIterArgs(), carried))
      mapping.map(argument, value);
    if (failed(expandBlock(*op.getBody(), mapping)))
      return failure();
    for (auto [value, yielded] : llvm::zip(carried, op.getYieldedValues()))
      value = mapping.lookupOrDefault(yielded);
  }
  for (auto [result, value] : llvm::zip(op.getResults(), carried))
    mapping.map(result, value);
  return success();
}

/// `a` where `condition`, else `b`.
Value Expander::choose(Location loc, Value condition, Value a, Value b) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  if (!type)
    return arith::SelectOp::create(builder, loc, condition, a, b);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(3,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{a, b}, empty, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Value value = arith::SelectOp::create(nested, loc, condition,
                                                     args[0], args[1]);
               linalg::YieldOp::create(nested, loc, value);
             })
      .getResult(0);
}

/// Whether a derivative may pass through `value`.
static bool mayBeActive(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!isa<FloatType, ComplexType>(getElementTypeOrSelf(value.getType())) ||
      (!tensor && isa<ShapedType>(value.getType())) ||
      (tensor && !tensor.hasStaticShape()) || matchPattern(value, m_Constant()))
    return false;
  return !value.getDefiningOp<tensor::EmptyOp>() &&
         !value.getDefiningOp<linalg::FillOp>();
}

/// `value` where it is used by the branch that is taken if `condition` is
/// `isThen`: else its derivative is 0.
Value Expander::gate(Location loc, Value condition, bool isThen, Value value) {
  auto select = [&](OpBuilder &nested, Value taken) -> Value {
    Value zero = createZeroConstant(nested, loc, taken.getType());
    return arith::SelectOp::create(
        nested, loc, condition, isThen ? taken : zero, isThen ? zero : taken);
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // What a branch that is not taken makes of a number is not used.
  if (!type)
    return select(builder, value);
  return foreign::createWithRule(builder, loc, value, value, [&](Value change) {
    return createElementwise(builder, loc, change, type,
                             [&](OpBuilder &nested, Location, ValueRange args) {
                               return select(nested, args[0]);
                             });
  });
}

/// Expands a branch of a choice that is not known.
LogicalResult Expander::expandBranch(Region &branch, Value condition,
                                     IRMapping &mapping) {
  Operation *yield = branch.front().getTerminator();
  llvm::SetVector<Value> used;
  visitUsedValuesDefinedAbove(branch, [&](OpOperand *use) {
    if (use->getOwner() != yield)
      used.insert(use->get());
  });
  bool isThen = branch.getRegionNumber() == 0;
  taken.push_back({condition, isThen});
  llvm::scope_exit leave([&] { taken.pop_back(); });
  SmallVector<std::pair<Value, Value>> outside;
  for (Value value : used) {
    Value current = mapping.lookupOrDefault(value);
    if (!mayBeActive(current))
      continue;
    outside.push_back({value, current});
    mapping.map(value, gate(branch.getLoc(), condition, isThen, current));
  }
  LogicalResult result = expandBlock(branch.front(), mapping);
  for (auto [value, current] : outside)
    mapping.map(value, current);
  return result;
}

/// Whether nothing that `op` does can be seen but its results. Calls are not
/// inlined yet where loops are links of a chain; `calls` are those on the way.
static bool isPure(Operation *op, llvm::SmallPtrSetImpl<Operation *> &calls) {
  return !op->walk([&](Operation *inner) {
              if (auto call = dyn_cast<func::CallOp>(inner)) {
                auto callee =
                    SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                        call, call.getCalleeAttr());
                bool pure = callee && !callee.isExternal() &&
                            (!calls.insert(callee).second ||
                             llvm::all_of(callee.getOps(), [&](Operation &op) {
                               return isPure(&op, calls);
                             }));
                return pure ? WalkResult::advance() : WalkResult::interrupt();
              }
              if (inner->hasTrait<OpTrait::IsTerminator>() ||
                  inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                  isMemoryEffectFree(inner))
                return WalkResult::advance();
              return WalkResult::interrupt();
            }).wasInterrupted();
}

LogicalResult Expander::expandIf(scf::IfOp op, IRMapping &mapping) {
  std::optional<int64_t> known = getConstant(op.getCondition(), mapping);
  bool hasThen = !known || *known != 0;
  bool hasElse = (!known || *known == 0) && op.elseBlock();
  llvm::SmallPtrSet<Operation *, 4> calls;
  if (!known && !isPure(op, calls))
    return op.emitOpError("is not supported: expected branches without side "
                          "effects, as both are computed");
  Value condition = mapping.lookupOrDefault(op.getCondition());
  for (auto [isComputed, region] : {std::pair(hasThen, &op.getThenRegion()),
                                    std::pair(hasElse, &op.getElseRegion())})
    if (isComputed && failed(known ? expandBlock(region->front(), mapping)
                                   : expandBranch(*region, condition, mapping)))
      return failure();
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    Value a = hasThen
                  ? mapping.lookupOrDefault(op.thenYield().getOperand(number))
                  : Value();
    Value b = hasElse
                  ? mapping.lookupOrDefault(op.elseYield().getOperand(number))
                  : Value();
    if (a && b)
      a = choose(op.getLoc(), condition, a, b);
    mapping.map(result, a ? a : b);
  }
  return success();
}

LogicalResult Expander::expand(Operation *op, IRMapping &mapping) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return expandFor(loop, mapping);
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return expandIf(choice, mapping);
  return copy(op, mapping);
}

LogicalResult Expander::replace(Operation *op) {
  IRMapping mapping;
  if (failed(expand(op, mapping)))
    return failure();
  for (Value result : op->getResults())
    result.replaceAllUsesWith(mapping.lookup(result));
  op->erase();
  return success();
}

namespace {
struct ImportLoops : public remat::impl::ImportLoopsPassBase<ImportLoops> {
  using ImportLoopsPassBase::ImportLoopsPassBase;

  void runOnOperation() override {
    // What was written out may have regions with loops in them.
    for (SmallVector<Operation *> ops = findOutermost(); !ops.empty();
         ops = findOutermost())
      for (Operation *op : ops) {
        BackwardMarkListener marks;
        marks.beginRewrite(op);
        OpBuilder builder(op, &marks);
        if (failed(Expander(builder, limit).replace(op)))
          return signalPassFailure();
      }
    if (failed(checkWhileLoops()) || failed(makeShapesStatic()))
      signalPassFailure();
  }

private:
  /// Loops without a count do not become anything else here.
  LogicalResult checkWhileLoops() {
    LogicalResult result = success();
    getOperation().walk([&](scf::WhileOp loop) {
      if (!loop->getParentOfType<linalg::LinalgOp>())
        result = refuse(loop, "a constant number of iterations");
    });
    return result;
  }

  SmallVector<Operation *> findOutermost() {
    // Control flow of scalars in bodies is not for this pass.
    SmallVector<Operation *> outermost;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<linalg::LinalgOp, tensor::PadOp, tensor::GenerateOp>(op))
        return WalkResult::skip();
      if (!isa<scf::ForOp, scf::IfOp>(op))
        return WalkResult::advance();
      outermost.push_back(op);
      return WalkResult::skip();
    });
    return outermost;
  }

  /// Lets `concat` join the tensors of static shape that its operands are casts
  /// of.
  static void joinUncast(tensor::ConcatOp concat) {
    SmallVector<Value> inputs;
    SmallVector<tensor::CastOp> casts;
    for (Value input : concat.getInputs()) {
      if (auto cast = input.getDefiningOp<tensor::CastOp>()) {
        casts.push_back(cast);
        input = cast.getSource();
      }
      auto type = dyn_cast<RankedTensorType>(input.getType());
      if (!type || !type.hasStaticShape())
        return;
      inputs.push_back(input);
    }
    concat.getInputsMutable().assign(inputs);
    for (tensor::CastOp cast : casts)
      if (cast->use_empty())
        cast.erase();
  }

  /// Shapes that are computed from constants, as those that depended on the
  /// number of an iteration are now, become static.
  LogicalResult makeShapesStatic() {
    // Shapes that depend on those of arguments are known when the function, a
    // codec, is cloned for the type of a value. Nothing else has such
    // arguments.
    if (!llvm::all_of(getOperation().getArgumentTypes(), [](Type type) {
          auto tensor = dyn_cast<TensorType>(type);
          return !tensor || tensor.hasStaticShape();
        }))
      return success();
    auto findDynamic = [&]() -> OpResult {
      OpResult found;
      getOperation().walk([&](Operation *op) {
        for (OpResult result : op->getResults())
          if (auto type = dyn_cast<RankedTensorType>(result.getType());
              type && !type.hasStaticShape()) {
            found = result;
            return WalkResult::interrupt();
          }
        return WalkResult::advance();
      });
      return found;
    };
    if (!findDynamic())
      return success();
    import::canonicalize(
        getOperation(), import::getCanonicalizationPatterns(&getContext()),
        GreedyRewriteConfig()
            .setUseTopDownTraversal()
            .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal));
    getOperation().walk(joinUncast);
    if (OpResult dynamic = findDynamic())
      return emitError(dynamic.getLoc(), "dynamic shape is not supported: ")
             << dynamic.getType();
    return success();
  }
};
} // namespace
