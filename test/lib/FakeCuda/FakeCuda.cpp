//===- FakeCuda.cpp - a CUDA driver on host memory ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "State.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace fakecuda;

static State *state = new State();

State &fakecuda::get() { return *state; }

void fakecuda::reset(uint64_t seed) {
  for (auto &[begin, block] : state->blocks)
    std::free(reinterpret_cast<void *>(begin));
  // A process initializes the driver once.
  bool isInitialized = state->isInitialized;
  delete state;
  state = new State();
  state->isInitialized = isInitialized;
  state->random.seed(seed);
}

void fakecuda::define(const std::string &name, size_t parameters,
                      Kernel kernel) {
  auto &function = state->functions[name];
  // A module may have it already.
  if (!function)
    function = std::make_unique<FunctionState>();
  function->parameters = parameters;
  function->kernel = std::move(kernel);
}

void State::replace(const std::string &name, size_t parameters, Kernel kernel) {
  auto &function = functions[name];
  if (function)
    replaced.push_back(std::move(function));
  function = std::make_unique<FunctionState>();
  function->parameters = parameters;
  function->kernel = std::move(kernel);
}

void fakecuda::setDevices(int count, int major, int minor) {
  state->devices = count;
  state->major = major;
  state->minor = minor;
}
void fakecuda::setDeviceName(const std::string &name) {
  state->deviceName = name;
}
void fakecuda::setMemory(size_t bytes) { state->memory = bytes; }
void fakecuda::fail(const std::string &function, int result, int call) {
  state->failures[function] = {result, call};
}
void fakecuda::setElapsedTimes(std::vector<float> milliseconds) {
  state->elapsed.assign(milliseconds.begin(), milliseconds.end());
}
void fakecuda::ignoreWaits(bool ignores) { state->ignoresWaits = ignores; }
size_t fakecuda::countCalls(const std::string &function) {
  return state->calls[function];
}
std::vector<std::string> fakecuda::getImages() { return state->images; }
std::vector<std::string> fakecuda::getComplaints() { return state->complaints; }
size_t fakecuda::countObjects() { return state->objects; }
void *fakecuda::allocate(size_t bytes, int device) {
  return state->allocate(bytes, MemoryKind::Device, device);
}
void fakecuda::release(void *memory) {
  state->release(reinterpret_cast<uintptr_t>(memory), MemoryKind::Device);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *State::allocate(size_t bytes, MemoryKind kind, int device) {
  size_t room = (bytes + 511) / 256 * 256;
  void *memory = std::aligned_alloc(256, room);
  std::memset(memory, 0xff, room);
  blocks[reinterpret_cast<uintptr_t>(memory)] = {bytes, kind, true, device};
  ++objects;
  return memory;
}

bool State::release(uintptr_t address, MemoryKind kind) {
  auto found = blocks.find(address);
  if (found == blocks.end() || found->second.kind != kind ||
      !found->second.isLive) {
    complain("memory is freed that is not allocated");
    return false;
  }
  found->second.isLive = false;
  --objects;
  return true;
}

Block *State::findBlock(uintptr_t address) {
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  auto &[begin, block] = *std::prev(next);
  return address < begin + std::max<size_t>(block.bytes, 1) ? &block : nullptr;
}

/// Memory that the driver does not know is the host's own.
bool State::checkMemory(uintptr_t address, size_t bytes, const char *what) {
  auto next = blocks.upper_bound(address);
  Block *block = findBlock(address);
  if (!block)
    return true;
  uintptr_t begin = std::prev(next)->first;
  if (!block->isLive) {
    complain(std::string("use of freed memory by ") + what);
    return false;
  }
  if (bytes > block->bytes - (address - begin)) {
    complain(std::string("use of memory behind its end by ") + what);
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

void State::complain(std::string text) {
  complaints.push_back(std::move(text));
}

int State::enqueue(StreamState *stream, std::function<void()> work) {
  if (!stream)
    return invalidHandle;
  if (!stream->graph) {
    stream->queue.push_back({std::move(work), nullptr, 0});
    return 0;
  }
  GraphState &graph = *stream->graph;
  size_t number = graph.nodes.size();
  graph.nodes.push_back({std::move(work), stream->last});
  stream->last = {number};
  return 0;
}

bool State::isReady(const Work &work) const {
  return !work.event || ignoresWaits ||
         work.event->done.count(work.ticket) != 0;
}

int State::drain(const std::function<bool()> &isDone) {
  while (!isDone()) {
    std::vector<StreamState *> ready;
    for (auto &other : streams)
      if (!other->queue.empty() && isReady(other->queue.front()))
        ready.push_back(other.get());
    if (ready.empty()) {
      complain("streams wait for each other");
      return 1;
    }
    StreamState *next = ready[random() % ready.size()];
    Work work = std::move(next->queue.front());
    next->queue.pop_front();
    if (work.run)
      work.run();
  }
  return 0;
}

/// Runs nodes in a random order that keeps what they depend on.
void State::runGraph(const GraphState &graph) {
  std::vector<bool> done(graph.nodes.size());
  for (size_t count = 0; count < done.size(); ++count) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < done.size(); ++i)
      if (!done[i] &&
          (ignoresWaits ||
           std::all_of(graph.nodes[i].needs.begin(), graph.nodes[i].needs.end(),
                       [&](size_t need) { return done[need]; })))
        ready.push_back(i);
    size_t next = ready[random() % ready.size()];
    if (graph.nodes[next].run)
      graph.nodes[next].run();
    done[next] = true;
  }
}

void fakecuda::enqueue(void *stream, const std::vector<const void *> &memory,
                       std::function<void()> work) {
  for (const void *address : memory)
    state->checkMemory(reinterpret_cast<uintptr_t>(address), 1, "a library");
  state->enqueue(static_cast<StreamState *>(stream), std::move(work));
}
