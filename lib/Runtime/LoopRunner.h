//===- LoopRunner.h - one run of a loop -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files that run a loop share: LoopRun.cpp its iterations,
// LoopStates.cpp those that reverse it, LoopTimes.cpp what they took.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_LOOPRUNNER_H
#define REMAT_RUNTIME_LOOPRUNNER_H

#include "Descriptors.h"
#include "Step.h"

namespace remat {
/// One run of an entry that is a loop. Positions of iterations count down to
/// 0; an advance runs from position 0 on. Where the body says when the loop
/// ends they are not known.
class LoopRunner {
public:
  LoopRunner(remat_step &step, uint32_t index);
  remat_status run();

private:
  remat_status runAll();
  remat_status placeFixed();
  void placeCarried(bool isFirst, bool writesResults);
  remat_status findTrips();
  remat_status runPosition(int64_t position);
  remat_status runIteration(int64_t iteration);
  remat_status runWhile();
  remat_status updateSlices();
  remat_status finish(bool isInResults);
  remat_status fail(const std::string &what);
  remat_status runReversal();
  remat_status reverseSegment(int64_t from, int64_t to, char *base);
  remat_status advance(int64_t from, int64_t to, char *target);
  remat_status placeStates(char *target, int64_t left, bool isFirst);
  void haveStates(char *states);
  remat_status runBody(remat_step &ran, int64_t iteration, const char *what);
  int64_t *ownTimes(bool ofAdvance);
  void addUntimed(remat_step &ran);
  void countRun(remat_step &ran);
  remat_status checkDevice(void *to = nullptr, const void *from = nullptr,
                           uint64_t bytes = 0);
  template <typename Number>
  remat_status read(const void *from, Number &number);
  void *const *placeParts(void *const *buffers, uint64_t firstPart,
                          uint64_t count, int64_t iteration,
                          const std::vector<uint64_t> &bytes,
                          std::vector<remat_tensor> &bound,
                          uint64_t firstBound);

  uint64_t stateCount() const {
    return advancing ? advancing->resultBytes.size() : 0;
  }
  int64_t iterationAt(int64_t position) const {
    return loop.flags & REMAT_LOOP_REVERSE ? position : trips - 1 - position;
  }

  remat_step &step;
  const uint32_t index;
  const remat_loop &loop;
  remat_step &body;
  /// Null without an advance.
  remat_step *advancing;
  void *const *operands;
  void *const *advanceOperands;
  void *const *results;
  LoopWorkspace parts;
  char *workspace = nullptr, *hostWorkspace = nullptr;
  /// How many iterations run, as far as that is known.
  int64_t trips = 0;
  /// Iterations of the body and of the advance that are not counted yet.
  int64_t untimed[2] = {};
};

/// Bytes that something has in a workspace. That these do not overflow was
/// checked when the table was loaded.
inline uint64_t padded(uint64_t bytes) {
  uint64_t result = 0;
  alignBytes(bytes, result);
  return result;
}

/// The addresses of element `iteration` of slices and stacks.
inline char *elementOf(void *first, uint64_t bytes, int64_t iteration) {
  return static_cast<char *>(first) + static_cast<uint64_t>(iteration) * bytes;
}
} // namespace remat

#endif // REMAT_RUNTIME_LOOPRUNNER_H
