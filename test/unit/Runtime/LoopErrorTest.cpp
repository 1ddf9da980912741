//===- LoopErrorTest.cpp - loops that are refused -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that a table may say wrong about a loop, when it is loaded and
// when it is checked without a runtime.
//
//===----------------------------------------------------------------------===//

#include "LoopTest.h"

#include <cstddef>
#include <cstring>

using namespace remat;

namespace {

void touch(void *const *, int64_t, int64_t, remat_kernel_status *) {}
const std::vector<remat_kernel_fn> kernels = {touch, touch, touch};

/// Loads and checks a table, and expects the same message from both.
void refused(const std::string &blob, const std::string &expected) {
  Step step(blob, kernels);
  EXPECT_EQ(step.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(step.message, expected);
  std::string error;
  EXPECT_FALSE(checkStepTable(blob, error));
  EXPECT_EQ(error, expected);
}

/// A table whose only entry is a loop of four iterations of `body`, with one
/// value carried, one invariant, one slice and one stack, or as `loop` says.
/// All operands are arguments, and all results are results.
struct Parts {
  explicit Parts(const StepTableBuilder &body)
      : loop(makeRecord(builder.addBody(body.finalize()), 1, 1, 1, 1, 0, 4)) {}
  Parts() : Parts(cellBuilder(/*isInPlace=*/false)) {}

  std::string finish() {
    for (std::vector<int64_t> dims : {h, w, x})
      operands.push_back(builder.addArgumentBuffer(
          builder.addArgument("argument", REMAT_F32, dims)));
    for (std::vector<int64_t> dims : {end, s})
      results.push_back(builder.addResultBuffer(
          builder.addResult("result", REMAT_F32, dims)));
    builder.addEntry(makeLoop(builder.addLoop(loop, lists), operands, results,
                              builder.addArenaBuffer(0, room)));
    return builder.finalize();
  }
  void expect(const std::string &message) { refused(finish(), message); }

  StepTableBuilder builder;
  remat_loop loop;
  std::vector<int64_t> h = {3}, w = {3}, x = {4, 3}, end = {3}, s = {4, 3};
  std::vector<uint32_t> operands, results, lists;
  uint64_t room = 128;
};

TEST(LoopErrors, NoneInTheTableThatTheOthersChange) {
  EXPECT_EQ(Step(Parts().finish(), kernels).message, "");
  std::string error;
  EXPECT_TRUE(checkStepTable(Parts().finish(), error)) << error;
}

TEST(LoopErrors, Loops) {
  Parts flags, count, negative, body, operands, results;
  flags.loop.flags = 9;
  flags.expect("loop 0 has unknown flags: 9");
  count.loop.count = 0;
  count.expect("loop 0 has 0 iterations, expected at least 1");
  negative.loop.count = INT64_MIN;
  negative.expect("loop 0 has -9223372036854775808 iterations, expected at "
                  "least 1");
  body.loop.body = 1;
  body.expect("loop 0 runs body 1 of 1");
  operands.loop.invariants = UINT32_MAX;
  operands.expect("loop 0 has body 0 with 3 arguments and 2 results, expected "
                  "4294967297 and 2");
  results.loop.stacks = 0;
  results.expect("loop 0 has body 0 with 3 arguments and 2 results, expected 3 "
                 "and 1");
}

/// A list has a buffer for each iteration, of which as many run.
TEST(LoopErrors, Lists) {
  Parts range, value, trips, buffers;
  range.loop.lists = 5;
  range.expect("loop 0 has lists up to 6 of 0");
  value.lists = {0, 2};
  value.expect("loop 0 has 2 as list 1, expected 0 or 1");
  trips.lists = {1, 0};
  trips.loop.flags = REMAT_LOOP_TRIPS;
  trips.expect("loop 0 has lists and flags 2, expected as many iterations as "
               "elements");
  buffers.lists = {1, 1};
  buffers.expect("entry 0 has 3 operands and 2 results, expected 6 and 5");
}

/// What is carried has one type, and only that and elements of slices of loops
/// whose iterations all run give their buffers away.
TEST(LoopErrors, Carried) {
  StepTableBuilder type;
  type.addArgument("h", REMAT_F32, {3});
  type.addResult("h", REMAT_I32, {3});
  type.addEntry(makeCopy(type.addArgumentBuffer(0), type.addResultBuffer(0)));
  Parts types(type);
  types.loop = makeRecord(0, 1, 0, 0, 0, 0, 4);
  types.expect("loop 0 has body 0 with argument and result 0 of different "
               "types, expected what is carried");
  StepTableBuilder shape;
  shape.addArgument("h", REMAT_F32, {2, 1});
  shape.addResult("h", REMAT_F32, {1, 2});
  shape.addEntry(
      makeCopy(shape.addArgumentBuffer(0), shape.addResultBuffer(0)));
  Parts shapes(shape);
  shapes.loop = makeRecord(0, 1, 0, 0, 0, 0, 4);
  shapes.expect("loop 0 has body 0 with argument and result 0 of different "
                "types, expected what is carried");
  StepTableBuilder updating;
  updating.addArgument("x", REMAT_F32, {3});
  updating.addResult("y", REMAT_F32, {3});
  updating.addDonation(0, 0);
  uint32_t x = updating.addArgumentBuffer(0);
  updating.addEntry(makeEntry(0, {x}, {updating.addView(x)}));
  Parts invariants(updating), trips(updating);
  invariants.loop = makeRecord(0, 0, 1, 0, 1, 0, 4);
  trips.loop = makeRecord(0, 0, 0, 1, 1, REMAT_LOOP_TRIPS, 4);
  for (Parts *parts : {&invariants, &trips})
    parts->expect("loop 0 has body 0 with argument 0 in the buffer of result "
                  "0, expected that of a carried value or of an element of a "
                  "slice");
}

TEST(LoopErrors, Entries) {
  Parts missing;
  missing.builder.addEntry(makeLoop(5, {}, {}));
  refused(missing.finish(), "entry 0 calls loop 5, which does not exist");
  Parts operands, results;
  operands.operands = {0};
  operands.expect("entry 0 has 4 operands and 2 results, expected 3 and 2");
  results.results = {results.builder.addArenaBuffer(128, 64)};
  results.expect("entry 0 has 3 operands and 3 results, expected 3 and 2");
}

TEST(LoopErrors, Bytes) {
  Parts init, invariant, slice, end, stack, count;
  init.h = {4};
  init.expect("entry 0 has operand 0 of 16 bytes, expected 12");
  invariant.w = {4, 3};
  invariant.expect("entry 0 has operand 1 of 48 bytes, expected 12");
  slice.x = {5, 3};
  slice.expect("entry 0 has operand 2 of 60 bytes, expected 48");
  end.end = {2};
  end.expect("entry 0 has result 0 of 8 bytes, expected 12");
  stack.s = {3, 3};
  stack.expect("entry 0 has result 1 of 36 bytes, expected 48");
  count.loop.count = INT64_MAX;
  count.expect("entry 0 has operand 2 of more bytes than fit 64 bits");
}

/// Padding of buffers in the arena is no mistake.
TEST(LoopErrors, NotPadding) {
  Parts parts;
  parts.builder.addArgument("h", REMAT_F32, {3});
  uint32_t padded = parts.builder.addArenaBuffer(128, 64);
  parts.builder.addEntry(makeCopy(parts.builder.addArgumentBuffer(0), padded));
  parts.operands = {padded};
  for (std::vector<int64_t> dims : {parts.w, parts.x})
    parts.operands.push_back(parts.builder.addArgumentBuffer(
        parts.builder.addArgument("argument", REMAT_F32, dims)));
  for (std::vector<int64_t> dims : {parts.end, parts.s})
    parts.results.push_back(parts.builder.addResultBuffer(
        parts.builder.addResult("result", REMAT_F32, dims)));
  parts.builder.addEntry(makeLoop(parts.builder.addLoop(parts.loop),
                                  parts.operands, parts.results,
                                  parts.builder.addArenaBuffer(0, 128)));
  EXPECT_EQ(Step(parts.builder, kernels).message, "");
}

TEST(LoopErrors, Workspace) {
  Parts small;
  small.room = 64;
  small.expect("entry 0 has a workspace of 64 bytes, expected at least 128");
  CellLoop cell(4, false, /*isInPlace=*/true);
  cell.builder.addEntry(makeLoop(0, cell.entry.operands, cell.entry.results));
  refused(cell.builder.finalize(),
          "entry 1 has a workspace of 0 bytes, expected at least 64");
  StepTableBuilder large = cellBuilder(/*isInPlace=*/false);
  large.setArenaBytes(UINT64_MAX);
  Parts overflow(large);
  overflow.expect("entry 0 needs a workspace of more bytes than fit 64 bits");
  EXPECT_EQ(loopWorkspaceBytes(overflow.loop, large.finalize()), UINT64_MAX);
  EXPECT_EQ(loopWorkspaceBytes(overflow.loop, "no table"), UINT64_MAX);
}

/// A result may be where the loop reads only what is updated in place.
TEST(LoopErrors, Overlaps) {
  for (bool isInPlace : {false, true})
    for (uint32_t result = 0; result < 2; ++result)
      for (uint32_t operand = 0; operand < 2; ++operand) {
        // One element and one iteration: all values have one size.
        StepTableBuilder builder;
        CellLoop cell(1, false, isInPlace);
        for (int i = 0; i < 3; ++i)
          builder.addArgument("argument", REMAT_F32,
                              i < 2 ? std::vector<int64_t>{3}
                                    : std::vector<int64_t>{1, 3});
        builder.addResult("h", REMAT_F32, {3});
        builder.addResult("s", REMAT_F32, {1, 3});
        StepEntry entry = cell.entry;
        for (int i = 0; i < 3; ++i)
          entry.operands[i] = builder.addArgumentBuffer(i);
        uint32_t shared = builder.addArenaBuffer(128, 12);
        builder.addEntry(makeCopy(entry.operands[operand], shared));
        entry.operands[operand] = shared;
        uint32_t results[] = {builder.addResultBuffer(0),
                              builder.addResultBuffer(1)};
        entry.results = {results[0], results[1]};
        entry.results[result] = builder.addView(shared);
        entry.callee = builder.addLoop(cellLoop(builder, 1, false, isInPlace));
        entry.workspace = builder.addArenaBuffer(0, 128);
        builder.addEntry(entry);
        builder.addEntry(makeCopy(entry.results[result], results[result]));
        if (isInPlace && result == 0 && operand == 0) {
          Step step(builder, kernels);
          EXPECT_EQ(step.message, "");
          continue;
        }
        refused(builder.finalize(),
                "entry 1 has result " + std::to_string(result) +
                    " that overlaps operand " + std::to_string(operand));
      }
  Parts results;
  results.builder.addResult("both", REMAT_F32, {4, 3});
  uint32_t both = results.builder.addResultBuffer(0);
  results.results = {results.builder.addView(both, 0, 12), both};
  for (std::vector<int64_t> dims : {results.h, results.w, results.x})
    results.operands.push_back(results.builder.addArgumentBuffer(
        results.builder.addArgument("argument", REMAT_F32, dims)));
  results.builder.addEntry(makeLoop(results.builder.addLoop(results.loop),
                                    results.operands, results.results,
                                    results.builder.addArenaBuffer(0, 128)));
  refused(results.builder.finalize(),
          "entry 0 has results 0 and 1 that overlap");
}

/// An argument that gives its buffer away is where the result is.
TEST(LoopErrors, OverlapsOfDonatedBuffers) {
  CellLoop cell(4, false, /*isInPlace=*/true, /*donates=*/true);
  EXPECT_EQ(Step(cell.builder, kernels).message, "");
  cell.entry.results[1] = cell.builder.addResultBuffer(1);
  cell.entry.operands[1] = cell.entry.operands[0];
  cell.entry.workspace = cell.builder.addArenaBuffer(128, 64);
  cell.builder.addEntry(cell.entry);
  refused(cell.builder.finalize(),
          "entry 1 has result 0 that overlaps operand 1");
}

/// An iteration writes over its own element of a slice, and no other.
TEST(LoopErrors, OverlapsOfElements) {
  for (bool isOwn : {true, false}) {
    StepTableBuilder body;
    body.addArgument("x", REMAT_F32, {3});
    body.addResult("y", REMAT_F32, {3});
    body.addDonation(0, 0);
    uint32_t x = body.addArgumentBuffer(0);
    body.addEntry(makeEntry(0, {x}, {body.addView(x)}));
    StepTableBuilder builder;
    uint32_t loop = builder.addLoop(
        makeRecord(builder.addBody(body.finalize()), 0, 0, 1, 1, 0, 2), {1, 1});
    for (uint32_t i = 0; i < 2; ++i) {
      builder.addArgument("x", REMAT_F32, {3});
      builder.addResult("y", REMAT_F32, {3});
      builder.addDonation(i, i);
    }
    uint32_t a = builder.addArgumentBuffer(0), b = builder.addArgumentBuffer(1);
    uint32_t first = builder.addView(isOwn ? a : b),
             second = builder.addView(isOwn ? b : a);
    builder.addEntry(makeLoop(loop, {a, b}, {first, second}));
    if (isOwn)
      EXPECT_EQ(Step(builder, kernels).message, "");
    else
      refused(builder.finalize(),
              "entry 0 has result 0 that overlaps operand 1");
  }
}

TEST(LoopErrors, Bodies) {
  StepTableBuilder calls = cellBuilder(false);
  calls.beginCall();
  Parts(calls).expect("body 0 has 2 calls, expected 1");
  StepTableBuilder host = cellBuilder(false);
  host.addHostBuffer(0, 64);
  Parts(host).expect(
      "entry 0 has a workspace on the host of 0 bytes, expected at least 64");
  StepTableBuilder state = cellBuilder(false);
  state.setStateBytes(64);
  Parts(state).expect("body 0 has a state of 64 bytes, expected 0");
  StepTableBuilder packed = cellBuilder(false);
  packed.addPackedValue("codec", 1, REMAT_F32, {3}, 8);
  Parts(packed).expect("body 0 has 1 packed values, expected 0");
  StepTableBuilder entry = cellBuilder(false);
  entry.addEntry(makeEntry(7, {0}, {}));
  Step step(Parts(entry).finish(), kernels);
  EXPECT_EQ(step.message,
            "body 0: entry 3 calls kernel 7, which does not exist");
  StepTableBuilder births = cellBuilder(false);
  births.addEntry(makeCopy(births.addArenaBuffer(64, 64), 4));
  Parts(births).expect(
      "body 0: entry 3 reads buffer 6 before anything wrote it");
}

/// The first body's record in a table, to be changed.
remat_section &bodyRecord(std::string &blob, uint32_t index = 0) {
  remat_step_header header;
  std::memcpy(&header, blob.data(), sizeof(header));
  return reinterpret_cast<remat_section *>(blob.data() +
                                           header.bodies.offset)[index];
}

void seal(std::string &blob) {
  uint64_t sum = remat_table_checksum(blob.data(), blob.size());
  std::memcpy(&blob[offsetof(remat_step_header, checksum)], &sum, sizeof(sum));
}

TEST(LoopErrors, PlacesOfBodies) {
  auto change = [](auto function, const char *expected) {
    Parts parts;
    parts.builder.addBody(makeCell(/*isInPlace=*/true));
    std::string blob = parts.finish();
    function(blob);
    seal(blob);
    refused(blob, expected);
  };
  change([](std::string &blob) { bodyRecord(blob).count = UINT64_MAX - 64; },
         "body 0 lies outside of section 'body_bytes'");
  change([](std::string &blob) { bodyRecord(blob).offset = UINT64_MAX - 63; },
         "body 0 lies outside of section 'body_bytes'");
  change([](std::string &blob) { bodyRecord(blob).offset += 8; },
         "body 0 is at byte 8, expected a multiple of 64");
  change([](std::string &blob) { bodyRecord(blob, 1) = bodyRecord(blob); },
         "body 1 begins before the end of the one before it");
  change([](std::string &blob) { bodyRecord(blob).count = 64; },
         "body 0: module's step table is missing or shorter than its header");
  // The checksum of the table fits, that of the body does not.
  change(
      [](std::string &blob) {
        remat_step_header header;
        std::memcpy(&header, blob.data(), sizeof(header));
        uint64_t magic = 0;
        std::memcpy(&blob[header.body_bytes.offset], &magic, sizeof(magic));
      },
      "body 0: module's blob is not a step table");
  // Entries of a stream beside the computation.
  Parts parts;
  std::string blob = parts.finish(), body = makeCell(false);
  remat_step_header header;
  std::memcpy(&header, body.data(), sizeof(header));
  StepTableBuilder copies = cellBuilder(false);
  copies.addEntry(makeCopy(0, copies.addArenaBuffer(128, 64)));
  body = copies.finalize();
  std::memcpy(&header, body.data(), sizeof(header));
  auto *entries =
      reinterpret_cast<remat_entry *>(body.data() + header.entries.offset);
  entries[3].stream = REMAT_STREAM_TO_HOST;
  seal(body);
  Parts streams;
  streams.loop.body = streams.builder.addBody(body);
  streams.expect("body 1 has entry 3 in stream 2, expected all in stream 0");
}

/// A table within a table, `depth` times.
std::string nest(unsigned depth) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {1});
  builder.addResult("y", REMAT_F32, {1});
  uint32_t x = builder.addArgumentBuffer(0), y = builder.addResultBuffer(0);
  if (depth == 0) {
    builder.addEntry(makeCopy(x, y));
    return builder.finalize();
  }
  remat_loop loop =
      makeRecord(builder.addBody(nest(depth - 1)), 0, 0, 1, 1, 0, 1);
  builder.addEntry(makeLoop(builder.addLoop(loop), {x}, {y}));
  return builder.finalize();
}

TEST(LoopErrors, Nesting) {
  Step step(nest(REMAT_LOOP_NESTING), {});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({1}, 3), y({1});
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK);
  EXPECT_EQ(y.values[0], 3);
  std::string prefix;
  for (int i = 0; i < REMAT_LOOP_NESTING; ++i)
    prefix += "body 0: ";
  refused(nest(REMAT_LOOP_NESTING + 1),
          prefix + "has loops that are in 16 others, expected less");
}

/// The kernels of bodies are those of the machine that the step is for.
TEST(LoopErrors, Devices) {
  Step step(Parts().finish(), {}, {}, std::string(64, '\0'));
  EXPECT_EQ(step.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(step.message,
            "body 0: entry 0 calls kernel 2, which does not exist");
}

} // namespace
