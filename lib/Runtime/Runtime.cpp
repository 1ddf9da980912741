//===- Runtime.cpp - the C functions of the runtime -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The boundary: no exception leaves it, and every failure leaves a message.
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Runtime.h"
#include "LastError.h"
#include "Step.h"

#include <cstring>

using namespace remat;

std::string &remat::lastError() {
  thread_local std::string message;
  return message;
}

remat_status remat_step_load(const remat_module *module,
                             const remat_step_options *options,
                             remat_step **step) {
  if (step)
    *step = nullptr;
  if (!module || !step)
    return fail(REMAT_INVALID_ARGUMENT, "module or step is NULL");
  return guard([&] {
    auto made = std::make_unique<remat_step>();
    remat_status status = made->load(
        *module, options ? *options : remat_step_options(), lastError());
    if (status == REMAT_OK)
      *step = made.release();
    return status;
  });
}

/// Calls `use` unless the step is busy.
template <typename Function>
static remat_status useIdle(remat_step *step, const Function &use) {
  if (!step)
    return fail(REMAT_INVALID_ARGUMENT, "step is NULL");
  if (step->busy.test_and_set(std::memory_order_acquire))
    return fail(REMAT_INVALID_ARGUMENT, "step is running");
  remat_status status = guard(use);
  step->busy.clear(std::memory_order_release);
  return status;
}

/// Runs some calls of a step.
static remat_status runCalls(remat_step *step, size_t first, size_t end,
                             const remat_tensor *arguments,
                             size_t argumentCount, const remat_tensor *results,
                             size_t resultCount, remat_state *state) {
  return useIdle(step, [&] {
    bool hasRun = false;
    remat_status status = guard([&] {
      remat_status result = step->run(first, end, arguments, argumentCount,
                                      results, resultCount, state);
      hasRun = true;
      return result;
    });
    if (!hasRun)
      step->error = lastError();
    else if (status != REMAT_OK)
      lastError() = step->error;
    return status;
  });
}

/// Fails a call before it runs, with a message of the step, too.
static remat_status refuseCall(remat_step *step, const std::string &message) {
  return useIdle(step, [&] {
    lastError() = step->error = message;
    return REMAT_INVALID_ARGUMENT;
  });
}

remat_status remat_step_run(remat_step *step, const remat_tensor *arguments,
                            size_t argument_count, const remat_tensor *results,
                            size_t result_count) {
  if (!step)
    return fail(REMAT_INVALID_ARGUMENT, "step is NULL");
  return runCalls(step, 0, step->callCount(), arguments, argument_count,
                  results, result_count, nullptr);
}

remat_status remat_step_forward(remat_step *step, const remat_tensor *arguments,
                                size_t argument_count,
                                const remat_tensor *results,
                                size_t result_count, remat_state *state) {
  if (!step)
    return fail(REMAT_INVALID_ARGUMENT, "step is NULL");
  if (!state)
    return refuseCall(step, "state is NULL");
  return runCalls(step, 0, 1, arguments, argument_count, results, result_count,
                  state);
}

remat_status remat_step_backward(remat_step *step, size_t backward,
                                 const remat_tensor *arguments,
                                 size_t argument_count,
                                 const remat_tensor *results,
                                 size_t result_count, remat_state *state) {
  if (!step)
    return fail(REMAT_INVALID_ARGUMENT, "step is NULL");
  if (!state)
    return refuseCall(step, "state is NULL");
  if (backward >= remat_step_backward_count(step))
    return guard([&] {
      return refuseCall(step,
                        "backward call " + std::to_string(backward) +
                            " is out of range: the step has " +
                            std::to_string(remat_step_backward_count(step)));
    });
  return runCalls(step, backward + 1, backward + 2, arguments, argument_count,
                  results, result_count, state);
}

size_t remat_step_backward_count(const remat_step *step) {
  return step ? step->callCount() - 1 : 0;
}

remat_status remat_step_wait(remat_step *step, void *stream) {
  return useIdle(step, [&] { return step->wait(stream, lastError()); });
}

remat_status remat_step_follow(remat_step *step, void *stream) {
  return useIdle(step, [&] { return step->follow(stream, lastError()); });
}

remat_status remat_step_synchronize(remat_step *step) {
  return useIdle(step, [&] {
    remat_status status = step->synchronize();
    if (status != REMAT_OK)
      lastError() = step->error;
    return status;
  });
}

size_t remat_step_check_count(const remat_step *step) {
  return step ? step->countChecks() : 0;
}

int remat_step_device(const remat_step *step) {
  return step ? step->deviceNumber() : -1;
}

uint64_t remat_step_state_bytes(const remat_step *step) {
  return step ? step->table.header.state_bytes : 0;
}

uint64_t remat_step_check_bytes(const remat_step *step) {
  return step ? step->checkBytes() : 0;
}

void remat_step_free(remat_step *step) { delete step; }

size_t remat_step_argument_count(const remat_step *step) {
  return step ? step->table.arguments.size() : 0;
}

size_t remat_step_result_count(const remat_step *step) {
  return step ? step->table.results.size() : 0;
}

size_t remat_step_entry_count(const remat_step *step) {
  return step ? step->table.entries.size() : 0;
}

/// Refuses an index beyond one of the lists of a step's table.
template <typename Element>
static remat_status checkIndex(const remat_step *step, const void *info,
                               std::vector<Element> Table::*list,
                               const char *element, size_t index) {
  if (!step || !info)
    return fail(REMAT_INVALID_ARGUMENT, step ? "info is NULL" : "step is NULL");
  size_t count = (step->table.*list).size();
  if (index < count)
    return REMAT_OK;
  return guard([&] {
    lastError() = std::string(element) + " " + std::to_string(index) +
                  " is out of range: the step has " + std::to_string(count);
    return REMAT_INVALID_ARGUMENT;
  });
}

remat_status remat_step_argument(const remat_step *step, size_t index,
                                 remat_tensor_info *info) {
  if (remat_status status =
          checkIndex(step, info, &Table::arguments, "argument", index))
    return status;
  *info = step->describeArgument(index);
  return REMAT_OK;
}

remat_status remat_step_result(const remat_step *step, size_t index,
                               remat_tensor_info *info) {
  if (remat_status status =
          checkIndex(step, info, &Table::results, "result", index))
    return status;
  *info = step->describeResult(index);
  return REMAT_OK;
}

/// The place in `signatures` of the `element` called `name`.
static remat_status find(const remat_step *step,
                         std::vector<remat_signature> Table::*signatures,
                         const char *element, const char *name, size_t *index) {
  if (!step || !name || !index)
    return fail(REMAT_INVALID_ARGUMENT, "step, name or index is NULL");
  const auto &list = step->table.*signatures;
  for (size_t i = 0; i < list.size(); ++i) {
    if (std::strcmp(step->table.string(list[i].name), name) != 0)
      continue;
    *index = i;
    return REMAT_OK;
  }
  return guard([&] {
    lastError() =
        std::string("the step has no ") + element + " named '" + name + "'";
    return REMAT_INVALID_ARGUMENT;
  });
}

remat_status remat_step_find_argument(const remat_step *step, const char *name,
                                      size_t *index) {
  return find(step, &Table::arguments, "argument", name, index);
}

remat_status remat_step_find_result(const remat_step *step, const char *name,
                                    size_t *index) {
  return find(step, &Table::results, "result", name, index);
}

remat_status remat_step_entry(const remat_step *step, size_t index,
                              remat_entry_info *info) {
  if (remat_status status =
          checkIndex(step, info, &Table::entries, "entry", index))
    return status;
  const remat_entry &entry = step->table.entries[index];
  *info = {static_cast<remat_entry_kind>(entry.kind),
           entry.flags,
           entry.task,
           entry.original,
           entry.copy,
           entry.forward_index,
           step->table.string(entry.name),
           step->table.string(entry.location),
           static_cast<remat_stream>(entry.stream)};
  return REMAT_OK;
}

uint64_t remat_step_arena_bytes(const remat_step *step) {
  return step ? step->table.header.arena_bytes : 0;
}

uint64_t remat_step_host_bytes(const remat_step *step) {
  return step ? step->table.header.host_bytes : 0;
}

int remat_step_threads(const remat_step *step) {
  return step ? step->threads : 0;
}

void remat_step_get_stats(const remat_step *step, remat_step_stats *stats) {
  if (stats)
    *stats = step ? step->getStats() : remat_step_stats();
}

const void *remat_step_algorithms(const remat_step *step, uint64_t *bytes) {
  const std::string *algorithms = step ? step->getAlgorithms() : nullptr;
  bool isEmpty = !algorithms || algorithms->empty();
  if (bytes)
    *bytes = isEmpty ? 0 : algorithms->size();
  return isEmpty ? nullptr : algorithms->data();
}

remat_status remat_step_measure_link(remat_step *step,
                                     remat_link_speed *speed) {
  if (!step || !speed)
    return fail(REMAT_INVALID_ARGUMENT,
                step ? "speed is NULL" : "step is NULL");
  return useIdle(step, [&] { return step->measureLink(*speed, lastError()); });
}

const int64_t *remat_step_entry_times(const remat_step *step) {
  return step && !step->times.empty() ? step->times.data() : nullptr;
}

const int64_t *remat_step_entry_cpu_times(const remat_step *step) {
  return step && !step->cpuTimes.empty() ? step->cpuTimes.data() : nullptr;
}

const remat_entry_span *remat_step_entry_spans(const remat_step *step) {
  return step && !step->spans.empty() ? step->spans.data() : nullptr;
}

const uint64_t *remat_step_body_runs(const remat_step *step, size_t index,
                                     size_t *count) {
  bool isLoop =
      step && index < step->bodyRuns.size() && !step->bodyRuns[index].empty();
  if (count)
    *count = isLoop ? step->bodyRuns[index].size() : 0;
  return isLoop ? step->bodyRuns[index].data() : nullptr;
}

const int64_t *remat_step_body_times(const remat_step *step, size_t index,
                                     size_t *count) {
  bool isTimed = step && index < step->leastBodyTimes.size() &&
                 !step->leastBodyTimes[index].empty();
  if (count)
    *count = isTimed ? step->leastBodyTimes[index].size() : 0;
  return isTimed ? step->leastBodyTimes[index].data() : nullptr;
}

remat_status remat_step_observe(remat_step *step, remat_observe_fn observe,
                                void *user) {
  if (!step)
    return fail(REMAT_INVALID_ARGUMENT, "step is NULL");
  if (step->isOnDevice())
    return fail(REMAT_INVALID_ARGUMENT,
                "step runs on a device, expected one on a CPU");
  return useIdle(step, [&] {
    step->observer = observe;
    step->observerUser = user;
    return REMAT_OK;
  });
}

const char *remat_step_trace(const remat_step *step) {
  return step ? step->traceText.c_str() : "";
}

const char *remat_step_anomalies(const remat_step *step) {
  return step && step->anomalyCheck ? step->anomalyCheck->reports().c_str()
                                    : "";
}

void remat_set_debug(int mode) {
  debugMode.store(mode < 0 ? -1 : mode > 0, std::memory_order_relaxed);
}

const char *remat_step_error(const remat_step *step) {
  return step ? step->error.c_str() : "";
}

const char *remat_last_error(void) { return lastError().c_str(); }

const char *remat_status_name(remat_status status) {
  switch (status) {
  case REMAT_OK:
    return "ok";
  case REMAT_INVALID_ARGUMENT:
    return "invalid argument";
  case REMAT_OUT_OF_MEMORY:
    return "out of memory";
  case REMAT_INDEX_OUT_OF_BOUNDS:
    return "index out of bounds";
  case REMAT_INVALID_MODULE:
    return "invalid module";
  case REMAT_LIBRARY_ERROR:
    return "library error";
  case REMAT_ASSERTION_FAILED:
    return "assertion failed";
  case REMAT_NONDETERMINISTIC:
    return "nondeterministic";
  case REMAT_CODEC_ERROR:
    return "codec error";
  case REMAT_NO_DEVICE:
    return "no device";
  case REMAT_STALE_ALGORITHMS:
    return "stale algorithms";
  case REMAT_ANOMALY:
    return "anomaly";
  case REMAT_DEVICE_ERROR:
    return "device error";
  }
  return "unknown status";
}
