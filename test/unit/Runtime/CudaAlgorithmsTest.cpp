//===- CudaAlgorithmsTest.cpp - stored algorithms of matmuls --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that is given the choices of another makes the same ones, whatever the
// library would choose now, or says that it cannot.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "LoopTest.h"

using namespace remat;

namespace {

/// A step with a matmul of n x n for each of `sizes`, twice: as if the second
/// one were a clone.
StepTableBuilder makeMatmuls(const std::vector<int64_t> &sizes) {
  StepTableBuilder builder;
  for (int64_t n : sizes) {
    remat_matmul m = {};
    m.batch[0] = m.batch[1] = m.batch[2] = 1;
    m.m = m.n = m.k = n;
    m.a_m_stride = m.b_k_stride = m.c_m_stride = n;
    m.a_k_stride = m.b_n_stride = m.c_n_stride = 1;
    auto add = [&](const char *name) {
      return builder.addArgumentBuffer(
          builder.addArgument(name, REMAT_F32, {n, n}));
    };
    uint32_t a = add("a"), b = add("b");
    for (int i = 0; i < 2; ++i) {
      uint32_t c =
          builder.addResultBuffer(builder.addResult("c", REMAT_F32, {n, n}));
      StepEntry entry = makeEntry(builder.addMatmul(m), {a, b}, {c});
      entry.kind = REMAT_ENTRY_MATMUL;
      builder.addEntry(entry);
    }
  }
  return builder;
}

std::string getAlgorithms(const CudaStep &step) {
  uint64_t bytes = 0;
  const void *data = remat_step_algorithms(step.step, &bytes);
  return std::string(static_cast<const char *>(data), bytes);
}

remat_step_options with(const std::string &algorithms) {
  remat_step_options options = {};
  options.algorithms = algorithms.data();
  options.algorithm_bytes = algorithms.size();
  return options;
}

/// The algorithms that a run of a step of matmuls of these sizes uses.
std::vector<uint64_t> runMatmuls(CudaStep &step,
                                 const std::vector<int64_t> &sizes) {
  std::vector<Tensor> tensors;
  std::vector<remat_tensor> arguments, results;
  tensors.reserve(4 * sizes.size());
  for (int64_t n : sizes)
    for (int i = 0; i < 4; ++i) {
      tensors.emplace_back(std::vector<int64_t>{n, n});
      (i < 2 ? arguments : results).push_back(tensors.back());
    }
  fakecuda::getLibrary().used.clear();
  EXPECT_EQ(step.run(arguments, results), REMAT_OK) << step.message;
  return fakecuda::getLibrary().used;
}

class CudaAlgorithmsTest : public ::testing::Test {
protected:
  void SetUp() override {
    fakecuda::reset(1);
    fakecuda::getLibrary() = {};
  }
  void TearDown() override {
    fakecuda::getLibrary() = {};
    EXPECT_EQ(fakecuda::getComplaints(), std::vector<std::string>());
    EXPECT_EQ(fakecuda::countObjects(), 0u);
  }

  /// The choices of a step with one matmul, which is the algorithm 7.
  std::string choose() {
    fakecuda::getLibrary().algorithm = 7;
    CudaStep step(makeMatmuls({4}));
    EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
    EXPECT_EQ(runMatmuls(step, {4}), (std::vector<uint64_t>{7, 7}));
    fakecuda::getLibrary().algorithm = 8;
    return getAlgorithms(step);
  }

  void expectStale(const std::string &algorithms, const std::string &message) {
    CudaStep step(makeMatmuls({4}), with(algorithms));
    EXPECT_EQ(step.loaded, REMAT_STALE_ALGORITHMS);
    EXPECT_NE(step.message.find(message), std::string::npos) << step.message;
  }
};

TEST_F(CudaAlgorithmsTest, AnotherStepMakesTheSameChoices) {
  std::string algorithms = choose();
  CudaStep own(makeMatmuls({4}));
  EXPECT_EQ(runMatmuls(own, {4}), (std::vector<uint64_t>{8, 8}));
  CudaStep same(makeMatmuls({4}), with(algorithms));
  ASSERT_EQ(same.loaded, REMAT_OK) << same.message;
  EXPECT_EQ(runMatmuls(same, {4}), (std::vector<uint64_t>{7, 7}));
  EXPECT_EQ(getAlgorithms(same), algorithms);
}

// The library may want more workspace than was planned. Then it has one that
// the step lends, also where the choices of such a step are given.
TEST_F(CudaAlgorithmsTest, MoreWorkspaceThanPlanned) {
  constexpr uint64_t lentBytes = 32 << 20;
  fakecuda::getLibrary().workspaceBytes = 64;
  std::string algorithms = choose();
  CudaStep same(makeMatmuls({4}), with(algorithms));
  ASSERT_EQ(same.loaded, REMAT_OK) << same.message;
  EXPECT_EQ(same.stats().degraded_calls, 2u);
  EXPECT_EQ(runMatmuls(same, {4}), (std::vector<uint64_t>{7, 7}));
  fakecuda::getLibrary().workspaceBytes = lentBytes + 1;
  CudaStep none(makeMatmuls({4}));
  EXPECT_EQ(none.loaded, REMAT_LIBRARY_ERROR);
  EXPECT_NE(none.message.find("with 0 bytes of workspace"), std::string::npos)
      << none.message;
}

// What is not known is chosen, and known from then on.
TEST_F(CudaAlgorithmsTest, ChoicesAreAdded) {
  std::string algorithms = choose();
  CudaStep more(makeMatmuls({6, 4}), with(algorithms));
  ASSERT_EQ(more.loaded, REMAT_OK) << more.message;
  EXPECT_EQ(runMatmuls(more, {6, 4}), (std::vector<uint64_t>{8, 8, 7, 7}));
  std::string all = getAlgorithms(more);
  fakecuda::getLibrary().algorithm = 9;
  CudaStep again(makeMatmuls({6, 4, 8}), with(all));
  ASSERT_EQ(again.loaded, REMAT_OK) << again.message;
  EXPECT_EQ(runMatmuls(again, {6, 4, 8}),
            (std::vector<uint64_t>{8, 8, 7, 7, 9, 9}));
  // A step without matmuls keeps what it is given.
  CudaStep none(makeOffloadingStep(), with(all));
  EXPECT_EQ(getAlgorithms(none), all);
  CudaStep nothing(makeOffloadingStep());
  EXPECT_EQ(remat_step_algorithms(nothing.step, nullptr), nullptr);
}

TEST_F(CudaAlgorithmsTest, OtherMachinesRefuseThem) {
  std::string algorithms = choose();
  EXPECT_EQ(std::string(remat_status_name(REMAT_STALE_ALGORITHMS)),
            "stale algorithms");
  fakecuda::getLibrary().version = 130200;
  expectStale(algorithms,
              "the stored algorithms of matmuls are of 'stand-in' of compute "
              "capability 9.0 with cuBLASLt 130100, expected 'stand-in' of "
              "compute capability 9.0 with cuBLASLt 130200; load the step "
              "without them to choose others");
  fakecuda::getLibrary().version = 130100;
  fakecuda::setDeviceName("other");
  expectStale(algorithms, "expected 'other' of compute");
  fakecuda::setDeviceName("stand-in");
  fakecuda::setDevices(1, 8, 0);
  expectStale(algorithms, "expected 'stand-in' of compute capability 8.0");
  fakecuda::setDevices(1, 9, 0);
  fakecuda::getLibrary().most = 6;
  expectStale(algorithms, "cuBLASLt does not take the stored algorithm of a "
                          "matmul of 4 x 4 by 4 x 4 elements with 0 bytes");
}

// cuBLASLt says of algorithms that were proposed for no workspace that they can
// use some: they run without.
TEST_F(CudaAlgorithmsTest, WorkspacesAreThoseOfTheChoice) {
  std::string algorithms = choose();
  fakecuda::getLibrary().workspaceBytes = 64;
  CudaStep same(makeMatmuls({4}), with(algorithms));
  ASSERT_EQ(same.loaded, REMAT_OK) << same.message;
  EXPECT_EQ(runMatmuls(same, {4}), (std::vector<uint64_t>{7, 7}));
  EXPECT_EQ(getAlgorithms(same), algorithms);
}

/// A loop over three matrices behind a product of the same sizes.
StepTableBuilder makeLoopOfMatmuls(int64_t n) {
  remat_matmul m = {};
  m.batch[0] = m.batch[1] = m.batch[2] = 1;
  m.m = m.n = m.k = n;
  m.a_m_stride = m.b_k_stride = m.c_m_stride = n;
  m.a_k_stride = m.b_n_stride = m.c_n_stride = 1;
  StepTableBuilder builder, body;
  auto addMatmul = [&](StepTableBuilder &to, std::vector<uint32_t> operands,
                       uint32_t result) {
    StepEntry entry = makeEntry(to.addMatmul(m), std::move(operands), {result});
    entry.kind = REMAT_ENTRY_MATMUL;
    to.addEntry(entry);
  };
  auto addArgument = [](StepTableBuilder &to, std::vector<int64_t> dims) {
    return to.addArgumentBuffer(to.addArgument("a", REMAT_F32, dims));
  };
  auto addResult = [](StepTableBuilder &to, std::vector<int64_t> dims) {
    return to.addResultBuffer(to.addResult("c", REMAT_F32, dims));
  };
  uint32_t b = addArgument(body, {n, n}), a = addArgument(body, {n, n});
  addMatmul(body, {a, b}, addResult(body, {n, n}));
  uint32_t x = addArgument(builder, {n, n}), y = addArgument(builder, {n, n});
  addMatmul(builder, {x, y}, addResult(builder, {n, n}));
  uint32_t all = addArgument(builder, {3, n, n});
  remat_loop loop = makeRecord(builder.addBody(body.finalize()), 0, 1, 1, 1,
                               /*flags=*/0, 3);
  builder.addEntry(makeLoop(builder.addLoop(loop), {y, all},
                            {addResult(builder, {3, n, n})}));
  return builder;
}

// An iteration may make again what another entry made.
TEST_F(CudaAlgorithmsTest, BodiesOfLoopsShareThem) {
  fakecuda::getLibrary().algorithm = 7;
  CudaStep step(makeLoopOfMatmuls(4));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  fakecuda::getLibrary().algorithm = 8;
  Tensor x({4, 4}, 1), y({4, 4}, 2), all({3, 4, 4}, 3), c({4, 4}), s({3, 4, 4});
  fakecuda::getLibrary().used.clear();
  ASSERT_EQ(step.run({x, y, all}, {c, s}), REMAT_OK) << step.message;
  EXPECT_EQ(fakecuda::getLibrary().used, std::vector<uint64_t>(4, 7));
  EXPECT_EQ(c.values, std::vector<float>(16, 8));
  EXPECT_EQ(s.values, std::vector<float>(48, 24));
  // One for all of them, as in the step without the loop.
  fakecuda::getLibrary().algorithm = 7;
  CudaStep without(makeMatmuls({4}));
  EXPECT_EQ(getAlgorithms(step).size(), getAlgorithms(without).size());
}

// Matrices of 36 bytes follow each other.
TEST_F(CudaAlgorithmsTest, SlicesAreNotAligned) {
  CudaStep without(makeMatmuls({3}));
  ASSERT_EQ(without.loaded, REMAT_OK) << without.message;
  std::string algorithms = getAlgorithms(without);
  CudaStep step(makeLoopOfMatmuls(3), with(algorithms));
  EXPECT_EQ(step.loaded, REMAT_STALE_ALGORITHMS);
  EXPECT_EQ(step.message,
            "body 0: entry 0: the stored algorithm of a matmul needs addresses "
            "that are multiples of 256, and buffer 0 is at one of 4");
}

TEST_F(CudaAlgorithmsTest, DamageIsRefused) {
  std::string algorithms = choose();
  auto expectRefused = [](const std::string &given) {
    CudaStep step(makeMatmuls({4}), with(given));
    EXPECT_EQ(step.loaded, REMAT_INVALID_ARGUMENT);
    EXPECT_NE(step.message.find("stored algorithms of matmuls"),
              std::string::npos)
        << step.message;
  };
  for (size_t length = 0; length < algorithms.size(); length += 13)
    expectRefused(algorithms.substr(0, length));
  expectRefused(algorithms + '\0');
  for (size_t i = 0; i < algorithms.size(); ++i) {
    std::string damaged = algorithms;
    damaged[i] = static_cast<char>(damaged[i] ^ 16);
    expectRefused(damaged);
  }
}

} // namespace
