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
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
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
  explicit LoopChoice(int64_t limit) : limit(limit) {}

  /// The bounds of `loop` if it stays a loop.
  std::optional<LoopBounds> choose(scf::ForOp loop);

private:
  int64_t count(Block &block);
  int64_t count(Operation *op);
  bool isRepeatable(Operation *root);
  bool isAllowed(Operation *op);
  bool isAllowed(func::FuncOp function);

  int64_t limit;
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
/// something of values of this step, of which a loop's body makes many.
static bool isAllowedHere(Operation *op) {
  if (auto tag = dyn_cast<TagOp>(op))
    return llvm::all_of(tag->getAttrs(), [&](NamedAttribute attribute) {
      return attribute.getName() == tag.getNameAttrName();
    });
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
  if (import::mayHavePolicy(op) || runsOnce(op))
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
    return import::getConstantBounds(loop).has_value();
  if (isa_and_present<scf::SCFDialect>(op->getDialect()))
    return isa<scf::IfOp, scf::YieldOp>(op);
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

std::optional<LoopBounds> LoopChoice::choose(scf::ForOp loop) {
  std::optional<LoopBounds> bounds = import::getConstantBounds(loop);
  // One iteration is none too many.
  if (!bounds || bounds->trips < 2 || count(loop) <= limit ||
      import::mayHavePolicy(loop) || !isRepeatable(loop))
    return std::nullopt;
  if (!llvm::all_of(loop.getResultTypes(), import::canCross))
    return std::nullopt;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(loop.getRegion(), captured);
  bool canStay = llvm::all_of(captured, [](Value value) {
    return import::canCross(value.getType()) ||
           import::isMadeOfConstants(value);
  });
  return canStay ? bounds : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct KeepLoops : public remat::impl::KeepLoopsPassBase<KeepLoops> {
  using KeepLoopsPassBase::KeepLoopsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Other targets' steps have no loops.
    if (getTargetFacts(module).getName() != "cpu")
      return;
    SymbolTable symbols(module);
    SmallVector<func::FuncOp> functions =
        llvm::to_vector(module.getOps<func::FuncOp>());
    LoopChoice choice(limit);
    // What becomes a function may have loops, too.
    for (size_t i = 0; i < functions.size(); ++i) {
      if (findLoops(functions[i], choice).empty())
        continue;
      // What nothing reads must not decide what the parts of a loop are.
      IRRewriter rewriter(&getContext());
      (void)runRegionDCE(rewriter, functions[i]->getRegions());
      for (auto [loop, bounds] : findLoops(functions[i], choice)) {
        if (func::FuncOp body = import::outlineLoop(loop, bounds, symbols))
          functions.push_back(body);
        ++numKept;
      }
    }
  }

private:
  /// The outermost loops of `function` that stay.
  SmallVector<std::pair<scf::ForOp, LoopBounds>>
  findLoops(func::FuncOp function, LoopChoice &choice) {
    SmallVector<std::pair<scf::ForOp, LoopBounds>> loops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<linalg::LinalgOp, tensor::PadOp, tensor::GenerateOp>(op))
        return WalkResult::skip();
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!loop)
        return WalkResult::advance();
      std::optional<LoopBounds> bounds = choice.choose(loop);
      if (!bounds)
        return WalkResult::advance();
      loops.push_back({loop, *bounds});
      return WalkResult::skip();
    });
    return loops;
  }
};
} // namespace
