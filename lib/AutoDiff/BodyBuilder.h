//===- BodyBuilder.h - bodies of structured derivatives ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structured operations (linalg and remat.scatter) are an iteration space, a
// scalar body and maps that say which elements the body sees. Their
// derivatives are structured operations whose body repeats what is needed of
// the forward body; here such operations are built.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_BODYBUILDER_H
#define REMAT_LIB_AUTODIFF_BODYBUILDER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// A forward structured operation.
struct StructuredBody {
  /// What the body sees of a tensor (or scalar) at a point.
  struct Element {
    mlir::Value source;
    mlir::AffineMap map;
    /// The value inside the body: an argument, or `source` itself for a
    /// captured scalar.
    mlir::Value inside;
  };

  mlir::Operation *op;
  mlir::Block *body;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<Element> elements;
  /// The arguments that are the coordinates of the point (remat.scatter).
  llvm::SmallVector<mlir::Value> points;
  /// For values that the body yields: the result that holds all of them.
  llvm::DenseMap<mlir::Value, Element> stored;

  static StructuredBody get(mlir::linalg::LinalgOp op);
  static StructuredBody get(ScatterOp op);

  unsigned getNumLoops() const { return sizes.size(); }
  /// Whether values that `map` selects exist once for each point.
  bool coversAllLoops(mlir::AffineMap map) const;
};

/// The body of a structured operation that is being built. It stands in a
/// detached block until `finish*`, so that one can look at what it needs and
/// drop it.
class BodyBuilder : public virtual DerivativeContext {
public:
  /// What the new operation reads: a forward value (`isPrimal`) or a value of
  /// the backward computation.
  struct Input {
    mlir::Value source;
    mlir::AffineMap map;
    bool isPrimal;
    mlir::BlockArgument argument;
  };

  /// Builds the body of a remat.scatter if `forScatter`, else of a
  /// linalg.generic. `useStored`: values that the forward operation stored
  /// are read and not computed again.
  BodyBuilder(const StructuredBody &forward, bool forScatter, bool useStored,
              mlir::Location loc);

  bool isActive(mlir::Value value) const override {
    return active.contains(value);
  }
  mlir::Value primal(mlir::Value value) override;
  mlir::Value primalElement(mlir::Value tensor, mlir::AffineMap map) override {
    return element(tensor, map, /*isPrimal=*/true);
  }

  /// The element of a value of the backward computation (or of a forward
  /// value, `isPrimal`) at the point.
  mlir::Value element(mlir::Value source, mlir::AffineMap map,
                      bool isPrimal = false);
  /// Coordinate `dim` of the point.
  mlir::Value point(unsigned dim);
  /// The results of `map` at the point.
  llvm::SmallVector<mlir::Value> apply(mlir::AffineMap map,
                                       mlir::ValueRange symbols = {});
  /// Reads `tensor`, of the backward computation, at `indices`.
  mlir::Value extract(mlir::Value tensor, mlir::ValueRange indices);

  /// Makes active what depends on `leaves`.
  void activate(llvm::ArrayRef<mlir::Value> leaves);
  /// Bytes of the forward values that the body reads. Arguments of the
  /// function are there anyway and count nothing.
  int64_t getPrimalBytes() const;

  /// Makes the operation. Each of `values` is written at the points of its
  /// map, or summed there if the map does not cover all loops; dimensions
  /// where a map is constant are left out of the results.
  llvm::SmallVector<mlir::Value>
  finishGeneric(DerivativeContext &outer, mlir::ValueRange values,
                llvm::ArrayRef<mlir::AffineMap> maps);

  /// What a reduction of `finishReduction` does with a value at a point.
  using Combiner = llvm::function_ref<mlir::Value(
      mlir::OpBuilder &, mlir::Location, mlir::Value, mlir::Value)>;
  /// Makes the operation with results that start from `inits` and combine
  /// one of `values` at each point.
  llvm::SmallVector<mlir::Value>
  finishReduction(DerivativeContext &outer, mlir::ValueRange values,
                  llvm::ArrayRef<mlir::AffineMap> maps, mlir::ValueRange inits,
                  llvm::ArrayRef<Combiner> combiners);

  /// Makes a remat.scatter that adds `value` to the elements of `init`.
  mlir::Value finishScatter(DerivativeContext &outer, mlir::ValueRange indices,
                            mlir::Value value, mlir::Value init);

private:
  mlir::Value cloneOp(mlir::OpResult result);
  mlir::Value compareStored(mlir::Value value);
  /// The operands of the new operation. Captured forward values are replaced
  /// by what the backward computation has for them.
  llvm::SmallVector<mlir::Value> resolveInputs(DerivativeContext &outer);

protected:
  const StructuredBody &forward;
  llvm::DenseSet<mlir::Value> active;

private:
  bool useStored;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder blockBuilder;
  llvm::SmallVector<Input> inputs;
  llvm::DenseMap<mlir::Value, mlir::Value> mapped;
  llvm::DenseMap<unsigned, mlir::Value> pointValues;
  llvm::SetVector<mlir::Value> captured;
};

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_BODYBUILDER_H
