//===- SpecializeCodecs.cpp - codecs for the types of values --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-specialize-codecs`.
//
//===----------------------------------------------------------------------===//

#include "CodecFunctions.h"

#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace remat {
#define GEN_PASS_DEF_SPECIALIZECODECSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static RankedTensorType getFlatType(RankedTensorType type) {
  return RankedTensorType::get({type.getNumElements()}, type.getElementType());
}

/// All dimensions as one group; none for a scalar.
static SmallVector<ReassociationIndices> groupAll(RankedTensorType type) {
  if (type.getRank() == 0)
    return {};
  return {llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))};
}

/// The elements of `value` in row-major order.
static Value flatten(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  RankedTensorType flat = getFlatType(type);
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, value.getLoc(), flat, value,
                                         groupAll(type));
  return tensor::CollapseShapeOp::create(builder, value.getLoc(), flat, value,
                                         groupAll(type));
}

/// What `flatten` was given.
static Value unflatten(OpBuilder &builder, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, value.getLoc(), type, value,
                                           groupAll(type));
  return tensor::ExpandShapeOp::create(builder, value.getLoc(), type, value,
                                       groupAll(type));
}

//===----------------------------------------------------------------------===//
// Specialization
//===----------------------------------------------------------------------===//

namespace {
/// Makes functions for types.
class Specializer {
public:
  explicit Specializer(ModuleOp module) : module(module), symbols(module) {}

  /// The pair that packs and unpacks values of type `type` as `pair` does.
  FailureOr<ArrayAttr> specialize(TagOp tag, ArrayAttr pair,
                                  RankedTensorType type);
  unsigned getNumClones() const { return numClones; }

private:
  func::FuncOp lookup(TagOp tag, Attribute symbol);
  FailureOr<func::FuncOp> clone(TagOp tag, func::FuncOp generic,
                                ArrayRef<RankedTensorType> types,
                                RankedTensorType result);
  LogicalResult refine(TagOp tag, func::FuncOp function, func::FuncOp generic);
  LogicalResult finish(TagOp tag, func::FuncOp function, func::FuncOp generic,
                       RankedTensorType result);

  ModuleOp module;
  SymbolTable symbols;
  std::optional<FrozenRewritePatternSet> patterns;
  DenseMap<std::pair<Attribute, Type>, ArrayAttr> known;
  unsigned numClones = 0;
};
} // namespace

func::FuncOp Specializer::lookup(TagOp tag, Attribute symbol) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      tag, cast<SymbolRefAttr>(symbol));
}

/// Spreads the shapes of the arguments through the clone.
LogicalResult Specializer::refine(TagOp tag, func::FuncOp function,
                                  func::FuncOp generic) {
  if (!patterns)
    patterns = getShapePatterns(module.getContext());
  (void)applyPatternsGreedily(function.getBody(), *patterns);
  // What is returned, and nothing else, may be cast to what it was.
  for (OpOperand &operand : function.front().getTerminator()->getOpOperands())
    while (auto cast = operand.get().getDefiningOp<tensor::CastOp>()) {
      operand.set(cast.getSource());
      if (cast->use_empty())
        cast.erase();
    }
  WalkResult result = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<TensorType>(type);
      if (!tensor || tensor.hasStaticShape())
        continue;
      InFlightDiagnostic diag = tag.emitOpError("has a codec whose function '")
                                << generic.getName()
                                << "' has no static shapes for "
                                << function.getArgumentTypes().front();
      diag.attachNote(op->getLoc())
          << "'" << op->getName() << "' gives " << type;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Gives the clone its types. `result` is what it is to return, or null.
LogicalResult Specializer::finish(TagOp tag, func::FuncOp function,
                                  func::FuncOp generic,
                                  RankedTensorType result) {
  Operation *terminator = function.front().getTerminator();
  if (result) {
    auto given = cast<RankedTensorType>(terminator->getOperand(0).getType());
    if (given != result && given != getFlatType(result)) {
      InFlightDiagnostic diag = tag.emitOpError("has a codec that unpacks ")
                                << given << ", expected " << result;
      diag.attachNote(generic.getLoc()) << "by this function";
      return diag;
    }
    OpBuilder builder(terminator);
    terminator->setOperand(
        0, unflatten(builder, terminator->getOperand(0), result));
  }
  function.setFunctionType(FunctionType::get(module.getContext(),
                                             function.getArgumentTypes(),
                                             terminator->getOperandTypes()));
  return success();
}

/// A copy of `generic` for arguments of these types, which may be passed in
/// row-major order.
FailureOr<func::FuncOp> Specializer::clone(TagOp tag, func::FuncOp generic,
                                           ArrayRef<RankedTensorType> types,
                                           RankedTensorType result) {
  OpBuilder builder(module.getContext());
  SmallVector<Type> arguments(types.begin(), types.end());
  auto function = func::FuncOp::create(
      builder, generic.getLoc(), (generic.getName() + "_for").str(),
      builder.getFunctionType(arguments, generic.getResultTypes()));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  for (auto [parameter, argument] :
       llvm::zip(generic.getArguments(), body->getArguments())) {
    Value value = argument;
    if (!mayHaveType(parameter.getType(),
                     cast<RankedTensorType>(value.getType())))
      value = flatten(builder, value);
    if (value.getType() != parameter.getType())
      value = tensor::CastOp::create(builder, generic.getLoc(),
                                     parameter.getType(), value);
    mapping.map(parameter, value);
  }
  for (Operation &op : generic.front())
    builder.clone(op, mapping);
  symbols.insert(function, module.getBody()->end());
  ++numClones;
  if (failed(refine(tag, function, generic)) ||
      failed(finish(tag, function, generic, result))) {
    symbols.erase(function);
    return failure();
  }
  return function;
}

/// Whether the functions have these types already, and are in the module that
/// import has seen.
static bool isExact(ArrayAttr pair, func::FuncOp packer, func::FuncOp unpacker,
                    RankedTensorType type) {
  SmallVector<Type> packed(packer.getResultTypes());
  if (unpacker.getNumArguments() > packed.size())
    packed.push_back(type);
  return llvm::all_of(pair, llvm::IsaPred<FlatSymbolRefAttr>) &&
         llvm::all_of(packed, isBufferType) &&
         packer.getArgumentTypes() == ArrayRef<Type>(type) &&
         unpacker.getArgumentTypes() == ArrayRef<Type>(packed) &&
         unpacker.getResultTypes() == ArrayRef<Type>(type);
}

FailureOr<ArrayAttr> Specializer::specialize(TagOp tag, ArrayAttr pair,
                                             RankedTensorType type) {
  auto [entry, inserted] = known.try_emplace({pair, type});
  if (!inserted)
    return entry->second;
  if (failed(checkCodecFunctions(tag, pair)))
    return failure();
  func::FuncOp packer = lookup(tag, pair[0]), unpacker = lookup(tag, pair[1]);
  if (!packer || !unpacker)
    return tag.emitOpError("has the codec ")
           << pair << ", expected functions 'func.func'";
  if (isExact(pair, packer, unpacker, type))
    return known[{pair, type}] = pair;
  FailureOr<func::FuncOp> pack = clone(tag, packer, type, {});
  if (failed(pack))
    return failure();
  SmallVector<RankedTensorType> types;
  for (Type packed : pack->getResultTypes())
    types.push_back(cast<RankedTensorType>(packed));
  bool hasDestination = unpacker.getNumArguments() > types.size();
  if (hasDestination)
    types.push_back(type);
  for (auto [number, parameter, given] :
       llvm::enumerate(unpacker.getArgumentTypes(), types)) {
    bool isDestination = number + 1 == types.size() && hasDestination;
    if (mayHaveType(parameter, given) ||
        (isDestination && takesElementsInOrder(parameter, given)))
      continue;
    InFlightDiagnostic diag = tag.emitOpError("has a codec of which argument ")
                              << number << " of @" << unpacker.getName()
                              << " has type " << parameter
                              << ", expected one for " << given;
    diag.attachNote(packer.getLoc())
        << "what @" << packer.getName() << " packs of " << type
        << " has the types (" << pack->getResultTypes() << ")";
    return diag;
  }
  FailureOr<func::FuncOp> unpack = clone(tag, unpacker, types, type);
  if (failed(unpack))
    return failure();
  return known[{pair, type}] = ArrayAttr::get(
             module.getContext(),
             {FlatSymbolRefAttr::get(*pack), FlatSymbolRefAttr::get(*unpack)});
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Whether `codec` takes values of type `type`.
static bool takes(TagOp tag, Attribute codec, RankedTensorType type) {
  ArrayAttr pair = getCodecPair(codec);
  if (!pair)
    return takesElements(tag, codec, type.getElementType());
  auto packer = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      tag, cast<SymbolRefAttr>(pair[0]));
  // What is not there is found out when it is used.
  if (!packer || packer.getNumArguments() != 1)
    return true;
  Type parameter = packer.getArgumentTypes()[0];
  return mayHaveType(parameter, type) || takesElementsInOrder(parameter, type);
}

static LogicalResult refuse(TagOp tag, RankedTensorType type) {
  InFlightDiagnostic diag = tag.emitOpError("has no codec for ")
                            << type
                            << ", expected one, or \"none\" to keep the "
                            << "value as it is";
  for (Attribute codec : getCodecs(*tag.getCodec())) {
    ArrayAttr pair = getCodecPair(codec);
    if (!pair) {
      diag.attachNote() << codec << " does not take it";
      continue;
    }
    auto packer = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
        tag, cast<SymbolRefAttr>(pair[0]));
    diag.attachNote(packer.getLoc())
        << "@" << packer.getName() << " takes " << packer.getArgumentTypes()[0];
  }
  return diag;
}

namespace {
struct SpecializeCodecs
    : remat::impl::SpecializeCodecsPassBase<SpecializeCodecs> {
  void runOnOperation() override {
    SmallVector<TagOp> tags;
    SetVector<Operation *> named;
    // What import has put aside is for this pass alone.
    if (auto aside = getOperation().lookupSymbol<ModuleOp>("remat_codecs"))
      for (Operation &function : *aside.getBody())
        named.insert(&function);
    getOperation().walk([&](TagOp tag) {
      if (!tag.getCodec())
        return;
      tags.push_back(tag);
      for (Attribute codec : getCodecs(*tag.getCodec()))
        if (ArrayAttr pair = getCodecPair(codec))
          for (auto symbol : pair.getAsRange<SymbolRefAttr>())
            if (Operation *function =
                    SymbolTable::lookupNearestSymbolFrom(tag, symbol))
              named.insert(function);
    });
    Specializer specializer(getOperation());
    for (TagOp tag : tags)
      if (failed(choose(tag, specializer)))
        return signalPassFailure();
    numSpecialized += specializer.getNumClones();
    eraseUnused(named);
  }

private:
  static LogicalResult choose(TagOp tag, Specializer &specializer);
  void eraseUnused(const SetVector<Operation *> &functions);
};
} // namespace

LogicalResult SpecializeCodecs::choose(TagOp tag, Specializer &specializer) {
  if (findPackedUses(tag).empty()) {
    dropCodec(tag);
    return success();
  }
  auto type = cast<RankedTensorType>(getPackedValue(tag).getType());
  SmallVector<Attribute> codecs = getCodecs(*tag.getCodec());
  auto chosen = llvm::find_if(
      codecs, [&](Attribute codec) { return takes(tag, codec, type); });
  if (chosen == codecs.end() && isa<FloatType>(type.getElementType()))
    return refuse(tag, type);
  auto name =
      chosen == codecs.end() ? StringAttr() : dyn_cast<StringAttr>(*chosen);
  if (chosen == codecs.end() || (name && name == "none")) {
    dropCodec(tag);
    return success();
  }
  tag.setCodecAttr(*chosen);
  ArrayAttr pair = getCodecPair(*chosen);
  if (!pair)
    return success();
  FailureOr<ArrayAttr> special = specializer.specialize(tag, pair, type);
  if (failed(special))
    return failure();
  tag.setCodecAttr(*special);
  return success();
}

/// What has been cloned for all that used it goes, and with the last of them
/// the module that they were put into.
void SpecializeCodecs::eraseUnused(const SetVector<Operation *> &functions) {
  for (Operation *function : functions) {
    auto parent = function->getParentOfType<ModuleOp>();
    if (!SymbolTable::symbolKnownUseEmpty(function, getOperation()))
      continue;
    function->erase();
    if (parent != getOperation() && parent.getBody()->empty())
      parent.erase();
  }
}
