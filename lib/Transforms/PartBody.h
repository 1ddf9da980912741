//===- PartBody.h - what a loop does with a part of a batch -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_PARTBODY_H
#define REMAT_LIB_TRANSFORMS_PARTBODY_H

#include "BatchRows.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/IRMapping.h"

namespace remat {

/// The function that a loop runs for the rows of each part.
class PartBody {
public:
  PartBody(mlir::func::FuncOp function, const BatchRows &rows, int64_t parts);

  /// An argument for what is carried.
  mlir::Value addCarried(mlir::Value init) {
    return addArgument(init, carried, init.getType());
  }
  /// Computes what `op` does for a part.
  void add(mlir::Operation *op, const RowDims &dims) {
    mlir::Operation *clone = clonePart(op, dims);
    mapping.map(op->getResults(), clone->getResults());
  }
  mlir::Value lookup(mlir::Value value) const { return mapping.lookup(value); }
  mlir::OpBuilder &getBuilder() { return builder; }
  /// Ends the function. `split` gives the slices of an argument.
  LoopOp finish(mlir::OpBuilder &outside, mlir::ValueRange next,
                mlir::ValueRange stacked,
                llvm::function_ref<mlir::Value(mlir::Value)> split);

private:
  using ArgumentList =
      llvm::SmallVector<std::pair<mlir::Value, mlir::BlockArgument>>;

  mlir::Value addArgument(mlir::Value value, ArgumentList &list,
                          mlir::Type type) {
    list.emplace_back(value, body.front().addArgument(type, value.getLoc()));
    return list.back().second;
  }
  mlir::Value getWhole(mlir::Value value);
  mlir::Value getRows(mlir::Value value, RowPlace place);
  mlir::Value makeRows(mlir::Value value, RowPlace place);
  mlir::Value getNumber();
  mlir::Operation *clonePart(mlir::Operation *op, const RowDims &dims);
  mlir::Value createNeutral(mlir::OpResult total);
  void shiftIndices(mlir::Operation *op, mlir::linalg::LinalgOp clone,
                    const RowDims &dims);

  mlir::func::FuncOp function;
  const BatchRows &rows;
  int64_t parts;
  mlir::func::FuncOp body;
  mlir::OpBuilder builder;
  mlir::Location loc;
  /// Of the function, and the arguments of the body for it.
  ArgumentList carried, invariants, sliced;
  mlir::IRMapping mapping;
  /// Rows of a part of what is the same for all parts.
  llvm::DenseMap<std::tuple<mlir::Value, unsigned, int64_t>, mlir::Value> made;
  /// Which part it is, if something asks for that.
  mlir::Value number;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_PARTBODY_H
