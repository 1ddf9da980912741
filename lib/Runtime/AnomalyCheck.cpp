//===- AnomalyCheck.cpp - the first NaN or infinity -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What entries write is read once, at the speed of memory: blocks of numbers
// are looked through without a branch, and only blocks that have something are
// read again. Operands are read where a result has something, and those that
// are overwritten before the entry runs.
//
//===----------------------------------------------------------------------===//

#include "AnomalyCheck.h"
#include "Threads.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace remat;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// The format of a floating-point type of the same size as `Bits`: `infinity`
/// is its bits without the sign, and a NaN has a greater pattern.
template <typename Bits>
struct Format {
  Bits infinity;

  static constexpr Bits withoutSign = Bits(~Bits(0)) >> 1;
  /// Fits the first level of a cache; the compiler knows the number.
  static constexpr uint64_t block = 4096 / sizeof(Bits);

  Bits load(const char *data, uint64_t index) const {
    Bits bits;
    std::memcpy(&bits, data + index * sizeof(Bits), sizeof(Bits));
    return bits & withoutSign;
  }

  /// The largest pattern of `count` numbers.
  Bits findLargest(const char *data, uint64_t count) const {
    Bits largest = 0;
    if (count == block) {
      for (uint64_t i = 0; i < block; ++i)
        largest = std::max(largest, load(data, i));
      return largest;
    }
    for (uint64_t i = 0; i < count; ++i)
      largest = std::max(largest, load(data, i));
    return largest;
  }

  NonFinite find(const char *data, uint64_t begin, uint64_t end) const {
    NonFinite found;
    for (; begin < end && !(found.nan && found.infinity); begin += block) {
      uint64_t count = std::min(block, end - begin);
      Bits largest = findLargest(data + begin * sizeof(Bits), count);
      if (largest < infinity)
        continue;
      for (uint64_t i = begin; i < begin + count; ++i) {
        Bits bits = load(data, i);
        if (bits == infinity && !found.infinity)
          found.infinity = i;
        if (bits > infinity && !found.nan)
          found.nan = i;
      }
    }
    return found;
  }
};
} // namespace

template <typename Bits>
static NonFinite findIn(const void *data, uint64_t bytes, Bits infinity,
                        int threads) {
  // A thread reads a megabyte in less time than it takes to wake another.
  constexpr int64_t grain = (1 << 20) / sizeof(Bits);
  Format<Bits> format{infinity};
  NonFinite found;
  std::mutex mutex;
  parallelFor(threads, static_cast<int64_t>(bytes / sizeof(Bits)), grain,
              [&](int64_t begin, int64_t end, int) {
                NonFinite part = format.find(static_cast<const char *>(data),
                                             static_cast<uint64_t>(begin),
                                             static_cast<uint64_t>(end));
                auto keepFirst = [](auto &first, const auto &other) {
                  if (other && (!first || *other < *first))
                    first = other;
                };
                std::lock_guard<std::mutex> lock(mutex);
                keepFirst(found.nan, part.nan);
                keepFirst(found.infinity, part.infinity);
              });
  return found;
}

NonFinite remat::findNonFinite(const void *data, uint64_t bytes, int32_t dtype,
                               int threads) {
  auto halve = [](NonFinite parts) {
    for (auto *element : {&parts.nan, &parts.infinity})
      if (*element)
        **element /= 2;
    return parts;
  };
  switch (dtype) {
  case REMAT_F16:
    return findIn(data, bytes, uint16_t(0x7c00), threads);
  case REMAT_BF16:
    return findIn(data, bytes, uint16_t(0x7f80), threads);
  case REMAT_F32:
    return findIn(data, bytes, uint32_t(0x7f800000), threads);
  case REMAT_F64:
    return findIn(data, bytes, uint64_t(0x7ff) << 52, threads);
  case REMAT_C64:
    return halve(findNonFinite(data, bytes, REMAT_F32, threads));
  case REMAT_C128:
    return halve(findNonFinite(data, bytes, REMAT_F64, threads));
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// As many operations are named as a reader can look at.
static constexpr size_t mostNamed = 4;

/// As many messages are kept of a run: what is wrong everywhere has one cause.
static constexpr size_t mostReports = 16;

/// Whether numbers of this type can be infinite.
static bool hasNonFinite(int32_t dtype) {
  return (dtype >= REMAT_F32 && dtype <= REMAT_BF16) || dtype == REMAT_C64 ||
         dtype == REMAT_C128;
}

/// Whether an entry only moves what another one wrote. A loop is looked at
/// within, where its body's entries run.
static bool onlyMoves(const remat_entry &entry) {
  return entry.kind == REMAT_ENTRY_COPY || entry.kind == REMAT_ENTRY_RELEASE ||
         entry.kind == REMAT_ENTRY_LOOP;
}

void AnomalyCheck::begin() {
  text.clear();
  messages.clear();
  passedOn = 0;
  std::fill(isReported.begin(), isReported.end(), false);
}

NonFinite AnomalyCheck::find(const remat_buffer &buffer,
                             const void *data) const {
  if (!hasNonFinite(buffer.dtype) || buffer.used == 0)
    return {};
  const auto *bytes = static_cast<const char *>(read(data, buffer.used));
  NonFinite found;
  if (!bytes)
    return found;
  // Elements are counted without what is between rows.
  uint64_t elements = 0;
  forEachRow(buffer, [&](uint64_t offset, uint64_t size) {
    NonFinite part = findNonFinite(bytes + offset, size, buffer.dtype, threads);
    auto keepFirst = [&](auto &first, const auto &other) {
      if (other && !first)
        first = elements + *other;
    };
    keepFirst(found.nan, part.nan);
    keepFirst(found.infinity, part.infinity);
    elements += size / remat_dtype_bytes(buffer.dtype);
    return !(found.nan && found.infinity);
  });
  return found;
}

AnomalyCheck::Kinds AnomalyCheck::look(const remat_buffer &buffer,
                                       const void *data) const {
  NonFinite found = find(buffer, data);
  return {found.nan.has_value(), found.infinity.has_value()};
}

void AnomalyCheck::enter(uint32_t index, void *const *buffers) {
  const remat_entry &entry = table.entries[index];
  overwritten = {};
  isOverwritten.assign(entry.operand_count, false);
  if (onlyMoves(entry))
    return;
  auto range = [&](uint32_t use) {
    auto begin = reinterpret_cast<uintptr_t>(buffers[use]);
    return std::make_pair(begin, begin + table.operand(entry, use).used);
  };
  for (uint32_t i = 0; i < entry.operand_count; ++i) {
    auto [begin, end] = range(i);
    for (uint32_t j = 0; j < entry.result_count; ++j) {
      auto [resultBegin, resultEnd] = range(entry.operand_count + j);
      if (begin >= resultEnd || resultBegin >= end)
        continue;
      isOverwritten[i] = true;
      Kinds kinds = look(table.operand(entry, i), buffers[i]);
      overwritten.nan |= kinds.nan;
      overwritten.infinity |= kinds.infinity;
      break;
    }
  }
}

/// What the entry read, with the constants in its operation.
AnomalyCheck::Kinds AnomalyCheck::lookAtOperands(uint32_t index,
                                                 void *const *buffers) const {
  const remat_entry &entry = table.entries[index];
  if (entry.kind == REMAT_ENTRY_UNPACK)
    return packed[entry.callee];
  Kinds read = overwritten;
  read.nan |= (entry.flags & REMAT_ENTRY_WRITES_NAN) != 0;
  read.infinity |= (entry.flags & REMAT_ENTRY_WRITES_INFINITY) != 0;
  for (uint32_t i = 0; i < entry.operand_count && !read.nan; ++i) {
    if (isOverwritten[i])
      continue;
    Kinds kinds = look(table.operand(entry, i), buffers[i]);
    read.nan |= kinds.nan;
    read.infinity |= kinds.infinity;
  }
  return read;
}

/// The lines of `text` that begin with one of `letters`, without that.
static std::vector<std::string> findLines(const std::string &text,
                                          const char *letters) {
  std::vector<std::string> found;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > 2 && std::strchr(letters, text[begin]))
      found.push_back(text.substr(begin + 2, end - begin - 2));
    begin = end + 1;
  }
  return found;
}

std::string AnomalyCheck::describe(uint32_t index, uint32_t result,
                                   uint64_t element, bool isNan) const {
  const remat_entry &entry = table.entries[index];
  std::string message = isNan ? "NaN" : "infinity";
  message += " in element " + std::to_string(element) + " of result " +
             std::to_string(result) + " of " + table.describe(index);
  const std::string origins = table.string(entry.origins);
  for (const std::string &layers : findLines(origins, "l"))
    message += " of " + layers;
  if (entry.flags & REMAT_ENTRY_RECOMPUTE)
    message += ", a recomputation";
  else if (entry.flags & REMAT_ENTRY_UPDATE)
    message += ", an update of the optimizer";
  else if (entry.flags & REMAT_ENTRY_BACKWARD)
    message += ", backward";
  // A NaN may also be of an infinity that only the operation has seen.
  std::vector<std::string> makers = findLines(origins, isNan ? "bn" : "bi");
  if (makers.empty() || !isNan) {
    std::vector<std::string> others = findLines(origins, isNan ? "io" : "o");
    makers.insert(makers.end(), others.begin(), others.end());
  }
  if (makers.empty())
    return message;
  message += makers.size() == 1 ? ": made by " : ": made by one of ";
  for (size_t i = 0; i < makers.size() && i < mostNamed; ++i)
    message += (i ? "; " : "") + makers[i];
  if (makers.size() > mostNamed)
    message += "; and " + std::to_string(makers.size() - mostNamed) + " more";
  return message;
}

bool AnomalyCheck::leave(uint32_t index, void *const *buffers,
                         std::string &message) {
  const remat_entry &entry = table.entries[index];
  if (onlyMoves(entry))
    return true;
  if (entry.kind == REMAT_ENTRY_PACK) {
    packed[entry.callee] = look(table.operand(entry, 0), buffers[0]);
    return true;
  }
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    const remat_buffer &result = table.result(entry, i);
    NonFinite found = find(result, buffers[entry.operand_count + i]);
    if (!found.nan && !found.infinity)
      continue;
    Kinds read = lookAtOperands(index, buffers);
    bool isNan = found.nan && !read.nan;
    if (!isNan && (!found.infinity || read.infinity || read.nan))
      continue;
    message = describe(index, i, isNan ? *found.nan : *found.infinity, isNan);
    return false;
  }
  return true;
}

void AnomalyCheck::report(uint32_t entry, const std::string &message) {
  if (isReported[entry])
    return;
  isReported[entry] = true;
  keep(message);
}

void AnomalyCheck::passOn(AnomalyCheck &body, const std::string &place) {
  for (; body.passedOn < body.messages.size(); ++body.passedOn)
    keep(place + body.messages[body.passedOn]);
}

void AnomalyCheck::keep(std::string message) {
  if (messages.size() >= mostReports)
    return;
  text += message + "\n";
  messages.push_back(std::move(message));
}
