//===- Donations.cpp - arguments that give their buffers away -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Donations.h"

#include "remat/Dialect/Remat/IR/Remat.h"

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
