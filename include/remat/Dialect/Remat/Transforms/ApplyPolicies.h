//===- ApplyPolicies.h - policies by name and operation ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remat-apply-policies is asked for, and the options of a step that ask
// for it (remat/Pipelines/StepOptions.h).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_APPLYPOLICIES_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_APPLYPOLICIES_H

#include "remat/Utils/OptionTable.h"

namespace remat {

/// Policies of values that are given beside the program, as options.
struct PolicyOptions {
  /// One of getPolicyChoices(), or empty.
  std::string policy;
  /// Names of values that `policy` is about, and of those that it offloads.
  llvm::SmallVector<std::string> names, offloadNames;
  /// Operations whose results get a policy in addition.
  llvm::SmallVector<std::string> saveOps, recomputeOps, offloadOps;

  /// Whether nothing is asked for.
  bool empty() const;
};

/// The policies that have names, with what they save.
llvm::ArrayRef<OptionChoice> getPolicyChoices();

/// The options that a step has of them.
OptionTable<PolicyOptions> getPolicyStepOptionTable();

/// What contradicts itself, has no effect, or is not known whatever the program
/// is an error.
llvm::Error checkPolicyOptions(const PolicyOptions &options);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_APPLYPOLICIES_H
