//===- PassWatch.cpp - passes whose searches the user watches -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassWatch.h"

#include "common/PlanWatch.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/SearchWatch.h"

#include "mlir/IR/DialectRegistry.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

namespace {
class PassWatch : public SearchWatchInterface {
public:
  PassWatch(mlir::Dialect *dialect, bool shows)
      : SearchWatchInterface(dialect), shows(shows) {}

  Error watch(planning::SolverOptions &options,
              function_ref<Error()> search) const override {
    std::shared_ptr<PlanWatch> watch = open();
    watch->attach(options);
    Error error = search();
    // The last one closes it, before another is opened.
    std::lock_guard<std::mutex> lock(mutex);
    watch.reset();
    return error;
  }

private:
  /// Searches of several threads are watched together.
  std::shared_ptr<PlanWatch> open() const {
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<PlanWatch> watch = current.lock();
    if (!watch)
      // The pass itself says what was interrupted.
      watch = std::make_shared<PlanWatch>("remat-opt", shows);
    current = watch;
    return watch;
  }

  bool shows;
  mutable std::mutex mutex;
  mutable std::weak_ptr<PlanWatch> current;
};

class PassWatchExtension
    : public mlir::DialectExtension<PassWatchExtension, RematDialect> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PassWatchExtension)

  explicit PassWatchExtension(bool shows) : shows(shows) {}

  void apply(mlir::MLIRContext *, RematDialect *dialect) const override {
    dialect->addInterface(std::make_unique<PassWatch>(dialect, shows));
  }

private:
  bool shows;
};
} // namespace

void tools::watchSearches(mlir::DialectRegistry &registry, bool shows) {
  registry.addExtension(mlir::TypeID::get<PassWatchExtension>(),
                        std::make_unique<PassWatchExtension>(shows));
}
