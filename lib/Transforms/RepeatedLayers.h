//===- RepeatedLayers.h - a chain of equal layers in a block ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of 48 equal layers is a sequence of operations that repeats itself.
// Layers are equal if their operations are, and if each operation reads what
// its counterparts read: something of its own layer or of the one before, the
// same value, or one value for each layer, such as its weights.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_REPEATEDLAYERS_H
#define REMAT_LIB_TRANSFORMS_REPEATEDLAYERS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace remat {

/// A result of a layer: the place of its operation, and its number.
using LayerResult = std::pair<unsigned, unsigned>;

/// Where an operation of all layers gets a value that it reads.
struct LayerRead {
  enum Kind {
    /// From its own layer: `result`.
    Own,
    /// From the layer before: carried value `number`.
    Carried,
    /// All layers read the value that the first one does: number `number` of
    /// these, or something that is made anew where it is read.
    Invariant,
    Remade,
    /// A value for each layer: list `number`.
    Listed
  };
  Kind kind;
  LayerResult result = {};
  unsigned number = 0;
};

/// What a layer hands to the next one: a result of its own, and what the first
/// layer reads in its place.
struct CarriedValue {
  LayerResult result;
  mlir::Value init;
};

/// Layers of as many operations each, in their order.
struct LayerChain {
  /// The operations of all layers, one layer behind the other.
  llvm::SmallVector<mlir::Operation *> ops;
  unsigned count = 0;

  /// For each operation of a layer, where it gets what it reads, in the order
  /// of `collectReads`.
  llvm::SmallVector<llvm::SmallVector<LayerRead>> reads;
  llvm::SmallVector<CarriedValue> carried;
  llvm::SmallVector<mlir::Value> invariants;
  /// The values of each list, one for each layer.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> lists;
  /// Results that are read behind the chain, of every layer.
  llvm::SmallVector<LayerResult> listedResults;

  unsigned getLength() const { return ops.size() / count; }
  mlir::Operation *getOp(unsigned layer, unsigned place) const {
    return ops[layer * getLength() + place];
  }
};

/// The operands of `op` and of what is in it that come from outside of it.
llvm::SmallVector<mlir::OpOperand *> collectReads(mlir::Operation *op);

/// Whether `op` is cheap enough for each layer to have its own: a constant, an
/// empty tensor, a fill, a number that is made of such.
bool isRemade(mlir::Operation *op);

/// The chain in `block` that most operations are in, of at least `fewest`
/// layers. Of where its layers may begin, where they carry the least. None if
/// `block` has none.
std::optional<LayerChain> findRepeatedLayers(mlir::Block &block,
                                             unsigned fewest);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_REPEATEDLAYERS_H
