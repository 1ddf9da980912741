//===- StructuredCases.cpp - reductions, products, windows ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using namespace remat::cases;

/// Combinations of an element with a partial result, in several forms.
void cases::addReduction(Function &function, unsigned number) {
  struct Kind {
    std::string body;
    double init;
  };
  static const Kind kinds[] = {
      {"    %r = arith.addf %i0, %o : E\n", 0},
      {"    %0 = arith.mulf %i0, %i0 : E\n    %r = arith.addf %o, %0 : E\n", 1},
      {"    %r = arith.maximumf %i0, %o : E\n", -100},
      {"    %r = arith.maximumf %o, %i0 : E\n", 0.5},
      {"    %r = arith.minimumf %i0, %o : E\n", 100},
      {"    %r = arith.maxnumf %i0, %o : E\n", -100},
      {"    %c = arith.cmpf ogt, %i0, %o : E\n"
       "    %r = arith.select %c, %i0, %o : E\n",
       -100},
      {"    %r = arith.mulf %i0, %o : E\n", 1},
      {"    %0 = math.exp %i0 : E\n    %r = arith.mulf %o, %0 : E\n", 2},
      {"    %r = arith.subf %o, %i0 : E\n", 0},
      {"    %0 = math.fma %i0, %i0, %o : E\n    %r = arith.addf %0, %i0 : E\n",
       0},
      {"    %0 = math.absf %i0 : E\n    %r = arith.maximumf %o, %0 : E\n", 0},
  };
  const Kind &kind = kinds[number % std::size(kinds)];
  std::string element = function.pickElement();
  Shape loops = function.pickShape(function.pick(1, 4));
  Access input, init;
  for (unsigned dim : function.pickPermutation(loops.size()))
    input.dims.push_back(dim);
  Shape shape, rest;
  for (unsigned dim : input.dims)
    shape.push_back(loops[dim]);
  for (unsigned dim : function.pickPermutation(loops.size()))
    if (function.pick(0, 1)) {
      init.dims.push_back(dim);
      rest.push_back(loops[dim]);
    }
  // What covers all loops is not reduced.
  if (init.dims.size() == loops.size()) {
    init.dims.pop_back();
    rest.pop_back();
  }
  input.value = function.emitShift(function.addArgument(shape, element), 0.05);
  init.value = function.pick(0, 2) == 0
                   ? function.addArgument(rest, element)
                   : function.emitFill(rest, element, kind.init);
  std::string body = kind.body;
  for (size_t at; (at = body.find(": E")) != std::string::npos;)
    body.replace(at + 2, 1, element);
  function.addResult(function.emitGeneric(
      loops, input, init, body + "    linalg.yield %r : " + element));
}

/// A named product, or one with random maps.
void cases::addContraction(Function &function, unsigned number) {
  struct Kind {
    std::string name, lhs, rhs, result;
  };
  static const Kind kinds[] = {
      {"matmul", "mk", "kn", "mn"},
      {"batch_matmul", "bmk", "bkn", "bmn"},
      {"matvec", "mk", "k", "m"},
      {"vecmat", "k", "kn", "n"},
      {"dot", "k", "k", ""},
      {"batch_matvec", "bmk", "bk", "bm"},
      {"batch_vecmat", "bk", "bkn", "bn"},
      {"batch_reduce_matmul", "bmk", "bkn", "mn"},
      {"mmt4d", "mkpq", "nkrq", "mnpr"},
      {"batch_mmt4d", "bmkpq", "bnkrq", "bmnpr"},
      {"contract", "kmb", "nkb", "nmb"},
      {"contract", "kh", "hkm", "m"},
  };
  const Kind &kind = kinds[number % std::size(kinds)];
  std::string element = function.pickElement();
  std::string letters = "bmnkpqrhij";
  Shape sizes = function.pickShape(letters.size());
  auto getShape = [&](StringRef dims) {
    Shape shape;
    for (char dim : dims)
      shape.push_back(sizes[letters.find(dim)]);
    return shape;
  };
  auto getMap = [&](StringRef dims) {
    std::string map = "affine_map<(b, m, n, k, p, q, r, h, i, j) -> (";
    for (auto [number, dim] : enumerate(dims))
      map += (number > 0 ? ", " : "") + std::string(1, dim);
    return map + ")>";
  };
  Value a = function.addArgument(getShape(kind.lhs), element);
  Value b = function.addArgument(getShape(kind.rhs), element);
  Value c = function.pick(0, 1)
                ? function.emitFill(getShape(kind.result), element, 0)
                : function.addArgument(getShape(kind.result), element);
  std::string maps;
  if (kind.name == "contract") {
    // The dimensions that occur, in order.
    std::string used;
    for (char dim : letters)
      if ((kind.lhs + kind.rhs).find(dim) != std::string::npos)
        used += (used.empty() ? "" : ", ") + std::string(1, dim);
    for (const std::string &dims : {kind.lhs, kind.rhs, kind.result}) {
      std::string map = getMap(dims);
      map.replace(map.find('(') + 1, map.find(')') - map.find('(') - 1, used);
      maps += (maps.empty() ? "" : ", ") + map;
    }
    maps = " indexing_maps = [" + maps + "]";
  }
  function.addResult(function.emit(
      c.shape, element,
      formatv("linalg.{0}{1} ins({2}, {3} : {4}, {5}) outs({6} : {7}) -> {7}",
              kind.name, maps, a.name, b.name, a.getType(), b.getType(), c.name,
              c.getType())));
}

namespace {
/// An operation over windows. In the layouts, `s` stands for all spatial
/// dimensions.
struct Window {
  std::string name;
  unsigned rank;
  std::string input, filter, output;
};
} // namespace

/// Emits the operation with random strides and dilations.
static void addWindow(Function &function, const Window &window, bool hasStrides,
                      bool hasElements) {
  std::string element = function.pickElement();
  std::string letters = "ncfgm";
  Shape sizes;
  for (size_t i = 0; i < letters.size(); ++i)
    sizes.push_back(function.pick(1, 2));
  Shape strides, dilations, in, out, kernel;
  for (unsigned i = 0; i < window.rank; ++i) {
    strides.push_back(hasStrides ? function.pick(1, 2) : 1);
    dilations.push_back(hasStrides ? function.pick(1, 2) : 1);
    kernel.push_back(function.pick(1, 2));
    out.push_back(function.pick(1, 2));
    in.push_back((out.back() - 1) * strides.back() +
                 (kernel.back() - 1) * dilations.back() + 1 +
                 (hasStrides ? function.pick(0, 1) : 0));
  }
  auto getShape = [&](StringRef layout, const Shape &space) {
    Shape shape;
    for (char dim : layout)
      if (dim == 's')
        append_range(shape, space);
      else
        shape.push_back(sizes[letters.find(dim)]);
    return shape;
  };
  Value x = function.addArgument(getShape(window.input, in), element);
  Value w = hasElements
                ? function.addArgument(getShape(window.filter, kernel), element)
                : function.emitEmpty(kernel, element);
  double identity = StringRef(window.name).contains("max")   ? -100
                    : StringRef(window.name).contains("min") ? 100
                                                             : 0;
  Value y = function.emitFill(getShape(window.output, out), element, identity);
  std::string attributes;
  if (hasStrides)
    attributes = formatv(" {{dilations = dense<[{0}]> : tensor<{2}xi64>, "
                         "strides = dense<[{1}]> : tensor<{2}xi64>}",
                         join(dilations), join(strides), window.rank);
  function.addResult(function.emit(
      y.shape, element,
      formatv("linalg.{0}{1} ins({2}, {3} : {4}, {5}) outs({6} : {7}) -> {7}",
              window.name, attributes, x.name, w.name, x.getType(), w.getType(),
              y.name, y.getType())));
}

void cases::addConvolution(Function &function, unsigned number) {
  static const Window windows[] = {
      {"conv_1d", 1, "s", "s", "s"},
      {"conv_2d", 2, "s", "s", "s"},
      {"conv_3d", 3, "s", "s", "s"},
      {"conv_1d_ncw_fcw", 1, "ncs", "fcs", "nfs"},
      {"conv_1d_nwc_wcf", 1, "nsc", "scf", "nsf"},
      {"conv_2d_nchw_fchw", 2, "ncs", "fcs", "nfs"},
      {"conv_2d_nhwc_hwcf", 2, "nsc", "scf", "nsf"},
      {"conv_2d_nhwc_fhwc", 2, "nsc", "fsc", "nsf"},
      {"conv_2d_ngchw_fgchw", 2, "ngcs", "fgcs", "ngfs"},
      {"conv_2d_ngchw_gfchw", 2, "ngcs", "gfcs", "ngfs"},
      {"conv_2d_nhwgc_gfhwc", 2, "nsgc", "gfsc", "nsgf"},
      {"conv_3d_ncdhw_fcdhw", 3, "ncs", "fcs", "nfs"},
      {"conv_3d_ndhwc_dhwcf", 3, "nsc", "scf", "nsf"},
      {"depthwise_conv_1d_ncw_cw", 1, "ncs", "cs", "ncs"},
      {"depthwise_conv_1d_nwc_wc", 1, "nsc", "sc", "nsc"},
      {"depthwise_conv_1d_nwc_wcm", 1, "nsc", "scm", "nscm"},
      {"depthwise_conv_2d_nchw_chw", 2, "ncs", "cs", "ncs"},
      {"depthwise_conv_2d_nhwc_hwc", 2, "nsc", "sc", "nsc"},
      {"depthwise_conv_2d_nhwc_hwcm", 2, "nsc", "scm", "nscm"},
      {"depthwise_conv_3d_ncdhw_cdhw", 3, "ncs", "cs", "ncs"},
      {"depthwise_conv_3d_ndhwc_dhwc", 3, "nsc", "sc", "nsc"},
      {"depthwise_conv_3d_ndhwc_dhwcm", 3, "nsc", "scm", "nscm"},
  };
  const Window &window = windows[number % std::size(windows)];
  addWindow(function, window, window.name.size() > 7, true);
}

void cases::addPooling(Function &function, unsigned number) {
  static const Window windows[] = {
      {"pooling_nchw_max", 2, "ncs", "s", "ncs"},
      {"pooling_nchw_sum", 2, "ncs", "s", "ncs"},
      {"pooling_ncw_max", 1, "ncs", "s", "ncs"},
      {"pooling_ncw_sum", 1, "ncs", "s", "ncs"},
      {"pooling_ndhwc_max", 3, "nsc", "s", "nsc"},
      {"pooling_ndhwc_min", 3, "nsc", "s", "nsc"},
      {"pooling_ndhwc_sum", 3, "nsc", "s", "nsc"},
      {"pooling_nhwc_max", 2, "nsc", "s", "nsc"},
      {"pooling_nhwc_min", 2, "nsc", "s", "nsc"},
      {"pooling_nhwc_sum", 2, "nsc", "s", "nsc"},
      {"pooling_nwc_max", 1, "nsc", "s", "nsc"},
      {"pooling_nwc_min", 1, "nsc", "s", "nsc"},
      {"pooling_nwc_sum", 1, "nsc", "s", "nsc"},
  };
  addWindow(function, windows[number % std::size(windows)], true, false);
}
