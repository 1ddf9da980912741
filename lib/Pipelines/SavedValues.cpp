//===- SavedValues.cpp - what is saved for backward -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value is saved if it is there before the first task of the backward
// computation, recomputations included, and is read from there on. A value in
// host memory is named by what was brought there.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/SavedValues.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Dialect/Remat/Transforms/TaskNames.h"
#include "remat/Utils/Locations.h"
#include "remat/Utils/TypeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace remat;

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

/// The operation that computes result `number` of a kernel: within a structured
/// operation that on scalars, before it is converted to another type.
static mlir::Operation *findComputation(mlir::func::FuncOp kernel,
                                        unsigned number) {
  mlir::Value value =
      kernel.getBody().front().getTerminator()->getOperand(number);
  mlir::Operation *found = nullptr;
  while (mlir::Operation *op = value.getDefiningOp()) {
    found = op;
    if (auto generic = dyn_cast<mlir::linalg::GenericOp>(op))
      value = generic.getBody()->getTerminator()->getOperand(
          cast<mlir::OpResult>(value).getResultNumber());
    else if (isViewOp(op) || isTransparentOp(op) ||
             isa<mlir::CastOpInterface>(op))
      value = op->getOperand(0);
    else
      break;
  }
  return found;
}

/// The function or scope that an operation is in: the name right around its
/// place in a file; "" if that has none.
static StringRef findFunction(mlir::Location loc) {
  StringRef function;
  loc->walk([&](mlir::Location inner) {
    auto name = dyn_cast<mlir::NameLoc>(inner);
    if (name && isa<mlir::FileLineColLoc>(name.getChildLoc()))
      function = name.getName();
    return isa<mlir::FileLineColLoc>(inner) ? mlir::WalkResult::interrupt()
                                            : mlir::WalkResult::advance();
  });
  // Of a scope, the separator at its end says that it is no operation.
  function.consume_back("/");
  return function;
}

static std::string describeArgument(GraphOp graph,
                                    mlir::BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  mlir::DictionaryAttr attrs = graph.getArgAttrDict(number);
  auto name = attrs ? attrs.getAs<mlir::StringAttr>(RematDialect::nameAttrName)
                    : mlir::StringAttr();
  return "from the argument '" +
         (name ? name.str() : "arg" + std::to_string(number)) + "'";
}

/// What is in no function that has a name is called by what it is, and so is
/// what iterations of a loop have made.
static std::string describeResult(mlir::OpResult result, ValueNames &names) {
  auto task = cast<TaskOp>(result.getOwner());
  mlir::Location loc = task.getLoc();
  StringRef computation = task.getKernel();
  auto kernel = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(
      task, task.getKernelAttr());
  if (kernel)
    if (mlir::Operation *op =
            findComputation(kernel, result.getResultNumber())) {
      computation = op->getName().stripDialect();
      // A kernel of several tasks has the locations of one of them.
      if (any_of(kernel.getOps(), [&](mlir::Operation &own) {
            return own.getLoc() == task.getLoc();
          }))
        loc = op->getLoc();
    }
  bool isLoop = findLoop(task) != nullptr;
  std::string text = "output of " + (isLoop ? "loop" : computation.str());
  if (std::string place = describeLocation(loc); !place.empty())
    text += " from " + place;
  std::string name = findFunction(loc).str();
  if (name.empty() || isLoop)
    name = names.get(result).name;
  return text + " (" + name + ")";
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

/// What was copied to host memory and, perhaps, back.
static mlir::Value skipTransfers(mlir::Value value) {
  mlir::Value root = getViewRoot(value);
  while (isa_and_nonnull<OffloadOp, ReloadOp>(root.getDefiningOp()))
    root = getViewRoot(root.getDefiningOp()->getOperand(0));
  return root;
}

static std::string describe(GraphOp graph, mlir::Value value,
                            ValueNames &names) {
  mlir::Value root = skipTransfers(value);
  std::string text =
      describeType(cast<mlir::RankedTensorType>(root.getType())) + " ";
  if (auto argument = dyn_cast<mlir::BlockArgument>(root))
    text += describeArgument(graph, argument);
  else
    text += describeResult(cast<mlir::OpResult>(root), names);
  return text + (root == value ? "" : ", in host memory");
}

/// The values that are there when the backward computation begins, and are read
/// from there on.
static SetVector<mlir::Value> findSaved(GraphOp graph) {
  SetVector<mlir::Value> saved;
  DenseSet<mlir::Operation *> after;
  bool isBackward = false;
  for (mlir::Operation &op : graph.getBody().front().without_terminator()) {
    auto task = dyn_cast<TaskOp>(op);
    isBackward |= task && (task.getBackward() || task.isClone());
    if (!isBackward)
      continue;
    after.insert(&op);
    // What ends a transfer reads nothing, and an optimizer is no part of the
    // backward computation.
    if (isa<ReleaseOp>(op) || (task && isUpdate(task)))
      continue;
    for (mlir::Value operand : op.getOperands()) {
      mlir::Value root = getViewRoot(operand);
      if (!root.getDefiningOp() || !after.contains(root.getDefiningOp()))
        saved.insert(root);
    }
  }
  return saved;
}

void remat::printSavedValues(GraphOp graph, raw_ostream &os) {
  SetVector<mlir::Value> saved = findSaved(graph);
  // Arguments in their order, then values in that of their first reader. One
  // may be on its way back already.
  SmallVector<std::string> lines;
  ValueNames names(graph);
  for (mlir::Value argument : graph.getBody().front().getArguments())
    if (saved.contains(argument))
      lines.push_back(describe(graph, argument, names));
  SmallPtrSet<void *, 8> seen;
  for (mlir::Value value : saved)
    if (!isa<mlir::BlockArgument>(value) &&
        (skipTransfers(value) == value ||
         seen.insert(skipTransfers(value).getAsOpaquePointer()).second))
      lines.push_back(describe(graph, value, names));
  for (StringRef line : lines)
    os << line << '\n';
}
