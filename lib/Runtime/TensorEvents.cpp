//===- TensorEvents.cpp - tensors that come and go during a call ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A caller may give results their memory when a call first writes there, and
// release arguments, and results of earlier calls, when it has read them. So
// the gradients of a step need not all be there beside the cotangents that it
// begins with.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include <algorithm>

using namespace remat;

/// Finds when each call first uses each result, and when it last uses what it
/// only reads.
void remat_step::findTensorEvents() {
  if (callCount() < 2)
    return;
  const uint32_t unused = REMAT_NONE;
  for (size_t call = 0; call < callCount(); ++call) {
    std::vector<TensorEvent> begins(table.results.size(), {unused, true, 0, 0});
    std::vector<TensorEvent> ends(table.arguments.size(),
                                  {unused, false, 0, false});
    std::vector<TensorEvent> resultEnds = begins;
    for (uint32_t i = table.callBegins[call]; i < table.callBegins[call + 1];
         ++i) {
      const remat_entry &entry = table.entries[i];
      auto use = [&](const remat_buffer &buffer) {
        bool isResult = buffer.space == REMAT_SPACE_RESULT;
        if (!isResult && buffer.space != REMAT_SPACE_ARGUMENT)
          return;
        TensorEvent &end = (isResult ? resultEnds : ends)[buffer.index];
        bool isBesideToo = entry.stream != REMAT_STREAM_COMPUTE || end.isBeside;
        end = {i, isResult, buffer.index, isBesideToo};
        if (isResult && begins[buffer.index].entry == unused)
          begins[buffer.index] = end;
      };
      for (uint32_t k = 0; k < entry.operand_count + entry.result_count; ++k)
        use(table.operand(entry, k));
      if (entry.workspace != REMAT_NONE)
        use(table.buffers[entry.workspace]);
    }
    for (uint32_t i = 0; i < table.results.size(); ++i) {
      const Usage &usage = resultUsage[i];
      auto now = usage.written.begin() + static_cast<ptrdiff_t>(call);
      if (usage.written[call] || begins[i].entry == unused ||
          std::find(usage.written.begin(), now, true) == now)
        resultEnds[i].entry = unused;
    }
    auto keep = [&](std::vector<TensorEvent> &all,
                    const std::vector<TensorEvent> &found) {
      std::copy_if(
          found.begin(), found.end(), std::back_inserter(all),
          [&](const TensorEvent &event) { return event.entry != unused; });
    };
    keep(resultBegins, begins);
    keep(tensorEnds, ends);
    keep(tensorEnds, resultEnds);
  }
  auto isEarlier = [](const TensorEvent &a, const TensorEvent &b) {
    return std::tie(a.entry, a.isResult, a.tensor) <
           std::tie(b.entry, b.isResult, b.tensor);
  };
  std::sort(resultBegins.begin(), resultBegins.end(), isEarlier);
  std::sort(tensorEnds.begin(), tensorEnds.end(), isEarlier);
  resultPointers.resize(table.results.size());
  for (const Supplied &place : supplied) {
    const remat_buffer &buffer = table.buffers[place.buffer];
    if (buffer.space == REMAT_SPACE_RESULT)
      resultPointers[buffer.index].push_back(place);
  }
}

/// Prepares the current run, before its tensors are checked.
void remat_step::beginTensorEvents(const remat_state *state,
                                   size_t resultCount) {
  events = state ? state->events : nullptr;
  if (!events)
    return;
  eventResults.assign(currentResults,
                      currentResults + (currentResults ? resultCount : 0));
  if (currentResults)
    currentResults = eventResults.data();
  auto first = [&](const std::vector<TensorEvent> &all) {
    auto isBefore = [](const TensorEvent &event, uint32_t entry) {
      return event.entry < entry;
    };
    return static_cast<size_t>(std::lower_bound(all.begin(), all.end(),
                                                table.callBegins[currentCall],
                                                isBefore) -
                               all.begin());
  };
  nextBegin = first(resultBegins);
  nextEnd = first(tensorEnds);
}

/// Whether the caller is to be asked for the memory of a result. One that has
/// the buffer of an argument must be given with it, and one that an earlier
/// call has written is read.
bool remat_step::isAwaited(size_t result) const {
  const std::vector<bool> &used = resultUsage[result].used;
  auto now = used.begin() + static_cast<ptrdiff_t>(currentCall);
  return events && events->provide && !currentResults[result].data &&
         table.results[result].donation == REMAT_NONE &&
         std::find(used.begin(), now, true) == now;
}

remat_status remat_step::provideResult(uint32_t result) {
  uint64_t bytes = table.bytesOf(table.results[result]);
  if (bytes == 0 || !isAwaited(result))
    return REMAT_OK;
  std::string name = "result " + std::to_string(result) + " '" +
                     table.string(table.results[result].name) + "'";
  void *data = events->provide(events->user, result);
  if (!data) {
    error = name + " got no memory of " + std::to_string(bytes) + " bytes";
    return REMAT_OUT_OF_MEMORY;
  }
  if (!checkPlace(name, data))
    return REMAT_INVALID_ARGUMENT;
  auto begin = reinterpret_cast<uintptr_t>(data);
  for (const Range &range : ranges) {
    if (begin >= range.end || range.begin >= begin + bytes)
      continue;
    error = name + " got memory that overlaps " + describeRange(range);
    return REMAT_INVALID_ARGUMENT;
  }
  ranges.push_back({begin, begin + bytes, true, true, result});
  if (!checkBesideScratch(ranges.back()))
    return REMAT_INVALID_ARGUMENT;
  eventResults[result].data = data;
  for (const Supplied &place : resultPointers[result])
    pointers[place.pointer] = address(table.buffers[place.buffer]);
  return REMAT_OK;
}

/// Asks for the results that an entry is the first to use.
remat_status remat_step::provideResults(uint32_t entry) {
  for (; nextBegin < resultBegins.size() &&
         resultBegins[nextBegin].entry == entry;
       ++nextBegin)
    if (remat_status status = provideResult(resultBegins[nextBegin].tensor))
      return status;
  return REMAT_OK;
}

/// Releases the tensors that an entry was the last to read.
void remat_step::releaseTensors(uint32_t entry) {
  for (; nextEnd < tensorEnds.size() && tensorEnds[nextEnd].entry == entry;
       ++nextEnd) {
    const TensorEvent &event = tensorEnds[nextEnd];
    bool isResult = event.isResult;
    auto *release = isResult ? events->release_result : events->release;
    const auto &list = isResult ? table.results : table.arguments;
    const auto *given = isResult ? currentResults : currentArguments;
    if (!release || !given[event.tensor].data ||
        list[event.tensor].donation != REMAT_NONE)
      continue;
    if (event.isBeside && isBeside)
      copyStreams.drain();
    auto isReleased = [&](const Range &range) {
      return range.isResult == isResult && range.index == event.tensor;
    };
    ranges.erase(std::remove_if(ranges.begin(), ranges.end(), isReleased),
                 ranges.end());
    release(events->user, event.tensor);
  }
}

/// Of a device, whose work goes on behind this thread.
remat_status remat_step::provideAll() {
  for (uint32_t i = table.callBegins[currentCall];
       events && i < table.callBegins[currentEnd]; ++i)
    if (remat_status status = provideResults(i))
      return status;
  return REMAT_OK;
}

void remat_step::releaseAll() {
  for (uint32_t i = table.callBegins[currentCall];
       events && i < table.callBegins[currentEnd]; ++i)
    releaseTensors(i);
}
