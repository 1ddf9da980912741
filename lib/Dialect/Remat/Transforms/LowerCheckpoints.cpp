//===- LowerCheckpoints.cpp - regions become policies ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/CallInterfaces.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/NamedFunctions.h"

namespace remat {
#define GEN_PASS_DEF_LOWERCHECKPOINTSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether a policy on results of `op` would say anything: constants and views
/// are not buffers of their own.
static bool holdsValues(Operation &op) {
  return !op.hasTrait<OpTrait::ConstantLike>() && !isViewOp(&op) &&
         !isTransparentOp(&op) &&
         !isa<tensor::EmptyOp, linalg::FillOp, YieldOp>(op);
}

/// The operations in the region whose results it does not hide: those yielded.
static DenseSet<Operation *> findYielded(CheckpointOp checkpoint) {
  DenseSet<Operation *> yielded;
  if (checkpoint.getEarlyStop())
    for (Value value :
         checkpoint.getBody().front().getTerminator()->getOperands())
      yielded.insert(getProducer(value));
  return yielded;
}

/// The operations in the region that have a policy of their own.
static DenseSet<Operation *> findOwnPolicies(CheckpointOp checkpoint) {
  DenseSet<Operation *> exceptions;
  for (Operation &op : checkpoint.getBody().front()) {
    if (op.hasAttr(RematDialect::policyAttrName))
      exceptions.insert(&op);
    if (auto tag = dyn_cast<TagOp>(&op); tag && tag.getPolicy())
      exceptions.insert(getProducer(tag.getInput()));
  }
  return exceptions;
}

/// Says at `tag`, on a value of `op` or of none, that it is about a derivative
/// of a region with operations of level `highest`: derivatives inside of the
/// region are a part of what is differentiated.
static void setLevel(TagOp tag, Operation *op, unsigned highest) {
  if (highest > (op ? getBackwardLevel(op) : 0))
    tag.setLevel(highest + 1);
}

/// Tags the tensors that the region hides with its name, and its policy unless
/// they have one. `number` is that of a region without early stop.
static void tagHiddenValues(CheckpointOp checkpoint, IntegerAttr number) {
  PolicyAttr policy = checkpoint.getPolicyAttr();
  if (!policy)
    policy = PolicyAttr::get(checkpoint.getContext(), Policy::MustRecompute);
  if (policy.getValue() != Policy::MustRecompute &&
      policy.getValue() != Policy::PreferRecompute)
    number = {};
  DenseSet<Operation *> yielded = findYielded(checkpoint);
  DenseSet<Operation *> ownPolicies = findOwnPolicies(checkpoint);
  unsigned highest = getHighestLevel(checkpoint);
  OpBuilder builder(checkpoint.getContext());
  for (Operation &op :
       llvm::make_early_inc_range(checkpoint.getBody().front())) {
    PolicyAttr added = ownPolicies.contains(&op) ? PolicyAttr() : policy;
    // What its iterations make is in the region, whoever yields the rest.
    if (auto loop = dyn_cast<LoopOp>(op); loop && !loop.getInnerPolicy())
      loop.setInnerPolicyAttr(added);
    if (!holdsValues(op) || yielded.contains(&op) ||
        !(added || checkpoint.getName()))
      continue;
    builder.setInsertionPointAfter(&op);
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      auto tag = TagOp::create(builder, op.getLoc(), result,
                               checkpoint.getNameAttr(), added);
      if (added) {
        setLevel(tag, &op, highest);
        tag.setOfRegion(added.getValue() == Policy::MustRecompute ||
                        added.getValue() == Policy::PreferRecompute);
      }
      if (added && number)
        tag.setWholeRegionAttr(number);
      result.replaceAllUsesExcept(tag.getResult(), tag);
    }
  }
}

/// Puts the operations of a region in the place of `op`.
template <typename Op>
static void inlineRegion(Op op) {
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  op.replaceAllUsesWith(yield.getValues());
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         body.getOperations(), body.begin(),
                                         yield->getIterator());
  op.erase();
}

/// The next number of a region without early stop is `numWhole`.
static void lowerCheckpoint(CheckpointOp checkpoint, int64_t &numWhole) {
  IntegerAttr number;
  if (!checkpoint.getEarlyStop())
    number = Builder(checkpoint).getI64IntegerAttr(numWhole++);
  tagHiddenValues(checkpoint, number);
  if (!checkpoint.getPreserveRngState())
    for (auto random : checkpoint.getBody().getOps<RandomOp>())
      random.setFresh(true);
  inlineRegion(checkpoint);
}

/// Whether a tag says how `value` is saved.
static bool isTaggedForSaving(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto tag = dyn_cast<TagOp>(user);
    return tag && (tag.getCodec() || tag.getPolicy());
  });
}

/// Whether the codec of the scope, if it has one, is about values of this type.
static bool isPacked(ScopeOp scope, RankedTensorType type) {
  return !scope.getCodec() ||
         concernsElements(scope, *scope.getCodec(), type.getElementType());
}

/// Tags what the scope reads from outside: packed is what its operations save
/// of it, not what others do. To offload a value concerns all of its readers,
/// and an argument is in a buffer of the caller anyway.
static void tagReadValues(ScopeOp scope, PolicyAttr policy) {
  OpBuilder builder(scope);
  SetVector<Value> read;
  getUsedValuesDefinedAbove(scope.getBody(), read);
  unsigned highest = getHighestLevel(scope);
  for (Value value : read) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Operation *producer = value.getDefiningOp();
    bool isStored = !producer || isViewOp(producer) || isTransparentOp(producer)
                        ? scope.getCodec().has_value()
                        : holdsValues(*producer);
    if (!type || !isStored || (policy && isTaggedForSaving(value)) ||
        !isPacked(scope, type))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses()) {
      auto inner = dyn_cast<TagOp>(use.getOwner());
      if (scope->isProperAncestor(use.getOwner()) &&
          !isa<YieldOp>(use.getOwner()) && !(inner && inner.getForReaders()))
        uses.push_back(&use);
    }
    if (uses.empty())
      continue;
    auto tag = TagOp::create(builder, scope.getLoc(), value,
                             /*name=*/StringAttr(), policy);
    if (scope.getCodec())
      tag.setCodecAttr(*scope.getCodec());
    tag.setForReaders(true);
    setLevel(tag, getProducer(value), highest);
    for (OpOperand *use : uses)
      use->set(tag.getResult());
  }
}

/// Tags the tensors that the scope makes or reads with how they are saved,
/// unless an inner scope has done so.
static void lowerScope(ScopeOp scope) {
  OpBuilder builder(scope.getContext());
  PolicyAttr policy;
  if (scope.getOffload())
    policy = PolicyAttr::get(scope.getContext(), Policy::MustCpuOffload);
  if (scope.getCodec() || policy)
    tagReadValues(scope, policy);
  unsigned highest = getHighestLevel(scope);
  for (Operation &op : llvm::make_early_inc_range(scope.getBody().front())) {
    if (!holdsValues(op) || !(scope.getCodec() || policy))
      continue;
    if (auto loop = dyn_cast<LoopOp>(op); loop && !loop.getInnerPolicy())
      loop.setInnerPolicyAttr(policy);
    builder.setInsertionPointAfter(&op);
    for (OpResult result : op.getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || isTaggedForSaving(result) || !isPacked(scope, type))
        continue;
      auto tag = TagOp::create(builder, op.getLoc(), result,
                               /*name=*/StringAttr(), policy);
      if (scope.getCodec())
        tag.setCodecAttr(*scope.getCodec());
      setLevel(tag, &op, highest);
      result.replaceAllUsesExcept(tag.getResult(), tag);
    }
  }
  inlineRegion(scope);
}

/// Whether `op` changes how values are saved.
static bool changesSaving(Operation *op) {
  if (auto scope = dyn_cast<ScopeOp>(op))
    return scope.getCodec() || scope.getOffload();
  auto isOffload = [](std::optional<Policy> policy) {
    return policy == Policy::MustCpuOffload ||
           policy == Policy::PreferCpuOffload;
  };
  if (auto tag = dyn_cast<TagOp>(op))
    return tag.getCodec() || isOffload(tag.getPolicy());
  if (auto checkpoint = dyn_cast<CheckpointOp>(op))
    return isOffload(checkpoint.getPolicy());
  auto policy = op->getAttrOfType<PolicyAttr>(RematDialect::policyAttrName);
  return policy && isOffload(policy.getValue());
}

/// Nothing inside of a scope that forbids it may change how values are saved,
/// nor may what is called or differentiated there.
static LogicalResult checkForbidding(ScopeOp scope) {
  if (!scope.getForbid())
    return success();
  SetVector<Operation *> roots;
  roots.insert(scope);
  for (size_t i = 0; i < roots.size(); ++i) {
    WalkResult result = roots[i]->walk([&](Operation *op) {
      if (Operation *function = getNamedFunction(op))
        roots.insert(function);
      if (!changesSaving(op))
        return WalkResult::advance();
      InFlightDiagnostic diag = op->emitOpError() << *scope.getForbid();
      diag.attachNote(scope.getLoc()) << "forbidden here";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

/// The functions that remat.vjp and remat.jvp name, and what these run. One
/// that holds a derivative itself has to wait until that is expanded: its
/// regions are about more than is there.
static SetVector<Operation *> findDifferentiated(Operation *root) {
  SetVector<Operation *> functions;
  auto add = [&](Operation *op) {
    if (Operation *function = getNamedFunction(op);
        function && !holdsDerivative(function))
      functions.insert(function);
  };
  root->walk([&](Operation *op) {
    if (isa<VJPOp, JVPOp>(op))
      add(op);
  });
  for (size_t i = 0; i < functions.size(); ++i)
    functions[i]->walk([&](Operation *op) {
      if (isa<CallOpInterface, LoopOp>(op))
        add(op);
    });
  return functions;
}

static void lowerAll(Operation *root, int64_t &numWhole) {
  root->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (auto checkpoint = dyn_cast<CheckpointOp>(op))
      lowerCheckpoint(checkpoint, numWhole);
    else if (auto scope = dyn_cast<ScopeOp>(op))
      lowerScope(scope);
  });
}

namespace {
struct LowerCheckpoints
    : remat::impl::LowerCheckpointsPassBase<LowerCheckpoints> {
  using LowerCheckpointsPassBase::LowerCheckpointsPassBase;

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> onError) override {
    if (failed(LowerCheckpointsPassBase::initializeOptions(options, onError)))
      return failure();
    if (earlyStop.empty() || earlyStop == "true" || earlyStop == "false")
      return success();
    return onError("early-stop: expected 'true' or 'false', got '" + earlyStop +
                   "'");
  }

  void runOnOperation() override {
    // What was lowered before, in functions that are differentiated, has its
    // numbers.
    int64_t numWhole = 0;
    getOperation()->walk([&](Operation *op) {
      if (auto checkpoint = dyn_cast<CheckpointOp>(op);
          checkpoint && !earlyStop.empty())
        checkpoint.setEarlyStop(earlyStop == "true");
      if (auto tag = dyn_cast<TagOp>(op); tag && tag.getWholeRegion())
        numWhole =
            std::max<int64_t>(numWhole, int64_t(*tag.getWholeRegion()) + 1);
    });
    SetVector<Operation *> roots;
    if (differentiated)
      roots = findDifferentiated(getOperation());
    else
      roots.insert(getOperation());
    // All of the module: what is differentiated loses its scopes first.
    WalkResult checked = getOperation()->walk(
        [](ScopeOp scope) { return WalkResult(checkForbidding(scope)); });
    if (checked.wasInterrupted())
      return signalPassFailure();
    for (Operation *root : roots)
      lowerAll(root, numWhole);
  }
};
} // namespace
