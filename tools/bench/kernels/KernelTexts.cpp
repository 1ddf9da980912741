//===- KernelTexts.cpp - functions that are benchmarked -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTexts.h"

#include <initializer_list>
#include <sstream>
#include <vector>

using namespace remat::bench;

namespace {

/// Writes a function line by line; values are named by the caller.
class Writer {
public:
  static std::string type(std::initializer_list<int64_t> shape,
                          const char *element = "f32") {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  }

  void begin(const std::string &arguments, const std::string &result) {
    os << "func.func @main(" << arguments << ") -> " << result << " {\n"
       << "  %zero = arith.constant 0.0 : f32\n"
       << "  %low = arith.constant 0xFF800000 : f32\n";
  }

  /// %name = a tensor full of `value`.
  void fill(const std::string &name, const std::string &value,
            const std::string &type) {
    os << "  %" << name << "_e = tensor.empty() : " << type << "\n  %" << name
       << " = linalg.fill ins(" << value << " : f32) outs(%" << name
       << "_e : " << type << ") -> " << type << "\n";
  }

  struct Operand {
    std::string name, type, map;
  };

  /// A structured op: `loops` has a letter p or r for each, `body` computes %y
  /// from %a, %b, ... and the result so far, %o.
  void generic(const std::string &loops, std::vector<Operand> inputs,
               const std::string &result, const Operand &output,
               const std::string &body) {
    std::string dims, iterators, maps, names, types, arguments;
    for (size_t i = 0; i < loops.size(); ++i) {
      dims += (i ? ", d" : "d") + std::to_string(i);
      iterators += std::string(i ? ", " : "") +
                   (loops[i] == 'p' ? "\"parallel\"" : "\"reduction\"");
    }
    auto map = [&](const Operand &operand) {
      return "affine_map<(" + dims + ") -> (" + operand.map + ")>";
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Operand &input = inputs[i];
      std::string comma = i ? ", " : "";
      names += comma + input.name;
      types += comma + input.type;
      maps += map(input) + ", ";
      bool isLabel = input.type.find("i64") != std::string::npos;
      arguments +=
          std::string("%") + char('a' + i) + (isLabel ? ": i64, " : ": f32, ");
    }
    os << "  %" << result << " = linalg.generic {indexing_maps = [" << maps
       << map(output) << "], iterator_types = [" << iterators << "]} ins("
       << names << " : " << types << ") outs(" << output.name << " : "
       << output.type << ") {\n  ^bb0(" << arguments << "%o: f32):\n"
       << body << "    linalg.yield %y : f32\n  } -> " << output.type << "\n";
  }

  std::string finish(const std::string &name, const std::string &type) {
    os << "  return %" << name << " : " << type << "\n}\n";
    return os.str();
  }

  std::ostringstream os;
};

const char add[] = "    %y = arith.addf %a, %o : f32\n";
const char maximum[] = "    %y = arith.maximumf %a, %o : f32\n";
const char expOfDifference[] = "    %t = arith.subf %a, %b : f32\n"
                               "    %y = math.exp %t : f32\n";
const char quotient[] = "    %y = arith.divf %a, %b : f32\n";

/// Softmax over the last dimension of %`name`, to %p. `lead` are the letters
/// and maps of the others.
void writeSoftmax(Writer &w, const std::string &name, const std::string &type,
                  const std::string &rowType, const std::string &row,
                  const std::string &all, const std::string &lead) {
  w.fill("lows", "%low", rowType);
  w.fill("zeros", "%zero", rowType);
  w.fill("out", "%zero", type);
  w.generic(lead + "r", {{name, type, all}}, "max", {"%lows", rowType, row},
            maximum);
  w.generic(lead + "p", {{name, type, all}, {"%max", rowType, row}}, "e",
            {"%out", type, all}, expOfDifference);
  w.generic(lead + "r", {{"%e", type, all}}, "sum", {"%zeros", rowType, row},
            add);
  w.generic(lead + "p", {{"%e", type, all}, {"%sum", rowType, row}}, "p",
            {"%out", type, all}, quotient);
}

} // namespace

std::string remat::bench::makeMatmul(int64_t m, int64_t n, int64_t k) {
  Writer w;
  std::string a = Writer::type({m, k}), b = Writer::type({k, n}),
              c = Writer::type({m, n});
  w.begin("%x: " + a + ", %w: " + b, c);
  w.fill("init", "%zero", c);
  w.os << "  %c = linalg.matmul ins(%x, %w : " << a << ", " << b
       << ") outs(%init : " << c << ") -> " << c << "\n";
  return w.finish("c", c);
}

std::string remat::bench::makeConvolution(int64_t batch, int64_t channels,
                                          int64_t image, int64_t features,
                                          int64_t filter) {
  Writer w;
  int64_t pad = filter / 2;
  std::string x = Writer::type({batch, channels, image, image});
  std::string f = Writer::type({features, channels, filter, filter});
  std::string y = Writer::type({batch, features, image, image});
  std::string padded =
      Writer::type({batch, channels, image + 2 * pad, image + 2 * pad});
  w.begin("%x: " + x + ", %w: " + f, y);
  w.fill("init", "%zero", y);
  w.os << "  %padded = tensor.pad %x low[0, 0, " << pad << ", " << pad
       << "] high[0, 0, " << pad << ", " << pad
       << "] {\n  ^bb0(%i: index, %j: index, %k: index, %l: index):\n"
       << "    tensor.yield %zero : f32\n  } : " << x << " to " << padded
       << "\n  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : "
          "vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%padded, %w "
          ": "
       << padded << ", " << f << ") outs(%init : " << y << ") -> " << y << "\n";
  return w.finish("c", y);
}

std::string remat::bench::makeSoftmax(int64_t rows, int64_t columns) {
  Writer w;
  std::string type = Writer::type({rows, columns}), row = Writer::type({rows});
  w.begin("%x: " + type, type);
  writeSoftmax(w, "%x", type, row, "d0", "d0, d1", "p");
  return w.finish("p", type);
}

std::string remat::bench::makeLayerNorm(int64_t rows, int64_t columns) {
  Writer w;
  std::string type = Writer::type({rows, columns}), row = Writer::type({rows}),
              column = Writer::type({columns});
  w.begin("%x: " + type + ", %g: " + column + ", %s: " + column, type);
  w.os << "  %n = arith.constant " << columns << ".0 : f32\n"
       << "  %eps = arith.constant 1.0e-5 : f32\n";
  w.fill("zeros", "%zero", row);
  w.fill("out", "%zero", type);
  w.generic("pr", {{"%x", type, "d0, d1"}}, "sum", {"%zeros", row, "d0"}, add);
  w.generic("p", {{"%sum", row, "d0"}}, "mean", {"%zeros", row, "d0"},
            "    %y = arith.divf %a, %n : f32\n");
  w.generic("pp", {{"%x", type, "d0, d1"}, {"%mean", row, "d0"}}, "centered",
            {"%out", type, "d0, d1"}, "    %y = arith.subf %a, %b : f32\n");
  w.generic("pr", {{"%centered", type, "d0, d1"}}, "squares",
            {"%zeros", row, "d0"},
            "    %t = arith.mulf %a, %a : f32\n"
            "    %y = arith.addf %t, %o : f32\n");
  w.generic("p", {{"%squares", row, "d0"}}, "scale", {"%zeros", row, "d0"},
            "    %t = arith.divf %a, %n : f32\n"
            "    %u = arith.addf %t, %eps : f32\n"
            "    %y = math.rsqrt %u : f32\n");
  w.generic("pp",
            {{"%centered", type, "d0, d1"},
             {"%scale", row, "d0"},
             {"%g", column, "d1"},
             {"%s", column, "d1"}},
            "r", {"%out", type, "d0, d1"},
            "    %t = arith.mulf %a, %b : f32\n"
            "    %u = arith.mulf %t, %c : f32\n"
            "    %y = arith.addf %u, %d : f32\n");
  return w.finish("r", type);
}

std::string remat::bench::makeAttention(int64_t heads, int64_t length,
                                        int64_t width) {
  Writer w;
  std::string x = Writer::type({heads, length, width}),
              s = Writer::type({heads, length, length}),
              row = Writer::type({heads, length});
  const char multiply[] = "    %t = arith.mulf %a, %b : f32\n"
                          "    %y = arith.addf %o, %t : f32\n";
  w.begin("%q: " + x + ", %k: " + x + ", %v: " + x, x);
  w.fill("scores", "%zero", s);
  w.fill("heads", "%zero", x);
  w.generic("pppr", {{"%q", x, "d0, d1, d3"}, {"%k", x, "d0, d2, d3"}}, "qk",
            {"%scores", s, "d0, d1, d2"}, multiply);
  w.generic("ppp", {{"%qk", s, "d0, d1, d2"}}, "masked",
            {"%scores", s, "d0, d1, d2"},
            "    %i = linalg.index 1 : index\n"
            "    %j = linalg.index 2 : index\n"
            "    %seen = arith.cmpi sle, %j, %i : index\n"
            "    %m = arith.select %seen, %zero, %low : f32\n"
            "    %y = arith.addf %a, %m : f32\n");
  writeSoftmax(w, "%masked", s, row, "d0, d1", "d0, d1, d2", "pp");
  w.generic("pppr", {{"%p", s, "d0, d1, d3"}, {"%v", x, "d0, d3, d2"}}, "r",
            {"%heads", x, "d0, d1, d2"}, multiply);
  return w.finish("r", x);
}

std::string remat::bench::makeCrossEntropy(int64_t rows, int64_t classes) {
  Writer w;
  std::string type = Writer::type({rows, classes}), row = Writer::type({rows}),
              labels = Writer::type({rows}, "i64"), scalar = Writer::type({});
  w.begin("%x: " + type + ", %labels: " + labels, scalar);
  w.os << "  %n = arith.constant " << rows << ".0 : f32\n";
  w.fill("lows", "%low", row);
  w.fill("zeros", "%zero", row);
  w.fill("total", "%zero", scalar);
  w.generic("pr", {{"%x", type, "d0, d1"}}, "max", {"%lows", row, "d0"},
            maximum);
  w.generic("pr", {{"%x", type, "d0, d1"}, {"%max", row, "d0"}}, "sum",
            {"%zeros", row, "d0"},
            "    %t = arith.subf %a, %b : f32\n"
            "    %u = math.exp %t : f32\n"
            "    %y = arith.addf %o, %u : f32\n");
  w.generic(
      "p",
      {{"%labels", labels, "d0"}, {"%max", row, "d0"}, {"%sum", row, "d0"}},
      "loss", {"%zeros", row, "d0"},
      "    %i = linalg.index 0 : index\n"
      "    %j = arith.index_cast %a : i64 to index\n"
      "    %l = tensor.extract %x[%i, %j] : " +
          type +
          "\n"
          "    %t = math.log %c : f32\n"
          "    %u = arith.addf %t, %b : f32\n"
          "    %y = arith.subf %u, %l : f32\n");
  w.generic("r", {{"%loss", row, "d0"}}, "r", {"%total", scalar, ""},
            "    %t = arith.divf %a, %n : f32\n"
            "    %y = arith.addf %t, %o : f32\n");
  return w.finish("r", scalar);
}
