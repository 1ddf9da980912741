//===- RecomputeCheck.cpp - originals against recomputations --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copies that a comparison needs are not in the arena, but in memory of the
// step or, between calls, of the caller: this is for finding mistakes, not for
// training.
//
//===----------------------------------------------------------------------===//

#include "RecomputeCheck.h"
#include "Elements.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>

using namespace remat;

RecomputeCheck::RecomputeCheck(const Table &table)
    : table(table), originals(table.entries.size(), REMAT_NONE),
      isRepeated(table.entries.size()), records(table.entries.size()),
      copies(table.entries.size()) {
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
  for (uint32_t i = 0; i < table.entries.size(); ++i)
    if (originals[i] != REMAT_NONE || isRepeated[i]) {
      records[i] = recordBytes;
      recordBytes += sizeof(Record);
    }
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    const remat_entry &entry = table.entries[i];
    copies[i] = recordBytes + copyBytes;
    for (uint32_t j = 0; isRepeated[i] && j < entry.result_count; ++j)
      copyBytes += table.result(entry, j).used;
  }
}

uint64_t RecomputeCheck::bytes(bool comparesBits) const {
  return recordBytes + (comparesBits ? copyBytes : 0);
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

void RecomputeCheck::begin(char *given, bool comparesBits, bool tracesRun,
                           bool isFirst) {
  compares = comparesBits;
  traces = tracesRun;
  written = 0;
  memory = given;
  if (!given && (compares || traces)) {
    ownMemory.resize(bytes(compares));
    memory = ownMemory.data();
  }
  if (isFirst && memory)
    std::memset(memory, 0, recordBytes);
}

RecomputeCheck::Record RecomputeCheck::get(uint32_t entry) const {
  Record record;
  std::memcpy(&record, memory + records[entry], sizeof(record));
  return record;
}

/// FNV-1a over the bytes of the results.
uint64_t RecomputeCheck::hash(uint32_t index, void *const *buffers) const {
  const remat_entry &entry = table.entries[index];
  uint64_t value = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    auto *bytes =
        static_cast<const unsigned char *>(buffers[entry.operand_count + i]);
    forEachRow(table.result(entry, i), [&](uint64_t offset, uint64_t size) {
      for (uint64_t j = offset; j < offset + size; ++j)
        value = (value ^ bytes[j]) * UINT64_C(0x100000001b3);
      return true;
    });
  }
  return value;
}

void RecomputeCheck::keep(uint32_t index, void *const *buffers) {
  const remat_entry &entry = table.entries[index];
  char *copy = memory + copies[index];
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    uint64_t bytes = table.result(entry, i).used;
    if (bytes > 0)
      std::memcpy(copy, buffers[entry.operand_count + i], bytes);
    copy += bytes;
    written += bytes;
  }
}

/// An element as text: its number, or its bytes if the type is not known.
static std::string printElement(int32_t dtype, const char *data) {
  char text[64];
  if (dtype == REMAT_C64 || dtype == REMAT_C128) {
    int32_t part = dtype == REMAT_C64 ? REMAT_F32 : REMAT_F64;
    return "(" + printElement(part, data) + ", " +
           printElement(part, data + remat_dtype_bytes(part)) + ")";
  }
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
  const char *before = memory + copies[originals[index]];
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    const remat_buffer &result = table.result(entry, i);
    auto *now = static_cast<const char *>(buffers[entry.operand_count + i]);
    uint64_t size = std::max<uint64_t>(remat_dtype_bytes(result.dtype), 1);
    // Elements are counted without what is between rows.
    uint64_t elements = 0;
    bool isEqual = true;
    forEachRow(result, [&](uint64_t offset, uint64_t bytes) {
      const char *row = now + offset, *rowBefore = before + offset;
      auto differs = static_cast<uint64_t>(
          std::mismatch(row, row + bytes, rowBefore).first - row);
      isEqual = differs == bytes;
      if (isEqual) {
        elements += bytes / size;
        return true;
      }
      uint64_t at = differs / size * size;
      error = table.describe(index) + " repeats " +
              table.describe(originals[index]) + " with other bits: element " +
              std::to_string(elements + differs / size) + " of result " +
              std::to_string(i) + " was " +
              printElement(result.dtype, rowBefore + at) + " and is " +
              printElement(result.dtype, row + at);
      return false;
    });
    if (!isEqual)
      return false;
    before += result.used;
  }
  return true;
}

bool RecomputeCheck::observe(uint32_t index, void *const *buffers,
                             std::string &error) {
  bool repeats = originals[index] != REMAT_NONE;
  if (!repeats && !isRepeated[index])
    return true;
  Record record = {traces ? hash(index, buffers) : 0, 1};
  std::memcpy(memory + records[index], &record, sizeof(record));
  written += sizeof(record);
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
    std::snprintf(text, sizeof(text), " [%016" PRIx64 "]", get(index).hash);
    return table.describe(index) +
           (get(index).hasRun ? text : " [did not run]");
  };
  std::string text = "forward | recomputation\n";
  for (uint32_t i = 0; i < originals.size(); ++i) {
    uint32_t original = originals[i];
    if (original == REMAT_NONE)
      continue;
    bool differs = get(i).hasRun && get(original).hasRun &&
                   get(i).hash != get(original).hash;
    text +=
        describe(original) + (differs ? " != " : " | ") + describe(i) + "\n";
  }
  return text;
}
