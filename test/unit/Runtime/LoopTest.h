//===- LoopTest.h - helpers of the tests of loops ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body with everything that a loop can give it, and steps of one loop of it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_LOOPTEST_H
#define REMAT_TEST_UNIT_RUNTIME_LOOPTEST_H

#include "RuntimeTest.h"

namespace remat {

/// The body (h, w, x) -> (h * w + x, h - x) of three elements each, of which h
/// is carried, w is invariant, x is an element of a slice and the second result
/// one of a stack. Kernel 0 multiplies, 1 adds, 2 subtracts. The product is in
/// an arena of 64 bytes.
inline StepTableBuilder cellBuilder(bool isInPlace) {
  StepTableBuilder body;
  for (const char *name : {"h", "w", "x"})
    body.addArgument(name, REMAT_F32, {3});
  for (const char *name : {"h", "s"})
    body.addResult(name, REMAT_F32, {3});
  uint32_t h = body.addArgumentBuffer(0), w = body.addArgumentBuffer(1);
  uint32_t x = body.addArgumentBuffer(2), s = body.addResultBuffer(1);
  uint32_t product = body.addArenaBuffer(0, 12);
  if (isInPlace)
    body.addDonation(0, 0);
  body.addEntry(makeEntry(2, {h, x}, {s}, 3));
  body.addEntry(makeEntry(0, {h, w}, {product}, 3));
  body.addEntry(
      makeEntry(1, {product, x},
                {isInPlace ? body.addView(h) : body.addResultBuffer(0)}, 3));
  return body;
}

inline std::string makeCell(bool isInPlace) {
  return cellBuilder(isInPlace).finalize();
}

/// A loop without an advance.
inline remat_loop makeRecord(uint32_t body, uint32_t carried,
                             uint32_t invariants, uint32_t slices,
                             uint32_t stacks, uint32_t flags, int64_t count) {
  return {body,  carried,    invariants, slices, stacks, flags,
          count, REMAT_NONE, 0,          0,      0,      0};
}

/// A loop of this body, which is added.
inline remat_loop cellLoop(StepTableBuilder &builder, int64_t count,
                           bool isReverse, bool isInPlace) {
  return makeRecord(builder.addBody(makeCell(isInPlace)), 1, 1, 1, 1,
                    isReverse ? unsigned(REMAT_LOOP_REVERSE) : 0u, count);
}

inline StepEntry makeLoop(uint32_t loop, std::vector<uint32_t> operands,
                          std::vector<uint32_t> results,
                          uint32_t workspace = REMAT_NONE) {
  StepEntry entry =
      makeEntry(loop, std::move(operands), std::move(results), 1, workspace);
  entry.kind = REMAT_ENTRY_LOOP;
  return entry;
}

/// A step that is one such loop. With `donates`, h is where its end is.
struct CellLoop {
  CellLoop(int64_t count, bool isReverse, bool isInPlace,
           bool donates = false) {
    builder.addArgument("h", REMAT_F32, {3});
    builder.addArgument("w", REMAT_F32, {3});
    builder.addArgument("x", REMAT_F32, {count, 3});
    builder.addResult("h", REMAT_F32, {3});
    builder.addResult("s", REMAT_F32, {count, 3});
    if (donates)
      builder.addDonation(0, 0);
    loop = cellLoop(builder, count, isReverse, isInPlace);
    uint32_t h = builder.addArgumentBuffer(0);
    entry = makeLoop(
        builder.addLoop(loop),
        {h, builder.addArgumentBuffer(1), builder.addArgumentBuffer(2)},
        {donates ? builder.addView(h) : builder.addResultBuffer(0),
         builder.addResultBuffer(1)},
        builder.addArenaBuffer(0,
                               loopWorkspaceBytes(loop, makeCell(isInPlace))));
    builder.addEntry(entry);
  }
  StepTableBuilder builder;
  remat_loop loop;
  StepEntry entry;
};

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_LOOPTEST_H
