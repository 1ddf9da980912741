//===- JointOptions.cpp - what is differentiated, and how -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "remat/Transforms/Optimizer.h"

using namespace llvm;
using namespace remat;
using namespace remat::options;

namespace {

/// A flag that overrides what the program says, if it is given.
struct OverrideSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "true|false"; }
  Error parse(StringRef text, std::optional<bool> &value) const {
    if (!text.empty() && text != "true" && text != "false")
      return makeExpectedError("'true' or 'false'", text);
    value = text.empty() ? std::nullopt : std::optional<bool>(text == "true");
    return Error::success();
  }
  std::string print(std::optional<bool> value) const {
    return value ? FlagSyntax().print(*value) : "";
  }
};

struct OptimizerSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "name[:key=value,...]"; }
  Error parse(StringRef text, std::string &value) const {
    if (!text.empty())
      if (Expected<OptimizerOptions> parsed = parseOptimizer(text); !parsed)
        return parsed.takeError();
    value = text.str();
    return Error::success();
  }
  std::string print(const std::string &value) const { return value; }
};

/// A number of parts, or auto, which is 0.
struct PartsSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "N|auto"; }
  Error parse(StringRef text, int64_t &parts) const {
    if (text == "auto") {
      parts = 0;
      return Error::success();
    }
    if (text.getAsInteger(10, parts) || parts < 1)
      return createStringError("expected a number of 1 or more, or 'auto', "
                               "got '" +
                               text + "'");
    return Error::success();
  }
  std::string print(int64_t parts) const {
    return parts == 0 ? "auto" : std::to_string(parts);
  }
};

struct MicrobatchOrderNames {
  static constexpr StringLiteral what = "order",
                                 description = "parts|layers|auto";
  static constexpr std::array<std::pair<StringLiteral, MicrobatchOrder>, 3>
      names = {{{"parts", MicrobatchOrder::Parts},
                {"layers", MicrobatchOrder::Layers},
                {"auto", MicrobatchOrder::Auto}}};
};

struct LayerFoldingNames {
  static constexpr StringLiteral what = "folding",
                                 description = "never|always|auto";
  static constexpr std::array<std::pair<StringLiteral, LayerFolding>, 3> names =
      {{{"never", LayerFolding::Never},
        {"always", LayerFolding::Always},
        {"auto", LayerFolding::Auto}}};
};

struct TensorNarrowingNames {
  static constexpr StringLiteral what = "type", description = "none|bf16|f16";
  static constexpr std::array<std::pair<StringLiteral, TensorNarrowing>, 3>
      names = {{{"none", TensorNarrowing::None},
                {"bf16", TensorNarrowing::BF16},
                {"f16", TensorNarrowing::F16}}};
};

} // namespace

void options::addJointOptions(TableBuilder &table) {
  table.add("early-stop", JointStage, MEMBER(earlyStop), OverrideSyntax(),
            "End the recomputation of a region when all that is needed of it "
            "exists; overrides what each region says, if given");
  table
      .add("fold-layers", JointStage, MEMBER(foldLayers),
           NameSyntax<LayerFoldingNames>(),
           "Make loops of layers that are equal but for their weights, which "
           "are planned once for all")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"never", "layers stay as they are"},
        {"always", "each chain of equal layers is a loop"},
        {"auto",
         "with a budget, both are planned, and the better one is taken; "
         "without one, layers stay as they are"}};
  };
  table.add("differentiate", JointStage, MEMBER(differentiate), FlagSyntax(),
            "Append the backward computation");
  table.add("wrt", JointStage, MEMBER(wrt), IndexListSyntax(),
            "Arguments to differentiate with respect to; all of floating "
            "point and all complex ones if empty");
  table.add("result", JointStage, MEMBER(result), IntegerSyntax<int64_t>(),
            "Result to differentiate; negative numbers count from the end");
  table.add("cotangents", JointStage, MEMBER(cotangents), FlagSyntax(),
            "Differentiate all results, with a cotangent argument for each, "
            "instead of one");
  table.add("accumulate", JointStage, MEMBER(accumulate), FlagSyntax(),
            "Add each gradient to what one more argument holds, and return the "
            "sum in this argument's place");
  table
      .add(
          "optimizer", JointStage, MEMBER(optimizer), OptimizerSyntax(),
          "Update each argument that has a gradient in its own buffer, and "
          "return it instead of the gradient: 'adamw:lr=1e-3,weight_decay=0.1'")
      .choices = [] {
    std::vector<OptionChoice> choices;
    for (StringRef name : getOptimizerNames())
      choices.push_back({name.str(), ""});
    return choices;
  };
  table.add("microbatches", JointStage, MEMBER(microbatches),
            IntegerSyntax<int64_t>{1},
            "Run the function for N parts of a batch, one after the other, and "
            "return the mean of the losses and of the gradients");
  table.add("batch-arguments", JointStage, MEMBER(batchArguments),
            IndexListSyntax(),
            "Arguments of which each part of a batch has its own; if empty, "
            "those that the function is not differentiated with respect to, of "
            "the same first dimension as the first of them");
  table
      .add(
          "microbatch-order", JointStage, MEMBER(microbatchOrder),
          NameSyntax<MicrobatchOrderNames>(),
          "Order of N parts of a batch: 'parts' takes one after the other, "
          "'layers' takes all of them through a layer before the next one, "
          "which keeps fewer gradients at a time and runs layers again, 'auto' "
          "plans both and takes the better one within the budget")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"parts", "one part after the other"},
        {"layers", "all parts through one layer after the other"},
        {"auto", "what is faster within the budget; 'parts' without one"}};
  };
  table
      .add(
          "split-batch", JointStage, MEMBER(splitBatch), PartsSyntax(),
          "Do the batch that the function has in N parts, one after the other, "
          "with the results of the whole; 'auto' plans several numbers and "
          "takes the best one within the budget. Rows of the batch must not "
          "depend on each other")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"1", "the whole batch"},
        {"auto", "what is fastest within the budget; 1 without one"}};
  };
  table.add("tangents", JointStage, MEMBER(tangents), FlagSyntax(),
            "Then append tangents of all results, gradients included, with a "
            "tangent argument for each argument to differentiate with respect "
            "to");
  table.add("widen", JointStage, MEMBER(widen), FlagSyntax(),
            "Compute in f64 where the function has a narrower floating-point "
            "type");
  table
      .add("narrow", JointStage, MEMBER(narrow),
           NameSyntax<TensorNarrowingNames>(),
           "Keep tensors in this type where the function has a wider "
           "floating-point type: arguments, results and what is between. Sums "
           "and arithmetic stay as wide as they are")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"none", "the types of the function"},
        {"bf16", "8 bits of precision, the range of f32"},
        {"f16", "11 bits of precision, up to 65504"}};
  };
}
