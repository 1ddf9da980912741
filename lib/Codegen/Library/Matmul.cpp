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

namespace {

class MatmulCall : public LibraryCall {
public:
  /// `isAdded` is whether the kernel adds a contraction to something.
  MatmulCall(const remat_matmul &matmul, ArrayRef<unsigned> arguments,
             bool isAdded)
      : matmul(matmul), isAdded(isAdded) {
    operands.assign(arguments.begin(), arguments.end());
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
  /// in a wider type, as the library does.
  bool mayBeGenerated() const override {
    return matmul.a_dtype == matmul.c_dtype &&
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
    if (countFlops() <= LibraryTuning::maxTinyFlops)
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

static std::optional<remat_matmul> describeContraction(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<RankedTensorType> types;
  for (Value operand : op->getOperands())
    types.push_back(dyn_cast<RankedTensorType>(operand.getType()));
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  MatmulDims batch, rows, columns, sums;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    MatmulDim merged{size, {}};
    bool in[3];
    for (unsigned i = 0; i < 3; ++i) {
      in[i] = maps[i].isFunctionOfDim(dim);
      merged.strides[i] = getLoopStride(maps[i], types[i], dim);
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

/// The epilogue whose results the kernel returns, in their order.
static std::optional<Epilogue> matchKernelEpilogue(FunctionOpInterface kernel) {
  Region &body = kernel.getFunctionBody();
  if (!body.hasOneBlock())
    return std::nullopt;
  Operation *terminator = body.front().getTerminator();
  linalg::GenericOp maker;
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    auto result = dyn_cast<OpResult>(getViewRoot(value));
    auto generic = result ? dyn_cast<linalg::GenericOp>(result.getOwner())
                          : linalg::GenericOp();
    if (!generic || (maker && maker != generic) ||
        result.getResultNumber() != number)
      return std::nullopt;
    maker = generic;
  }
  if (!maker || terminator->getNumOperands() != maker->getNumResults())
    return std::nullopt;
  return matchEpilogue(maker);
}

/// The library's number of an epilogue.
static int32_t getNumber(const Epilogue &epilogue) {
  int32_t number = REMAT_EPILOGUE_BIAS;
  if (epilogue.activation == Activation::Relu)
    number |= REMAT_EPILOGUE_RELU;
  if (epilogue.activation == Activation::Gelu)
    number |= REMAT_EPILOGUE_GELU;
  return epilogue.keepsSum ? number | REMAT_EPILOGUE_INPUT : number;
}

/// A product with an epilogue, both of arguments.
static LibraryCallRef makeEpilogueCall(FunctionOpInterface kernel,
                                       Epilogue epilogue) {
  linalg::LinalgOp op = epilogue.contraction;
  SmallVector<unsigned> arguments;
  for (Value value : {op->getOperand(0), op->getOperand(1), epilogue.bias}) {
    BlockArgument argument = getKernelArgument(value);
    if (!argument)
      return {};
    arguments.push_back(argument.getArgNumber());
  }
  std::optional<remat_matmul> matmul = describeContraction(op);
  if (!matmul)
    return {};
  matmul->c_dtype = *getDtype(
      cast<RankedTensorType>(epilogue.bias.getType()).getElementType());
  matmul->epilogue = getNumber(epilogue);
  if (remat_matmul_workspace_bytes(&*matmul, 1) < 0)
    return {};
  return std::make_shared<MatmulCall>(*matmul, arguments, /*isAdded=*/false);
}

LibraryCallRef remat::codegen::matchMatmul(FunctionOpInterface kernel) {
  if (std::optional<Epilogue> epilogue = matchKernelEpilogue(kernel))
    return makeEpilogueCall(kernel, *epilogue);
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
  BlockArgument lhs = getKernelArgument(op->getOperand(0));
  BlockArgument rhs = getKernelArgument(op->getOperand(1));
  BlockArgument init = getKernelArgument(before ? before : op->getOperand(2));
  if (before && !init)
    return {};
  if (!lhs || !rhs || (!init && !startsFromZeros(op)))
    return {};
  std::optional<remat_matmul> matmul = describeContraction(op);
  if (matmul)
    matmul->accumulate = init ? 1 : 0;
  if (!matmul || remat_matmul_workspace_bytes(&*matmul, 1) < 0)
    return {};
  SmallVector<unsigned> arguments = {lhs.getArgNumber(), rhs.getArgNumber()};
  if (init)
    arguments.push_back(init.getArgNumber());
  return std::make_shared<MatmulCall>(*matmul, arguments,
                                      static_cast<bool>(before));
}
