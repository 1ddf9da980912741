//===- GradientErrors.cpp - what packed forms do to gradients -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/GradientErrors.h"

#include "remat/Utils/JsonFiles.h"
#include "remat/Utils/Utf8.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace remat;

static constexpr StringLiteral schema = "remat.gradient-errors/1";

std::string GradientErrors::getName(mlir::OpResult value) {
  auto task = cast<TaskOp>(value.getOwner());
  std::string name;
  raw_string_ostream(name) << task->getParentOfType<GraphOp>().getName() << ":"
                           << task.getId() << ":" << value.getResultNumber()
                           << ":" << task.getKernel() << ":" << value.getType();
  return toUtf8(name);
}

std::optional<double> GradientErrors::find(mlir::OpResult value,
                                           ElementCodec codec) const {
  auto known = values.find(getName(value));
  if (known == values.end())
    return std::nullopt;
  auto error = known->second.find(codec);
  if (error == known->second.end())
    return std::nullopt;
  return error->second;
}

static Error makeError(StringRef path, const Twine &message) {
  return createStringError(path + ": " + message);
}

static Error readValue(const json::Value &value,
                       std::map<ElementCodec, double> &errors) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return createStringError("has no errors by codec");
  for (const auto &[name, number] : *object) {
    std::optional<ElementCodec> codec = parseElementCodec(name);
    std::optional<double> error = number.getAsNumber();
    if (!codec)
      return createStringError("has the unknown codec '" + StringRef(name) +
                               "', expected " +
                               join(getElementCodecNames(), ", "));
    if (!error || !(*error >= 0))
      return createStringError("has no error of 0 or more for '" +
                               StringRef(name) + "'");
    errors[*codec] = *error;
  }
  return Error::success();
}

Expected<GradientErrors> GradientErrors::load(StringRef path) {
  Expected<json::Value> value = readJsonFile(path);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("schema") != StringRef(schema))
    return makeError(path, "has no errors of gradients, expected the schema '" +
                               schema + "'");
  const json::Object *values = object->getObject("values");
  if (!values)
    return makeError(path, "has no 'values'");
  GradientErrors errors;
  for (const auto &[name, known] : *values)
    if (Error error = readValue(known, errors.values[name.str()]))
      return makeError(path, "'" + StringRef(name) + "' " +
                                 toString(std::move(error)));
  return errors;
}

void GradientErrors::print(raw_ostream &os) const {
  json::Object all;
  for (const auto &[name, known] : values) {
    json::Object errors;
    // What is infinite says that this form is never to be taken.
    for (auto [codec, error] : known)
      errors[getElementCodecName(codec)] = std::isfinite(error) ? error : 1e300;
    all[name] = std::move(errors);
  }
  json::Value value =
      json::Object{{"schema", schema}, {"values", std::move(all)}};
  os << formatv("{0:2}", value) << "\n";
}
