//===- ExpandDerivatives.cpp - derivatives that a program asks for --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces remat.vjp and remat.jvp by differentiated copies of the functions
// that they name. What a derivative calls is expanded before it is
// differentiated, so derivatives of derivatives are expanded from the inside
// out.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

#include "Batch.h"
#include "Emit.h"
#include "remat/AutoDiff/AutoDiff.h"
#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/NamedFunctions.h"
#include "llvm/ADT/ScopeExit.h"

namespace remat {
#define GEN_PASS_DEF_EXPANDDERIVATIVESPASS
#include "remat/AutoDiff/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
class Expander {
public:
  Expander(ModuleOp module, bool batches, bool innermost);

  /// Leaves no derivative in `function`.
  LogicalResult expand(func::FuncOp function);

private:
  /// The functions that are being expanded or inlined, outermost first.
  using Stack = SmallVector<func::FuncOp>;

  FailureOr<func::FuncOp> enter(Operation *user, StringRef name);
  template <typename Op>
  LogicalResult replace(Op op, DifferentiateOptions::Mode mode);
  template <typename Op>
  LogicalResult replaceRowByRow(Op op, DifferentiateOptions::Mode mode);
  LogicalResult inlineCalls(Operation *root);

  SymbolTable symbols;
  bool batches;
  /// Functions of which derivatives are left alone.
  DenseSet<Operation *> outer;
  Stack stack;
  DenseSet<Operation *> done;
};
} // namespace

Expander::Expander(ModuleOp module, bool batches, bool innermost)
    : symbols(module), batches(batches) {
  // As it is before anything is replaced.
  if (innermost)
    module.walk([&](Operation *op) {
      Operation *callee =
          isa<VJPOp, JVPOp>(op) ? getNamedFunction(op) : nullptr;
      if (callee && holdsDerivative(callee))
        outer.insert(callee);
    });
}

/// Puts the body of `function` where `builder` stands.
static SmallVector<Value> inlineBody(OpBuilder &builder, func::FuncOp function,
                                     ValueRange arguments,
                                     SmallVectorImpl<Operation *> &made) {
  IRMapping mapping;
  mapping.map(function.getArguments(), arguments);
  for (Operation &op : function.front().without_terminator())
    made.push_back(builder.clone(op, mapping));
  SmallVector<Value> results;
  for (Value value : function.front().getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}

/// The function `name` that `user` calls, which must have a body of one block
/// and not be under way already.
FailureOr<func::FuncOp> Expander::enter(Operation *user, StringRef name) {
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function)
    return user->emitOpError("calls '") << name << "', which is no function";
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return user->emitOpError("calls '")
           << name << "', expected a body of one block to differentiate";
  if (llvm::is_contained(stack, function))
    return user->emitOpError("calls '")
           << name << "' recursively, which cannot be differentiated";
  return function;
}

LogicalResult Expander::inlineCalls(Operation *root) {
  for (func::CallOp call : collectOps<func::CallOp>(root)) {
    FailureOr<func::FuncOp> callee = enter(call, call.getCallee());
    if (failed(callee) || failed(expand(*callee)))
      return failure();
    OpBuilder builder(call);
    SmallVector<Operation *> made;
    SmallVector<Value> results =
        inlineBody(builder, *callee, call.getOperands(), made);
    stack.push_back(*callee);
    for (Operation *op : made)
      if (failed(inlineCalls(op)))
        return failure();
    stack.pop_back();
    // A call that returns what another call made was replaced meanwhile.
    call.replaceAllUsesWith(results);
    call.erase();
  }
  return success();
}

template <typename Op>
LogicalResult Expander::replace(Op op, DifferentiateOptions::Mode mode) {
  FailureOr<func::FuncOp> callee = enter(op, op.getCallee());
  if (failed(callee) || failed(expand(*callee)))
    return failure();
  // In the module, as rules may look for functions and write some.
  func::FuncOp copy = callee->clone();
  SymbolTable(callee->getOperation()->getParentOp()).insert(copy);
  llvm::scope_exit eraseCopy([&] { copy.erase(); });
  DifferentiateOptions options;
  options.mode = mode;
  options.wrt = op.getWrtNumbers(*callee);
  options.results = op.getOfNumbers(*callee);
  stack.push_back(*callee);
  LogicalResult inlined = inlineCalls(copy);
  stack.pop_back();
  if (failed(inlined))
    return failure();
  if (!options.wrt.empty() && !options.results.empty() &&
      failed(differentiate(copy, options))) {
    emitRemark(op.getLoc(), "in a derivative asked for here");
    return failure();
  }
  OpBuilder builder(op);
  if (std::optional<uint64_t> batch = op.getBatch()) {
    FailureOr<SmallVector<Value>> together = failure();
    if (batches)
      together = inlineBatched(builder, copy, op->getOperands(),
                               callee->getNumArguments(),
                               callee->getNumResults(), *batch);
    if (failed(together))
      return replaceRowByRow(op, mode);
    op->replaceAllUsesWith(*together);
    op->erase();
    return success();
  }
  SmallVector<Operation *> made;
  SmallVector<Value> results =
      inlineBody(builder, copy, op->getOperands(), made);
  op->replaceAllUsesWith(results);
  op->erase();
  return success();
}

/// Computes the products of a batch one by one.
template <typename Op>
LogicalResult Expander::replaceRowByRow(Op op,
                                        DifferentiateOptions::Mode mode) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t batch = *op.getBatch();
  size_t numProducts =
      op.getNumResults() -
      symbols.lookup<func::FuncOp>(op.getCallee()).getNumResults();
  // The place of a row, as offsets, sizes and strides.
  auto getPlace = [](Type type, int64_t row) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> offsets(tensor.getRank(), 0),
        ones(tensor.getRank(), 1);
    SmallVector<int64_t> sizes = llvm::to_vector(tensor.getShape());
    offsets[0] = row;
    sizes[0] = 1;
    return std::make_tuple(offsets, sizes, ones);
  };
  auto getRowType = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return RankedTensorType::get(tensor.getShape().drop_front(),
                                 tensor.getElementType());
  };
  SmallVector<Value> products;
  SmallVector<Type> types = llvm::to_vector(op.getResultTypes());
  for (size_t i = types.size() - numProducts; i < types.size(); ++i) {
    auto tensor = cast<RankedTensorType>(types[i]);
    products.push_back(tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                               tensor.getElementType()));
    types[i] = getRowType(types[i]);
  }
  SmallVector<Op> rows;
  for (int64_t row = 0; row < std::max<int64_t>(batch, 1); ++row) {
    SmallVector<Value> seeds;
    for (Value seed : op.getSeeds()) {
      RankedTensorType type = getRowType(seed.getType());
      auto [offsets, sizes, strides] = getPlace(seed.getType(), row);
      seeds.push_back(batch == 0 ? createZeros(builder, loc, type)
                                 : createExtractSlice(builder, loc, seed, type,
                                                      offsets, sizes, strides));
    }
    auto one = Op::create(builder, loc, types, op.getCallee(), op.getInputs(),
                          seeds, op.getWrtAttr(), op.getOfAttr(), nullptr);
    rows.push_back(one);
    for (auto [number, product] : llvm::enumerate(products)) {
      if (batch == 0)
        break;
      auto [offsets, sizes, strides] = getPlace(product.getType(), row);
      product = createInsertSlice(
          builder, loc, one->getResult(types.size() - numProducts + number),
          product, offsets, sizes, strides);
    }
  }
  SmallVector<Value> results(rows.front()->getResults().drop_back(numProducts));
  llvm::append_range(results, products);
  op->replaceAllUsesWith(results);
  op->erase();
  for (Op one : rows)
    if (failed(replace(one, mode)))
      return failure();
  return success();
}

LogicalResult Expander::expand(func::FuncOp function) {
  if (!done.insert(function).second)
    return success();
  stack.push_back(function);
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<VJPOp, JVPOp>(op) && !outer.contains(getNamedFunction(op)))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    auto vjp = dyn_cast<VJPOp>(op);
    if (failed(vjp ? replace(vjp, DifferentiateOptions::Reverse)
                   : replace(cast<JVPOp>(op), DifferentiateOptions::Forward)))
      return failure();
  }
  stack.pop_back();
  return success();
}

namespace {
struct RematExpandDerivativesPass
    : remat::impl::ExpandDerivativesPassBase<RematExpandDerivativesPass> {
  using ExpandDerivativesPassBase::ExpandDerivativesPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(attachRules(function)))
        return signalPassFailure();
    Expander expander(getOperation(), batch, innermost);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(expander.expand(function)))
        return signalPassFailure();
  }
};
} // namespace
