//===- ElementProducts.h - what the elements of tensors are -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of a tensor as products of elements of others, whatever views,
// transpositions, broadcasts and elementwise operations are between them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_ELEMENTPRODUCTS_H
#define REMAT_LIB_TRANSFORMS_ELEMENTPRODUCTS_H

#include "IndexParts.h"

namespace remat {

/// A product of numbers. Factors and conditions do not depend on each other's
/// order.
struct ElementProduct {
  /// Floats; what has no sign or fraction is converted to one.
  struct Factor {
    Access element;
    bool isDivisor;
  };
  /// A factor 0 where the condition has this value, and else 1.
  struct Gate {
    Access condition;
    bool closesIf;
  };
  struct Constant {
    double value;
    bool isDivisor;
    bool operator==(const Constant &other) const {
      return value == other.value && isDivisor == other.isDivisor;
    }
  };
  bool isNegative = false;
  llvm::SmallVector<Constant> constants;
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<Gate> gates;
};

/// Finds out what elements are products of.
class ElementProductFinder {
public:
  /// Products are those of numbers of `type`. Where `ignoresRounding`, a number
  /// is taken for what it was before it was rounded, and products of narrower
  /// types for those of `type`.
  ElementProductFinder(IndexParts &parts, mlir::Type type, bool ignoresRounding)
      : parts(parts), type(type), ignoresRounding(ignoresRounding) {}

  /// The product that `scalar` is, in the body of `op`; nothing if it is none.
  std::optional<ElementProduct> findProduct(mlir::Value scalar,
                                            mlir::linalg::GenericOp op,
                                            llvm::ArrayRef<PartedIndex> loops);

  /// The product that an element of a tensor is, itself if nothing is known.
  ElementProduct findProduct(const Access &element);

  /// Follows an element to where it comes from: through views, copies and
  /// conversions to wider types, and, where they are ignored, to narrower ones.
  Access findOrigin(Access element);

private:
  bool add(ElementProduct &product, mlir::Value scalar,
           mlir::linalg::GenericOp op, llvm::ArrayRef<PartedIndex> loops,
           bool isDivisor);
  void add(ElementProduct &product, Access element, bool isDivisor);
  bool addGate(ElementProduct &product, mlir::arith::SelectOp select,
               mlir::linalg::GenericOp op, llvm::ArrayRef<PartedIndex> loops);

  IndexParts &parts;
  mlir::Type type;
  bool ignoresRounding;
};

/// An operation that makes each element of a result from one of an input: a
/// copy, or a conversion.
struct ElementCopy {
  mlir::OpOperand *input;
  bool widens, rounds;
};
/// What `op` is if it is such an operation with one result.
std::optional<ElementCopy> matchElementCopy(mlir::Operation *op);

/// Whether `op` has loops of known sizes, no result that it reads, and no
/// reduction, so that each point of the loops makes an element of each result.
bool isElementwise(mlir::linalg::GenericOp op);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ELEMENTPRODUCTS_H
