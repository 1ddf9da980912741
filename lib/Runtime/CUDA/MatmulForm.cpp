//===- MatmulForm.cpp - matmuls as cuBLASLt takes them --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulForm.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>

using namespace remat::cuda;

namespace {

struct Dim {
  int64_t extent, stride;
};

/// Whether neighbouring elements of `inner` are neighbours, and those of
/// `outer` far enough apart.
bool hasColumns(Dim inner, Dim outer, int64_t &leading) {
  if (inner.extent > 1 && inner.stride != 1)
    return false;
  leading = std::max<int64_t>(inner.extent, 1);
  if (outer.extent <= 1)
    return true;
  if (outer.stride < leading)
    return false;
  leading = outer.stride;
  return true;
}

bool findMatrix(Dim rows, Dim columns, MatmulForm::Matrix &matrix) {
  matrix.isTransposed = !hasColumns(rows, columns, matrix.leading);
  return !matrix.isTransposed || hasColumns(columns, rows, matrix.leading);
}

bool hasTypes(const remat_matmul &m) {
  if (m.a_dtype != m.b_dtype)
    return false;
  if (m.a_dtype == REMAT_F32 || m.a_dtype == REMAT_F64)
    return m.c_dtype == m.a_dtype;
  return (m.a_dtype == REMAT_F16 || m.a_dtype == REMAT_BF16) &&
         (m.c_dtype == m.a_dtype || m.c_dtype == REMAT_F32);
}

/// Whether the library has the epilogue: in f32, of one product whose bias is
/// along neighbouring elements. Rows of the input of an activation begin at
/// multiples of 8 elements, those of a mask at multiples of 128 bits. A factor
/// is added up across neighbouring elements. For sums of A, cuBLASLt 13.1 has
/// no algorithm if there is one row or one term, and adds up f16 wrongly if
/// there is one column.
bool hasEpilogue(const remat_matmul &m, const MatmulForm &form) {
  bool hasInput =
      (m.epilogue & (REMAT_EPILOGUE_INPUT | REMAT_EPILOGUE_GELU_GRADIENT)) != 0;
  bool isAcross =
      (!(m.epilogue & REMAT_EPILOGUE_A_SUMS) || m.a_m_stride == 1) &&
      (!(m.epilogue & REMAT_EPILOGUE_B_SUMS) || m.b_n_stride == 1 || m.n == 1);
  bool isSummed =
      !(m.epilogue & REMAT_EPILOGUE_A_SUMS) || (m.m > 1 && m.n > 1 && m.k > 1);
  bool hasMask =
      (m.epilogue & (REMAT_EPILOGUE_MASK | REMAT_EPILOGUE_RELU_GRADIENT)) != 0;
  return m.c_dtype != REMAT_F64 && form.isSwapped && m.batch[0] == 1 &&
         m.batch[1] == 1 && m.batch[2] == 1 && isAcross && isSummed &&
         (!hasInput || form.result.leading % 8 == 0) &&
         (!hasMask || m.n % 128 == 0);
}

} // namespace

bool remat::cuda::findMatmulForm(const remat_matmul &m, MatmulForm &form) {
  bool isEmpty = m.m == 0 || m.n == 0 || m.k == 0 || m.batch[0] == 0 ||
                 m.batch[1] == 0 || m.batch[2] == 0;
  if (isEmpty || !hasTypes(m))
    return false;
  Dim aRows = {m.m, m.a_m_stride}, aColumns = {m.k, m.a_k_stride};
  Dim bRows = {m.k, m.b_k_stride}, bColumns = {m.n, m.b_n_stride};
  Dim rows = {m.m, m.c_m_stride}, columns = {m.n, m.c_n_stride};
  // Of a result with one row or column, either may be swapped.
  form.isSwapped = hasColumns(columns, rows, form.result.leading);
  if (!form.isSwapped && !hasColumns(rows, columns, form.result.leading))
    return false;
  if (m.epilogue != 0 && !hasEpilogue(m, form))
    return false;
  form.rows = form.isSwapped ? m.n : m.m;
  form.columns = form.isSwapped ? m.m : m.n;
  form.batchDim = 0;
  for (int i = 1; i < 3; ++i)
    if (m.batch[i] > m.batch[form.batchDim])
      form.batchDim = i;
  return form.isSwapped ? findMatrix(bColumns, bRows, form.lhs) &&
                              findMatrix(aColumns, aRows, form.rhs)
                        : findMatrix(aRows, aColumns, form.lhs) &&
                              findMatrix(bRows, bColumns, form.rhs);
}

int remat_matmul_suits_cuda(const remat_matmul *matmul) {
  MatmulForm form;
  return matmul && findMatmulForm(*matmul, form);
}
