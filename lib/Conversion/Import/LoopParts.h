//===- LoopParts.h - what an scf.for consists of ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An scf.for has one form for all that goes from one iteration to the next, and
// reads what is around it wherever it likes. A remat.loop tells apart what is
// carried, what is the same in all iterations, and what has an element for
// each.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_LOOPPARTS_H
#define REMAT_LIB_CONVERSION_IMPORT_LOOPPARTS_H

#include "LoopBounds.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace remat::import {

/// What is needed of a loop for the results that are used.
struct LoopParts {
  /// Results, by their numbers, each iteration of which is made from the one
  /// before.
  llvm::SetVector<unsigned> carried;
  /// Results of which each iteration overwrites the element of its number: the
  /// numbers, and what overwrites it (tensor.insert_slice or tensor.insert).
  llvm::MapVector<unsigned, mlir::Operation *> stacks;
  /// Tensors from outside of which each iteration reads the element of its
  /// number only, and what reads it (tensor.extract_slice or tensor.extract).
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Operation *>> slices;
  /// What else is used from outside.
  llvm::SetVector<mlir::Value> invariants;
  /// Whether the counter is used.
  bool usesCounter = false;
  /// Whether the first iteration is about the last elements.
  bool reverse = false;
  /// The operations of the body that are needed. What was for the places of
  /// slices alone is none.
  llvm::DenseSet<mlir::Operation *> operations;
};

/// Whether `value` is made of constants alone at no cost, so that who needs it
/// elsewhere makes it again.
bool isMadeOfConstants(mlir::Value value);

/// Takes `loop` apart, which has no effects, and of which no result is handed
/// on unchanged.
LoopParts findLoopParts(mlir::scf::ForOp loop, LoopBounds bounds);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_LOOPPARTS_H
