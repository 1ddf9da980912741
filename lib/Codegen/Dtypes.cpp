//===- Dtypes.cpp - element types of the runtime --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/Dtypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace remat;

std::optional<remat_dtype> remat::codegen::getDtype(Type elementType) {
  if (elementType.isF32())
    return REMAT_F32;
  if (elementType.isF64())
    return REMAT_F64;
  if (elementType.isF16())
    return REMAT_F16;
  if (elementType.isBF16())
    return REMAT_BF16;
  if (elementType.isInteger(1))
    return REMAT_I1;
  if (elementType.isInteger(8))
    return REMAT_I8;
  if (elementType.isInteger(16))
    return REMAT_I16;
  if (elementType.isInteger(32))
    return REMAT_I32;
  if (elementType.isInteger(64) || elementType.isIndex())
    return REMAT_I64;
  if (auto complex = dyn_cast<ComplexType>(elementType)) {
    if (complex.getElementType().isF32())
      return REMAT_C64;
    if (complex.getElementType().isF64())
      return REMAT_C128;
  }
  return std::nullopt;
}
