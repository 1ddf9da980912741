//===- CudaLoopFailureTest.cpp - what goes wrong in loops on a GPU --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that fail in iterations, and failures of the driver.
//
//===----------------------------------------------------------------------===//

#include "CudaLoopTest.h"

using namespace remat;

namespace {

class CudaLoopFailureTest : public ::testing::Test {
protected:
  void SetUp() override {
    fakecuda::reset(1);
    defineLoopKernels();
  }
  void TearDown() override { EXPECT_EQ(fakecuda::countObjects(), 0u); }
};

/// h is doubled: it is 2, 4, ... behind the multiplication of each iteration.
constexpr int64_t count = 9;
struct Doubling {
  Doubling()
      : h({cudaElements}, 1), w({cudaElements}, 2), x({count, cudaElements}),
        end({cudaElements}), s({count, cudaElements}) {}
  Tensor h, w, x, end, s;
};

/// Entry by entry, the message has the iteration; else it says how to get it.
TEST_F(CudaLoopFailureTest, ChecksNameTheIteration) {
  for (unsigned flags :
       {0u, unsigned(REMAT_STEP_POISON), unsigned(REMAT_STEP_PROFILE)}) {
    remat_step_options options = {};
    options.flags = flags;
    CudaStep step(makeCellStep(true, count, 0, false, /*isChecked=*/true),
                  options);
    ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
    for (int run = 0; run < 3; ++run) {
      Doubling v;
      EXPECT_EQ(step.run({v.h, v.w, v.x}, {v.end, v.s}),
                REMAT_INDEX_OUT_OF_BOUNDS);
      const char *failure = "entry 2: index 128 is out of bounds, expected 0 "
                            "to 99";
      EXPECT_EQ(step.message,
                flags == 0
                    ? std::string("entry 0 'scan': an iteration: ") + failure +
                          "; with REMAT_STEP_PROFILE the message has its number"
                    : std::string("entry 0 'scan': iteration 6: ") + failure);
      // The next run is as good as any.
      v.w = Tensor({cudaElements}, 1);
      EXPECT_EQ(step.run({v.h, v.w, v.x}, {v.end, v.s}), REMAT_OK)
          << step.message;
      EXPECT_EQ(v.end.values, v.h.values);
    }
  }
}

/// A loop that ends only when its check is right ends when it is wrong.
TEST_F(CudaLoopFailureTest, FailedChecksEndLoops) {
  LoopTable table(true), body(true);
  std::vector<uint32_t> a, r;
  for (LoopTable *each : {&body, &table}) {
    a = {each->number("goes on", REMAT_I1), each->number("n"),
         each->argument("h"), each->number("most"), each->argument("w")};
    r = {each->numberResult("goes on", REMAT_I1), each->numberResult("n"),
         each->result("h")};
    if (each == &table)
      continue;
    uint32_t product = body.place();
    body.run(Multiply, {a[2], a[4]}, {product});
    body.run(Check, {product}, {r[2]});
    body.run(Count, {a[1], a[3]}, {r[0], r[1]});
  }
  std::string blob = body.finalize();
  remat_loop loop =
      makeRecord(table.addBody(blob), 3, 2, 0, 0, REMAT_LOOP_WHILE, 0);
  table.runLoop(table.addLoop(loop), a, r, loopWorkspaceBytes(loop, blob));
  CudaStep step(table);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  auto flag = LoopTensor::make<uint8_t>(REMAT_I1, 1);
  auto zero = LoopTensor::make<int64_t>(REMAT_I64, 0);
  auto most = LoopTensor::make<int64_t>(REMAT_I64, INT64_MAX);
  LoopTensor ended(REMAT_I1, {}), counted(REMAT_I64, {});
  Tensor h({cudaElements}, 1), w({cudaElements}, 2), end({cudaElements});
  EXPECT_EQ(step.run({flag, zero, h, most, w}, {ended, counted, end}),
            REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_EQ(step.message, "entry 0 'scan': iteration 6: entry 1: index 128 is "
                          "out of bounds, expected 0 to 99");
}

/// What a loop would run as often as what is behind a failed check says.
TEST_F(CudaLoopFailureTest, NumbersBehindFailedChecksAreNotTaken) {
  LoopTable table(true), body(true);
  uint32_t h = body.argument("h");
  body.run(Add, {h, h}, {body.result("h")});
  std::string blob = body.finalize();
  remat_loop loop =
      makeRecord(table.addBody(blob), 1, 0, 0, 0, REMAT_LOOP_TRIPS, 0);
  uint32_t n = table.argument("n"), checked = table.place(),
           trips = table.place(sizeof(int64_t));
  table.run(Check, {n}, {checked});
  table.run(Convert, {checked}, {trips});
  table.runLoop(table.addLoop(loop), {n, trips}, {table.result("h")},
                loopWorkspaceBytes(loop, blob));
  CudaStep step(table);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor many({cudaElements}, 1e18f), end({cudaElements});
  EXPECT_EQ(step.run({many}, {end}), REMAT_INDEX_OUT_OF_BOUNDS);
  EXPECT_EQ(step.message, "entry 0: index 999999984306749440 is out of bounds, "
                          "expected 0 to 99");
  Tensor few({cudaElements}, 3);
  EXPECT_EQ(step.run({few}, {end}), REMAT_OK) << step.message;
  EXPECT_EQ(end.values, std::vector<float>(cudaElements, 24));
}

/// Each call that loading and running make fails once.
TEST_F(CudaLoopFailureTest, EveryCallOfTheDriver) {
  for (uint32_t flags : {0u, unsigned(REMAT_LOOP_TRIPS)})
    for (const char *function :
         {"cuModuleGetFunction", "cuMemAlloc_v2", "cuMemcpyAsync",
          "cuMemsetD8Async", "cuLaunchKernel", "cuStreamSynchronize"}) {
      bool isOver = false;
      for (int call = 0; !isOver; ++call) {
        fakecuda::reset(7);
        defineLoopKernels();
        fakecuda::fail(function, 700, call);
        {
          CudaStep step(makeCellStep(true, 3, flags));
          EXPECT_EQ(step.loaded == REMAT_OK, step.message.empty()) << function;
          for (int run = 0; step.loaded == REMAT_OK && run < 3; ++run) {
            Tensor h({cudaElements}, 1), w({cudaElements}, 2);
            Tensor x({3, cudaElements}), n({cudaElements}, 2);
            Tensor end({cudaElements}), s({3, cudaElements});
            std::vector<remat_tensor> arguments = {h, w, x};
            if (flags)
              arguments.push_back(n);
            if (step.run(arguments, {end, s}) == REMAT_OK)
              EXPECT_EQ(end.values,
                        std::vector<float>(cudaElements, flags ? 4 : 8))
                  << function << " " << call << " run " << run;
            else
              EXPECT_NE(step.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"),
                        std::string::npos)
                  << step.message;
          }
          isOver = size_t(call) >= fakecuda::countCalls(function);
        }
        EXPECT_EQ(fakecuda::countObjects(), 0u) << function << " " << call;
        EXPECT_EQ(fakecuda::getComplaints(), std::vector<std::string>());
      }
    }
}

/// Damaged bodies are refused as those of a step for a CPU.
TEST_F(CudaLoopFailureTest, KernelsOfBodies) {
  LoopTable table(true), body(false);
  uint32_t h = body.argument("h");
  body.addEntry(makeEntry(7, {h, h}, {body.result("h")}));
  std::string blob = body.finalize();
  remat_loop loop = makeRecord(table.addBody(blob), 1, 0, 0, 0, 0, 3);
  table.runLoop(table.addLoop(loop), {table.argument("h")}, {table.result("h")},
                loopWorkspaceBytes(loop, blob));
  CudaStep step(table);
  EXPECT_EQ(step.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(step.message,
            "body 0: entry 0 calls kernel 7, which does not exist");
}

} // namespace
