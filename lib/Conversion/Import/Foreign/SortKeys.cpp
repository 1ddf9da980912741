//===- SortKeys.cpp - comparisons of keys ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of a sort compares two elements. Most regions are written by
// frameworks and compare keys: the same function of each of both. A sort by
// integer keys is much faster than one by any region.
//
//===----------------------------------------------------------------------===//

#include "SortKeys.h"

#include "remat/Utils/Builders.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

Value foreign::createKey(OpBuilder &builder, Location loc, Value value,
                         KeyOrder order) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  Type type = builder.getIntegerType(width);
  auto constant = [&](const APInt &bits) {
    return createInteger(builder, loc, type, bits);
  };
  auto flip = [&](Value key, Value bits) -> Value {
    return arith::XOrIOp::create(builder, loc, key, bits);
  };
  Value key = value;
  if (isa<FloatType>(value.getType())) {
    key = arith::BitcastOp::create(builder, loc, type, value);
    if (!order.isTotal) {
      Value isZero = arith::CmpFOp::create(
          builder, loc, arith::CmpFPredicate::OEQ, value,
          createConstant(builder, loc, value.getType(), 0));
      key = arith::SelectOp::create(builder, loc, isZero,
                                    constant(APInt::getZero(width)), key);
    }
    Value largest = constant(APInt::getSignedMaxValue(width));
    Value sign = arith::ShRSIOp::create(builder, loc, key,
                                        constant(APInt(width, width - 1)));
    key = flip(key, arith::AndIOp::create(builder, loc, sign, largest));
    if (!order.isTotal) {
      Value isNan = arith::CmpFOp::create(
          builder, loc, arith::CmpFPredicate::UNO, value, value);
      key = arith::SelectOp::create(builder, loc, isNan, largest, key);
    }
  } else if (order.isUnsigned) {
    key = flip(key, constant(APInt::getSignMask(width)));
  }
  return order.isDescending ? flip(key, constant(APInt::getAllOnes(width)))
                            : key;
}

namespace {
/// What is compared of the first of two elements.
struct RegionKey {
  Value compared;
  KeyOrder order;
};

class RegionMatcher {
public:
  explicit RegionMatcher(Region &region) : region(region) {}

  /// The keys of which `condition` says that the first element is before the
  /// second one; none if it says something else.
  SmallVector<RegionKey> match(Value condition);

private:
  bool isMirrored(Value first, Value second);
  Operation *getCompare(Value condition);
  std::optional<RegionKey> matchKey(Value condition);
  bool isEquality(Value condition, const RegionKey &key);

  Region &region;
  /// Pairs of values that may still be looked at: what values share is looked
  /// at for each of them.
  unsigned left = 1000;
};
} // namespace

/// Whether `second` is of the second element what `first` is of the first one.
bool RegionMatcher::isMirrored(Value first, Value second) {
  if (left == 0 || first.getType() != second.getType())
    return false;
  --left;
  auto argument = dyn_cast<BlockArgument>(first);
  if (argument && argument.getOwner() == &region.front()) {
    auto other = dyn_cast<BlockArgument>(second);
    return other && other.getOwner() == argument.getOwner() &&
           argument.getArgNumber() % 2 == 0 &&
           other.getArgNumber() == argument.getArgNumber() + 1;
  }
  Operation *a = first.getDefiningOp(), *b = second.getDefiningOp();
  if (!a || !b || a->getParentRegion() != &region ||
      b->getParentRegion() != &region)
    return first == second;
  return a->getName() == b->getName() && a->getNumRegions() == 0 &&
         b->getNumRegions() == 0 &&
         a->getAttrDictionary() == b->getAttrDictionary() &&
         a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute() &&
         a->getNumOperands() == b->getNumOperands() &&
         cast<OpResult>(first).getResultNumber() ==
             cast<OpResult>(second).getResultNumber() &&
         llvm::all_of(
             llvm::zip(a->getOperands(), b->getOperands()), [&](auto operands) {
               return isMirrored(std::get<0>(operands), std::get<1>(operands));
             });
}

Operation *RegionMatcher::getCompare(Value condition) {
  Operation *compare = condition.getDefiningOp();
  bool isCompare = compare && compare->getParentRegion() == &region &&
                   compare->getName().getStringRef() == "stablehlo.compare" &&
                   compare->getNumOperands() == 2;
  return isCompare ? compare : nullptr;
}

std::optional<RegionKey> RegionMatcher::matchKey(Value condition) {
  Operation *compare = getCompare(condition);
  if (!compare)
    return std::nullopt;
  StringRef direction = getEnum(compare, "comparison_direction");
  if (direction != "LT" && direction != "GT")
    return std::nullopt;
  Value lhs = compare->getOperand(0), rhs = compare->getOperand(1);
  bool isSwapped = !isMirrored(lhs, rhs);
  if (isSwapped && !isMirrored(rhs, lhs))
    return std::nullopt;
  if (!getElementTypeOrSelf(lhs).isIntOrFloat())
    return std::nullopt;
  RegionKey key;
  key.compared = isSwapped ? rhs : lhs;
  key.order.isUnsigned = isUnsigned(lhs);
  key.order.isDescending = (direction == "GT") != isSwapped;
  key.order.isTotal = getEnum(compare, "compare_type") == "TOTALORDER";
  return key;
}

/// Whether `condition` is that `key` is equal for both elements.
bool RegionMatcher::isEquality(Value condition, const RegionKey &key) {
  Operation *compare = getCompare(condition);
  if (!compare || getEnum(compare, "comparison_direction") != "EQ" ||
      (isa<FloatType>(getElementTypeOrSelf(key.compared)) &&
       (getEnum(compare, "compare_type") == "TOTALORDER") != key.order.isTotal))
    return false;
  return compare->getOperand(0) == key.compared &&
         isMirrored(compare->getOperand(0), compare->getOperand(1));
}

SmallVector<RegionKey> RegionMatcher::match(Value condition) {
  SmallVector<RegionKey> keys;
  while (true) {
    if (std::optional<RegionKey> key = matchKey(condition)) {
      keys.push_back(*key);
      return keys;
    }
    // Before by this key, or equal in it and before by the others.
    auto getLogical = [&](Value value, StringRef name) -> Operation * {
      Operation *op = value.getDefiningOp();
      return op && op->getParentRegion() == &region &&
                     op->getName().getStringRef() == name &&
                     op->getNumOperands() == 2
                 ? op
                 : nullptr;
    };
    Operation *either = getLogical(condition, "stablehlo.or");
    if (!either)
      return {};
    Operation *both = getLogical(either->getOperand(1), "stablehlo.and");
    std::optional<RegionKey> key = matchKey(either->getOperand(0));
    if (!both || !key || !isEquality(both->getOperand(0), *key))
      return {};
    keys.push_back(*key);
    condition = both->getOperand(1);
  }
}

FailureOr<SmallVector<Value>>
foreign::createRegionKeys(Operation *sort, Lowering &lowering,
                          ArrayRef<Value> inputs) {
  Region &region = sort->getRegion(0);
  SmallVector<Value> values;
  if (!region.hasOneBlock() || region.getNumArguments() != 2 * inputs.size() ||
      region.front().back().getNumOperands() != 1)
    return values;
  OpOperand &yielded = region.front().back().getOpOperand(0);
  Value condition = yielded.get();
  llvm::scope_exit restore([&] { yielded.set(condition); });
  auto shape = cast<RankedTensorType>(inputs.front().getType());
  for (RegionKey &key : RegionMatcher(region).match(condition)) {
    Type element = getElementTypeOrSelf(lowering.getType(key.compared));
    auto type = shape.clone(
        lowering.builder.getIntegerType(element.getIntOrFloatBitWidth()));
    // The region is written out with the key as what it hands on.
    yielded.set(key.compared);
    bool isBuilt = true;
    values.push_back(createElementwise(
        lowering.builder, sort->getLoc(), inputs, type,
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          SmallVector<Value> arguments;
          for (Value argument : args)
            arguments.append(2, argument);
          auto lowered = lowering.lowerScalars(nested, region, arguments,
                                               TypeRange(element));
          isBuilt &= succeeded(lowered);
          return succeeded(lowered)
                     ? createKey(nested, loc, lowered->front(), key.order)
                     : createInteger(nested, loc, type.getElementType(), 0);
        }));
    if (!isBuilt)
      return failure();
  }
  return values;
}
