//===- PolicyOptionTable.cpp - policies by name and operation, as text ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/ApplyPolicies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace remat;

ArrayRef<OptionChoice> remat::getPolicyChoices() {
  static const OptionChoice choices[] = {
      {"everything_saveable", "all values are saved"},
      {"nothing_saveable", "none is"},
      {"dots_saveable", "the results of contractions are"},
      {"dots_with_no_batch_dims_saveable", "those without batch dimensions"},
      {"offload_dot_with_no_batch_dims", "these go to host memory"},
      {"save_only_these_names", "the values in policy-names are saved"},
      {"save_any_names_but_these", "other values that have a name are"},
      {"save_anything_except_these_names", "all but those in policy-names are"},
      {"save_and_offload_only_these_names",
       "those in policy-names are, and those in policy-offload-names go to "
       "host memory"}};
  return choices;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct PolicyNameSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "name"; }
  Error parse(StringRef text, std::string &value) const {
    SmallVector<StringRef> known;
    for (const OptionChoice &choice : getPolicyChoices())
      known.push_back(choice.name);
    if (!text.empty() && !is_contained(known, text))
      return makeUnknownNameError("policy", text, known);
    value = text.str();
    return Error::success();
  }
  std::string print(const std::string &value) const { return value; }
};

struct NameListSyntax {
  static constexpr OptionKind kind = OptionKind::List;
  StringRef describe() const { return "name,..."; }
  Error parse(StringRef text, SmallVector<std::string> &value) const {
    SmallVector<std::string> parsed;
    if (!text.trim().empty())
      for (StringRef part : split(text, ',')) {
        if (part.trim().empty())
          return makeExpectedError("names with commas between them", text);
        parsed.push_back(part.trim().str());
      }
    value = std::move(parsed);
    return Error::success();
  }
  std::string print(const SmallVector<std::string> &value) const {
    return join(value, ",");
  }
};
} // namespace

#define MEMBER(NAME)                                                           \
  [](PolicyOptions &options) -> auto & { return options.NAME; }

OptionTable<PolicyOptions> remat::getPolicyStepOptionTable() {
  static const std::vector<OptionInfo<PolicyOptions>> table = [] {
    std::vector<OptionInfo<PolicyOptions>> rows = {
        makeOption<PolicyOptions>(
            "policy", MEMBER(policy), PolicyNameSyntax(),
            "What is saved for the backward computation, by the names that "
            "JAX has for policies: in the regions of remat.checkpoint if "
            "there are any, else everywhere; what has a policy keeps it"),
        makeOption<PolicyOptions>("policy-names", MEMBER(names),
                                  NameListSyntax(),
                                  "Names of values that 'policy' is about"),
        makeOption<PolicyOptions>(
            "policy-offload-names", MEMBER(offloadNames), NameListSyntax(),
            "Names of values that it sends to host memory"),
        makeOption<PolicyOptions>(
            "save-ops", MEMBER(saveOps), NameListSyntax(),
            "Operations such as linalg.matmul whose results are saved"),
        makeOption<PolicyOptions>("recompute-ops", MEMBER(recomputeOps),
                                  NameListSyntax(),
                                  "Operations whose results are recomputed"),
        makeOption<PolicyOptions>(
            "offload-ops", MEMBER(offloadOps), NameListSyntax(),
            "Operations whose results go to host memory")};
    rows.front().choices = [] { return getPolicyChoices().vec(); };
    return rows;
  }();
  return table;
}

#undef MEMBER

bool PolicyOptions::empty() const {
  return policy.empty() && names.empty() && offloadNames.empty() &&
         saveOps.empty() && recomputeOps.empty() && offloadOps.empty();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static Error checkNames(const PolicyOptions &options) {
  StringRef policy = options.policy;
  if (!options.names.empty() && !policy.contains("_names"))
    return createStringError(
        "names have no effect without a policy that is about names, such as "
        "'save_only_these_names'");
  if (!options.offloadNames.empty() &&
      policy != "save_and_offload_only_these_names")
    return createStringError("names to offload have no effect without the "
                             "policy 'save_and_offload_only_these_names'");
  for (const std::string &name : options.names)
    if (is_contained(options.offloadNames, name))
      return createStringError("name '" + name +
                               "' is both saved and offloaded");
  return Error::success();
}

Error remat::checkPolicyOptions(const PolicyOptions &options) {
  std::string policy;
  if (Error error = PolicyNameSyntax().parse(options.policy, policy))
    return error;
  if (Error error = checkNames(options))
    return error;
  std::pair<StringRef, ArrayRef<std::string>> lists[] = {
      {"save-ops", options.saveOps},
      {"recompute-ops", options.recomputeOps},
      {"offload-ops", options.offloadOps}};
  for (auto [number, list] : enumerate(lists))
    for (const auto &other : ArrayRef(lists).drop_front(number + 1))
      for (const std::string &op : list.second)
        if (is_contained(other.second, op))
          return createStringError("operation '" + op + "' is both in '" +
                                   list.first + "' and in '" + other.first +
                                   "', which contradict each other");
  return Error::success();
}
