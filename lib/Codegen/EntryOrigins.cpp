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
  if (isa<linalg::GenericOp, linalg::ReduceOp, linalg::MapOp, linalg::FillOp,
          linalg::CopyOp, linalg::TransposeOp, linalg::BroadcastOp>(op) ||
      isa<tensor::TensorDialect>(op->getDialect()))
    return 0;
  return llvm::StringSwitch<char>(op->getName().stripDialect())
      .Cases({"log", "log2", "log10", "log1p", "powf", "pow", "rsqrt"}, 'b')
      .Cases({"divf", "div", "atanh"}, 'b')
      .Cases({"sqrt", "remf", "acos", "asin", "acosh"}, 'n')
      .Cases({"exp", "exp2", "expm1", "sinh", "cosh", "tan", "fpowi"}, 'i')
      .Cases({"absf", "negf", "neg", "select", "extf", "copysign"}, 0)
      .Cases({"maximumf", "maxnumf", "minimumf", "minnumf"}, 0)
      .Cases({"ceil", "floor", "round", "roundeven", "trunc"}, 0)
      .Cases({"sin", "cos", "tanh", "erf", "erfc", "atan", "atan2"}, 0)
      .Cases({"asinh", "sitofp", "uitofp", "bitcast"}, 0)
      .Cases({"re", "im", "create", "conj"}, 0)
      .Default('o');
}

/// The location of the forward operation, for one of a derivative.
static std::optional<Location> findForward(Location loc) {
  std::optional<Location> forward;
  for (auto name = dyn_cast<NameLoc>(loc);
       name && isDerivativeName(name.getName());
       name = dyn_cast<NameLoc>(name.getChildLoc()))
    forward = name.getChildLoc();
  return forward;
}

EntryOrigins::EntryOrigins(ModuleOp module) {
  module.walk([&](Operation *op) {
    bool isNamed = classify(op) != 0 && !findForward(op->getLoc()) &&
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
  if (std::optional<Location> source = findForward(loc)) {
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

/// Whether a constant, or a tensor filled with it, is never written as it is:
/// what starts a maximum, or what a number is compared with.
static bool isOnlyLimit(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<arith::CmpFOp, arith::MaximumFOp, arith::MaxNumFOp,
            arith::MinimumFOp, arith::MinNumFOp>(user))
      return true;
    if (auto fill = dyn_cast<linalg::FillOp>(user))
      return use.getOperandNumber() == 0 && fill.getNumResults() == 1 &&
             isOnlyLimit(fill.getResult(0));
    auto structured = dyn_cast<linalg::LinalgOp>(user);
    return structured && structured.isDpsInit(&use) &&
           structured.getNumReductionLoops() != 0;
  });
}

static void findConstants(func::FuncOp kernel, bool &infinity, bool &nan) {
  kernel.walk([&](arith::ConstantOp constant) {
    auto add = [&](const APFloat &value) {
      if (value.isFinite() || isOnlyLimit(constant))
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
    auto &list = findForward(op->getLoc()) ? lines : again;
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
