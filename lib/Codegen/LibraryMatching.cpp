//===- LibraryMatching.cpp - kernels that are library calls ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes kernels that are one product or one convolution and describes
// them by dimensions and strides, as the runtime's library interface wants it.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelInfo.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Structured.h"
#include "remat/Runtime/LibraryCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

std::optional<remat_dtype> remat::codegen::getDtype(Type elementType) {
  if (elementType.isF32())
    return REMAT_F32;
  if (elementType.isF64())
    return REMAT_F64;
  if (elementType.isF16())
    return REMAT_F16;
  if (elementType.isBF16())
    return REMAT_BF16;
  if (elementType.isInteger(1))
    return REMAT_I1;
  if (elementType.isInteger(8))
    return REMAT_I8;
  if (elementType.isInteger(16))
    return REMAT_I16;
  if (elementType.isInteger(32))
    return REMAT_I32;
  if (elementType.isInteger(64) || elementType.isIndex())
    return REMAT_I64;
  return std::nullopt;
}

/// The argument that `value` is, if need be reshaped.
static BlockArgument getArgument(Value value) {
  return dyn_cast<BlockArgument>(getViewRoot(value));
}

static bool isZeroFill(Value init) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  return fill && (matchPattern(fill.value(), m_AnyZeroFloat()) ||
                  matchPattern(fill.value(), m_Zero()));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// One dimension of a product with its strides in A, B and C.
struct ProductDim {
  int64_t size;
  int64_t strides[3];
};

using ProductDims = SmallVector<ProductDim>;

} // namespace

/// The stride of loop `dim` in an operand of type `type`; 0 if it has none.
static int64_t getLoopStride(AffineMap map, RankedTensorType type,
                             unsigned dim) {
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  int64_t stride = 0;
  for (auto [result, dimStride] : llvm::zip(map.getResults(), strides))
    if (result == getAffineDimExpr(dim, map.getContext()))
      stride += dimStride;
  return stride;
}

/// Joins dimensions that are contiguous in all operands.
static ProductDims mergeDims(ProductDims dims, unsigned orderOperand) {
  llvm::stable_sort(dims, [&](const ProductDim &a, const ProductDim &b) {
    return a.strides[orderOperand] > b.strides[orderOperand];
  });
  ProductDims merged;
  for (const ProductDim &dim : dims) {
    if (dim.size == 1)
      continue;
    bool contiguous = !merged.empty();
    for (unsigned i = 0; contiguous && i < 3; ++i)
      contiguous = merged.back().strides[i] == dim.size * dim.strides[i];
    if (!contiguous) {
      merged.push_back(dim);
      continue;
    }
    int64_t size = merged.back().size * dim.size;
    merged.back() = dim;
    merged.back().size = size;
  }
  return merged;
}

/// Takes the dimension with the smallest stride in `operand` from `dims` and
/// leaves the others for the batch.
static ProductDim takeDim(ProductDims &dims) {
  if (dims.empty())
    return {1, {0, 0, 0}};
  return dims.pop_back_val();
}

static std::optional<remat_matmul> describeProduct(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<RankedTensorType> types;
  for (Value operand : op->getOperands())
    types.push_back(dyn_cast<RankedTensorType>(operand.getType()));
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  ProductDims batch, rows, columns, sums;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    ProductDim product{size, {}};
    bool in[3];
    for (unsigned i = 0; i < 3; ++i) {
      in[i] = maps[i].isFunctionOfDim(dim);
      product.strides[i] = getLoopStride(maps[i], types[i], dim);
    }
    if (in[0] && in[1] && in[2])
      batch.push_back(product);
    else if (in[0] && !in[1] && in[2])
      rows.push_back(product);
    else if (!in[0] && in[1] && in[2])
      columns.push_back(product);
    else if (in[0] && in[1] && !in[2])
      sums.push_back(product);
    else
      return std::nullopt;
  }
  batch = mergeDims(batch, 2);
  rows = mergeDims(rows, 2);
  columns = mergeDims(columns, 2);
  sums = mergeDims(sums, 0);
  if (sums.size() > 1)
    return std::nullopt;
  ProductDim k = takeDim(sums), m = takeDim(rows), n = takeDim(columns);
  batch.append(rows);
  batch.append(columns);
  if (batch.size() > 3)
    return std::nullopt;
  while (batch.size() < 3)
    batch.insert(batch.begin(), {1, {0, 0, 0}});

  remat_matmul matmul = {};
  matmul.a_dtype = *getDtype(types[0].getElementType());
  matmul.b_dtype = *getDtype(types[1].getElementType());
  matmul.c_dtype = *getDtype(types[2].getElementType());
  for (auto [i, dim] : llvm::enumerate(batch)) {
    matmul.batch[i] = dim.size;
    matmul.a_batch_stride[i] = dim.strides[0];
    matmul.b_batch_stride[i] = dim.strides[1];
    matmul.c_batch_stride[i] = dim.strides[2];
  }
  matmul.m = m.size;
  matmul.n = n.size;
  matmul.k = k.size;
  matmul.a_m_stride = m.strides[0];
  matmul.a_k_stride = k.strides[0];
  matmul.b_k_stride = k.strides[1];
  matmul.b_n_stride = n.strides[1];
  matmul.c_m_stride = m.strides[2];
  matmul.c_n_stride = n.strides[2];
  return matmul;
}

/// Whether the library multiplies these element types.
static bool hasLibraryTypes(linalg::LinalgOp op) {
  Type types[3];
  for (unsigned i = 0; i < 3; ++i) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type || !type.hasStaticShape() || !getDtype(type.getElementType()) ||
        !isa<FloatType>(type.getElementType()))
      return false;
    types[i] = type.getElementType();
  }
  return types[0] == types[1] && (types[2] == types[0] || types[2].isF32());
}

static std::optional<LibraryCall> matchProduct(linalg::LinalgOp op) {
  if (op->getNumOperands() != 3 || !linalg::isaContractionOpInterface(op) ||
      !isProductBody(*op.getBlock()) || !hasLibraryTypes(op))
    return std::nullopt;
  BlockArgument lhs = getArgument(op->getOperand(0));
  BlockArgument rhs = getArgument(op->getOperand(1));
  BlockArgument init = getArgument(op->getOperand(2));
  if (!lhs || !rhs || (!init && !isZeroFill(op->getOperand(2))))
    return std::nullopt;
  std::optional<remat_matmul> matmul = describeProduct(op);
  if (matmul)
    matmul->accumulate = init ? 1 : 0;
  if (!matmul || remat_matmul_workspace_bytes(&*matmul, 1) < 0)
    return std::nullopt;
  LibraryCall call = {};
  call.kind = REMAT_ENTRY_MATMUL;
  call.matmul = *matmul;
  call.lhs = lhs.getArgNumber();
  call.rhs = rhs.getArgNumber();
  if (init)
    call.init = init.getArgNumber();
  return call;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Sizes and strides of the logical dimensions of a factor.
static void describeFactor(RankedTensorType type, ArrayRef<int64_t> layout,
                           SmallVectorImpl<int64_t> &sizes,
                           SmallVectorImpl<int64_t> &strides) {
  SmallVector<int64_t> tensorStrides = computeStrides(type.getShape());
  for (int64_t dim : layout) {
    sizes.push_back(type.getDimSize(dim));
    strides.push_back(tensorStrides[dim]);
  }
}

std::optional<remat_convolution> remat::codegen::describeConvolution(ConvOp op) {
  unsigned rank = op.getSpatialRank();
  RankedTensorType types[] = {op.getInputType(), op.getFilterType(),
                              op.getOutputType()};
  for (RankedTensorType type : types)
    if (!getDtype(type.getElementType()))
      return std::nullopt;
  if (rank > 3)
    return std::nullopt;
  SmallVector<int64_t> input, filter, output;
  SmallVector<int64_t> inputStrides, filterStrides, outputStrides;
  describeFactor(types[0], op.getInputLayout(), input, inputStrides);
  describeFactor(types[1], op.getFilterLayout(), filter, filterStrides);
  describeFactor(types[2], op.getOutputLayout(), output, outputStrides);

  remat_convolution conv = {};
  switch (op.getKind()) {
  case ConvKind::Forward:
    conv.kind = REMAT_CONV_FORWARD;
    break;
  case ConvKind::InputGrad:
    conv.kind = REMAT_CONV_INPUT_GRADIENT;
    break;
  case ConvKind::FilterGrad:
    conv.kind = REMAT_CONV_FILTER_GRADIENT;
    break;
  }
  conv.spatial_rank = rank;
  conv.input_dtype = *getDtype(types[0].getElementType());
  conv.filter_dtype = *getDtype(types[1].getElementType());
  conv.output_dtype = *getDtype(types[2].getElementType());
  conv.batch = input[0];
  conv.groups = op.getGroups();
  conv.input_channels = input[1];
  conv.output_channels = output[1];
  for (unsigned i = 0; i < rank; ++i) {
    conv.input[i] = input[i + 2];
    conv.filter[i] = filter[i + 2];
    conv.output[i] = output[i + 2];
    conv.stride[i] = op.getStrides()[i];
    conv.dilation[i] = op.getDilations()[i];
    conv.pad_lo[i] = op.getPadding()[2 * i];
    conv.pad_hi[i] = op.getPadding()[2 * i + 1];
  }
  llvm::copy(inputStrides, conv.input_strides);
  llvm::copy(outputStrides, conv.output_strides);
  // The filter's output features are all groups', group by group.
  conv.filter_strides[0] = filterStrides[0] * (filter[0] / conv.groups);
  llvm::copy(filterStrides, conv.filter_strides + 1);
  return conv;
}

static std::optional<LibraryCall> matchConvolution(ConvOp op) {
  BlockArgument lhs = getArgument(op.getLhs());
  BlockArgument rhs = getArgument(op.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  std::optional<remat_convolution> conv = describeConvolution(op);
  if (!conv || remat_convolution_workspace_bytes(&*conv, 1) < 0)
    return std::nullopt;
  LibraryCall call = {};
  call.kind = REMAT_ENTRY_CONVOLUTION;
  call.convolution = *conv;
  // A filter gradient's operands come as input, output gradient in both
  // descriptions; the other kinds' second operand is the filter.
  call.lhs = lhs.getArgNumber();
  call.rhs = rhs.getArgNumber();
  return call;
}

std::optional<LibraryCall>
remat::codegen::describeLibraryCall(FunctionOpInterface kernel) {
  Region &body = kernel.getFunctionBody();
  if (!body.hasOneBlock() || kernel.getNumResults() != 1)
    return std::nullopt;
  Operation *terminator = body.front().getTerminator();
  if (terminator->getNumOperands() != 1)
    return std::nullopt;
  Operation *op = getViewRoot(terminator->getOperand(0)).getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto conv = dyn_cast<ConvOp>(op))
    return matchConvolution(conv);
  if (auto product = dyn_cast<linalg::LinalgOp>(op))
    return matchProduct(product);
  return std::nullopt;
}
