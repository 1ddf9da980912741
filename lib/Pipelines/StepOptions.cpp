//===- StepOptions.cpp - what to compile, and how -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepOptions.h"

#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"
#include "remat/Target/AllTargets.h"
#include "remat/Target/Target.h"
#include "remat/Transforms/Optimizer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;

/// What is no optimizer is refused where it is set.
static bool scalesLoss(StringRef optimizer) {
  if (optimizer.empty())
    return false;
  Expected<OptimizerOptions> parsed = parseOptimizer(optimizer);
  if (parsed)
    return parsed->scalesLoss();
  consumeError(parsed.takeError());
  return false;
}

SmallVector<DifferentiateOptions, 2> StepOptions::getDerivatives() const {
  if (derivatives)
    return *derivatives;
  SmallVector<DifferentiateOptions, 2> made;
  DifferentiateOptions derivative;
  derivative.wrt = wrt;
  derivative.result = result;
  derivative.mode = cotangents ? DifferentiateOptions::Reverse
                               : DifferentiateOptions::Gradient;
  derivative.accumulate = accumulate;
  derivative.markGradients = !optimizer.empty() || microbatches > 1;
  // The pass that applies the optimizer makes the scale of the cotangent.
  if (scalesLoss(optimizer)) {
    derivative.mode = DifferentiateOptions::Reverse;
    derivative.results = {result};
  }
  if (differentiate)
    made.push_back(derivative);
  derivative.accumulate = derivative.markGradients = false;
  derivative.results.clear();
  derivative.mode = DifferentiateOptions::Forward;
  if (tangents)
    made.push_back(derivative);
  return made;
}

//===----------------------------------------------------------------------===//
// Syntaxes
//===----------------------------------------------------------------------===//

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

/// One of the names of `Choice`, which says what it is one of, and how they are
/// described.
template <typename Choice>
struct NameSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return Choice::description; }
  template <typename Value>
  Error parse(StringRef text, Value &chosen) const {
    SmallVector<StringRef> known;
    for (auto [name, value] : Choice::names) {
      if (name == text) {
        chosen = value;
        return Error::success();
      }
      known.push_back(name);
    }
    return makeUnknownNameError(Choice::what, text, known);
  }
  template <typename Value>
  std::string print(Value chosen) const {
    for (auto [name, value] : Choice::names)
      if (value == chosen)
        return name.str();
    llvm_unreachable("a value without a name");
  }
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

struct TensorNarrowingNames {
  static constexpr StringLiteral what = "type", description = "none|bf16|f16";
  static constexpr std::array<std::pair<StringLiteral, TensorNarrowing>, 3>
      names = {{{"none", TensorNarrowing::None},
                {"bf16", TensorNarrowing::BF16},
                {"f16", TensorNarrowing::F16}}};
};

/// The name of a variable in C99 and C++17 that is not one of the runtime's.
struct IdentifierSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "identifier"; }
  Error parse(StringRef text, std::string &value) const;
  std::string print(const std::string &value) const { return value; }
};

} // namespace

static bool isKeyword(StringRef name) {
  static constexpr StringLiteral keywords =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch "
      "char char16_t char32_t class compl const const_cast constexpr continue "
      "decltype default delete do double dynamic_cast else enum explicit "
      "export "
      "extern false float for friend goto if inline int long mutable namespace "
      "new noexcept not not_eq nullptr operator or or_eq private protected "
      "public register reinterpret_cast restrict return short signed sizeof "
      "static static_assert static_cast struct switch template this "
      "thread_local throw true try typedef typeid typename union unsigned "
      "using "
      "virtual void volatile wchar_t while xor xor_eq ";
  return keywords.contains((" " + name + " ").str());
}

Error IdentifierSyntax::parse(StringRef text, std::string &value) const {
  bool isIdentifier =
      !text.empty() && !isDigit(text[0]) &&
      all_of(text, [](char c) { return isAlnum(c) || c == '_'; }) &&
      !isKeyword(text);
  if (!isIdentifier)
    return createStringError("'" + text + "' is no C identifier");
  if (text.starts_with("remat_"))
    return createStringError("'" + text +
                             "' is no name for a module, names that start with "
                             "'remat_' are the runtime's");
  value = text.str();
  return Error::success();
}

namespace {
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

/// ieee or tf32.
struct MatmulPrecisionSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "ieee|tf32"; }
  Error parse(StringRef text, bool &allowsTf32) const {
    if (text != "ieee" && text != "tf32")
      return makeUnknownNameError("precision", text, {"ieee", "tf32"});
    allowsTf32 = text == "tf32";
    return Error::success();
  }
  std::string print(bool allowsTf32) const {
    return allowsTf32 ? "tf32" : "ieee";
  }
};

/// twice or once.
struct BiasRoundingSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "twice|once"; }
  Error parse(StringRef text, bool &roundsOnlySums) const {
    if (text != "twice" && text != "once")
      return makeUnknownNameError("rounding", text, {"twice", "once"});
    roundsOnlySums = text == "once";
    return Error::success();
  }
  std::string print(bool roundsOnlySums) const {
    return roundsOnlySums ? "once" : "twice";
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Collects the rows.
struct TableBuilder {
  template <typename Member, typename Syntax>
  StepOptionInfo &add(StringLiteral name, unsigned stages, Member member,
                      Syntax syntax, StringLiteral help) {
    return add(makeOption<StepOptions>(name, member, syntax, help), stages);
  }
  StepOptionInfo &add(OptionInfo<StepOptions> option, unsigned stages) {
    StepOptionInfo &row = rows.emplace_back();
    static_cast<OptionInfo<StepOptions> &>(row) = std::move(option);
    row.stages = stages;
    return row;
  }
  std::vector<StepOptionInfo> rows;
};
} // namespace

#define MEMBER(NAME) [](StepOptions &step) -> auto & { return step.NAME; }

static std::vector<StepOptionInfo> makeTable() {
  TableBuilder table;
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
          "Update what is differentiated by its gradient, in place, and return "
          "it instead: 'adamw:lr=1e-3,weight_decay=0.1'")
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
            "those by which nothing is differentiated and that have the first "
            "dimension of the first of them");
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
  for (const OptionInfo<PlanOptions> &option : getPlanOptionTable())
    table.add(liftOption<StepOptions>(
                  option,
                  [](StepOptions &step) -> PlanOptions & { return step.plan; }),
              option.name == "reuse-result-buffers" ? PlanStage | PlaceStage
                                                    : PlanStage);
  table.add("name", CodeStage, MEMBER(name), IdentifierSyntax(),
            "Symbol of the remat_module, a C identifier");
  table
      .add(
          "matmul-precision", TasksStage | CodeStage, MEMBER(allowsTf32),
          MatmulPrecisionSyntax(),
          "How products of f32 are multiplied on a CUDA device: 'ieee' as f32, "
          "'tf32' with 10 bits of mantissa where tensor cores can")
      .choices = [] {
    return std::vector<OptionChoice>{{"ieee", "as f32"},
                                     {"tf32", "with 10 bits of mantissa"}};
  };
  table
      .add("bias-rounding", TasksStage, MEMBER(roundsOnlySums),
           BiasRoundingSyntax(),
           "How often a product of f16 or bf16 to which a program adds a bias "
           "is rounded on a CUDA device: 'twice', before and behind the bias, "
           "as the program says, or 'once', as PyTorch does on a GPU")
      .choices = [] {
    return std::vector<OptionChoice>{{"twice", "as the program says"},
                                     {"once", "only the sum"}};
  };
  table.add("mcpu", TasksStage | ObjectStage, MEMBER(chip), TextSyntax{"name"},
            "CPU to make code for, all of whose instructions the machine that "
            "runs it must have, the host's if empty; of the target 'cuda' the "
            "only device to make code for, all if empty");
  table.add(
      "device", TasksStage | ObjectStage, MEMBER(device), TextSyntax{"name"},
      "What runs a step that is loaded here: of the target 'cuda', 'cuda' "
      "is the GPU that the driver has, and 'sim' and 'sim-reverse' run "
      "the code on this machine, threads of a block in either order; "
      "what the target is made for if empty");
  table.add("kernel-cache", ObjectStage, MEMBER(kernelCache), TextSyntax{"dir"},
            "Keep compiled kernels here, and take them from here");
  table.add("cuda-toolkit", ObjectStage, MEMBER(cudaToolkit), TextSyntax{"dir"},
            "CUDA toolkit to assemble the code of the target 'cuda' with; if "
            "empty, the one in CUDA_HOME or in its usual place");
  return std::move(table.rows);
}

#undef MEMBER

ArrayRef<StepOptionInfo> remat::getStepOptionTable() {
  static const std::vector<StepOptionInfo> table = makeTable();
  return table;
}

json::Array remat::describeStepOptions() {
  static constexpr std::pair<Stage, StringLiteral> stageNames[] = {
      {ImportStage, "import"}, {JointStage, "joint"}, {TasksStage, "tasks"},
      {PlanStage, "plan"},     {PlaceStage, "place"}, {CodeStage, "code"},
      {ObjectStage, "object"}};
  static constexpr StringLiteral kindNames[] = {"flag", "value", "list"};
  json::Array described;
  for (const StepOptionInfo &row : getStepOptionTable()) {
    json::Array stages;
    for (auto [stage, name] : stageNames)
      if (row.stages & stage)
        stages.push_back(name);
    json::Object option{
        {"name", row.name},   {"kind", kindNames[unsigned(row.kind)]},
        {"value", row.value}, {"default", row.get(StepOptions())},
        {"help", row.help},   {"stages", std::move(stages)}};
    if (row.choices) {
      json::Array choices;
      for (const OptionChoice &choice : row.choices())
        choices.push_back(
            json::Object{{"name", choice.name}, {"summary", choice.summary}});
      option["choices"] = std::move(choices);
    }
    described.push_back(std::move(option));
  }
  return described;
}

//===----------------------------------------------------------------------===//
// Options by name
//===----------------------------------------------------------------------===//

/// The row called `key`, or an error that lists what there is. Languages that
/// have no dashes in names may write underscores.
static Expected<const StepOptionInfo *> findOption(StringRef key) {
  std::string dashed = key.str();
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  SmallVector<StringRef> known;
  for (const StepOptionInfo &row : getStepOptionTable()) {
    if (row.name == dashed)
      return &row;
    known.push_back(row.name);
  }
  return makeUnknownNameError("option", key, known);
}

Error remat::setOption(StepOptions &options, StringRef key, StringRef value) {
  Expected<const StepOptionInfo *> row = findOption(key);
  if (!row)
    return row.takeError();
  return prefixError((*row)->name, (*row)->set(options, value));
}

/// The text of a number, a boolean or a string.
static std::optional<std::string> printScalar(const json::Value &value) {
  if (std::optional<StringRef> text = value.getAsString())
    return text->str();
  if (std::optional<bool> flag = value.getAsBoolean())
    return FlagSyntax().print(*flag);
  if (std::optional<uint64_t> number = value.getAsUINT64())
    return std::to_string(*number);
  if (std::optional<int64_t> number = value.getAsInteger())
    return std::to_string(*number);
  if (std::optional<double> number = value.getAsNumber())
    return printNumber(*number);
  return std::nullopt;
}

/// Members in the order of their names: that of the hash table is arbitrary.
static SmallVector<StringRef> getSortedKeys(const json::Object &object) {
  SmallVector<StringRef> keys;
  for (const auto &member : object)
    keys.push_back(member.first);
  sort(keys);
  return keys;
}

/// The text of any value that stands for an option's; none for others.
static std::optional<std::string> printValue(const json::Value &value,
                                             OptionKind kind) {
  SmallVector<std::string> parts;
  if (kind != OptionKind::List)
    return printScalar(value);
  if (const json::Array *array = value.getAsArray()) {
    for (const json::Value &element : *array) {
      std::optional<std::string> text = printScalar(element);
      if (!text)
        return std::nullopt;
      parts.push_back(std::move(*text));
    }
    return join(parts, ",");
  }
  if (const json::Object *object = value.getAsObject()) {
    for (StringRef key : getSortedKeys(*object)) {
      std::optional<std::string> text = printScalar(*object->get(key));
      if (!text)
        return std::nullopt;
      parts.push_back(key.str() + ":" + *text);
    }
    return join(parts, ",");
  }
  return printScalar(value);
}

Error remat::applyOptions(StepOptions &options, const json::Object &object) {
  StepOptions changed = options;
  for (StringRef key : getSortedKeys(object)) {
    Expected<const StepOptionInfo *> row = findOption(key);
    if (!row)
      return row.takeError();
    const json::Value &value = *object.get(key);
    if (value.getAsNull())
      continue;
    std::optional<std::string> text = printValue(value, (*row)->kind);
    if (!text)
      return prefixError((*row)->name,
                         makeExpectedError("a value such as " + (*row)->value,
                                           formatv("{0}", value).str()));
    if (Error error = (*row)->set(changed, *text))
      return prefixError((*row)->name, std::move(error));
  }
  options = std::move(changed);
  return Error::success();
}

Error remat::checkStepOptions(const StepOptions &options) {
  if (Error error = checkSequentialOptions(options.sequential))
    return error;
  // The tangents of a sum would take tangents of what it is added to.
  if (options.accumulate && options.tangents)
    return createStringError("'accumulate' and 'tangents' exclude each other");
  if (options.accumulate && !options.differentiate)
    return createStringError(
        "'accumulate' has no effect: nothing is differentiated");
  if (!options.optimizer.empty() && (options.accumulate || options.tangents))
    return createStringError(
        "'optimizer' excludes 'accumulate' and 'tangents': it leaves no "
        "gradients");
  if (options.cotangents && scalesLoss(options.optimizer))
    return createStringError("'cotangents' excludes an optimizer with "
                             "'loss_scale': the scale is the cotangent");
  if (!options.optimizer.empty() && !options.differentiate)
    return createStringError(
        "'optimizer' has no effect: nothing is differentiated");
  if (options.microbatches > 1 &&
      (options.accumulate || options.tangents || options.cotangents))
    return createStringError("'microbatches' excludes 'accumulate', "
                             "'tangents' and 'cotangents'");
  if (options.microbatches > 1 && options.splitBatch != 1)
    return createStringError("'microbatches' excludes 'split-batch': the "
                             "function is that of one part already");
  if (options.microbatches == 1 && options.splitBatch == 1 &&
      options.assumedBatch == 0 && !options.batchArguments.empty())
    return createStringError("'batch-arguments' has no effect without "
                             "'microbatches' or 'split-batch'");
  if (options.foldLayers != LayerFolding::Never &&
      (options.microbatches > 1 || options.splitBatch != 1))
    return createStringError("'fold-layers' excludes 'microbatches' and "
                             "'split-batch'");
  if (options.foldLayers != LayerFolding::Never &&
      options.sliceRows == StepOptions::planSliceRows)
    return createStringError("'fold-layers' excludes 'slice-rows=auto'");
  if (options.separateBackward && options.sliceRows != 0)
    return createStringError("'slice-rows' has no effect with "
                             "'separate-backward': a loss that slices make "
                             "with its gradient is that of another call");
  if (options.widen && options.narrow != TensorNarrowing::None)
    return createStringError("'widen' excludes 'narrow'");
  bool isLayered = options.microbatchOrder == MicrobatchOrder::Layers;
  if (options.microbatches == 1 && isLayered)
    return createStringError(
        "'microbatch-order' has no effect without 'microbatches'");
  if (isLayered && !options.differentiate)
    return createStringError("'microbatch-order=layers' needs a function to "
                             "differentiate, and nothing is differentiated");
  if (options.compress.empty() &&
      (options.maxGradientError > 0 || !options.gradientErrors.empty()))
    return createStringError("'max-gradient-error' and 'gradient-errors' have "
                             "no effect without 'compress'");
  if (options.maxGradientError == 0 && !options.gradientErrors.empty())
    return createStringError(
        "'gradient-errors' has no effect without 'max-gradient-error'");
  if (options.maxGradientError > 0 && !options.optimizer.empty())
    return createStringError("'max-gradient-error' excludes 'optimizer': it "
                             "leaves no gradients");
  if (options.maxGradientError > 0 && options.gradientErrors.empty())
    return createStringError(
        "'max-gradient-error' needs the errors that values in packed form "
        "cause, measure them by 'remat-run --max-gradient-error=... "
        "--gradient-errors=FILE' and give this file");
  return checkPolicyOptions(options.policies);
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

ArrayRef<StepLevelInfo> remat::getStepLevels() {
  static const StepLevelInfo levels[] = {
      {StepLevel::Joint, "joint", "IR, forward and backward"},
      {StepLevel::Tasks, "tasks", "IR, cut into tasks with costs"},
      {StepLevel::Planned, "planned", "IR, planned"},
      {StepLevel::Placed, "placed", "IR, planned and placed"},
      {StepLevel::Code, "code", "IR in the LLVM dialect"}};
  return levels;
}
