//===- TaskPolicies.cpp - what tags ask of a task -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policies and names of a task's results: those of its operation, and of
// the tags on its results and their views.
//
//===----------------------------------------------------------------------===//

#include "TaskPolicies.h"

#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Tags.h"

#include <set>

using namespace mlir;
using namespace remat;

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

FailureOr<ArrayAttr> remat::collectPolicies(Operation *op, ValueRange results) {
  SmallVector<Attribute> policies;
  bool any = false;
  for (Value result : results) {
    PolicyAttr policy;
    if (failed(collectPolicy(cast<OpResult>(result), policy)))
      return failure();
    any |= static_cast<bool>(policy);
    policies.push_back(policy ? Attribute(policy)
                              : UnitAttr::get(op->getContext()));
  }
  return any ? ArrayAttr::get(op->getContext(), policies) : ArrayAttr();
}

/// The levels of all that reads `value`, seen through views and tags.
static void collectReaderLevels(Value value, Block &body,
                                std::set<unsigned> &levels) {
  for (Operation *user : value.getUsers()) {
    if (isViewOp(user) || isTransparentOp(user))
      collectReaderLevels(user->getResult(0), body, levels);
    else if (Operation *reader = body.findAncestorOpInBlock(*user))
      levels.insert(getBackwardLevel(reader));
  }
}

PolicyLevel remat::findPolicyLevel(Operation *op) {
  unsigned own = getBackwardLevel(op) + 1;
  std::optional<unsigned> asked;
  if (op->hasAttr(RematDialect::policyAttrName))
    asked = own;
  std::set<unsigned> readers;
  for (Value result : op->getResults()) {
    for (TagOp tag : findTags(result))
      if (tag.getPolicy())
        asked = std::min(asked.value_or(getTagLevel(tag)), getTagLevel(tag));
    collectReaderLevels(result, *op->getBlock(), readers);
  }
  unsigned level = std::max(asked.value_or(own), own);
  std::optional<unsigned> first;
  for (unsigned reader : readers)
    if (reader >= level)
      first = std::min(first.value_or(reader), reader);
  return {first.value_or(level), first.has_value()};
}

ArrayAttr remat::collectNames(Operation *op, ValueRange results) {
  SmallVector<Attribute> names;
  bool any = false;
  for (Value result : results) {
    SetVector<Attribute> own;
    for (TagOp tag : findTags(result))
      if (StringAttr name = tag.getNameAttr())
        own.insert(name);
    any |= !own.empty();
    names.push_back(ArrayAttr::get(op->getContext(), own.getArrayRef()));
  }
  return any ? ArrayAttr::get(op->getContext(), names) : ArrayAttr();
}

bool remat::isDemanded(Value value) {
  Operation *producer = getProducer(value);
  return producer && llvm::any_of(producer->getUsers(), [&](Operation *user) {
           auto demand = dyn_cast<DemandOp>(user);
           return demand && getProducer(demand.getValue()) == producer;
         });
}

/// Whether a backward task of `level` or above reads `value`, or a task that
/// runs again for one, since it makes something that is hidden.
static bool isNeededAgain(Value value, unsigned level,
                          DenseSet<Operation *> &seen) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isViewOp(user))
      return isNeededAgain(user->getResult(0), level, seen);
    auto task = dyn_cast<TaskOp>(user);
    if (!task || !seen.insert(task).second)
      return false;
    if (task.getBackwardLevel() >= level)
      return true;
    return llvm::any_of(task->getResults(), [&](OpResult result) {
      return task.getResultPolicy(result.getResultNumber()) ==
                 Policy::MustRecompute &&
             isNeededAgain(result, level, seen);
    });
  });
}

bool remat::hasHiddenSibling(Value root, const DenseSet<Value> &returned) {
  auto task = cast<TaskOp>(root.getDefiningOp());
  if (task.getPinned())
    return false;
  return llvm::any_of(task->getResults(), [&](OpResult result) {
    DenseSet<Operation *> seen;
    return result != root && !returned.contains(result) &&
           task.getResultPolicy(result.getResultNumber()) ==
               Policy::MustRecompute &&
           isNeededAgain(result, task.getPolicyDerivative(), seen);
  });
}
