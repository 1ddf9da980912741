//===- FuzzLoops.h - damaged loops ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step with loops in loops, of which each table, the inner ones too, may be
// damaged with a checksum that fits. It is refused with a message or, if its
// loops are short, runs: addresses of iterations are all the run time's own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_FUZZLOOPS_H
#define REMAT_TEST_UNIT_RUNTIME_FUZZLOOPS_H

#include <cstdint>
#include <string>

namespace remat {

struct LoopCounts {
  uint64_t tables = 0, refused = 0, run = 0, runOnDevice = 0;
};

/// The step of this seed; "" or what is wrong. A crash ends the process.
std::string tryLoops(uint64_t seed, LoopCounts &counts);

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_FUZZLOOPS_H
