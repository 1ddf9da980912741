//===- CheckpointSequential.cpp - segments of a chain ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "remat/Dialect/Remat/Transforms/CheckpointSequential.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/TextOptions.h"

namespace remat {
#define GEN_PASS_DEF_CHECKPOINTSEQUENTIALPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` is made anew wherever it is needed.
static bool isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (isa<tensor::EmptyOp, linalg::FillOp>(op) &&
          llvm::all_of(op->getOperands(), [](Value value) {
            return value.getDefiningOp() && isFree(value.getDefiningOp());
          }));
}

/// Moves `ops`, which follow each other, into a region.
static void checkpoint(ArrayRef<Operation *> ops,
                       const SequentialOptions &options) {
  DenseSet<Operation *> members(ops.begin(), ops.end());
  Block *block = ops.front()->getBlock();
  auto isOutside = [&](Operation *user) {
    return !members.contains(block->findAncestorOpInBlock(*user));
  };
  SmallVector<Value> escaping;
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      if (llvm::any_of(result.getUsers(), isOutside))
        escaping.push_back(result);
  OpBuilder builder(ops.front());
  OperationState state(ops.front()->getLoc(), CheckpointOp::getOperationName());
  state.addTypes(llvm::to_vector(ValueRange(escaping).getTypes()));
  state.addRegion();
  auto region = cast<CheckpointOp>(builder.create(state));
  region.setEarlyStop(options.earlyStop);
  region.setPreserveRngState(options.preserveRngState);
  if (options.policy)
    region.setPolicy(*options.policy);
  if (!options.name.empty())
    region.setName(options.name);
  Block &body = region.getBody().emplaceBlock();
  for (auto [value, result] : llvm::zip_equal(escaping, region.getResults()))
    value.replaceUsesWithIf(
        result, [&](OpOperand &use) { return isOutside(use.getOwner()); });
  for (Operation *op : ops)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, region.getLoc(), escaping);
}

/// The name that tags or attributes give to a result of `op`.
static StringAttr getName(Operation &op) {
  if (auto tag = dyn_cast<TagOp>(op))
    return tag.getNameAttr();
  return op.getAttrOfType<StringAttr>(RematDialect::nameAttrName);
}

/// Where links end. Fails if that is nowhere.
static FailureOr<SmallVector<Operation *>>
findEnds(func::FuncOp function, const SequentialLinks &links) {
  SmallVector<Operation *> ends, ops;
  SmallVector<StringRef> names;
  for (Operation &op : function.front().without_terminator()) {
    if (isFree(&op))
      continue;
    ops.push_back(&op);
    StringAttr name = getName(op);
    if (name && !llvm::is_contained(names, name.getValue()))
      names.push_back(name.getValue());
    if (links.kind == SequentialLinks::Tag
            ? name && (links.name.empty() || name.getValue() == links.name)
            : links.kind != SequentialLinks::Op && isa<CallOpInterface>(op))
      ends.push_back(&op);
  }
  bool isEach = links.kind == SequentialLinks::Op ||
                (links.kind == SequentialLinks::Auto && ends.empty());
  if (isEach)
    return ops;
  if (!ends.empty())
    return ends;
  if (links.kind == SequentialLinks::Tag && !names.empty())
    return function.emitOpError()
           << llvm::toString(makeUnknownNameError("name", links.name, names));
  return function.emitOpError("has no ")
         << (links.kind == SequentialLinks::Tag
                 ? "value with a name ('remat.tag', 'remat.name')"
                 : "call")
         << " to end a link at";
}

/// The operations of each link, in order. What stands behind the last end
/// belongs to the last link.
static SmallVector<SmallVector<Operation *>>
collectLinks(Block &block, ArrayRef<Operation *> ends) {
  DenseSet<Operation *> isEnd(ends.begin(), ends.end());
  SmallVector<SmallVector<Operation *>> links;
  bool open = false;
  for (Operation &op : block.without_terminator()) {
    if (isFree(&op))
      continue;
    if (!open && links.size() < ends.size())
      links.emplace_back();
    links.back().push_back(&op);
    open = !isEnd.contains(&op);
  }
  return links;
}

/// Moves what is made anew wherever it is needed to the beginning: it belongs
/// to no segment.
static void hoistFree(Block &block) {
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isFree(&op))
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&block, block.begin());
    last = &op;
  }
}

static LogicalResult cut(func::FuncOp function,
                         const SequentialOptions &options) {
  if (function.isExternal())
    return function.emitOpError("has no body to cut into segments");
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("must have one block to be cut into segments");
  FailureOr<SmallVector<Operation *>> ends = findEnds(function, options.links);
  if (failed(ends))
    return failure();
  if (options.segments < 1 || options.segments > int64_t(ends->size()))
    return function.emitOpError("has ")
           << ends->size() << " links to cut, expected "
           << "from 1 to as many segments, got " << options.segments;
  hoistFree(function.front());
  SmallVector<SmallVector<Operation *>> links =
      collectLinks(function.front(), *ends);
  size_t size = links.size() / options.segments;
  for (int64_t segment = 0; segment + 1 < options.segments; ++segment) {
    SmallVector<Operation *> ops;
    for (size_t link = 0; link < size; ++link)
      llvm::append_range(ops, links[segment * size + link]);
    checkpoint(ops, options);
  }
  return success();
}

namespace {
struct CheckpointSequential
    : remat::impl::CheckpointSequentialPassBase<CheckpointSequential> {
  CheckpointSequential() { addOptions(); }
  CheckpointSequential(const CheckpointSequential &other)
      : CheckpointSequentialPassBase(other) {
    addOptions();
  }
  explicit CheckpointSequential(const SequentialOptions &options)
      : CheckpointSequential() {
    texts.assign(options);
  }

  LogicalResult initializeOptions(
      StringRef text,
      function_ref<LogicalResult(const Twine &)> onError) override {
    auto explain = [&](const Twine &message) {
      return onError("remat-checkpoint-sequential: " +
                     explainOptions(message.str(), text, texts.getNames()));
    };
    if (failed(CheckpointSequentialPassBase::initializeOptions(text, explain)))
      return failure();
    SequentialOptions options;
    if (llvm::Error error = texts.apply(options))
      return explain(llvm::toString(std::move(error)));
    return success();
  }

  void runOnOperation() override {
    SequentialOptions options;
    if (llvm::Error error = texts.apply(options)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    auto function = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), options.function).getOperation());
    if (!function) {
      getOperation().emitError("has no function '")
          << options.function << "' to cut into segments";
      return signalPassFailure();
    }
    if (failed(cut(function, options)))
      signalPassFailure();
  }

private:
  void addOptions() {
    for (const OptionInfo<SequentialOptions> &row : getSequentialOptionTable())
      texts.add<Option<std::string, TextParser>>(*this, row);
  }

  TextOptions<SequentialOptions> texts;
};
} // namespace

std::unique_ptr<Pass>
remat::createCheckpointSequentialPass(const SequentialOptions &options) {
  return std::make_unique<CheckpointSequential>(options);
}
