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

#include "Clusters.h"
#include "KernelNames.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"

namespace remat {
#define GEN_PASS_DEF_FORMTASKSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// What becomes what
//===----------------------------------------------------------------------===//

/// Whether each kernel makes its own `op` instead of reading it from a buffer.
static bool isClonedIntoKernels(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, linalg::FillOp>(op))
    return true;
  // A view of something that is cloned is cloned with it.
  if (isViewOp(op)) {
    Operation *source = getProducer(op->getOperand(0));
    return source && isClonedIntoKernels(source);
  }
  return llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
         isMemoryEffectFree(op);
}

/// Whether `op` has no effect but to end the step where an assertion in its
/// body fails, which it may do whenever it runs, or ones that a task has which
/// is not repeated.
static bool isComputation(Operation *op) {
  if (isMemoryEffectFree(op) || isa<cf::AssertOp>(op) || runsOnce(op))
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

static Value skipTransparent(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isTransparentOp(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// Makes the kernels of a module, one for each distinct body.
class KernelPool {
public:
  KernelPool(ModuleOp module) : module(module), symbols(module) {}

  /// The kernel that computes what `op` does. `operands` receives the tensors
  /// that a task must pass to it.
  func::FuncOp getOrCreate(Operation *op, SmallVectorImpl<Value> &operands);

  /// The kernel that does all of `cluster`. `results` receives the values that
  /// are read outside of it.
  func::FuncOp getOrCreate(const Cluster &cluster,
                           SmallVectorImpl<Value> &operands,
                           SmallVectorImpl<Value> &results);

  /// The kernel that copies `value`, or makes it if it is not in a buffer.
  func::FuncOp getOrCreateCopy(Value value, SmallVectorImpl<Value> &operands);

  unsigned size() const { return numKernels; }

  /// Takes back all kernels, when the module cannot be cut after all.
  void erase() {
    for (auto &entry : kernelsOfHash)
      for (func::FuncOp kernel : entry.second)
        kernel.erase();
  }

private:
  using BuildBody = function_ref<SmallVector<Value>(OpBuilder &, IRMapping &)>;

  std::string makeUnique(StringRef name);
  func::FuncOp getOrCreate(Location loc, StringRef name,
                           ArrayRef<Operation *> prologue,
                           ArrayRef<Value> operands, TypeRange results,
                           BuildBody buildBody);

  ModuleOp module;
  SymbolTable symbols;
  DenseMap<llvm::hash_code, SmallVector<func::FuncOp, 1>> kernelsOfHash;
  /// How many kernels were called by each name.
  llvm::StringMap<unsigned> numOfName;
  unsigned numKernels = 0;
};
} // namespace

/// Collects what a kernel around `root` has to clone, in order, and the tensors
/// that it reads.
static void collectInputs(Value root, SetVector<Operation *> &prologue,
                          SetVector<Value> &operands) {
  Value value = skipTransparent(root);
  Operation *op = value.getDefiningOp();
  if (!op || !isClonedIntoKernels(op)) {
    operands.insert(value);
    return;
  }
  if (prologue.contains(op))
    return;
  for (Value operand : getReadValues(op))
    collectInputs(operand, prologue, operands);
  prologue.insert(op);
}

func::FuncOp KernelPool::getOrCreate(Operation *op,
                                     SmallVectorImpl<Value> &operandList) {
  SetVector<Operation *> prologue;
  SetVector<Value> operands;
  SetVector<Value> reads = getReadValues(op);
  for (Value value : reads)
    collectInputs(value, prologue, operands);
  operandList = operands.takeVector();
  return getOrCreate(
      op->getLoc(), describeComputation(op), prologue.getArrayRef(),
      operandList, op->getResultTypes(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        for (Value value : reads)
          mapping.map(value, mapping.lookup(skipTransparent(value)));
        return builder.clone(*op, mapping)->getResults();
      });
}

/// Whether something outside of `cluster` reads `value` or a view of it.
static bool isReadOutside(Value value, const DenseSet<Operation *> &cluster) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isViewOp(user) || isTransparentOp(user)
               ? isReadOutside(user->getResult(0), cluster)
               : !cluster.contains(user);
  });
}

func::FuncOp KernelPool::getOrCreate(const Cluster &cluster,
                                     SmallVectorImpl<Value> &operandList,
                                     SmallVectorImpl<Value> &results) {
  DenseSet<Operation *> members(cluster.begin(), cluster.end());
  SetVector<Operation *> prologue, sequence;
  SetVector<Value> operands;
  // Views of what members make are a part of the kernel.
  std::function<void(Value)> collect = [&](Value value) {
    value = skipTransparent(value);
    Operation *op = value.getDefiningOp();
    if (op && members.contains(op))
      return;
    if (op && isViewOp(op) && members.contains(getProducer(value))) {
      collect(op->getOperand(0));
      sequence.insert(op);
      return;
    }
    collectInputs(value, prologue, operands);
  };
  for (Operation *op : cluster) {
    for (Value value : getReadValues(op))
      collect(value);
    sequence.insert(op);
    for (Value result : op->getResults())
      if (isReadOutside(result, members))
        results.push_back(result);
  }
  operandList = operands.takeVector();
  // A pad goes by what it pads; all others go row by row.
  std::string name = describeComputation(cluster);
  if (!isa<tensor::PadOp>(cluster.back()))
    name += "_rows";
  return getOrCreate(
      cluster.front()->getLoc(), name, prologue.getArrayRef(), operandList,
      ValueRange(results).getTypes(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        for (Operation *op : sequence) {
          for (Value value : getReadValues(op))
            mapping.map(value, mapping.lookup(skipTransparent(value)));
          builder.clone(*op, mapping);
        }
        return llvm::map_to_vector(
            results, [&](Value value) { return mapping.lookup(value); });
      });
}

func::FuncOp KernelPool::getOrCreateCopy(Value value,
                                         SmallVectorImpl<Value> &operandList) {
  SetVector<Operation *> prologue;
  SetVector<Value> operands;
  collectInputs(value, prologue, operands);
  operandList = operands.takeVector();
  return getOrCreate(
      value.getLoc(), "copy", prologue.getArrayRef(), operandList,
      value.getType(),
      [&](OpBuilder &builder, IRMapping &mapping) -> SmallVector<Value> {
        auto type = cast<RankedTensorType>(value.getType());
        Value empty = tensor::EmptyOp::create(
            builder, value.getLoc(), type.getShape(), type.getElementType());
        return linalg::CopyOp::create(
                   builder, value.getLoc(),
                   ValueRange{mapping.lookup(skipTransparent(value))},
                   ValueRange{empty})
            ->getResults();
      });
}

/// Removes the attributes that say where an operation stood, so that equal
/// kernels look equal.
static void stripProvenance(func::FuncOp kernel) {
  Builder builder(kernel.getContext());
  StringAttr names[] = {builder.getStringAttr(RematDialect::policyAttrName),
                        builder.getStringAttr(RematDialect::nameAttrName),
                        builder.getStringAttr(RematDialect::backwardAttrName)};
  kernel.walk([&](Operation *op) {
    if (op->getDiscardableAttrDictionary().empty())
      return;
    for (StringAttr name : names)
      op->removeDiscardableAttr(name);
  });
}

/// A hash of everything but names and locations.
static llvm::hash_code hashKernel(func::FuncOp kernel) {
  llvm::hash_code hash = mlir::hash_value(Type(kernel.getFunctionType()));
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

static bool areEqualKernels(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// `name`, with a number behind it if there is something of that name.
std::string KernelPool::makeUnique(StringRef name) {
  unsigned &number = numOfName[name];
  std::string unique;
  do {
    unique = number == 0 ? name.str() : (name + "_" + Twine(number)).str();
    ++number;
  } while (symbols.lookup(unique));
  return unique;
}

func::FuncOp KernelPool::getOrCreate(Location loc, StringRef name,
                                     ArrayRef<Operation *> prologue,
                                     ArrayRef<Value> operands,
                                     TypeRange results, BuildBody buildBody) {
  OpBuilder builder(module.getContext());
  auto type = builder.getFunctionType(ValueRange(operands).getTypes(), results);
  auto kernel = func::FuncOp::create(builder, loc, "kernel", type);
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Operation *op : prologue) {
    for (Value value : getReadValues(op))
      mapping.map(value, mapping.lookup(skipTransparent(value)));
    builder.clone(*op, mapping);
  }
  SmallVector<Value> returned = buildBody(builder, mapping);
  func::ReturnOp::create(builder, loc, returned);
  stripProvenance(kernel);

  SmallVector<func::FuncOp, 1> &known = kernelsOfHash[hashKernel(kernel)];
  for (func::FuncOp other : known)
    if (areEqualKernels(kernel, other)) {
      kernel->erase();
      return other;
    }
  known.push_back(kernel);
  kernel.setName(makeUnique(name));
  ++numKernels;
  symbols.insert(kernel, module.getBody()->end());
  return kernel;
}

//===----------------------------------------------------------------------===//
// Policies and names
//===----------------------------------------------------------------------===//

static bool isMust(Policy policy) {
  return policy == Policy::MustSave || policy == Policy::MustRecompute ||
         policy == Policy::MustCpuOffload;
}

/// Adds a policy to those known of a value. A MUST overrides a wish; of two
/// wishes the first stays.
static LogicalResult mergePolicy(Operation *op, PolicyAttr added,
                                 PolicyAttr &policy) {
  if (!added || added == policy)
    return success();
  if (!policy || (isMust(added.getValue()) && !isMust(policy.getValue()))) {
    policy = added;
    return success();
  }
  if (isMust(added.getValue()) && isMust(policy.getValue()))
    return op->emitOpError("value has policy '")
           << stringifyPolicy(policy.getValue())
           << "', which conflicts with policy '"
           << stringifyPolicy(added.getValue()) << "'";
  return success();
}

/// The tags on a value and on its views, in program order.
static SmallVector<TagOp> findTags(Value value) {
  SmallVector<TagOp> tags;
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (auto tag = dyn_cast<TagOp>(user))
        tags.push_back(tag);
      if (isTransparentOp(user) || isViewOp(user))
        values.push_back(user->getResult(0));
    }
  }
  llvm::sort(tags, [](TagOp a, TagOp b) { return a->isBeforeInBlock(b); });
  return tags;
}

/// What the operation itself asks for a result with `policy`.
static PolicyAttr honourOp(Operation *op, PolicyAttr policy) {
  Recomputability kind = getRecomputability(op);
  if (kind == Recomputability::Saved && !policy)
    return PolicyAttr::get(op->getContext(), Policy::MustSave);
  if (!runsOnce(op) || !policy ||
      (policy.getValue() != Policy::MustRecompute &&
       policy.getValue() != Policy::PreferRecompute))
    return policy;
  op->emitWarning("'") << op->getName() << "' op has a result with policy '"
                       << stringifyPolicy(policy.getValue()) << "', but "
                       << (kind == Recomputability::Random
                               ? "draws random numbers"
                               : "has effects")
                       << " and runs once: the result is kept";
  return {};
}

/// Finds the policy of one result: of its operation and of the tags on it.
static LogicalResult collectPolicy(OpResult result, PolicyAttr &policy) {
  policy = result.getOwner()->getAttrOfType<PolicyAttr>(
      RematDialect::policyAttrName);
  for (TagOp tag : findTags(result))
    if (failed(mergePolicy(tag, tag.getPolicyAttr(), policy)))
      return failure();
  policy = honourOp(result.getOwner(), policy);
  return success();
}

/// The attribute `policies` of a task made from `op`; null if it has none.
static FailureOr<ArrayAttr> collectPolicies(Operation *op) {
  SmallVector<Attribute> policies;
  bool any = false;
  for (OpResult result : op->getResults()) {
    PolicyAttr policy;
    if (failed(collectPolicy(result, policy)))
      return failure();
    any |= static_cast<bool>(policy);
    policies.push_back(policy ? Attribute(policy)
                              : UnitAttr::get(op->getContext()));
  }
  return any ? ArrayAttr::get(op->getContext(), policies) : ArrayAttr();
}

/// The attribute `names` of a task made from `op`; null if it has none.
static ArrayAttr collectNames(Operation *op) {
  SmallVector<Attribute> names;
  bool any = false;
  for (OpResult result : op->getResults()) {
    SetVector<Attribute> own;
    for (TagOp tag : findTags(result))
      if (StringAttr name = tag.getNameAttr())
        own.insert(name);
    any |= !own.empty();
    names.push_back(ArrayAttr::get(op->getContext(), own.getArrayRef()));
  }
  return any ? ArrayAttr::get(op->getContext(), names) : ArrayAttr();
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

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
                    ArrayRef<Operation *> ops, bool backward);
  void createReturn(func::ReturnOp op);

  func::FuncOp func;
  KernelPool &kernels;
  OpBuilder builder;
  GraphOp graph;
  /// Values of the function to values of the graph.
  IRMapping mapping;
  /// Views that stand before the task of the cluster that they are views of.
  SmallVector<Operation *> delayed;
  unsigned numTasks = 0;
};
} // namespace

/// Refuses what a graph cannot hold, before anything is built.
static LogicalResult checkFunction(func::FuncOp func) {
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
              "without encoding, of at most "
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

/// Puts constants that convolutions and codecs of the caller read into buffers:
/// these are calls in any case, and cannot make them for themselves.
static void materializeCallOperands(func::FuncOp func) {
  for (Operation &op : func.getOps()) {
    if (!isa<ConvOp, PackOp, UnpackOp>(op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *source = skipTransparent(operand.get()).getDefiningOp();
      if (!source || !isClonedIntoKernels(source))
        continue;
      OpBuilder builder(&op);
      auto type = cast<RankedTensorType>(operand.get().getType());
      Value empty = tensor::EmptyOp::create(
          builder, op.getLoc(), type.getShape(), type.getElementType());
      auto copy = linalg::CopyOp::create(
          builder, op.getLoc(), ValueRange{operand.get()}, ValueRange{empty});
      if (Attribute mark = op.getAttr(RematDialect::backwardAttrName))
        copy->setAttr(RematDialect::backwardAttrName, mark);
      operand.set(copy->getResult(0));
    }
  }
}

FailureOr<GraphOp> GraphBuilder::build() {
  if (failed(checkFunction(func)))
    return failure();
  builder.setInsertionPoint(func);
  graph = GraphOp::create(builder, func.getLoc(), func.getName(),
                          func.getFunctionType());
  graph.setArgAttrsAttr(func.getArgAttrsAttr());
  graph.setResAttrsAttr(func.getResAttrsAttr());
  if (Attribute bytes = func->getAttr(RematDialect::readBytesAttrName))
    graph->setAttr(RematDialect::readBytesAttrName, bytes);
  Block &body = graph.getBody().front();
  mapping.map(func.getArguments(), body.getArguments());
  builder.setInsertionPointToStart(&body);
  SmallVector<Cluster> clusters = formClusters(func.getBody().front());
  // Later, so that these are in no cluster, whose task may come too late.
  materializeCallOperands(func);
  DenseMap<Operation *, const Cluster *> clusterOf;
  for (const Cluster &cluster : clusters)
    for (Operation *op : cluster)
      clusterOf[op] = &cluster;
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
  return graph;
}

LogicalResult GraphBuilder::convert(Operation *op) {
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
  if (!isComputation(op) || op->getNumResults() == 0 ||
      !llvm::all_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return op->emitOpError("cannot be a task: it has effects or results that "
                           "are not tensors");
  FailureOr<ArrayAttr> policies = collectPolicies(op);
  if (failed(policies))
    return failure();
  SmallVector<Value> operands;
  func::FuncOp kernel = kernels.getOrCreate(op, operands);
  TaskOp task = createTask(op->getLoc(), kernel, operands, op,
                           op->hasAttr(RematDialect::backwardAttrName));
  task.setPinned(runsOnce(op));
  if (*policies)
    task.setPoliciesAttr(*policies);
  if (ArrayAttr names = collectNames(op))
    task.setNamesAttr(names);
  mapping.map(op->getResults(), task->getResults());
  return success();
}

void GraphBuilder::convert(const Cluster &cluster) {
  SmallVector<Value> operands, results;
  func::FuncOp kernel = kernels.getOrCreate(cluster, operands, results);
  TaskOp task =
      createTask(cluster.back()->getLoc(), kernel, operands, cluster,
                 cluster.front()->hasAttr(RematDialect::backwardAttrName));
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
                                ArrayRef<Operation *> ops, bool backward) {
  SmallVector<Value> mapped = llvm::map_to_vector(
      operands, [&](Value value) { return mapping.lookup(value); });
  return TaskOp::create(builder, loc, kernel.getFunctionType().getResults(),
                        kernel.getName(), mapped, /*id=*/numTasks++,
                        /*copy=*/0, backward, /*phase=*/0, /*pinned=*/false,
                        /*policies=*/{}, /*names=*/{},
                        findLayers(builder, ops, operands),
                        /*cost=*/0, /*workspace=*/0, /*placement=*/{},
                        /*workspace_offset=*/{});
}

/// Whether `value` is a result of an operation that is to run again whatever
/// becomes of it. What is in a buffer of the caller never does.
static bool isDemanded(Value value) {
  Operation *producer = getProducer(value);
  return producer && llvm::any_of(producer->getUsers(), [&](Operation *user) {
           auto demand = dyn_cast<DemandOp>(user);
           return demand && getProducer(demand.getValue()) == producer;
         });
}

void GraphBuilder::createReturn(func::ReturnOp op) {
  SmallVector<Value> results;
  DenseSet<Value> roots;
  bool anyBackward = llvm::any_of(
      graph.getOps<TaskOp>(), [](TaskOp task) { return task.getBackward(); });
  for (Value value : op.getOperands()) {
    Value result = mapping.lookupOrNull(value);
    Value root = result ? getViewRoot(result) : Value();
    bool demanded = isDemanded(value);
    if (!root || isa<BlockArgument>(root) || !roots.insert(root).second ||
        demanded) {
      SmallVector<Value> operands;
      func::FuncOp kernel = kernels.getOrCreateCopy(value, operands);
      // What is demanded is copied as soon as it is there: a copy in the
      // backward computation would read what is made again.
      OpBuilder::InsertionGuard guard(builder);
      if (demanded)
        builder.setInsertionPointAfter(result.getDefiningOp());
      result = createTask(op.getLoc(), kernel, operands, {},
                          anyBackward && !demanded)
                   ->getResult(0);
    }
    results.push_back(result);
  }
  ReturnOp::create(builder, op.getLoc(), results);
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
    GraphBuilder graphBuilder(func, kernels);
    FailureOr<GraphOp> graph = graphBuilder.build();
    if (failed(graph)) {
      kernels.erase();
      return signalPassFailure();
    }
    func.erase();
    numTasks += graphBuilder.getNumTasks();
    numKernels += kernels.size();
  }
};
} // namespace
