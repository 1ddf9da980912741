//===- ProgressRelay.cpp - progress of searches on threads ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressRelay.h"

#include <mutex>
#include <thread>

using namespace remat;
using planning::BudgetRequest;
using planning::Progress;

class ProgressRelay::State {
public:
  State(std::function<void(const Progress &)> tell, bool passesBest,
        bool isSmallest)
      : tell(std::move(tell)), passesBest(passesBest), isSmallest(isSmallest) {}

  void report(const Progress &progress) {
    std::lock_guard<std::mutex> lock(mutex);
    Rank rank(progress.time, progress.peakBytes);
    if (isSmallest)
      std::swap(rank.first, rank.second);
    if (!passesBest || !best || rank < *best) {
      best = rank;
      solver = progress.solver.str();
      waiting = progress;
    }
    tellWaiting();
  }

  void finish() {
    std::lock_guard<std::mutex> lock(mutex);
    tellWaiting();
  }

private:
  using Rank = std::pair<int64_t, int64_t>;

  void tellWaiting() {
    if (!waiting || std::this_thread::get_id() != caller)
      return;
    waiting->solver = solver;
    tell(*waiting);
    waiting.reset();
  }

  std::function<void(const Progress &)> tell;
  bool passesBest, isSmallest;
  const std::thread::id caller = std::this_thread::get_id();

  std::mutex mutex;
  std::optional<Rank> best;
  /// What the caller was not told yet, and the name in it.
  std::optional<Progress> waiting;
  std::string solver;
};

ProgressRelay::ProgressRelay(const PlanOptions &given, bool passesBest)
    : options(given) {
  auto &onProgress = options.solver.onProgress;
  if (!onProgress)
    return;
  bool isSmallest = options.budget.kind == BudgetRequest::Kind::Smallest;
  state =
      std::make_shared<State>(std::move(onProgress), passesBest, isSmallest);
  onProgress = [state = state](const Progress &progress) {
    state->report(progress);
  };
}

ProgressRelay::~ProgressRelay() {
  if (state)
    state->finish();
}
