//===- Attributes.cpp - attributes that are kept as text ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

Attribute foreign::getAttr(Operation *op, StringRef name) {
  if (auto properties =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    if (Attribute attr = properties.get(name))
      return attr;
  return op->getAttr(name);
}

SmallVector<int64_t> foreign::getIntegers(Operation *op, StringRef name) {
  Attribute attr = getAttr(op, name);
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    return SmallVector<int64_t>(array.asArrayRef());
  if (auto flags = dyn_cast_or_null<DenseBoolArrayAttr>(attr))
    return SmallVector<int64_t>(flags.asArrayRef().begin(),
                                flags.asArrayRef().end());
  SmallVector<int64_t> numbers;
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr))
    for (const APInt &number : dense.getValues<APInt>())
      numbers.push_back(number.sextOrTrunc(64).getSExtValue());
  return numbers;
}

SmallVector<int64_t> foreign::getIntegers(Operation *op, StringRef name,
                                          size_t missing, int64_t value) {
  if (getAttr(op, name))
    return getIntegers(op, name);
  return SmallVector<int64_t>(missing, value);
}

int64_t foreign::getInteger(Operation *op, StringRef name, int64_t missing) {
  auto attr = dyn_cast_or_null<IntegerAttr>(getAttr(op, name));
  return attr ? attr.getValue().sextOrTrunc(64).getSExtValue() : missing;
}

FailureOr<bool> foreign::readFlag(Operation *op, StringRef name) {
  Attribute attr = getAttr(op, name);
  if (auto flag = dyn_cast_or_null<BoolAttr>(attr))
    return flag.getValue();
  if (attr && !isa<UnitAttr>(attr))
    return op->emitOpError("has '")
           << name << "' " << attr << ", expected true or false";
  return attr != nullptr;
}

StringRef foreign::getText(Operation *op, StringRef name) {
  Attribute attr = getAttr(op, name);
  if (auto text = dyn_cast_or_null<StringAttr>(attr))
    return text;
  if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attr))
    return symbol.getValue();
  return "";
}

StringRef foreign::getEnum(Operation *op, StringRef name) {
  auto attr = dyn_cast_or_null<OpaqueAttr>(getAttr(op, name));
  return attr ? attr.getAttrData().rsplit(' ').second : "";
}

Fields::Fields(Operation *op, StringRef name) {
  if (auto attr = dyn_cast_or_null<OpaqueAttr>(getAttr(op, name))) {
    StringRef spec = attr.getAttrData();
    text = spec.substr(spec.find('<') + 1).rtrim('>').str();
  }
}

std::optional<StringRef> Fields::find(StringRef key) const {
  StringRef rest = text;
  while (!rest.empty()) {
    auto [name, after] = rest.split('=');
    after = after.ltrim();
    bool isList = after.starts_with("[");
    StringRef value =
        isList ? after.drop_front().split(']').first : after.split(',').first;
    if (name.trim(" ,\n") == key)
      return value;
    rest = after.drop_front(
        std::min(after.size(), value.size() + (isList ? 2 : 0)));
    rest = rest.ltrim(" ,\n");
  }
  return std::nullopt;
}

SmallVector<int64_t> Fields::getIntegers(StringRef key) const {
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> parts;
  find(key).value_or("").split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t number;
    if (!part.trim().getAsInteger(10, number))
      numbers.push_back(number);
  }
  return numbers;
}

int64_t Fields::getInteger(StringRef key, int64_t missing) const {
  int64_t number;
  std::optional<StringRef> value = find(key);
  return value && !value->trim().getAsInteger(10, number) ? number : missing;
}
