//===- RematDialect.cpp - registration, attributes, types -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

#include "remat/Dialect/Remat/IR/RematDialect.cpp.inc"
#include "remat/Dialect/Remat/IR/RematEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematTypes.cpp.inc"

namespace {
/// Functions may be inlined into regions of the dialect, and what they have of
/// it anywhere.
struct RematInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void RematDialect::initialize() {
  addInterfaces<RematInlinerInterface>();
  addOperations<
#define GET_OP_LIST
#include "remat/Dialect/Remat/IR/RematOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Remat/IR/RematAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "remat/Dialect/Remat/IR/RematTypes.cpp.inc"
      >();
}

LogicalResult SlotAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               MemorySpace space, int64_t offset, int64_t bytes,
                               int64_t result) {
  if (offset < 0 || bytes < 0)
    return emitError() << "slot must not be negative, got offset " << offset
                       << " and " << bytes << " bytes";
  if (bytes > INT64_MAX - offset)
    return emitError() << "slot must end before 2^63 bytes, got offset "
                       << offset << " and " << bytes << " bytes";
  if (bytes % bufferAlignment != 0)
    return emitError() << "slot bytes must be a multiple of " << bufferAlignment
                       << ", got " << bytes;
  if ((space == MemorySpace::Reused) != (result >= 0))
    return emitError() << "slot in '" << stringifyMemorySpace(space)
                       << "' has result " << result;
  if (space != MemorySpace::Result && offset % bufferAlignment != 0)
    return emitError() << "slot offset must be a multiple of "
                       << bufferAlignment << ", got " << offset;
  return success();
}
