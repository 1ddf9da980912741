//===- Idioms.h - functions that exporters write out ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exporter writes out functions that a framework differentiates as a whole.
// At singular points the derivatives of the parts do not add up to the
// framework's: log(x) at 0 in x log(x), |x| |x| at 0, the second derivative of
// an elu at 0. Such a function, an idiom, is recognised by its last operation
// and differentiated as a whole. Both sweeps, of functions and of bodies, ask
// for idioms before they ask for the rule of an operation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_IDIOMS_H
#define REMAT_LIB_AUTODIFF_IDIOMS_H

#include "llvm/ADT/MapVector.h"

#include "remat/AutoDiff/Expr.h"

namespace remat {

/// What an idiom passes to one of the values it is made of: the partial
/// derivative times `g`, a cotangent of the result or a tangent of the value.
struct IdiomTerm {
  mlir::Value leaf;
  std::function<Expr(const Expr &g)> derivative;
  /// The same for tangents, where the framework's forward mode has another
  /// value at singular points than its reverse mode.
  std::function<Expr(const Expr &g)> tangent = nullptr;
};
using IdiomTerms = llvm::SmallVector<IdiomTerm>;

/// A function that is differentiated as a whole.
struct Idiom {
  llvm::StringLiteral name;
  /// Functions of PyTorch, and how torch-mlir writes them.
  llvm::StringLiteral source;
  /// The terms of the function that ends in `op`; empty if it is another one.
  IdiomTerms (*match)(mlir::Operation *op);
};

/// All idioms, in the order in which they are asked.
llvm::ArrayRef<Idiom> getIdioms();

/// Which operations were differentiated as the end of which idiom. A body is
/// swept several times, which counts once.
class IdiomLog {
public:
  void add(mlir::Operation *op, const Idiom &idiom) { found[op] = &idiom; }
  unsigned size() const { return found.size(); }
  /// Says in an optimization remark at each operation what it was taken for.
  void emitRemarks(llvm::StringRef function) const;

private:
  llvm::MapVector<mlir::Operation *, const Idiom *> found;
};

/// Emits the derivative of `op`, which has a result with a cotangent or an
/// active one: that of the idiom which ends in `op`, unless the context looks
/// for none, and else by the rule of the operation.
llvm::LogicalResult emitDerivative(mlir::Operation *op,
                                   ReverseContext &context);
llvm::LogicalResult emitDerivative(mlir::Operation *op,
                                   ForwardContext &context);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_IDIOMS_H
