//===- Buffers.cpp - memrefs become tensors -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on memrefs are read in order, keeping for each buffer the tensor
// with its contents. A view is a chain of operations from its buffer; to write
// through it is to insert into the buffer's contents. What a region writes of
// the buffers around it is carried through its loop, or yielded.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/ADT/SetVector.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTBUFFERSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static bool isMemRef(Value value) {
  return isa<BaseMemRefType>(value.getType());
}

/// Whether the operation itself, not what is in its regions, has memrefs.
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
/// What the backward computation makes of a saved value that was overwritten.
enum class Overwritten { Refused, ReadAsWritten, KeptFromBefore };

class BufferImporter {
public:
  BufferImporter(func::FuncOp function, Overwritten overwritten)
      : function(function), overwritten(overwritten),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult checkOp(Operation *op);
  LogicalResult importArguments();
  void importBlock(Block &block);
  void importOp(Operation &op);
  void importRegions(Operation *op);
  llvm::MapVector<Value, Operation *> findWritten(Operation *op) const;
  void finish();
  void importStructured(linalg::LinalgOp op);
  void importReturn(func::ReturnOp op);

  Value read(Value memref, bool isOwn = false);
  Value copy(Value contents);
  Value keepApart(Value result);
  void write(Value memref, Value contents, Operation *writer);
  void mark(Value memref, Operation *writer);
  void tellOverwritten(Operation *end);

  func::FuncOp function;
  Overwritten overwritten;
  OpBuilder builder;
  /// For each buffer, that is a memref that is no view, what is in it.
  DenseMap<Value, Value> current;
  /// Memref arguments, and whether each was written.
  llvm::MapVector<Value, bool> arguments;
  /// Buffers that the current block has overwritten, with what was in them.
  SmallVector<std::pair<Value, Value>> marks;
  /// Numbers of overwritten buffers.
  DenseMap<Value, int64_t> numbers;
  /// The operations on memrefs, which are erased at the end.
  SmallVector<Operation *> old;
  bool hasFailed = false;
};
} // namespace

/// The memref that `memref` is a view of; null if it is a buffer.
static Value getViewed(Value memref) {
  Operation *op = memref.getDefiningOp();
  if (isa_and_nonnull<memref::SubViewOp, memref::ExpandShapeOp,
                      memref::CollapseShapeOp, memref::CastOp>(op))
    return op->getOperand(0);
  return {};
}

/// Whether the pass knows what the operation does to memory.
static bool isKnown(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureBufferSemantics();
  return isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp,
             memref::LoadOp, memref::StoreOp, memref::CopyOp, memref::SubViewOp,
             memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp,
             bufferization::ToTensorOp, bufferization::ToBufferOp,
             bufferization::MaterializeInDestinationOp, func::ReturnOp>(op);
}

/// Whether the pass knows what becomes of a memref that regions of `op` write.
static bool hasKnownRegions(Operation *op) {
  return isa<scf::ForOp, scf::IfOp, CheckpointOp, ScopeOp>(op);
}

/// The buffer that `memref` is, or is a view of.
static Value getBuffer(Value memref) {
  while (Value viewed = getViewed(memref))
    memref = viewed;
  return memref;
}

/// The memrefs that `op` itself writes.
static SmallVector<Value> getWritten(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return llvm::filter_to_vector(structured.getDpsInits(), isMemRef);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return {store.getMemRef()};
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return {copy.getTarget()};
  if (auto materialize =
          dyn_cast<bufferization::MaterializeInDestinationOp>(op))
    return {materialize.getDest()};
  return {};
}

LogicalResult BufferImporter::checkOp(Operation *op) {
  Operation *parent = op->getParentOp();
  if (hasKnownRegions(op) ||
      (hasKnownRegions(parent) && op->hasTrait<OpTrait::IsTerminator>()))
    return op->emitOpError(
        "passes memrefs on, expected it to write to ones from outside");
  for (; parent != function; parent = parent->getParentOp())
    if (!hasKnownRegions(parent))
      return op->emitOpError("uses a memref in a region of '")
             << parent->getName()
             << "', expected 'scf.for', 'scf.if', 'remat.checkpoint' or "
                "'remat.scope'";
  if (!isKnown(op))
    return op->emitOpError("on memrefs is not supported");
  // Which branch wrote, is known when the program runs.
  auto choice = op->getParentOfType<scf::IfOp>();
  if (overwritten == Overwritten::ReadAsWritten && choice)
    for (Value memref : getWritten(op))
      if (!choice->isAncestor(
              getBuffer(memref).getParentRegion()->getParentOp()))
        return op->emitOpError(
            "writes in a branch what the backward computation may read as "
            "written, expected 'remat.allow_mutation_on_saved_tensors' or a "
            "write outside of 'scf.if'");
  return success();
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
  WalkResult result = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(checkType(op->getLoc(), value.getType())))
        return WalkResult::interrupt();
    if (op == function || !touchesMemory(op))
      return WalkResult::advance();
    return WalkResult(checkOp(op));
  });
  return failure(result.wasInterrupted());
}

/// What is in a memref. What an operation reads to write it anew is its own: a
/// derivative of it does not see the write.
Value BufferImporter::read(Value memref, bool isOwn) {
  Value viewed = getViewed(memref);
  if (!viewed)
    return isOwn ? copy(current.at(memref)) : current.at(memref);
  Value source = read(viewed, isOwn);
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

/// Whether `contents` are nothing but what an operation starts from.
static bool isInitial(Value contents) {
  if (contents.getDefiningOp<tensor::EmptyOp>())
    return true;
  return contents.getDefiningOp<linalg::FillOp>() &&
         llvm::all_of(contents.getUses(), [](OpOperand &use) {
           auto structured = dyn_cast<linalg::LinalgOp>(use.getOwner());
           return structured && structured.isDpsInit(&use);
         });
}

/// Whether a checkpoint region keeps `contents`, which it computes.
static bool isCached(Value contents) {
  Operation *producer = contents.getDefiningOp();
  while (isa_and_nonnull<TagOp>(producer))
    producer = producer->getOperand(0).getDefiningOp();
  if (!producer || !producer->getParentOfType<CheckpointOp>())
    return false;
  auto policy =
      producer->getAttrOfType<PolicyAttr>(RematDialect::policyAttrName);
  return policy && policy.getValue() != Policy::MustRecompute &&
         policy.getValue() != Policy::PreferRecompute;
}

/// Marks what is in a buffer that `writer` is about to write.
void BufferImporter::mark(Value memref, Operation *writer) {
  Value contents = current.at(memref);
  if (overwritten == Overwritten::KeptFromBefore || isInitial(contents))
    return;
  if (isCached(contents)) {
    InFlightDiagnostic diag = writer->emitOpError(
        "overwrites a value that a checkpoint keeps, expected "
        "'remat.allow_mutation_on_saved_tensors' on the function");
    diag.attachNote(contents.getLoc()) << "the value's policy is to be kept";
    hasFailed = true;
  }
  OpBuilder before(function.getContext());
  before.setInsertionPointAfterValue(contents);
  auto tag = TagOp::create(before, contents.getLoc(), contents, StringAttr(),
                           PolicyAttr());
  tag.setOverwrittenAttr(writer->getLoc());
  contents.replaceUsesWithIf(tag.getResult(), [&](OpOperand &use) {
    return use.getOwner() != tag && !isCopy(use.getOwner());
  });
  if (overwritten == Overwritten::ReadAsWritten)
    marks.push_back({memref, tag.getResult()});
}

/// At the end of a block, what is in the buffers that it has overwritten.
void BufferImporter::tellOverwritten(Operation *end) {
  builder.setInsertionPoint(end);
  for (auto [memref, before] : marks) {
    auto [number, isNew] = numbers.try_emplace(memref, numbers.size());
    OverwrittenOp::create(builder, before.getLoc(), before, current.at(memref),
                          number->second);
  }
  marks.clear();
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
  mark(memref, writer);
  current[memref] = contents;
  if (auto it = arguments.find(memref); it != arguments.end())
    it->second = true;
}

/// Whether `op` reads what is in `memref`, which it writes, as one operand.
static bool readsOnce(linalg::LinalgOp op, Value memref) {
  return llvm::count_if(op->getOpOperands(), [&](OpOperand &operand) {
           return operand.get() == memref &&
                  op.payloadUsesValueFromOperand(&operand);
         }) == 1;
}

/// The operation on tensors that does what `op` does on memrefs.
void BufferImporter::importStructured(linalg::LinalgOp op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool isOwn =
        llvm::is_contained(op.getDpsInits(), operand) && readsOnce(op, operand);
    operands.push_back(isMemRef(operand) ? read(operand, isOwn) : operand);
  }
  SmallVector<Type> types =
      llvm::map_to_vector(op.getDpsInits(), [](Value init) -> Type {
        return getContentsType(init);
      });
  Operation *made = mlir::clone(builder, op, types, operands);
  for (auto [init, result] : llvm::zip(op.getDpsInits(), made->getResults()))
    write(init, keepApart(result), op);
}

/// Where derivatives read what was written, operations must save what they
/// themselves read, so that none is fused with others before.
Value BufferImporter::keepApart(Value result) {
  if (overwritten != Overwritten::ReadAsWritten ||
      result.getDefiningOp<linalg::FillOp>())
    return result;
  auto tag = TagOp::create(builder, result.getLoc(), result, StringAttr(),
                           PolicyAttr());
  tag.setKeepApart(true);
  return tag;
}

void BufferImporter::importReturn(func::ReturnOp op) {
  builder.setInsertionPoint(op);
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
  }
}

/// The buffers from outside of `op` that its regions write, each with the first
/// operation that does.
llvm::MapVector<Value, Operation *>
BufferImporter::findWritten(Operation *op) const {
  llvm::MapVector<Value, Operation *> written;
  op->walk([&](Operation *inner) {
    for (Value memref : getWritten(inner))
      if (Value buffer = getBuffer(memref); current.contains(buffer))
        written.insert({buffer, inner});
  });
  return written;
}

/// Makes `op` with more operands and results.
static Operation *extend(OpBuilder &builder, Operation *op, ValueRange operands,
                         TypeRange types) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addOperands(operands);
  state.addTypes(op->getResultTypes());
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  Operation *made = builder.create(state);
  op->replaceAllUsesWith(made->getResults().take_front(op->getNumResults()));
  return made;
}

/// A loop carries what it writes, others yield it.
void BufferImporter::importRegions(Operation *op) {
  llvm::MapVector<Value, Operation *> written = findWritten(op);
  SmallVector<Value> outside;
  SmallVector<Type> types;
  for (auto [buffer, writer] : written) {
    mark(buffer, writer);
    outside.push_back(current.at(buffer));
    types.push_back(getContentsType(buffer));
  }
  bool isLoop = isa<scf::ForOp>(op);
  builder.setInsertionPoint(op);
  Operation *made =
      extend(builder, op, isLoop ? ValueRange(outside) : ValueRange(), types);
  op->erase();
  auto outerMarks = std::move(marks);
  for (Region &region : made->getRegions()) {
    if (region.empty()) {
      builder.createBlock(&region);
      scf::YieldOp::create(builder, made->getLoc());
    }
    Block &block = region.front();
    for (auto [buffer, writer] : written)
      if (isLoop)
        current[buffer] =
            block.addArgument(getContentsType(buffer), made->getLoc());
    marks.clear();
    importBlock(block);
    for (auto [buffer, contents] : llvm::zip(written, outside)) {
      Operation *yield = block.getTerminator();
      yield->insertOperands(yield->getNumOperands(), current.at(buffer.first));
      current[buffer.first] = contents;
    }
  }
  marks = std::move(outerMarks);
  for (auto [buffer, contents] :
       llvm::zip(written, made->getResults().take_back(written.size())))
    current[buffer.first] = contents;
}

void BufferImporter::importBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool inside = op.walk([&](Operation *inner) {
                      return touchesMemory(inner) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                    }).wasInterrupted();
    if (inside && hasKnownRegions(&op)) {
      importRegions(&op);
    } else if (touchesMemory(&op)) {
      importOp(op);
      old.push_back(&op);
    }
  }
  tellOverwritten(block.getTerminator());
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
void BufferImporter::finish() {
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
  WalkResult found = function.walk([&](Operation *op) {
    return op != function && touchesMemory(op) ? WalkResult::interrupt()
                                               : WalkResult::advance();
  });
  if (!found.wasInterrupted() &&
      llvm::none_of(function.getArguments(), isMemRef))
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("uses memrefs in ")
           << function.getBody().getBlocks().size() << " blocks, expected 1";
  if (failed(check()) || failed(importArguments()))
    return failure();
  importBlock(function.front());
  importReturn(cast<func::ReturnOp>(function.front().getTerminator()));
  finish();
  return failure(hasFailed);
}

namespace {
struct ImportBuffers : remat::impl::ImportBuffersPassBase<ImportBuffers> {
  using ImportBuffersPassBase::ImportBuffersPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto overwritten = Overwritten::Refused;
    if (keepOverwritten ||
        function->hasAttr(RematDialect::allowSavedMutationAttrName))
      overwritten = Overwritten::KeptFromBefore;
    else if (allowMutation ||
             function->hasAttr(RematDialect::allowMutationAttrName))
      overwritten = Overwritten::ReadAsWritten;
    if (!function.isExternal() &&
        failed(BufferImporter(function, overwritten).run()))
      signalPassFailure();
  }
};
} // namespace
