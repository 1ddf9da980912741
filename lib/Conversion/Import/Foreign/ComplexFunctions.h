//===- ComplexFunctions.h - functions of complex numbers --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_COMPLEXFUNCTIONS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_COMPLEXFUNCTIONS_H

#include "Lowering.h"

namespace remat::foreign {

/// The functions that the dialect `complex` has not.
enum class ComplexFunction {
  Acos,
  Acosh,
  Asin,
  Asinh,
  Atan,
  Atanh,
  Cosh,
  Sinh
};

/// The function of a scalar, whose parts are f32 or f64, with the branches
/// that C has.
mlir::Value createComplexFunction(ComplexFunction function,
                                  mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value value);

/// The derivative of the function of a scalar, by operations that have
/// derivatives.
mlir::Value createComplexSlope(ComplexFunction function,
                               mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value value);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_COMPLEXFUNCTIONS_H
