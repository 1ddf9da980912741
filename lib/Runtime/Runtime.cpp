//===- Runtime.cpp - the C functions of the runtime -----------------------===//
//
// Part of remat, under the Apache License v2.0 with LLVM Exceptions.
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

#include <new>

using namespace remat;

std::string &remat::lastError() {
  thread_local std::string message;
  return message;
}

static remat_status fail(remat_status status, const char *message) noexcept {
  try {
    lastError() = message;
  } catch (...) {
    lastError().clear(); // not even the message fits
  }
  return status;
}

/// Runs `function`, whose only exceptions are allocations that fail.
template <typename Function>
static remat_status guard(const Function &function) {
  try {
    return function();
  } catch (const std::exception &) {
    return fail(REMAT_OUT_OF_MEMORY, "out of memory");
  }
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

remat_status remat_step_run(remat_step *step, const remat_tensor *arguments,
                            size_t argument_count, const remat_tensor *results,
                            size_t result_count) {
  if (!step)
    return fail(REMAT_INVALID_ARGUMENT, "step is NULL");
  if (step->busy.test_and_set(std::memory_order_acquire))
    return fail(REMAT_INVALID_ARGUMENT, "step is running in another thread");
  remat_status status = guard([&] {
    remat_status result =
        step->run(arguments, argument_count, results, result_count);
    if (result != REMAT_OK)
      lastError() = step->error;
    return result;
  });
  step->busy.clear(std::memory_order_release);
  return status;
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

static remat_status query(const remat_step *step,
                          const std::vector<remat_signature> &signatures,
                          size_t index, remat_tensor_info *info) {
  if (index >= signatures.size())
    return fail(REMAT_INVALID_ARGUMENT, "index is out of range");
  *info = step->describe(signatures[index]);
  return REMAT_OK;
}

remat_status remat_step_argument(const remat_step *step, size_t index,
                                 remat_tensor_info *info) {
  if (!step || !info)
    return fail(REMAT_INVALID_ARGUMENT, "step or info is NULL");
  return query(step, step->table.arguments, index, info);
}

remat_status remat_step_result(const remat_step *step, size_t index,
                               remat_tensor_info *info) {
  if (!step || !info)
    return fail(REMAT_INVALID_ARGUMENT, "step or info is NULL");
  return query(step, step->table.results, index, info);
}

remat_status remat_step_entry(const remat_step *step, size_t index,
                              remat_entry_info *info) {
  if (!step || !info || index >= step->table.entries.size())
    return fail(REMAT_INVALID_ARGUMENT,
                "step or info is NULL, or index is out of range");
  const remat_entry &entry = step->table.entries[index];
  *info = {static_cast<remat_entry_kind>(entry.kind),
           entry.flags,
           entry.task,
           entry.original,
           entry.copy,
           entry.forward_index,
           step->table.string(entry.name),
           step->table.string(entry.location)};
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
    *stats = step ? step->stats : remat_step_stats();
}

const int64_t *remat_step_entry_times(const remat_step *step) {
  return step && !step->times.empty() ? step->times.data() : nullptr;
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
  }
  return "unknown status";
}
