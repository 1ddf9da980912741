//===- KernelForm.h - how a kernel is carried out ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product may be a call of the library or generated code. An attribute of the
// kernel says which; all tasks that call the kernel, clones included, then give
// the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_KERNELFORM_H
#define REMAT_DIALECT_REMAT_IR_KERNELFORM_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On a kernel: `libraryForm` or `generatedForm`. Without it, code generation
/// chooses by the product's shape.
constexpr llvm::StringLiteral formAttrName = "remat.form";
constexpr llvm::StringLiteral libraryForm = "library";
constexpr llvm::StringLiteral generatedForm = "generated";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_KERNELFORM_H
