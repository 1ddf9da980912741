//===- Descriptors.cpp - checks of library call descriptors ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents and strides come from a blob, so every product of them is checked for
// overflow before anything is computed with it.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <utility>
#include <vector>

using namespace remat;

uint64_t remat_dtype_bytes(int32_t dtype) {
  static const uint8_t bytes[REMAT_DTYPE_COUNT] = {4, 8, 2, 2, 1, 1,
                                                   2, 4, 8, 8, 16};
  return dtype >= 0 && dtype < REMAT_DTYPE_COUNT ? bytes[dtype] : 0;
}

const char *remat_dtype_name(int32_t dtype) {
  static const char *const names[REMAT_DTYPE_COUNT] = {
      "f32", "f64", "f16", "bf16", "i1",  "i8",
      "i16", "i32", "i64", "c64",  "c128"};
  return dtype >= 0 && dtype < REMAT_DTYPE_COUNT ? names[dtype] : "unknown";
}

bool remat::isFloat(int32_t dtype) {
  return dtype == REMAT_F32 || dtype == REMAT_F64 || dtype == REMAT_F16 ||
         dtype == REMAT_BF16;
}

bool remat::alignBytes(uint64_t bytes, uint64_t &aligned) {
  if (__builtin_add_overflow(bytes, uint64_t(REMAT_ALIGNMENT - 1), &aligned))
    return false;
  aligned -= aligned % REMAT_ALIGNMENT;
  return true;
}

namespace {

/// The dims of one operand: pairs of extent and stride.
struct Access {
  std::vector<std::pair<int64_t, int64_t>> dims;

  void add(int64_t extent, int64_t stride) { dims.push_back({extent, stride}); }

  /// Bytes up to the last element; false on overflow or a negative number.
  bool bytes(int32_t dtype, uint64_t &total) const {
    bool empty = false;
    int64_t last = 0;
    for (auto [extent, stride] : dims) {
      if (extent < 0 || stride < 0)
        return false;
      empty |= extent == 0;
      int64_t reach = 0;
      if (extent > 0 && (__builtin_mul_overflow(extent - 1, stride, &reach) ||
                         __builtin_add_overflow(last, reach, &last)))
        return false;
    }
    int64_t end = 0;
    if (empty) {
      total = 0;
      return true;
    }
    if (__builtin_add_overflow(last, int64_t(1), &end) ||
        __builtin_mul_overflow(end, int64_t(remat_dtype_bytes(dtype)), &end))
      return false;
    total = static_cast<uint64_t>(end);
    return true;
  }

  /// No two indices share an element. Sufficient, and true of every layout that
  /// nests its dims: each stride exceeds the reach of all smaller ones.
  bool isInjective() const {
    std::vector<std::pair<int64_t, int64_t>> sorted;
    for (auto [extent, stride] : dims) {
      if (extent == 0)
        return true;
      if (extent > 1)
        sorted.push_back({stride, extent});
    }
    std::sort(sorted.begin(), sorted.end());
    int64_t reach = 0;
    for (auto [stride, extent] : sorted) {
      if (stride <= reach)
        return false;
      reach += (extent - 1) * stride;
    }
    return true;
  }
};

bool fail(std::string &error, std::string text) {
  error = std::move(text);
  return false;
}

/// All dtypes are floats, or all are integers.
bool checkTypes(const char *what, const int32_t (&dtypes)[3],
                std::string &error) {
  for (int32_t dtype : dtypes) {
    if (remat_dtype_bytes(dtype) == 0 || dtype == REMAT_I1 ||
        dtype == REMAT_C64 || dtype == REMAT_C128)
      return fail(error, std::string(what) + " cannot have element type '" +
                             remat_dtype_name(dtype) + "'");
    if (isFloat(dtype) != isFloat(dtypes[0]))
      return fail(error, std::string(what) + " mixes integers and floats: '" +
                             remat_dtype_name(dtypes[0]) + "' and '" +
                             remat_dtype_name(dtype) + "'");
  }
  return true;
}

bool checkAccess(const char *what, const Access &access, int32_t dtype,
                 bool written, uint64_t &bytes, std::string &error) {
  if (!access.bytes(dtype, bytes))
    return fail(error, std::string(what) +
                           " has a negative extent or stride, or is too large");
  if (written && !access.isInjective())
    return fail(error, std::string(what) + " overlaps itself");
  return true;
}

bool checkSpatial(const remat_convolution &c, int dim, std::string &error) {
  std::string where = "convolution, spatial dim " + std::to_string(dim) + ": ";
  const int64_t limit = int64_t(1) << 40; // keeps the sums below in range
  for (int64_t value :
       {c.input[dim], c.filter[dim], c.output[dim], c.stride[dim],
        c.dilation[dim], c.pad_lo[dim], c.pad_hi[dim]})
    if (value < 0 || value > limit)
      return fail(error, where + "extent, stride, dilation or padding " +
                             std::to_string(value) + " is out of range");
  if (c.stride[dim] < 1 || c.dilation[dim] < 1)
    return fail(error, where + "stride and dilation must be at least 1");
  int64_t reach = 0;
  if (c.filter[dim] > 0 &&
      __builtin_mul_overflow(c.dilation[dim], c.filter[dim] - 1, &reach))
    return fail(error, where + "dilated filter is too large");
  int64_t room = c.input[dim] + c.pad_lo[dim] + c.pad_hi[dim] - reach - 1;
  int64_t most = room < 0 ? 0 : room / c.stride[dim] + 1;
  if (c.filter[dim] > 0 && c.output[dim] > most)
    return fail(error,
                where + "output extent " + std::to_string(c.output[dim]) +
                    " exceeds what the input gives, " + std::to_string(most));
  return true;
}

} // namespace

remat::MatmulExtras::MatmulExtras(const remat_matmul &matmul)
    : accumulates(matmul.accumulate != 0),
      readsBias(matmul.epilogue & REMAT_EPILOGUE_BIAS),
      readsInput(matmul.epilogue &
                 (REMAT_EPILOGUE_GELU_GRADIENT | REMAT_EPILOGUE_RELU_GRADIENT)),
      writesInput(matmul.epilogue &
                  (REMAT_EPILOGUE_INPUT | REMAT_EPILOGUE_MASK)),
      writesSums(matmul.epilogue &
                 (REMAT_EPILOGUE_COLUMN_SUMS | REMAT_EPILOGUE_A_SUMS |
                  REMAT_EPILOGUE_B_SUMS)),
      isMask(matmul.epilogue &
             (REMAT_EPILOGUE_MASK | REMAT_EPILOGUE_RELU_GRADIENT)) {}

remat::MatmulExtras::MatmulExtras(const remat_convolution &convolution)
    : accumulates(false), readsBias(convolution.bias != 0), readsInput(false),
      writesInput(false), writesSums(false), isMask(false) {}

/// Bytes of `count` elements of this type, one after the other.
static bool countBytes(int32_t dtype, int64_t count, uint64_t &bytes) {
  return count >= 0 &&
         !__builtin_mul_overflow(static_cast<uint64_t>(count),
                                 remat_dtype_bytes(dtype), &bytes);
}

static bool isKnownEpilogue(int32_t epilogue) {
  switch (epilogue & ~REMAT_EPILOGUE_BIAS) {
  case 0:
  case REMAT_EPILOGUE_RELU:
  case REMAT_EPILOGUE_GELU:
  case REMAT_EPILOGUE_GELU | REMAT_EPILOGUE_INPUT:
  case REMAT_EPILOGUE_RELU | REMAT_EPILOGUE_MASK:
    return true;
  case REMAT_EPILOGUE_GELU_GRADIENT:
  case REMAT_EPILOGUE_GELU_GRADIENT | REMAT_EPILOGUE_COLUMN_SUMS:
  case REMAT_EPILOGUE_RELU_GRADIENT:
  case REMAT_EPILOGUE_RELU_GRADIENT | REMAT_EPILOGUE_COLUMN_SUMS:
  case REMAT_EPILOGUE_A_SUMS:
  case REMAT_EPILOGUE_B_SUMS:
    return !(epilogue & REMAT_EPILOGUE_BIAS);
  default:
    return false;
  }
}

/// Epilogues of floats, and of one product where there are vectors.
static bool checkEpilogue(const remat_matmul &d, Footprint &footprint,
                          std::string &error) {
  if (d.epilogue == 0)
    return true;
  if (!isKnownEpilogue(d.epilogue))
    return fail(error,
                "matmul has unknown epilogue " + std::to_string(d.epilogue));
  MatmulExtras extras(d);
  if (!isFloat(d.c_dtype))
    return fail(error, "matmul has an epilogue, expected one of floats, got '" +
                           std::string(remat_dtype_name(d.c_dtype)) + "'");
  bool isGradient = extras.readsInput || extras.writesSums;
  if (isGradient && extras.accumulates)
    return fail(error, "matmul has a gradient as epilogue, expected one that "
                       "is added to nothing, got accumulate 1");
  if ((extras.writesSums || extras.isMask) &&
      (d.batch[0] != 1 || d.batch[1] != 1 || d.batch[2] != 1))
    return fail(error, "matmul has an epilogue with " +
                           std::string(extras.isMask ? "a mask" : "sums") +
                           ", expected one product, got a batch");
  if (extras.isMask && d.n % 128 != 0)
    return fail(error, "matmul has an epilogue with a mask, expected a "
                       "multiple of 128 columns, got " +
                           std::to_string(d.n));
  if (extras.readsBias &&
      !countBytes(d.c_dtype, d.n, footprint.epilogueOperand))
    return fail(error, "matmul has a bias that is too large");
  int64_t sums = d.epilogue & REMAT_EPILOGUE_A_SUMS ? d.m : d.n;
  if (extras.writesSums &&
      !countBytes(d.c_dtype, sums, footprint.epilogueResult))
    return fail(error, "matmul has sums that are too large");
  return true;
}

bool remat::checkMatmul(const remat_matmul &d, Footprint &footprint,
                        std::string &error) {
  if (!checkTypes("matmul", {d.a_dtype, d.b_dtype, d.c_dtype}, error))
    return false;
  if (d.accumulate != 0 && d.accumulate != 1)
    return fail(error, "matmul has accumulate " + std::to_string(d.accumulate) +
                           ", expected 0 or 1");
  if (!checkEpilogue(d, footprint, error))
    return false;
  Access a, b, c;
  for (int i = 0; i < 3; ++i) {
    a.add(d.batch[i], d.a_batch_stride[i]);
    b.add(d.batch[i], d.b_batch_stride[i]);
    c.add(d.batch[i], d.c_batch_stride[i]);
  }
  a.add(d.m, d.a_m_stride);
  a.add(d.k, d.a_k_stride);
  b.add(d.k, d.b_k_stride);
  b.add(d.n, d.b_n_stride);
  c.add(d.m, d.c_m_stride);
  c.add(d.n, d.c_n_stride);
  if (!checkAccess("matmul operand A", a, d.a_dtype, false,
                   footprint.operands[0], error) ||
      !checkAccess("matmul operand B", b, d.b_dtype, false,
                   footprint.operands[1], error) ||
      !checkAccess("matmul result", c, d.c_dtype, true, footprint.result,
                   error))
    return false;
  MatmulExtras extras(d);
  // A result with a mask has all of its elements, or fewer of them.
  uint64_t kept = extras.isMask ? static_cast<uint64_t>(d.m) *
                                      static_cast<uint64_t>(d.n / 8)
                                : footprint.result;
  if (extras.readsInput)
    footprint.epilogueOperand = kept;
  if (extras.writesInput)
    footprint.epilogueResult = kept;
  return true;
}

/// A bias, which is of floats, as the epilogue of a matmul.
static bool checkBias(const remat_convolution &d, Footprint &footprint,
                      std::string &error) {
  if (d.bias == 0)
    return true;
  if (d.bias != 1)
    return fail(error, "convolution has bias " + std::to_string(d.bias) +
                           ", expected 0 or 1");
  if (d.kind == REMAT_CONV_FILTER_GRADIENT)
    return fail(error, "convolution has a bias, expected none of the gradient "
                       "of a filter");
  bool isForward = d.kind == REMAT_CONV_FORWARD;
  int32_t dtype = isForward ? d.output_dtype : d.input_dtype;
  if (!isFloat(dtype))
    return fail(error, "convolution has a bias, expected one of floats, got '" +
                           std::string(remat_dtype_name(dtype)) + "'");
  if (!countBytes(dtype, isForward ? d.output_channels : d.input_channels,
                  footprint.epilogueOperand))
    return fail(error, "convolution has a bias that is too large");
  return true;
}

bool remat::checkConvolution(const remat_convolution &d, Footprint &footprint,
                             std::string &error) {
  if (d.kind < 0 || d.kind >= REMAT_CONV_KIND_COUNT)
    return fail(error,
                "convolution has unknown kind " + std::to_string(d.kind));
  if (d.spatial_rank < 1 || d.spatial_rank > 3)
    return fail(error, "convolution has spatial rank " +
                           std::to_string(d.spatial_rank) +
                           ", expected 1 to 3");
  if (!checkTypes("convolution",
                  {d.input_dtype, d.filter_dtype, d.output_dtype}, error))
    return false;
  if (d.groups < 1 || d.input_channels < 0 || d.output_channels < 0 ||
      d.input_channels % d.groups != 0 || d.output_channels % d.groups != 0)
    return fail(error, "convolution has " + std::to_string(d.groups) +
                           " groups, which do not divide its " +
                           std::to_string(d.input_channels) + " input and " +
                           std::to_string(d.output_channels) +
                           " output channels");
  Access input, filter, output;
  input.add(d.batch, d.input_strides[0]);
  input.add(d.input_channels, d.input_strides[1]);
  output.add(d.batch, d.output_strides[0]);
  output.add(d.output_channels, d.output_strides[1]);
  filter.add(d.groups, d.filter_strides[0]);
  filter.add(d.output_channels / d.groups, d.filter_strides[1]);
  filter.add(d.input_channels / d.groups, d.filter_strides[2]);
  for (int i = 0; i < d.spatial_rank; ++i) {
    if (!checkSpatial(d, i, error))
      return false;
    input.add(d.input[i], d.input_strides[2 + i]);
    filter.add(d.filter[i], d.filter_strides[3 + i]);
    output.add(d.output[i], d.output_strides[2 + i]);
  }
  uint64_t bytes[3];
  if (!checkAccess("convolution input", input, d.input_dtype,
                   d.kind == REMAT_CONV_INPUT_GRADIENT, bytes[0], error) ||
      !checkAccess("convolution filter", filter, d.filter_dtype,
                   d.kind == REMAT_CONV_FILTER_GRADIENT, bytes[1], error) ||
      !checkAccess("convolution output", output, d.output_dtype,
                   d.kind == REMAT_CONV_FORWARD, bytes[2], error))
    return false;
  switch (d.kind) {
  case REMAT_CONV_FORWARD:
    footprint = {{bytes[0], bytes[1]}, bytes[2]};
    break;
  case REMAT_CONV_INPUT_GRADIENT:
    footprint = {{bytes[2], bytes[1]}, bytes[0]};
    break;
  default:
    footprint = {{bytes[0], bytes[2]}, bytes[1]};
  }
  return checkBias(d, footprint, error);
}
