//===- State.h - what the stand-in for libcuda knows ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_FAKECUDA_STATE_H
#define REMAT_TEST_FAKECUDA_STATE_H

#include "FakeCuda.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace fakecuda {

/// Results of the driver.
enum : int {
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  invalidDevice = 101,
  invalidContext = 201,
  invalidHandle = 400,
  notFound = 500,
  captureUnsupported = 900,
  captureUnmatched = 903,
  captureUnjoined = 904,
  captureIsolation = 905
};

enum class MemoryKind { Device, Host };
struct Block {
  size_t bytes;
  MemoryKind kind;
  bool isLive;
  int device;
};

struct FunctionState {
  size_t parameters = 0;
  Kernel kernel;
  /// What the program asked for.
  int sharedBytes = 48 << 10;
};

struct GraphState {
  struct Node {
    std::function<void()> run;
    std::set<size_t> needs;
  };
  std::vector<Node> nodes;
};

struct EventState {
  /// How often it was recorded, and which of these records were reached.
  size_t recorded = 0;
  std::set<size_t> done;
  /// Of the last record within a capture.
  std::shared_ptr<GraphState> graph;
  std::set<size_t> nodes;
};

/// In a queue: a function, or waiting for a record of an event.
struct Work {
  std::function<void()> run;
  EventState *event;
  size_t ticket;
};

struct StreamState {
  std::deque<Work> queue;
  /// While its work is captured.
  std::shared_ptr<GraphState> graph;
  std::set<size_t> last;
  bool isOrigin = false;
};

struct State {
  int devices = 1, major = 9, minor = 0;
  size_t memory = size_t(1) << 30, used = 0, objects = 0;
  bool ignoresWaits = false, isInitialized = false;
  std::mt19937_64 random;
  std::deque<float> elapsed = {1};
  std::string deviceName = "stand-in";
  std::map<uintptr_t, Block> blocks;
  std::map<std::string, std::unique_ptr<FunctionState>> functions;
  /// Those that modules still have, and whose names others have now.
  std::vector<std::unique_ptr<FunctionState>> replaced;
  std::map<std::string, std::pair<int, int>> failures;
  std::map<std::string, size_t> calls;
  std::vector<std::string> images, complaints;
  std::vector<std::unique_ptr<StreamState>> streams;
  std::vector<std::unique_ptr<EventState>> events;
  std::vector<void *> contexts;

  void *allocate(size_t bytes, MemoryKind kind, int device = 0);
  bool release(uintptr_t address, MemoryKind kind);
  void replace(const std::string &name, size_t parameters, Kernel kernel);
  Block *findBlock(uintptr_t address);
  bool checkMemory(uintptr_t address, size_t bytes, const char *what);
  void complain(std::string text);
  int enqueue(StreamState *stream, std::function<void()> work);
  bool isReady(const Work &work) const;
  /// Drains queues at random until it `isDone`, in all of them together.
  int drain(const std::function<bool()> &isDone);
  void runGraph(const GraphState &graph);
};

State &get();

} // namespace fakecuda

#endif // REMAT_TEST_FAKECUDA_STATE_H
