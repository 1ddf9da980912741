//===- KeepLoops.cpp - loops that are too long to be unrolled -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is unrolled, the planner knows in every detail, and planning takes as
// long. Of a long loop all iterations are alike: its body becomes a function
// that is planned once.
//
//===----------------------------------------------------------------------===//

#include "LoopParts.h"
#include "Outline.h"
#include "Tags.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Unrolling.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Closure.h"
#include "remat/Utils/Saturating.h"

namespace remat {
#define GEN_PASS_DEF_KEEPLOOPSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using import::LoopBounds;

//===----------------------------------------------------------------------===//
// Choosing loops
//===----------------------------------------------------------------------===//

namespace {
/// What is known of the loops of a module. Calls are not inlined yet where the
/// pass runs first, so functions are looked into as well.
class LoopChoice {
public:
  LoopChoice(int64_t limit, int64_t maxTripCount)
      : limit(limit), maxTripCount(maxTripCount) {}

  /// The bounds of `loop` if it stays a loop.
  std::optional<LoopBounds> choose(scf::ForOp loop);
  /// Whether `loop`, which cannot be unrolled, can stay one.
  bool canStay(Operation *loop);

private:
  /// How many operations the loop may unroll to.
  int64_t getLimit(scf::ForOp loop) const;
  int64_t count(Block &block);
  int64_t count(Operation *op);
  bool isRepeatable(Operation *root);
  bool mayHavePolicy(Operation *root);
  bool isAllowed(Operation *op);
  bool isAllowed(func::FuncOp function);

  int64_t limit, maxTripCount;
  SymbolTableCollection symbols;
  /// The operations of functions, and whether these may be called in a loop.
  DenseMap<Operation *, int64_t> sizes;
  DenseMap<Operation *, bool> allowed;
};
} // namespace

/// The operations that `block` unrolls to.
int64_t LoopChoice::count(Block &block) {
  int64_t sum = 0;
  for (Operation &op : block.without_terminator())
    sum = addCounts(sum, count(&op));
  return sum;
}

int64_t LoopChoice::count(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<LoopBounds> bounds = import::getConstantBounds(loop);
    return multiplyCounts(bounds ? bounds->trips : 1, count(*loop.getBody()));
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return addCounts(count(*loop.getBeforeBody()), count(*loop.getAfterBody()));
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    int64_t size = count(*choice.thenBlock());
    return choice.elseBlock() ? addCounts(size, count(*choice.elseBlock()))
                              : size;
  }
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return 1;
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  // None for a function that calls itself, which no loop may call.
  auto [it, isNew] = sizes.try_emplace(callee, 0);
  if (!isNew || !callee)
    return it->second;
  int64_t size = 0;
  for (Block &block : callee.getBody())
    size = addCounts(size, count(block));
  return sizes[callee] = size;
}

/// Whether `op` of remat's own may be in the body of a loop. The others ask for
/// something of values of this step, of which a loop's body makes many: another
/// form, a recomputation of what nobody needs, or one that differs.
static bool isAllowedHere(Operation *op) {
  if (auto tag = dyn_cast<TagOp>(op))
    return llvm::all_of(tag->getAttrs(), [&](NamedAttribute attribute) {
      return attribute.getName() == tag.getNameAttrName() ||
             attribute.getName() == tag.getPolicyAttrName();
    });
  if (auto region = dyn_cast<CheckpointOp>(op))
    return region.getEarlyStop() && region.getPreserveRngState();
  if (auto scope = dyn_cast<ScopeOp>(op))
    return !scope.getCodec();
  if (auto random = dyn_cast<RandomOp>(op))
    return !random.getFresh();
  return isa<CheckIndexOp, ScatterOp, ConvOp, StopGradientOp, CustomRuleOp,
             LoopOp, YieldOp>(op);
}

/// Whether `function` can be inlined in the body of a loop that stays.
bool LoopChoice::isAllowed(func::FuncOp function) {
  // Not, while that is found out: it calls itself.
  auto [it, isNew] = allowed.try_emplace(function, false);
  if (!isNew || !function || !function.getBody().hasOneBlock())
    return it->second;
  bool result = isRepeatable(function);
  return allowed[function] = result;
}

bool LoopChoice::isAllowed(Operation *op) {
  if (runsOnce(op))
    return false;
  for (Type type : op->getResultTypes())
    if (isa<ShapedType>(type) && !import::canCross(type))
      return false;
  if (auto call = dyn_cast<func::CallOp>(op))
    return isAllowed(symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr()));
  // Exporters check indices where they read by them.
  if (auto assert = dyn_cast<cf::AssertOp>(op))
    return assert->getParentOfType<linalg::LinalgOp>() != nullptr;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return import::getConstantBounds(loop) || import::hasRunTimeBounds(loop);
  if (isa_and_present<scf::SCFDialect>(op->getDialect()))
    return isa<scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp>(op);
  if (isa_and_present<RematDialect>(op->getDialect()))
    return isAllowedHere(op);
  return op->hasTrait<OpTrait::IsTerminator>() ||
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         isMemoryEffectFree(op);
}

/// Whether all inside of `root` may run many times.
bool LoopChoice::isRepeatable(Operation *root) {
  return !root->walk([&](Operation *op) {
                return op == root || isAllowed(op) ? WalkResult::advance()
                                                   : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Whether something is asked of a value inside of `root`, or of one that a
/// function makes which is called there.
bool LoopChoice::mayHavePolicy(Operation *root) {
  llvm::SetVector<Operation *> roots;
  roots.insert(root);
  for (size_t i = 0; i < roots.size(); ++i) {
    WalkResult found = roots[i]->walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op))
        roots.insert(symbols.lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr()));
      return import::mayHavePolicy(op) ? WalkResult::interrupt()
                                       : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
  }
  return false;
}

bool LoopChoice::canStay(Operation *loop) {
  if (import::mayHavePolicy(loop) || !isRepeatable(loop) ||
      !llvm::all_of(loop->getResultTypes(), import::canCross))
    return false;
  // A region hides the loop, of which something else is asked: what is kept of
  // one iteration is then read where another runs again.
  if (loop->getParentOfType<CheckpointOp>() && mayHavePolicy(loop))
    return false;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(loop->getRegions(), captured);
  return llvm::all_of(captured, [](Value value) {
    return import::canCross(value.getType()) ||
           import::isMadeOfConstants(value);
  });
}

int64_t LoopChoice::getLimit(scf::ForOp loop) const {
  auto own = loop->getAttrOfType<IntegerAttr>(unrollLimitAttrName);
  return own ? std::min(limit, own.getInt()) : limit;
}

std::optional<LoopBounds> LoopChoice::choose(scf::ForOp loop) {
  std::optional<LoopBounds> bounds = import::getConstantBounds(loop);
  if (!bounds && import::hasRunTimeBounds(loop))
    bounds = import::getRunTimeBounds(loop, maxTripCount);
  // One iteration is none too many.
  else if (!bounds || bounds->trips < 2 || count(loop) <= getLimit(loop))
    return std::nullopt;
  return canStay(loop) ? bounds : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// Hands on the most that a loop may run, where upstream makes another loop of
/// it.
struct MaxTripCountKeeper : public RewriterBase::Listener {
  using Listener::notifyOperationReplaced;

  void notifyOperationReplaced(Operation *op, ValueRange values) override {
    Attribute most = op->getAttr(RematDialect::maxTripCountAttrName);
    if (!most || !isa<scf::WhileOp>(op))
      return;
    for (Value value : values)
      if (auto loop = value.getDefiningOp<scf::WhileOp>())
        loop->setAttr(RematDialect::maxTripCountAttrName, most);
  }
};

struct KeepLoops : public remat::impl::KeepLoopsPassBase<KeepLoops> {
  using KeepLoopsPassBase::KeepLoopsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Bodies do not show which regions are around their loops.
    auto hasRegion = [&] {
      return module.walk([](CheckpointOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
    };
    if (policies && hasRegion())
      return;
    SymbolTable symbols(module);
    SmallVector<func::FuncOp> functions =
        llvm::to_vector(module.getOps<func::FuncOp>());
    LoopChoice choice(limit, maxTripCount);
    // What becomes a function may have loops, too.
    for (size_t i = 0; i < functions.size(); ++i) {
      simplifyWhileLoops(functions[i]);
      if (findLoops(functions[i], choice).empty())
        continue;
      // What nothing reads must not decide what the parts of a loop are.
      IRRewriter rewriter(&getContext());
      (void)runRegionDCE(rewriter, functions[i]->getRegions());
      bool hasConditions = false;
      func::FuncOp function = functions[i];
      for (auto [loop, bounds] : findLoops(function, choice)) {
        bool isConditional = isa<scf::WhileOp>(loop);
        if (func::FuncOp body = outline(loop, bounds, symbols)) {
          functions.push_back(body);
          hasConditions |= isConditional;
        }
        ++numKept;
      }
      // A condition may have loops, and stands in front of its loop now.
      if (hasConditions)
        functions.push_back(function);
    }
    if (failed(checkDerivatives(symbols)))
      signalPassFailure();
  }

private:
  /// Refuses a derivative in a branch that may not be taken of a function with
  /// loops that must not run there: it is written out when there are no
  /// branches any more.
  LogicalResult checkDerivatives(SymbolTable &symbols) {
    WalkResult walk = getOperation().walk([&](Operation *op) {
      auto choice = op->getParentOfType<scf::IfOp>();
      if (!isa<VJPOp, JVPOp>(op) || !choice ||
          matchPattern(choice.getCondition(), m_Constant()) ||
          !reachesRunTimeLoop(op, symbols))
        return WalkResult::advance();
      op->emitOpError("is in a branch, and its function has a loop that runs "
                      "as often as is known at run time only: expected a loop "
                      "of constant bounds, or the derivative in front of the "
                      "branch");
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }

  /// Whether a function that `op` names has such a loop, or one that it names.
  static bool reachesRunTimeLoop(Operation *op, SymbolTable &symbols) {
    bool isFree = holdsForClosure(
        op, [&](Operation *user, SmallVectorImpl<Operation *> &next) {
          if (isa<func::FuncOp>(user) && hasRunTimeLoop(user))
            return false;
          user->walk([&](Operation *inner) {
            for (NamedAttribute attribute : inner->getAttrs())
              if (auto name = dyn_cast<FlatSymbolRefAttr>(attribute.getValue()))
                if (auto callee = symbols.lookup<func::FuncOp>(name.getValue()))
                  next.push_back(callee);
          });
          return true;
        });
    return !isFree;
  }

  func::FuncOp outline(Operation *loop, LoopBounds bounds,
                       SymbolTable &symbols) {
    if (auto conditional = dyn_cast<scf::WhileOp>(loop))
      return import::outlineWhile(conditional, bounds.trips, symbols);
    auto counted = cast<scf::ForOp>(loop);
    if (bounds.isRunTime)
      counted = import::countFromZero(counted);
    return import::outlineLoop(counted, bounds, symbols);
  }

  /// Makes loops that count of those of `function` that do so by a condition,
  /// and takes from the others what does not change.
  static void simplifyWhileLoops(func::FuncOp function) {
    SmallVector<Operation *> loops;
    auto collect = [&] {
      loops.clear();
      function.walk([&](scf::WhileOp loop) { loops.push_back(loop); });
      return !loops.empty();
    };
    if (!collect())
      return;
    RewritePatternSet patterns(function.getContext());
    scf::WhileOp::getCanonicalizationPatterns(patterns, function.getContext());
    MaxTripCountKeeper keeper;
    (void)applyOpPatternsGreedily(
        loops, std::move(patterns),
        GreedyRewriteConfig()
            .setStrictness(GreedyRewriteStrictness::ExistingOps)
            .setListener(&keeper));
    collect();
    IRRewriter rewriter(function.getContext());
    for (Operation *op : loops)
      makeCounted(cast<scf::WhileOp>(op), rewriter);
  }

  /// Makes a loop that counts of `loop` if it does so by a condition.
  static void makeCounted(scf::WhileOp loop, IRRewriter &rewriter) {
    std::optional<unsigned> counter = findCounter(loop);
    if (!counter)
      return;
    // Upstream replaces the counter by what it is in the last iteration. It is
    // the first value that fails the condition.
    SmallVector<OpOperand *> uses =
        llvm::to_vector(llvm::map_range(loop.getResult(*counter).getUses(),
                                        [](OpOperand &use) { return &use; }));
    Attribute most = loop->getAttr(RematDialect::maxTripCountAttrName);
    rewriter.setInsertionPoint(loop);
    FailureOr<scf::ForOp> counted = scf::upliftWhileToForLoop(rewriter, loop);
    if (failed(counted))
      return;
    if (most)
      (*counted)->setAttr(RematDialect::maxTripCountAttrName, most);
    if (uses.empty())
      return;
    rewriter.setInsertionPointAfter(*counted);
    Value end = makeEnd(*counted, rewriter);
    Type type = uses.front()->get().getType();
    if (end.getType() != type)
      end = arith::IndexCastOp::create(rewriter, counted->getLoc(), type, end);
    for (OpOperand *use : uses)
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(end); });
  }

  /// The number of the value by which `loop` counts up, by a constant, while it
  /// is less than a bound.
  static std::optional<unsigned> findCounter(scf::WhileOp loop) {
    auto compare =
        loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return std::nullopt;
    Value less = compare.getPredicate() == arith::CmpIPredicate::sgt
                     ? compare.getRhs()
                     : compare.getLhs();
    auto counter = dyn_cast<BlockArgument>(less);
    if (!counter || counter.getOwner() != loop.getBeforeBody())
      return std::nullopt;
    unsigned number = counter.getArgNumber();
    auto next =
        loop.getYieldOp().getResults()[number].getDefiningOp<arith::AddIOp>();
    APInt step;
    if (!next || (!matchPattern(next.getLhs(), m_ConstantInt(&step)) &&
                  !matchPattern(next.getRhs(), m_ConstantInt(&step))))
      return std::nullopt;
    if (!step.isStrictlyPositive())
      return std::nullopt;
    return number;
  }

  /// The first value of the counter of `loop` that is not less than its bound.
  static Value makeEnd(scf::ForOp loop, IRRewriter &rewriter) {
    Location loc = loop.getLoc();
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(),
          step = loop.getStep();
    Value one = arith::ConstantOp::create(
        rewriter, loc, rewriter.getIntegerAttr(lower.getType(), 1));
    // What is left of the distance fits the type if it is read without a sign.
    Value rest = rewriter.createOrFold<arith::SubIOp>(loc, upper, lower);
    rest = rewriter.createOrFold<arith::SubIOp>(loc, rest, one);
    Value trips = rewriter.createOrFold<arith::DivUIOp>(loc, rest, step);
    trips = rewriter.createOrFold<arith::AddIOp>(loc, trips, one);
    Value length = rewriter.createOrFold<arith::MulIOp>(loc, trips, step);
    Value end = rewriter.createOrFold<arith::AddIOp>(loc, lower, length);
    Value runs = rewriter.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::slt, lower, upper);
    return rewriter.createOrFold<arith::SelectOp>(loc, runs, end, lower);
  }

  /// Whether there are loops in `loop` that run as often as is known at run
  /// time only. In a branch that is not taken, none of its iterations may run.
  static bool hasRunTimeLoop(Operation *loop) {
    return loop
        ->walk([&](Operation *op) {
          auto counted = dyn_cast<scf::ForOp>(op);
          auto kept = dyn_cast<LoopOp>(op);
          return isa<scf::WhileOp>(op) ||
                         (counted && import::hasRunTimeBounds(counted)) ||
                         (kept && kept.isCountedAtRunTime())
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The outermost loops of `function` that stay.
  SmallVector<std::pair<Operation *, LoopBounds>>
  findLoops(func::FuncOp function, LoopChoice &choice) {
    SmallVector<std::pair<Operation *, LoopBounds>> loops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<linalg::LinalgOp, tensor::PadOp, tensor::GenerateOp>(op))
        return WalkResult::skip();
      std::optional<LoopBounds> bounds;
      if (auto loop = dyn_cast<scf::ForOp>(op))
        bounds = choice.choose(loop);
      else if (isa<scf::WhileOp>(op) && choice.canStay(op))
        bounds = {0, 1, import::getMaxTripCount(op, maxTripCount), true};
      if (!bounds)
        return WalkResult::advance();
      if (!bounds->isRunTime && op->getParentOfType<scf::IfOp>() &&
          hasRunTimeLoop(op))
        bounds = {0, 1, bounds->trips, true};
      loops.push_back({op, *bounds});
      return WalkResult::skip();
    });
    return loops;
  }
};
} // namespace
