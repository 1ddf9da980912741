//===- SummaryJson.cpp - figures of a planned step as JSON ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/SummaryJson.h"

using namespace llvm;
using namespace remat;

void remat::addSummary(json::Object &object, const StepSummary &summary) {
  object["budget_bytes"] = summary.budget;
  object["save_all_peak_bytes"] = summary.saveAllPeak;
  object["planned_peak_bytes"] = summary.plannedPeak;
  object["simulated_peak_bytes"] = summary.simulatedPeak;
  object["arena_bytes"] = summary.arenaBytes;
  object["held_bytes"] = summary.heldBytes;
  object["read_bytes"] = summary.readBytes;
  object["host_arena_bytes"] = summary.hostArenaBytes;
  object["planned_host_peak_bytes"] = summary.plannedHostPeak;
  object["simulated_host_peak_bytes"] = summary.simulatedHostPeak;
  object["offloaded_bytes"] = summary.offloadedBytes;
  object["tasks"] = summary.tasks;
  object["distinct_tasks"] = summary.distinctTasks;
  object["recomputed_tasks"] = summary.recomputedTasks;
  object["absorbed_tasks"] = summary.absorbedTasks;
  object["packed_values"] = summary.packedValues;
  object["packed_bytes_saved"] = summary.packedBytesSaved;
  if (!summary.microbatchOrder.empty())
    object["microbatch_order"] = summary.microbatchOrder;
  if (summary.promisedGradientError)
    object["promised_gradient_error"] = *summary.promisedGradientError;
  if (summary.batchParts > 1)
    object["batch_parts"] = summary.batchParts;
  if (summary.sliceRows != 0)
    object["slice_rows"] = summary.sliceRows;
  if (summary.slicesHidden)
    object["slices_hidden"] = true;
  if (summary.foldedLayers > 0)
    object["folded_layers"] = summary.foldedLayers;
}
