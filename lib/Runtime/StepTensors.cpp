//===- StepTensors.cpp - what the caller gives to a step ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the arguments and results of a step, and checks the tensors and the
// state of a run before any entry uses them.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include <algorithm>

using namespace remat;

static std::string typeText(int32_t dtype, int64_t rank, const int64_t *dims) {
  std::string text;
  for (int64_t i = 0; i < rank; ++i)
    text += std::to_string(dims[i]) + "x";
  return "'" + text + remat_dtype_name(dtype) + "'";
}

remat_tensor_info remat_step::describe(const remat_signature &signature,
                                       const Usage &usage) const {
  const int64_t *dims = table.dims.data() + signature.dims;
  remat_tensor_info info = {table.string(signature.name),
                            static_cast<remat_dtype>(signature.dtype),
                            static_cast<int32_t>(signature.rank),
                            dims,
                            0,
                            REMAT_NONE,
                            REMAT_NONE,
                            signature.flags,
                            signature.donation,
                            REMAT_NO_PLACE};
  tensorBytes(signature.dtype, dims, signature.rank, info.bytes);
  for (uint32_t call = 0; call < callCount(); ++call) {
    if (!usage.used[call])
      continue;
    info.first_call = std::min(info.first_call, call);
    info.last_call = call;
  }
  return info;
}

remat_tensor_info remat_step::describeArgument(size_t index) const {
  return describe(table.arguments[index], argumentUsage[index]);
}

remat_tensor_info remat_step::describeResult(size_t index) const {
  remat_tensor_info info = describe(table.results[index], resultUsage[index]);
  info.state_offset = resultPlaces[index];
  return info;
}

bool remat_step::checkTensor(const std::string &name,
                             const remat_tensor &tensor,
                             const remat_tensor_info &info, bool isAwaited) {
  if (tensor.rank < 0 || (tensor.rank > 0 && !tensor.dims)) {
    error = name + " has no dims";
    return false;
  }
  // Dimensions are read of a rank that is right: others may not be there.
  if (tensor.rank != info.rank) {
    error = name + " is a tensor of rank " + std::to_string(tensor.rank) +
            ", expected " + typeText(info.dtype, info.rank, info.dims);
    return false;
  }
  if (tensor.dtype != info.dtype ||
      !std::equal(info.dims, info.dims + info.rank, tensor.dims)) {
    error = name + " is a tensor " +
            typeText(tensor.dtype, tensor.rank, tensor.dims) + ", expected " +
            typeText(info.dtype, info.rank, info.dims);
    return false;
  }
  if (info.bytes > 0 && !tensor.data && !isAwaited) {
    error = name + " has no data";
    return false;
  }
  return true;
}

/// Checks that truth values are 0 or 1: of another byte, one kernel may read
/// the last bit and the next whether it is 0. It costs one pass over tensors
/// of bytes, which the step reads anyway.
bool remat_step::checkBools(const std::string &name, const remat_tensor &tensor,
                            uint64_t bytes) {
  const auto *data = static_cast<const unsigned char *>(tensor.data);
  unsigned char all = 0;
  for (uint64_t i = 0; i < bytes; ++i)
    all |= data[i];
  if (all <= 1)
    return true;
  uint64_t first = 0;
  while (data[first] <= 1)
    ++first;
  error = name + " has the byte " + std::to_string(data[first]) +
          " as element " + std::to_string(first) +
          " of type 'i1', expected 0 or 1";
  return false;
}

bool remat_step::isAmongCalls(const std::vector<bool> &calls) const {
  return std::find(calls.begin() + currentCall, calls.begin() + currentEnd,
                   true) != calls.begin() + currentEnd;
}

bool remat_step::isNeeded(const Usage &usage) const {
  return needsAllTensors || isAmongCalls(usage.used);
}

/// Checks that an argument that gives its buffer to a result is in the same
/// place.
bool remat_step::checkDonations() {
  for (size_t i = 0; i < table.arguments.size(); ++i) {
    uint32_t result = table.arguments[i].donation;
    if (result == REMAT_NONE || !isNeeded(argumentUsage[i]) ||
        !isNeeded(resultUsage[result]) ||
        currentArguments[i].data == currentResults[result].data)
      continue;
    if (describeArgument(i).bytes == 0)
      continue;
    error = "argument " + std::to_string(i) + " '" +
            table.string(table.arguments[i].name) + "' and result " +
            std::to_string(result) + " '" +
            table.string(table.results[result].name) +
            "' have different data, expected the same: the argument gives its "
            "buffer to the result";
    return false;
  }
  return true;
}

bool remat_step::checkTensors(const char *what, const remat_tensor *tensors,
                              size_t count,
                              const std::vector<remat_signature> &signatures,
                              const std::vector<Usage> &usages) {
  if (count != signatures.size() || (count > 0 && !tensors)) {
    error = "step got " + std::to_string(count) + " " + what + "s" +
            (count > 0 && !tensors ? " at NULL" : "") + ", expected " +
            std::to_string(signatures.size());
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!isNeeded(usages[i]))
      continue;
    remat_tensor_info info = describe(signatures[i], usages[i]);
    std::string name =
        what + (" " + std::to_string(i)) + " '" + info.name + "'";
    bool isResult = &usages == &resultUsage;
    bool isLater = isResult && isAwaited(i);
    if (!checkTensor(name, tensors[i], info, isLater))
      return false;
    if (info.bytes == 0 || isLater)
      continue;
    if (!checkPlace(name, tensors[i].data))
      return false;
    if (info.dtype == REMAT_I1 && tensors == currentArguments &&
        isHostMemory(tensors[i].data) &&
        !checkBools(name, tensors[i], info.bytes))
      return false;
    // The range of an argument is that of the result that has its buffer.
    if (!isResult && info.donation != REMAT_NONE &&
        isNeeded(resultUsage[info.donation]))
      continue;
    auto begin = reinterpret_cast<uintptr_t>(tensors[i].data);
    ranges.push_back({begin, begin + info.bytes, isResult,
                      isResult && isAmongCalls(usages[i].written),
                      static_cast<uint32_t>(i)});
  }
  return true;
}

std::string remat_step::describeRange(const Range &range) const {
  const auto &list = range.isResult ? table.results : table.arguments;
  return std::string(range.isResult ? "result " : "argument ") +
         std::to_string(range.index) + " '" +
         table.string(list[range.index].name) + "'";
}

bool remat_step::checkOverlaps() {
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.written, a.index) <
           std::tie(b.begin, b.written, b.index);
  });
  // The ranges seen so far that reach furthest: of all, and of those written.
  const Range *furthest = nullptr, *written = nullptr;
  for (const Range &range : ranges) {
    const Range *before = range.written ? furthest : written;
    if (before && range.begin < before->end) {
      bool first = range.written;
      error = describeRange(first ? range : *before) + " overlaps " +
              describeRange(first ? *before : range);
      return false;
    }
    if (!furthest || range.end > furthest->end)
      furthest = &range;
    if (range.written && (!written || range.end > written->end))
      written = &range;
  }
  return true;
}

bool remat_step::checkState(size_t call, const remat_state &state) {
  auto fits = [&](const char *what, const void *data, uint64_t bytes,
                  uint64_t expected, uint64_t alignment = REMAT_ALIGNMENT) {
    if (expected == 0)
      return true;
    if (!data || bytes < expected) {
      error = std::string(what) + " has " + std::to_string(data ? bytes : 0) +
              " bytes, expected at least " + std::to_string(expected);
      return false;
    }
    uint64_t skew = reinterpret_cast<uintptr_t>(data) % alignment;
    if (skew != 0)
      error = std::string(what) + " is " + std::to_string(skew) +
              " bytes past a multiple of " + std::to_string(alignment) +
              ", expected it to be aligned";
    return skew == 0;
  };
  if (call > 0 && state.calls != call) {
    error = "backward call " + std::to_string(call - 1) +
            " was made with a state after " +
            (state.calls == 0
                 ? std::string("no forward call")
                 : std::to_string(state.calls - 1) +
                       " backward calls, expected " + std::to_string(call - 1));
    return false;
  }
  bool isHere = isHostMemory(state.data);
  return checkPlace("state", state.data) &&
         fits("state", state.data, state.bytes, table.header.state_bytes,
              isHere ? REMAT_ALIGNMENT : REMAT_DEVICE_ALIGNMENT) &&
         fits("state's host memory", state.host, state.host_bytes,
              table.header.host_bytes) &&
         fits("state's memory for checks", state.check, state.check_bytes,
              checkBytes());
}

bool remat_step::isStateInPlace() {
  // Of a device, a state of the host is only copied.
  return currentState && currentState->data &&
         isHostMemory(currentState->data) == !device;
}

/// Finds the memory that the calls of a run write beside the results and the
/// state, and checks that nothing of it overlaps another part or the state.
bool remat_step::checkScratch() {
  scratch.clear();
  auto add = [&](const char *name, const void *data, uint64_t begin,
                 uint64_t end) {
    auto address = reinterpret_cast<uintptr_t>(data);
    if (data && begin < end)
      scratch.push_back({address + begin, address + end, name});
  };
  const remat_step_header &header = table.header;
  // A state in place is none of the arena, whose first bytes may be it.
  add("the arena", arena.get(), isStateInPlace() ? header.state_bytes : 0,
      header.arena_bytes);
  const bool isGiven = currentState && currentState->host;
  add(isGiven ? "the state's host memory" : "the host arena",
      isGiven ? currentState->host : host.get(), 0, header.host_bytes);
  if (!currentState)
    return true;
  add("the state's memory for checks", currentState->check, 0, checkBytes());
  std::vector<Scratch> parts = scratch;
  auto state = reinterpret_cast<uintptr_t>(currentState->data);
  if (state && header.state_bytes > 0)
    parts.push_back({state, state + header.state_bytes, "the state"});
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (parts[i].begin < parts[j].end && parts[j].begin < parts[i].end) {
        error = std::string(parts[i].name) + " overlaps " + parts[j].name;
        return false;
      }
  return true;
}

bool remat_step::checkBesideScratch(const Range &range) {
  for (const Scratch &part : scratch)
    if (range.begin < part.end && part.begin < range.end) {
      error = describeRange(range) + " overlaps " + part.name +
              ", expected it elsewhere";
      return false;
    }
  if (!currentState || table.header.state_bytes == 0)
    return true;
  auto begin = reinterpret_cast<uintptr_t>(currentState->data);
  if (range.end <= begin || range.begin >= begin + table.header.state_bytes)
    return true;
  uint64_t place = range.isResult && isStateInPlace()
                       ? resultPlaces[range.index]
                       : REMAT_NO_PLACE;
  if (place != REMAT_NO_PLACE && range.begin == begin + place)
    return true;
  error = describeRange(range) + " overlaps the state, expected it " +
          (place == REMAT_NO_PLACE
               ? std::string("elsewhere")
               : "elsewhere, or at byte " + std::to_string(place) + " of it");
  return false;
}
