//===- Matmul.cpp - contractions as library calls -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes kernels that are one contraction, alone or with an epilogue, and
// describes them by dimensions and strides, as the runtime's library interface
// wants it.
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

#include "../Tuning.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Runtime/StepTableBuilder.h"
#include "remat/Utils/Epilogues.h"
#include "remat/Utils/PaddedRows.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

/// Whether loops take less time for the products of a batch than a library,
/// which looks at each on its own.
static bool areTiny(const remat_matmul &matmul) {
  int64_t batch = matmul.batch[0] * matmul.batch[1] * matmul.batch[2];
  int64_t largest = std::max({matmul.m, matmul.n, matmul.k});
  return batch > 1 && (largest <= LibraryTuning::tinyProduct ||
                       (matmul.n == LibraryTuning::tinyRow &&
                        largest <= LibraryTuning::tinyRow));
}

namespace {

class MatmulCall : public LibraryCall {
public:
  /// `isAdded` is whether the kernel adds a contraction to something.
  MatmulCall(const remat_matmul &matmul, ArrayRef<Operand> callOperands,
             bool isAdded)
      : matmul(matmul), isAdded(isAdded) {
    operands.assign(callOperands.begin(), callOperands.end());
  }

  int64_t countFlops() const override {
    int64_t flops = 2;
    for (int64_t size : {matmul.m, matmul.n, matmul.k, matmul.batch[0],
                         matmul.batch[1], matmul.batch[2]})
      flops = multiplyCounts(flops, size);
    return flops;
  }
  int64_t getWorkspaceBytes(int threads) const override {
    return remat_matmul_workspace_bytes(&matmul, threads);
  }
  void addTo(StepTableBuilder &table, StepEntry &entry) const override {
    entry.kind = REMAT_ENTRY_MATMUL;
    entry.callee = table.addMatmul(matmul);
  }
  const remat_matmul *getMatmul() const override { return &matmul; }
  /// In the precision of its factors, f32 or f64: others would have to add up
  /// in a wider type, as the library does. Sums of products of two vectors, one
  /// for each row, are nothing else, whatever the factors are.
  bool mayBeGenerated() const override {
    return (matmul.a_dtype == matmul.c_dtype ||
            (matmul.m == 1 && matmul.n == 1)) &&
           (matmul.c_dtype == REMAT_F32 || matmul.c_dtype == REMAT_F64);
  }
  /// The library takes microseconds before it multiplies anything, and packs
  /// factors that are read once only: a contraction with a vector reads its
  /// matrix once, and so does one of two vectors with what it writes. Where
  /// that is added to something, generated code would need room for it, and
  /// both round each product once.
  bool isBetterGenerated() const override {
    if (matmul.epilogue != 0)
      return false;
    if (countFlops() <= LibraryTuning::maxTinyFlops || areTiny(matmul))
      return true;
    return matmul.m == 1 || matmul.n == 1 || (matmul.k == 1 && !isAdded);
  }

private:
  remat_matmul matmul;
  bool isAdded;
};

} // namespace

namespace {

/// One dimension of a contraction with its strides in A, B and C.
struct MatmulDim {
  int64_t size;
  int64_t strides[3];
};

using MatmulDims = SmallVector<MatmulDim>;

} // namespace

/// Strides of a tensor of this type in memory, where the rows that it is a view
/// of have gaps; nothing if one of its dimensions goes over gaps and elements.
static std::optional<SmallVector<int64_t>> getStrides(RankedTensorType type,
                                                      PaddedRow row) {
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  if (!row)
    return strides;
  for (auto [stride, size] : llvm::zip(strides, type.getShape())) {
    if (stride % row.elements == 0)
      stride = stride / row.elements * row.stride;
    else if (size != 1 && row.elements % (stride * size) != 0)
      return std::nullopt;
  }
  return strides;
}

/// The stride of loop `dim` in an operand with these strides; 0 if it has none.
static int64_t getLoopStride(AffineMap map, ArrayRef<int64_t> strides,
                             unsigned dim) {
  int64_t stride = 0;
  for (auto [result, dimStride] : llvm::zip(map.getResults(), strides))
    if (result == getAffineDimExpr(dim, map.getContext()))
      stride += dimStride;
  return stride;
}

/// Joins dimensions that are contiguous in all operands.
static MatmulDims mergeDims(MatmulDims dims, unsigned orderOperand) {
  llvm::stable_sort(dims, [&](const MatmulDim &a, const MatmulDim &b) {
    return a.strides[orderOperand] > b.strides[orderOperand];
  });
  MatmulDims merged;
  for (const MatmulDim &dim : dims) {
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
static MatmulDim takeDim(MatmulDims &dims) {
  if (dims.empty())
    return {1, {0, 0, 0}};
  return dims.pop_back_val();
}

namespace {
/// How arguments and results of a kernel lie in memory.
struct KernelRows {
  ArrayRef<PaddedRow> arguments, results;

  /// Constants have no gaps.
  PaddedRow of(const LibraryCall::Operand &operand) const {
    return operand.constant || arguments.empty() ? PaddedRow()
                                                 : arguments[operand.argument];
  }
  PaddedRow ofResult(unsigned number) const {
    return results.empty() ? PaddedRow() : results[number];
  }
};
} // namespace

/// The contraction of two operands of a call, with operand `first` of it as A.
/// What is made of it is result 0.
static std::optional<remat_matmul> describeContraction(linalg::LinalgOp op,
                                                       const KernelRows &rowsOf,
                                                       unsigned first = 0) {
  SmallVector<AffineMap> maps;
  SmallVector<RankedTensorType> types;
  SmallVector<SmallVector<int64_t>> strides;
  for (unsigned number : {first, 1 - first, 2u}) {
    Value operand = op->getOperand(number);
    maps.push_back(op.getIndexingMapsArray()[number]);
    types.push_back(cast<RankedTensorType>(operand.getType()));
    std::optional<SmallVector<int64_t>> found = getStrides(
        types.back(),
        number == 2 ? rowsOf.ofResult(0) : rowsOf.of(*getCallOperand(operand)));
    if (!found)
      return std::nullopt;
    strides.push_back(std::move(*found));
  }
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  MatmulDims batch, rows, columns, sums;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    MatmulDim merged{size, {}};
    bool in[3];
    for (unsigned i = 0; i < 3; ++i) {
      in[i] = maps[i].isFunctionOfDim(dim);
      merged.strides[i] = getLoopStride(maps[i], strides[i], dim);
    }
    if (in[0] && in[1] && in[2])
      batch.push_back(merged);
    else if (in[0] && !in[1] && in[2])
      rows.push_back(merged);
    else if (!in[0] && in[1] && in[2])
      columns.push_back(merged);
    else if (in[0] && in[1] && !in[2])
      sums.push_back(merged);
    else
      return std::nullopt;
  }
  batch = mergeDims(batch, 2);
  rows = mergeDims(rows, 2);
  columns = mergeDims(columns, 2);
  sums = mergeDims(sums, 0);
  if (sums.size() > 1)
    return std::nullopt;
  MatmulDim k = takeDim(sums), m = takeDim(rows), n = takeDim(columns);
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

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// The library's number of an epilogue.
static int32_t getNumber(const Epilogue &epilogue) {
  int32_t number = epilogue.bias ? REMAT_EPILOGUE_BIAS : 0;
  if (epilogue.activation == Activation::Relu)
    number |= REMAT_EPILOGUE_RELU;
  if (epilogue.activation == Activation::Gelu)
    number |= REMAT_EPILOGUE_GELU;
  return epilogue.keepsSum ? number | REMAT_EPILOGUE_INPUT : number;
}

/// The operand of a product of which the last dimension of its result is.
static unsigned findColumnFactor(linalg::LinalgOp product) {
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  return llvm::is_contained(maps[0].getResults(), maps[2].getResults().back())
             ? 0
             : 1;
}

namespace {
/// A product with an epilogue, as the library wants it.
struct EpilogueParts {
  linalg::LinalgOp product;
  /// A bias, or the input or the mask of an activation; null for none.
  Value operand;
  int32_t number = 0;
  /// The sums of what the epilogue makes, or of this factor; null for none.
  Value summed;
  std::optional<unsigned> summedFactor;
};
} // namespace

/// The epilogue that `maker` makes of a product, with `numResults` results. A
/// mask is none of them.
static std::optional<EpilogueParts> matchParts(linalg::GenericOp maker,
                                               unsigned numResults) {
  EpilogueParts parts;
  if (std::optional<Epilogue> epilogue = matchEpilogue(maker)) {
    if (numResults != maker->getNumResults())
      return std::nullopt;
    parts.product = epilogue->contraction;
    parts.operand = epilogue->bias;
    parts.number = getNumber(*epilogue);
    return parts;
  }
  if (std::optional<GeluGradient> gradient = matchGeluGradient(maker)) {
    parts.product = gradient->contraction;
    parts.operand = gradient->input;
    parts.number = REMAT_EPILOGUE_GELU_GRADIENT;
  } else if (std::optional<ReluGradient> gradient = matchReluGradient(maker);
             gradient && gradient->isMask) {
    parts.product = gradient->contraction;
    parts.operand = gradient->made;
    parts.number = REMAT_EPILOGUE_RELU_GRADIENT;
  } else {
    return std::nullopt;
  }
  if (numResults == 2) {
    parts.number |= REMAT_EPILOGUE_COLUMN_SUMS;
    parts.summed = maker->getResult(0);
  }
  return parts;
}

/// Whether `mask` is that of a ReLU with this result, in rows as the library
/// has them.
static bool isMaskOf(OpResult mask, OpResult made) {
  Value masked = matchReluMask(mask.getOwner());
  auto type = cast<RankedTensorType>(made.getType());
  auto maskType = cast<RankedTensorType>(mask.getType());
  return masked && getViewRoot(masked) == made &&
         type.getShape().back() % maskedRowElements == 0 &&
         maskType.getShape().back() * maskByteElements ==
             type.getShape().back();
}

/// The product and the epilogue whose results the kernel returns, in their
/// order.
static std::optional<EpilogueParts>
matchKernelEpilogue(FunctionOpInterface kernel) {
  Region &body = kernel.getFunctionBody();
  if (!body.hasOneBlock())
    return std::nullopt;
  SmallVector<OpResult, 2> results;
  for (Value value : body.front().getTerminator()->getOperands()) {
    results.push_back(dyn_cast<OpResult>(getViewRoot(value)));
    if (!results.back())
      return std::nullopt;
  }
  if (results.empty() || results.size() > 2 ||
      results[0].getResultNumber() != 0)
    return std::nullopt;
  Operation *maker = results[0].getOwner();
  std::optional<EpilogueParts> parts;
  bool hasMask = results.size() == 2 && isMaskOf(results[1], results[0]);
  if (auto generic = dyn_cast<linalg::GenericOp>(maker))
    parts = matchParts(generic, hasMask ? 1 : results.size());
  if (hasMask) {
    if (!parts || !(parts->number & REMAT_EPILOGUE_RELU))
      return std::nullopt;
    parts->number |= REMAT_EPILOGUE_MASK;
    return parts;
  }
  bool hasSums = results.size() == 2 && results[1].getOwner() != maker;
  if (!hasSums)
    return results.size() == 1 || (parts && results[1].getResultNumber() == 1)
               ? parts
               : std::nullopt;
  std::optional<ColumnSums> sums = matchColumnSums(results[1].getOwner());
  Type type = getElementTypeOrSelf(results[1].getType());
  if (!sums || getElementTypeOrSelf(results[0].getType()) != type)
    return std::nullopt;
  if (parts)
    return parts->summed && getViewRoot(sums->summed) == parts->summed
               ? parts
               : std::nullopt;
  auto contraction = dyn_cast<linalg::LinalgOp>(maker);
  std::optional<unsigned> factor;
  if (contraction)
    factor = findSummedFactor(contraction, *sums, type);
  if (!factor)
    return std::nullopt;
  return EpilogueParts{contraction, /*operand=*/{}, /*number=*/0,
                       /*summed=*/{}, factor};
}

/// Whether an epilogue has what it reads and makes beside the product without
/// gaps. The input of an activation has the strides of the product.
static bool hasEpilogueRows(const EpilogueParts &parts,
                            ArrayRef<LibraryCall::Operand> operands,
                            const KernelRows &rowsOf, unsigned numResults) {
  constexpr int32_t withInput = REMAT_EPILOGUE_INPUT | REMAT_EPILOGUE_MASK |
                                REMAT_EPILOGUE_GELU_GRADIENT |
                                REMAT_EPILOGUE_RELU_GRADIENT;
  return (!parts.operand || !rowsOf.of(operands.back())) &&
         (numResults == 1 || !rowsOf.ofResult(1)) &&
         (!(parts.number & withInput) || !rowsOf.ofResult(0));
}

/// A product with an epilogue, with results of type `made`.
static LibraryCallRef makeEpilogueCall(const EpilogueParts &parts, Type made,
                                       const KernelRows &rowsOf,
                                       unsigned numResults) {
  linalg::LinalgOp op = parts.product;
  // Columns are the last dimension of the result.
  unsigned first = 1 - findColumnFactor(op);
  SmallVector<LibraryCall::Operand> operands;
  SmallVector<Value> values = {op->getOperand(first),
                               op->getOperand(1 - first)};
  if (parts.operand)
    values.push_back(parts.operand);
  for (Value value : values) {
    std::optional<LibraryCall::Operand> operand = getCallOperand(value);
    if (!operand)
      return {};
    operands.push_back(*operand);
  }
  if (!hasEpilogueRows(parts, operands, rowsOf, numResults))
    return {};
  std::optional<remat_matmul> matmul = describeContraction(op, rowsOf, first);
  if (!matmul)
    return {};
  matmul->epilogue = parts.number;
  if (parts.summedFactor)
    matmul->epilogue = *parts.summedFactor == first ? REMAT_EPILOGUE_A_SUMS
                                                    : REMAT_EPILOGUE_B_SUMS;
  matmul->c_dtype = *getDtype(getElementTypeOrSelf(made));
  if (remat_matmul_workspace_bytes(&*matmul, 1) < 0)
    return {};
  return std::make_shared<MatmulCall>(*matmul, operands, /*isAdded=*/false);
}

/// The call that a kernel on tensors without gaps is.
static LibraryCallRef matchMatmul(FunctionOpInterface kernel,
                                  const KernelRows &rowsOf) {
  if (std::optional<EpilogueParts> parts = matchKernelEpilogue(kernel))
    return makeEpilogueCall(*parts, kernel.getResultTypes().front(), rowsOf,
                            kernel.getNumResults());
  auto op = dyn_cast_or_null<linalg::LinalgOp>(getResultMaker(kernel));
  Value before;
  if (auto sum = dyn_cast_or_null<linalg::GenericOp>(op.getOperation()))
    if (std::optional<AddedContraction> added = matchAddedContraction(sum)) {
      op = added->contraction;
      before = added->before;
    }
  if (!op || op->getNumOperands() != 3 ||
      !linalg::isaContractionOpInterface(op) ||
      !isContractionBody(*op.getBlock()) || !hasLibraryTypes(op))
    return {};
  std::optional<LibraryCall::Operand> lhs = getCallOperand(op->getOperand(0)),
                                      rhs = getCallOperand(op->getOperand(1));
  BlockArgument init = getKernelArgument(before ? before : op->getOperand(2));
  if (before && !init)
    return {};
  if (!lhs || !rhs || (!init && !startsFromZeros(op)))
    return {};
  // What is added to has the strides of the result.
  if (init && rowsOf.of(init.getArgNumber()) != rowsOf.ofResult(0))
    return {};
  std::optional<remat_matmul> matmul = describeContraction(op, rowsOf);
  if (matmul)
    matmul->accumulate = init ? 1 : 0;
  if (!matmul || remat_matmul_workspace_bytes(&*matmul, 1) < 0)
    return {};
  SmallVector<LibraryCall::Operand> operands = {*lhs, *rhs};
  if (init)
    operands.push_back(init.getArgNumber());
  return std::make_shared<MatmulCall>(*matmul, operands,
                                      static_cast<bool>(before));
}

LibraryCallRef remat::codegen::matchMatmul(FunctionOpInterface kernel) {
  if (auto function = dyn_cast<func::FuncOp>(kernel.getOperation()))
    if (std::optional<UnpaddedKernel> unpadded = removePadding(function))
      return ::matchMatmul(*unpadded->function,
                           {unpadded->arguments, unpadded->results});
  return ::matchMatmul(kernel, KernelRows());
}
