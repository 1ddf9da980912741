//===- Segments.h - saved sets from segments --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The saved set of methods that cut the forward phase into segments: what
// crosses a border between two of them, and everything of the last one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SEGMENTS_H
#define REMAT_LIB_PLANNING_SEGMENTS_H

#include "Graph.h"

namespace remat::planning {

/// `segment` has an entry for each op before the border of the phases,
/// ascending. A PREFER overrides the rule.
inline std::vector<bool> savedByBorders(const Graph &graph,
                                        llvm::ArrayRef<uint32_t> segment) {
  std::vector<bool> saved(graph.numValues(), false);
  for (OpId op = 0; op < segment.size(); ++op)
    for (ValueId value : graph.results(op)) {
      bool keep = segment[op] == segment.back();
      for (OpId reader : graph.readers(value))
        keep |= reader < segment.size() && segment[reader] != segment[op];
      if (graph.policy(value) == Policy::PreferSave)
        keep = true;
      if (graph.policy(value) == Policy::PreferRecompute)
        keep = false;
      saved[value] = keep;
    }
  return saved;
}

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SEGMENTS_H
