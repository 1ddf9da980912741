//===- FuzzDamage.h - damages step tables -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the fuzzers of step tables do to them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_FUZZDAMAGE_H
#define REMAT_TEST_UNIT_RUNTIME_FUZZDAMAGE_H

#include "remat/Runtime/StepTable.h"

#include <cstddef>
#include <cstring>
#include <random>
#include <string>

namespace remat {

/// Fits the checksum to a damaged table, as long as it has a header.
inline void seal(std::string &blob) {
  if (blob.size() < sizeof(remat_step_header))
    return;
  uint64_t sum = remat_table_checksum(blob.data(), blob.size());
  std::memcpy(blob.data() + offsetof(remat_step_header, checksum), &sum,
              sizeof(sum));
}

inline std::string damage(std::string blob, std::mt19937_64 &random) {
  static const uint64_t words[] = {0,          1,          2,
                                   0x7fffffff, 0x80000000, 0xffffffff,
                                   INT64_MAX,  1ull << 63, UINT64_MAX};
  for (unsigned changes = 1 + random() % 3; changes-- > 0 && !blob.empty();) {
    size_t at = random() % blob.size();
    // Tables are mostly numbers of 32 bits.
    size_t word = at / 4 * 4, bytes = random() % 3 ? 4 : 8;
    uint64_t value = random() % 2 ? words[random() % 9] : random() % 300;
    switch (random() % 8) {
    case 0:
      blob[at] = char(blob[at] ^ (1 << random() % 8));
      break;
    case 1:
      blob.resize(at);
      break;
    case 2:
      blob.append(random() % 100, char(random()));
      break;
    default:
      if (word + bytes <= blob.size())
        std::memcpy(blob.data() + word, &value, bytes);
    }
  }
  return blob;
}

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_FUZZDAMAGE_H
