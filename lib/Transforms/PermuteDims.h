//===- PermuteDims.h - operations on permuted tensors -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations can read and write tensors whose dimensions are in another
// order, what orders of their operands and results belong together, and how
// they are written then.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_PERMUTEDIMS_H
#define REMAT_LIB_TRANSFORMS_PERMUTEDIMS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace remat {

/// For each dimension of a tensor's new form, the dimension it was.
using DimOrder = llvm::SmallVector<int64_t>;
using DimOrders = llvm::DenseMap<mlir::Value, DimOrder>;

/// `type` with its dimensions in `order`.
mlir::RankedTensorType permuteType(mlir::RankedTensorType type,
                                   llvm::ArrayRef<int64_t> order);

/// The elements of a constant that are all equal; null for anything else.
mlir::DenseElementsAttr getSplat(mlir::Value value);

/// Whether `value` is as cheap to make in any other order: an empty tensor, or
/// one with equal elements.
bool isOrderFree(mlir::Value value);

/// Whether `op` can read and write tensors in any order.
bool canFollowOrder(mlir::Operation *op);

/// Calls `tie` for operands and results of `op` that had better have the same
/// order. Reshapes tie nothing.
void forEachTie(mlir::Operation *op,
                llvm::function_ref<void(mlir::Value, mlir::Value)> tie);

/// Whether two orders of a tensor of `type` differ in dimensions of size 1
/// only.
bool isSameOrder(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> a,
                 llvm::ArrayRef<int64_t> b);

/// The order of the other side of a reshape, given the one of `known`, an
/// operand or result of it; nothing if elements would have to move.
std::optional<DimOrder> orderThroughView(mlir::Operation *view,
                                         mlir::Value known,
                                         llvm::ArrayRef<int64_t> order);

/// The groups of a reshape between the new forms of its operand and result;
/// nothing if not both are in `orders`, or no reshape is between those.
std::optional<llvm::SmallVector<mlir::ReassociationIndices>>
getNewGroups(mlir::Operation *view, const DimOrders &orders);

/// Whether `op` reads and writes values of `orders` in their new form.
bool followsOrders(mlir::Operation *op, const DimOrders &orders);

/// The order in which a convolution's input or output is channels-last.
DimOrder getChannelsLast(llvm::ArrayRef<int64_t> layout);

/// Gives the values of `orders`, which are of the one block of `function`,
/// their new form; where something else needs one in its old form, or makes it
/// so, there is a transposition.
void applyOrders(mlir::func::FuncOp function, const DimOrders &orders);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_PERMUTEDIMS_H
