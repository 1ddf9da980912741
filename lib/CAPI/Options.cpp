//===- Options.cpp - options of the C API ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

// INTERIM
static llvm::Error setOption(OptionsState &options, StringRef key,
                             StringRef value) {
  auto boolean = [&] { return value == "true" || value == "1"; };
  if (key == "budget")
    return planning::parseBudget(value).moveInto(options.plan.budget);
  if (key == "function")
    options.step.function = value.str();
  else if (key == "threads")
    value.getAsInteger(10, options.step.threads);
  else if (key == "lend")
    options.plan.lend = boolean();
  else if (key == "name")
    options.name = value.str();
  else if (key == "wrt") {
    SmallVector<StringRef> parts;
    value.split(parts, ',');
    if (options.step.derivatives.empty())
      options.step.derivatives.emplace_back();
    options.step.derivatives[0].wrt.clear();
    for (StringRef part : parts)
      part.getAsInteger(10, options.step.derivatives[0].wrt.emplace_back());
  } else if (key == "differentiate") {
    if (!boolean())
      options.step.derivatives.clear();
  } else if (key == "cotangents") {
    options.step.derivatives[0].mode = DifferentiateOptions::Reverse;
  } else if (key == "tangents") {
    options.step.derivatives.emplace_back();
    options.step.derivatives.back().mode = DifferentiateOptions::Forward;
  } else
    return llvm::createStringError("unknown option '" + key +
                                   "', expected one of 'budget'");
  return llvm::Error::success();
}

static llvm::Error applyOptions(OptionsState &options,
                                const llvm::json::Object &object) {
  OptionsState copy = options;
  for (auto &[key, value] : object) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (auto string = value.getAsString())
      os << *string;
    else if (auto array = value.getAsArray())
      llvm::interleave(*array, os, ",");
    else
      os << value;
    if (llvm::Error error = setOption(copy, key, text))
      return error;
  }
  options = copy;
  return llvm::Error::success();
}
// END INTERIM

RematOptions rematOptionsCreate(RematContext context) {
  if (!context.ptr)
    return {nullptr};
  return {new OptionsState{*unwrap(context)}};
}

void rematOptionsDestroy(RematOptions options) { delete unwrap(options); }

RematStatus rematOptionsSet(RematOptions options, const char *key,
                            const char *value) {
  if (!options.ptr)
    return REMAT_STATUS_INVALID_ARGUMENT;
  OptionsState &state = *unwrap(options);
  Call call(*state.context);
  if (!key || !value)
    return call.failNull(__func__, key ? "value" : "key");
  if (llvm::Error error = setOption(state, key, value))
    return call.fail(REMAT_STATUS_INVALID_OPTION, std::move(error));
  return REMAT_STATUS_OK;
}

RematStatus rematOptionsSetJson(RematOptions options, const char *json,
                                size_t size) {
  if (!options.ptr)
    return REMAT_STATUS_INVALID_ARGUMENT;
  OptionsState &state = *unwrap(options);
  Call call(*state.context);
  if (!json)
    return call.failNull(__func__, "json");
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse(StringRef(json, size));
  if (!value)
    return call.fail(REMAT_STATUS_INVALID_OPTION, value.takeError());
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return call.fail(REMAT_STATUS_INVALID_OPTION,
                     "the options are no JSON object");
  if (llvm::Error error = applyOptions(state, *object))
    return call.fail(REMAT_STATUS_INVALID_OPTION, std::move(error));
  return REMAT_STATUS_OK;
}

RematStatus rematOptionsDescribe(RematOptions options, RematBytes *json) {
  if (json)
    *json = {nullptr, 0};
  if (!options.ptr)
    return REMAT_STATUS_INVALID_ARGUMENT;
  Call call(*unwrap(options)->context);
  if (!json)
    return call.failNull(__func__, "json");
  giveJson(llvm::json::Array(), json);
  return REMAT_STATUS_OK;
}
