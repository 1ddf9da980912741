//===- StepReport.cpp - what happens in a step ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepReport.h"

#include "remat/Utils/Saturating.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace remat;

StringRef remat::stringify(StepPhase phase) {
  switch (phase) {
  case StepPhase::Forward:
    return "forward";
  case StepPhase::Backward:
    return "backward";
  case StepPhase::Recompute:
    return "recompute";
  case StepPhase::Update:
    return "update";
  case StepPhase::Transfer:
    return "transfer";
  }
  llvm_unreachable("unknown phase");
}

StringRef remat::stringify(BufferRole role) {
  switch (role) {
  case BufferRole::Parameter:
    return "param";
  case BufferRole::Input:
    return "input";
  case BufferRole::Activation:
    return "activation";
  case BufferRole::Gradient:
    return "gradient";
  case BufferRole::Optimizer:
    return "optimizer";
  case BufferRole::Recomputed:
    return "recomputed";
  case BufferRole::Workspace:
    return "workspace";
  case BufferRole::Result:
    return "result";
  }
  llvm_unreachable("unknown role");
}

StringRef remat::stringify(BufferDecision decision) {
  switch (decision) {
  case BufferDecision::None:
    return "none";
  case BufferDecision::Saved:
    return "saved";
  case BufferDecision::Recomputed:
    return "recomputed";
  case BufferDecision::Offloaded:
    return "offloaded";
  case BufferDecision::Packed:
    return "packed";
  }
  llvm_unreachable("unknown decision");
}

void EntryWork::add(const EntryWork &work, int64_t times) {
  for (int64_t EntryWork::*count :
       {&EntryWork::bytesRead, &EntryWork::bytesWritten, &EntryWork::flops})
    this->*count = addCounts(this->*count, multiplyCounts(work.*count, times));
}

/// Takes what is said of a loop and of those in its bodies from the front.
static void setRuns(ReportEntry &entry, ArrayRef<uint64_t> &runs,
                    ArrayRef<int64_t> &times) {
  // There is a number for an advance that the loop does not have, too.
  constexpr size_t kinds = 2;
  ArrayRef<uint64_t> own = runs.take_front(kinds);
  runs = runs.drop_front(own.size());
  for (auto [body, count] : llvm::zip(entry.bodies, own)) {
    body.ran = static_cast<int64_t>(count);
    if (times.size() < body.report.entries.size())
      continue;
    for (ReportEntry &inner : body.report.entries) {
      inner.spent = times.front();
      times = times.drop_front();
    }
  }
  EntryWork ran;
  for (LoopBody &body : entry.bodies)
    for (ReportEntry &inner : body.report.entries) {
      if (inner.bodies.empty()) {
        ran.add(inner, body.ran.value_or(0));
        continue;
      }
      setRuns(inner, runs, times);
      ran.add(*inner.ran, 1);
    }
  entry.ran = ran;
}

void StepReport::setBodyRuns(size_t entry, ArrayRef<uint64_t> runs,
                             ArrayRef<int64_t> times) {
  setRuns(entries[entry], runs, times);
}

std::vector<std::vector<int64_t>> remat::splitTime(const ReportEntry &entry,
                                                   int64_t nanoseconds) {
  std::vector<std::vector<int64_t>> parts;
  bool isMeasured = true;
  double sum = 0;
  auto weigh = [&](const LoopBody &body, const ReportEntry &inner) {
    double runs =
        double(body.ran.value_or(std::max<int64_t>(body.mostRuns, 1)));
    return isMeasured ? double(*inner.spent) : double(inner.cost) * runs;
  };
  for (const LoopBody &body : entry.bodies)
    for (const ReportEntry &inner : body.report.entries)
      isMeasured &= inner.spent.has_value();
  for (const LoopBody &body : entry.bodies)
    for (const ReportEntry &inner : body.report.entries)
      sum += weigh(body, inner);
  // What is measured leaves a part for the loop itself.
  double whole = isMeasured ? std::max(sum, double(nanoseconds)) : sum;
  double factor = whole > 0 ? double(nanoseconds) / whole : 0;
  for (const LoopBody &body : entry.bodies) {
    std::vector<int64_t> &part = parts.emplace_back();
    for (const ReportEntry &inner : body.report.entries)
      part.push_back(int64_t(weigh(body, inner) * factor));
  }
  return parts;
}

size_t StepReport::getPeak() const {
  auto peak = std::max_element(
      entries.begin(), entries.end(),
      [](const auto &a, const auto &b) { return a.liveBytes < b.liveBytes; });
  return peak - entries.begin();
}

std::string StepReport::getHash() const {
  std::string text;
  for (const ReportEntry &entry : entries)
    text += entry.kernel +
            (entry.copyOf ? " of " + std::to_string(*entry.copyOf) : "") + "\n";
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, 16);
}
