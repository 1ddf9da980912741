//===- GraphPlanning.cpp - graphs as planning problems --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Utils/Utf8.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Graph to problem
//===----------------------------------------------------------------------===//

static planning::Policy convertPolicy(std::optional<Policy> policy) {
  if (!policy)
    return planning::Policy::None;
  switch (*policy) {
  case Policy::MustSave:
    return planning::Policy::MustSave;
  case Policy::PreferSave:
    return planning::Policy::PreferSave;
  case Policy::MustRecompute:
    return planning::Policy::MustRecompute;
  case Policy::PreferRecompute:
    return planning::Policy::PreferRecompute;
  case Policy::MustCpuOffload:
    return planning::Policy::MustCpuOffload;
  case Policy::PreferCpuOffload:
    return planning::Policy::PreferCpuOffload;
  }
  llvm_unreachable("unknown policy");
}

/// Of an op: what it runs, and for which layers.
static std::string describeCode(TaskOp task) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << task.getKernel() << " (task " << task.getId();
  if (std::optional<ArrayAttr> layers = task.getLayers()) {
    stream << " of ";
    llvm::interleaveComma(layers->getAsValueRange<StringAttr>(), stream);
  }
  if (isUpdate(task))
    stream << ", update";
  else if (task.getBackward())
    stream << ", backward";
  stream << ')';
  return toUtf8(text);
}

/// Whether a task of the same call reads what `task` or its views give.
static bool isReadInCall(TaskOp task) {
  SmallVector<Operation *> worklist(task->getUsers());
  while (!worklist.empty()) {
    Operation *user = worklist.pop_back_val();
    if (auto reader = dyn_cast<TaskOp>(user)) {
      if (reader.getPhase() == task.getPhase())
        return true;
    } else {
      llvm::append_range(worklist, user->getUsers());
    }
  }
  return false;
}

/// Whether `task` reads what a task of the same call gives.
static bool readsOfCall(TaskOp task) {
  return llvm::any_of(task->getOperands(), [&](Value operand) {
    auto producer = getViewRoot(operand).getDefiningOp<TaskOp>();
    return producer && producer.getPhase() == task.getPhase();
  });
}

/// The arguments whose buffers are written before the last call.
static DenseSet<Value> findOverwritten(GraphOp graph) {
  DenseSet<Value> overwritten;
  uint64_t last = 0;
  for (auto task : graph.getOps<TaskOp>())
    last = std::max(last, task.getPhase());
  Operation *terminator = graph.getBody().front().getTerminator();
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), terminator->getOperands()))
    if (auto writer = getViewRoot(returned).getDefiningOp<TaskOp>();
        donor && writer && writer.getPhase() < last)
      overwritten.insert(donor);
  return overwritten;
}

bool GraphProblem::readsOverwritten(TaskOp task) const {
  return !overwritten.empty() &&
         llvm::any_of(task.getOperands(), [&](Value operand) {
           return overwritten.contains(getViewRoot(operand));
         });
}

planning::ValueId GraphProblem::addToken(planning::OpId op) {
  planning::ValueId token = problem.addResult(op, "token", 0);
  problem.values[token].offloadable = false;
  values.push_back({});
  return token;
}

void GraphProblem::endCall(ArrayRef<planning::ValueId> lastTokens,
                           bool backward) {
  planning::OpId end = problem.addOp("end of call", 0, lastTokens, backward);
  problem.ops[end].recomputable = false;
  tasks.push_back({});
  addToken(end);
}

void GraphProblem::addTask(TaskOp task, ArrayRef<planning::ValueId> given) {
  SmallVector<planning::ValueId> operands(given);
  for (Value operand : task->getOperands())
    operands.push_back(idOf.lookup(getViewRoot(operand)));
  planning::OpId id = problem.addOp(describeCode(task), task.getCost(),
                                    operands, isBackward(task));
  planning::Op &op = problem.ops[id];
  op.hostWorkspace = llvm::alignTo(
      static_cast<int64_t>(task.getHostWorkspace()), target.getAlignment());
  op.workspace = llvm::alignTo(static_cast<int64_t>(task.getWorkspace()),
                               target.getAlignment());
  op.recomputable = !task.getPinned() && !readsOverwritten(task);
  tasks.push_back(task);
  for (OpResult result : task->getResults()) {
    int64_t bytes =
        getBufferBytes(cast<RankedTensorType>(result.getType()), target);
    // What is written in place is its operand's buffer living on.
    if (std::optional<unsigned> operand =
            task.getInPlaceOperand(result.getResultNumber())) {
      idOf[result] = idOf.lookup(getViewRoot(task.getOperand(*operand)));
      continue;
    }
    // What is in a buffer of the caller takes nothing of the arena.
    SlotAttr slot = task.getResultSlot(result.getResultNumber());
    if (slot && slot.getSpace() == MemorySpace::Reused)
      bytes = 0;
    planning::ValueId value =
        problem.addResult(id, names.describe(task, result), bytes);
    // What is asked of a value concerns the time until the backward pass.
    std::optional<Policy> policy =
        task.getResultPolicy(result.getResultNumber());
    // What is kept for a derivative that nothing reads it in stays.
    if (policy == Policy::MustCpuOffload &&
        (isBackward(task) || task.getPolicyDerivative() > highestLevel))
      policy = Policy::MustSave;
    if (policy && isPlanned(task, *policy))
      problem.values[value].policy = convertPolicy(policy);
    if (!isBackward(task)) {
      for (Attribute name : task.getResultNames(result.getResultNumber()))
        named[cast<StringAttr>(name)].push_back(value);
    }
    idOf[result] = value;
    values.push_back(result);
  }
}

/// Finds the tasks of the backward computation that is planned: those of its
/// level or a higher one, and what is repeated for them, which may stand before
/// the first of them.
void GraphProblem::findBackward(GraphOp graph) {
  // Readers first.
  for (Operation &op : llvm::reverse(graph.getBody().front())) {
    auto task = dyn_cast<TaskOp>(op);
    if (task && task.getBackwardLevel() >= level)
      backward.insert(&op);
    else if (level > 1 && (task ? task.isClone() : isViewOp(&op)) &&
             llvm::any_of(op.getUsers(), [&](Operation *user) {
               return backward.contains(user);
             }))
      backward.insert(&op);
  }
}

/// Whether planners are told of `policy` on results of `task`. They know one
/// border; for others, what has to be made again is repeated already. What the
/// last derivative makes is for none.
bool GraphProblem::isPlanned(TaskOp task, Policy policy) const {
  unsigned about = task.getPolicyDerivative();
  if (policy == Policy::MustSave)
    return about <= std::max(level, highestLevel);
  return !isBackward(task) &&
         (policy != Policy::MustRecompute || about <= level);
}

/// Whether a region hides a result of `task`.
static bool isHidden(TaskOp task) {
  return llvm::any_of(task->getResults(), [&](OpResult result) {
    return task.getResultPolicy(result.getResultNumber()) ==
           Policy::MustRecompute;
  });
}

/// Whether `task` reads what a backward task gives.
bool GraphProblem::readsOfBackward(TaskOp task) const {
  return llvm::any_of(task->getOperands(), [&](Value operand) {
    auto producer = getViewRoot(operand).getDefiningOp<TaskOp>();
    return producer && isBackward(producer);
  });
}

/// With a free order, what `task` must wait for without reading it.
SmallVector<planning::ValueId> GraphProblem::getOrder(TaskOp task) {
  SmallVector<planning::ValueId> order;
  if (task.isClone())
    order.push_back(tokenOf.at(task.getId()));
  if (begun && isHidden(task) && !isBackward(task))
    order.push_back(*begun);
  // What regions hide is made before the backward computation begins.
  if (isBackward(task) && !readsOfBackward(task))
    llvm::append_range(order, hidden);
  return order;
}

void GraphProblem::addTransfer(Operation *transfer) {
  bool backward = !problem.ops.empty() && problem.ops.back().backward;
  SmallVector<planning::ValueId> operands;
  if (isa<OffloadOp, ReleaseOp>(transfer))
    operands.push_back(idOf.lookup(getViewRoot(transfer->getOperand(0))));
  std::string name = transfer->getName().getStringRef().str();
  planning::OpId id = problem.addOp(name, 0, operands, backward);
  tasks.push_back({});
  auto reload = dyn_cast<ReloadOp>(transfer);
  if (!reload)
    return;
  idOf[reload.getResult()] = problem.addResult(
      id, name,
      getBufferBytes(cast<RankedTensorType>(reload.getType()), target));
  values.push_back(reload.getResult());
}

/// Whether `task` packs or unpacks a value.
static bool isOffer(TaskOp task) {
  return task->hasAttr(packsAttrName) || task->hasAttr(unpacksAttrName);
}

/// Gives a value the packed form that `unpack` brings back.
void GraphProblem::addOffer(TaskOp unpack) {
  auto pack = unpack.getOperand(0).getDefiningOp<TaskOp>();
  planning::ValueId id = idOf.lookup(getViewRoot(getUnpackedValue(unpack)));
  planning::PackedForm form;
  for (Value part : pack->getResults())
    form.bytes +=
        getBufferBytes(cast<RankedTensorType>(part.getType()), target);
  form.packCost = pack.getCost();
  form.unpackCost = unpack.getCost();
  form.lossy = true;
  problem.values[id].packed = form;
  offers[id] = {pack, unpack};
}

/// Whether a region hides a result of `op`.
static bool hides(const planning::Problem &problem, planning::OpId op) {
  return llvm::any_of(problem.ops[op].results, [&](planning::ValueId result) {
    return problem.values[result].policy == planning::Policy::MustRecompute;
  });
}

/// Whether a region hides a result of `op` that a backward op reads, or a
/// forward op that may run again for one.
static bool hidesNeeded(const planning::Problem &problem, planning::OpId op) {
  if (!hides(problem, op))
    return false;
  std::vector<bool> needed(problem.values.size(), false);
  auto isNeeded = [&](planning::ValueId value) { return needed[value]; };
  for (planning::OpId reader = problem.ops.size(); reader-- > op + 1;)
    if (problem.ops[reader].backward ||
        (problem.ops[reader].recomputable &&
         llvm::any_of(problem.ops[reader].results, isNeeded)))
      for (planning::ValueId operand : problem.ops[reader].operands)
        needed[operand] = true;
  return llvm::any_of(problem.ops[op].results, [&](planning::ValueId result) {
    return needed[result] &&
           problem.values[result].policy == planning::Policy::MustRecompute;
  });
}

GraphProblem::GraphProblem(GraphOp graph, bool freeOrder)
    : target(getTargetFacts(graph)), names(graph),
      level(graph.getPlannedLevel()), overwritten(findOverwritten(graph)) {
  findBackward(graph);
  for (auto task : graph.getOps<TaskOp>())
    highestLevel = std::max(highestLevel, task.getBackwardLevel());
  problem.name = toUtf8(graph.getName());
  problem.freeOrder = freeOrder;
  for (BlockArgument argument : graph.getArguments()) {
    idOf[argument] = problem.addArgument(
        ("argument " + Twine(argument.getArgNumber())).str());
    values.push_back(argument);
  }
  hasSeveralCalls = llvm::any_of(
      graph.getOps<TaskOp>(), [](TaskOp task) { return task.getPhase() > 0; });
  std::set<int64_t> repeated;
  for (auto task : graph.getOps<TaskOp>())
    if (task.isClone())
      repeated.insert(task.getId());
  uint64_t phase = 0;
  // What tasks of the current call wait for, and what waits for them.
  SmallVector<planning::ValueId> given, lastTokens;
  for (Operation &operation : graph.getBody().front()) {
    if (isa<OffloadOp, ReloadOp, ReleaseOp>(operation))
      addTransfer(&operation);
    auto task = dyn_cast<TaskOp>(operation);
    if (!task)
      continue;
    if (!graph.isPlanned() && isOffer(task)) {
      if (!freeOrder && getUnpackedValue(task))
        addOffer(task);
      continue;
    }
    if (freeOrder && task.getPhase() > phase && !tasks.empty()) {
      endCall(lastTokens, task.getPhase() > 1);
      given = {problem.ops.back().results.front()};
      lastTokens = given;
    }
    phase = task.getPhase();
    SmallVector<planning::ValueId> order;
    if (freeOrder)
      order = getOrder(task);
    if (!readsOfCall(task))
      llvm::append_range(order, given);
    addTask(task, order);
    planning::OpId op = problem.ops.size() - 1;
    if (freeOrder && !begun && !isBackward(task) && isHidden(task))
      hidden.push_back(addToken(op));
    if (freeOrder && repeated.count(task.getId()) && !task.isClone())
      tokenOf[task.getId()] = addToken(op);
    if (freeOrder && isBackward(task) && !begun)
      begun = addToken(op);
    if (freeOrder && hasSeveralCalls && !isReadInCall(task))
      lastTokens.push_back(addToken(op));
  }
  for (Value returned :
       graph.getBody().front().getTerminator()->getOperands()) {
    planning::Value &value = problem.values[idOf.lookup(getViewRoot(returned))];
    // Of a planned graph, it may be written over an argument.
    if (value.isArgument)
      continue;
    value.bytes = 0;
    value.isOutput = true;
    value.offloadable = false;
    // It is in the caller's buffer, whatever a region or scope asks of what it
    // yields. A second run would write that again.
    if (value.policy != planning::Policy::MustSave)
      value.policy = planning::Policy::None;
    problem.ops[value.producer].recomputable = false;
  }
  // Written over an argument, these take nothing of the arena. What a region
  // hides, and a backward task needs, runs again all the same.
  if (!graph.isPlanned())
    for (OpResult sum :
         findSumsInDonors(graph, graph->getParentOfType<ModuleOp>())) {
      planning::Value &value = problem.values[idOf.lookup(sum)];
      if (hidesNeeded(problem, value.producer))
        continue;
      value.bytes = 0;
      value.offloadable = false;
      problem.ops[value.producer].recomputable = false;
    }
  // What nothing needs later is hidden by running once.
  for (planning::OpId op = 0; op < problem.ops.size(); ++op)
    if (!problem.ops[op].recomputable && hides(problem, op) &&
        !hidesNeeded(problem, op))
      for (planning::ValueId result : problem.ops[op].results)
        if (problem.values[result].policy == planning::Policy::MustRecompute)
          problem.values[result].policy = planning::Policy::None;
  if (!graph.isPlanned())
    addAbsorptions();
}

//===----------------------------------------------------------------------===//
// Plan to graph
//===----------------------------------------------------------------------===//

namespace {
/// Emits the actions of a plan, keeping for every buffer its latest copy.
class PlanApplier {
public:
  PlanApplier(GraphOp graph, const GraphProblem &graphProblem)
      : graph(graph), graphProblem(graphProblem), builder(graph.getContext()) {}

  void apply(const planning::Plan &plan);

private:
  /// The latest copy of a value of the original graph; views are made anew on
  /// the latest copy of what they view.
  Value getCurrent(Value original);
  void setCurrent(Value original, Value copy);
  TaskOp runTask(TaskOp original);
  void run(planning::OpId op);
  void pack(planning::ValueId value);
  void unpack(planning::ValueId value);

  GraphOp graph;
  const GraphProblem &graphProblem;
  OpBuilder builder;
  DenseMap<Value, Value> current;
  /// Views of the original graph, by the value they view.
  DenseMap<Value, SmallVector<Value>> viewsOf;
  DenseMap<Value, OffloadOp> offloads;
  /// By the number of a task, how often it has run, and in which call first.
  std::map<int64_t, std::pair<unsigned, uint64_t>> runs;
  /// What the next task absorbs.
  std::vector<planning::OpId> absorbed;
  /// The last call of which a task has run.
  uint64_t latestPhase = 0;
};
} // namespace

void PlanApplier::setCurrent(Value original, Value copy) {
  current[original] = copy;
  for (Value view : viewsOf.lookup(original))
    setCurrent(view, {});
}

Value PlanApplier::getCurrent(Value original) {
  Value &copy = current[original];
  if (copy)
    return copy;
  Operation *view = original.getDefiningOp();
  Value source = getCurrent(view->getOperand(0));
  IRMapping mapping;
  mapping.map(view->getOperand(0), source);
  Value made = builder.clone(*view, mapping)->getResult(0);
  current[original] = made;
  return made;
}

TaskOp PlanApplier::runTask(TaskOp original) {
  SmallVector<Value> operands = llvm::map_to_vector(
      original->getOperands(), [&](Value value) { return getCurrent(value); });
  auto task = cast<TaskOp>(builder.clone(*original));
  task->setOperands(operands);
  auto &[copy, phase] =
      runs.try_emplace(task.getId(), 0, task.getPhase()).first->second;
  task.setCopy(copy++);
  task.setPhase(phase);
  for (auto [from, to] : llvm::zip(original->getResults(), task->getResults()))
    setCurrent(from, to);
  latestPhase = std::max(latestPhase, phase);
  return task;
}

/// Runs a task. Where it absorbs others, it calls the kernel that it is offered
/// for that, and reads what that reads.
void PlanApplier::run(planning::OpId op) {
  TaskOp original = graphProblem.tasks[op];
  if (absorbed.empty()) {
    runTask(original);
    return;
  }
  llvm::sort(absorbed);
  const Absorption &offer = graphProblem.absorptions.at({op, absorbed});
  std::map<int64_t, TaskOp> taskOf = {{original.getId(), original}};
  int64_t cost = original.getCost();
  for (planning::OpId other : absorbed) {
    TaskOp task = graphProblem.tasks[other];
    taskOf[task.getId()] = task;
    cost += *graphProblem.problem.ops[other].absorbedCost;
  }
  SmallVector<Value> operands;
  for (auto [number, operand] : offer.operands)
    operands.push_back(getCurrent(taskOf.at(number).getOperand(operand)));
  TaskOp task = runTask(original);
  task->setOperands(operands);
  task.setKernelAttr(offer.kernel);
  // Whatever else the kernel saves, the plan does not count on.
  task.setCost(cost);
  task->setAttr(absorbedAttrName,
                DenseI64ArrayAttr::get(task.getContext(), offer.tasks));
  absorbed.clear();
}

/// The task belongs to the call and to the computation that it stands in, which
/// the offer could not know.
void PlanApplier::pack(planning::ValueId value) {
  TaskOp offered = graphProblem.offers.at(value).pack;
  runs.try_emplace(offered.getId(), 0, latestPhase);
  TaskOp task = runTask(offered);
  task.setBackward(false);
  task.removeLevelAttr();
}

/// What is unpacked takes the place of the value.
void PlanApplier::unpack(planning::ValueId value) {
  TaskOp offered = graphProblem.offers.at(value).unpack;
  runs.try_emplace(offered.getId(), 0, latestPhase);
  TaskOp task = runTask(offered);
  setCurrent(graphProblem.values[value], task->getResult(0));
}

void PlanApplier::apply(const planning::Plan &plan) {
  Block &oldBody = graph.getBody().front();
  Operation *terminator = oldBody.getTerminator();
  for (Operation &op : oldBody)
    if (isViewOp(&op))
      viewsOf[op.getOperand(0)].push_back(op.getResult(0));
  for (BlockArgument argument : graph.getArguments())
    current[argument] = argument;

  // The new schedule is built behind the old operations, which then go.
  Operation *lastOld = terminator->getPrevNode();
  builder.setInsertionPoint(terminator);
  for (const planning::Action &action : plan.actions) {
    switch (action.kind) {
    case planning::ActionKind::Run:
      if (graphProblem.tasks[action.id])
        run(action.id);
      break;
    case planning::ActionKind::Offload: {
      Value value = graphProblem.values[action.id];
      offloads[value] = OffloadOp::create(builder, value.getLoc(),
                                          getCurrent(value), SlotAttr());
      break;
    }
    case planning::ActionKind::Reload: {
      Value value = graphProblem.values[action.id];
      setCurrent(value,
                 ReloadOp::create(builder, value.getLoc(), value.getType(),
                                  offloads.at(value).getResult(), SlotAttr()));
      break;
    }
    case planning::ActionKind::Release: {
      Value value = graphProblem.values[action.id];
      ReleaseOp::create(builder, value.getLoc(),
                        offloads.at(value).getSource());
      break;
    }
    case planning::ActionKind::Pack:
      pack(action.id);
      break;
    case planning::ActionKind::Unpack:
      unpack(action.id);
      break;
    case planning::ActionKind::Absorb:
      absorbed.push_back(action.id);
      break;
    }
  }
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(getCurrent(operand.get()));
  while (lastOld) {
    Operation *previous = lastOld->getPrevNode();
    lastOld->erase();
    lastOld = previous;
  }
}

void remat::applyPlan(GraphOp graph, const GraphProblem &graphProblem,
                      const planning::Plan &plan) {
  PlanApplier(graph, graphProblem).apply(plan);
}

//===----------------------------------------------------------------------===//
// Live ranges
//===----------------------------------------------------------------------===//

SpaceRanges::SpaceRanges(const GraphLiveness &liveness, MemorySpace space) {
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.space != space)
      continue;
    buffers.push_back(&buffer);
    ranges.push_back({buffer.bytes, buffer.begin, buffer.end});
  }
}
