//===- DiscardableAttrs.cpp - attributes on other operations --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes that operations of any dialect may carry, where, and of which
// type. The dialect's page says what they mean, who writes and who reads them.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"

#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/Extrema.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/KeptStacks.h"
#include "remat/Dialect/Remat/IR/LibraryMasks.h"
#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/Unrolling.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Where an attribute may be.
enum Place : unsigned {
  OnOperation = 1,
  OnFunction = 2,
  OnKernel = 4,
  OnArgument = 8,
  OnResult = 16,
  AnyOperation = OnOperation | OnFunction | OnKernel
};

struct AttrRule {
  StringLiteral name;
  unsigned places;
  bool (*isValid)(Attribute);
  /// What a valid one is.
  StringLiteral expected;
};
} // namespace

template <typename AttrType>
static bool is(Attribute attr) {
  return isa<AttrType>(attr);
}

/// Whether `attr` is a number from `least` on that fits into 64 bits. One of no
/// bits has no sign to look at.
static bool isInteger(Attribute attr, int64_t least) {
  auto integer = dyn_cast<IntegerAttr>(attr);
  return integer && integer.getType().isSignlessIntOrIndex() &&
         integer.getValue().getBitWidth() > 0 &&
         integer.getValue().isSignedIntN(64) &&
         integer.getValue().getSExtValue() >= least;
}

static bool isName(Attribute attr) {
  auto name = dyn_cast<StringAttr>(attr);
  return name && !name.empty();
}

static bool isCount(Attribute attr) { return isInteger(attr, 0); }

static bool isPositive(Attribute attr) { return isInteger(attr, 1); }

static bool isByteCount(Attribute attr) {
  return isCount(attr) && cast<IntegerAttr>(attr).getType().isInteger(64);
}

/// The first level is a unit.
static bool isLevel(Attribute attr) {
  return isa<UnitAttr>(attr) ||
         (isInteger(attr, 2) &&
          cast<IntegerAttr>(attr).getType().isInteger(64) &&
          cast<IntegerAttr>(attr).getInt() <= UINT8_MAX);
}

/// What `remat.inits` says of each init.
static bool isInitList(Attribute attr) {
  auto inits = dyn_cast<ArrayAttr>(attr);
  return inits &&
         llvm::all_of(inits, llvm::IsaPred<UnitAttr, IntegerAttr, FloatAttr>);
}

/// What `remat.plans` has for each device.
static bool isPlanList(Attribute attr) {
  auto plans = dyn_cast<ArrayAttr>(attr);
  return plans && llvm::all_of(plans, [](Attribute plan) {
           auto members = dyn_cast<DictionaryAttr>(plan);
           return members && members.getAs<StringAttr>("device") &&
                  members.getAs<StringAttr>("plan") &&
                  members.getAs<IntegerAttr>("version") &&
                  isCount(members.get("version")) &&
                  members.getAs<IntegerAttr>("workspace") &&
                  isByteCount(members.get("workspace")) &&
                  (!members.contains("second") ||
                   members.getAs<UnitAttr>("second"));
         });
}

/// Those of users first.
static constexpr AttrRule attrRules[] = {
    {RematDialect::policyAttrName, AnyOperation | OnArgument, is<PolicyAttr>,
     "a '#remat.policy'"},
    {RematDialect::nameAttrName, AnyOperation | OnArgument | OnResult, isName,
     "a string that is not empty"},
    {RematDialect::backwardAttrName, AnyOperation, isLevel,
     "a unit attribute, or a level from 2 to 255 of type i64"},
    {RematDialect::kernelAttrName, OnFunction, is<UnitAttr>,
     "a unit attribute"},
    {RematDialect::vjpAttrName, OnFunction, is<FlatSymbolRefAttr>,
     "the symbol of a function"},
    {RematDialect::jvpAttrName, OnFunction, is<FlatSymbolRefAttr>,
     "the symbol of a function"},
    {RematDialect::fwdAttrName, OnFunction, is<FlatSymbolRefAttr>,
     "the symbol of a function"},
    {RematDialect::maxTripCountAttrName, AnyOperation, isPositive,
     "a positive number of iterations"},
    {unrollLimitAttrName, AnyOperation, isPositive,
     "a positive number of operations"},
    {firstExtremumAttrName, AnyOperation, is<UnitAttr>, "a unit attribute"},
    {RematDialect::allowMutationAttrName, OnFunction, is<UnitAttr>,
     "a unit attribute"},
    {RematDialect::allowSavedMutationAttrName, OnFunction, is<UnitAttr>,
     "a unit attribute"},
    {targetAttrName, AnyOperation, is<TargetAttr>, "a '#remat.target'"},
    {RematDialect::implementationAttrName, OnKernel, is<ImplementationAttr>,
     "'#remat.implementation<library>', '#remat.implementation<generated>' or "
     "'#remat.implementation<either>'"},
    {RematDialect::plansAttrName, OnKernel, isPlanList,
     "an array of plans with 'device', 'plan', 'version' and 'workspace'"},
    {rowsAttrName, AnyOperation, is<DenseI64ArrayAttr>, "an array of loops"},
    {libraryMaskAttrName, OnOperation, is<UnitAttr>, "a unit attribute"},
    {blockAttrName, AnyOperation, isPositive, "a positive number of rows"},
    {factorAttrName, AnyOperation, is<UnitAttr>, "a unit attribute"},
    {RematDialect::initsAttrName, AnyOperation, isInitList,
     "an array of numbers and units"},
    {RematDialect::readBytesAttrName, AnyOperation, isByteCount,
     "a number of bytes of type i64"},
    {RematDialect::alternativeAttrName, OnFunction, is<FlatSymbolRefAttr>,
     "the symbol of a function or graph"},
    {RematDialect::microbatchOrderAttrName, OnFunction, is<StringAttr>,
     "a string"},
    {batchPartsAttrName, OnFunction, isPositive, "a positive number of parts"},
    {secondPlansAttrName, OnFunction, is<UnitAttr>, "a unit attribute"},
    {keepsRepeatedAttrName, OnFunction, is<UnitAttr>, "a unit attribute"},
    {fusedReadersAttrName, OnFunction, is<UnitAttr>, "a unit attribute"},
    {sliceRowsAttrName, OnFunction, isPositive, "a positive number of rows"},
    {slicesHiddenAttrName, OnFunction, is<UnitAttr>, "a unit attribute"},
    {foldedLayersAttrName, OnFunction, isPositive,
     "a positive number of layers"},
    {RematDialect::stacksNothingAttrName, OnOperation, is<UnitAttr>,
     "a unit attribute"},
    {stacksKeptAttrName, OnOperation, is<UnitAttr>, "a unit attribute"},
    {packsAttrName, OnOperation, is<StringAttr>, "the name of a codec"},
    {unpacksAttrName, OnOperation, is<StringAttr>, "the name of a codec"},
    {absorptionsAttrName, OnOperation, isAbsorptionList,
     "an array of dictionaries with 'kernel', 'tasks', 'operands', 'cost' and "
     "'workspace'"},
    {absorbedAttrName, OnOperation, is<DenseI64ArrayAttr>,
     "an array of numbers of tasks"},
    {gradientErrorAttrName, OnOperation, is<FloatAttr>, "a number"},
    {RematDialect::phaseAttrName, OnArgument, isCount, "the number of a call"},
    {RematDialect::donatedAttrName, OnArgument, isCount,
     "the number of a result"},
    {hostAttrName, OnArgument, is<UnitAttr>, "a unit attribute"},
    {keyAttrName, OnArgument, is<UnitAttr>, "a unit attribute"},
    {transferAttrName, OnOperation, is<UnitAttr>, "a unit attribute"},
    {RematDialect::absentAttrName, OnResult, is<UnitAttr>, "a unit attribute"},
    {gradientAttrName, OnResult, isCount, "the number of an argument"},
    {dataGradientAttrName, OnResult, isCount, "the number of an argument"},
    {RematDialect::initialValueAttrName, OnArgument, is<ElementsAttr>,
     "the elements of a tensor"},
};

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static const AttrRule *findRule(StringRef name) {
  const auto *rule = llvm::find_if(
      attrRules, [&](const AttrRule &rule) { return rule.name == name; });
  return rule == std::end(attrRules) ? nullptr : rule;
}

/// The names of the attributes that may be in one of `places`.
static std::string listNames(unsigned places) {
  SmallVector<std::string> names;
  for (const AttrRule &rule : attrRules)
    if (rule.places & places)
      names.push_back(("'" + rule.name + "'").str());
  return llvm::join(names, ", ");
}

LogicalResult RematDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attr) {
  StringRef name = attr.getName();
  const AttrRule *rule = findRule(name);
  if (!rule)
    return op->emitOpError()
           << "unknown attribute '" << name << "', expected one of "
           << listNames(AnyOperation);
  if (!rule->isValid(attr.getValue()))
    return op->emitOpError() << "attribute '" << name << "' must be "
                             << rule->expected << ", got " << attr.getValue();
  auto refuse = [&](StringRef where) {
    return op->emitOpError()
           << "attribute '" << name << "' belongs on " << where;
  };
  if (rule->places & OnOperation)
    return success();
  if (rule->places & OnFunction)
    return isa<FunctionOpInterface>(op) ? success() : refuse("a function");
  if (rule->places & OnKernel)
    return op->hasAttr(kernelAttrName) ? success() : refuse("a kernel");
  return refuse(rule->places & OnArgument ? "an argument of a function"
                                          : "a result of a function");
}

/// Checks an attribute of an argument or a result, which `what` names.
static LogicalResult verifyValueAttribute(Operation *op, NamedAttribute attr,
                                          Place place, StringRef what,
                                          unsigned number) {
  StringRef name = attr.getName();
  const AttrRule *rule = findRule(name);
  if (!rule || !(rule->places & place))
    return op->emitOpError(what)
           << " " << number << " has the unknown attribute '" << name
           << "', expected one of " << listNames(place);
  if (!rule->isValid(attr.getValue()))
    return op->emitOpError(what)
           << " " << number << " has attribute '" << name << "' "
           << attr.getValue() << ", expected " << rule->expected;
  return success();
}

LogicalResult RematDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned argument,
                                                     NamedAttribute attr) {
  return verifyValueAttribute(op, attr, OnArgument, "argument", argument);
}

LogicalResult RematDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                        unsigned result,
                                                        NamedAttribute attr) {
  return verifyValueAttribute(op, attr, OnResult, "result", result);
}
