//===- Donations.cpp - arguments that give their buffers away -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Donations.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Views.h"

using namespace mlir;
using namespace remat;

std::optional<int64_t> remat::getDonatedResult(FunctionOpInterface function,
                                               unsigned argument) {
  auto number = function.getArgAttrOfType<IntegerAttr>(
      argument, RematDialect::donatedAttrName);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

SmallVector<BlockArgument> remat::getDonors(FunctionOpInterface function) {
  SmallVector<BlockArgument> donors(function.getNumResults());
  for (BlockArgument argument : function.getArguments()) {
    std::optional<int64_t> result =
        getDonatedResult(function, argument.getArgNumber());
    if (result && *result >= 0 && *result < int64_t(donors.size()) &&
        !donors[*result])
      donors[*result] = argument;
  }
  return donors;
}

Operation *remat::findTaker(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return nullptr;
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  std::optional<int64_t> result =
      function ? getDonatedResult(function, argument.getArgNumber())
               : std::nullopt;
  if (!result || *result < 0)
    return nullptr;
  Operation *terminator = argument.getOwner()->getTerminator();
  return *result < int64_t(terminator->getNumOperands())
             ? getProducer(terminator->getOperand(*result))
             : nullptr;
}

LogicalResult remat::verifyDonations(FunctionOpInterface function) {
  SmallVector<std::optional<unsigned>> donors(function.getNumResults());
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    std::optional<int64_t> result = getDonatedResult(function, number);
    if (!result)
      continue;
    auto emit = [&] {
      return function->emitOpError("argument ")
             << number << " gives its buffer to result " << *result;
    };
    if (*result < 0 || *result >= int64_t(donors.size()))
      return emit() << ", but there are " << donors.size() << " results";
    Type type = function.getArgumentTypes()[number];
    Type resultType = function.getResultTypes()[*result];
    if (type != resultType)
      return emit() << ", which has another type: " << type << " and "
                    << resultType;
    if (donors[*result])
      return emit() << ", which has that of argument " << *donors[*result];
    donors[*result] = number;
  }
  return success();
}
