//===- RematDialect.cpp - registration, attributes, types -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include "remat/Dialect/Remat/IR/Extrema.h"
#include "remat/Dialect/Remat/IR/KernelForm.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"

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

/// Checks the discardable attributes that the dialect's page lists.
LogicalResult RematDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == policyAttrName) {
    if (!isa<PolicyAttr>(attr.getValue()))
      return op->emitOpError() << "attribute 'remat.policy' must be a "
                                  "'#remat.policy', got "
                               << attr.getValue();
    return success();
  }
  if (name == nameAttrName) {
    if (!isa<StringAttr>(attr.getValue()))
      return op->emitOpError()
             << "attribute 'remat.name' must be a string, got "
             << attr.getValue();
    return success();
  }
  if (name == targetAttrName) {
    if (!isa<TargetAttr>(attr.getValue()))
      return op->emitOpError() << "attribute 'remat.target' must be a "
                                  "'#remat.target', got "
                               << attr.getValue();
    return success();
  }
  if (name == blockAttrName) {
    auto rows = dyn_cast<IntegerAttr>(attr.getValue());
    if (!rows || rows.getInt() < 1)
      return op->emitOpError() << "attribute 'remat.block' must be a positive "
                                  "number of rows, got "
                               << attr.getValue();
    return success();
  }
  if (name == readBytesAttrName) {
    auto bytes = dyn_cast<IntegerAttr>(attr.getValue());
    if (!bytes || !bytes.getType().isInteger(64) || bytes.getInt() < 0)
      return op->emitOpError() << "attribute 'remat.read_bytes' must be a "
                                  "number of bytes of type i64, got "
                               << attr.getValue();
    return success();
  }
  if (name == formAttrName) {
    auto form = dyn_cast<StringAttr>(attr.getValue());
    if (!form ||
        (form.getValue() != libraryForm && form.getValue() != generatedForm))
      return op->emitOpError() << "attribute 'remat.form' must be \"library\" "
                                  "or \"generated\", got "
                               << attr.getValue();
    if (!op->hasAttr(kernelAttrName))
      return op->emitOpError() << "attribute 'remat.form' belongs on a kernel";
    return success();
  }
  if (name == rowsAttrName) {
    if (!isa<DenseI64ArrayAttr>(attr.getValue()))
      return op->emitOpError()
             << "attribute 'remat.rows' must be an array of loops, got "
             << attr.getValue();
    return success();
  }
  if (name == backwardAttrName || name == kernelAttrName ||
      name == allowMutationAttrName || name == firstExtremumAttrName ||
      name == allowSavedMutationAttrName) {
    if (!isa<UnitAttr>(attr.getValue()))
      return op->emitOpError()
             << "attribute '" << name << "' must be a unit attribute, got "
             << attr.getValue();
    if (name != backwardAttrName && name != firstExtremumAttrName &&
        !isa<FunctionOpInterface>(op))
      return op->emitOpError()
             << "attribute '" << name << "' belongs on a function";
    return success();
  }
  if (name == vjpAttrName || name == jvpAttrName || name == fwdAttrName) {
    if (!isa<FlatSymbolRefAttr>(attr.getValue()))
      return op->emitOpError()
             << "attribute '" << name << "' must be the symbol of a function, "
             << "got " << attr.getValue();
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError()
             << "attribute '" << name << "' belongs on a function";
    return success();
  }
  return op->emitOpError()
         << "unknown attribute '" << name
         << "', expected one of 'remat.policy', 'remat.name', "
            "'remat.backward', 'remat.kernel', 'remat.vjp', 'remat.jvp', "
            "'remat.fwd', 'remat.first_extremum', "
            "'remat.allow_cache_entry_mutation', "
            "'remat.allow_mutation_on_saved_tensors'";
}

/// Checks the attributes of function arguments: 'remat.phase' is a number of a
/// call.
LogicalResult RematDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned argument,
                                                     NamedAttribute attr) {
  if (attr.getName() != phaseAttrName)
    return success();
  auto phase = dyn_cast<IntegerAttr>(attr.getValue());
  if (!phase || phase.getInt() < 0)
    return op->emitOpError("argument ")
           << argument << " has attribute 'remat.phase' " << attr.getValue()
           << ", expected the number of a call";
  return success();
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
  if ((space == MemorySpace::Lent) != (result >= 0))
    return emitError() << "slot in '" << stringifyMemorySpace(space)
                       << "' has result " << result;
  if (space != MemorySpace::Result && offset % bufferAlignment != 0)
    return emitError() << "slot offset must be a multiple of "
                       << bufferAlignment << ", got " << offset;
  return success();
}
