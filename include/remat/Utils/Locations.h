//===- Locations.h - what locations say of a program ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where an operation is in the source, and the names around that: those that
// the program gave, with scopes, and those of what remat adds to a program.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_LOCATIONS_H
#define REMAT_UTILS_LOCATIONS_H

#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace remat {

/// The names of what is added to a program: in a location of the derivative's,
/// that of the forward operation is inside.
inline constexpr llvm::StringLiteral backwardLocName = "backward";
inline constexpr llvm::StringLiteral tangentLocName = "tangent";
inline constexpr llvm::StringLiteral optimizerLocName = "optimizer";

/// What the name of a location begins with that asks something of remat, see
/// remat-import-tags.
inline constexpr llvm::StringLiteral tagLocPrefix = "remat:";

inline bool isDerivativeName(llvm::StringRef name) {
  return name == backwardLocName || name == tangentLocName;
}

/// Whether what is at `loc` was added to update weights.
bool isOptimizerLocation(mlir::Location loc);

/// The location of the forward operation, for one of a derivative.
std::optional<mlir::Location> findForwardLocation(mlir::Location loc);

/// The name that the program gave an operation by its location, or "".
llvm::StringRef findLabel(mlir::Location loc);

/// The scopes of the names in a location, the outermost name first: "net/norm"
/// of "net/norm/sqrt" and of "net/norm/", which names no operation.
llvm::SmallVector<llvm::StringRef, 1> findScopes(mlir::Location loc);

/// The place in the source that `loc` stands for, "file:line:column" or "".
std::string describeLocation(mlir::Location loc);

} // namespace remat

#endif // REMAT_UTILS_LOCATIONS_H
