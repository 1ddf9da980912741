//===- Code.cpp - machine code of a placed module -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Codegen/HeaderEmitter.h"
#include "remat/Support/OutputFiles.h"
#include "remat/Target/Target.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

static LoadedModule *unwrap(RematCode code) {
  return static_cast<LoadedModule *>(code.ptr);
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

namespace {
struct Files {
  SmallVector<char, 0> object, header;
};

/// Where compiled kernels are kept: in the options' directory or the context.
class Cache {
public:
  Cache(const ModuleState &module, const OptionsState &options)
      : memory(module.context->kernels), directory(options.step.kernelCache) {}

  llvm::Expected<codegen::KernelCache *> get() {
    if (directory.empty())
      return &memory;
    auto cache = codegen::KernelCache::open(directory);
    if (!cache)
      return cache.takeError();
    opened = std::move(*cache);
    return opened.get();
  }

private:
  codegen::KernelCache &memory;
  const std::string &directory;
  std::unique_ptr<codegen::KernelCache> opened;
};
} // namespace

static RematStatus emit(Call &call, const ModuleState &module,
                        const OptionsState &options, bool wantsObject,
                        bool wantsHeader, Files &files) {
  if (RematStatus status = requireLevel(call, module, REMAT_LEVEL_PLACED))
    return status;
  if (wantsHeader) {
    llvm::raw_svector_ostream stream(files.header);
    if (failed(codegen::emitHeader(*module.module, options.step.name, stream)))
      return call.fail(REMAT_STATUS_COMPILE_ERROR,
                       "the step cannot be described in C");
  }
  if (!wantsObject)
    return REMAT_STATUS_OK;
  Cache kernels(module, options);
  auto cache = kernels.get();
  if (!cache)
    return call.fail(REMAT_STATUS_IO_ERROR, cache.takeError());
  OwningOpRef<ModuleOp> copy = module.module.get().clone();
  const Target *target = lookupTarget(*copy);
  if (!target ||
      failed(target->lower(*copy, {options.step.name, options.step.threads,
                                   options.step.allowsTf32})))
    return call.fail(REMAT_STATUS_COMPILE_ERROR, "the step does not compile");
  llvm::raw_svector_ostream stream(files.object);
  if (llvm::Error error = target->emit(
          *copy, {options.step.chip, *cache, {}, options.step.cudaToolkit},
          OutputKind::Object, stream))
    return call.fail(REMAT_STATUS_COMPILE_ERROR, std::move(error));
  return REMAT_STATUS_OK;
}

RematStatus rematModuleEmitObject(RematModule module, RematOptions options,
                                  RematBytes *object, RematBytes *header) {
  for (RematBytes *bytes : {object, header})
    if (bytes)
      *bytes = {nullptr, 0};
  return runCall(
      __func__, module, {{"options", options.ptr}},
      [&](Call &call, ModuleState &state) {
        Files files;
        if (RematStatus status =
                emit(call, state, *unwrap(options), object, header, files))
          return status;
        if (object)
          giveBytes(StringRef(files.object.data(), files.object.size()),
                    object);
        if (header)
          giveBytes(StringRef(files.header.data(), files.header.size()),
                    header);
        return REMAT_STATUS_OK;
      });
}

static llvm::Error write(const char *objectPath, const char *headerPath,
                         const Files &contents) {
  auto writeTo = [](ArrayRef<char> bytes) {
    return [=](raw_ostream &os) { os.write(bytes.data(), bytes.size()); };
  };
  OutputFiles files;
  if (objectPath)
    if (llvm::Error error = files.add(objectPath, writeTo(contents.object)))
      return error;
  if (headerPath)
    if (llvm::Error error = files.add(headerPath, writeTo(contents.header)))
      return error;
  return files.commit();
}

RematStatus rematModuleWriteObject(RematModule module, RematOptions options,
                                   const char *objectPath,
                                   const char *headerPath) {
  return runCall(
      __func__, module, {{"options", options.ptr}},
      [&](Call &call, ModuleState &state) {
        if (objectPath && headerPath && StringRef(objectPath) == headerPath)
          return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                           Twine("object and header have the same path '") +
                               objectPath + "'");
        Files files;
        if (RematStatus status = emit(call, state, *unwrap(options), objectPath,
                                      headerPath, files))
          return status;
        if (llvm::Error error = write(objectPath, headerPath, files))
          return call.fail(REMAT_STATUS_IO_ERROR, std::move(error));
        return REMAT_STATUS_OK;
      });
}

//===----------------------------------------------------------------------===//
// In this process
//===----------------------------------------------------------------------===//

RematStatus rematModuleLoad(RematModule module, RematOptions options,
                            RematCode *code) {
  return runCall(
      __func__, module, {{"options", options.ptr}, makeOutput("code", code)},
      [&](Call &call, ModuleState &state) {
        if (RematStatus status = requireLevel(call, state, REMAT_LEVEL_PLACED))
          return status;
        Cache kernels(state, *unwrap(options));
        auto cache = kernels.get();
        if (!cache)
          return call.fail(REMAT_STATUS_IO_ERROR, cache.takeError());
        OwningOpRef<ModuleOp> copy = state.module->clone();
        const Target *target = lookupTarget(*copy);
        if (!target)
          return call.fail(REMAT_STATUS_COMPILE_ERROR,
                           "the step does not compile");
        auto loaded = target->load(
            *copy,
            {unwrap(options)->step.name, unwrap(options)->step.threads,
             unwrap(options)->step.allowsTf32},
            {unwrap(options)->step.chip, *cache, unwrap(options)->step.device,
             unwrap(options)->step.cudaToolkit});
        if (!loaded)
          return call.fail(REMAT_STATUS_COMPILE_ERROR, loaded.takeError());
        code->ptr = loaded->release();
        return REMAT_STATUS_OK;
      });
}

const remat_module *rematCodeGetModule(RematCode code) {
  return code.ptr ? unwrap(code)->getModule() : nullptr;
}

void rematCodeDestroy(RematCode code) { delete unwrap(code); }
