//===- CopyStreams.cpp - threads that copy beside the computation ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a thread has to do is known when the step is loaded, so there is no
// queue: two counters for each stream say how far it may go and how far it is.
//
//===----------------------------------------------------------------------===//

#include "CopyStreams.h"

#include "QuietThread.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace remat;

namespace {
struct CopyStream {
  /// In their order.
  std::vector<uint32_t> entries;
  /// How many of them may have begun, and how many have ended.
  size_t passed = 0, ended = 0;
  std::condition_variable work;
  std::thread thread;
};
} // namespace

struct CopyStreams::State {
  State(const Table &table, std::function<void(uint32_t)> copy)
      : table(table), copy(std::move(copy)) {}

  void serve(CopyStream &stream);
  bool hasEnded(uint32_t entry) const {
    const CopyStream &stream = streams[table.entries[entry].stream];
    return stream.ended > places[entry];
  }

  const Table &table;
  std::function<void(uint32_t)> copy;
  pid_t process = getpid();
  std::mutex mutex; // for all that follows but `entries` and `places`
  std::condition_variable end;
  bool isStopping = false;
  CopyStream streams[REMAT_STREAM_COUNT];
  /// Of each copy, how many of its stream are before it.
  std::vector<size_t> places;
};

void CopyStreams::State::serve(CopyStream &stream) {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    stream.work.wait(
        lock, [&] { return isStopping || stream.passed > stream.ended; });
    if (stream.passed == stream.ended)
      return;
    uint32_t index = stream.entries[stream.ended];
    const remat_entry &entry = table.entries[index];
    for (uint32_t i = 0; i < entry.wait_count; ++i) {
      uint32_t other = table.waits[entry.first_wait + i];
      if (table.entries[other].stream != REMAT_STREAM_COMPUTE)
        end.wait(lock, [&] { return hasEnded(other); });
    }
    lock.unlock();
    copy(index);
    lock.lock();
    ++stream.ended;
    end.notify_all();
  }
}

CopyStreams::~CopyStreams() {
  if (!state || state->process != getpid())
    return;
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->isStopping = true;
  }
  for (CopyStream &stream : state->streams) {
    stream.work.notify_all();
    if (stream.thread.joinable())
      stream.thread.join();
  }
  delete state;
}

bool CopyStreams::start(const Table &table, std::function<void(uint32_t)> copy,
                        std::string &message) {
  if (std::all_of(table.entries.begin(), table.entries.end(),
                  [](const remat_entry &entry) {
                    return entry.stream == REMAT_STREAM_COMPUTE;
                  }))
    return true;
  state = new State(table, std::move(copy));
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    CopyStream &stream = state->streams[table.entries[i].stream];
    state->places.push_back(stream.entries.size());
    stream.entries.push_back(i);
  }
  bool done = true;
  for (uint32_t i = 0; i < REMAT_STREAM_COUNT; ++i) {
    CopyStream &stream = state->streams[i];
    if (i == REMAT_STREAM_COMPUTE || stream.entries.empty())
      continue;
    done &= startCopies(
        stream.thread, "remat-copies",
        [this, &stream] { state->serve(stream); }, message);
  }
  return done;
}

bool CopyStreams::begin(uint32_t entry) {
  if (!state || state->process != getpid())
    return false;
  std::lock_guard<std::mutex> lock(state->mutex);
  for (CopyStream &stream : state->streams)
    stream.passed = stream.ended =
        std::lower_bound(stream.entries.begin(), stream.entries.end(), entry) -
        stream.entries.begin();
  return true;
}

void CopyStreams::pass(uint32_t entry) {
  CopyStream &stream = state->streams[state->table.entries[entry].stream];
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    ++stream.passed;
  }
  stream.work.notify_all();
}

void CopyStreams::wait(uint32_t entry) {
  if (state->table.entries[entry].stream == REMAT_STREAM_COMPUTE)
    return;
  std::unique_lock<std::mutex> lock(state->mutex);
  state->end.wait(lock, [&] { return state->hasEnded(entry); });
}

void CopyStreams::drain() {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->end.wait(lock, [&] {
    return std::all_of(
        std::begin(state->streams), std::end(state->streams),
        [](const CopyStream &stream) { return stream.ended == stream.passed; });
  });
}
