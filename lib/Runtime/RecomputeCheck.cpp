//===- RecomputeCheck.cpp - originals against recomputations --------------===//
//
// Part of remat, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copies that a comparison needs are the step's own memory, not the arena:
// this is for finding mistakes, not for training.
//
//===----------------------------------------------------------------------===//

#include "RecomputeCheck.h"
#include "Elements.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

using namespace remat;

RecomputeCheck::RecomputeCheck(const Table &table)
    : table(table), originals(table.entries.size(), REMAT_NONE),
      isRepeated(table.entries.size()), hasRun(table.entries.size()),
      hashes(table.entries.size()), copies(table.entries.size()) {
  std::map<uint32_t, uint32_t> entryOfTask;
  for (uint32_t i = 0; i < table.entries.size(); ++i)
    entryOfTask.insert({table.entries[i].task, i});
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    auto original = entryOfTask.find(table.entries[i].original);
    if (table.entries[i].original == REMAT_NONE ||
        original == entryOfTask.end() || original->second >= i)
      continue;
    originals[i] = original->second;
    isRepeated[original->second] = true;
  }
}

bool RecomputeCheck::checkSizes(std::string &error) const {
  for (uint32_t i = 0; i < originals.size(); ++i) {
    if (originals[i] == REMAT_NONE)
      continue;
    const remat_entry &clone = table.entries[i];
    const remat_entry &original = table.entries[originals[i]];
    auto fail = [&](const std::string &what, uint64_t is, uint64_t expected) {
      error = table.describe(i) + " repeats " + table.describe(originals[i]) +
              " but " + what + " " + std::to_string(is) + ", expected " +
              std::to_string(expected);
      return false;
    };
    if (clone.result_count != original.result_count)
      return fail("the number of results is", clone.result_count,
                  original.result_count);
    for (uint32_t result = 0; result < clone.result_count; ++result) {
      uint64_t is = table.result(clone, result).used;
      uint64_t expected = table.result(original, result).used;
      if (is != expected)
        return fail("the bytes of result " + std::to_string(result) + " are",
                    is, expected);
    }
  }
  return true;
}

void RecomputeCheck::begin(bool comparesBits, bool tracesRun) {
  compares = comparesBits;
  traces = tracesRun;
  std::fill(hasRun.begin(), hasRun.end(), false);
}

/// FNV-1a over the bytes of the results.
uint64_t RecomputeCheck::hash(uint32_t index, void *const *buffers) const {
  const remat_entry &entry = table.entries[index];
  uint64_t value = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    auto *bytes =
        static_cast<const unsigned char *>(buffers[entry.operand_count + i]);
    for (uint64_t j = 0; j < table.result(entry, i).used; ++j)
      value = (value ^ bytes[j]) * UINT64_C(0x100000001b3);
  }
  return value;
}

void RecomputeCheck::keep(uint32_t index, void *const *buffers) {
  const remat_entry &entry = table.entries[index];
  copies[index].clear();
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    auto *bytes = static_cast<const char *>(buffers[entry.operand_count + i]);
    copies[index].insert(copies[index].end(), bytes,
                         bytes + table.result(entry, i).used);
  }
}

/// An element as text: its number, or its bytes if the type is not known.
static std::string printElement(int32_t dtype, const char *data) {
  char text[64];
  if (dtype == REMAT_F64) {
    double value;
    std::memcpy(&value, data, sizeof(value));
    std::snprintf(text, sizeof(text), "%.17g", value);
  } else if (dtype >= REMAT_F32 && dtype <= REMAT_BF16) {
    float value = 0;
    uint16_t half = 0;
    std::memcpy(&half, data, sizeof(half));
    if (dtype == REMAT_F32)
      std::memcpy(&value, data, sizeof(value));
    else
      value = dtype == REMAT_F16 ? f16ToFloat(half) : bf16ToFloat(half);
    std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  } else {
    int64_t value = 0;
    uint64_t bytes = std::max<uint64_t>(remat_dtype_bytes(dtype), 1);
    std::memcpy(&value, data, bytes);
    // Sign extension, on a little-endian machine.
    int shift = 64 - 8 * static_cast<int>(bytes);
    value =
        static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
    std::snprintf(text, sizeof(text), "%" PRId64, value);
  }
  return text;
}

bool RecomputeCheck::compare(uint32_t index, void *const *buffers,
                             std::string &error) const {
  const remat_entry &entry = table.entries[index];
  const char *before = copies[originals[index]].data();
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    const remat_buffer &result = table.result(entry, i);
    auto *now = static_cast<const char *>(buffers[entry.operand_count + i]);
    uint64_t differs = static_cast<uint64_t>(
        std::mismatch(now, now + result.used, before).first - now);
    if (differs < result.used) {
      uint64_t size = std::max<uint64_t>(remat_dtype_bytes(result.dtype), 1);
      uint64_t element = differs / size;
      error = table.describe(index) + " repeats " +
              table.describe(originals[index]) + " with other bits: element " +
              std::to_string(element) + " of result " + std::to_string(i) +
              " was " + printElement(result.dtype, before + element * size) +
              " and is " + printElement(result.dtype, now + element * size);
      return false;
    }
    before += result.used;
  }
  return true;
}

bool RecomputeCheck::observe(uint32_t index, void *const *buffers,
                             std::string &error) {
  bool repeats = originals[index] != REMAT_NONE;
  if (!repeats && !isRepeated[index])
    return true;
  if (traces)
    hashes[index] = hash(index, buffers);
  hasRun[index] = true;
  if (!compares)
    return true;
  if (repeats)
    return compare(index, buffers, error);
  keep(index, buffers);
  return true;
}

std::string RecomputeCheck::trace() const {
  auto describe = [&](uint32_t index) {
    char text[32];
    std::snprintf(text, sizeof(text), " [%016" PRIx64 "]", hashes[index]);
    return table.describe(index) + (hasRun[index] ? text : " [did not run]");
  };
  std::string text = "forward | recomputation\n";
  for (uint32_t i = 0; i < originals.size(); ++i) {
    uint32_t original = originals[i];
    if (original == REMAT_NONE)
      continue;
    bool differs = hasRun[i] && hashes[i] != hashes[original];
    text +=
        describe(original) + (differs ? " != " : " | ") + describe(i) + "\n";
  }
  return text;
}
