//===- LayerFolding.h - names that equal layers share -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where many names are listed, those of equal layers are one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_LAYERFOLDING_H
#define REMAT_PLANNING_LAYERFOLDING_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace remat::planning {

/// The name of a layer without its number: "h.*.attn" of "h.3.attn".
std::string foldLayer(llvm::StringRef layer);

/// The name of a value or a task without what is in parentheses at its end:
/// "h.3.fc matmul" of "h.3.fc matmul (task 7)".
llvm::StringRef dropNumber(llvm::StringRef name);

/// The same without the number of its layer, which is its first word, and of
/// the iteration of a loop: "h.*.fc matmul", "fc matmul, of iteration *". If
/// there is neither, the whole name.
std::string foldName(llvm::StringRef name);

/// A name for a column of a table: without its beginning if it is too long.
/// What is done and to what comes last.
std::string abbreviateName(llvm::StringRef name);

} // namespace remat::planning

#endif // REMAT_PLANNING_LAYERFOLDING_H
