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

void StepReport::setBodyRuns(size_t entry, ArrayRef<uint64_t> runs) {
  EntryWork &ran = entries[entry].ran.emplace();
  for (auto [work, times] : llvm::zip(entries[entry].bodies, runs))
    ran.add(work, static_cast<int64_t>(times));
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
