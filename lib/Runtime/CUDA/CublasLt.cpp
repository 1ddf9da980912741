//===- CublasLt.cpp - matmuls by cuBLASLt ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few functions that are needed are declared here and found in the library
// when a step with matmuls is loaded. Numbers are those of its interface.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"
#include "MatmulParts.h"

#include "../Descriptors.h"

#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <dlfcn.h>
#include <type_traits>
#include <utility>

using namespace remat::cuda;

namespace {

using Status = int;
using Handle = void *;

/// What the library calls its choice; opaque.
struct Algorithm {
  uint64_t data[8];
};
struct Choice {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status status;
  float waves;
  int reserved[4];
};

enum : int { typeF32 = 0, typeF64 = 1, typeF16 = 2, typeBF16 = 14 };
enum : int { computeF32 = 68, computeF64 = 70, computeTf32 = 77 };
enum : int {
  descTransA = 3,
  descTransB = 4,
  descEpilogue = 7,
  descBias = 8,
  descAux = 11,
  descAuxLeading = 12
};
enum : uint32_t { epilogueRelu = 2, epilogueBias = 4, epilogueGelu = 32 };
/// The gradients of a GELU and of a ReLU, and that of a bias beside them.
enum : uint32_t {
  epilogueGeluGradient = 64,
  epilogueReluGradient = 8,
  epilogueBiasGradient = 16
};
/// The input of a GELU or the mask of a ReLU is written as well or, for the
/// gradient, read.
enum : uint32_t { epilogueAux = 128 };
/// The gradient of a bias, of the library's first or second factor.
enum : uint32_t { epilogueLhsSums = 256, epilogueRhsSums = 512 };
enum : int { layoutBatchCount = 5, layoutBatchStride = 6 };
enum : int { preferWorkspace = 1, preferAlignmentA = 5 };

#define REMAT_CUBLASLT_FUNCTIONS(F)                                            \
  F(Create, (Handle *))                                                        \
  F(Destroy, (Handle))                                                         \
  F(MatmulDescCreate, (Handle *, int, int))                                    \
  F(MatmulDescDestroy, (Handle))                                               \
  F(MatmulDescSetAttribute, (Handle, int, const void *, size_t))               \
  F(MatrixLayoutCreate, (Handle *, int, uint64_t, uint64_t, int64_t))          \
  F(MatrixLayoutDestroy, (Handle))                                             \
  F(MatrixLayoutSetAttribute, (Handle, int, const void *, size_t))             \
  F(MatmulPreferenceCreate, (Handle *))                                        \
  F(MatmulPreferenceDestroy, (Handle))                                         \
  F(MatmulPreferenceSetAttribute, (Handle, int, const void *, size_t))         \
  F(MatmulAlgoGetHeuristic, (Handle, Handle, Handle, Handle, Handle, Handle,   \
                             Handle, int, Choice *, int *))                    \
  F(MatmulAlgoCheck, (Handle, Handle, Handle, Handle, Handle, Handle,          \
                      const Algorithm *, Choice *))                            \
  F(Matmul, (Handle, Handle, const void *, const void *, Handle, const void *, \
             Handle, const void *, const void *, Handle, void *, Handle,       \
             const Algorithm *, void *, size_t, Stream))

struct Functions {
#define REMAT_CUBLASLT_MEMBER(name, parameters) Status(*name) parameters;
  REMAT_CUBLASLT_FUNCTIONS(REMAT_CUBLASLT_MEMBER)
#undef REMAT_CUBLASLT_MEMBER
  size_t (*GetVersion)();
};

/// An object of the library that is destroyed with this one.
class Object {
public:
  Object() = default;
  Object(Object &&other) noexcept
      : handle(other.handle), destroy(other.destroy) {
    other.handle = nullptr;
  }
  ~Object() {
    if (handle)
      destroy(handle);
  }
  Handle *set(Status (*function)(Handle)) {
    destroy = function;
    return &handle;
  }
  Handle get() const { return handle; }

private:
  Handle handle = nullptr;
  Status (*destroy)(Handle) = nullptr;
};

class Matmul : public PreparedMatmul {
public:
  Matmul(const Functions &lib, Handle handle, const remat_matmul &matmul)
      : lib(lib), handle(handle), matmul(matmul) {}
  bool prepare(const MatmulLimits &limits, std::string &error);
  MatmulAlgorithm getAlgorithm() const override;
  bool run(const MatmulBuffers &buffers, Stream stream,
           std::string &error) const override;

private:
  bool describeEpilogue();
  /// Says where a bias and the input or mask of an activation are, or, before
  /// that is known, an address of the same alignment.
  bool setPointers(const void *bias, const void *input) const;
  bool createLayout(Object &layout, int32_t dtype, int64_t rows,
                    int64_t columns, const MatmulForm::Matrix &matrix,
                    const int64_t *batchStrides) const;
  struct Layouts {
    Object lhs, rhs, result;
  };
  bool createLayouts(const MatmulForm &extents, int64_t terms,
                     Layouts &layouts) const;
  bool ask(const Layouts &layouts, const Object &preference, int most,
           Choice *choices, int &count, Status &status) const;
  Status check(const Algorithm &algorithm, Choice &found) const;
  bool chooseByRoundedExtents(const MatmulLimits &limits,
                              const Object &preference);
  bool choose(const MatmulLimits &limits, std::string &error);
  bool take(const MatmulAlgorithm &stored, uint64_t workspaceBytes,
            std::string &error);

  const Functions &lib;
  Handle handle;
  remat_matmul matmul;
  MatmulForm form;
  Object description;
  Layouts layouts;
  Choice choice = {};
  /// What entries share in the place of workspaces of their own.
  void *workspace = nullptr;
};

class Library : public MatmulLibrary {
public:
  ~Library() override {
    if (handle)
      lib.Destroy(handle);
  }
  bool load(std::string &error);
  uint64_t getVersion() const override { return lib.GetVersion(); }
  std::unique_ptr<PreparedMatmul> prepare(const remat_matmul &matmul,
                                          const MatmulLimits &limits,
                                          std::string &error) override {
    auto prepared = std::make_unique<Matmul>(lib, handle, matmul);
    if (!prepared->prepare(limits, error))
      return nullptr;
    return prepared;
  }

private:
  Functions lib = {};
  Handle handle = nullptr;
};

int getType(int32_t dtype) {
  switch (dtype) {
  case REMAT_F64:
    return typeF64;
  case REMAT_F16:
    return typeF16;
  case REMAT_BF16:
    return typeBF16;
  default:
    return typeF32;
  }
}

/// What is said of an epilogue in messages.
std::string describe(int32_t epilogue) {
  const std::pair<int32_t, const char *> parts[] = {
      {REMAT_EPILOGUE_BIAS, "a bias"},
      {REMAT_EPILOGUE_RELU, "a ReLU"},
      {REMAT_EPILOGUE_GELU, "a GELU"},
      {REMAT_EPILOGUE_GELU_GRADIENT, "the gradient of a GELU"},
      {REMAT_EPILOGUE_RELU_GRADIENT, "the gradient of a ReLU"},
      {REMAT_EPILOGUE_COLUMN_SUMS, "the sums of its columns"},
      {REMAT_EPILOGUE_A_SUMS, "the sums of its first factor"},
      {REMAT_EPILOGUE_B_SUMS, "the sums of its second factor"}};
  std::string text;
  for (auto [bit, part] : parts)
    if (epilogue & bit)
      text += (text.empty() ? " with " : " and ") + std::string(part);
  if (epilogue & REMAT_EPILOGUE_MASK)
    return text + " whose mask is kept";
  return epilogue & REMAT_EPILOGUE_INPUT ? text + " whose input is kept" : text;
}

} // namespace

bool Library::load(std::string &error) {
  void *library = nullptr;
  for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    // It stays: its kernels are in the context.
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library)
      break;
  }
  if (!library) {
    error = "the step has matmuls, and there is no cuBLASLt: neither "
            "libcublasLt.so.13 nor libcublasLt.so.12 can be loaded";
    return false;
  }
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function)
      error = std::string("cuBLASLt has no function '") + symbol + "'";
    return function != nullptr;
  };
#define REMAT_CUBLASLT_FIND(name, parameters)                                  \
  if (!find(lib.name, "cublasLt" #name))                                       \
    return false;
  REMAT_CUBLASLT_FUNCTIONS(REMAT_CUBLASLT_FIND)
#undef REMAT_CUBLASLT_FIND
  if (!find(lib.GetVersion, "cublasLtGetVersion"))
    return false;
  if (Status status = lib.Create(&handle)) {
    handle = nullptr;
    error = "cuBLASLt cannot be initialized: status " + std::to_string(status);
    return false;
  }
  return true;
}

std::unique_ptr<MatmulLibrary> MatmulLibrary::load(std::string &error) {
  auto library = std::make_unique<Library>();
  if (!library->load(error))
    return nullptr;
  return library;
}

bool Matmul::createLayout(Object &layout, int32_t dtype, int64_t rows,
                          int64_t columns, const MatmulForm::Matrix &matrix,
                          const int64_t *batchStrides) const {
  if (matrix.isTransposed)
    std::swap(rows, columns);
  const int64_t batchStride = batchStrides[form.batchDim];
  int32_t count = static_cast<int32_t>(matmul.batch[form.batchDim]);
  return lib.MatrixLayoutCreate(layout.set(lib.MatrixLayoutDestroy),
                                getType(dtype), static_cast<uint64_t>(rows),
                                static_cast<uint64_t>(columns),
                                matrix.leading) == 0 &&
         lib.MatrixLayoutSetAttribute(layout.get(), layoutBatchCount, &count,
                                      sizeof(count)) == 0 &&
         lib.MatrixLayoutSetAttribute(layout.get(), layoutBatchStride,
                                      &batchStride, sizeof(batchStride)) == 0;
}

/// Describes matrices where they are, with these extents.
bool Matmul::createLayouts(const MatmulForm &extents, int64_t terms,
                           Layouts &made) const {
  const int64_t *a = matmul.a_batch_stride, *b = matmul.b_batch_stride;
  return createLayout(made.lhs, matmul.a_dtype, extents.rows, terms, form.lhs,
                      form.isSwapped ? b : a) &&
         createLayout(made.rhs, matmul.b_dtype, terms, extents.columns,
                      form.rhs, form.isSwapped ? a : b) &&
         createLayout(made.result, matmul.c_dtype, extents.rows,
                      extents.columns, form.result, matmul.c_batch_stride);
}

/// The library's first choices for matrices with these layouts; whether there
/// are any.
bool Matmul::ask(const Layouts &of, const Object &preference, int most,
                 Choice *choices, int &count, Status &status) const {
  count = 0;
  status = lib.MatmulAlgoGetHeuristic(
      handle, description.get(), of.lhs.get(), of.rhs.get(), of.result.get(),
      of.result.get(), preference.get(), most, choices, &count);
  return status == 0 && count > 0;
}

/// Whether the library takes an algorithm, and what it needs.
Status Matmul::check(const Algorithm &algorithm, Choice &found) const {
  return lib.MatmulAlgoCheck(handle, description.get(), layouts.lhs.get(),
                             layouts.rhs.get(), layouts.result.get(),
                             layouts.result.get(), &algorithm, &found);
}

MatmulAlgorithm Matmul::getAlgorithm() const {
  MatmulAlgorithm algorithm = {};
  std::copy(std::begin(choice.algorithm.data), std::end(choice.algorithm.data),
            algorithm.data);
  algorithm.workspaceBytes = choice.workspaceBytes;
  return algorithm;
}

/// What was chosen before, if the library takes it for this description. What
/// it says of the workspace is no more than what the algorithm can use: one
/// that was proposed for less does with that.
bool Matmul::take(const MatmulAlgorithm &stored, uint64_t workspaceBytes,
                  std::string &error) {
  Algorithm algorithm;
  std::copy(std::begin(stored.data), std::end(stored.data), algorithm.data);
  Status status = check(algorithm, choice);
  uint64_t needed = stored.workspaceBytes;
  bool isTaken = status == 0 && choice.status == 0 && needed <= workspaceBytes;
  choice.algorithm = algorithm;
  choice.workspaceBytes = needed;
  if (!isTaken)
    error = "cuBLASLt does not take the stored algorithm of a matmul of " +
            std::to_string(matmul.m) + " x " + std::to_string(matmul.k) +
            " by " + std::to_string(matmul.k) + " x " +
            std::to_string(matmul.n) + " elements with " +
            std::to_string(workspaceBytes) +
            " bytes of workspace, of which it needs " + std::to_string(needed) +
            " (status " + std::to_string(status) + ")";
  return isTaken;
}

bool Matmul::describeEpilogue() {
  if (matmul.epilogue == 0)
    return true;
  uint32_t sumsOfA = form.isSwapped ? epilogueRhsSums : epilogueLhsSums;
  uint32_t sumsOfB = form.isSwapped ? epilogueLhsSums : epilogueRhsSums;
  const std::pair<int32_t, uint32_t> parts[] = {
      {REMAT_EPILOGUE_BIAS, epilogueBias},
      {REMAT_EPILOGUE_RELU, epilogueRelu},
      {REMAT_EPILOGUE_GELU, epilogueGelu},
      {REMAT_EPILOGUE_INPUT, epilogueAux},
      {REMAT_EPILOGUE_MASK, epilogueAux},
      {REMAT_EPILOGUE_GELU_GRADIENT, epilogueGeluGradient | epilogueAux},
      {REMAT_EPILOGUE_RELU_GRADIENT, epilogueReluGradient | epilogueAux},
      {REMAT_EPILOGUE_COLUMN_SUMS, epilogueBiasGradient},
      {REMAT_EPILOGUE_A_SUMS, sumsOfA},
      {REMAT_EPILOGUE_B_SUMS, sumsOfB}};
  uint32_t epilogue = 0;
  for (auto [bit, number] : parts)
    if (matmul.epilogue & bit)
      epilogue |= number;
  // Sums and inputs have the type of C, as nothing else is said. The columns of
  // a mask, which are our rows, are counted in bits.
  const int64_t leading =
      remat::MatmulExtras(matmul).isMask ? matmul.n : form.result.leading;
  return lib.MatmulDescSetAttribute(description.get(), descEpilogue, &epilogue,
                                    sizeof(epilogue)) == 0 &&
         (!(epilogue & epilogueAux) ||
          lib.MatmulDescSetAttribute(description.get(), descAuxLeading,
                                     &leading, sizeof(leading)) == 0);
}

bool Matmul::setPointers(const void *bias, const void *input) const {
  remat::MatmulExtras extras(matmul);
  return (!(extras.readsBias || extras.writesSums) ||
          lib.MatmulDescSetAttribute(description.get(), descBias, &bias,
                                     sizeof(bias)) == 0) &&
         (!(extras.readsInput || extras.writesInput) ||
          lib.MatmulDescSetAttribute(description.get(), descAux, &input,
                                     sizeof(input)) == 0);
}

/// The first choice for matrices whose lines are longer, up to a multiple of 16
/// bytes, that the library takes for those that there are. Its kernels that are
/// several times as fast read lines of any length, if these begin at multiples
/// of 16 bytes; it does not propose them where lengths are none. It refuses
/// them only where lines of the result are.
bool Matmul::chooseByRoundedExtents(const MatmulLimits &limits,
                                    const Object &preference) {
  const int64_t granule = getMatmulGranule(matmul, limits.allowsTf32);
  if (granule == 0)
    return false;
  auto isMultiple = [&](int64_t value) { return value % granule == 0; };
  const int dim = form.batchDim;
  bool haveMatrices =
      matmul.batch[dim] <= 1 || (isMultiple(matmul.a_batch_stride[dim]) &&
                                 isMultiple(matmul.b_batch_stride[dim]) &&
                                 isMultiple(matmul.c_batch_stride[dim]));
  if (!haveMatrices || !isMultiple(form.lhs.leading) ||
      !isMultiple(form.rhs.leading) || !isMultiple(form.result.leading) ||
      !isMultiple(form.rows))
    return false;
  auto round = [&](int64_t value) {
    return (value + granule - 1) / granule * granule;
  };
  MatmulForm extents = form;
  int64_t terms = matmul.k;
  if (form.lhs.isTransposed || !form.rhs.isTransposed)
    terms = round(terms);
  if (form.rhs.isTransposed)
    extents.columns = round(extents.columns);
  if (terms == matmul.k && extents.columns == form.columns)
    return false;
  constexpr int most = 8;
  Choice choices[most];
  Layouts rounded;
  int count = 0;
  Status status = 0;
  if (!createLayouts(extents, terms, rounded) ||
      !ask(rounded, preference, most, choices, count, status))
    return false;
  for (int i = 0; i < count; ++i) {
    Choice found = {};
    if (choices[i].status != 0 ||
        choices[i].workspaceBytes > limits.workspaceBytes ||
        check(choices[i].algorithm, found) != 0 || found.status != 0)
      continue;
    choice = choices[i];
    return true;
  }
  return false;
}

/// The library's first choice under the limits.
bool Matmul::choose(const MatmulLimits &limits, std::string &error) {
  Object preference;
  bool isSet =
      lib.MatmulPreferenceCreate(preference.set(lib.MatmulPreferenceDestroy)) ==
          0 &&
      lib.MatmulPreferenceSetAttribute(preference.get(), preferWorkspace,
                                       &limits.workspaceBytes,
                                       sizeof(limits.workspaceBytes)) == 0;
  const uint32_t *given = limits.alignments;
  const uint32_t alignments[4] = {given[form.isSwapped ? 1 : 0],
                                  given[form.isSwapped ? 0 : 1],
                                  std::min(given[2], given[5]), given[2]};
  for (int i = 0; i < 4; ++i)
    isSet = isSet && lib.MatmulPreferenceSetAttribute(
                         preference.get(), preferAlignmentA + i, &alignments[i],
                         sizeof(alignments[i])) == 0;
  if (isSet && chooseByRoundedExtents(limits, preference))
    return true;
  int count = 0;
  Status status = 1;
  if (isSet && ask(layouts, preference, 1, &choice, count, status) &&
      choice.status == 0)
    return true;
  error = std::string("cuBLASLt has no algorithm for a matmul") +
          describe(matmul.epilogue) + " of " + std::to_string(matmul.m) +
          " x " + std::to_string(matmul.k) + " by " + std::to_string(matmul.k) +
          " x " + std::to_string(matmul.n) + " elements of type '" +
          remat_dtype_name(matmul.a_dtype) + "' with " +
          std::to_string(limits.workspaceBytes) +
          " bytes of workspace (status " + std::to_string(status) + ")";
  return false;
}

bool Matmul::prepare(const MatmulLimits &limits, std::string &error) {
  if (!findMatmulForm(matmul, form)) {
    error = "cuBLASLt does not take a matmul with these strides or types";
    return false;
  }
  workspace = limits.workspace;
  bool isF64 = matmul.a_dtype == REMAT_F64;
  int compute = isF64 ? int(computeF64) : int(computeF32);
  if (matmul.a_dtype == REMAT_F32 && limits.allowsTf32)
    compute = computeTf32;
  int32_t transposes[2] = {form.lhs.isTransposed, form.rhs.isTransposed};
  if (lib.MatmulDescCreate(description.set(lib.MatmulDescDestroy), compute,
                           isF64 ? typeF64 : typeF32) != 0 ||
      lib.MatmulDescSetAttribute(description.get(), descTransA, &transposes[0],
                                 sizeof(int32_t)) != 0 ||
      lib.MatmulDescSetAttribute(description.get(), descTransB, &transposes[1],
                                 sizeof(int32_t)) != 0 ||
      !createLayouts(form, matmul.k, layouts) || !describeEpilogue()) {
    error = "cuBLASLt refuses the description of a matmul";
    return false;
  }
  // Of these the library takes the alignment from their value.
  // NOLINTBEGIN(performance-no-int-to-ptr)
  const auto *bias = reinterpret_cast<const void *>(
      static_cast<uintptr_t>(limits.alignments[3]));
  const auto *input = reinterpret_cast<const void *>(
      static_cast<uintptr_t>(limits.alignments[4]));
  // NOLINTEND(performance-no-int-to-ptr)
  if (!setPointers(bias, input)) {
    error = "cuBLASLt refuses the addresses of an epilogue";
    return false;
  }
  return limits.stored ? take(*limits.stored, limits.workspaceBytes, error)
                       : choose(limits, error);
}

bool Matmul::run(const MatmulBuffers &buffers, Stream stream,
                 std::string &error) const {
  if (!setPointers(buffers.bias, buffers.input)) {
    error = "cuBLASLt refuses the addresses of an epilogue";
    return false;
  }
  const float one32 = 1, beta32 = matmul.accumulate ? 1 : 0;
  const double one64 = 1, beta64 = matmul.accumulate ? 1 : 0;
  bool isF64 = matmul.a_dtype == REMAT_F64;
  const void *alpha = isF64 ? static_cast<const void *>(&one64) : &one32;
  const void *beta = isF64 ? static_cast<const void *>(&beta64) : &beta32;
  int first = form.batchDim == 0 ? 1 : 0, second = form.batchDim == 2 ? 1 : 2;
  auto offset = [&](const int64_t *strides, int64_t i, int64_t j,
                    int32_t dtype) {
    return (i * strides[first] + j * strides[second]) *
           static_cast<int64_t>(remat_dtype_bytes(dtype));
  };
  for (int64_t i = 0; i < matmul.batch[first]; ++i)
    for (int64_t j = 0; j < matmul.batch[second]; ++j) {
      const void *x = static_cast<const char *>(buffers.a) +
                      offset(matmul.a_batch_stride, i, j, matmul.a_dtype);
      const void *y = static_cast<const char *>(buffers.b) +
                      offset(matmul.b_batch_stride, i, j, matmul.b_dtype);
      int64_t at = offset(matmul.c_batch_stride, i, j, matmul.c_dtype);
      void *z = static_cast<char *>(buffers.c) + at;
      const void *w = matmul.accumulate
                          ? static_cast<const char *>(buffers.before) + at
                          : z;
      if (form.isSwapped)
        std::swap(x, y);
      Status status =
          lib.Matmul(handle, description.get(), alpha, x, layouts.lhs.get(), y,
                     layouts.rhs.get(), beta, w, layouts.result.get(), z,
                     layouts.result.get(), &choice.algorithm,
                     workspace ? workspace : buffers.workspace,
                     choice.workspaceBytes, stream);
      if (status == 0)
        continue;
      error = "cuBLASLt failed with status " + std::to_string(status);
      return false;
    }
  return true;
}
