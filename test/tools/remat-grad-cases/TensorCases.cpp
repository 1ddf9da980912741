//===- TensorCases.cpp - shapes, slices, elements, control flow -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using namespace remat::cases;

/// Squares the elements, so that no derivative is constant.
static Value emitSquare(Function &function, const Value &x) {
  return function.emit(
      x.shape, x.element,
      formatv("arith.mulf {0}, {0} : {1}", x.name, x.getType()));
}

void cases::addReshape(Function &function, unsigned number) {
  std::string element = function.pickElement();
  Shape expanded = function.pickShape(function.pick(1, 4));
  // Neighbours are collapsed at random.
  Shape collapsed;
  std::string groups;
  for (auto [dim, size] : enumerate(expanded)) {
    if (collapsed.empty() || function.pick(0, 1)) {
      groups += groups.empty() ? "[" : "], [";
      groups += std::to_string(dim);
      collapsed.push_back(size);
    } else {
      groups += ", " + std::to_string(dim);
      collapsed.back() *= size;
    }
  }
  groups = "[" + groups + "]]";
  std::string wide = getTensorType(expanded, element);
  std::string narrow = getTensorType(collapsed, element);
  if (number % 2 == 0) {
    Value x = emitSquare(function, function.addArgument(expanded, element));
    function.addResult(
        function.emit(collapsed, element,
                      formatv("tensor.collapse_shape {0} {1} : {2} into {3}",
                              x.name, groups, wide, narrow)));
    return;
  }
  Value x = emitSquare(function, function.addArgument(collapsed, element));
  function.addResult(function.emit(
      expanded, element,
      formatv("tensor.expand_shape {0} {1} output_shape [{2}] : {3} into {4}",
              x.name, groups, join(expanded), narrow, wide)));
}

void cases::addSlice(Function &function, unsigned number) {
  std::string element = function.pickElement();
  Shape large, offsets, sizes, strides;
  for (unsigned i = 0, rank = function.pick(1, 3); i < rank; ++i) {
    offsets.push_back(function.pick(0, 2));
    strides.push_back(function.pick(1, 2));
    sizes.push_back(function.pick(0, 9) == 0 ? 0 : function.pick(1, 3));
    large.push_back(offsets[i] + std::max<int64_t>(sizes[i], 1) * strides[i] +
                    function.pick(0, 1));
  }
  std::string where =
      formatv("[{0}] [{1}] [{2}]", join(offsets), join(sizes), join(strides));
  if (number % 4 == 0) {
    Value x = emitSquare(function, function.addArgument(large, element));
    function.addResult(function.emit(
        sizes, element,
        formatv("tensor.extract_slice {0}{1} : {2} to {3}", x.name, where,
                x.getType(), getTensorType(sizes, element))));
  } else if (number % 4 == 1) {
    Value x = emitSquare(function, function.addArgument(sizes, element));
    Value y = emitSquare(function, function.addArgument(large, element));
    function.addResult(function.emit(
        large, element,
        formatv("tensor.insert_slice {0} into {1}{2} : {3} into {4}", x.name,
                y.name, where, x.getType(), y.getType())));
  } else if (number % 4 == 2) {
    Shape low, high, padded;
    for (int64_t size : large) {
      low.push_back(function.pick(0, 2));
      high.push_back(function.pick(0, 2));
      padded.push_back(size + low.back() + high.back());
    }
    Value x = emitSquare(function, function.addArgument(large, element));
    Value zero = function.emit({-1}, element,
                               formatv("arith.constant 0.5 : {0}", element));
    std::string points;
    for (unsigned i = 0; i < large.size(); ++i)
      points += formatv("{0}%p{1}: index", i > 0 ? ", " : "", i);
    function.addResult(function.emit(
        padded, element,
        formatv("tensor.pad {0} low[{1}] high[{2}] {{\n  ^bb0({3}):\n    "
                "tensor.yield {4} : {5}\n  } : {6} to {7}",
                x.name, join(low), join(high), points, zero.name, element,
                x.getType(), getTensorType(padded, element))));
  } else {
    unsigned dim = function.pick(0, large.size() - 1);
    std::string names, types;
    Shape total = large;
    total[dim] = 0;
    for (unsigned i = 0; i < 3; ++i) {
      Shape part = large;
      part[dim] = function.pick(0, 3);
      total[dim] += part[dim];
      Value x = emitSquare(function, function.addArgument(part, element));
      names += (i > 0 ? ", " : "") + x.name;
      types += (i > 0 ? ", " : "") + x.getType();
    }
    function.addResult(
        function.emit(total, element,
                      formatv("tensor.concat dim({0}) {1} : ({2}) -> {3}", dim,
                              names, types, getTensorType(total, element))));
  }
}

/// Single elements of tensors.
void cases::addElement(Function &function, unsigned number) {
  std::string element = function.pickElement();
  Shape shape;
  for (unsigned i = 0, rank = function.pick(1, 3); i < rank; ++i)
    shape.push_back(function.pick(1, 3));
  std::string indices;
  for (int64_t size : shape) {
    Value index = function.emit(
        {-1}, "index",
        formatv("arith.constant {0} : index", function.pick(0, size - 1)));
    indices += (indices.empty() ? "" : ", ") + index.name;
  }
  Value x = emitSquare(function, function.addArgument(shape, element));
  Value scalar = function.emit(
      {-1}, element,
      formatv("tensor.extract {0}[{1}] : {2}", x.name, indices, x.getType()));
  scalar =
      function.emit({-1}, element, "math.sin " + scalar.name + " : " + element);
  if (number % 3 == 0) {
    Value y = emitSquare(function, function.addArgument(shape, element));
    function.addResult(
        function.emit(shape, element,
                      formatv("tensor.insert {0} into {1}[{2}] : {3}",
                              scalar.name, y.name, indices, y.getType())));
  } else if (number % 3 == 1) {
    function.addResult(function.emit(
        shape, element,
        formatv("tensor.splat {0} : {1}", scalar.name, x.getType())));
  } else {
    function.addResult(
        function.emit({2}, element,
                      formatv("tensor.from_elements {0}, {0} : {1}",
                              scalar.name, getTensorType({2}, element))));
  }
}

/// Rows of a table at given places, and their sum at given places.
void cases::addGather(Function &function, unsigned number) {
  std::string element = function.pickElement();
  int64_t rows = function.pick(1, 4), columns = function.pick(1, 3);
  int64_t count = function.pick(1, 4);
  Value table =
      emitSquare(function, function.addArgument({rows, columns}, element));
  Value indices = function.emitIndices({count}, rows);
  if (number % 2 == 0) {
    Access init{function.emitEmpty({count, columns}, element), {0, 1}};
    function.addResult(function.emitGeneric(
        {count, columns}, Access{indices, {0}}, init,
        formatv("    %r = arith.index_cast %i0 : i64 to index\n"
                "    %c = linalg.index 1 : index\n"
                "    %e = tensor.extract {0}[%r, %c] : {1}\n"
                "    %s = math.sin %e : {2}\n"
                "    linalg.yield %s : {2}",
                table.name, table.getType(), element)
            .str()));
    return;
  }
  // A loop that adds, or writes, one row at a time.
  Value updates =
      emitSquare(function, function.addArgument({count, columns}, element));
  auto constant = [&](int64_t value) {
    return function.emit({-1}, "index",
                         formatv("arith.constant {0} : index", value));
  };
  Value zero = constant(0), one = constant(1), end = constant(count);
  std::string row = getTensorType({columns}, element);
  std::string combine = formatv("    %new = math.sin %u : {0}\n", row).str();
  if (number % 4 == 1)
    combine = formatv("    %old = tensor.extract_slice %t[%i, 0] [1, {0}] [1, "
                      "1] : {1} to {2}\n    %new = arith.addf %old, %u : "
                      "{2}\n",
                      columns, table.getType(), row)
                  .str();
  function.addResult(function.emit(
      table.shape, element,
      formatv("scf.for %k = {0} to {1} step {2} iter_args(%t = {3}) -> ({4}) "
              "{{\n    %n = tensor.extract {5}[%k] : {6}\n    %i = "
              "arith.index_cast %n : i64 to index\n    %u = "
              "tensor.extract_slice {7}[%k, 0] [1, {8}] [1, 1] : {9} to {10}\n",
              zero.name, end.name, one.name, table.name, table.getType(),
              indices.name, indices.getType(), updates.name, columns,
              updates.getType(), row)
              .str() +
          combine +
          formatv("    %w = tensor.insert_slice %new into %t[%i, 0] [1, {0}] "
                  "[1, 1] : {1} into {2}\n    scf.yield %w : {2}\n  }",
                  columns, row, table.getType())
              .str()));
}

/// Loops that carry tensors, and choices.
void cases::addControl(Function &function, unsigned number) {
  std::string element = function.pickElement();
  Shape shape = function.pickShape(function.pick(0, 2));
  Value x = function.addArgument(shape, element);
  std::string type = x.getType();
  auto constant = [&](int64_t value) {
    return function.emit({-1}, "index",
                         formatv("arith.constant {0} : index", value));
  };
  if (number % 2 == 0) {
    Value zero = constant(0), one = constant(1);
    Value end = constant(function.pick(0, 3));
    function.addResult(function.emit(
        shape, element,
        formatv("scf.for %k = {0} to {1} step {2} iter_args(%t = {3}) -> ({4}) "
                "{{\n    %m = arith.mulf %t, {3} : {4}\n    %s = math.sin %m : "
                "{4}\n    scf.yield %s : {4}\n  }",
                zero.name, end.name, one.name, x.name, type)));
    return;
  }
  Value flags = function.addArgument({}, "i1");
  Value flag = function.emit(
      {-1}, "i1",
      formatv("tensor.extract {0}[] : {1}", flags.name, flags.getType()));
  function.addResult(function.emit(
      shape, element,
      formatv("scf.if {0} -> ({1}) {{\n    %s = math.sin {2} : {1}\n    "
              "scf.yield %s : {1}\n  } else {{\n    %m = arith.mulf {2}, {2} : "
              "{1}\n    scf.yield %m : {1}\n  }",
              flag.name, type, x.name)));
}
