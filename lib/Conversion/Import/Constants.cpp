//===- Constants.cpp - constants in resources -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters keep constant tensors as blobs beside the module. Folding and code
// generation want to see elements.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectResourceBlobManager.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCONSTANTSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The elements that `resource` refers to, or a diagnostic.
static FailureOr<DenseElementsAttr>
readResource(arith::ConstantOp op, DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  StringRef key = resource.getRawHandle().getKey();
  if (!blob)
    return op.emitOpError("refers to resource '") << key << "' without data";
  ShapedType type = resource.getType();
  if (!type.hasStaticShape() ||
      !isa<FloatType, IntegerType, IndexType, ComplexType>(
          type.getElementType()))
    return op.emitOpError("has type ")
           << type << ", expected a static shape and numbers";
  ArrayRef<char> data = blob->getData();
  int64_t expected =
      type.getNumElements() * getElementBytes(type.getElementType());
  if (static_cast<int64_t>(data.size()) != expected)
    return op.emitOpError("refers to resource '")
           << key << "' of " << data.size() << " bytes, expected " << expected;
  // A bool is a byte in the blob.
  if (type.getElementType().isInteger(1))
    return DenseElementsAttr::get(
        type, llvm::map_to_vector(data, [](char c) { return c != 0; }));
  return DenseElementsAttr::getFromRawBuffer(type, data);
}

namespace {
struct ImportConstants
    : public remat::impl::ImportConstantsPassBase<ImportConstants> {
  void runOnOperation() override {
    getOperation().walk([&](arith::ConstantOp op) {
      auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
      if (!resource)
        return;
      FailureOr<DenseElementsAttr> elements = readResource(op, resource);
      if (failed(elements))
        return signalPassFailure();
      op.setValueAttr(*elements);
    });
  }
};
} // namespace
