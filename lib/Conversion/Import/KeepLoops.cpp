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
      for (auto [loop, bounds] : findLoops(functions[i], choice)) {
        if (func::FuncOp body = outline(loop, bounds, symbols))
          functions.push_back(body);
        ++numKept;
      }
    }
  }

private:
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
    (void)applyOpPatternsGreedily(loops, std::move(patterns),
                                  GreedyRewriteConfig().setStrictness(
                                      GreedyRewriteStrictness::ExistingOps));
    collect();
    IRRewriter rewriter(function.getContext());
    for (Operation *op : loops) {
      rewriter.setInsertionPoint(op);
      Attribute most = op->getAttr(RematDialect::maxTripCountAttrName);
      FailureOr<scf::ForOp> counted =
          scf::upliftWhileToForLoop(rewriter, cast<scf::WhileOp>(op));
      if (succeeded(counted) && most)
        (*counted)->setAttr(RematDialect::maxTripCountAttrName, most);
    }
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
