//===- TaskNames.cpp - names of what a step does --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/TaskNames.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Locations.h"
#include "remat/Utils/TypeNames.h"
#include "remat/Utils/Utf8.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Kinds of work
//===----------------------------------------------------------------------===//

namespace {
/// A part of a kernel's name that says what all of it is about.
struct KnownKind {
  StringLiteral part;
  StringLiteral kind;
};
} // namespace

/// The first that occurs counts: what is more than its neighbours is in front.
static constexpr KnownKind knownKinds[] = {
    {"batch_matmul", "batched matmul"},
    {"matmul", "matmul"},
    {"conv", "convolution"},
    {"softmax", "softmax"},
    {"layernorm", "layer norm"},
    {"mean_rstd", "normalization"},
    {"logsumexp", "log softmax"},
    {"sumexp", "log softmax"},
    {"gather_log_sub_neg", "cross entropy"},
    {"gelu", "gelu"},
    {"sigmoid", "sigmoid"},
};

/// Whether the words of `part` are among those of `name`.
static bool hasWords(StringRef name, StringRef part) {
  for (size_t at = name.find(part); at != StringRef::npos;
       at = name.find(part, at + 1)) {
    size_t end = at + part.size();
    if ((at == 0 || name[at - 1] == '_') &&
        (end == name.size() || name[end] == '_'))
      return true;
  }
  return false;
}

/// The name without the number that tells kernels with equal names apart.
static StringRef dropNumber(StringRef kernel) {
  auto [front, number] = kernel.rsplit('_');
  bool isNumbered = !number.empty() && llvm::all_of(number, llvm::isDigit);
  StringRef name = isNumbered ? front : kernel;
  name.consume_back("_rows");
  return name;
}

static StringRef findKnownKind(StringRef kernel) {
  StringRef name = dropNumber(kernel);
  for (const KnownKind &known : knownKinds)
    if (hasWords(name, known.part))
      return known.kind;
  return {};
}

static bool isKnownKind(StringRef kernel) {
  return !findKnownKind(kernel).empty();
}

std::string remat::describeKind(StringRef kernel) {
  if (StringRef known = findKnownKind(kernel); !known.empty())
    return known.str();
  std::string words = dropNumber(kernel).str();
  llvm::replace(words, '_', ' ');
  return words;
}

bool remat::isUpdate(TaskOp task) { return isOptimizerLocation(task.getLoc()); }

/// Whether a loop of this name saves a part of what its derivative reads, see
/// findThinnings.
static bool isThinned(StringRef kernel) {
  SmallVector<StringRef> words;
  kernel.split(words, '_');
  return llvm::any_of(words, [](StringRef word) {
    return word.consume_front("thin") && !word.empty() &&
           llvm::all_of(word, llvm::isDigit);
  });
}

/// "loop of 12 thinned": how often it runs, and what it does again.
static std::string describeLoop(LoopOp loop, StringRef kernel) {
  std::string text = "loop";
  if (loop.getCount() != 0 || !loop.isCountedAtRunTime())
    text += (loop.isCountedAtRunTime() ? " of up to " : " of ") +
            std::to_string(loop.getCount());
  if (std::optional<int64_t> slots = loop.getSlots())
    text += " with " + std::to_string(*slots) + " checkpoints";
  else if (isThinned(kernel))
    text += " thinned";
  int64_t again = 0;
  for (GraphOp body : findBodies(loop))
    for (auto task : body.getOps<TaskOp>())
      again += task.isClone();
  if (again > 0)
    text += " repeating " + std::to_string(again) + " tasks";
  return text;
}

std::string remat::describeKind(TaskOp task) {
  if (isUpdate(task))
    return "update";
  if (LoopOp loop = findLoop(task))
    return describeLoop(loop, task.getKernel());
  StringRef kernel = task.getKernel();
  if (!task.getBackward() || isKnownKind(kernel))
    return describeKind(kernel);
  llvm::DenseMap<Operation *, Value> seen;
  for (Value operand : task.getOperands()) {
    Value value = getViewRoot(operand);
    auto maker = dyn_cast_or_null<TaskOp>(value.getDefiningOp());
    if (!maker || maker.getBackward() || !isKnownKind(maker.getKernel()))
      continue;
    auto [other, isFirst] = seen.try_emplace(maker, value);
    if (!isFirst && other->second != value)
      return describeKind(maker.getKernel());
  }
  return describeKind(kernel);
}

std::string remat::joinName(StringRef layer, StringRef kind) {
  return layer.empty() ? kind.str() : (layer + " " + kind).str();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

StringRef remat::findCommonScope(StringRef a, StringRef b) {
  size_t end = 0;
  for (size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
    auto isEnd = [&](StringRef text) {
      return i == text.size() || text[i] == '.' || text[i] == '/';
    };
    if (isEnd(a) && isEnd(b))
      end = i;
    if (i == a.size() || i == b.size() || a[i] != b[i])
      break;
  }
  return a.take_front(end);
}

static bool isBackward(Operation *op) {
  auto task = dyn_cast_or_null<TaskOp>(op);
  return task && task.getBackward();
}

/// The scope that everything with a scope in the iterations of a loop is in.
static std::string findBodyScope(LoopOp loop) {
  std::optional<std::string> common;
  for (GraphOp body : findBodies(loop))
    for (auto task : body.getOps<TaskOp>()) {
      std::string scope;
      if (auto scopes = findScopes(task.getLoc()); !scopes.empty())
        scope = scopes.back().str();
      else if (LoopOp inner = findLoop(task))
        scope = findBodyScope(inner);
      if (!scope.empty())
        common = common ? findCommonScope(*common, scope).str() : scope;
    }
  return common.value_or("");
}

std::string LayerNames::findOwn(TaskOp task,
                                ArrayRef<std::string> gradients) const {
  std::optional<ArrayAttr> known = task.getLayers();
  // A loop is in what all that it does is in. What the program says of that
  // counts more than the parameters that the loop reads.
  if (LoopOp loop = findLoop(task); loop && findScopes(task.getLoc()).empty())
    if (std::string scope = findBodyScope(loop); !scope.empty())
      return scope;
  if (known && *known && findLoop(task)) {
    auto names = known->getAsValueRange<StringAttr>();
    StringRef common = *names.begin();
    for (StringRef name : names)
      common = findCommonScope(common, name);
    return common.str();
  }
  // The last operation of a kernel is the one that it is named by, too.
  if (known && *known)
    return cast<StringAttr>(known->getValue().back()).str();
  for (Value operand : llvm::reverse(task.getOperands()))
    if (const ValueName *argument = findArgument(operand);
        argument && argument->isNamedArgument && !argument->layer.empty())
      return argument->layer;
  for (Value result : task.getResults())
    for (OpOperand &use : result.getUses())
      if (isa<ReturnOp>(use.getOwner()) &&
          use.getOperandNumber() < gradients.size())
        if (StringRef name = gradients[use.getOperandNumber()]; !name.empty())
          return name.rsplit('.').first.str();
  return "";
}

/// The argument of a body that `value` is, or null.
const ValueName *LayerNames::findArgument(Value value) const {
  auto argument = dyn_cast<BlockArgument>(getViewRoot(value));
  return argument && argument.getArgNumber() < arguments.size()
             ? &arguments[argument.getArgNumber()]
             : nullptr;
}

/// The layer of what `op` reads. Of values of different parts of the model, the
/// first counts.
StringRef LayerNames::findBefore(Operation *op, bool ofBackward) const {
  StringRef found;
  for (Value operand : op->getOperands()) {
    Operation *producer = getViewRoot(operand).getDefiningOp();
    StringRef layer;
    // What the forward loop has stacked is of the layer that made it.
    if (const ValueName *argument = findArgument(operand);
        argument && !ofBackward)
      layer = argument->layer;
    else if (producer && isBackward(producer) == ofBackward)
      layer = getLayer(producer);
    else
      continue;
    StringRef common = found.empty() ? layer : findCommonScope(found, layer);
    if (!common.empty())
      found = common;
  }
  return found;
}

void LayerNames::inferFromBefore(GraphOp graph, bool ofBackward) {
  for (Operation &op : graph.getBody().front().without_terminator()) {
    if (isBackward(&op) != ofBackward || layers.contains(&op))
      continue;
    // Backward tasks read what the forward tasks of their layer have saved.
    std::string layer = findBefore(&op, /*ofBackward=*/false).str();
    if (layer.empty())
      layer = findBefore(&op, /*ofBackward=*/true).str();
    if (!layer.empty())
      layers[&op] = layer;
  }
}

/// What lies between two layers is in what they are both in.
void LayerNames::inferFromBehind(GraphOp graph, bool ofBackward) {
  DenseMap<Operation *, std::string> behind;
  for (Operation &op :
       llvm::reverse(graph.getBody().front().without_terminator())) {
    if (isBackward(&op) != ofBackward)
      continue;
    bool isKnown = known.contains(&op);
    StringRef mine = isKnown ? getLayer(&op) : StringRef();
    for (Operation *user : op.getUsers()) {
      auto found = behind.find(user);
      if (isKnown || found == behind.end())
        continue;
      StringRef common =
          mine.empty() ? found->second : findCommonScope(mine, found->second);
      if (!common.empty())
        mine = common;
    }
    if (mine.empty())
      continue;
    std::string layer = mine.str();
    behind[&op] = layer;
    StringRef before = getLayer(&op);
    StringRef common = before.empty() ? layer : findCommonScope(before, layer);
    if (!isKnown && !common.empty())
      layers[&op] = common.str();
  }
}

LayerNames::LayerNames(GraphOp graph, ArrayRef<std::string> gradients,
                       ArrayRef<ValueName> arguments)
    : arguments(arguments.begin(), arguments.end()) {
  for (auto task : graph.getOps<TaskOp>())
    if (std::string own = findOwn(task, gradients); !own.empty()) {
      layers[task] = own;
      known.insert(task);
    }
  // What is known of the forward computation is known of the backward one.
  for (bool ofBackward : {false, true}) {
    inferFromBefore(graph, ofBackward);
    inferFromBehind(graph, ofBackward);
  }
}

//===----------------------------------------------------------------------===//
// Names for messages
//===----------------------------------------------------------------------===//

TaskNames::TaskNames(GraphOp graph) : names(graph) {
  for (auto task : graph.getOps<TaskOp>())
    if (!task.isClone())
      originals.try_emplace(task.getId(), task);
}

std::string TaskNames::describe(TaskOp task, Value result) {
  auto found = originals.find(task.getId());
  TaskOp original = found == originals.end() ? task : found->second;
  const LayerNames &layers = names.getLayers();
  StringRef layer;
  if (!task.getBackward() || layers.isKnown(original))
    layer = layers.getLayer(original);
  std::string text;
  if (auto own = dyn_cast_or_null<OpResult>(result); own && findLoop(original))
    text = names.getLoopResults(original)[own.getResultNumber()].name;
  if (text.empty()) {
    auto [kind, isNew] = kinds.try_emplace(original.getId());
    if (isNew)
      kind->second = describeKind(original);
    text = joinName(layer, kind->second);
  }
  if (task.isClone())
    text += ", recomputed";
  else if (task.getBackward() && !isUpdate(task) &&
           !StringRef(text).contains(", backward"))
    text += ", backward";
  if (result)
    if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
      std::string &described = types[type];
      if (described.empty())
        described = describeType(type);
      text += " " + described;
    }
  return toUtf8(text + " (task " + std::to_string(task.getId()) + ")");
}
