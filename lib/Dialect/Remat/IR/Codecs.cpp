//===- Codecs.cpp - how saved values are packed ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Codecs.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

ArrayAttr remat::getCodecPair(Attribute codec) {
  auto pair = dyn_cast<ArrayAttr>(codec);
  bool isPair = pair && pair.size() == 2 &&
                llvm::all_of(pair, llvm::IsaPred<SymbolRefAttr>);
  return isPair ? pair : ArrayAttr();
}

SmallVector<Attribute> remat::getCodecs(Attribute codec) {
  auto list = dyn_cast<ArrayAttr>(codec);
  if (!list || getCodecPair(codec))
    return {codec};
  return SmallVector<Attribute>(list.begin(), list.end());
}

static constexpr StringRef names[] = {"bf16", "int8", "fp8", "int4"};

ArrayRef<StringRef> remat::getElementCodecNames() { return names; }

StringRef remat::getElementCodecName(ElementCodec codec) {
  return names[static_cast<int>(codec)];
}

std::optional<ElementCodec> remat::parseElementCodec(StringRef name) {
  const StringRef *found = llvm::find(names, name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<ElementCodec>(found - std::begin(names));
}

LogicalResult remat::verifyCodec(Operation *op, Attribute codec) {
  if (!codec)
    return success();
  // Forms are of whole blocks, whose elements are counted.
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<ShapedType>(type);
        tensor && !hasBufferSize(tensor))
      return op->emitOpError("has a codec for a value of type ")
             << type << ", expected at most " << maxBufferBytes << " bytes";
  SmallVector<Attribute> codecs = getCodecs(codec);
  if (codecs.empty())
    return op->emitOpError("'codec' is an empty list, expected a codec");
  for (Attribute single : codecs) {
    if (auto name = dyn_cast<StringAttr>(single)) {
      if (name == "none" || parseElementCodec(name))
        continue;
      InFlightDiagnostic diag = op->emitOpError("has the unknown codec '")
                                << name.getValue() << "', expected ";
      for (StringRef known : getElementCodecNames())
        diag << "'" << known << "', ";
      return diag << "'none', two functions or a '#remat.callback'";
    }
    if (!isa<CallbackAttr>(single) && !getCodecPair(single))
      return op->emitOpError("'codec' must be a name, the symbols of two "
                             "functions, a '#remat.callback' or a list of "
                             "these, got ")
             << codec;
  }
  return success();
}

LogicalResult remat::checkCodecFunctions(Operation *op, ArrayAttr pair) {
  FunctionOpInterface functions[2];
  for (auto [function, symbol] :
       llvm::zip_equal(functions, pair.getAsRange<SymbolRefAttr>())) {
    function =
        SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(op, symbol);
    if (!function)
      return op->emitOpError("has the codec ")
             << pair << ", but " << symbol << " is no function";
    if (function.isExternal())
      return op->emitOpError("has the codec ")
             << pair << ", but " << symbol
             << " has no body; functions of the program that runs the step are "
                "a '#remat.callback'";
    if (!function.getFunctionBody().hasOneBlock())
      return op->emitOpError("has the codec ")
             << pair << ", but " << symbol << " has "
             << llvm::range_size(function.getFunctionBody())
             << " blocks, expected 1";
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                              function.getResultTypes()))
      if (!isa<TensorType>(type))
        return op->emitOpError("has the codec ")
               << pair << ", but " << symbol
               << " has an argument or result of type " << type
               << ", expected tensors";
  }
  auto [packer, unpacker] = functions;
  if (packer.getNumArguments() != 1)
    return op->emitOpError("has the codec ")
           << pair << ", but " << pair[0] << " has " << packer.getNumArguments()
           << " arguments, expected 1";
  unsigned numPacked = packer.getNumResults();
  if (unpacker.getNumArguments() != numPacked &&
      unpacker.getNumArguments() != numPacked + 1)
    return op->emitOpError("has the codec ")
           << pair << ", but " << pair[1] << " has "
           << unpacker.getNumArguments() << " arguments, expected the "
           << numPacked << " results of " << pair[0] << " and, if need be, "
           << "a destination";
  if (unpacker.getNumResults() != 1)
    return op->emitOpError("has the codec ")
           << pair << ", but " << pair[1] << " has " << unpacker.getNumResults()
           << " results, expected 1";
  return success();
}

bool remat::takesElements(Operation *op, Attribute codec, Type element) {
  if (auto name = dyn_cast<StringAttr>(codec))
    return name == "none" || isa<FloatType>(element);
  if (auto callback = dyn_cast<CallbackAttr>(codec))
    return callback.getElements().empty()
               ? isa<FloatType>(element)
               : llvm::is_contained(callback.getElements(), element);
  auto function = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      op, cast<SymbolRefAttr>(getCodecPair(codec)[0]));
  if (!function || function.getNumArguments() != 1)
    return false;
  auto type = dyn_cast<TensorType>(function.getArgumentTypes()[0]);
  return type && type.getElementType() == element;
}

bool remat::concernsElements(Operation *op, Attribute codec, Type element) {
  return isa<FloatType>(element) ||
         llvm::any_of(getCodecs(codec), [&](Attribute single) {
           return takesElements(op, single, element);
         });
}

//===----------------------------------------------------------------------===//
// CallbackAttr
//===----------------------------------------------------------------------===//

LogicalResult CallbackAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef name, AffineMap bytes,
                                   ArrayRef<Type> elements) {
  if (name.empty())
    return emitError() << "callback has no name";
  if (bytes.getNumDims() != 1 || bytes.getNumSymbols() != 0 ||
      bytes.getNumResults() != 1)
    return emitError()
           << "'bytes' of a callback must be a map of one dimension "
              "to one number, got "
           << AffineMapAttr::get(bytes);
  for (Type element : elements)
    if (!element.isIntOrIndexOrFloat())
      return emitError() << "callback takes elements of type " << element
                         << ", expected integers, indices or floats";
  return success();
}

std::optional<int64_t> CallbackAttr::getPackedBytes(int64_t bytes) const {
  Attribute size = IntegerAttr::get(IndexType::get(getContext()), bytes);
  SmallVector<Attribute> results;
  if (failed(AffineMap(getBytes()).constantFold(size, results)))
    return std::nullopt;
  int64_t packed = cast<IntegerAttr>(results.front()).getInt();
  if (packed < 0)
    return std::nullopt;
  return packed;
}

//===----------------------------------------------------------------------===//
// Operations about saved values
//===----------------------------------------------------------------------===//

static LogicalResult verifyCallback(Operation *op, StringRef codec,
                                    RankedTensorType value,
                                    RankedTensorType packed) {
  if (codec.empty())
    return op->emitOpError("has no codec");
  for (RankedTensorType type : {value, packed})
    if (!isBufferType(type))
      return op->emitOpError("expected static shapes, got ") << type;
  return success();
}

LogicalResult PackOp::verify() {
  return verifyCallback(*this, getCodec(),
                        cast<RankedTensorType>(getValue().getType()),
                        cast<RankedTensorType>(getPacked().getType()));
}

LogicalResult UnpackOp::verify() {
  return verifyCallback(*this, getCodec(),
                        cast<RankedTensorType>(getValue().getType()),
                        cast<RankedTensorType>(getPacked().getType()));
}

/// A callback may write to a file, which must be there once.
Recomputability PackOp::getRecomputability() {
  return Recomputability::Effects;
}

Recomputability UnpackOp::getRecomputability() {
  return Recomputability::Repeatable;
}

LogicalResult DemandOp::verify() {
  auto type = cast<TensorType>(getDone().getType());
  if (type.hasStaticShape() && type.getNumElements() == 0)
    return success();
  return emitOpError("has a result of type ")
         << type << ", expected one without elements";
}

Recomputability DemandOp::getRecomputability() {
  return Recomputability::Effects;
}

FailureOr<SmallVector<Value>> DemandOp::decomposeInKernel(OpBuilder &builder) {
  auto type = cast<RankedTensorType>(getDone().getType());
  return SmallVector<Value>{tensor::EmptyOp::create(
      builder, getLoc(), type.getShape(), type.getElementType())};
}
