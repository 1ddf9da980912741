//===- Matmul.cpp - matmuls by oneDNN -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings a remat_matmul into a form that oneDNN's brgemm takes as it is,
// without copies: batch dims that are one dim in memory are merged, those that
// only one operand has become rows or columns, and a column-major result is
// computed as the transposed matmul.
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"
#include "OneDnn.h"
#include "Threads.h"
#include "Tuning.h"

#include <algorithm>

using namespace remat;

namespace {

/// A batch dim: its extent and the three strides.
struct BatchDim {
  int64_t extent, a, b, c;
};

/// A matmul with as few batch dims as its strides allow.
struct Matmul {
  explicit Matmul(const remat_matmul &d)
      : aType(d.a_dtype), bType(d.b_dtype), cType(d.c_dtype), m(d.m), n(d.n),
        k(d.k), aRow(d.a_m_stride), aColumn(d.a_k_stride), bRow(d.b_k_stride),
        bColumn(d.b_n_stride), cRow(d.c_m_stride), cColumn(d.c_n_stride) {
    for (int i = 0; i < 3; ++i)
      if (d.batch[i] != 1)
        batch.push_back({d.batch[i], d.a_batch_stride[i], d.b_batch_stride[i],
                         d.c_batch_stride[i]});
  }

  /// C^T = B^T A^T.
  void transpose() {
    swapped = !swapped;
    std::swap(aType, bType);
    std::swap(m, n);
    std::swap(aRow, bColumn);
    std::swap(aColumn, bRow);
    std::swap(cRow, cColumn);
    for (BatchDim &dim : batch)
      std::swap(dim.a, dim.b);
  }

  /// Makes rows of the batch dims that B does not have.
  void foldRows() {
    for (auto dim = batch.begin(); dim != batch.end();) {
      bool outer = m == 1 || (dim->a == m * aRow && dim->c == m * cRow);
      bool inner = aRow == dim->extent * dim->a && cRow == dim->extent * dim->c;
      if (dim->b != 0 || !(outer || inner)) {
        ++dim;
        continue;
      }
      if (m == 1 || !outer) {
        aRow = dim->a;
        cRow = dim->c;
      }
      m *= dim->extent;
      batch.erase(dim);
      dim = batch.begin(); // others may fit now
    }
  }

  /// Merges batch dims that are one in all three operands.
  void mergeBatch() {
    for (size_t i = 0; i < batch.size(); ++i)
      for (size_t j = 0; j < batch.size(); ++j) {
        BatchDim &outer = batch[i], &inner = batch[j];
        if (i == j || outer.a != inner.extent * inner.a ||
            outer.b != inner.extent * inner.b ||
            outer.c != inner.extent * inner.c)
          continue;
        inner.extent *= outer.extent;
        batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(i));
        return mergeBatch();
      }
  }

  void simplify() {
    foldRows();
    transpose();
    foldRows();
    transpose();
    mergeBatch();
    if (cColumn != 1 && n != 1 && (cRow == 1 || m == 1))
      transpose();
  }

  int32_t aType, bType, cType;
  int64_t m, n, k;
  int64_t aRow, aColumn, bRow, bColumn, cRow, cColumn;
  bool swapped = false; // A is the call's operand 1, B its operand 0
  std::vector<BatchDim> batch;
};

/// Describes a stack of matrices. Strides of extents 1 mean nothing; they are
/// set to what a dense matrix has, since some kernels look at them.
bool describeMatrix(dnnl_memory_desc_t &md, int32_t dtype,
                    const std::vector<BatchDim> &batch,
                    int64_t BatchDim::*batchStride, int64_t rows,
                    int64_t columns, int64_t rowStride, int64_t columnStride) {
  if (columns == 1)
    columnStride = 1;
  if (rows == 1)
    rowStride = columnStride == 1 ? columns : 1;
  std::vector<int64_t> dims, strides;
  int64_t dense = std::max(rows * rowStride, columns * columnStride);
  for (const BatchDim &dim : batch) {
    int64_t stride = dim.*batchStride;
    dims.push_back(stride == 0 ? 1 : dim.extent); // broadcast
    strides.push_back(stride == 0 ? dense : stride);
  }
  dims.insert(dims.end(), {rows, columns});
  strides.insert(strides.end(), {rowStride, columnStride});
  // The kernels count these in an int.
  if (std::max(rowStride, columnStride) > INT32_MAX)
    return false;
  // oneDNN has no broadcast rows or columns.
  if ((rows > 1 && rowStride == 0) || (columns > 1 && columnStride == 0))
    return false;
  return describe(md, dtype, dims, strides);
}

/// Describes a bias of the columns of a result, or none. False where oneDNN
/// does not add it.
bool describeBias(dnnl_memory_desc_t &md, const remat_matmul &descriptor,
                  const Matmul &p) {
  md = dnnl_memory_desc_t();
  if (descriptor.epilogue == 0)
    return true;
  return descriptor.epilogue == REMAT_EPILOGUE_BIAS && !descriptor.accumulate &&
         !p.swapped && p.batch.empty() &&
         describe(md, p.cType, {1, p.n}, {p.n, 1});
}

/// Whether the rows of B share so few sets of the first cache that they push
/// each other out. With AVX-512, oneDNN reads B in f32 where it is, unless its
/// columns are a power of two, and takes up to twice as long then.
bool hasCollidingRows(const Matmul &p) {
  bool isCopied = (p.n & (p.n - 1)) == 0;
  return p.bType == REMAT_F32 && p.bColumn == 1 && !isCopied &&
         p.bRow >= MatmulTuning::leastCollidingRow &&
         p.bRow % MatmulTuning::collidingRow == 0;
}

std::unique_ptr<LibraryCall> prepareDnnl(const remat_matmul &descriptor,
                                         int threads) {
  Matmul p(descriptor);
  p.simplify();
  if (hasCollidingRows(p))
    return nullptr;
  dnnl_memory_desc_t a, b, c, bias;
  if (!dnnlEngine() || !describeBias(bias, descriptor, p) ||
      !describeMatrix(a, p.aType, p.batch, &BatchDim::a, p.m, p.k, p.aRow,
                      p.aColumn) ||
      !describeMatrix(b, p.bType, p.batch, &BatchDim::b, p.k, p.n, p.bRow,
                      p.bColumn) ||
      !describeMatrix(c, p.cType, p.batch, &BatchDim::c, p.m, p.n, p.cRow,
                      p.cColumn))
    return nullptr;
  dnnl_matmul_desc_t operation;
  DnnlHandle<dnnl_primitive_attr> attributes =
      makeAttributes(descriptor.accumulate);
  if (!attributes ||
      dnnl_matmul_desc_init(&operation, &a, &b,
                            descriptor.epilogue ? &bias : nullptr,
                            &c) != dnnl_success)
    return nullptr;
  ThreadScope scope(threads);
  PrimitiveDesc desc = pickPrimitive(&operation, attributes.get(), nullptr);
  // A "gemm" allocates memory while it runs, which no plan has counted.
  if (!desc || implementationOf(desc.get()).find("gemm") != std::string::npos)
    return nullptr;
  auto call = std::make_unique<DnnlCall>();
  call->threads = threads;
  call->implementation = implementationOf(desc.get());
  int first =
      call->addMemory(a, p.swapped ? DnnlCall::Operand1 : DnnlCall::Operand0);
  int second =
      call->addMemory(b, p.swapped ? DnnlCall::Operand0 : DnnlCall::Operand1);
  int result = call->addMemory(c, DnnlCall::Result);
  std::vector<std::pair<int, int>> arguments = {{DNNL_ARG_SRC, first},
                                                {DNNL_ARG_WEIGHTS, second},
                                                {DNNL_ARG_DST, result}};
  if (descriptor.epilogue)
    arguments.emplace_back(DNNL_ARG_BIAS,
                           call->addMemory(bias, DnnlCall::Operand2));
  for (auto [argument, memory] : arguments)
    if (memory < 0)
      return nullptr;
  if (!call->addPrimitive(desc.get(), arguments) || !call->finish())
    return nullptr;
  return call;
}

} // namespace

std::unique_ptr<LibraryCall>
remat::prepareMatmul(const remat_matmul &descriptor, int threads) {
  double work =
      double(descriptor.m) * double(descriptor.n) * double(descriptor.k);
  for (int64_t extent : descriptor.batch)
    work *= double(extent);
  threads = usefulThreads(threads, work);
  if (work != 0)
    if (std::unique_ptr<LibraryCall> call =
            prepareLongMatmul(descriptor, threads))
      return call;
  if (work != 0 && !usesMatrixUnit(descriptor))
    if (std::unique_ptr<LibraryCall> call = prepareDnnl(descriptor, threads))
      return call;
  return prepareTiledMatmul(descriptor, threads);
}
