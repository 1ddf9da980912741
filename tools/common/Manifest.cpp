//===- Manifest.cpp - models with reproducible inputs ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/Manifest.h"

#include "remat/Utils/JsonFiles.h"

#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace remat::tools;

/// The finalizer of Steele, Lea and Flood's SplitMix generator.
static uint64_t splitmix64(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Fill::apply(Tensor &tensor) const {
  for (size_t i = 0, e = tensor.getNumScalars(); i < e; ++i) {
    uint64_t h = splitmix64(seed * (uint64_t(1) << 32) + i);
    if (isIndex)
      tensor.setInteger(i, static_cast<int64_t>((h >> 33) % below));
    else
      tensor.set(i, lo + (hi - lo) * static_cast<double>(h >> 40) / 0x1p24);
  }
}

static std::optional<remat_dtype> parseDtype(StringRef name) {
  static constexpr std::pair<StringLiteral, remat_dtype> names[] = {
      {"float32", REMAT_F32},    {"float64", REMAT_F64},
      {"float16", REMAT_F16},    {"bfloat16", REMAT_BF16},
      {"bool", REMAT_I1},        {"int8", REMAT_I8},
      {"int16", REMAT_I16},      {"int32", REMAT_I32},
      {"int64", REMAT_I64},      {"complex64", REMAT_C64},
      {"complex128", REMAT_C128}};
  for (auto [text, dtype] : names)
    if (text == name)
      return dtype;
  return std::nullopt;
}

namespace remat::tools {
// Found by llvm::json through their arguments.
static bool fromJSON(const json::Value &value, Fill &fill, json::Path path) {
  json::ObjectMapper mapper(value, path);
  std::string kind;
  if (!mapper || !mapper.map("kind", kind) || !mapper.map("seed", fill.seed))
    return false;
  fill.isIndex = kind == "index";
  if (fill.isIndex) {
    if (!mapper.map("below", fill.below))
      return false;
    if (fill.below == 0)
      path.field("below").report("expected a positive number");
    return fill.below != 0;
  }
  if (kind != "uniform") {
    path.field("kind").report("expected 'uniform' or 'index'");
    return false;
  }
  return mapper.map("lo", fill.lo) && mapper.map("hi", fill.hi);
}

static bool fromJSON(const json::Value &value, ManifestArgument &argument,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  std::string dtype, role;
  if (!mapper || !mapper.map("name", argument.name) ||
      !mapper.map("dtype", dtype) || !mapper.map("shape", argument.shape) ||
      !mapper.map("role", role) || !mapper.map("fill", argument.fill) ||
      !mapper.mapOptional("file", argument.file))
    return false;
  std::optional<remat_dtype> parsed = parseDtype(dtype);
  if (!parsed) {
    path.field("dtype").report("unknown element type");
    return false;
  }
  argument.dtype = *parsed;
  argument.isParameter = role == "param";
  argument.isCotangent = role == "cotangent";
  argument.isData = role == "data" || argument.isCotangent;
  return true;
}

static bool fromJSON(const json::Value &value, ManifestResult &result,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("name", result.name) &&
         mapper.map("role", result.role) && mapper.mapOptional("of", result.of);
}

static bool fromJSON(const json::Value &value, GradientSummary &gradient,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  std::vector<std::vector<double>> samples;
  if (!mapper || !mapper.map("l2", gradient.l2) ||
      !mapper.map("sum", gradient.sum) ||
      !mapper.mapOptional("samples", samples))
    return false;
  for (const std::vector<double> &sample : samples) {
    if (sample.size() != 2) {
      path.field("samples").report("expected pairs of index and value");
      return false;
    }
    if (!(sample[0] >= 0 && sample[0] < 0x1p53) ||
        sample[0] != std::floor(sample[0])) {
      path.field("samples").report("expected an index");
      return false;
    }
    gradient.samples.emplace_back(static_cast<int64_t>(sample[0]), sample[1]);
  }
  return true;
}

/// One number, or one for each step.
static bool readLearningRates(const json::Object &object,
                              std::vector<double> &rates, json::Path path) {
  const json::Value *value = object.get("learning_rate");
  if (!value)
    return true;
  if (std::optional<double> rate = value->getAsNumber()) {
    rates = {*rate};
    return true;
  }
  const json::Array *array = value->getAsArray();
  if (array)
    for (const json::Value &element : *array)
      if (std::optional<double> rate = element.getAsNumber())
        rates.push_back(*rate);
  bool isRead = array && !rates.empty() && rates.size() == array->size();
  if (!isRead)
    path.field("learning_rate")
        .report("expected a number or an array of numbers");
  return isRead;
}

static bool fromJSON(const json::Value &value, Manifest &manifest,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("model", manifest.model) ||
      !mapper.map("function", manifest.function) ||
      !mapper.map("args", manifest.arguments) ||
      !mapper.mapOptional("differentiated", manifest.isDifferentiated) ||
      !mapper.mapOptional("results", manifest.results) ||
      !mapper.mapOptional("optimizer", manifest.optimizer) ||
      !readLearningRates(*value.getAsObject(), manifest.learningRates, path))
    return false;
  const json::Object *golden = value.getAsObject()->getObject("golden");
  if (!golden)
    return true;
  if (std::optional<double> loss = golden->getNumber("loss"))
    manifest.loss = *loss;
  if (const json::Object *gradients = golden->getObject("gradients")) {
    for (const auto &[name, gradient] : *gradients) {
      GradientSummary summary;
      if (!fromJSON(gradient, summary,
                    path.field("golden").field("gradients").field(name)))
        return false;
      manifest.gradients.emplace_back(name.str(), std::move(summary));
    }
  }
  llvm::sort(manifest.gradients,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  return true;
}

} // namespace remat::tools

const GradientSummary *Manifest::findGradient(StringRef name) const {
  for (const auto &[key, summary] : gradients)
    if (key == name)
      return &summary;
  return nullptr;
}

const ManifestArgument *Manifest::findCotangent(StringRef name) const {
  for (const ManifestArgument &cotangent : cotangents)
    if (cotangent.name == name)
      return &cotangent;
  return nullptr;
}

Expected<Manifest> remat::tools::loadManifest(StringRef path) {
  Expected<json::Value> value = readJsonFile(path);
  if (!value)
    return value.takeError();
  Manifest manifest;
  json::Path::Root root(path);
  if (!fromJSON(*value, manifest, root))
    return root.getError();
  // Files are named from where the manifest is.
  for (ManifestArgument &argument : manifest.arguments)
    if (!argument.file.empty() && sys::path::is_relative(argument.file)) {
      SmallString<128> file = sys::path::parent_path(path);
      sys::path::append(file, argument.file);
      argument.file = file.str().str();
    }
  if (!manifest.isDifferentiated) {
    auto isOwn = [](const ManifestArgument &argument) {
      return !argument.isCotangent;
    };
    auto first = std::stable_partition(manifest.arguments.begin(),
                                       manifest.arguments.end(), isOwn);
    std::move(first, manifest.arguments.end(),
              std::back_inserter(manifest.cotangents));
    manifest.arguments.erase(first, manifest.arguments.end());
  }
  return std::move(manifest);
}

Expected<Tensor> remat::tools::makeArgument(const ManifestArgument &argument) {
  if (StringRef(argument.file).ends_with(".npy"))
    return readNpy(argument.file, argument.dtype, argument.shape);
  if (!argument.file.empty())
    return readSafetensor(argument.file, argument.name, argument.dtype,
                          argument.shape);
  if (!argument.fill)
    return createStringError(inconvertibleErrorCode(),
                             "the manifest has neither 'fill' nor 'file' for "
                             "argument '" +
                                 argument.name + "'");
  Tensor tensor(argument.dtype, argument.shape);
  if (!tensor.isAllocated())
    return createStringError(inconvertibleErrorCode(),
                             "no memory for argument '" + argument.name + "'");
  argument.fill->apply(tensor);
  return std::move(tensor);
}

GradientSummary remat::tools::summarize(const Tensor &gradient,
                                        const GradientSummary *golden) {
  GradientSummary summary;
  double squares = 0;
  for (size_t i = 0, e = gradient.getNumScalars(); i < e; ++i) {
    double value = gradient.get(i);
    squares += value * value;
    summary.sum += value;
  }
  summary.l2 = std::sqrt(squares);
  if (golden)
    for (auto [index, value] : golden->samples)
      if (index >= 0 && size_t(index) < gradient.getNumScalars())
        summary.samples.emplace_back(index, gradient.get(index));
  return summary;
}

GradientSummary remat::tools::multiply(const GradientSummary &gradient,
                                       double steps) {
  GradientSummary sum = gradient;
  sum.l2 *= steps;
  sum.sum *= steps;
  for (auto &[index, value] : sum.samples)
    value *= steps;
  return sum;
}

double remat::tools::compare(const GradientSummary &gradient,
                             const GradientSummary &golden) {
  // A NaN compares false with everything and must not pass for small.
  if (std::isnan(gradient.l2))
    return std::numeric_limits<double>::infinity();
  // A golden sample that the gradient does not have is wrong, not right.
  if (gradient.samples.size() != golden.samples.size())
    return std::numeric_limits<double>::infinity();
  double norm = std::max(golden.l2, 1e-30);
  double error = std::abs(gradient.l2 - golden.l2) / norm;
  for (auto [actual, expected] : llvm::zip(gradient.samples, golden.samples))
    error = std::max(error, std::abs(actual.second - expected.second) /
                                std::max(std::abs(expected.second), norm));
  return error;
}
