//===- KernelBenchmarks.cpp - times of single kernels ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that training spends its time in, at the shapes of the models
// that tools/bench/performance.py measures, forward and with all gradients. On
// one thread, unless the environment's REMAT_BENCH_THREADS says otherwise.
//
//===----------------------------------------------------------------------===//

#include "CompiledKernel.h"
#include "KernelTexts.h"

#include "benchmark/benchmark.h"

#include <cstdlib>
#include <functional>

using namespace remat::bench;

namespace {

struct Kernel {
  std::string name;
  std::function<std::string()> makeText;
  /// Multiplications and additions of the contractions, forward and backward.
  double forward, backward;
};

int getThreads() {
  const char *text = std::getenv("REMAT_BENCH_THREADS");
  return text ? std::atoi(text) : 1;
}

void runKernel(benchmark::State &state, const Kernel &kernel, bool backward) {
  auto compiled =
      CompiledKernel::create(kernel.makeText(), backward, getThreads());
  if (!compiled) {
    state.SkipWithError(llvm::toString(compiled.takeError()).c_str());
    return;
  }
  for (auto _ : state)
    if (!(*compiled)->run()) {
      state.SkipWithError((*compiled)->getError().c_str());
      return;
    }
  double flops = kernel.forward + (backward ? kernel.backward : 0);
  auto rate = [&](double amount) {
    return benchmark::Counter(amount,
                              benchmark::Counter::kIsIterationInvariantRate);
  };
  if (flops != 0)
    state.counters["flops"] = rate(flops);
  state.counters["bytes"] = rate(double((*compiled)->getBytes()));
}

Kernel matmul(int64_t m, int64_t n, int64_t k) {
  double flops = 2.0 * double(m) * double(n) * double(k);
  return {"matmul/" + std::to_string(m) + "x" + std::to_string(n) + "x" +
              std::to_string(k),
          [=] { return makeMatmul(m, n, k); }, flops, 2 * flops};
}

Kernel convolution(int64_t channels, int64_t image, int64_t filter) {
  double flops = 2.0 * 32 * double(image * image) * double(channels) *
                 double(channels) * double(filter * filter);
  return {
      "convolution/32x" + std::to_string(channels) + "x" +
          std::to_string(image) + "/filter:" + std::to_string(filter),
      [=] { return makeConvolution(32, channels, image, channels, filter); },
      flops, 2 * flops};
}

Kernel attention(int64_t heads, int64_t length, int64_t width) {
  // As if nothing were masked.
  double flops =
      4.0 * double(heads) * double(length) * double(length) * double(width);
  return {"attention/" + std::to_string(heads) + "x" + std::to_string(length) +
              "x" + std::to_string(width),
          [=] { return makeAttention(heads, length, width); }, flops,
          2.5 * flops};
}

std::vector<Kernel> makeKernels() {
  return {
      matmul(1024, 1024, 1024),
      matmul(256, 256, 256),
      matmul(1024, 8192, 512),
      convolution(64, 16, 3),
      convolution(128, 8, 3),
      convolution(256, 4, 3),
      convolution(512, 2, 3),
      {"softmax/8192x256", [] { return makeSoftmax(8192, 256); }, 0, 0},
      {"layer_norm/1024x512", [] { return makeLayerNorm(1024, 512); }, 0, 0},
      attention(32, 256, 64),
      attention(8, 1024, 64),
      {"cross_entropy/1024x8192", [] { return makeCrossEntropy(1024, 8192); },
       0, 0}};
}

} // namespace

int main(int argc, char **argv) {
  for (const Kernel &kernel : makeKernels())
    for (bool backward : {false, true}) {
      std::string name =
          kernel.name + (backward ? "/forward+backward" : "/forward");
      benchmark::RegisterBenchmark(
          name.c_str(),
          [=](benchmark::State &state) { runKernel(state, kernel, backward); })
          ->Unit(benchmark::kMicrosecond)
          ->MeasureProcessCPUTime();
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
