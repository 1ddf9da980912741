//===- TaskAssembly.cpp - how tasks and transfers are written -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is written so that a plan can be read: its number, its kernel, its
// operands, then what is known of it in words, and the place of each result.
// Places are written without their sizes, which follow from the types.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// A place as it is written, before the type of what lies there is known.
struct WrittenPlace {
  enum Kind { Undecided, InPlace, InSlot } kind = Undecided;
  SMLoc loc;
  /// The number of the operand in whose place it is.
  int64_t operand = 0;
  MemorySpace space = MemorySpace::Arena;
  int64_t offset = 0, result = -1;
  /// Where it is not that of the type.
  std::optional<int64_t> bytes;
};
} // namespace

/// The bytes of a value of `type`, or 0 for what no buffer can hold, which is
/// for the verifier to say.
static int64_t countBytes(Type type) {
  return isBufferType(type) ? getBufferBytes(cast<RankedTensorType>(type)) : 0;
}

/// `_`, `operand N`, `reused RESULT:OFFSET`, or a space and an offset.
static ParseResult parsePlace(OpAsmParser &parser, WrittenPlace &place) {
  place.loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword == "_")
    return success();
  if (keyword == "operand") {
    place.kind = WrittenPlace::InPlace;
    return parser.parseInteger(place.operand);
  }
  std::optional<MemorySpace> space = symbolizeMemorySpace(keyword);
  if (!space)
    return parser.emitError(place.loc, "unknown place '")
           << keyword
           << "', expected 'arena', 'host', 'result', 'reused', 'operand' or "
              "'_'";
  place.kind = WrittenPlace::InSlot;
  place.space = *space;
  if (place.space == MemorySpace::Reused &&
      (parser.parseInteger(place.result) || parser.parseColon()))
    return failure();
  if (parser.parseInteger(place.offset))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("bytes")))
    return parser.parseInteger(place.bytes.emplace());
  return success();
}

/// The attribute for `place`, of a value of `type`; null with a diagnostic if
/// there is no such slot.
static Attribute makePlace(OpAsmParser &parser, const WrittenPlace &place,
                           Type type) {
  Builder &builder = parser.getBuilder();
  if (place.kind == WrittenPlace::Undecided)
    return builder.getUnitAttr();
  if (place.kind == WrittenPlace::InPlace)
    return builder.getI64IntegerAttr(place.operand);
  return SlotAttr::getChecked([&] { return parser.emitError(place.loc); },
                              builder.getContext(), place.space, place.offset,
                              place.bytes.value_or(countBytes(type)),
                              place.result);
}

static void printPlace(OpAsmPrinter &printer, Attribute place, Type type) {
  if (auto operand = dyn_cast<IntegerAttr>(place)) {
    printer << "operand " << operand.getInt();
    return;
  }
  auto slot = dyn_cast<SlotAttr>(place);
  if (!slot) {
    printer << "_";
    return;
  }
  printer << stringifyMemorySpace(slot.getSpace()) << " ";
  if (slot.getSpace() == MemorySpace::Reused)
    printer << slot.getResult() << ":";
  printer << slot.getOffset();
  if (slot.getBytes() != countBytes(type))
    printer << " bytes " << slot.getBytes();
}

//===----------------------------------------------------------------------===//
// TaskOp
//===----------------------------------------------------------------------===//

/// Parses `keyword N`, if it is there, as the attribute `name`.
static ParseResult parseOptionalNumber(OpAsmParser &parser, StringRef keyword,
                                       StringAttr name,
                                       NamedAttrList &attributes) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  int64_t number = 0;
  if (parser.parseInteger(number))
    return failure();
  attributes.set(name, parser.getBuilder().getI64IntegerAttr(number));
  return success();
}

static void parseOptionalFlag(OpAsmParser &parser, StringRef keyword,
                              StringAttr name, NamedAttrList &attributes) {
  if (succeeded(parser.parseOptionalKeyword(keyword)))
    attributes.set(name, parser.getBuilder().getUnitAttr());
}

/// Parses a dictionary of what has no syntax of its own.
static ParseResult parseOtherAttributes(OpAsmParser &parser,
                                        NamedAttrList &attributes) {
  NamedAttrList others;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(others))
    return failure();
  for (NamedAttribute other : others) {
    if (attributes.get(other.getName()))
      return parser.emitError(loc, "attribute '")
             << other.getName().getValue() << "' is given twice";
    attributes.append(other);
  }
  return success();
}

/// Parses `at [PLACE, ..., workspace OFFSET, host_workspace OFFSET]`, if it is
/// there.
static ParseResult parsePlaces(OpAsmParser &parser, StringAttr workspaceName,
                               StringAttr hostName, NamedAttrList &attributes,
                               SmallVectorImpl<WrittenPlace> &places) {
  if (failed(parser.parseOptionalKeyword("at")))
    return success();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
        bool isLast = attributes.get(hostName) != nullptr;
        for (auto [keyword, name] : {std::pair("workspace", workspaceName),
                                     std::pair("host_workspace", hostName)}) {
          if (isLast || attributes.get(name) ||
              failed(parser.parseOptionalKeyword(keyword)))
            continue;
          int64_t offset = 0;
          if (parser.parseInteger(offset))
            return failure();
          attributes.set(name, parser.getBuilder().getI64IntegerAttr(offset));
          return success();
        }
        if (isLast || attributes.get(workspaceName))
          return parser.emitError(parser.getCurrentLocation(),
                                  "expected the workspace to be the last");
        return parsePlace(parser, places.emplace_back());
      });
}

ParseResult TaskOp::parse(OpAsmParser &parser, OperationState &state) {
  NamedAttrList &attributes = state.attributes;
  OperationName name = state.name;
  int64_t id = 0;
  if (parser.parseInteger(id))
    return failure();
  attributes.set(getIdAttrName(name),
                 parser.getBuilder().getI64IntegerAttr(id));
  StringAttr kernel;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  if (parseOptionalNumber(parser, "copy", getCopyAttrName(name), attributes) ||
      parser.parseSymbolName(kernel))
    return failure();
  attributes.set(getKernelAttrName(name), FlatSymbolRefAttr::get(kernel));
  SMLoc operandsLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("backward"))) {
    Builder &builder = parser.getBuilder();
    attributes.set(getBackwardAttrName(name), builder.getUnitAttr());
    int64_t level = 0;
    OptionalParseResult given = parser.parseOptionalInteger(level);
    if (given.has_value() && failed(*given))
      return failure();
    if (given.has_value())
      attributes.set(getLevelAttrName(name), builder.getI64IntegerAttr(level));
  }
  if (parseOptionalNumber(parser, "phase", getPhaseAttrName(name), attributes))
    return failure();
  parseOptionalFlag(parser, "pinned", getPinnedAttrName(name), attributes);
  SmallVector<WrittenPlace> places;
  SMLoc placesLoc = parser.getCurrentLocation();
  FunctionType type;
  if (parseOptionalNumber(parser, "cost", getCostAttrName(name), attributes) ||
      parseOptionalNumber(parser, "workspace", getWorkspaceAttrName(name),
                          attributes) ||
      parseOptionalNumber(parser, "host_workspace",
                          getHostWorkspaceAttrName(name), attributes) ||
      parsePlaces(parser, getWorkspaceOffsetAttrName(name),
                  getHostWorkspaceOffsetAttrName(name), attributes, places) ||
      parseOtherAttributes(parser, attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), operandsLoc,
                             state.operands))
    return failure();
  state.addTypes(type.getResults());
  if (places.empty())
    return success();
  if (places.size() != type.getNumResults())
    return parser.emitError(placesLoc, "has ")
           << places.size() << " places for " << type.getNumResults()
           << " results";
  SmallVector<Attribute> placement;
  for (auto [place, result] : llvm::zip(places, type.getResults()))
    if (!placement.emplace_back(makePlace(parser, place, result)))
      return failure();
  attributes.set(getPlacementAttrName(name),
                 parser.getBuilder().getArrayAttr(placement));
  return success();
}

/// Prints ` keyword N` unless N is 0.
static void printNumber(OpAsmPrinter &printer, StringRef keyword,
                        int64_t number) {
  if (number != 0)
    printer << " " << keyword << " " << number;
}

void TaskOp::print(OpAsmPrinter &printer) {
  printer << " " << static_cast<int64_t>(getId());
  printNumber(printer, "copy", getCopy());
  printer << " ";
  printer.printSymbolName(getKernel());
  printer << "(" << getOperands() << ")";
  if (getBackward()) {
    printer << " backward";
    if (std::optional<uint64_t> level = getLevel())
      printer << " " << static_cast<int64_t>(*level);
  }
  printNumber(printer, "phase", getPhase());
  if (getPinned())
    printer << " pinned";
  printNumber(printer, "cost", getCost());
  printNumber(printer, "workspace", getWorkspace());
  printNumber(printer, "host_workspace", getHostWorkspace());
  bool hasPlaces = getPlacement() && getNumResults() != 0;
  if (hasPlaces || getWorkspaceOffset() || getHostWorkspaceOffset()) {
    printer << " at [";
    if (hasPlaces)
      llvm::interleaveComma(llvm::zip(*getPlacement(), getResultTypes()),
                            printer, [&](auto entry) {
                              printPlace(printer, std::get<0>(entry),
                                         std::get<1>(entry));
                            });
    if (getWorkspaceOffset())
      printer << (hasPlaces ? ", " : "") << "workspace "
              << static_cast<int64_t>(*getWorkspaceOffset());
    if (getHostWorkspaceOffset())
      printer << (hasPlaces || getWorkspaceOffset() ? ", " : "")
              << "host_workspace "
              << static_cast<int64_t>(*getHostWorkspaceOffset());
    printer << "]";
  }
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getIdAttrName(), getCopyAttrName(), getKernelAttrName(),
       getBackwardAttrName(), getPhaseAttrName(), getPinnedAttrName(),
       getCostAttrName(), getWorkspaceAttrName(), getPlacementAttrName(),
       getWorkspaceOffsetAttrName(), getHostWorkspaceAttrName(),
       getHostWorkspaceOffsetAttrName(), getLevelAttrName()});
  printer << " : ";
  printer.printFunctionalType(getOperandTypes(), getResultTypes());
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// Parses `%source at PLACE {...} : tensor`.
static ParseResult parseTransfer(OpAsmParser &parser, OperationState &state,
                                 StringAttr placementName, bool toHost) {
  OpAsmParser::UnresolvedOperand source;
  std::optional<WrittenPlace> place;
  RankedTensorType type;
  if (parser.parseOperand(source))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      parsePlace(parser, place.emplace()))
    return failure();
  if (place && place->kind != WrittenPlace::InSlot)
    return parser.emitError(place->loc, "expected a space and an offset");
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type))
    return failure();
  if (place) {
    Attribute slot = makePlace(parser, *place, type);
    if (!slot)
      return failure();
    state.attributes.set(placementName, slot);
  }
  Type host = HostType::get(type);
  state.addTypes(toHost ? host : Type(type));
  return parser.resolveOperand(source, toHost ? Type(type) : host,
                               state.operands);
}

static void printTransfer(OpAsmPrinter &printer, Operation *op,
                          std::optional<SlotAttr> placement,
                          StringAttr placementName, Type type) {
  printer << " " << op->getOperand(0);
  if (placement) {
    printer << " at ";
    printPlace(printer, *placement, type);
  }
  printer.printOptionalAttrDict(op->getAttrs(), {placementName});
  printer << " : " << type;
}

ParseResult OffloadOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseTransfer(parser, state, getPlacementAttrName(state.name),
                       /*toHost=*/true);
}

void OffloadOp::print(OpAsmPrinter &printer) {
  printTransfer(printer, *this, getPlacement(), getPlacementAttrName(),
                getSource().getType());
}

ParseResult ReloadOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseTransfer(parser, state, getPlacementAttrName(state.name),
                       /*toHost=*/false);
}

void ReloadOp::print(OpAsmPrinter &printer) {
  printTransfer(printer, *this, getPlacement(), getPlacementAttrName(),
                getResult().getType());
}
