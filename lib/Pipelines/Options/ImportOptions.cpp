//===- ImportOptions.cpp - how a model is read ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "remat/Target/AllTargets.h"
#include "remat/Target/Target.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace remat;
using namespace remat::options;

std::vector<std::string> remat::getKnownTargets() {
  registerAllTargets();
  return getTargetNames();
}

namespace {
struct TargetSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "name"; }
  Error parse(StringRef text, std::string &value) const {
    std::vector<std::string> known = getKnownTargets();
    if (!text.empty() && !is_contained(known, text))
      return makeUnknownNameError(
          "target", text, SmallVector<StringRef>(known.begin(), known.end()));
    value = text.str();
    return Error::success();
  }
  std::string print(const std::string &value) const { return value; }
};
} // namespace

void options::addImportOptions(TableBuilder &table) {
  table
      .add(
          "target", ImportStage | JointStage | TasksStage, MEMBER(target),
          TargetSyntax(),
          "What to compile for; empty for what the model says by remat.target, "
          "else cpu")
      .choices = [] {
    std::vector<OptionChoice> choices;
    for (std::string &target : getKnownTargets())
      choices.push_back({std::move(target), ""});
    return choices;
  };
  table.add("function", ImportStage | JointStage | TasksStage, MEMBER(function),
            TextSyntax{"name"},
            "Function to compile; with 'main', a module's only function will "
            "do");
  table.add("transform-script", ImportStage, MEMBER(script), TextSyntax{"file"},
            "Run '__transform_main' of this file on the model as it is read, "
            "to annotate operations with policies, say");
  table.add("unroll-limit", ImportStage, MEMBER(unrollLimit),
            IntegerSyntax<int64_t>{0},
            "Unroll loops to at most N operations; longer ones stay loops");
  table.add("max-trip-count", ImportStage, MEMBER(maxTripCount),
            IntegerSyntax<int64_t>{0},
            "Expect at most N iterations of loops whose number of iterations "
            "is known at run time only; 0 for any number");
  for (const auto &option : getSequentialStepOptionTable())
    table.add(
        liftOption<StepOptions>(option,
                                [](StepOptions &step) -> SequentialOptions & {
                                  return step.sequential;
                                }),
        ImportStage);
  for (const auto &option : getPolicyStepOptionTable())
    table.add(liftOption<StepOptions>(option,
                                      [](StepOptions &step) -> PolicyOptions & {
                                        return step.policies;
                                      }),
              ImportStage);
}
