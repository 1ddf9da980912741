//===- ForeignKernels.cpp - an operation of another project, whole --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// External models of the interfaces by which an operation is a task.
//
//===----------------------------------------------------------------------===//

#include "Foreign.h"

#include "remat/AutoDiff/DerivativeRules.h"
#include "remat/Interfaces/KernelOpInterface.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Builders.h"

#include "llvm/ADT/StringSwitch.h"

using namespace foreign;
using namespace mlir;
using remat::KernelOpInterface;
using remat::Recomputability;
using remat::RecomputableOpInterface;

static Recomputability getRecomputability(WholeOp op) {
  return llvm::StringSwitch<Recomputability>(
             op.getRecomputability().value_or(""))
      .Case("cheap", Recomputability::Cheap)
      .Case("saved", Recomputability::Saved)
      .Case("random", Recomputability::Random)
      .Case("effects", Recomputability::Effects)
      .Default(Recomputability::Repeatable);
}

void WholeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (getRecomputability() == "random" || getRecomputability() == "effects" ||
      getRecomputability() == "undeclared effects")
    effects.emplace_back(MemoryEffects::Write::get());
}

namespace {

struct WholeRecomputability
    : RecomputableOpInterface::ExternalModel<WholeRecomputability, WholeOp> {
  Recomputability getRecomputability(Operation *op) const {
    return ::getRecomputability(cast<WholeOp>(op));
  }
};

struct WholeKernel : KernelOpInterface::ExternalModel<WholeKernel, WholeOp> {
  FailureOr<SmallVector<Value>> decomposeInKernel(Operation *op,
                                                  OpBuilder &builder) const {
    auto whole = cast<WholeOp>(op);
    StringRef parts = whole.getParts().value_or("");
    if (parts == "none")
      return failure();
    if (parts == "itself")
      return SmallVector<Value>(builder.clone(*op)->getResults());
    // Parts may have parts.
    if (parts == "whole")
      return SmallVector<Value>{
          WholeOp::create(builder, op->getLoc(), whole.getX())};
    if (parts == "mistyped")
      return SmallVector<Value>{
          remat::createZeros(builder, op->getLoc(),
                             RankedTensorType::get({}, builder.getF32Type()))};
    return SmallVector<Value>{
        remat::createSum(builder, op->getLoc(), whole.getX(), whole.getX())};
  }

  std::optional<remat::OpCost> getKernelCost(Operation *op) const {
    std::optional<uint64_t> flops = cast<WholeOp>(op).getFlops();
    if (!flops)
      return std::nullopt;
    remat::OpCost cost;
    cost.flops = *flops;
    return cost;
  }

  int64_t getWorkspaceBytes(Operation *op) const {
    return cast<WholeOp>(op).getWorkspace().value_or(0);
  }
};

struct WholeRule : remat::UnaryRule<WholeRule, WholeOp> {
  static remat::Expr dx(const remat::Expr &g, const remat::Expr &x,
                        const remat::Expr &) {
    return 2.0 * g;
  }
};

} // namespace

void foreign::registerForeignKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ForeignDialect *) {
    WholeOp::attachInterface<WholeRecomputability, WholeKernel>(*context);
    remat::attachRules<WholeRule>(context);
  });
}
