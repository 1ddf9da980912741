//===- pch.h - what nearly every file of the planners includes --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Residency.h"
#include "Solution.h"

#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Simulator.h"

#include <unordered_map>
