//===- Functions.cpp - the functions of the stand-in for libcuda ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cstring>

using namespace fakecuda;

/// Counts the call, and returns the failure that a test asked for.
static int enter(const char *function, bool needsContext) {
  State &state = get();
  size_t call = state.calls[function]++;
  (void)call;
  auto found = state.failures.find(function);
  if (found != state.failures.end() && found->second.second-- == 0) {
    int result = found->second.first;
    state.failures.erase(found);
    return result;
  }
  if (!state.isInitialized && std::strcmp(function, "cuInit") != 0)
    return notInitialized;
  if (needsContext && state.contexts.empty()) {
    state.complain(std::string(function) + " without a context");
    return invalidContext;
  }
  return 0;
}

#define ENTER_WITHOUT_CONTEXT                                                  \
  if (int result = enter(__func__, false))                                     \
    return result;
#define ENTER                                                                  \
  if (int result = enter(__func__, true))                                      \
    return result;

/// The primary context of each device is its place here.
static int contextsOfDevices[8];
static int currentDevice() {
  if (get().contexts.empty())
    return 0;
  return static_cast<int>(static_cast<int *>(get().contexts.back()) -
                          contextsOfDevices);
}

static uintptr_t addressOf(unsigned long long pointer) { return pointer; }

extern "C" {

int cuInit(unsigned) {
  ENTER_WITHOUT_CONTEXT
  get().isInitialized = true;
  return 0;
}

int cuGetErrorName(int result, const char **name) {
  static const std::map<int, const char *> names = {
      {invalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {invalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {invalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {notFound, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {captureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {captureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"}};
  auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? invalidValue : 0;
}
int cuGetErrorString(int, const char **text) {
  *text = "of the stand-in";
  return 0;
}

int cuDeviceGetCount(int *count) {
  ENTER_WITHOUT_CONTEXT
  *count = get().devices;
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  ENTER_WITHOUT_CONTEXT
  *device = ordinal;
  return ordinal < get().devices ? 0 : invalidDevice;
}
int cuDeviceGetName(char *name, int bytes, int) {
  ENTER_WITHOUT_CONTEXT
  std::strncpy(name, get().deviceName.c_str(), static_cast<size_t>(bytes));
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  ENTER_WITHOUT_CONTEXT
  *value = attribute == 75   ? get().major
           : attribute == 76 ? get().minor
                             : 227 << 10;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTER_WITHOUT_CONTEXT
  if (device < 0 || device >= get().devices)
    return invalidDevice;
  ++get().objects;
  *context = &contextsOfDevices[device];
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  ENTER_WITHOUT_CONTEXT
  --get().objects;
  return 0;
}
int cuCtxGetCurrent(void **context) {
  ENTER_WITHOUT_CONTEXT
  *context = get().contexts.empty() ? nullptr : get().contexts.back();
  return 0;
}
int cuCtxGetDevice(int *device) {
  ENTER
  *device = currentDevice();
  return 0;
}
int cuCtxPushCurrent_v2(void *context) {
  ENTER_WITHOUT_CONTEXT
  get().contexts.push_back(context);
  return 0;
}
int cuCtxPopCurrent_v2(void **context) {
  ENTER
  *context = get().contexts.back();
  get().contexts.pop_back();
  return 0;
}

int cuModuleLoadData(void **module, const void *image) {
  ENTER
  get().images.push_back(static_cast<const char *>(image));
  ++get().objects;
  static int theModule;
  *module = &theModule;
  return 0;
}
int cuModuleUnload(void *) {
  ENTER
  --get().objects;
  return 0;
}
int cuModuleGetFunction(FunctionState **function, void *, const char *name) {
  ENTER
  auto found = get().functions.find(name);
  *function = found == get().functions.end() ? nullptr : found->second.get();
  return *function ? 0 : notFound;
}
int cuFuncSetAttribute(FunctionState *function, int attribute, int value) {
  ENTER
  if (attribute != 8 || value > 227 << 10)
    return invalidValue;
  function->sharedBytes = value;
  return 0;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER
  *total = get().memory;
  *free = get().memory - get().used;
  return 0;
}
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  ENTER
  if (bytes == 0)
    return invalidValue;
  if (bytes > get().memory - get().used)
    return outOfMemory;
  get().used += bytes;
  *address = reinterpret_cast<uintptr_t>(
      get().allocate(bytes, MemoryKind::Device, currentDevice()));
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  ENTER
  if (!get().release(addressOf(address), MemoryKind::Device))
    return invalidValue;
  get().used -= get().findBlock(addressOf(address))->bytes;
  return 0;
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  ENTER
  if (bytes == 0)
    return invalidValue;
  *memory = get().allocate(bytes, MemoryKind::Host);
  return 0;
}
int cuMemFreeHost(void *memory) {
  ENTER
  return get().release(reinterpret_cast<uintptr_t>(memory), MemoryKind::Host)
             ? 0
             : invalidValue;
}
int cuPointerGetAttributes(unsigned count, int *attributes, void **values,
                           unsigned long long address) {
  ENTER
  Block *block = get().findBlock(addressOf(address));
  bool isKnown = block && block->isLive;
  for (unsigned i = 0; i < count; ++i)
    switch (attributes[i]) {
    case 2:
      *static_cast<unsigned *>(values[i]) = !isKnown ? 0
                                            : block->kind == MemoryKind::Device
                                                ? 2
                                                : 1;
      break;
    case 9:
      *static_cast<int *>(values[i]) = isKnown ? block->device : -2;
      break;
    default:
      return invalidValue;
    }
  return 0;
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes,
                  StreamState *stream) {
  ENTER
  auto work = [=] {
    if (get().checkMemory(addressOf(to), bytes, "a copy") &&
        get().checkMemory(addressOf(from), bytes, "a copy"))
      std::memmove(reinterpret_cast<void *>(addressOf(to)),
                   reinterpret_cast<const void *>(addressOf(from)), bytes);
  };
  // The default stream has nothing else to do.
  if (!stream) {
    work();
    return 0;
  }
  return get().enqueue(stream, work);
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes,
                    StreamState *stream) {
  ENTER
  auto work = [=] {
    if (get().checkMemory(addressOf(to), bytes, "a fill"))
      std::memset(reinterpret_cast<void *>(addressOf(to)), value, bytes);
  };
  return get().enqueue(stream, work);
}

int cuStreamCreate(StreamState **stream, unsigned) {
  ENTER
  get().streams.push_back(std::make_unique<StreamState>());
  *stream = get().streams.back().get();
  ++get().objects;
  return 0;
}
int cuStreamDestroy_v2(StreamState *stream) {
  ENTER
  if (!stream->queue.empty())
    get().complain("a stream with work is destroyed");
  stream->queue.clear();
  --get().objects;
  return 0;
}
int cuStreamSynchronize(StreamState *stream) {
  ENTER
  if (!stream)
    return 0;
  if (stream->graph) {
    get().complain("a stream is waited for while it is captured");
    return captureUnsupported;
  }
  return get().drain([&] { return stream->queue.empty(); });
}
int cuStreamWaitEvent(StreamState *stream, EventState *event, unsigned) {
  ENTER
  if (event->graph) {
    // The stream joins the capture, or is in it.
    if (!stream || (stream->graph && stream->graph != event->graph))
      return captureIsolation;
    stream->graph = event->graph;
    stream->last.insert(event->nodes.begin(), event->nodes.end());
    return 0;
  }
  if (stream && stream->graph) {
    get().complain("a capture waits for what is not captured");
    return captureIsolation;
  }
  Work wait = {nullptr, event, event->recorded};
  // What the default stream is given is done at once, and so is this.
  if (!stream)
    return get().drain([&] { return get().isReady(wait); });
  stream->queue.push_back(std::move(wait));
  return 0;
}
int cuStreamBeginCapture_v2(StreamState *stream, int) {
  ENTER
  if (stream->graph)
    return captureUnmatched;
  stream->graph = std::make_shared<GraphState>();
  stream->last.clear();
  stream->isOrigin = true;
  return 0;
}
int cuStreamEndCapture(StreamState *stream, GraphState **graph) {
  ENTER
  if (!stream->graph || !stream->isOrigin)
    return captureUnmatched;
  std::shared_ptr<GraphState> captured = stream->graph;
  // All that was captured must be before the end.
  std::set<size_t> joined;
  std::vector<size_t> open(stream->last.begin(), stream->last.end());
  while (!open.empty()) {
    size_t node = open.back();
    open.pop_back();
    if (joined.insert(node).second)
      open.insert(open.end(), captured->nodes[node].needs.begin(),
                  captured->nodes[node].needs.end());
  }
  bool isJoined = true;
  for (auto &other : get().streams) {
    if (other->graph != captured)
      continue;
    for (size_t node : other->last)
      isJoined &= joined.count(node) != 0;
    other->graph = nullptr;
    other->last.clear();
    other->isOrigin = false;
  }
  *graph = nullptr;
  if (!isJoined) {
    get().complain("a captured stream is not joined");
    return captureUnjoined;
  }
  *graph = new GraphState(*captured);
  ++get().objects;
  return 0;
}

int cuEventCreate(EventState **event, unsigned) {
  ENTER
  get().events.push_back(std::make_unique<EventState>());
  *event = get().events.back().get();
  ++get().objects;
  return 0;
}
int cuEventDestroy_v2(EventState *) {
  ENTER
  // Streams may still wait for it.
  --get().objects;
  return 0;
}
int cuEventRecord(EventState *event, StreamState *stream) {
  ENTER
  if (!stream) {
    // The default stream has nothing to do.
    event->graph = nullptr;
    event->done.insert(++event->recorded);
    return 0;
  }
  event->graph = stream->graph;
  event->nodes = stream->last;
  if (stream->graph)
    return 0;
  size_t ticket = ++event->recorded;
  return get().enqueue(stream, [=] { event->done.insert(ticket); });
}
int cuEventSynchronize(EventState *) {
  ENTER
  return 0;
}
int cuEventElapsedTime(float *milliseconds, EventState *, EventState *) {
  ENTER
  *milliseconds = get().elapsed.front();
  if (get().elapsed.size() > 1)
    get().elapsed.pop_front();
  return 0;
}

int cuLaunchKernel(FunctionState *function, unsigned blocks, unsigned gridY,
                   unsigned gridZ, unsigned threads, unsigned blockY,
                   unsigned blockZ, unsigned shared, StreamState *stream,
                   void **parameters, void **) {
  ENTER
  if (!function || blocks == 0 || gridY != 1 || gridZ != 1 || threads == 0 ||
      threads > 1024 || blockY != 1 || blockZ != 1 ||
      shared > unsigned(function->sharedBytes))
    return invalidValue;
  std::vector<void *> values;
  for (size_t i = 0; i < function->parameters; ++i)
    values.push_back(*static_cast<void **>(parameters[i]));
  return get().enqueue(stream, [=] {
    for (void *value : values) {
      Block *block = get().findBlock(reinterpret_cast<uintptr_t>(value));
      if (value && (!block || block->kind != MemoryKind::Device))
        get().complain("a kernel is given memory of the host");
      else if (value && !block->isLive)
        get().complain("use of freed memory by a kernel");
    }
    function->kernel(values);
  });
}

int cuGraphInstantiateWithFlags(GraphState **exec, GraphState *graph,
                                unsigned long long) {
  ENTER
  *exec = new GraphState(*graph);
  ++get().objects;
  return 0;
}
int cuGraphLaunch(GraphState *exec, StreamState *stream) {
  ENTER
  return get().enqueue(stream, [=] { get().runGraph(*exec); });
}
int cuGraphExecDestroy(GraphState *exec) {
  ENTER
  delete exec;
  --get().objects;
  return 0;
}
int cuGraphDestroy(GraphState *graph) {
  ENTER
  delete graph;
  --get().objects;
  return 0;
}

} // extern "C"
