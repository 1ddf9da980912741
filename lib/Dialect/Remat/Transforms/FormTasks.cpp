//===- FormTasks.cpp - cut a joint function into tasks (L1 to L2) ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation that computes a tensor becomes a task, alone or with the
// others of its cluster. What is cheaper to make than to keep (constants,
// fills, scalars) is cloned into each kernel that needs it, so that values of
// the graph are the buffers that matter.
//
//===----------------------------------------------------------------------===//

#include "CallOperands.h"
#include "Clusters.h"
#include "GraphPlanning.h"
#include "HostArguments.h"
#include "KernelNames.h"
#include "KernelPool.h"
#include "StrideClusters.h"
#include "TaskPolicies.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/Overwritable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

namespace remat {
#define GEN_PASS_DEF_FORMTASKSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` has no effect but to end the step where an assertion in its
/// body fails, which it may do whenever it runs, or ones that a task has which
/// is not repeated.
static bool isComputation(Operation *op) {
  if (isMemoryEffectFree(op) || isa<cf::AssertOp, LoopOp>(op) || runsOnce(op))
    return true;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
      (effects && !effects.hasNoEffect()))
    return false;
  return llvm::all_of(op->getRegions(), [](Region &region) {
    return llvm::all_of(region.getOps(),
                        [](Operation &inner) { return isComputation(&inner); });
  });
}

namespace {
/// Builds the graph of one function.
class GraphBuilder {
public:
  GraphBuilder(func::FuncOp func, KernelPool &kernels)
      : func(func), kernels(kernels), builder(func.getContext()) {}

  FailureOr<GraphOp> build();
  unsigned getNumTasks() const { return numTasks; }

private:
  LogicalResult convert(Operation *op);
  void convert(const Cluster &cluster);
  TaskOp createTask(Location loc, func::FuncOp kernel, ArrayRef<Value> operands,
                    ArrayRef<Operation *> ops, unsigned level);
  void setPolicies(TaskOp task, Operation *op, ArrayAttr policies);
  LogicalResult setLevel();
  void createReturn(func::ReturnOp op);
  using Overwritable =
      DenseMap<Operation *, SmallVector<SmallVector<unsigned>>>;
  bool isWrittenOver(OpResult result, BlockArgument donor, Overwritable &known);
  void transferHostArguments();
  void copyIntoDonors();

  func::FuncOp func;
  KernelPool &kernels;
  OpBuilder builder;
  GraphOp graph;
  /// Values of the function to values of the graph.
  IRMapping mapping;
  /// Views that stand before the task of the cluster that they are views of.
  SmallVector<Operation *> delayed;
  unsigned numTasks = 0;
  /// A value that has to be offloaded for the derivative of a level, and the
  /// operation that it is a result of.
  struct Offloaded {
    unsigned level;
    Operation *op;
    TaskOp task;
  };
  SmallVector<Offloaded> offloaded;
  /// The highest level of a derivative that policies are about.
  unsigned highestPolicy = 1;
};
} // namespace

/// Refuses what a graph cannot hold, before anything is built.
static LogicalResult checkFunction(func::FuncOp func) {
  if (failed(verifyDonations(func)))
    return failure();
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitOpError("must have one block to be cut into tasks");
  if (!isa<func::ReturnOp>(func.getBody().front().getTerminator()))
    return func.emitOpError("must end with 'func.return' to be cut into tasks");
  auto checkType = [](Operation *op, Type type) -> LogicalResult {
    if (!isa<TensorType>(type) || isBufferType(type))
      return success();
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked || !ranked.hasStaticShape())
      return op->emitOpError("has dynamic shape ")
             << type << ", expected a static one";
    return op->emitOpError("has a value of type ")
           << type
           << ", expected integers, floats, complex numbers or indices "
              "without encoding, with elements of at most 8 bits or of 16, 32, "
              "64 or 128, and of at most "
           << maxBufferBytes << " bytes";
  };
  for (Type type : llvm::concat<const Type>(func.getArgumentTypes(),
                                            func.getResultTypes())) {
    if (!isa<TensorType>(type))
      return func.emitOpError("has an argument or result of type ")
             << type << ", expected tensors";
    if (failed(checkType(func, type)))
      return failure();
  }
  for (Operation &op : func.getBody().front()) {
    for (Type type : op.getResultTypes())
      if (failed(checkType(&op, type)))
        return failure();
    if (isa<CheckpointOp>(op))
      return op.emitOpError(
          "must be lowered by 'remat-lower-checkpoints' before tasks are "
          "formed");
    if (op.getNumRegions() == 0 && isa<CallOpInterface>(op))
      return op.emitOpError("is a call, expected it to be inlined");
  }
  return success();
}

/// Gives operations that do nothing but assert a result, which nobody reads:
/// the conditions. Clean-up takes unused results away.
static void materializeAssertions(func::FuncOp func) {
  for (auto op : llvm::make_early_inc_range(func.getOps<linalg::GenericOp>())) {
    auto assertions = op.getBody()->getOps<cf::AssertOp>();
    if (op.getNumResults() != 0 || assertions.empty())
      continue;
    OpBuilder builder(op);
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    Value conditions = tensor::EmptyOp::create(builder, op.getLoc(), sizes,
                                               builder.getI1Type());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps.push_back(builder.getMultiDimIdentityMap(sizes.size()));
    SmallVector<utils::IteratorType> iterators(sizes.size(),
                                               utils::IteratorType::parallel);
    auto stating = linalg::GenericOp::create(
        builder, op.getLoc(), conditions.getType(), op.getDpsInputs(),
        conditions, maps, iterators);
    copyBackward(op, stating);
    Region &body = stating.getRegion();
    body.takeBody(op.getRegion());
    body.front().addArgument(builder.getI1Type(), op.getLoc());
    Operation *yield = body.front().getTerminator();
    builder.setInsertionPoint(yield);
    linalg::YieldOp::create(
        builder, yield->getLoc(),
        (*stating.getBody()->getOps<cf::AssertOp>().begin()).getArg());
    yield->erase();
    op.erase();
  }
}

FailureOr<GraphOp> GraphBuilder::build() {
  if (failed(checkFunction(func)))
    return failure();
  materializeAssertions(func);
  TargetAttr target = getTargetFacts(func);
  if (target.getStrides())
    reshapeConcatenations(func);
  if (target.getStrides() && !target.getSharedStrides())
    sinkSlices(func);
  builder.setInsertionPoint(func);
  graph = GraphOp::create(builder, func.getLoc(), func.getName(),
                          func.getFunctionType());
  graph.setArgAttrsAttr(func.getArgAttrsAttr());
  graph.setResAttrsAttr(func.getResAttrsAttr());
  for (StringRef name :
       {StringRef(RematDialect::readBytesAttrName),
        StringRef(RematDialect::alternativeAttrName),
        StringRef(RematDialect::microbatchOrderAttrName),
        StringRef(batchPartsAttrName), StringRef(sliceRowsAttrName),
        StringRef(slicesHiddenAttrName), StringRef(foldedLayersAttrName),
        StringRef(fusedReadersAttrName)})
    if (Attribute value = func->getAttr(name))
      graph->setAttr(name, value);
  Block &body = graph.getBody().front();
  mapping.map(func.getArguments(), body.getArguments());
  builder.setInsertionPointToStart(&body);
  Block &operations = func.getBody().front();
  SmallVector<Cluster> clusters = formClusters(operations);
  if (narrowFactors(operations))
    clusters = formClusters(operations);
  if (target.getSharedStrides() && spreadSlices(operations, clusters))
    clusters = formClusters(operations);
  if (target.getRowStages() && spreadFactors(operations, clusters))
    clusters = formClusters(operations);
  // Later, so that these are in no cluster, whose task may come too late.
  materializeCallOperands(func);
  DenseMap<Operation *, const Cluster *> clusterOf = mapClusters(clusters);
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (const Cluster *cluster = clusterOf.lookup(&op)) {
      if (&op == cluster->back())
        convert(*cluster);
      continue;
    }
    // Views inside a cluster come before its task; others read them from it.
    if ((isViewOp(&op) || isTransparentOp(&op)) &&
        clusterOf.contains(getProducer(op.getOperand(0))) &&
        !mapping.contains(op.getOperand(0))) {
      delayed.push_back(&op);
      continue;
    }
    if (failed(convert(&op))) {
      graph.erase();
      return failure();
    }
  }
  createReturn(cast<func::ReturnOp>(func.getBody().front().getTerminator()));
  transferHostArguments();
  copyIntoDonors();
  if (failed(setLevel())) {
    graph.erase();
    return failure();
  }
  return graph;
}

/// Whether loops alone read what `op` stacks, or `op` alone what a loop stacks.
static bool isPartOfLoops(Operation *op) {
  if (auto unstack = dyn_cast<UnstackOp>(op)) {
    auto loop = unstack.getStack().getDefiningOp<LoopOp>();
    return loop && findUnstack(unstack.getStack()) &&
           llvm::is_contained(loop.getStacks(), unstack.getStack());
  }
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    auto loop = dyn_cast<LoopOp>(use.getOwner());
    return loop && llvm::is_contained(loop.getSlices(), use.get());
  });
}

LogicalResult GraphBuilder::convert(Operation *op) {
  if (isa<StackOp, UnstackOp>(op)) {
    if (isPartOfLoops(op))
      return success();
    return op->emitOpError("is not a part of loops alone: expected "
                           "'remat-lower-stacks' before tasks are formed");
  }
  if (isClonedIntoKernels(op) || isTransparentOp(op)) {
    if (isTransparentOp(op))
      if (Value source = mapping.lookupOrNull(op->getOperand(0)))
        mapping.map(op->getResult(0), source);
    return success();
  }
  if (isViewOp(op)) {
    builder.clone(*op, mapping)->removeAttr(RematDialect::backwardAttrName);
    return success();
  }
  if (!isComputation(op) || (op->getNumResults() == 0 && !isa<LoopOp>(op)) ||
      !llvm::all_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return op->emitOpError("cannot be a task: it has effects or results that "
                           "are not tensors");
  auto loop = dyn_cast<LoopOp>(op);
  SmallVector<Value> operands, results(op->getResults());
  if (loop)
    results = getBufferResults(loop);
  FailureOr<ArrayAttr> policies = collectPolicies(op, results);
  if (failed(policies))
    return failure();
  func::FuncOp kernel = loop ? kernels.getOrCreateLoop(loop, operands)
                             : kernels.getOrCreate(op, operands);
  TaskOp task =
      createTask(op->getLoc(), kernel, operands, op, getBackwardLevel(op));
  task.setPinned(runsOnce(op));
  if (*policies)
    setPolicies(task, op, *policies);
  if (ArrayAttr names = collectNames(op, results))
    task.setNamesAttr(names);
  mapping.map(results, task->getResults());
  return success();
}

void GraphBuilder::convert(const Cluster &cluster) {
  SmallVector<Value> operands, results;
  func::FuncOp kernel = kernels.getOrCreate(cluster, operands, results);
  TaskOp task = createTask(cluster.back()->getLoc(), kernel, operands, cluster,
                           getBackwardLevel(cluster.front()));
  mapping.map(results, task->getResults());
  // A view of a value that stays inside is nobody's.
  for (Operation *view : delayed) {
    if (!mapping.contains(view->getOperand(0)))
      continue;
    if (isTransparentOp(view))
      mapping.map(view->getResult(0), mapping.lookup(view->getOperand(0)));
    else
      builder.clone(*view, mapping)->removeAttr(RematDialect::backwardAttrName);
  }
  llvm::erase_if(delayed, [&](Operation *view) {
    return mapping.contains(view->getResult(0));
  });
}

TaskOp GraphBuilder::createTask(Location loc, func::FuncOp kernel,
                                ArrayRef<Value> operands,
                                ArrayRef<Operation *> ops, unsigned level) {
  SmallVector<Value> mapped = llvm::map_to_vector(
      operands, [&](Value value) { return mapping.lookup(value); });
  return TaskOp::create(
      builder, loc, kernel.getFunctionType().getResults(), kernel.getName(),
      mapped, /*id=*/numTasks++,
      /*copy=*/0, /*backward=*/level != 0, /*phase=*/0,
      /*pinned=*/false,
      /*policies=*/{}, /*names=*/{}, findLayers(builder, ops, operands),
      /*cost=*/0, /*workspace=*/0,
      /*host_workspace=*/0, /*placement=*/{},
      /*workspace_offset=*/{}, /*host_workspace_offset=*/{},
      /*level=*/level > 1 ? builder.getI64IntegerAttr(level) : IntegerAttr(),
      /*policy_level=*/{});
}

/// What is asked of the results of `task`, and about which derivative.
void GraphBuilder::setPolicies(TaskOp task, Operation *op, ArrayAttr policies) {
  task.setPoliciesAttr(policies);
  PolicyLevel found = findPolicyLevel(op);
  if (found.level != task.getBackwardLevel() + 1)
    task.setPolicyLevel(found.level);
  if (!found.isRead)
    return;
  highestPolicy = std::max(highestPolicy, found.level);
  if (llvm::is_contained(
          policies, PolicyAttr::get(op->getContext(), Policy::MustCpuOffload)))
    offloaded.push_back({found.level, op, task});
}

/// Chooses the derivative that is planned as such. What comes back from the
/// host is known of one only; what others make again is repeated before. Where
/// offloaded values are for several, that is the innermost, and no backward
/// computation that is planned may make them.
LogicalResult GraphBuilder::setLevel() {
  unsigned level = highestPolicy;
  const Offloaded *first = nullptr;
  for (const Offloaded &value : offloaded)
    if (!first || value.level < first->level)
      first = &value;
  if (first)
    level = first->level;
  for (Offloaded &value : offloaded) {
    if (value.level == level || value.task.getBackwardLevel() < level)
      continue;
    InFlightDiagnostic diag =
        value.op->emitOpError("has a result with policy 'must_cpu_offload' for "
                              "the derivative of level ")
        << value.level << ", and another value has it for that of level "
        << level
        << "; of several nested derivatives, values can be offloaded for the "
           "outer ones only if the innermost one does not make them";
    diag.attachNote(first->op->getLoc()) << "the other value";
    return failure();
  }
  if (level != 1)
    graph.setLevel(level);
  return success();
}

void GraphBuilder::createReturn(func::ReturnOp op) {
  DenseSet<Value> returned;
  for (Value value : op.getOperands())
    if (Value result = mapping.lookupOrNull(value))
      returned.insert(getViewRoot(result));
  SmallVector<Value> results;
  DenseSet<Value> roots;
  // Results of a derivative come behind those of what is differentiated. So a
  // constant or an argument that is returned belongs to no later computation
  // than the results before it: a call of its own for the forward computation
  // gives it, too.
  unsigned reached = 0;
  for (Value value : op.getOperands()) {
    Value result = mapping.lookupOrNull(value);
    Value root = result ? getViewRoot(result) : Value();
    auto source = root ? root.getDefiningOp<TaskOp>() : TaskOp();
    unsigned level = source ? source.getBackwardLevel() : reached;
    reached = std::max(reached, level);
    bool demanded = isDemanded(value);
    bool isShared = source && hasHiddenSibling(root, returned);
    if (!source || !roots.insert(root).second || demanded || isShared) {
      SmallVector<Value> operands;
      func::FuncOp kernel = kernels.getOrCreateCopy(value, operands);
      // What is demanded is copied as soon as it is there: a copy in the
      // backward computation would read what is made again.
      OpBuilder::InsertionGuard guard(builder);
      if (demanded || isShared)
        builder.setInsertionPointAfter(result.getDefiningOp());
      result =
          createTask(op.getLoc(), kernel, operands, {}, demanded ? 0 : level)
              ->getResult(0);
    }
    results.push_back(result);
  }
  ReturnOp::create(builder, op.getLoc(), results);
}

void GraphBuilder::transferHostArguments() {
  remat::transferHostArguments(
      graph, [&](Operation *before, Value value, unsigned level) {
        SmallVector<Value> operands;
        func::FuncOp kernel =
            kernels.getOrCreateCopy(value, operands, /*transfers=*/true);
        for (Value operand : operands)
          mapping.map(operand, operand);
        builder.setInsertionPoint(before);
        return createTask(value.getLoc(), kernel, operands, {}, level);
      });
}

/// Whether the task of `result` can write it over `donor`, or does not read
/// that. `known` is what kernels may overwrite, as far as it was asked for.
bool GraphBuilder::isWrittenOver(OpResult result, BlockArgument donor,
                                 Overwritable &known) {
  auto task = cast<TaskOp>(result.getOwner());
  if (llvm::none_of(task.getOperands(), [&](Value operand) {
        return getViewRoot(operand) == donor;
      }))
    return true;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      func, task.getKernelAttr());
  unsigned number = result.getResultNumber();
  if (!getTargetFacts(graph).getInPlace())
    return false;
  auto operands = known.find(kernel);
  if (operands == known.end())
    operands = known.insert({kernel, findOverwritable(kernel)}).first;
  return findDonorOperand(task, number, donor, operands->second[number])
      .has_value();
}

/// Makes a result that has the buffer of an argument a copy of what it was
/// where that cannot be written while the argument is read: where a task reads
/// both, and where the result's own task reads the argument out of order.
void GraphBuilder::copyIntoDonors() {
  auto terminator = cast<ReturnOp>(graph.getBody().front().getTerminator());
  SmallVector<BlockArgument> donors = getDonors(graph), settled(donors.size());
  Overwritable known;
  for (auto [number, donor] : llvm::enumerate(donors)) {
    if (!donor)
      continue;
    settled[number] = donor;
    OpOperand &returned = terminator->getOpOperand(number);
    auto result = cast<OpResult>(getViewRoot(returned.get()));
    if (isWrittenOver(result, donor, known) &&
        tryOrderDonations(graph, settled))
      continue;
    SmallVector<Value> operands;
    func::FuncOp kernel = kernels.getOrCreateCopy(returned.get(), operands);
    for (Value operand : operands)
      mapping.map(operand, operand);
    builder.setInsertionPoint(terminator);
    TaskOp copy =
        createTask(terminator.getLoc(), kernel, operands, {},
                   cast<TaskOp>(result.getOwner()).getBackwardLevel());
    returned.set(copy->getResult(0));
    // A copy that nothing reads can wait for anything.
    [[maybe_unused]] bool isOrdered = tryOrderDonations(graph, settled);
    assert(isOrdered && "nothing waits for a copy");
  }
}

/// Whether `op` makes `result` element by element of `operand`.
static bool isElementwiseIn(linalg::GenericOp op, OpResult result,
                            OpOperand &operand) {
  if (op.getNumReductionLoops() != 0 || !op.isDpsInput(&operand))
    return false;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return map.isPermutation() &&
         map == op.getMatchingIndexingMap(
                    op.getDpsInitOperand(result.getResultNumber()));
}

/// Whether an iteration reads `carried` only where it makes what comes in its
/// place: element by element, or by adding to it or writing some of it, in one
/// operation or in several.
static bool isUpdated(BlockArgument carried, Value next) {
  for (;;) {
    auto op = next.getDefiningOp<DestinationStyleOpInterface>();
    if (!op || !next.hasOneUse())
      return false;
    auto result = cast<OpResult>(next);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
    if (carried.hasOneUse() && carried.use_begin()->getOwner() == op)
      return op.isDpsInit(&*carried.use_begin())
                 ? init == &*carried.use_begin()
                 : generic &&
                       isElementwiseIn(generic, result, *carried.use_begin());
    if (!isa<ScatterOp>(op.getOperation()))
      return false;
    next = init->get();
  }
}

/// Lets the first `count` arguments of a loop's body, which are carried, give
/// their buffers to what comes in their place, where that updates them.
static void donateCarried(func::FuncOp body, unsigned count) {
  Operation *terminator = body.front().getTerminator();
  SmallVector<BlockArgument> donors = getDonors(body);
  for (unsigned number = 0; number < count; ++number)
    if (!donors[number] && !getDonatedResult(body, number) &&
        isUpdated(body.getArgument(number), terminator->getOperand(number)))
      body.setArgAttr(
          number, RematDialect::donatedAttrName,
          IntegerAttr::get(IntegerType::get(body.getContext(), 64), number));
}

namespace {
struct FormTasks : remat::impl::FormTasksPassBase<FormTasks> {
  using FormTasksPassBase::FormTasksPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto func = dyn_cast_or_null<func::FuncOp>(
        findEntry(module, function).getOperation());
    if (!func || func.isExternal()) {
      module.emitError("no function '") << function << "' to form tasks of";
      return signalPassFailure();
    }
    KernelPool kernels(module);
    SmallVector<FunctionOpInterface> others = findAlternatives(func);
    bool hasFailed = failed(form(func, kernels));
    for (FunctionOpInterface other : others)
      hasFailed = hasFailed || failed(formAlternative(other, kernels));
    if (hasFailed || failed(formBodies(module, kernels))) {
      kernels.erase();
      return signalPassFailure();
    }
    numKernels += kernels.size();
  }

private:
  LogicalResult formAlternative(FunctionOpInterface other,
                                KernelPool &kernels) {
    FailureOr<GraphOp> graph =
        form(cast<func::FuncOp>(other.getOperation()), kernels);
    if (failed(graph))
      return failure();
    graph->setPrivate();
    return success();
  }

  FailureOr<GraphOp> form(func::FuncOp func, KernelPool &kernels) {
    GraphBuilder builder(func, kernels);
    FailureOr<GraphOp> graph = builder.build();
    if (failed(graph))
      return failure();
    numTasks += builder.getNumTasks();
    func.erase();
    return graph;
  }

  /// Makes graphs of the functions that loops in kernels run.
  LogicalResult formBodies(ModuleOp module, KernelPool &kernels) {
    auto findLoop = [&]() -> std::pair<LoopOp, func::FuncOp> {
      for (auto kernel : module.getOps<func::FuncOp>())
        if (kernel->hasAttr(RematDialect::kernelAttrName))
          for (auto loop : kernel.getOps<LoopOp>())
            if (auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                    loop, loop.getBodyAttr()))
              return {loop, body};
      return {};
    };
    while (true) {
      auto [loop, body] = findLoop();
      if (!loop)
        break;
      if (body.isExternal())
        return loop.emitOpError("runs '")
               << body.getName() << "', which has no body";
      donateCarried(body, loop.getInits().size());
      FailureOr<GraphOp> graph = form(body, kernels);
      if (failed(graph))
        return failure();
      graph->setPrivate();
    }
    return success();
  }
};
} // namespace
