//===- TestPasses.h - passes that only tests use ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_LIB_TESTPASSES_H
#define REMAT_TEST_LIB_TESTPASSES_H

namespace remat::test {

/// Registers `test-remat-expand`.
void registerTestExpandPass();

/// Registers `test-remat-needed-primals`.
void registerTestNeededPrimalsPass();

} // namespace remat::test

#endif // REMAT_TEST_LIB_TESTPASSES_H
