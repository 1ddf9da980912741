//===- PackSaved.cpp - saved values in packed form ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a tag gives a value a codec, backward operations read what is unpacked
// from its packed form. What is packed is a value like any other: the planner
// saves it, and the value itself dies in the forward computation.
//
//===----------------------------------------------------------------------===//

#include "CodecFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/ElementCodecs.h"
#include "remat/Utils/Tags.h"

#include <map>

namespace remat {
#define GEN_PASS_DEF_PACKSAVEDPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// How a value is packed and unpacked.
class Codec {
public:
  virtual ~Codec() = default;
  virtual FailureOr<SmallVector<Value>> pack(OpBuilder &builder, Location loc,
                                             Value value) = 0;
  virtual Value unpack(OpBuilder &builder, Location loc,
                       ArrayRef<Value> packed) = 0;
};
} // namespace

namespace {
/// What remat has itself.
class OwnCodec : public Codec {
public:
  OwnCodec(RankedTensorType type, ElementCodec codec)
      : type(type), codec(codec) {}

  FailureOr<SmallVector<Value>> pack(OpBuilder &builder, Location loc,
                                     Value value) override {
    return createPacked(builder, loc, value, codec);
  }
  Value unpack(OpBuilder &builder, Location loc,
               ArrayRef<Value> packed) override {
    return createUnpacked(builder, loc, packed, type, codec);
  }

private:
  RankedTensorType type;
  ElementCodec codec;
};
} // namespace

namespace {
/// Functions of the program.
class FunctionCodec : public Codec {
public:
  FunctionCodec(TagOp tag, ArrayAttr pair) : tag(tag) {
    auto lookup = [&](unsigned number) {
      return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          tag, cast<SymbolRefAttr>(pair[number]));
    };
    packer = lookup(0);
    unpacker = lookup(1);
  }

  FailureOr<SmallVector<Value>> pack(OpBuilder &builder, Location loc,
                                     Value value) override {
    for (func::FuncOp function : {packer, unpacker})
      if (!function || function.isExternal() ||
          !function.getBody().hasOneBlock())
        return tag.emitOpError("has a codec that is not two functions of one "
                               "block");
    Type type = value.getType();
    SmallVector<Type> unpacked(packer.getResultTypes());
    if (unpacker.getNumArguments() > unpacked.size())
      unpacked.push_back(type);
    if (TypeRange(packer.getArgumentTypes()) != TypeRange(type) ||
        TypeRange(unpacker.getArgumentTypes()) != TypeRange(unpacked) ||
        TypeRange(unpacker.getResultTypes()) != TypeRange(type))
      return tag.emitOpError("has a codec of types ")
             << packer.getFunctionType() << " and "
             << unpacker.getFunctionType() << ", which do not pack and unpack "
             << value.getType();
    return inlineBody(packer, builder, value);
  }
  Value unpack(OpBuilder &builder, Location loc,
               ArrayRef<Value> packed) override {
    SmallVector<Value> operands(packed);
    auto type = cast<RankedTensorType>(unpacker.getResultTypes()[0]);
    if (unpacker.getNumArguments() > packed.size())
      operands.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                                 type.getElementType()));
    return inlineBody(unpacker, builder, operands).front();
  }

private:
  static SmallVector<Value>
  inlineBody(func::FuncOp function, OpBuilder &builder, ValueRange operands) {
    IRMapping mapping;
    mapping.map(function.getArguments(), operands);
    for (Operation &op : function.front().without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> results;
    for (Value value : function.front().getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    return results;
  }
  TagOp tag;
  func::FuncOp packer, unpacker;
};

/// Functions of the program that runs the step.
class CallbackCodec : public Codec {
public:
  CallbackCodec(TagOp tag, CallbackAttr callback, RankedTensorType type,
                int64_t id)
      : tag(tag), callback(callback), type(type), id(id) {}

  FailureOr<SmallVector<Value>> pack(OpBuilder &builder, Location loc,
                                     Value value) override {
    if (!codegen::getDtype(type.getElementType()))
      return tag.emitOpError("has a codec in C for ")
             << type << ", whose elements the runtime does not have";
    int64_t bytes =
        type.getNumElements() * getElementBytes(type.getElementType());
    std::optional<int64_t> packed = callback.getPackedBytes(bytes);
    if (!packed || *packed > maxBufferBytes)
      return tag.emitOpError("has the codec ")
             << callback << ", whose map gives no size for the " << bytes
             << " bytes of " << type;
    return SmallVector<Value>{PackOp::create(
        builder, loc, RankedTensorType::get({*packed}, builder.getI8Type()),
        value, callback.getName(), id)};
  }
  Value unpack(OpBuilder &builder, Location loc,
               ArrayRef<Value> packed) override {
    return UnpackOp::create(builder, loc, type, packed[0], callback.getName(),
                            id);
  }

private:
  TagOp tag;
  CallbackAttr callback;
  RankedTensorType type;
  int64_t id;
};
} // namespace

/// The uses of `value`, seen through tags, in backward computations of `level`
/// and above.
static SmallVector<OpOperand *> findBackwardUses(Value value, unsigned level) {
  SmallVector<OpOperand *> uses;
  SmallVector<Value> values = {value};
  while (!values.empty())
    for (OpOperand &use : values.pop_back_val().getUses()) {
      if (isTransparentOp(use.getOwner()))
        values.push_back(use.getOwner()->getResult(0));
      else if (getBackwardLevel(use.getOwner()) >= level)
        uses.push_back(&use);
    }
  return uses;
}

Value remat::getPackedValue(TagOp tag) {
  Value value = tag.getInput();
  while (value.getDefiningOp() && isTransparentOp(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

SmallVector<OpOperand *> remat::findPackedUses(TagOp tag) {
  Value value = getPackedValue(tag);
  if (cast<RankedTensorType>(value.getType()).getNumElements() == 0)
    return {};
  return findBackwardUses(tag.getForReaders() ? tag.getResult() : value,
                          getTagLevel(tag));
}

void remat::dropCodec(TagOp tag) {
  if (tag.getPolicy() || tag.getName()) {
    tag.removeCodecAttr();
    if (!tag.getPolicy())
      tag.setForReaders(false);
    return;
  }
  tag.replaceAllUsesWith(tag.getInput());
  tag.erase();
}

/// The codec of the tag, which is no list. `id` numbers callbacks.
static std::unique_ptr<Codec> makeCodec(TagOp tag, int64_t id) {
  auto type = cast<RankedTensorType>(tag.getType());
  if (ArrayAttr pair = getCodecPair(*tag.getCodec()))
    return std::make_unique<FunctionCodec>(tag, pair);
  if (auto callback = dyn_cast<CallbackAttr>(*tag.getCodec()))
    return std::make_unique<CallbackCodec>(tag, callback, type, id);
  return std::make_unique<OwnCodec>(
      type, *parseElementCodec(cast<StringAttr>(*tag.getCodec()).getValue()));
}

/// Marks what stands between `before`, or the beginning of the block, and
/// `end`.
static void markBehind(Operation *before, Operation *end, unsigned level) {
  for (Operation *op = end->getPrevNode(); op != before; op = op->getPrevNode())
    setBackwardLevel(op, level);
}

/// What the backward computation reads of the tag's value becomes what is
/// unpacked.
static LogicalResult pack(TagOp tag, int64_t &id) {
  if (isa<ArrayAttr>(*tag.getCodec()) && !getCodecPair(*tag.getCodec()))
    return tag.emitOpError("has the codecs ")
           << *tag.getCodec()
           << ", expected 'remat-specialize-codecs' to have chosen one";
  Value value = getPackedValue(tag);
  SmallVector<OpOperand *> uses = findPackedUses(tag);
  if (uses.empty() ||
      *tag.getCodec() == StringAttr::get(tag.getContext(), "none"))
    return success();
  std::unique_ptr<Codec> codec = makeCodec(tag, id);
  ++id;
  OpBuilder builder(tag);
  Operation *before = tag->getPrevNode();
  FailureOr<SmallVector<Value>> packed =
      codec->pack(builder, tag.getLoc(), value);
  if (failed(packed))
    return failure();
  // What an inner derivative makes is forward for the one that it is packed
  // for, and of its level.
  if (Operation *producer = value.getDefiningOp())
    markBehind(before, tag, getBackwardLevel(producer));
  // The tag keeps the two sides from being fused into one.
  for (Value &part : *packed)
    part = TagOp::create(builder, tag.getLoc(), part, StringAttr(),
                         PolicyAttr::get(tag.getContext(), Policy::PreferSave));
  // What is unpacked for an inner derivative is not kept for an outer one.
  std::map<unsigned, SmallVector<OpOperand *>> readers;
  for (OpOperand *use : uses)
    readers[getBackwardLevel(use->getOwner())].push_back(use);
  for (auto &[level, inLevel] : readers) {
    Operation *first = inLevel.front()->getOwner();
    for (OpOperand *use : inLevel)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    builder.setInsertionPoint(first);
    before = first->getPrevNode();
    Value unpacked = codec->unpack(builder, first->getLoc(), *packed);
    markBehind(before, first, level);
    for (OpOperand *use : inLevel)
      use->set(unpacked);
  }
  return success();
}

namespace {
struct PackSaved : remat::impl::PackSavedPassBase<PackSaved> {
  void runOnOperation() override {
    SmallVector<TagOp> tags;
    SetVector<Operation *> functions;
    getOperation().walk([&](TagOp tag) {
      if (!tag.getCodec())
        return;
      tags.push_back(tag);
      if (ArrayAttr pair = getCodecPair(*tag.getCodec()))
        for (auto symbol : pair.getAsRange<SymbolRefAttr>())
          if (Operation *function =
                  SymbolTable::lookupNearestSymbolFrom(tag, symbol))
            functions.insert(function);
    });
    int64_t id = 0;
    for (TagOp tag : tags) {
      if (failed(pack(tag, id)))
        return signalPassFailure();
      dropCodec(tag);
    }
    numPacked += id;
    for (Operation *function : functions)
      if (SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        function->erase();
  }
};
} // namespace
