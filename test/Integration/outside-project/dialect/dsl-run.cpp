//===- dsl-run.cpp - a step of another dialect, against a reference -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dsl-run MODEL BUDGET: compiles model.mlir for the budget by the C API, runs
// it, and compares the loss and some elements of each gradient with what is
// computed here in double precision, gradients by finite differences.
//
//===----------------------------------------------------------------------===//

#include "Dsl.h"

#include "remat-c/Registration.h"
#include "remat/Runtime/Runtime.h"

#include "mlir/CAPI/IR.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static constexpr int rows = 48, columns = 40;

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

using Matrix = std::vector<double>;
/// x, w, b, target.
using Arguments = std::array<Matrix, 4>;

static Matrix multiply(const Matrix &a, const Matrix &w) {
  Matrix result(rows * columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      for (int k = 0; k < columns; ++k)
        result[i * columns + j] += a[i * columns + k] * w[k * columns + j];
  return result;
}

static double mask(int row, int column) {
  uint64_t hash = 7;
  for (uint64_t index : {row, column}) {
    hash = (hash + index) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash & 1 ? 2 : 0;
}

static double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x)));
}

static double computeLoss(const Arguments &arguments) {
  const auto &[x, w, b, target] = arguments;
  Matrix h = multiply(x, w);
  for (int i = 0; i < rows; ++i) {
    double squares = 0;
    for (int j = 0; j < columns; ++j) {
      double &element = h[i * columns + j];
      element = 0.5 * element + b[i * columns + j];
      squares += element * element;
    }
    for (int j = 0; j < columns; ++j) {
      double &element = h[i * columns + j];
      element = gelu(element / std::sqrt(squares / columns) * mask(i, j));
    }
  }
  h = multiply(h, w);
  double loss = 0;
  for (int i = 0; i < rows; ++i) {
    double sum = 0, wanted = 0;
    for (int j = 0; j < columns; ++j) {
      double share = std::exp(h[i * columns + j]);
      sum += share;
      wanted += share * target[i * columns + j];
    }
    loss += wanted / sum;
  }
  return loss;
}

static double computeGradient(Arguments arguments, int number, int element) {
  constexpr double step = 1e-5;
  double &value = arguments[number][element];
  double at = value;
  value = at + step;
  double above = computeLoss(arguments);
  value = at - step;
  return (above - computeLoss(arguments)) / (2 * step);
}

static Arguments makeArguments() {
  Arguments arguments;
  for (int number = 0; number < 4; ++number) {
    arguments[number].resize((number == 1 ? columns : rows) * columns);
    for (size_t i = 0; i < arguments[number].size(); ++i)
      // Exact in f32.
      arguments[number][i] = int((i * 37 + number * 11) % 64) / 64.0 - 0.5;
  }
  return arguments;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

static void check(RematContext context, RematStatus status) {
  if (status == REMAT_STATUS_OK)
    return;
  std::fprintf(stderr, "%s\n", rematContextGetError(context));
  std::exit(status == REMAT_STATUS_INFEASIBLE_BUDGET ? 3 : 1);
}

static RematCode compile(const char *path, const char *budget) {
  mlir::DialectRegistry registry;
  dsl::registerDialect(registry);
  RematContext context = rematContextCreateWithDialects(wrap(&registry));
  RematOptions options = rematOptionsCreate(context);
  RematModule module;
  RematCode code;
  check(context, rematOptionsSet(options, "budget", budget));
  check(context, rematOptionsSet(options, "threads", "1"));
  check(context, rematModuleParseFile(context, path, &module));
  check(context, rematModuleCompile(module, REMAT_LEVEL_PLACED, options));
  check(context, rematModuleLoad(module, options, &code));
  rematModuleDestroy(module);
  rematOptionsDestroy(options);
  rematContextDestroy(context);
  return code;
}

/// The step's results: the loss, then a gradient for each argument.
static std::vector<std::vector<float>> run(RematCode code,
                                           const Arguments &arguments) {
  remat_step *step;
  if (remat_step_load(rematCodeGetModule(code), nullptr, &step) != REMAT_OK) {
    std::fprintf(stderr, "%s\n", remat_last_error());
    std::exit(1);
  }
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<remat_tensor> given, taken;
  auto addTensor = [](std::vector<std::vector<float>> &data,
                      std::vector<remat_tensor> &tensors,
                      const remat_tensor_info &info) {
    data.emplace_back(info.bytes / sizeof(float));
    tensors.push_back({data.back().data(), REMAT_F32, info.rank, info.dims});
  };
  for (size_t i = 0; i < remat_step_argument_count(step); ++i) {
    remat_tensor_info info;
    remat_step_argument(step, i, &info);
    addTensor(inputs, given, info);
    for (size_t element = 0; element < inputs[i].size(); ++element)
      inputs[i][element] = float(arguments[i][element]);
  }
  for (size_t i = 0; i < remat_step_result_count(step); ++i) {
    remat_tensor_info info;
    remat_step_result(step, i, &info);
    addTensor(outputs, taken, info);
  }
  if (remat_step_run(step, given.data(), given.size(), taken.data(),
                     taken.size()) != REMAT_OK) {
    std::fprintf(stderr, "%s\n", remat_step_error(step));
    std::exit(1);
  }
  remat_step_stats stats;
  remat_step_get_stats(step, &stats);
  std::printf("peak %llu, recomputed %llu\n",
              (unsigned long long)stats.measured_peak_bytes,
              (unsigned long long)stats.recomputed_entries);
  remat_step_free(step);
  return outputs;
}

static bool isNear(const char *what, double found, double expected) {
  if (std::abs(found - expected) <= 1e-4 * (1 + std::abs(expected)))
    return true;
  std::fprintf(stderr, "%s: %g, expected %g\n", what, found, expected);
  return false;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  Arguments arguments = makeArguments();
  RematCode code = compile(argv[1], argv[2]);
  std::vector<std::vector<float>> results = run(code, arguments);
  rematCodeDestroy(code);
  bool ok = results.size() == 5 &&
            isNear("loss", results[0][0], computeLoss(arguments));
  for (int number = 0; ok && number < 4; ++number)
    for (int element : {0, 17, 123, 999, 1599})
      ok &= isNear("gradient", results[1 + number][element],
                   computeGradient(arguments, number, element));
  return ok ? 0 : 1;
}
