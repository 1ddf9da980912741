//===- CopyQueue.h - copies beside a loop -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that makes copies one after the other while loops run. What is
// copied, and when, is known only while a loop runs, so that these are no
// entries of a table, as those of CopyStreams are.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_COPYQUEUE_H
#define REMAT_LIB_RUNTIME_COPYQUEUE_H

#include <cstdint>
#include <string>

namespace remat {

class CopyQueue {
public:
  CopyQueue() = default;
  ~CopyQueue();
  CopyQueue(const CopyQueue &) = delete;

  /// Makes the thread; false with a message if the system has no more.
  bool start(std::string &message);

  /// The copies of one run of a loop, which have all ended when it ends. Where
  /// there is no thread, as in a process that was forked from the one that made
  /// it, copies are made at once.
  class Run {
  public:
    explicit Run(CopyQueue &queue);
    ~Run();
    Run(const Run &) = delete;

    /// Passes a copy on, which begins when those before it have ended, and
    /// returns its number, from 1 on. Waits while too many are under way.
    uint64_t copy(const char *from, char *to, uint64_t bytes);
    /// Waits for the end of the copy of this number, and all before it.
    void wait(uint64_t number);

  private:
    CopyQueue &queue;
    bool isBeside;
    uint64_t first, passed = 0;
  };

private:
  struct State;
  /// Not deleted where its thread does not exist.
  State *state = nullptr;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_COPYQUEUE_H
