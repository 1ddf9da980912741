//===- Buffers.cpp - memrefs become tensors -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A straight line of operations on memrefs is read in order, keeping for each
// buffer the tensor with its contents. A view is a chain of operations from its
// buffer; to write through it is to insert into the buffer's contents.
//
//===----------------------------------------------------------------------===//

#include "Utils.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTBUFFERSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using namespace remat::import;

static bool isMemRef(Value value) {
  return isa<BaseMemRefType>(value.getType());
}

static bool touchesMemory(Operation *op) {
  return llvm::any_of(op->getOperands(), isMemRef) ||
         llvm::any_of(op->getResults(), isMemRef);
}

/// The tensor type with the contents of a memref.
static RankedTensorType getContentsType(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

namespace {
class BufferImporter {
public:
  BufferImporter(func::FuncOp function, bool marksOverwritten)
      : function(function), marksOverwritten(marksOverwritten),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult importArguments();
  void importOp(Operation &op);
  void finish(ArrayRef<Operation *> old);
  void importStructured(linalg::LinalgOp op);
  void importReturn(func::ReturnOp op);

  Value read(Value memref);
  Value copy(Value contents);
  void write(Value memref, Value contents, Operation *writer);
  void mark(Value contents, Operation *writer);

  func::FuncOp function;
  bool marksOverwritten;
  OpBuilder builder;
  /// For each buffer, that is a memref that is no view, what is in it.
  DenseMap<Value, Value> current;
  /// Memref arguments, and whether each was written.
  llvm::MapVector<Value, bool> arguments;
};
} // namespace

/// The memref that `memref` is a view of; null if it is a buffer.
static Value getViewed(Value memref) {
  Operation *op = memref.getDefiningOp();
  if (op && isa<memref::SubViewOp, memref::ExpandShapeOp,
                memref::CollapseShapeOp, memref::CastOp>(op))
    return op->getOperand(0);
  return {};
}

/// Whether the pass knows what the operation does to memory.
static bool isKnown(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureBufferSemantics();
  if (auto view = dyn_cast<memref::SubViewOp>(op))
    return view.getDroppedDims().none();
  return isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp,
             memref::LoadOp, memref::StoreOp, memref::CopyOp,
             memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp,
             bufferization::ToTensorOp, bufferization::ToBufferOp,
             bufferization::MaterializeInDestinationOp, func::ReturnOp>(op);
}

LogicalResult BufferImporter::check() {
  auto checkType = [](Location loc, Type type) -> LogicalResult {
    auto memref = dyn_cast<MemRefType>(type);
    if (isa<BaseMemRefType>(type) && (!memref || !memref.hasStaticShape()))
      return emitError(loc, "expected memrefs of static shape, got ") << type;
    return success();
  };
  for (BlockArgument argument : function.getArguments())
    if (failed(checkType(argument.getLoc(), argument.getType())))
      return failure();
  WalkResult result = function.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(checkType(op->getLoc(), value.getType())))
        return WalkResult::interrupt();
    if (op == function || !touchesMemory(op))
      return WalkResult::advance();
    if (op->getParentOp() != function) {
      op->emitOpError("uses a memref in a region, expected a straight line of "
                      "operations on memrefs");
      return WalkResult::interrupt();
    }
    if (isKnown(op))
      return WalkResult::advance();
    op->emitOpError("on memrefs is not supported");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

Value BufferImporter::read(Value memref) {
  Value viewed = getViewed(memref);
  if (!viewed)
    return current.at(memref);
  Value source = read(viewed);
  Operation *op = memref.getDefiningOp();
  Location loc = op->getLoc();
  RankedTensorType type = getContentsType(memref);
  if (auto view = dyn_cast<memref::SubViewOp>(op))
    return tensor::ExtractSliceOp::create(
        builder, loc, type, source, view.getMixedOffsets(),
        view.getMixedSizes(), view.getMixedStrides());
  if (auto view = dyn_cast<memref::ExpandShapeOp>(op))
    return tensor::ExpandShapeOp::create(builder, loc, type, source,
                                         view.getReassociationIndices());
  if (auto view = dyn_cast<memref::CollapseShapeOp>(op))
    return tensor::CollapseShapeOp::create(builder, loc, type, source,
                                           view.getReassociationIndices());
  return source;
}

/// Whether `op` is a copy that only tells two contents apart.
static bool isCopy(Operation *op) {
  return isa<tensor::CastOp>(op) &&
         op->getOperand(0).getType() == op->getResult(0).getType();
}

/// The same contents as a value of its own: to overwrite one of the two is not
/// to overwrite the other.
Value BufferImporter::copy(Value contents) {
  return tensor::CastOp::create(builder, contents.getLoc(), contents.getType(),
                                contents);
}

void BufferImporter::mark(Value contents, Operation *writer) {
  Operation *producer = contents.getDefiningOp();
  if (!marksOverwritten || isa_and_nonnull<tensor::EmptyOp>(producer))
    return;
  OpBuilder before(function.getContext());
  if (producer)
    before.setInsertionPointAfter(producer);
  else
    before.setInsertionPointToStart(&function.front());
  auto tag = TagOp::create(before, contents.getLoc(), contents,
                           before.getStringAttr(overwrittenAttrName),
                           PolicyAttr(), Attribute());
  tag->setAttr(overwrittenAttrName, LocationAttr(writer->getLoc()));
  contents.replaceUsesWithIf(tag.getResult(), [&](OpOperand &use) {
    return use.getOwner() != tag && !isCopy(use.getOwner());
  });
}

void BufferImporter::write(Value memref, Value contents, Operation *writer) {
  if (Value viewed = getViewed(memref)) {
    Operation *op = memref.getDefiningOp();
    Location loc = writer->getLoc();
    Value whole = contents;
    if (auto view = dyn_cast<memref::SubViewOp>(op))
      whole = tensor::InsertSliceOp::create(
          builder, loc, contents, read(viewed), view.getMixedOffsets(),
          view.getMixedSizes(), view.getMixedStrides());
    else if (auto view = dyn_cast<memref::ExpandShapeOp>(op))
      whole = tensor::CollapseShapeOp::create(builder, loc,
                                              getContentsType(viewed), contents,
                                              view.getReassociationIndices());
    else if (auto view = dyn_cast<memref::CollapseShapeOp>(op))
      whole = tensor::ExpandShapeOp::create(builder, loc,
                                            getContentsType(viewed), contents,
                                            view.getReassociationIndices());
    return write(viewed, whole, writer);
  }
  mark(current.at(memref), writer);
  current[memref] = contents;
  if (auto it = arguments.find(memref); it != arguments.end())
    it->second = true;
}

/// The operation on tensors that does what `op` does on memrefs.
void BufferImporter::importStructured(linalg::LinalgOp op) {
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) {
        return isMemRef(operand) ? read(operand) : operand;
      });
  SmallVector<Type> types =
      llvm::map_to_vector(op.getDpsInits(), [](Value init) -> Type {
        return getContentsType(init);
      });
  Operation *made = mlir::clone(builder, op, types, operands);
  for (auto [init, result] : llvm::zip(op.getDpsInits(), made->getResults()))
    write(init, result, op);
}

void BufferImporter::importReturn(func::ReturnOp op) {
  SmallVector<Value> results =
      llvm::map_to_vector(op.getOperands(), [&](Value operand) {
        return isMemRef(operand) ? read(operand) : operand;
      });
  for (auto [argument, isWritten] : arguments)
    if (isWritten)
      results.push_back(current.at(argument));
  op->setOperands(results);
}

void BufferImporter::importOp(Operation &op) {
  builder.setInsertionPoint(&op);
  Location loc = op.getLoc();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    importStructured(structured);
  } else if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
    RankedTensorType type = getContentsType(op.getResult(0));
    current[op.getResult(0)] = tensor::EmptyOp::create(
        builder, loc, type.getShape(), type.getElementType());
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    load.replaceAllUsesWith(tensor::ExtractOp::create(builder, loc,
                                                      read(load.getMemRef()),
                                                      load.getIndices())
                                .getResult());
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    write(store.getMemRef(),
          tensor::InsertOp::create(builder, loc, store.getValue(),
                                   read(store.getMemRef()), store.getIndices()),
          &op);
  } else if (auto copyOp = dyn_cast<memref::CopyOp>(op)) {
    write(copyOp.getTarget(), copy(read(copyOp.getSource())), &op);
  } else if (auto toTensor = dyn_cast<bufferization::ToTensorOp>(op)) {
    toTensor.replaceAllUsesWith(read(toTensor.getBuffer()));
  } else if (auto toBuffer = dyn_cast<bufferization::ToBufferOp>(op)) {
    current[toBuffer.getResult()] = toBuffer.getTensor();
  } else if (auto materialize =
                 dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
    write(materialize.getDest(), copy(materialize.getSource()), &op);
  } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    importReturn(ret);
  }
}

/// Puts a tensor argument before each memref argument, which goes at the end.
LogicalResult BufferImporter::importArguments() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    BlockArgument memref = function.getArgument(i);
    if (!isMemRef(memref))
      continue;
    if (failed(function.insertArgument(i, getContentsType(memref),
                                       function.getArgAttrDict(i),
                                       memref.getLoc())))
      return failure();
    current[memref] = function.getArgument(i++);
    arguments[memref] = false;
  }
  return success();
}

/// Erases what is left on memrefs and gives the function its new type. What an
/// argument contains at the end has the argument's name.
void BufferImporter::finish(ArrayRef<Operation *> old) {
  for (Operation *op : llvm::reverse(old))
    if (!isa<func::ReturnOp>(op))
      op->erase();
  SmallVector<DictionaryAttr> resultAttrs;
  function.getAllResultAttrs(resultAttrs);
  for (auto [memref, isWritten] : arguments) {
    if (!isWritten)
      continue;
    unsigned number = cast<BlockArgument>(memref).getArgNumber();
    NamedAttrList attrs;
    if (Attribute name =
            function.getArgAttr(number, RematDialect::nameAttrName))
      attrs.append(RematDialect::nameAttrName, name);
    resultAttrs.push_back(attrs.getDictionary(function.getContext()));
  }
  BitVector memrefs(function.getNumArguments());
  for (auto [memref, isWritten] : arguments)
    memrefs.set(cast<BlockArgument>(memref).getArgNumber());
  (void)function.eraseArguments(memrefs);
  function.setType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      function.front().getTerminator()->getOperandTypes()));
  function.setAllResultAttrs(resultAttrs);
}

LogicalResult BufferImporter::run() {
  SmallVector<Operation *> old;
  function.walk([&](Operation *op) {
    if (op != function && touchesMemory(op))
      old.push_back(op);
  });
  if (old.empty() && llvm::none_of(function.getArguments(), isMemRef))
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("uses memrefs in ")
           << function.getBody().getBlocks().size() << " blocks, expected 1";
  if (failed(check()) || failed(importArguments()))
    return failure();
  for (Operation *op : old)
    importOp(*op);
  Operation *terminator = function.front().getTerminator();
  if (old.empty() || old.back() != terminator)
    importReturn(cast<func::ReturnOp>(terminator));
  finish(old);
  return success();
}

namespace {
struct ImportBuffers : remat::impl::ImportBuffersPassBase<ImportBuffers> {
  using ImportBuffersPassBase::ImportBuffersPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool mayOverwrite =
        allowMutation || function->hasAttr(RematDialect::allowMutationAttrName);
    if (!function.isExternal() &&
        failed(BufferImporter(function, !mayOverwrite).run()))
      signalPassFailure();
  }
};
} // namespace
