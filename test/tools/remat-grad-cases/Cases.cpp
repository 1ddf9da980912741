//===- Cases.cpp - random functions to differentiate ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using namespace remat::cases;

std::string cases::getTensorType(ArrayRef<int64_t> shape, StringRef element) {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  return type + element.str() + ">";
}

std::string cases::join(ArrayRef<int64_t> numbers) {
  return llvm::join(map_range(numbers, [](int64_t n) { return itostr(n); }),
                    ", ");
}

std::string Value::getType() const {
  return shape.size() == 1 && shape[0] < 0 ? element
                                           : getTensorType(shape, element);
}

int64_t Function::pick(int64_t low, int64_t high) {
  return low + int64_t(random() % uint64_t(high - low + 1));
}

Shape Function::pickShape(unsigned rank) {
  Shape shape;
  for (unsigned i = 0; i < rank; ++i)
    shape.push_back(pickFrom<int64_t>({1, 2, 3, 4}));
  if (rank > 0 && pick(0, 15) == 0)
    shape[pick(0, rank - 1)] = 0;
  return shape;
}

std::string Function::pickElement() {
  return pickFrom<std::string>({"f32", "f32", "f64", "f16", "bf16"});
}

SmallVector<unsigned> Function::pickPermutation(unsigned count) {
  SmallVector<unsigned> order = to_vector(seq<unsigned>(0, count));
  for (unsigned i = count; i > 1; --i)
    std::swap(order[i - 1], order[pick(0, i - 1)]);
  return order;
}

Value Function::addArgument(const Shape &shape, StringRef element) {
  Value value{"%a" + std::to_string(arguments.size()), shape, element.str()};
  arguments.push_back(value);
  return value;
}

Value Function::emit(const Shape &shape, StringRef element, const Twine &line) {
  Value value{"%v" + std::to_string(counter++), shape, element.str()};
  text += "  " + value.name + " = " + line.str() + "\n";
  return value;
}

Value Function::emitEmpty(const Shape &shape, StringRef element) {
  std::string type = getTensorType(shape, element);
  return emit(shape, element, "tensor.empty() : " + type);
}

Value Function::emitFill(const Shape &shape, StringRef element, double number) {
  Value scalar = emit({-1}, element,
                      formatv("arith.constant {0:f6} : {1}", number, element));
  Value empty = emitEmpty(shape, element);
  return emit(shape, element,
              formatv("linalg.fill ins({0} : {1}) outs({2} : {3}) -> {3}",
                      scalar.name, element, empty.name, empty.getType()));
}

Value Function::emitShift(const Value &value, double number) {
  Value constant = emit(
      value.shape, value.element,
      formatv("arith.constant dense<{0:f6}> : {1}", number, value.getType()));
  return emit(value.shape, value.element,
              formatv("arith.addf {0}, {1} : {2}", value.name, constant.name,
                      value.getType()));
}

Value Function::emitIndices(const Shape &shape, int64_t limit) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::string type = getTensorType(shape, "i64");
  if (count == 0)
    return emit(shape, "i64", "arith.constant dense<0> : " + type);
  // Nested brackets of the elements, in order.
  std::string elements;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0)
      elements += ", ";
    int64_t rest = count;
    for (int64_t size : shape) {
      elements += i % rest == 0 ? "[" : "";
      rest /= size;
    }
    elements += std::to_string(pick(0, limit - 1));
    rest = count;
    for (int64_t size : shape) {
      elements += (i + 1) % rest == 0 ? "]" : "";
      rest /= size;
    }
  }
  return emit(shape, "i64", "arith.constant dense<" + elements + "> : " + type);
}

static std::string getMap(size_t numLoops, ArrayRef<unsigned> dims) {
  auto name = [](unsigned dim) { return "d" + std::to_string(dim); };
  return "affine_map<(" +
         llvm::join(map_range(seq<unsigned>(0, numLoops), name), ", ") +
         ") -> (" + llvm::join(map_range(dims, name), ", ") + ")>";
}

Value Function::emitGeneric(ArrayRef<int64_t> loops, ArrayRef<Access> inputs,
                            const Access &init, StringRef body) {
  std::string maps, names, types, arguments, iterators;
  for (auto [number, input] : enumerate(inputs)) {
    StringRef comma = number > 0 ? ", " : "";
    maps += getMap(loops.size(), input.dims) + ", ";
    names += comma.str() + input.value.name;
    types += comma.str() + input.value.getType();
    arguments += formatv("%i{0}: {1}, ", number, input.value.element);
  }
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    iterators +=
        formatv("{0}\"{1}\"", loop > 0 ? ", " : "",
                is_contained(init.dims, loop) ? "parallel" : "reduction");
  std::string ins =
      inputs.empty() ? "" : formatv("ins({0} : {1}) ", names, types).str();
  std::string type = init.value.getType();
  return emit(init.value.shape, init.value.element,
              Twine("linalg.generic {indexing_maps = [") + maps +
                  getMap(loops.size(), init.dims) + "], iterator_types = [" +
                  iterators + "]} " + ins + "outs(" + init.value.name + " : " +
                  type + ") {\n  ^bb0(" + arguments + "%o: " +
                  init.value.element + "):\n" + body + "\n  } -> " + type);
}

void Function::print(raw_ostream &os) const {
  auto type = [](const Value &value) { return value.getType(); };
  auto name = [](const Value &value) { return value.name; };
  auto argument = [](const Value &value) {
    return value.name + ": " + value.getType();
  };
  os << "func.func @main(" << llvm::join(map_range(arguments, argument), ", ")
     << ") -> (" << llvm::join(map_range(results, type), ", ") << ") {\n"
     << text << "  return " << llvm::join(map_range(results, name), ", ")
     << " : " << llvm::join(map_range(results, type), ", ") << "\n}\n";
}
