//===- Fuzz.cpp - damaged step tables -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RuntimeFuzz --seed=N --count=N --seconds=N --keep=DIR
//
// Changes random words and bits of a step table, or cuts it. The checksum has
// to find that. With a checksum that fits, as a wrong compiler would write it,
// the table is loaded and asked for all it knows, or refused with a message. It
// does not run: what a kernel does with wrong buffers, only the kernel knows. A
// crash ends the process; under --keep, the seeds before it are printed.
//
// Tables within tables are damaged likewise, and run: see FuzzLoops.h.
//
// The streams and waits of a random step are compared with their definitions:
// see FuzzOrder.h.
//
//===----------------------------------------------------------------------===//

#include "../FuzzMain.h"
#include "FuzzDamage.h"
#include "FuzzLoops.h"
#include "FuzzOrder.h"
#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/StepTableBuilder.h"

#include <cstdio>
#include <cstring>
#include <random>

using namespace remat;

namespace {

uint64_t findings = 0, refusedBySum = 0, refused = 0, accepted = 0;

void touch(void *const *, int64_t, int64_t, remat_kernel_status *) {}

StepEntry makeEntry(remat_entry_kind kind, uint32_t callee,
                    std::vector<uint32_t> operands,
                    std::vector<uint32_t> results) {
  StepEntry entry;
  entry.kind = kind;
  entry.callee = callee;
  entry.operands = std::move(operands);
  entry.results = std::move(results);
  entry.name = "entry";
  entry.location = "model.mlir:1:2";
  return entry;
}

uint32_t addMatmul(StepTableBuilder &builder) {
  remat_matmul matmul = {};
  matmul.batch[0] = matmul.batch[1] = matmul.batch[2] = 1;
  matmul.m = matmul.n = matmul.k = 4;
  matmul.a_m_stride = matmul.b_k_stride = matmul.c_m_stride = 4;
  matmul.a_k_stride = matmul.b_n_stride = matmul.c_n_stride = 1;
  return builder.addMatmul(matmul);
}

uint32_t addConvolution(StepTableBuilder &builder) {
  remat_convolution conv = {};
  conv.spatial_rank = 1;
  conv.batch = conv.groups = conv.input_channels = conv.output_channels = 1;
  conv.input[0] = conv.output[0] = 16;
  conv.filter[0] = conv.stride[0] = conv.dilation[0] = 1;
  for (int64_t *strides : {conv.input_strides, conv.output_strides})
    strides[0] = strides[1] = 16, strides[2] = 1;
  for (int i = 0; i < 4; ++i)
    conv.filter_strides[i] = 1;
  return builder.addConvolution(conv);
}

/// A step with everything that a table can hold: matmuls, convolutions,
/// copies to the host and back beside the computation, a constant, a view, a
/// reused buffer, a recomputation and two calls.
std::string makeTable(bool isSplit) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {4, 4});
  builder.addArgument("mask", REMAT_I1, {64});
  builder.addResult("y", REMAT_F32, {4, 4});
  builder.addResult("z", REMAT_F32, {16});
  uint32_t x = builder.addArgumentBuffer(0),
           mask = builder.addArgumentBuffer(1);
  uint32_t y = builder.addResultBuffer(0), z = builder.addResultBuffer(1);
  uint32_t a = builder.addArenaBuffer(0, 64),
           b = builder.addArenaBuffer(64, 64);
  uint32_t c = builder.addArenaBuffer(128, 64);
  uint32_t packed = builder.addArenaBuffer(192, 5);
  uint32_t unpacked = builder.addArenaBuffer(256, 64);
  uint32_t value = builder.addPackedValue("none", 7, REMAT_F32, {16}, 5);
  uint32_t host = builder.addHostBuffer(0, 64), view = builder.addView(b);
  std::vector<float> numbers(16, 2);
  uint32_t constant = builder.addConstantBuffer(numbers.data(), 64);
  uint32_t reused = builder.addReusedBuffer(1, 0, 64);
  builder.addCheck("in bounds");
  builder.setContents(a, REMAT_F32, 64);
  uint32_t matmul = addMatmul(builder), conv = addConvolution(builder);
  builder.addPlan(conv, 90, 91900, "plan", 64);
  builder.addCodePlan(conv, builder.addKernel(0, {{"code", 1, 32, 0}}, {0}),
                      64);
  StepEntry entry = makeEntry(REMAT_ENTRY_KERNEL, 0, {x, mask}, {a});
  entry.task = 0;
  entry.extent = 16;
  builder.addEntry(entry);
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {a}, {host}));
  builder.addEntry(makeEntry(REMAT_ENTRY_PACK, value, {a}, {packed}));
  builder.addEntry(makeEntry(REMAT_ENTRY_RELEASE, 0, {a}, {}));
  builder.addEntry(makeEntry(REMAT_ENTRY_UNPACK, value, {packed}, {unpacked}));
  builder.addEntry(
      makeEntry(REMAT_ENTRY_MATMUL, matmul, {x, constant}, {reused}));
  builder.addEntry(makeEntry(REMAT_ENTRY_KERNEL, 0, {reused}, {b}));
  if (isSplit) {
    builder.beginCall();
    builder.setStateBytes(128);
  }
  entry.recompute = entry.backward = true;
  entry.original = 0;
  entry.copy = 1;
  entry.operands = {x, mask};
  entry.results = {c};
  builder.addEntry(entry);
  builder.addEntry(makeEntry(REMAT_ENTRY_CONVOLUTION, conv, {view, c}, {y}));
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {host}, {z}));
  builder.assignStreams();
  return builder.finalize();
}

/// Asks a loaded step for all that does not run anything.
void inspect(const remat_step *step) {
  remat_tensor_info tensor;
  remat_entry_info entry;
  uint64_t sum = 0;
  for (size_t i = 0; i < remat_step_argument_count(step); ++i)
    if (remat_step_argument(step, i, &tensor) == REMAT_OK)
      sum += std::strlen(tensor.name) + tensor.bytes;
  for (size_t i = 0; i < remat_step_result_count(step); ++i)
    if (remat_step_result(step, i, &tensor) == REMAT_OK)
      sum += std::strlen(tensor.name) + tensor.bytes;
  for (size_t i = 0; i < remat_step_entry_count(step); ++i)
    if (remat_step_entry(step, i, &entry) == REMAT_OK)
      sum += std::strlen(entry.name) + std::strlen(entry.location);
  sum += remat_step_state_bytes(step) + remat_step_check_bytes(step);
  static volatile uint64_t sink;
  sink = sum;
}

void report(const FuzzOptions &options, uint64_t seed, const std::string &blob,
            const char *symptom) {
  ++findings;
  std::printf("tables: seed %llu: %s\n", (unsigned long long)seed, symptom);
  if (options.keep.empty())
    return;
  std::string path = options.keep + "/table-" + std::to_string(seed) + ".bin";
  if (FILE *file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(blob.data(), 1, blob.size(), file);
    std::fclose(file);
  }
}

remat_status load(const std::string &blob, std::mt19937_64 &random) {
  const remat_kernel_fn kernels[] = {touch};
  remat_module module = makeModule(blob, kernels, 1);
  remat_step_options options = {};
  options.threads = 1;
  auto call = [](void *, const remat_saved_value *, const void *, void *) {
    return 0;
  };
  remat_codec codec = {"none", call, call, nullptr};
  options.codecs = &codec;
  options.codec_count = 1;
  options.flags = unsigned(random() % 8);
  options.determinism_check = remat_determinism_check(random() % 3);
  remat_step *step = nullptr;
  remat_status status = remat_step_load(&module, &options, &step);
  if (status == REMAT_OK)
    inspect(step);
  remat_step_free(step);
  return status;
}

void tryTable(const FuzzOptions &options, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string whole = makeTable(random() % 2), blob = damage(whole, random);
  if (seed == options.seed && load(whole, random) != REMAT_OK)
    return report(options, seed, whole, remat_last_error());
  if (blob != whole) {
    if (load(blob, random) == REMAT_OK)
      report(options, seed, blob, "a damaged table is accepted");
    else if (!*remat_last_error())
      report(options, seed, blob, "a damaged table is refused without a word");
    else
      ++refusedBySum;
  }
  // An arena of many gigabytes would only be slow.
  seal(blob);
  remat_step_header header;
  if (blob.size() >= sizeof(header)) {
    std::memcpy(&header, blob.data(), sizeof(header));
    if (header.arena_bytes / (1 << 30) || header.host_bytes / (1 << 30))
      return;
  }
  if (load(blob, random) == REMAT_OK)
    ++accepted;
  else if (!*remat_last_error())
    report(options, seed, blob, "a wrong table is refused without a word");
  else
    ++refused;
}

} // namespace

int main(int argc, char **argv) {
  FuzzOptions options;
  if (!parseFuzzOptions(argc, argv, options))
    return 2;
  OrderCounts orders;
  LoopCounts loops;
  uint64_t runs = tryInputs(options, [&](uint64_t seed) {
    // So that a crash leaves its seed behind.
    if (!options.keep.empty() && (seed - options.seed) % 256 == 0)
      std::fprintf(stderr, "from seed %llu\n", (unsigned long long)seed);
    tryTable(options, seed);
    auto note = [&](const char *what, const std::string &symptom) {
      if (symptom.empty())
        return;
      ++findings;
      std::printf("%s: seed %llu: %s\n", what, (unsigned long long)seed,
                  symptom.c_str());
    };
    note("orders", tryOrder(seed, orders));
    note("loops", tryLoops(seed, loops));
  });
  std::printf(
      "orders: %llu tables, %llu mutated, of which %llu refused and "
      "%llu proven equal\n",
      (unsigned long long)orders.tables, (unsigned long long)orders.mutated,
      (unsigned long long)orders.refused, (unsigned long long)orders.accepted);
  std::printf(
      "loops: %llu tables, of which %llu refused, %llu run and %llu run "
      "on a device\n",
      (unsigned long long)loops.tables, (unsigned long long)loops.refused,
      (unsigned long long)loops.run, (unsigned long long)loops.runOnDevice);
  std::printf("tables: %llu runs, %llu refused by checksum, %llu others "
              "refused, %llu accepted, %llu findings\n",
              (unsigned long long)runs, (unsigned long long)refusedBySum,
              (unsigned long long)refused, (unsigned long long)accepted,
              (unsigned long long)findings);
  return findings > 0;
}
