//===- XlaFfi.cpp - steps as custom calls of XLA --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An executable of XLA may outlive everything in Python that knows its step,
// and runs behind the back of Python. So the step belongs to all who hold it,
// and a lock lets its runs wait for each other.
//
//===----------------------------------------------------------------------===//

#include "XlaFfi.h"
#include "remat-c/Xla.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

using namespace llvm;
using namespace remat;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// A step with its code, and the lock of its runs.
struct SharedStep {
  SharedStep(RematCode code, remat_step *step) : code(code), step(step) {}
  ~SharedStep() {
    remat_step_free(step);
    rematCodeDestroy(code);
  }

  RematCode code;
  remat_step *step;
  std::mutex mutex;
};
using StepRef = std::shared_ptr<SharedStep>;

/// The steps that executables may ask for.
class Registry {
public:
  static Registry &get() {
    // Executables are destroyed at any time up to the end of the process.
    static auto *registry = new Registry();
    return *registry;
  }

  void add(int64_t key, const StepRef &step) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto it = steps.begin(); it != steps.end();) {
      erase_if(it->second, [](const auto &held) { return held.expired(); });
      it = it->second.empty() ? steps.erase(it) : std::next(it);
    }
    steps[key].push_back(step);
  }

  StepRef find(int64_t key) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &held : reverse(steps[key]))
      if (StepRef step = held.lock())
        return step;
    return nullptr;
  }

private:
  std::mutex mutex;
  std::map<int64_t, std::vector<std::weak_ptr<SharedStep>>> steps;
};
} // namespace

static StepRef *unwrap(RematXlaStep step) {
  return static_cast<StepRef *>(step.ptr);
}

RematXlaStep rematXlaStepCreate(RematCode code, remat_step *step, int64_t key) {
  auto *held = new StepRef(std::make_shared<SharedStep>(code, step));
  Registry::get().add(key, *held);
  return {held};
}

void rematXlaStepDestroy(RematXlaStep step) { delete unwrap(step); }

void rematXlaStepGetStats(RematXlaStep step, remat_step_stats *stats) {
  if (!step.ptr)
    return remat_step_get_stats(nullptr, stats);
  SharedStep &shared = **unwrap(step);
  std::lock_guard<std::mutex> lock(shared.mutex);
  remat_step_get_stats(shared.step, stats);
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

/// XLA gives the type its number when it is registered, and may have a register
/// for each platform.
static xla::TypeId stateType = {0}, cudaStateType = {0};

void *rematXlaGetTypeId(void) { return &stateType; }
void *rematXlaCudaGetTypeId(void) { return &cudaStateType; }

void *rematXlaGetTypeInfo(void) {
  static xla::TypeInfo info = {
      {sizeof(xla::TypeInfo), nullptr},
      [](void *state) { delete static_cast<StepRef *>(state); }};
  return &info;
}

static xla::Error *fail(const xla::Frame &frame, xla::ErrorCode code,
                        const Twine &message) {
  std::string text = ("remat: " + message).str();
  xla::ErrorArgs args = {{sizeof(xla::ErrorArgs), nullptr}, text.c_str(), code};
  return frame.api->createError(&args);
}

/// Answers the question for versions, which XLA asks when a handler is
/// registered. False if this call is another one.
static bool describe(const xla::Frame &frame, const xla::TypeId &type) {
  xla::Extension *extension = frame.header.extension;
  if (!extension || extension->type != xla::metadataExtension)
    return false;
  auto *found = reinterpret_cast<xla::MetadataExtension *>(extension);
  found->metadata->version = {
      {sizeof(xla::Version), nullptr}, xla::majorVersion, xla::minorVersion};
  found->metadata->traits = 0;
  // An older XLA, which refuses the version, has no such member.
  if (found->metadata->size >= sizeof(xla::Metadata))
    found->metadata->stateType =
        frame.stage == xla::Stage::Instantiate ? type : xla::TypeId{0};
  return true;
}

static std::optional<int64_t> getKey(const xla::Attributes &attributes) {
  for (int64_t i = 0; i < attributes.count; ++i) {
    const xla::Span &name = *attributes.names[i];
    if (StringRef(name.data, name.size) != "key" ||
        attributes.kinds[i] != xla::scalarKind)
      continue;
    const auto *scalar = static_cast<const xla::Scalar *>(attributes.values[i]);
    if (scalar->type == xla::DataType::S64)
      return *static_cast<const int64_t *>(scalar->value);
  }
  return std::nullopt;
}

static xla::StateArgs makeStateArgs(const xla::Frame &frame,
                                    xla::TypeId &type) {
  return {{sizeof(xla::StateArgs), nullptr},
          frame.context,
          xla::Stage::Instantiate,
          &type,
          nullptr};
}

/// The handler of the stage `instantiate`, of the platform with this type.
static xla::Error *instantiate(const xla::Frame &frame, xla::TypeId &type) {
  if (describe(frame, type))
    return nullptr;
  std::optional<int64_t> key = getKey(frame.attributes);
  if (!key)
    return fail(frame, xla::ErrorCode::InvalidArgument,
                "the custom call has no attribute 'key' of type i64");
  StepRef step = Registry::get().find(*key);
  if (!step)
    return fail(frame, xla::ErrorCode::NotFound,
                "this process has no step with the key " + Twine(*key) +
                    "; the executable is for a step that was freed, or that "
                    "another process compiled");
  bool isCuda = &type == &cudaStateType;
  if (isCuda != (remat_step_device(step->step) >= 0))
    return fail(frame, xla::ErrorCode::InvalidArgument,
                isCuda ? "the program is for a GPU, but the step for the CPU"
                       : "the program is for the CPU, but the step for a GPU");
  xla::StateArgs args = makeStateArgs(frame, type);
  args.state = new StepRef(std::move(step));
  return frame.api->setState(&args);
}

void *rematXlaInstantiate(void *frame) {
  return instantiate(*static_cast<const xla::Frame *>(frame), stateType);
}
void *rematXlaCudaInstantiate(void *frame) {
  return instantiate(*static_cast<const xla::Frame *>(frame), cudaStateType);
}

static std::optional<remat_dtype> getType(xla::DataType type) {
  switch (type) {
  case xla::DataType::Pred:
    return REMAT_I1;
  case xla::DataType::S8:
  case xla::DataType::U8:
  // Numbers of eight bits are bytes to steps.
  case xla::DataType::F8E5M2:
  case xla::DataType::F8E4M3FN:
  case xla::DataType::F8E4M3B11FNUZ:
  case xla::DataType::F8E5M2FNUZ:
  case xla::DataType::F8E4M3FNUZ:
  case xla::DataType::F8E4M3:
  case xla::DataType::F8E3M4:
  case xla::DataType::F8E8M0FNU:
    return REMAT_I8;
  case xla::DataType::S16:
  case xla::DataType::U16:
    return REMAT_I16;
  case xla::DataType::S32:
  case xla::DataType::U32:
    return REMAT_I32;
  case xla::DataType::S64:
  case xla::DataType::U64:
    return REMAT_I64;
  case xla::DataType::F16:
    return REMAT_F16;
  case xla::DataType::BF16:
    return REMAT_BF16;
  case xla::DataType::F32:
    return REMAT_F32;
  case xla::DataType::F64:
    return REMAT_F64;
  case xla::DataType::C64:
    return REMAT_C64;
  case xla::DataType::C128:
    return REMAT_C128;
  }
  return std::nullopt;
}

/// Null if all buffers are tensors that steps know.
static xla::Error *convert(const xla::Frame &frame, StringRef what,
                           const xla::Buffers &buffers,
                           SmallVectorImpl<remat_tensor> &tensors) {
  for (int64_t i = 0; i < buffers.count; ++i) {
    const auto &buffer = *static_cast<const xla::Buffer *>(buffers.buffers[i]);
    std::optional<remat_dtype> type;
    if (buffers.kinds[i] == xla::bufferKind)
      type = getType(buffer.type);
    if (!type)
      return fail(frame, xla::ErrorCode::InvalidArgument,
                  what + " " + Twine(i) +
                      " of the custom call is no tensor of a known type");
    tensors.push_back(
        {buffer.data, *type, static_cast<int32_t>(buffer.rank), buffer.dims});
  }
  return nullptr;
}

static xla::ErrorCode getCode(remat_status status) {
  switch (status) {
  case REMAT_INVALID_ARGUMENT:
    return xla::ErrorCode::InvalidArgument;
  case REMAT_OUT_OF_MEMORY:
    return xla::ErrorCode::ResourceExhausted;
  case REMAT_INDEX_OUT_OF_BOUNDS:
    return xla::ErrorCode::OutOfRange;
  case REMAT_ASSERTION_FAILED:
    return xla::ErrorCode::FailedPrecondition;
  default:
    return xla::ErrorCode::Internal;
  }
}

/// Lets the next run begin behind what the stream of the call has been given,
/// such as what makes its operands, and the stream go on behind the run. Where
/// checks may fail, the call waits, as XLA might never make another one.
static remat_status enterStream(const xla::Frame &frame, remat_step *step,
                                xla::Error *&error) {
  xla::StreamArgs args = {
      {sizeof(xla::StreamArgs), nullptr}, frame.context, nullptr};
  error = frame.api->getStream(&args);
  if (error)
    return REMAT_DEVICE_ERROR;
  return remat_step_check_count(step) > 0
             ? remat_step_wait(step, args.stream)
             : remat_step_follow(step, args.stream);
}

/// The handler of the stage `execute`. A run of a CPU has ended when it
/// returns.
static xla::Error *execute(const xla::Frame &frame, xla::TypeId &type) {
  if (describe(frame, type))
    return nullptr;
  xla::StateArgs state = makeStateArgs(frame, type);
  if (xla::Error *error = frame.api->getState(&state))
    return error;
  SharedStep &shared = **static_cast<StepRef *>(state.state);
  SmallVector<remat_tensor> arguments, results;
  if (xla::Error *error = convert(frame, "operand", frame.arguments, arguments))
    return error;
  if (xla::Error *error = convert(frame, "result", frame.results, results))
    return error;
  std::lock_guard<std::mutex> lock(shared.mutex);
  remat_status status = REMAT_OK;
  if (&type == &cudaStateType) {
    xla::Error *error = nullptr;
    status = enterStream(frame, shared.step, error);
    if (error)
      return error;
  }
  if (status == REMAT_OK)
    status = remat_step_run(shared.step, arguments.data(), arguments.size(),
                            results.data(), results.size());
  if (status == REMAT_OK)
    return nullptr;
  return fail(frame, getCode(status),
              Twine(remat_status_name(status)) + ": " + remat_last_error());
}

void *rematXlaExecute(void *frame) {
  return execute(*static_cast<const xla::Frame *>(frame), stateType);
}
void *rematXlaCudaExecute(void *frame) {
  return execute(*static_cast<const xla::Frame *>(frame), cudaStateType);
}
