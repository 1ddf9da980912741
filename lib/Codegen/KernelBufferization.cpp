//===- KernelBufferization.cpp - kernels on buffers -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelBufferization.h"
#include "remat/Codegen/LoopNest.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/CollectOps.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace remat;
using namespace remat::codegen;

namespace {

/// remat.scatter bufferizes as linalg ops do: to itself on memrefs.
struct ScatterBufferization
    : DstBufferizableOpInterfaceExternalModel<ScatterBufferization, ScatterOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto scatter = cast<ScatterOp>(op);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> inputs;
    for (Value input : scatter.getInputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, input, options, state);
      if (failed(buffer))
        return failure();
      inputs.push_back(*buffer);
    }
    FailureOr<Value> init =
        getBuffer(rewriter, scatter.getInit(), options, state);
    if (failed(init))
      return failure();
    auto onBuffers = ScatterOp::create(
        rewriter, op->getLoc(), TypeRange(), inputs, *init,
        scatter.getIndexingMaps(), scatter.getSizes(), scatter.getMaximum());
    onBuffers->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(scatter.getBody(), onBuffers.getBody(),
                                onBuffers.getBody().end());
    replaceOpWithBufferizedValues(rewriter, op, *init);
    return success();
  }
};

/// The operand in which a result that slices are inserted into starts as an
/// empty tensor, or null.
OpOperand *findEmptyStart(Value result) {
  OpOperand *start = nullptr;
  while (auto insert = result.getDefiningOp<tensor::InsertSliceOp>()) {
    start = &insert.getDestMutable();
    result = insert.getDest();
  }
  return result.getDefiningOp<tensor::EmptyOp>() ? start : nullptr;
}

/// Whether no element is in both slices, which are of one tensor.
bool areDisjoint(tensor::InsertSliceOp a, tensor::InsertSliceOp b) {
  for (unsigned dim = 0; dim < a.getDestType().getRank(); ++dim) {
    int64_t first = a.getStaticOffset(dim), other = b.getStaticOffset(dim);
    if (first + a.getStaticSize(dim) <= other ||
        other + b.getStaticSize(dim) <= first)
      return true;
  }
  return false;
}

/// The insertions that make a result of parts which nobody else reads together:
/// all are disjoint, and the result starts as an empty tensor.
SmallVector<tensor::InsertSliceOp> findParts(Value result) {
  SmallVector<tensor::InsertSliceOp> parts;
  while (auto insert = result.getDefiningOp<tensor::InsertSliceOp>()) {
    bool isStatic = insert.getOffsets().empty() && insert.getSizes().empty() &&
                    insert.hasUnitStride();
    if (!result.hasOneUse() || !isStatic ||
        llvm::any_of(parts, [&](tensor::InsertSliceOp other) {
          return !areDisjoint(insert, other);
        }))
      return {};
    parts.push_back(insert);
    result = insert.getDest();
  }
  if (!result.getDefiningOp<tensor::EmptyOp>())
    return {};
  return parts;
}

/// Turns arguments into memrefs and results into destination arguments.
void addDestinations(func::FuncOp kernel) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Block &body = kernel.getBody().front();
  auto toMemRef = [](Type type) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? MemRefType::get(tensor.getShape(), tensor.getElementType())
                  : type;
  };
  for (BlockArgument argument : body.getArguments()) {
    Type tensorType = argument.getType();
    argument.setType(toMemRef(tensorType));
    if (argument.getType() == tensorType)
      continue;
    auto tensor = ToTensorOp::create(builder, kernel.getLoc(), tensorType,
                                     argument, /*restrict=*/true);
    argument.replaceAllUsesExcept(tensor, tensor);
  }
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  auto materialize = [&](Value value, Value buffer) {
    auto op = MaterializeInDestinationOp::create(builder, kernel.getLoc(),
                                                 Type(), value, buffer);
    op.setRestrict(true);
    op.setWritable(true);
  };
  SmallVector<tensor::InsertSliceOp> unused;
  for (Value result : terminator->getOperands()) {
    BlockArgument destination =
        body.addArgument(toMemRef(result.getType()), kernel.getLoc());
    // Parts go to the destination one by one: the analysis of a chain of
    // insertions takes the third power of their number.
    if (SmallVector<tensor::InsertSliceOp> parts = findParts(result);
        !parts.empty()) {
      for (tensor::InsertSliceOp part : llvm::reverse(parts)) {
        OpBuilder early = OpBuilder::atBlockBegin(&body);
        auto type = memref::SubViewOp::inferRankReducedResultType(
            part.getSourceType().getShape(),
            cast<MemRefType>(destination.getType()), part.getMixedOffsets(),
            part.getMixedSizes(), part.getMixedStrides());
        materialize(part.getSource(),
                    memref::SubViewOp::create(
                        early, part.getLoc(), cast<MemRefType>(type),
                        destination, part.getMixedOffsets(),
                        part.getMixedSizes(), part.getMixedStrides()));
      }
      llvm::append_range(unused, parts);
      continue;
    }
    // What is inserted into an empty tensor is inserted into the destination.
    // Empty tensors are eliminated one by one, so that the parts of a result
    // would not find out that they are.
    if (OpOperand *start = findEmptyStart(result)) {
      OpBuilder early = OpBuilder::atBlockBegin(&body);
      start->set(ToTensorOp::create(early, kernel.getLoc(), result.getType(),
                                    destination, /*restrict=*/true,
                                    /*writable=*/true));
    }
    materialize(result, destination);
  }
  terminator->setOperands(ValueRange());
  for (tensor::InsertSliceOp part : unused)
    part.erase();
  kernel.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), TypeRange()));
  kernel.setArgAttrsAttr(nullptr);
  kernel.setResAttrsAttr(nullptr);
}

/// A result that was computed in its destination needs no copy into it.
LogicalResult eraseSelfCopies(func::FuncOp kernel) {
  for (memref::CopyOp copy : collectOps<memref::CopyOp>(kernel)) {
    FailureOr<BufferView> source = resolveView(copy.getSource());
    FailureOr<BufferView> target = resolveView(copy.getTarget());
    if (failed(source) || failed(target))
      return failure();
    if (source->root == target->root && source->offset == target->offset &&
        source->strides == target->strides)
      copy.erase();
  }
  return success();
}

LogicalResult checkKernel(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitError("kernel '")
           << kernel.getName() << "' has "
           << kernel.getBody().getBlocks().size() << " blocks, expected 1";
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return kernel.emitError("kernel '")
             << kernel.getName() << "' has type " << type
             << " in its signature, expected tensors of static shape";
  }
  return success();
}

} // namespace

void remat::codegen::registerKernelInterfaces(DialectRegistry &registry) {
  registry.insert<BufferizationDialect, memref::MemRefDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    ScatterOp::attachInterface<ScatterBufferization>(*context);
  });
}

/// A result in the place of an operand has its buffer. Were it another one that
/// is said not to overlap, code could read an element of the operand once more
/// when that of the result is there.
static void findBuffers(unsigned numOperands,
                        ArrayRef<std::optional<unsigned>> inPlace,
                        BufferizedKernel &kernel) {
  func::FuncOp function = kernel.function;
  kernel.buffers =
      llvm::to_vector(llvm::seq<unsigned>(0, function.getNumArguments()));
  auto hasElementsOf = [&](unsigned a, unsigned b) {
    auto type = cast<MemRefType>(function.getArgument(a).getType());
    auto other = cast<MemRefType>(function.getArgument(b).getType());
    return type.getElementType() == other.getElementType() &&
           type.getNumElements() == other.getNumElements();
  };
  for (auto [number, operand] : llvm::enumerate(inPlace))
    if (operand && hasElementsOf(numOperands + number, *operand))
      kernel.buffers[numOperands + number] = *operand;
}

FailureOr<BufferizedKernel>
remat::codegen::bufferizeKernel(func::FuncOp kernel,
                                ArrayRef<std::optional<unsigned>> inPlace) {
  if (failed(checkKernel(kernel)))
    return failure();
  BufferizedKernel result;
  result.module = ModuleOp::create(kernel.getLoc());
  (*result.module)->setAttr(targetAttrName, getTargetFacts(kernel));
  OpBuilder builder(result.module->getBodyRegion());
  result.function = cast<func::FuncOp>(builder.clone(*kernel));
  // Within its module the kernel is the only function; a public one keeps
  // symbol passes away.
  result.function.setPublic();
  if (failed(prepareForBufferization(result.function)))
    return failure();
  addDestinations(result.function);

  IRRewriter rewriter(kernel.getContext());
  if (failed(eliminateEmptyTensors(rewriter, result.function)))
    return failure();
  OneShotBufferizationOptions options;
  options.unknownTypeConverterFn = [](TensorType type, Attribute,
                                      const BufferizationOptions &) {
    return getMemRefTypeWithStaticIdentityLayout(type);
  };
  BufferizationState state;
  if (failed(runOneShotBufferize(*result.module, options, state)) ||
      failed(eraseSelfCopies(result.function)))
    return failure();
  findBuffers(kernel.getNumArguments(), inPlace, result);
  return result;
}
