//===- StreamsTest.cpp - copies beside the computation --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What entries wait for, and that a table that lacks a wait is refused.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "Table.h"

#include <cstddef>
#include <cstring>

using namespace remat;

namespace {

void touch(void *const *, int64_t, int64_t, remat_kernel_status *) {}

/// A step of 64-byte buffers. Its text has, for each entry, its stream where
/// that is not the computation, and the entries that it waits for.
struct Streams : ::testing::Test {
  Streams() {
    builder.addArgument("x", REMAT_F32, {16});
    builder.addResult("y", REMAT_F32, {16});
    x = builder.addArgumentBuffer(0);
    y = builder.addResultBuffer(0);
  }

  uint32_t arena(uint64_t slot) {
    return builder.addArenaBuffer(64 * slot, 64);
  }
  uint32_t host(uint64_t slot) { return builder.addHostBuffer(64 * slot, 64); }
  uint32_t run(std::vector<uint32_t> operands, uint32_t result) {
    return builder.addEntry(makeEntry(0, std::move(operands), {result}));
  }
  uint32_t copy(uint32_t from, uint32_t to) {
    return builder.addEntry(makeCopy(from, to));
  }

  std::string text() {
    builder.assignStreams();
    blob = builder.finalize();
    std::string error;
    EXPECT_TRUE(checkStepTable(blob, error)) << error;
    read();
    std::string text;
    for (const remat_entry &entry : table.entries) {
      if (!text.empty())
        text += "; ";
      static const char *const streams[] = {"run", "in", "out"};
      text += streams[entry.stream];
      for (uint32_t i = 0; i < entry.wait_count; ++i)
        text += " " + std::to_string(table.waits[entry.first_wait + i]);
    }
    return text;
  }

  /// What is said of the table if an entry has no waits.
  std::string errorWithout(uint32_t entry) {
    return errorWith(entry, [](remat_entry &e) { e.wait_count = 0; });
  }
  /// What is said of the table with an entry that is changed.
  template <typename Function>
  std::string errorWith(uint32_t entry, const Function &change) {
    std::string broken = blob;
    change(table.entries[entry]);
    std::memcpy(broken.data() + table.header.entries.offset +
                    entry * sizeof(remat_entry),
                &table.entries[entry], sizeof(remat_entry));
    uint64_t sum = remat_table_checksum(broken.data(), broken.size());
    std::memcpy(broken.data() + offsetof(remat_step_header, checksum), &sum,
                sizeof(sum));
    read();
    Step step(broken, {touch});
    return step.loaded == REMAT_OK ? "" : step.message;
  }

  void read() {
    remat_module module = makeModule(blob);
    std::string error;
    table = Table();
    ASSERT_TRUE(readTable(module, table, error)) << error;
  }

  StepTableBuilder builder;
  uint32_t x, y;
  std::string blob;
  Table table;
};

} // namespace

// Entry 3 is the first behind the last use of what is offloaded, entry 6 the
// one that reads what comes back. Entry 4 reads what entry 1 wrote to the host,
// but entry 3 has waited for that.
TEST_F(Streams, Overlap) {
  uint32_t a = arena(0), b = arena(1), c = arena(0), d = arena(1), h = host(0);
  uint32_t e = arena(2);
  run({x}, a);
  copy(a, h);
  run({a}, b);
  run({b}, c);
  copy(h, d);
  run({c}, e);
  run({e, d}, y);
  EXPECT_EQ(text(), "run; out 0; run; run 1; in 3; run; run 4");
  EXPECT_EQ(errorWithout(3),
            "entry 3 writes bytes 0 to 64 of the arena, which entry 1 reads, "
            "without waiting for it");
  EXPECT_EQ(errorWithout(1), "entry 1 reads bytes 0 to 64 of the arena, which "
                             "entry 0 writes, without waiting for it");
  EXPECT_EQ(errorWithout(4), "entry 4 reads bytes 0 to 64 of the host arena, "
                             "which entry 1 writes, without waiting for it");
  EXPECT_EQ(errorWithout(6), "entry 6 reads bytes 64 to 128 of the arena, "
                             "which entry 4 writes, without waiting for it");
}

TEST_F(Streams, CopiesWaitForEachOther) {
  uint32_t a = arena(0), h = host(0), d = arena(1);
  run({x}, a);
  copy(a, h);
  copy(h, d);
  run({d}, y);
  EXPECT_EQ(text(), "run; out 0; in 1; run 2");
}

// What is offloaded stays until its release, entry 4, and nothing waits for the
// transfer before: not entry 3, which is behind the last reader.
TEST_F(Streams, Release) {
  uint32_t a = arena(0), b = arena(1), c = arena(2), d = arena(0), h = host(0);
  run({x}, a);
  copy(a, h);
  run({a}, b);
  run({b}, c);
  builder.addEntry(makeRelease(a));
  run({c}, d);
  run({d}, y);
  EXPECT_EQ(text(), "run; out 0; run; run; run; run 1; run");
  EXPECT_EQ(errorWithout(5),
            "entry 5 writes bytes 0 to 64 of the arena, which entry 1 reads, "
            "without waiting for it");
  auto changed = [](remat_entry &e) { e.kind = REMAT_ENTRY_RELEASE; };
  EXPECT_EQ(errorWith(3, changed), "entry 3 is a release with 1 operands and 1 "
                                   "results, expected 1 and 0");
}

// Up to its release, nothing else lies where the buffer is.
TEST_F(Streams, ReleasedMemoryIsInUse) {
  uint32_t a = arena(0), b = arena(0), h = host(0);
  run({x}, a);
  copy(a, h);
  run({x}, b);
  builder.addEntry(makeRelease(a));
  run({x}, y);
  builder.assignStreams();
  std::string error;
  EXPECT_FALSE(checkStepTable(builder.finalize(), error));
  EXPECT_EQ(error,
            "entry 2 places buffer 3 over buffer 2, which is still needed");
}

// Nobody reads what entry 2 brings back; its bytes are free behind it, as the
// simulator says.
TEST_F(Streams, UnreadReload) {
  uint32_t a = arena(0), h = host(0), d = arena(1);
  run({x}, a);
  copy(a, h);
  copy(h, d);
  run({x}, y);
  EXPECT_EQ(text(), "run; out 0; in 1; run 2");
}

// Entry 4 writes where entry 2 still reads. Without the wait for entry 3 the
// value could be written to the host before it is there.
TEST_F(Streams, HostMemoryIsUsedAgain) {
  uint32_t a = arena(0), first = host(0), second = host(0);
  uint32_t back = arena(1), b = arena(2), again = arena(0);
  run({x}, a);
  copy(a, first);
  copy(first, back);
  run({x}, b);
  copy(b, second);
  copy(second, again);
  run({back, again}, y);
  // Entry 3 waits for the offload, behind whose last use it is.
  EXPECT_EQ(text(), "run; out 0; in 1; run 1; out 2 3; in 4; run 5");
  EXPECT_EQ(
      errorWith(4, [](remat_entry &e) { ++e.first_wait, --e.wait_count; }),
      "entry 4 writes bytes 0 to 64 of the host arena, which entry 2 "
      "reads, without waiting for it");
}

// A kernel that writes over what it reads takes away what is being copied.
TEST_F(Streams, InPlace) {
  uint32_t a = arena(0), h = host(0), d = arena(1);
  run({x}, a);
  copy(a, h);
  uint32_t view = builder.addView(a);
  run({a}, view);
  copy(h, d);
  run({view, d}, y);
  EXPECT_EQ(text(), "run; out 0; run 1; in 2; run 3");
  EXPECT_EQ(errorWithout(2),
            "entry 2 writes bytes 0 to 64 of the arena, which entry 1 reads, "
            "without waiting for it");
}

// An argument's buffer is nobody else's, until a result takes it.
TEST_F(Streams, Arguments) {
  uint32_t h = host(0), d = arena(1), a = arena(0);
  builder.addResult("z", REMAT_F32, {16});
  builder.addDonation(0, 1);
  uint32_t z = builder.addResultBuffer(1);
  copy(x, h);
  run({x}, a);
  run({a}, y);
  run({y}, z);
  copy(h, d);
  run({d}, arena(2));
  EXPECT_EQ(text(), "out; run; run; run 0; in 3; run 4");
  EXPECT_EQ(errorWithout(3),
            "entry 3 writes bytes 0 to 64 of result 1, which entry 0 reads, "
            "without waiting for it");
}

// What the caller has in host memory is copied beside the computation. Entry 4
// is the first behind the last use of what goes out.
TEST_F(Streams, HostArguments) {
  uint32_t m = builder.addArgumentBuffer(
      builder.addArgument("m", REMAT_F32, {16}, REMAT_TENSOR_HOST));
  uint32_t n = builder.addResultBuffer(
      builder.addResult("n", REMAT_F32, {16}, REMAT_TENSOR_HOST));
  builder.addDonation(1, 1);
  uint32_t in = arena(0), beside = arena(1), sum = arena(2);
  copy(m, in);
  run({x}, beside);
  run({in, beside}, sum);
  copy(sum, n);
  run({x}, y);
  EXPECT_EQ(text(), "in; run; run 0; out 2; run 3");
  EXPECT_EQ(errorWith(3, [](remat_entry &e) { e.kind = REMAT_ENTRY_KERNEL; }),
            "entry 3 uses result 1, which is in host memory, expected a copy");
}

// A part of a result holds another value until the result is written.
TEST_F(Streams, ReusedBuffers) {
  uint32_t reused = builder.addReusedBuffer(0, 0, 64), h = host(0),
           d = arena(0);
  run({x}, reused);
  copy(reused, h);
  copy(h, d);
  run({d}, y);
  EXPECT_EQ(text(), "run; out 0; in 1; run 2");
  EXPECT_EQ(errorWithout(2), "entry 2 reads bytes 0 to 64 of the host arena, "
                             "which entry 1 writes, without waiting for it");
}

// All has ended when a call has, so nothing waits across calls.
TEST_F(Streams, Calls) {
  uint32_t a = arena(0), h = host(0), d = arena(0);
  run({x}, a);
  copy(a, h);
  builder.beginCall();
  copy(h, d);
  run({d}, y);
  EXPECT_EQ(text(), "run; out 0; in; run 2");
}

TEST_F(Streams, OneStreamWithoutCopies) {
  run({x}, arena(0));
  copy(x, y);
  EXPECT_EQ(text(), "run; run");
}

TEST_F(Streams, DamagedRecords) {
  uint32_t a = arena(0), h = host(0), d = arena(1);
  run({x}, a);
  copy(a, h);
  copy(h, d);
  run({d}, y);
  text();
  EXPECT_EQ(errorWith(1, [](remat_entry &e) { e.stream = 3; }),
            "entry 1 is in stream 3 of 3");
  EXPECT_EQ(errorWith(0, [](remat_entry &e) { e.stream = 1; }),
            "entry 0 is in stream 1, expected a copy there");
  EXPECT_EQ(errorWith(2, [](remat_entry &e) { e.first_wait = 7; }),
            "entry 2 has waits outside of the table");
  EXPECT_EQ(errorWith(1, [](remat_entry &e) { e.first_wait = 2; }),
            "entry 1 waits for entry 2, which is not before it");
}

// No entry has more waits than there are other streams, however long the table.
TEST_F(Streams, ManyEntries) {
  const uint32_t slots = 64;
  for (uint32_t i = 0; i < 33333; ++i) {
    uint32_t a = arena(i % slots), h = host(i % slots);
    run({x}, a);
    copy(a, h);
    copy(h, arena(slots + i % slots));
  }
  run({x}, y);
  builder.assignStreams();
  blob = builder.finalize();
  read();
  std::string error;
  EXPECT_TRUE(checkOrder(table, error)) << error;
  EXPECT_EQ(table.entries.size(), 100000u);
  EXPECT_LE(table.waits.size(), 2 * table.entries.size());
}
