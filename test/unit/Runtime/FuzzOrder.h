//===- FuzzOrder.h - streams and waits of random steps ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_FUZZORDER_H
#define REMAT_TEST_UNIT_RUNTIME_FUZZORDER_H

#include <cstdint>
#include <string>

namespace remat {

struct OrderCounts {
  uint64_t tables = 0, mutated = 0, refused = 0, accepted = 0;
};

/// Makes a random step, lets the compiler's rules order it, and compares with
/// what follows from the definitions, pair of entries by pair. Then changes
/// streams and waits, and compares what is refused. What differs, or "".
std::string tryOrder(uint64_t seed, OrderCounts &counts);

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_FUZZORDER_H
