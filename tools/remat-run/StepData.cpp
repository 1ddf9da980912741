//===- StepData.cpp - what a step is given and makes ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepData.h"

#include "Options.h"
#include "StepRunner.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

//===----------------------------------------------------------------------===//
// With a manifest
//===----------------------------------------------------------------------===//

/// Zeros to which gradients are added, or an optimizer's state before the first
/// step. Both are replaced in every step. What is the caller's to say is an
/// error, `hint` is where.
static Expected<Tensor> makeSum(const remat_tensor_info &info,
                                StringRef hint = "give it by --inputs") {
  if (info.donation == REMAT_NONE)
    return makeError("argument '" + Twine(info.name) + "' has no value, " +
                     hint);
  Tensor sum(info);
  if (!sum.isAllocated())
    return makeError("no memory for argument '" + Twine(info.name) + "'");
  std::memset(sum.getData(), 0, sum.getBytes());
  return std::move(sum);
}

/// The argument of a step over several parts of a batch, for all of which there
/// is the same `part`.
static Expected<Tensor> repeat(const Tensor &part,
                               const remat_tensor_info &info) {
  // Its elements may be converted later.
  Tensor whole(part.getDtype(), ArrayRef(info.dims, info.rank));
  if (!whole.isAllocated())
    return makeError("no memory for argument '" + Twine(info.name) + "'");
  auto *data = static_cast<char *>(whole.getData());
  for (size_t at = 0;
       at + part.getBytes() <= whole.getBytes() && part.getBytes();
       at += part.getBytes())
    std::memcpy(data + at, part.getData(), part.getBytes());
  return std::move(whole);
}

/// The argument that `info` describes behind the model's own, where the
/// manifest has it as a cotangent.
static Expected<Tensor> makeCotangent(const ManifestArgument &cotangent,
                                      const remat_tensor_info &info) {
  auto describe = [](ArrayRef<int64_t> shape) {
    return "[" + join(map_range(shape, itostr), ", ") + "]";
  };
  ArrayRef<int64_t> shape(info.dims, info.rank);
  if (shape != ArrayRef(cotangent.shape))
    return makeError("cotangent '" + cotangent.name + "' has the shape " +
                     describe(shape) + " in the step, the manifest says " +
                     describe(cotangent.shape));
  return makeArgument(cotangent);
}

/// Fails if there is no result for a cotangent of the manifest.
static Error checkCotangents(const remat_step *step, const Manifest &manifest,
                             size_t first) {
  StringSet<> known;
  for (size_t index = first; index < remat_step_argument_count(step); ++index) {
    remat_tensor_info info;
    remat_step_argument(step, index, &info);
    known.insert(info.name);
  }
  for (const ManifestArgument &cotangent : manifest.cotangents)
    if (options().step.cotangents && !known.contains(cotangent.name))
      return makeError("the manifest has a cotangent '" + cotangent.name +
                       "', expected one of a result that is differentiated, "
                       "with its name in 'results': 'logits.cotangent' for "
                       "'logits'");
  return Error::success();
}

static Expected<std::vector<Tensor>>
makeFromManifest(const remat_step *step, const Manifest &manifest,
                 const Products &products) {
  std::vector<Tensor> arguments;
  for (const ManifestArgument &argument : manifest.arguments) {
    Expected<Tensor> tensor = makeArgument(argument);
    if (!tensor)
      return tensor.takeError();
    remat_tensor_info info;
    remat_step_argument(step, arguments.size(), &info);
    ArrayRef<int64_t> shape = tensor->getShape();
    bool isPart = options().step.microbatches > 1 && !shape.empty() &&
                  size_t(info.rank) == shape.size() &&
                  info.dims[0] == shape[0] * options().step.microbatches;
    if (isPart)
      tensor = repeat(*tensor, info);
    if (!tensor)
      return tensor.takeError();
    arguments.push_back(std::move(*tensor));
  }
  for (const Tensor &state : products.initialState)
    arguments.push_back(state.copy());
  if (Error error = checkCotangents(step, manifest, arguments.size()))
    return std::move(error);
  while (arguments.size() < remat_step_argument_count(step)) {
    remat_tensor_info info;
    remat_step_argument(step, arguments.size(), &info);
    if (const ManifestArgument *given = manifest.findCotangent(info.name)) {
      Expected<Tensor> cotangent = makeCotangent(*given, info);
      if (!cotangent)
        return cotangent.takeError();
      arguments.push_back(std::move(*cotangent));
      continue;
    }
    if (info.name == learningRateName && !manifest.learningRates.empty()) {
      // Each step is given its own.
      arguments.emplace_back(info);
      continue;
    }
    Expected<Tensor> sum =
        makeSum(info, info.name == learningRateName
                          ? "give it by 'learning_rate' of the manifest"
                      : options().step.cotangents
                          ? "give it by --inputs, or by a manifest that "
                            "names the results: 'logits.cotangent' for 'logits'"
                          : "give it by --inputs");
    if (!sum)
      return sum.takeError();
    arguments.push_back(std::move(*sum));
  }
  return std::move(arguments);
}

//===----------------------------------------------------------------------===//
// With files
//===----------------------------------------------------------------------===//

static std::string getPath(StringRef directory, const Twine &name) {
  SmallString<128> path(directory);
  sys::path::append(path, name);
  return std::string(path);
}

/// The file of an argument: by its number, or by its name.
static Expected<std::string> findArgumentFile(const Products &products,
                                              size_t index, StringRef name) {
  const std::string &file = products.argumentFiles[index];
  std::string path = getPath(options().inputDirectory, file);
  std::string ownFile = (name + ".npy").str();
  // What has no name is called by its number in the step.
  if (name == "arg" + std::to_string(index) ||
      is_contained(products.argumentFiles, ownFile))
    return path;
  std::string named = getPath(options().inputDirectory, ownFile);
  if (!sys::fs::exists(named))
    return path;
  if (sys::fs::exists(path))
    return makeError("'" + path + "' and '" + named +
                     "' are for the same argument; remove one of them");
  return named;
}

/// Whether the step may take other types than the model, whose files are read.
static bool convertsTypes() {
  return options().step.widen || options().step.narrow != TensorNarrowing::None;
}

static Expected<std::vector<Tensor>> readArguments(const remat_step *step,
                                                   const Products &products) {
  std::vector<Tensor> arguments;
  for (size_t index = 0; index < products.argumentFiles.size(); ++index) {
    remat_tensor_info info;
    remat_step_argument(step, index, &info);
    Expected<std::string> found = findArgumentFile(products, index, info.name);
    if (!found)
      return found.takeError();
    const std::string &path = *found;
    if (const Tensor *state = products.findInitialState(index);
        state && !sys::fs::exists(path)) {
      arguments.push_back(state->copy());
      continue;
    }
    if (index >= products.firstSum && !sys::fs::exists(path)) {
      Expected<Tensor> sum = makeSum(info);
      if (!sum)
        return sum.takeError();
      arguments.push_back(std::move(*sum));
      continue;
    }
    // A step in other types is given what the model is given, see
    // convertArguments.
    Expected<Tensor> tensor =
        convertsTypes()
            ? readNpy(path)
            : readNpy(path, info.dtype, ArrayRef(info.dims, info.rank));
    if (!tensor)
      return tensor.takeError();
    arguments.push_back(std::move(*tensor));
  }
  return std::move(arguments);
}

/// Makes what a step takes in other types than its model of what the model
/// takes. So both compute from the same values, as far as a narrow type has
/// them.
static Error convertArguments(const remat_step *step,
                              MutableArrayRef<Tensor> arguments) {
  for (auto [index, argument] : enumerate(arguments)) {
    remat_tensor_info info;
    if (remat_step_argument(step, index, &info) != REMAT_OK)
      continue;
    remat_dtype given = argument.getDtype();
    bool mayDiffer = (info.dtype < REMAT_I1 && given < REMAT_I1) ||
                     (isComplex(info.dtype) && isComplex(given));
    if (!mayDiffer || info.dtype == given)
      continue;
    Tensor converted(info.dtype, argument.getShape());
    if (!converted.isAllocated())
      return makeError("no memory for argument '" + Twine(info.name) + "'");
    for (size_t i = 0; i < argument.getNumScalars(); ++i)
      converted.set(i, argument.get(i));
    argument = std::move(converted);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

Expected<std::vector<Tensor>> run::makeArguments(const remat_step *step,
                                                 const Products &products,
                                                 const Manifest *manifest) {
  Expected<std::vector<Tensor>> arguments =
      manifest ? makeFromManifest(step, *manifest, products)
               : readArguments(step, products);
  if (arguments && convertsTypes())
    if (Error error = convertArguments(step, *arguments))
      return std::move(error);
  return arguments;
}

Error run::writeResults(ArrayRef<Tensor> results, const Products &products,
                        OutputFiles &files) {
  if (std::error_code code =
          sys::fs::create_directories(options().outputDirectory))
    return makeError(options().outputDirectory + ": " + code.message());
  for (auto [tensor, file] : zip(results, products.resultFiles))
    if (!file.empty())
      if (Error error = files.add(
              getPath(options().outputDirectory, file),
              [&, &tensor = tensor](raw_ostream &os) { writeNpy(os, tensor); }))
        return error;
  return Error::success();
}
