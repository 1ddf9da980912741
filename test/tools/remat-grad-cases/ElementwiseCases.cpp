//===- ElementwiseCases.cpp - arith, math and complex ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using namespace remat::cases;

/// An operation and what to add to the operands, which are from 0.1 to 0.9, so
/// that it is defined and both signs are seen where it is for both.
namespace {
struct Operation {
  std::string name;
  double shift;
};
} // namespace

static SmallVector<unsigned> getAll(size_t rank) {
  return to_vector(seq<unsigned>(0, rank));
}

void cases::addUnary(Function &function, unsigned number) {
  static const Operation ops[] = {
      {"arith.negf", 0},   {"math.absf", -0.5},  {"math.exp", -0.5},
      {"math.exp2", -0.5}, {"math.expm1", -0.5}, {"math.log", 0},
      {"math.log2", 0},    {"math.log10", 0},    {"math.log1p", -0.5},
      {"math.sqrt", 0},    {"math.rsqrt", 0},    {"math.cbrt", -0.5},
      {"math.sin", -0.5},  {"math.cos", -0.5},   {"math.tan", -0.5},
      {"math.asin", -0.5}, {"math.acos", -0.5},  {"math.atan", -0.5},
      {"math.sinh", -0.5}, {"math.cosh", -0.5},  {"math.tanh", -0.5},
      {"math.asinh", -1},  {"math.acosh", 1.05}, {"math.atanh", -0.5},
      {"math.erf", -0.5},  {"math.erfc", -0.5},  {"math.floor", -0.5},
      {"math.ceil", -0.5}, {"math.round", -0.5}, {"math.roundeven", 0},
      {"math.trunc", 0.5},
  };
  const Operation &op = ops[number % std::size(ops)];
  std::string element = function.pickElement();
  Value x =
      function.addArgument(function.pickShape(function.pick(0, 3)), element);
  x = function.emitShift(x, op.shift);
  if (function.pick(0, 1)) {
    function.addResult(function.emit(
        x.shape, element, op.name + " " + x.name + " : " + x.getType()));
    return;
  }
  // Transposed, in the body of a structured operation.
  SmallVector<unsigned> order = function.pickPermutation(x.shape.size());
  Shape shape;
  for (unsigned dim : order)
    shape.push_back(x.shape[dim]);
  Access init{function.emitEmpty(shape, element), order};
  function.addResult(function.emitGeneric(
      x.shape, Access{x, getAll(x.shape.size())}, init,
      formatv("    %r = {0} %i0 : {1}\n    linalg.yield %r : {1}", op.name,
              element)
          .str()));
}

void cases::addBinary(Function &function, unsigned number) {
  static const Operation ops[] = {
      {"arith.addf", 0},     {"arith.subf", 0},     {"arith.mulf", -0.5},
      {"arith.divf", 0.2},   {"arith.remf", 0.4},   {"arith.maximumf", 0},
      {"arith.minimumf", 0}, {"arith.maxnumf", 0},  {"arith.minnumf", 0},
      {"math.powf", 0.2},    {"math.atan2", -0.5},  {"math.copysign", -0.5},
      {"math.fma", -0.5},    {"math.clampf", -0.5}, {"arith.select", -0.5},
      {"math.fpowi", 0.3},   {"arith.truncf", 0},
  };
  const Operation &op = ops[number % std::size(ops)];
  std::string element = function.pickElement();
  Shape shape = function.pickShape(function.pick(0, 3));
  Value a = function.emitShift(function.addArgument(shape, element), op.shift);
  Value b = function.emitShift(function.addArgument(shape, element), op.shift);
  std::string type = a.getType();
  auto emit = [&](const Twine &operands) {
    function.addResult(function.emit(shape, element, op.name + " " + operands));
  };
  if (op.name == "math.fma")
    return emit(a.name + ", " + b.name + ", " + a.name + " : " + type);
  if (op.name == "math.clampf") {
    Value low = function.emitShift(a, -0.2), high = function.emitShift(a, 0.3);
    return emit(b.name + " to [" + low.name + ", " + high.name + "] : " + type);
  }
  if (op.name == "arith.select") {
    Value c = function.emit(shape, "i1",
                            "arith.cmpf olt, " + a.name + ", " + b.name +
                                " : " + type);
    Value d = function.emit(
        shape, element, "arith.mulf " + a.name + ", " + b.name + " : " + type);
    return emit(c.name + ", " + a.name + ", " + d.name + " : " + c.getType() +
                ", " + type);
  }
  if (op.name == "math.fpowi") {
    int64_t power = function.pick(-3, 4);
    Value n = function.emit(shape, "i32",
                            formatv("arith.constant dense<{0}> : {1}", power,
                                    getTensorType(shape, "i32")));
    return emit(a.name + ", " + n.name + " : " + type + ", " + n.getType());
  }
  if (op.name == "arith.truncf") {
    Value x = function.addArgument(shape, "f64");
    Value narrow =
        function.emit(shape, "f32",
                      "arith.truncf " + x.name + " : " + x.getType() + " to " +
                          getTensorType(shape, "f32"));
    function.addResult(function.emit(shape, "f64",
                                     "arith.extf " + narrow.name + " : " +
                                         narrow.getType() + " to " +
                                         x.getType()));
    return;
  }
  emit(a.name + ", " + b.name + " : " + type);
}

/// Operands that see some of the loops, in any order.
void cases::addBroadcast(Function &function, unsigned) {
  static const std::string bodies[] = {
      "    %0 = arith.mulf %i0, %i1 : E\n    %1 = math.sin %i0 : E\n"
      "    %r = arith.addf %0, %1 : E\n",
      "    %0 = math.exp %i1 : E\n    %r = arith.divf %i0, %0 : E\n",
      "    %0 = arith.mulf %i0, %i1 : E\n    %r = math.tanh %0 : E\n",
      "    %r = arith.subf %i0, %i1 : E\n",
      // Where the root is not selected, its derivative must exist all the same.
      "    %c = arith.cmpf ogt, %i0, %i1 : E\n    %a = math.absf %i1 : E\n"
      "    %0 = math.sqrt %a : E\n    %r = arith.select %c, %i0, %0 : E\n",
      "    %d = linalg.index 0 : index\n    %n = arith.index_cast %d : index "
      "to i64\n    %f = arith.sitofp %n : i64 to E\n    %0 = arith.mulf %f, "
      "%i0 : E\n    %r = arith.addf %0, %i1 : E\n",
  };
  std::string element = function.pickElement();
  Shape loops = function.pickShape(function.pick(1, 4));
  SmallVector<Access> inputs;
  for (unsigned i = 0; i < 2; ++i) {
    Access access;
    Shape shape;
    for (unsigned dim : function.pickPermutation(loops.size()))
      if (function.pick(0, 2) > 0) {
        access.dims.push_back(dim);
        shape.push_back(loops[dim]);
      }
    access.value = function.addArgument(shape, element);
    inputs.push_back(access);
  }
  std::string body = function.pickFrom<std::string>(bodies);
  for (size_t at; (at = body.find(": E")) != std::string::npos;)
    body.replace(at + 2, 1, element);
  for (size_t at; (at = body.find("to E")) != std::string::npos;)
    body.replace(at + 3, 1, element);
  Access init{function.emitEmpty(loops, element), getAll(loops.size())};
  function.addResult(function.emitGeneric(
      loops, inputs, init, body + "    linalg.yield %r : " + element));
}

void cases::addNamed(Function &function, unsigned number) {
  static const Operation ops[] = {
      {"abs", -0.5},  {"ceil", 0},      {"erf", -0.5},    {"exp", 0},
      {"floor", 0},   {"log", 0},       {"negf", 0},      {"reciprocal", 0.2},
      {"round", 0},   {"rsqrt", 0.1},   {"sqrt", 0.1},    {"square", -0.5},
      {"tanh", -0.5}, {"copy", 0},      {"add", 0},       {"sub", 0},
      {"mul", 0},     {"div", 0.2},     {"max", 0},       {"min", 0},
      {"powf", 0.3},  {"transpose", 0}, {"broadcast", 0}, {"softmax", 0},
      {"map", 0},     {"reduce", 0},
  };
  const Operation &op = ops[number % std::size(ops)];
  std::string element = function.pickElement();
  Shape shape = function.pickShape(function.pick(1, 3));
  Value x = function.emitShift(function.addArgument(shape, element), op.shift);
  std::string type = x.getType();
  auto emit = [&](const Shape &to, const Twine &middle) {
    Value out = function.emitEmpty(to, element);
    function.addResult(
        function.emit(to, element,
                      formatv("linalg.{0} ins({1}) outs({2} : {3}) -> {3}",
                              op.name, middle.str(), out.name, out.getType())));
  };
  std::string one = x.name + " : " + type;
  if (op.name == "transpose") {
    SmallVector<unsigned> order = function.pickPermutation(shape.size());
    Shape to;
    for (unsigned dim : order)
      to.push_back(shape[dim]);
    Value out = function.emitEmpty(to, element);
    function.addResult(function.emit(
        to, element,
        formatv("linalg.transpose ins({0}) outs({1} : {2}) permutation = "
                "[{3}]",
                one, out.name, out.getType(),
                join(SmallVector<int64_t>(order.begin(), order.end())))));
  } else if (op.name == "broadcast") {
    unsigned at = function.pick(0, shape.size());
    Shape to = shape;
    to.insert(to.begin() + at, 3);
    Value out = function.emitEmpty(to, element);
    function.addResult(function.emit(
        to, element,
        formatv("linalg.broadcast ins({0}) outs({1} : {2}) dimensions = "
                "[{3}]",
                one, out.name, out.getType(), at)));
  } else if (op.name == "softmax") {
    Value out = function.emitEmpty(shape, element);
    function.addResult(function.emit(
        shape, element,
        formatv("linalg.softmax dimension({0}) ins({1}) outs({2} : {3}) -> {3}",
                function.pick(0, shape.size() - 1), one, out.name, type)));
  } else if (op.name == "map") {
    Value out = function.emitEmpty(shape, element);
    function.addResult(function.emit(
        shape, element,
        formatv("linalg.map {{ math.sin } ins({0}) outs({1} : {2})", one,
                out.name, type)));
  } else if (op.name == "reduce") {
    unsigned dim = function.pick(0, shape.size() - 1);
    Shape to = shape;
    to.erase(to.begin() + dim);
    Value init = function.addArgument(to, element);
    function.addResult(function.emit(
        to, element,
        formatv("linalg.reduce {{ arith.addf } ins({0}) outs({1} : {2}) "
                "dimensions = [{3}]",
                one, init.name, init.getType(), dim)));
  } else if (number % std::size(ops) < 14) {
    emit(shape, one);
  } else {
    Value y =
        function.emitShift(function.addArgument(shape, element), op.shift);
    emit(shape, x.name + ", " + y.name + " : " + type + ", " + type);
  }
}

/// A function of a complex number, as two real functions of two.
void cases::addComplex(Function &function, unsigned number) {
  static const std::string ops[] = {
      "complex.mul %z, %w", "complex.add %z, %w", "complex.sub %z, %w",
      "complex.div %z, %w", "complex.neg %z",     "complex.conj %z",
      "complex.exp %z",     "complex.log %z",     "complex.sqrt %z",
      "complex.rsqrt %z",   "complex.sin %z",     "complex.cos %z",
      "complex.tanh %z",    "complex.expm1 %z",   "complex.log1p %z",
      "complex.pow %z, %w", "complex.tan %z",     "complex.sign %z",
      "complex.abs %z",     "complex.angle %z",   "complex.atan2 %z, %w",
  };
  const std::string &op = ops[number % std::size(ops)];
  std::string element = function.pickFrom<std::string>({"f32", "f64"});
  Shape shape = function.pickShape(function.pick(0, 2));
  SmallVector<Access> inputs;
  for (unsigned i = 0; i < 4; ++i)
    inputs.push_back({function.emitShift(function.addArgument(shape, element),
                                         i == 3 ? -0.5 : 0.1),
                      getAll(shape.size())});
  bool isReal =
      StringRef(op).contains("abs") || StringRef(op).contains("angle");
  std::string body = formatv("    %z = complex.create %i0, %i1 : complex<{0}>\n"
                             "    %w = complex.create %i2, %i3 : complex<{0}>\n"
                             "    %u = {1} : complex<{0}>\n",
                             element, op)
                         .str();
  if (!isReal)
    body += formatv("    %re = complex.re %u : complex<{0}>\n"
                    "    %im = complex.im %u : complex<{0}>\n"
                    "    %t = arith.addf %im, %im : {0}\n"
                    "    %u2 = arith.addf %re, %t : {0}\n",
                    element)
                .str();
  body += formatv("    %w2 = arith.mulf %i0, %{1} : {0}\n"
                  "    linalg.yield %w2 : {0}",
                  element, isReal ? "u" : "u2")
              .str();
  Access init{function.emitEmpty(shape, element), getAll(shape.size())};
  function.addResult(function.emitGeneric(shape, inputs, init, body));
}
