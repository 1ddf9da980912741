//===- Serialization.h - problems and plans as JSON -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exchange format of planning instances:
//
//   {"name", "nodes": [{"id", "name", "cost", "size", "backward"?,
//     "workspace"?, "host_workspace"?, "policy"?, "recomputable"?,
//     "offloadable"?, "transfer"?, "absorbed_cost"?, "absorbers"?: [ids
//     of ops], "packed"?: {"bytes", "pack_cost"?, "unpack_cost"?}}],
//    "edges": [[producer, consumer], ...],
//    "outputs": [ids], "inputs"?: [ids resident at the start],
//    "order"?: [ids], "free_order"?: bool,
//    "region_budgets"?: [{"name", "bytes", "nodes": [ids]}],
//    "link_duplex"?: bool}
//
// A node is an op with one result. Three optional fields of a node cover the
// rest: "result_of": id makes it a further result of that node's op;
// "view_of": id makes it a view; "no_result": true makes it an op without a
// result. Limits: "budget"?, "budget_counts"?, "host_budget"?,
// "link_bytes_per_second"?.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_SERIALIZATION_H
#define REMAT_PLANNING_SERIALIZATION_H

#include "remat/Planning/Plan.h"

#include "llvm/Support/JSON.h"

namespace remat::planning {

/// What the device budget of an instance bounds: the bytes of the arena that
/// the copies of a plan are packed into, or its peak, the bytes that are live
/// together.
enum class BudgetCounts { Arena, Peak };

/// "arena" or "peak".
llvm::StringRef stringify(BudgetCounts counts);
/// The inverse of `stringify`; nothing for any other text.
std::optional<BudgetCounts> parseBudgetCounts(llvm::StringRef text);

/// A problem and the node ids of its file.
struct Instance {
  Problem problem;
  /// As "budget_counts" says. Without that, a file whose "stats" have a
  /// "no_remat_peak" speaks of peaks, as those that are published do; any other
  /// speaks of the arena.
  BudgetCounts budgetCounts = BudgetCounts::Arena;
  /// The node of each op (of its first result) and of each value.
  std::vector<int64_t> opNodes;
  std::vector<int64_t> valueNodes;
};

/// Reads an instance. Every error says which node or field is wrong.
llvm::Expected<Instance> parseInstance(llvm::StringRef text);

/// Writes a problem; values and ops get consecutive node ids.
llvm::json::Value toJson(const Problem &problem,
                         BudgetCounts counts = BudgetCounts::Arena);

/// The problem with the node ids that it is written with.
Instance makeInstance(Problem problem);

/// {"sequence": [...]} : a run is its op's node id; anything else is an object
/// with one field, {"offload": id}, {"reload": id}, {"release": id},
/// {"pack": id} or {"unpack": id} with the value's node id, or {"absorb": id}
/// with the op's.
llvm::json::Value toJson(const Instance &instance, const Plan &plan);
/// Reads such a schedule back. Every error says which entry is wrong.
llvm::Expected<Plan> parsePlan(const Instance &instance, llvm::StringRef text);

} // namespace remat::planning

#endif // REMAT_PLANNING_SERIALIZATION_H
