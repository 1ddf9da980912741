//===- TaskOptions.cpp - what tasks are made ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "remat/Dialect/Remat/IR/Codecs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace remat;
using namespace remat::options;

namespace {

/// Rows of slices, those of the target, which are 0, or auto.
struct SliceRowsSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "N|target|auto"; }
  Error parse(StringRef text, int64_t &rows) const {
    if (text == "auto" || text == "target") {
      rows = text == "auto" ? StepOptions::planSliceRows : 0;
      return Error::success();
    }
    if (text.getAsInteger(10, rows) || rows < 1)
      return createStringError("expected a number of 1 or more, 'target' or "
                               "'auto', got '" +
                               text + "'");
    return Error::success();
  }
  std::string print(int64_t rows) const {
    return rows == 0                            ? "target"
           : rows == StepOptions::planSliceRows ? "auto"
                                                : std::to_string(rows);
  }
};

/// Packed forms that there are tasks for.
struct CompressSyntax {
  static constexpr OptionKind kind = OptionKind::List;
  StringRef describe() const { return "codec,..."; }
  Error parse(StringRef text, SmallVector<std::string> &value) const {
    SmallVector<std::string> parsed;
    if (!text.trim().empty())
      for (StringRef name : split(text, ',')) {
        if (!parseElementCodec(name.trim()))
          return makeUnknownNameError("packed form", name.trim(),
                                      getElementCodecNames());
        parsed.push_back(name.trim().str());
      }
    value = std::move(parsed);
    return Error::success();
  }
  std::string print(const SmallVector<std::string> &value) const {
    return join(value, ",");
  }
};

struct ConvolutionChoiceNames {
  static constexpr StringLiteral what = "implementation of convolutions",
                                 description = "auto|generated|cudnn";
  static constexpr std::array<std::pair<StringLiteral, ConvolutionChoice>, 3>
      names = {{{"auto", ConvolutionChoice::Auto},
                {"generated", ConvolutionChoice::Generated},
                {"cudnn", ConvolutionChoice::Cudnn}}};
};

struct ConvolutionPlansNames {
  static constexpr StringLiteral what = "choice of plans",
                                 description = "fastest|smallest|budget";
  static constexpr std::array<std::pair<StringLiteral, ConvolutionPlans>, 3>
      names = {{{"fastest", ConvolutionPlans::Fastest},
                {"smallest", ConvolutionPlans::Smallest},
                {"budget", ConvolutionPlans::Budget}}};
};

struct ConvolutionChannelsNames {
  static constexpr StringLiteral what = "choice of channels",
                                 description = "program|zeros|blocks";
  static constexpr std::array<std::pair<StringLiteral, ConvolutionChannels>, 3>
      names = {{{"program", ConvolutionChannels::Program},
                {"zeros", ConvolutionChannels::Zeros},
                {"blocks", ConvolutionChannels::Blocks}}};
};

} // namespace

void options::addTaskOptions(TableBuilder &table) {
  table.add("separate-backward", TasksStage, MEMBER(separateBackward),
            FlagSyntax(),
            "Let forward and backward computation be separate calls, with the "
            "state between them in memory of its own");
  table
      .add("slice-rows", TasksStage, MEMBER(sliceRows), SliceRowsSyntax(),
           "Make values that are wider than what they are made of, such as a "
           "language model's logits, N rows at a time; fewer rows take fewer "
           "bytes and more time. Hidden layers are done N rows at a time, too, "
           "where that is best within the budget. 'auto' plans several numbers "
           "and takes the best one within the budget")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"target", "as many as the target asks for"},
        {"auto", "what is fastest within the budget; 'target' without one"}};
  };
  table
      .add("compress", TasksStage, MEMBER(compress), CompressSyntax(),
           "Let the planner keep values for the backward computation in "
           "packed form where that is better than to recompute or offload "
           "them; gradients change by the rounding error. Of several, each "
           "value has the smallest that 'max-gradient-error' admits. Empty "
           "for none")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"bf16", "half the bytes, a relative error of 2^-8 for each element"},
        {"int8", "a byte and a scale for 64 elements, an error of 1/254 of "
                 "the largest of these"},
        {"fp8", "likewise with a byte in E4M3: a relative error of 2^-4"},
        {"int4", "half a byte and a scale for 64 elements, an error of 1/14 "
                 "of the largest of these"}};
  };
  table.add("max-gradient-error", TasksStage, MEMBER(maxGradientError),
            AmountSyntax{"error"},
            "With 'compress', what packed values may add to the error of any "
            "gradient, relative to its norm; 0 for no bound");
  table.add("gradient-errors", TasksStage, MEMBER(gradientErrors),
            TextSyntax{"file"},
            "With 'max-gradient-error', the errors of gradients that "
            "'remat-run' has measured for this model");
  table.add("threads", TasksStage | CodeStage, MEMBER(threads),
            IntegerSyntax<int>{0},
            "Threads that the step will run on; 0 for all cores");
  table.add(
      "costs", TasksStage, MEMBER(costs), TextSyntax{"file"},
      "Plan with the costs in this file, which were measured on the machine "
      "that the step will run on, and carry contractions out by the faster "
      "implementation");
  table
      .add("convolutions", TasksStage, MEMBER(convolutions),
           NameSyntax<ConvolutionChoiceNames>(),
           "How convolutions are carried out on a CUDA device: 'generated' by "
           "code of remat; 'cudnn' by cuDNN, which must be there when the step "
           "is compiled and when it is loaded, where it has a deterministic "
           "algorithm; 'auto' by what is estimated to be faster, and by code "
           "of remat where there is no cuDNN")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"auto", "by cuDNN where it is there and estimated to be faster"},
        {"generated", "by code of remat"},
        {"cudnn", "by cuDNN where it can"}};
  };
  table
      .add("convolution-plans", TasksStage, MEMBER(convolutionPlans),
           NameSyntax<ConvolutionPlansNames>(),
           "Which algorithms cuDNN has for convolutions: the 'fastest', those "
           "with the 'smallest' workspace, or as is better under the 'budget', "
           "so that results may have other bits under another budget")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"fastest", "what cuDNN thinks the fastest"},
        {"smallest", "the least workspace of what it thinks fast"},
        {"budget", "under a budget, both are planned, and the better step is "
                   "taken"}};
  };
  table
      .add("convolution-channels", JointStage, MEMBER(channels),
           NameSyntax<ConvolutionChannelsNames>(),
           "What channels a convolution of few of them has where cuDNN carries "
           "it out on tensor cores: those of the 'program'; more by 'zeros', "
           "and by positions of blocks where that changes no result; or more "
           "by 'blocks', which may make NaN of infinities beside a window")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"program", "as the program says"},
        {"zeros", "a multiple of 8"},
        {"blocks", "a multiple of 8, also where infinities make NaN"}};
  };
}
