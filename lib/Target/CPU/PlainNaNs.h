//===- PlainNaNs.h - which floats are NaN in few ways ---------*- C++ -* --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_PLAINNANS_H
#define REMAT_LIB_TARGET_CPU_PLAINNANS_H

namespace llvm {
class Value;
} // namespace llvm

namespace remat::cpu {

/// Whether a float, or each element of a vector of floats, has 16 zeros at its
/// end wherever it is a NaN. So it is where all that it is made of is bfloat,
/// integers and constants: arithmetic gives the payload of an operand, or that
/// of the NaN that processors make, 0x7fc00000 or 0xffc00000.
///
/// Such a NaN stays one, with its sign and payload, when it is rounded to
/// bfloat like a number: less than 2^16 is added to it, which carries into
/// nothing.
bool hasPlainNaNs(llvm::Value *value);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_PLAINNANS_H
