//===- LayeredProblem.h - random layered problems ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_LAYEREDPROBLEM_H
#define REMAT_TEST_UNIT_PLANNING_LAYEREDPROBLEM_H

#include "remat/Planning/Problem.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

namespace remat::planning {

/// Layers of ops that read some of the last two layers, and one output.
inline Problem layered(uint64_t seed, unsigned layers, unsigned width) {
  std::mt19937_64 random(seed);
  Problem problem;
  problem.name = "layered";
  std::vector<ValueId> values;
  for (unsigned i = 0; i < layers * width; ++i) {
    std::vector<ValueId> operands;
    for (unsigned k = 0; i >= width && k < 3; ++k) {
      unsigned back = std::min(i / width, 1 + unsigned(random() % 2));
      ValueId value = values[(i / width - back) * width + random() % width];
      if (!llvm::is_contained(operands, value))
        operands.push_back(value);
    }
    std::string name = std::to_string(i);
    OpId op = problem.addOp(name, 1 + random() % 9, operands, false);
    values.push_back(problem.addResult(op, name, 1 + random() % 99));
  }
  std::vector<ValueId> last(values.end() - width, values.end());
  ValueId loss =
      problem.addResult(problem.addOp("loss", 1, last, false), "loss", 1);
  problem.values[loss].isOutput = true;
  return problem;
}

} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_LAYEREDPROBLEM_H
