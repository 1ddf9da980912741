//===- KernelNames.cpp - what kernels and tasks are called ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is named by the scalar operations that it does, in order, with a
// sum, maximum or minimum along a dimension as one word, as
// "reduce_add_rsqrt_mul" would be. What is well known by another name gets
// that: the words of a softmax become "softmax".
//
//===----------------------------------------------------------------------===//

#include "KernelNames.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

/// A name has at most this many characters, and whole words.
static constexpr size_t maxNameLength = 32;

/// Layers that are listed at a task.
static constexpr size_t maxLayers = 4;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

using Words = SmallVector<StringRef>;

/// What an operation on scalars is called where its type does not matter; empty
/// for what is not worth a word.
static StringRef getScalarWord(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>() || isa<CastOpInterface>(op) ||
      isa<linalg::IndexOp, arith::CmpFOp, arith::CmpIOp, CheckIndexOp,
          cf::AssertOp>(op))
    return {};
  if (isa<tensor::ExtractOp>(op))
    return "gather";
  StringRef word = op.getName().stripDialect();
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp, arith::MaxUIOp>(
          op))
    return "max";
  if (isa<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp, arith::MinUIOp>(
          op))
    return "min";
  if (op.getName().getDialectNamespace() == "arith") {
    for (StringRef suffix : {"ui", "si", "f", "i"})
      if (word.consume_back(suffix))
        break;
    return word;
  }
  return llvm::StringSwitch<StringRef>(word)
      .Cases({"absf", "absi"}, "abs")
      .Cases({"powf", "fpowi", "ipowi"}, "pow")
      .Default(word);
}

/// What a reduction by `op` is called.
static StringRef getReductionWord(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("add", "sum")
      .Case("mul", "prod")
      .Case("and", "all")
      .Case("or", "any")
      .Default(word);
}

/// What an operation without arithmetic does.
static StringRef describeMove(linalg::GenericOp op) {
  auto contains = [&](auto isWanted) {
    return llvm::any_of(op.getBody()->without_terminator(), isWanted);
  };
  if (contains(llvm::IsaPred<arith::CmpFOp, arith::CmpIOp>))
    return "compare";
  if (op.getNumDpsInputs() == 0)
    return contains(llvm::IsaPred<linalg::IndexOp>) ? "iota" : "fill";
  AffineMap read = op.getIndexingMapsArray().front();
  AffineMap written = op.getIndexingMapsArray().back();
  if (read.getNumResults() < written.getNumResults())
    return "broadcast";
  if (read != written)
    return "transpose";
  return contains(llvm::IsaPred<CastOpInterface>) ? "cast" : "copy";
}

static void addWords(linalg::GenericOp op, Words &words) {
  size_t before = words.size();
  Block *body = op.getBody();
  auto isAccumulated = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == body &&
           argument.getArgNumber() >= op.getNumDpsInputs();
  };
  for (Operation &inner : body->without_terminator()) {
    StringRef word = getScalarWord(inner);
    if (word.empty())
      continue;
    if (op.getNumReductionLoops() != 0 &&
        llvm::any_of(inner.getOperands(), isAccumulated))
      word = getReductionWord(word);
    words.push_back(word);
  }
  if (words.size() == before)
    words.push_back(describeMove(op));
}

/// What a contraction of two tensors is called, by its loops.
static StringRef describeContraction(linalg::LinalgOp op) {
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (failed(dims))
    return "contract";
  if (!dims->batch.empty())
    return "batch_matmul";
  if (dims->m.empty() && dims->n.empty())
    return "dot";
  return dims->m.empty() || dims->n.empty() ? "matvec" : "matmul";
}

static void addWords(Operation *op, Words &words) {
  // What makes nothing but a place or a shape.
  if (op->hasTrait<OpTrait::ConstantLike>() || isViewOp(op) ||
      isTransparentOp(op) || isa<tensor::EmptyOp, linalg::FillOp>(op))
    return;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return addWords(generic, words);
  if (isa<linalg::ContractOp, linalg::MatmulOp, linalg::BatchMatmulOp>(op))
    words.push_back(describeContraction(cast<linalg::LinalgOp>(op)));
  else if (auto conv = dyn_cast<ConvOp>(op))
    words.append({"conv", stringifyConvKind(conv.getKind())});
  else if (isa<tensor::ExtractSliceOp>(op))
    words.push_back("slice");
  else if (isa<tensor::InsertSliceOp>(op))
    words.push_back("insert");
  else
    words.push_back(op->getName().stripDialect());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
/// Words that together are known by a name.
struct Idiom {
  StringLiteral words;
  StringLiteral name;
};
} // namespace

/// Longer ones first where one begins like another.
static constexpr Idiom idioms[] = {
    {"max sub exp sum all div", "softmax"},
    {"max sub exp sum compare div", "softmax"},
    {"max sub exp sum div", "softmax"},
    {"max sub exp sum log", "logsumexp"},
    {"max sub exp sum", "sumexp"},
    {"sum div sub mul sum div add rsqrt sub mul add", "layernorm"},
    {"sum div sub mul sum div add rsqrt", "mean_rstd"},
    {"mul add mul tanh add mul", "gelu"},
    {"mul erf add mul", "gelu"},
    {"neg exp add div", "sigmoid"},
};

/// Replaces words by the name that is known for them.
static Words abbreviate(ArrayRef<StringRef> words) {
  Words result;
  while (!words.empty()) {
    StringRef name;
    size_t length = 0;
    for (const Idiom &idiom : idioms) {
      SmallVector<StringRef> parts;
      StringRef(idiom.words).split(parts, ' ');
      if (words.take_front(parts.size()) == ArrayRef(parts)) {
        name = idiom.name;
        length = parts.size();
        break;
      }
    }
    result.push_back(length ? name : words.front());
    words = words.drop_front(std::max<size_t>(length, 1));
  }
  return result;
}

std::string remat::describeComputation(ArrayRef<Operation *> ops) {
  Words words;
  for (Operation *op : ops)
    addWords(op, words);
  // Ten additions are no more to know than one.
  words.erase(llvm::unique(words), words.end());
  std::string name;
  for (StringRef word : abbreviate(words)) {
    if (name.size() + 1 + word.size() > maxNameLength)
      break;
    if (!name.empty())
      name += '_';
    name += word;
  }
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name.empty() ? "copy" : name;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

using Layers = SetVector<StringRef>;

/// Adds the module that a parameter is of.
static void addLayer(StringRef name, Layers &layers) {
  StringRef layer = name.rsplit('.').first;
  if (layer.size() < name.size() && !layer.empty())
    layers.insert(layer);
}

ArrayAttr remat::findLayers(Builder &builder, ArrayRef<Operation *> ops,
                            ArrayRef<Value> operands) {
  Layers layers;
  for (Value operand : operands) {
    auto argument = dyn_cast<BlockArgument>(getViewRoot(operand));
    auto function =
        argument
            ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
            : FunctionOpInterface();
    if (!function)
      continue;
    if (auto name = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), RematDialect::nameAttrName))
      addLayer(name.getValue(), layers);
  }
  for (Operation *op : ops)
    layers.insert_range(findScopes(op->getLoc()));
  if (layers.empty())
    return {};
  return builder.getStrArrayAttr(layers.getArrayRef().take_front(maxLayers));
}
