//===- IndexArithmetic.h - addresses of elements ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short names for arithmetic on indices that do not overflow, for classes that
// emit much of it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_INDEXARITHMETIC_H
#define REMAT_CODEGEN_INDEXARITHMETIC_H

#include "remat/Codegen/KernelContext.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace remat::codegen {

/// Emits at the insertion point of `builder`.
class IndexArithmetic {
protected:
  IndexArithmetic(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value index(int64_t value) { return emitIndex(builder, loc, value); }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return mlir::arith::AddIOp::create(builder, loc, a, b, nsw);
  }
  mlir::Value mul(mlir::Value a, int64_t b) {
    return b == 1 ? a
                  : mlir::arith::MulIOp::create(builder, loc, a, index(b), nsw);
  }
  mlir::Value isBelow(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc,
                                       mlir::arith::CmpIPredicate::slt, a, b);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace remat::codegen

#endif // REMAT_CODEGEN_INDEXARITHMETIC_H
