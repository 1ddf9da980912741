//===- Options.cpp - options of the C API ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "remat/Support/Json.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

RematOptions rematOptionsCreate(RematContext context) {
  if (!context.ptr)
    return {nullptr};
  return {new OptionsState(*unwrap(context))};
}

void rematOptionsDestroy(RematOptions options) { delete unwrap(options); }

void rematOptionsInterrupt(RematOptions options, int isInterrupted) {
  if (options.ptr)
    unwrap(options)->isInterrupted = isInterrupted != 0;
}

void rematOptionsSetProgress(RematOptions options,
                             RematProgressFunction function, void *user) {
  if (!options.ptr)
    return;
  auto &onProgress = unwrap(options)->step.plan.solver.onProgress;
  onProgress = nullptr;
  if (!function)
    return;
  onProgress = [function, user](const planning::Progress &progress) {
    std::string planner = progress.solver.str();
    RematProgress reached = {planner.c_str(),   progress.seconds,
                             progress.time,     progress.lowerBound,
                             progress.baseCost, progress.peakBytes};
    function(&reached, user);
  };
}

RematStatus rematOptionsSet(RematOptions options, const char *key,
                            const char *value) {
  return runCall(__func__, options, {{"key", key}, {"value", value}},
                 [&](Call &call, OptionsState &state) {
                   if (llvm::Error error = setOption(state.step, key, value))
                     return call.fail(REMAT_STATUS_INVALID_OPTION,
                                      std::move(error));
                   return REMAT_STATUS_OK;
                 });
}

RematStatus rematOptionsSetJson(RematOptions options, const char *json,
                                size_t size) {
  return runCall(
      __func__, options, {{"json", json}},
      [&](Call &call, OptionsState &state) {
        llvm::Expected<llvm::json::Value> value =
            parseJson(StringRef(json, size));
        if (!value)
          return call.fail(REMAT_STATUS_INVALID_OPTION, value.takeError());
        const llvm::json::Object *object = value->getAsObject();
        if (!object)
          return call.fail(REMAT_STATUS_INVALID_OPTION,
                           "the options are no JSON object");
        if (llvm::Error error = applyOptions(state.step, *object))
          return call.fail(REMAT_STATUS_INVALID_OPTION, std::move(error));
        return REMAT_STATUS_OK;
      });
}

RematStatus rematOptionsDescribe(RematOptions options, RematBytes *json) {
  return runCall(__func__, options, {makeOutput("json", json)},
                 [&](Call &, OptionsState &) {
                   giveJson(describeStepOptions(), json);
                   return REMAT_STATUS_OK;
                 });
}
