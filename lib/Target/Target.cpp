//===- Target.cpp - machines that steps are compiled for ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/Target.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace remat;

LoadedModule::~LoadedModule() = default;
Target::~Target() = default;

TargetAttr Target::getFacts(MLIRContext *context, StringRef) const {
  return TargetAttr::get(context, name);
}

LogicalResult Target::makeLibraryPlans(ModuleOp, const LibraryOptions &) const {
  return success();
}

llvm::Expected<MachineFacts> Target::describeMachine(const EmitOptions &options,
                                                     int threads) const {
  return MachineFacts();
}

namespace {
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Target>, std::less<>> targets;
};
} // namespace

static Registry &getRegistry() {
  static Registry registry;
  return registry;
}

bool remat::registerTarget(std::unique_ptr<Target> target) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::string name = target->getName().str();
  return registry.targets.try_emplace(name, std::move(target)).second;
}

std::vector<std::string> remat::getTargetNames() {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<std::string> names;
  for (const auto &[name, target] : registry.targets)
    names.push_back(name);
  return names;
}

llvm::Expected<const Target *> remat::lookupTarget(StringRef name) {
  {
    Registry &registry = getRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (auto it = registry.targets.find(name); it != registry.targets.end())
      return it->second.get();
  }
  return llvm::createStringError(
      "unknown target '" + name +
      "', expected one of: " + llvm::join(getTargetNames(), ", "));
}

const Target *remat::lookupTarget(Operation *op) {
  llvm::Expected<const Target *> target =
      lookupTarget(getTargetFacts(op).getName());
  if (target)
    return *target;
  op->emitError(llvm::toString(target.takeError()));
  return nullptr;
}
