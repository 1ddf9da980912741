//===- LoopDecisions.cpp - what is decided inside of loops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/LoopDecisions.h"

using namespace llvm;
using namespace remat;

void remat::addLoopDecisions(ArrayRef<TaskDecision> decisions,
                             json::Array &values) {
  for (const TaskDecision &decision : decisions) {
    if (decision.body.empty())
      continue;
    json::Object object = planning::toJson(decision.explanation);
    object["value"] = decision.value;
    object["loop"] = decision.loop;
    values.push_back(std::move(object));
  }
}

void remat::printLoopDecisions(ArrayRef<TaskDecision> decisions,
                               raw_ostream &os) {
  StringRef loop;
  for (const TaskDecision &decision : decisions) {
    if (decision.body.empty())
      continue;
    if (decision.loop != loop)
      os << "in each iteration of '" << decision.loop << "':\n";
    loop = decision.loop;
    os << "  " << decision.value << ": "
       << planning::describe(decision.explanation, "ns") << '\n';
  }
}
