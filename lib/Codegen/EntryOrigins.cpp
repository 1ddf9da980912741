//===- EntryOrigins.cpp - where a NaN may come from -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation inside of a fused kernel keeps its own location, which is what a
// user can do something with. Those of a derivative are wrapped in a name.
//
//===----------------------------------------------------------------------===//

#include "EntryOrigins.h"

#include "remat/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The same of an operation on complex numbers. Their parts are products and
/// sums of several numbers: what overflows in one may be subtracted from, or
/// multiplied by zero.
static char classifyComplex(StringRef name) {
  return llvm::StringSwitch<char>(name)
      .Cases({"re", "im", "create", "conj", "neg", "angle"}, 0)
      .Cases({"add", "sub", "abs"}, 'o')
      .Default('b');
}

/// Whether an integer of type `from` may be more than the largest number of
/// type `to`, rounded.
static bool mayOverflow(Type from, Type to, bool isSigned) {
  unsigned bits = getElementTypeOrSelf(from).getIntOrFloatBitWidth() - isSigned;
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementTypeOrSelf(to)).getFloatSemantics();
  return int(bits) > APFloat::semanticsMaxExponent(semantics);
}

/// What an operation makes of finite numbers, as remat_entry has it; 0 if what
/// it makes is finite, too, or one of its operands.
static char classify(Operation *op) {
  if (op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!isa<FloatType, ComplexType>(element))
    return 0;
  // What has a body is what is in there.
  if (op->getNumRegions() != 0 && !isa<linalg::LinalgOp>(op))
    return 0;
  // Bits may be those of any number.
  if (isa<arith::BitcastOp, tensor::BitcastOp>(op))
    return 'b';
  if (isa<linalg::GenericOp, linalg::ReduceOp, linalg::MapOp, linalg::FillOp,
          linalg::CopyOp, linalg::TransposeOp, linalg::BroadcastOp>(op) ||
      isa<tensor::TensorDialect>(op->getDialect()))
    return 0;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return mayOverflow(op->getOperand(0).getType(), element,
                       isa<arith::SIToFPOp>(op))
               ? 'o'
               : 0;
  StringRef name = op->getName().stripDialect();
  if (isa<complex::ComplexDialect>(op->getDialect()))
    return classifyComplex(name);
  return llvm::StringSwitch<char>(name)
      .Cases({"log", "log2", "log10", "log1p", "powf", "rsqrt"}, 'b')
      .Cases({"divf", "div", "reciprocal", "atanh"}, 'b')
      .Cases({"sqrt", "remf", "acos", "asin", "acosh"}, 'n')
      .Cases({"exp", "exp2", "expm1", "sinh", "cosh", "tan", "fpowi"}, 'i')
      .Cases({"absf", "abs", "negf", "select", "extf", "copysign"}, 0)
      .Cases({"maximumf", "maxnumf", "minimumf", "minnumf", "clampf"}, 0)
      .Cases({"ceil", "floor", "round", "roundeven", "trunc"}, 0)
      .Cases({"sin", "cos", "sincos", "tanh", "erf", "erfc"}, 0)
      .Cases({"atan", "atan2", "asinh", "cbrt"}, 0)
      .Default('o');
}

EntryOrigins::EntryOrigins(ModuleOp module) {
  module.walk([&](Operation *op) {
    bool isNamed = classify(op) != 0 && !findForwardLocation(op->getLoc()) &&
                   !describeLocation(op->getLoc()).empty();
    if (!isNamed)
      return;
    auto &names = forward[op->getLoc()];
    StringRef name = op->getName().getStringRef();
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  });
}

/// "'math.log' at model.py:5:1", or what the derivative is of. The locations of
/// a kernel that is not the task's own say nothing.
std::string EntryOrigins::describePlace(Operation *op, Location task,
                                        bool isOwn) const {
  std::string text = ("'" + op->getName().getStringRef() + "'").str();
  Location loc = isOwn ? op->getLoc() : task;
  std::string place = describeLocation(loc);
  if (std::optional<Location> source = findForwardLocation(loc)) {
    auto known = forward.find(*source);
    text += " in the derivative of ";
    text += known == forward.end() || !isOwn
                ? "what is"
                : "'" + llvm::join(known->second, "' or '") + "'";
  } else if (!isOwn) {
    text += " in what is";
  }
  if (!place.empty())
    text += " at " + place;
  if (auto scopes = findScopes(loc); !scopes.empty())
    text += (" in layer '" + scopes.front() + "'").str();
  return text;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Whether `select` gives the larger of its values, or the smaller.
static bool isExtremum(arith::SelectOp select, bool isLarger) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return false;
  using Predicate = arith::CmpFPredicate;
  bool isMore = llvm::is_contained(
      {Predicate::OGT, Predicate::OGE, Predicate::UGT, Predicate::UGE},
      compare.getPredicate());
  bool isLess = llvm::is_contained(
      {Predicate::OLT, Predicate::OLE, Predicate::ULT, Predicate::ULE},
      compare.getPredicate());
  Value first = select.getTrueValue(), second = select.getFalseValue();
  if (compare.getLhs() == second && compare.getRhs() == first)
    std::swap(isMore, isLess);
  else if (compare.getLhs() != first || compare.getRhs() != second)
    return false;
  return isLarger ? isMore : isLess;
}

/// Whether a constant is never written as it is, because something else is
/// always chosen: a maximum or minimum begins with the least or the largest
/// number, and others a number is only compared with.
static bool isOnlyLimit(Value value, const APFloat &constant) {
  bool isLeast = constant.isInfinity() && constant.isNegative();
  bool isLargest = constant.isInfinity() && !constant.isNegative();
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<arith::CmpFOp>(user))
      return true;
    if (isa<arith::MaximumFOp>(user))
      return isLeast;
    if (isa<arith::MinimumFOp>(user))
      return isLargest;
    if (isa<arith::MaxNumFOp>(user))
      return isLeast || constant.isNaN();
    if (isa<arith::MinNumFOp>(user))
      return isLargest || constant.isNaN();
    if (auto select = dyn_cast<arith::SelectOp>(user))
      return (isLeast || isLargest) && isExtremum(select, isLeast);
    // What an operation is given is what its body makes of it.
    if (isa<linalg::YieldOp>(user)) {
      auto results = user->getParentOp()->getResults();
      return use.getOperandNumber() < results.size() &&
             isOnlyLimit(results[use.getOperandNumber()], constant);
    }
    auto structured = dyn_cast<linalg::LinalgOp>(user);
    return structured &&
           isOnlyLimit(structured.getMatchingBlockArgument(&use), constant);
  });
}

static void findConstants(func::FuncOp kernel, bool &infinity, bool &nan) {
  kernel.walk([&](arith::ConstantOp constant) {
    auto add = [&](const APFloat &value) {
      if (value.isFinite() || isOnlyLimit(constant, value))
        return;
      infinity |= value.isInfinity();
      nan |= value.isNaN();
    };
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      return add(number.getValue());
    auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue());
    if (elements && elements.isSplat())
      return add(elements.getSplatValue<APFloat>());
    if (elements && isa<FloatType>(elements.getElementType()))
      for (const APFloat &value : elements.getValues<APFloat>())
        add(value);
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// A kernel that several tasks call has the locations of one of them.
std::string EntryOrigins::describeOps(func::FuncOp kernel,
                                      Location place) const {
  bool isOwn = llvm::any_of(
      kernel.getOps(), [&](Operation &op) { return op.getLoc() == place; });
  // What a derivative does itself is more likely than what it does again.
  SmallVector<std::string> lines, again;
  kernel.walk([&](Operation *op) {
    char letter = classify(op);
    if (letter == 0)
      return;
    std::string line = letter + (" " + describePlace(op, place, isOwn)) + "\n";
    auto &list = findForwardLocation(op->getLoc()) ? lines : again;
    if (!llvm::is_contained(list, line))
      list.push_back(line);
  });
  return llvm::join(lines, "") + llvm::join(again, "");
}

void EntryOrigins::describe(TaskOp task, StepEntry &entry) const {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
  if (!kernel)
    return;
  findConstants(kernel, entry.writesInfinity, entry.writesNaN);
  entry.origins = describeOps(kernel, task.getLoc());
  if (std::optional<ArrayAttr> layers = task.getLayers()) {
    std::string text = "l ";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(layers->getAsValueRange<StringAttr>(), os);
    entry.origins = text + "\n" + entry.origins;
  }
}
