//===- StepFlags.cpp - the options of a step as flags ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/StepFlags.h"

#include "common/Driver.h"
#include "common/UserLibrary.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Transforms/Optimizer.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

/// What the option is for, and its choices with a line each.
static std::string describe(const StepOptionInfo &info) {
  std::string text = describeWithDefault(info);
  raw_string_ostream os(text);
  std::vector<OptionChoice> choices;
  if (info.choices)
    choices = info.choices();
  size_t width = 0;
  for (const OptionChoice &choice : choices)
    width = std::max(width, choice.name.size());
  for (const OptionChoice &choice : choices) {
    os << "\n  " << choice.name;
    if (!choice.summary.empty())
      os.indent(width + 2 - choice.name.size()) << choice.summary;
  }
  return text;
}

/// Loads a library and lets it register its planners.
static Error loadPlanners(const std::string &path) {
  Expected<void *> address =
      loadUserFunction(path, "planners", "rematRegisterPlanners");
  if (!address)
    return address.takeError();
  Error error = Error::success();
  reinterpret_cast<void (*)(Error &)>(*address)(error);
  return error ? createFileError(path, std::move(error)) : Error::success();
}

StepFlags::StepFlags(cl::OptionCategory &category, unsigned stages,
                     ArrayRef<StringRef> except) {
  for (const StepOptionInfo &info : getStepOptionTable()) {
    if (!(info.stages & stages) || is_contained(except, info.name))
      continue;
    Flag &flag = flags.emplace_back();
    flag.info = &info;
    cl::desc description(descriptions.emplace_back(describe(info)));
    if (info.kind == OptionKind::List) {
      flag.list = std::make_unique<cl::list<std::string>>(
          info.name, cl::cat(category), cl::value_desc(info.value),
          description);
      continue;
    }
    bool isFlag = info.kind == OptionKind::Flag;
    // Of several values the last counts.
    flag.value = std::make_unique<cl::opt<std::string, false, TextParser>>(
        info.name, cl::ZeroOrMore, cl::cat(category),
        cl::value_desc(info.value), description,
        isFlag ? cl::ValueOptional : cl::ValueRequired);
    flag.value->getParser().isFlag = isFlag;
  }
  if (const Flag *planner = find("planner"))
    planners = std::make_unique<cl::list<std::string>>(
        "load-planner", cl::cat(category), cl::value_desc("file"),
        cl::desc("Load a shared library with planners; write it before --help "
                 "to have them listed"),
        cl::callback([this, info = planner->info](const std::string &path) {
          if (Error error = loadPlanners(path))
            loadFailure = toString(std::move(error));
          getFlag("planner").setDescription(
              descriptions.emplace_back(describe(*info)));
        }));
  if (find("differentiate"))
    noGradients = std::make_unique<cl::opt<bool>>(
        "no-gradients", cl::cat(category),
        cl::desc("Same as --differentiate=false"));
}

cl::Option &StepFlags::Flag::getOption() const {
  return list ? static_cast<cl::Option &>(*list) : *value;
}

std::string StepFlags::Flag::getText() const {
  return list ? join(*list, ",") : value->getValue();
}

const StepFlags::Flag *StepFlags::find(StringRef name) const {
  auto flag =
      find_if(flags, [&](const Flag &flag) { return flag.info->name == name; });
  return flag == flags.end() ? nullptr : &*flag;
}

Error StepFlags::apply(StepOptions &options) const {
  if (!loadFailure.empty())
    return makeError(loadFailure);
  for (const Flag &flag : flags)
    if (flag.getOption().getNumOccurrences() > 0)
      if (Error error = flag.info->set(options, flag.getText()))
        return prefixError("--" + flag.info->name, std::move(error));
  if (noGradients && *noGradients) {
    if (isGiven("differentiate") && options.differentiate)
      return makeError("'--no-gradients' contradicts '--differentiate'");
    options.differentiate = false;
  }
  if (options.differentiate || options.tangents)
    return Error::success();
  return refuse({"wrt", "cotangents", "accumulate"},
                "nothing is differentiated");
}

bool StepFlags::isGiven(StringRef name) const {
  const Flag *flag = find(name);
  return flag && flag->getOption().getNumOccurrences() > 0;
}

std::string StepFlags::getText(StringRef name) const {
  return find(name)->getText();
}

cl::Option &StepFlags::getFlag(StringRef name) const {
  return find(name)->getOption();
}

Error StepFlags::refuse(ArrayRef<StringRef> names, StringRef why) const {
  for (StringRef name : names)
    if (isGiven(name))
      return makeError("'--" + name + "' has no effect: " + why);
  if (noGradients && noGradients->getNumOccurrences() > 0 &&
      is_contained(names, "differentiate"))
    return makeError("'--no-gradients' has no effect: " + why);
  return Error::success();
}

Error StepFlags::refuseAllBut(ArrayRef<StringRef> names, StringRef why) const {
  SmallVector<StringRef> others;
  for (const Flag &flag : flags)
    if (!is_contained(names, flag.info->name))
      others.push_back(flag.info->name);
  std::string text = why.str() + "; of the options of a step it takes '--";
  text += join(names, "', '--") + "'";
  return refuse(others, text);
}

Error StepFlags::refuseStages(unsigned stages, StringRef why) const {
  SmallVector<StringRef> names;
  for (const Flag &flag : flags)
    if (!(flag.info->stages & ~stages))
      names.push_back(flag.info->name);
  return refuse(names, why);
}

//===----------------------------------------------------------------------===//
// Manifests
//===----------------------------------------------------------------------===//

/// "f32 [2, 3]".
static std::string describe(remat_dtype dtype, ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  os << getDtypeName(dtype) << " [";
  interleaveComma(shape, os);
  os << "]";
  return text;
}

static Error nameArguments(const Manifest &manifest, mlir::ModuleOp module,
                           StringRef function) {
  mlir::FunctionOpInterface entry = findEntry(module, function);
  if (!entry)
    return Error::success();
  // State that was in globals is behind the model's own arguments.
  size_t numState = getInitialState(entry).size();
  if (entry.getNumArguments() != manifest.arguments.size() + numState)
    return makeError(
        "the model has " + Twine(entry.getNumArguments() - numState) +
        " arguments, the manifest " + Twine(manifest.arguments.size()));
  for (auto [number, type, argument] : enumerate(
           entry.getArgumentTypes().drop_back(numState), manifest.arguments)) {
    auto tensor = dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor || tensor.getShape() != ArrayRef(argument.shape) ||
        codegen::getDtype(tensor.getElementType()) != argument.dtype) {
      std::string found;
      raw_string_ostream(found) << type;
      return makeError("argument " + Twine(number) + " ('" + argument.name +
                       "') is a " + found + ", the manifest says " +
                       describe(argument.dtype, argument.shape));
    }
    entry.setArgAttr(number, RematDialect::nameAttrName,
                     mlir::StringAttr::get(module.getContext(), argument.name));
  }
  return Error::success();
}

/// Names results of a model that is not differentiated yet. Cotangents are
/// called by these names.
static Error nameResults(const Manifest &manifest, mlir::ModuleOp module,
                         StringRef function) {
  mlir::FunctionOpInterface entry = findEntry(module, function);
  if (!entry || manifest.results.empty())
    return Error::success();
  // What globals are set to is behind the model's own results.
  size_t most = entry.getNumResults(),
         least = most - std::min(most, getInitialState(entry).size());
  if (manifest.results.size() < least || manifest.results.size() > most)
    return makeError("the model has " + Twine(least) +
                     " results, the manifest " +
                     Twine(manifest.results.size()));
  for (auto [number, result] : enumerate(manifest.results))
    if (!entry.getResultAttr(number, RematDialect::nameAttrName))
      entry.setResultAttr(
          number, RematDialect::nameAttrName,
          mlir::StringAttr::get(module.getContext(), result.name));
  return Error::success();
}

/// Takes over that the gradients are those of all results, if the manifest has
/// cotangents.
static Error applyCotangents(const Manifest &manifest, const StepFlags &flags,
                             StepOptions &options) {
  if (manifest.cotangents.empty() || !options.differentiate)
    return Error::success();
  if (Error error = flags.refuse(
          {"result"}, "the manifest has cotangents, for all results"))
    return error;
  options.cotangents = true;
  return checkStepOptions(options);
}

/// Takes over which result the manifest says is the loss, unless a flag does.
static void applyLoss(const Manifest &manifest, const StepFlags &flags,
                      StepOptions &options) {
  if (flags.isGiven("result") || options.cotangents)
    return;
  for (auto [number, result] : enumerate(manifest.results))
    if (result.role == "loss")
      options.result = number;
}

/// Takes over the manifest's optimizer, unless flags ask for gradients.
static Error applyOptimizer(const Manifest &manifest, const StepFlags &flags,
                            StepOptions &options) {
  if (manifest.optimizer.empty() || flags.isGiven("optimizer") ||
      options.accumulate || options.tangents || !options.differentiate)
    return Error::success();
  if (Error error = setOption(options, "optimizer", manifest.optimizer))
    return prefixError("the manifest", std::move(error));
  // What has been set is well-formed.
  if (!manifest.learningRates.empty() &&
      cantFail(parseOptimizer(options.optimizer)).learningRate)
    return makeError("the manifest's 'learning_rate' has no effect: expected "
                     "an 'optimizer' with 'lr=argument', got '" +
                     manifest.optimizer + "'");
  return Error::success();
}

/// Says what has rows of the batch in a function that will not be asked which
/// arguments have gradients. State that it gives back is no part of the batch.
static void findBatch(const Manifest &manifest, mlir::ModuleOp module,
                      StepOptions &options) {
  bool hasParts = options.splitBatch != 1 || options.microbatches > 1 ||
                  options.assumedBatch != 0;
  if (!hasParts || !options.batchArguments.empty())
    return;
  auto entry = findEntry(module, options.function);
  int64_t rows = 0;
  for (auto [number, argument] : enumerate(manifest.arguments)) {
    if (!argument.isData || argument.shape.empty() ||
        (entry && getDonatedResult(entry, number)))
      continue;
    if (options.batchArguments.empty())
      rows = argument.shape[0];
    if (argument.shape[0] == rows)
      options.batchArguments.push_back(number);
  }
}

Error tools::applyManifest(const Manifest &manifest, const StepFlags &flags,
                           mlir::ModuleOp module, StepOptions &options) {
  if (!flags.isGiven("function"))
    options.function = manifest.function;
  if (Error error = nameArguments(manifest, module, options.function))
    return error;
  if (Error error = applyOptimizer(manifest, flags, options))
    return error;
  if (manifest.isDifferentiated) {
    if (!options.wrt.empty())
      return makeError(
          "'--wrt' has no effect: the manifest says that the model "
          "is differentiated already");
    options.differentiate = false;
    findBatch(manifest, module, options);
    return checkStepOptions(options);
  }
  if (Error error = checkStepOptions(options))
    return error;
  if (Error error = nameResults(manifest, module, options.function))
    return error;
  if (Error error = applyCotangents(manifest, flags, options))
    return error;
  applyLoss(manifest, flags, options);
  if (!options.wrt.empty())
    return Error::success();
  for (auto [number, argument] : enumerate(manifest.arguments))
    if (argument.isParameter)
      options.wrt.push_back(number);
  return Error::success();
}

Error tools::applyManifestFile(StringRef path, const StepFlags &flags,
                               mlir::ModuleOp module, StepOptions &options) {
  if (path.empty())
    return Error::success();
  Expected<Manifest> manifest = loadManifest(path);
  if (!manifest)
    return manifest.takeError();
  if (Error error = applyManifest(*manifest, flags, module, options))
    return error;
  // No numbers would stand for all arguments.
  if (options.wrt.empty() && options.differentiate)
    return makeError(path + ": no argument is a parameter, give '--wrt' or "
                            "'--no-gradients'");
  return Error::success();
}
