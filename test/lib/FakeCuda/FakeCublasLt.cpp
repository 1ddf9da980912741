//===- FakeCublasLt.cpp - products on the stand-in for libcuda ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stand-in for libcublasLt with the few functions that the run time uses, for
// matrices of f32 and f64.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace {

struct Description {
  int compute = 0;
  int transposes[2] = {};
  fakecuda::Epilogue epilogue;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batchCount = 1;
  int64_t batchStride = 0;
};
struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {};
};
struct Choice {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};

int lastComputeType = 0;
fakecuda::Epilogue lastPrepared;

enum : int { notSupported = 15, invalid = 7 };
enum : uint32_t { plain = 1, relu = 2, bias = 4, gelu = 32, auxiliary = 128 };
enum : uint32_t {
  geluGradient = 64 | auxiliary,
  reluGradient = 8 | auxiliary,
  biasGradient = 16,
  sumsOfA = 256,
  sumsOfB = 512
};

/// Where `value` goes of what is described, or null.
void *findAttribute(Description &d, int attribute, size_t bytes) {
  struct {
    int number;
    void *place;
    size_t bytes;
  } known[] = {{3, &d.transposes[0], sizeof(int)},
               {4, &d.transposes[1], sizeof(int)},
               {7, &d.epilogue.kind, sizeof(uint32_t)},
               {8, &d.epilogue.bias, sizeof(void *)},
               {11, &d.epilogue.aux, sizeof(void *)},
               {12, &d.epilogue.auxLeading, sizeof(int64_t)}};
  for (auto &one : known)
    if (one.number == attribute && one.bytes == bytes)
      return one.place;
  return nullptr;
}

/// Whether an epilogue has a bias, or writes the gradient of one.
bool usesBias(uint32_t kind) {
  return (kind & (bias | biasGradient | sumsOfA | sumsOfB)) != 0;
}

/// Whether what is beside the result is the mask of a ReLU.
bool hasMask(uint32_t kind) {
  return (kind & auxiliary) != 0 && (kind & (relu | 8)) != 0;
}

/// Whether the library has the epilogue of such a result. It looks at the
/// addresses for their alignment, and adds up factors that it need not
/// transpose for that.
bool takes(const Description &description, const Layout &result) {
  const fakecuda::Epilogue &epilogue = description.epilogue;
  uint32_t kind = epilogue.kind;
  if ((kind == sumsOfA && description.transposes[0]) ||
      (kind == sumsOfB && !description.transposes[1]))
    return false;
  if (kind == plain)
    return true;
  uint32_t known[] = {bias,
                      relu,
                      relu | bias,
                      gelu,
                      gelu | bias,
                      gelu | auxiliary,
                      gelu | auxiliary | bias,
                      geluGradient,
                      geluGradient | biasGradient,
                      relu | auxiliary,
                      relu | auxiliary | bias,
                      reluGradient,
                      reluGradient | biasGradient,
                      sumsOfA,
                      sumsOfB};
  auto isAligned = [](const void *address) {
    return address && reinterpret_cast<uintptr_t>(address) % 16 == 0;
  };
  bool isKnown =
      std::find(std::begin(known), std::end(known), kind) != std::end(known);
  return isKnown && result.type == 0 && result.batchCount == 1 &&
         (!usesBias(kind) || isAligned(epilogue.bias)) &&
         (!(kind & auxiliary) ||
          (isAligned(epilogue.aux) &&
           epilogue.auxLeading % (hasMask(kind) ? 128 : 8) == 0 &&
           epilogue.auxLeading >= static_cast<int64_t>(result.rows)));
}

/// The workspace that the library asks for to add up columns of our result,
/// which is transposed: what its smallest tiles leave, and counters of tiles.
size_t countNeededBytes(const Description &description, const Layout &result) {
  constexpr uint64_t tile = 32, counter = 16;
  if (!(description.epilogue.kind & biasGradient))
    return 0;
  return result.rows * sizeof(float) * ((result.columns + tile - 1) / tile) +
         (result.rows + tile - 1) / tile * counter + counter - 1;
}

/// The element of the result that the library writes for `sum`.
template <typename T>
T finish(const fakecuda::Epilogue &epilogue, uint64_t row, uint64_t column,
         T sum) {
  if (epilogue.kind & bias)
    sum += static_cast<const T *>(epilogue.bias)[row];
  uint64_t place = row + column * static_cast<uint64_t>(epilogue.auxLeading);
  if (hasMask(epilogue.kind)) {
    auto *mask = static_cast<unsigned char *>(epilogue.aux) + place / 8;
    auto bit = static_cast<unsigned char>(1 << place % 8);
    if ((epilogue.kind & reluGradient) == reluGradient)
      return *mask & bit ? sum : T(0);
    *mask = static_cast<unsigned char>(sum > 0 ? *mask | bit : *mask & ~bit);
    return sum > 0 ? sum : T(0);
  }
  T *input = epilogue.kind & auxiliary ? static_cast<T *>(epilogue.aux) + place
                                       : nullptr;
  double scale = 0.7978845608028654, cubic = 0.044715;
  if ((epilogue.kind & geluGradient) == geluGradient) {
    double x = *input, tanh = std::tanh(scale * (x + cubic * x * x * x));
    return static_cast<T>(
        sum * (0.5 + 0.5 * tanh +
               0.5 * x * (1 - tanh * tanh) * scale * (1 + 3 * cubic * x * x)));
  }
  if (input)
    *input = sum;
  if (epilogue.kind & relu)
    return sum > 0 ? sum : T(0);
  if (epilogue.kind & gelu)
    return static_cast<T>(
        sum * (0.5 + 0.5 * std::tanh(scale * (sum + cubic * sum * sum * sum))));
  return sum;
}

template <typename T>
void multiply(const Description &d, const void *alpha, const T *a,
              const Layout &la, const T *b, const Layout &lb, const void *beta,
              const T *before, T *c, const Layout &lc) {
  T scale, keep;
  std::memcpy(&scale, alpha, sizeof(T));
  std::memcpy(&keep, beta, sizeof(T));
  auto at = [](const Layout &layout, bool isTransposed, uint64_t row,
               uint64_t column) {
    if (isTransposed)
      std::swap(row, column);
    return static_cast<int64_t>(row) +
           static_cast<int64_t>(column) * layout.leading;
  };
  uint64_t terms = d.transposes[0] ? la.rows : la.columns;
  for (int32_t batch = 0; batch < lc.batchCount; ++batch)
    for (uint64_t row = 0; row < lc.rows; ++row)
      for (uint64_t column = 0; column < lc.columns; ++column) {
        T sum = 0;
        for (uint64_t k = 0; k < terms; ++k)
          sum += a[batch * la.batchStride + at(la, d.transposes[0], row, k)] *
                 b[batch * lb.batchStride + at(lb, d.transposes[1], k, column)];
        int64_t place = batch * lc.batchStride + at(lc, false, row, column);
        c[place] =
            finish(d.epilogue, row, column,
                   scale * sum + (keep == 0 ? T(0) : keep * before[place]));
      }
  // The gradient of a bias.
  auto *sums = static_cast<T *>(const_cast<void *>(d.epilogue.bias));
  auto add = [&](uint64_t count, uint64_t length, auto element) {
    for (uint64_t i = 0; i < count; ++i) {
      sums[i] = 0;
      for (uint64_t j = 0; j < length; ++j)
        sums[i] += element(i, j);
    }
  };
  if (d.epilogue.kind & biasGradient)
    add(lc.rows, lc.columns, [&](uint64_t row, uint64_t column) {
      return c[at(lc, false, row, column)];
    });
  if (d.epilogue.kind & sumsOfA)
    add(lc.rows, terms, [&](uint64_t row, uint64_t k) {
      return a[at(la, d.transposes[0], row, k)];
    });
  if (d.epilogue.kind & sumsOfB)
    add(lc.columns, terms, [&](uint64_t column, uint64_t k) {
      return b[at(lb, d.transposes[1], k, column)];
    });
}

} // namespace

int fakecuda::getComputeType() { return lastComputeType; }
fakecuda::Epilogue fakecuda::getPreparedEpilogue() { return lastPrepared; }

fakecuda::LibraryState &fakecuda::getLibrary() {
  static LibraryState state;
  return state;
}

extern "C" {

int cublasLtCreate(void **handle) {
  *handle = new int();
  return 0;
}
int cublasLtDestroy(void *handle) {
  delete static_cast<int *>(handle);
  return 0;
}
int cublasLtMatmulDescCreate(void **description, int compute, int) {
  *description = new Description{compute, {}, {}};
  lastComputeType = compute;
  return 0;
}
int cublasLtMatmulDescDestroy(void *description) {
  delete static_cast<Description *>(description);
  return 0;
}
int cublasLtMatmulDescSetAttribute(void *description, int attribute,
                                   const void *value, size_t bytes) {
  void *place =
      findAttribute(*static_cast<Description *>(description), attribute, bytes);
  if (!place)
    return invalid;
  std::memcpy(place, value, bytes);
  return 0;
}
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows,
                               uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows))
    return invalid;
  *layout = new Layout{type, rows, columns, leading, 1, 0};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void *layout) {
  delete static_cast<Layout *>(layout);
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute,
                                     const void *value, size_t bytes) {
  auto *given = static_cast<Layout *>(layout);
  if (attribute == 5 && bytes == sizeof(int32_t))
    std::memcpy(&given->batchCount, value, bytes);
  else if (attribute == 6 && bytes == sizeof(int64_t))
    std::memcpy(&given->batchStride, value, bytes);
  else
    return invalid;
  return 0;
}
int cublasLtMatmulPreferenceCreate(void **preference) {
  *preference = new Preference();
  return 0;
}
int cublasLtMatmulPreferenceDestroy(void *preference) {
  delete static_cast<Preference *>(preference);
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute,
                                         const void *value, size_t bytes) {
  auto *given = static_cast<Preference *>(preference);
  if (attribute == 1 && bytes == sizeof(uint64_t))
    std::memcpy(&given->workspaceBytes, value, bytes);
  else if (attribute >= 5 && attribute <= 8 && bytes == sizeof(uint32_t))
    std::memcpy(&given->alignments[attribute - 5], value, bytes);
  else
    return invalid;
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void *, void *description, void *a, void *,
                                   void *, void *result, void *preference, int,
                                   Choice *choice, int *count) {
  const auto &given = *static_cast<Preference *>(preference);
  int type = static_cast<Layout *>(a)->type;
  *count = 0;
  for (uint32_t alignment : given.alignments)
    if (alignment < 4)
      return notSupported;
  const auto &described = *static_cast<Description *>(description);
  const auto &first = *static_cast<Layout *>(a);
  const auto &made = *static_cast<Layout *>(result);
  fakecuda::getLibrary().asked.push_back(
      {made.rows, made.columns,
       described.transposes[0] ? first.rows : first.columns});
  lastPrepared = described.epilogue;
  size_t needed = std::max(countNeededBytes(described, made),
                           fakecuda::getLibrary().workspaceBytes);
  if ((type != 0 && type != 1) || !takes(described, made) ||
      needed > given.workspaceBytes)
    return notSupported;
  *choice = {};
  choice->algorithm[0] = fakecuda::getLibrary().algorithm;
  choice->workspaceBytes = needed;
  *count = 1;
  return 0;
}
size_t cublasLtGetVersion() { return fakecuda::getLibrary().version; }
int cublasLtMatmulAlgoCheck(void *, void *, void *, void *, void *, void *,
                            const uint64_t *algorithm, Choice *result) {
  *result = {};
  result->workspaceBytes = fakecuda::getLibrary().workspaceBytes;
  return algorithm[0] <= fakecuda::getLibrary().most ? 0 : notSupported;
}
int cublasLtMatmul(void *, void *description, const void *alpha, const void *a,
                   void *layoutA, const void *b, void *layoutB,
                   const void *beta, const void *before, void *, void *c,
                   void *layoutC, const uint64_t *algorithm, void *workspace,
                   size_t workspaceBytes, void *stream) {
  fakecuda::getLibrary().used.push_back(algorithm[0]);
  Description d = *static_cast<Description *>(description);
  Layout la = *static_cast<Layout *>(layoutA);
  Layout lb = *static_cast<Layout *>(layoutB);
  Layout lc = *static_cast<Layout *>(layoutC);
  double alpha64 = 0, beta64 = 0;
  size_t bytes = la.type == 0 ? sizeof(float) : sizeof(double);
  std::memcpy(&alpha64, alpha, bytes);
  std::memcpy(&beta64, beta, bytes);
  std::vector<const void *> memory = {a, b, c};
  if (beta64 != 0)
    memory.push_back(before);
  if (usesBias(d.epilogue.kind))
    memory.push_back(d.epilogue.bias);
  if (d.epilogue.kind & auxiliary)
    memory.push_back(d.epilogue.aux);
  size_t needed = countNeededBytes(d, lc);
  if (!takes(d, lc) || needed > workspaceBytes)
    return invalid;
  if (needed != 0)
    memory.push_back(workspace);
  fakecuda::enqueue(stream, memory, [=] {
    if (la.type == 0)
      multiply(d, &alpha64, static_cast<const float *>(a), la,
               static_cast<const float *>(b), lb, &beta64,
               static_cast<const float *>(before), static_cast<float *>(c), lc);
    else
      multiply(d, &alpha64, static_cast<const double *>(a), la,
               static_cast<const double *>(b), lb, &beta64,
               static_cast<const double *>(before), static_cast<double *>(c),
               lc);
  });
  return 0;
}

} // extern "C"
