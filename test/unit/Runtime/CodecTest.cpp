//===- CodecTest.cpp - values that the caller's codecs pack ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <cstring>
#include <map>
#include <string>

using namespace remat;

namespace {

/// What a codec is called with, and what it keeps itself.
struct Log {
  std::vector<std::string> calls;
  std::map<uint64_t, std::vector<char>> kept;
  int failing = 0; // the call that fails, counted from 1
};

std::string describe(const char *what, const remat_saved_value *value) {
  std::string text = std::string(what) + " " + std::to_string(value->id) + ":";
  for (int32_t i = 0; i < value->rank; ++i)
    text += " " + std::to_string(value->dims[i]);
  return text + " of " + std::to_string(value->dtype) + ", " +
         std::to_string(value->bytes) + " in " +
         std::to_string(value->packed_bytes) + " at " + value->location;
}

int fails(const Log &log) {
  return log.failing == static_cast<int>(log.calls.size()) ? 7 : 0;
}

/// Keeps everything outside of the step.
int packOutside(void *user, const remat_saved_value *value, const void *data,
                void *) {
  Log &log = *static_cast<Log *>(user);
  log.calls.push_back(describe("pack", value));
  const char *bytes = static_cast<const char *>(data);
  log.kept[value->id].assign(bytes, bytes + value->bytes);
  return fails(log);
}

int unpackOutside(void *user, const remat_saved_value *value, const void *,
                  void *data) {
  Log &log = *static_cast<Log *>(user);
  log.calls.push_back(describe("unpack", value));
  std::memcpy(data, log.kept.at(value->id).data(), value->bytes);
  return fails(log);
}

/// Keeps the value in the step.
int packInside(void *, const remat_saved_value *value, const void *data,
               void *packed) {
  std::memcpy(packed, data, value->bytes);
  return 0;
}

int unpackInside(void *, const remat_saved_value *value, const void *packed,
                 void *data) {
  std::memcpy(data, packed, value->bytes);
  return 0;
}

StepEntry makeCodecEntry(remat_entry_kind kind, uint32_t value, uint32_t from,
                         uint32_t to) {
  StepEntry entry = makeEntry(value, {from}, {to});
  entry.kind = kind;
  entry.name = kind == REMAT_ENTRY_PACK ? "pack" : "unpack";
  entry.location = "model.py:3:1";
  return entry;
}

/// y = unpack(pack(x)) for 4 floats, with `packedBytes` bytes between.
StepTableBuilder makeTable(uint64_t packedBytes, const char *codec = "outside",
                           remat_dtype dtype = REMAT_F32) {
  StepTableBuilder builder;
  builder.addArgument("x", dtype, {2, 2});
  builder.addResult("y", dtype, {2, 2});
  uint32_t value = builder.addPackedValue(codec, 5, dtype, {2, 2}, packedBytes);
  uint32_t packed = builder.addArenaBuffer(0, packedBytes);
  builder.addEntry(makeCodecEntry(REMAT_ENTRY_PACK, value,
                                  builder.addArgumentBuffer(0), packed));
  builder.addEntry(makeCodecEntry(REMAT_ENTRY_UNPACK, value, packed,
                                  builder.addResultBuffer(0)));
  return builder;
}

struct Codecs {
  explicit Codecs(Log &log)
      : codecs{{"outside", packOutside, unpackOutside, &log},
               {"inside", packInside, unpackInside, nullptr}} {
    options.codecs = codecs;
    options.codec_count = 2;
  }
  remat_codec codecs[2];
  remat_step_options options = {};
};

TEST(Codecs, KeepValuesOutside) {
  Log log;
  Codecs codecs(log);
  Step step(makeTable(0), {}, codecs.options);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({2, 2}, 3), y({2, 2});
  ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(y.values, x.values);
  EXPECT_EQ(step.stats().measured_peak_bytes, 0u);
  EXPECT_EQ(log.calls, (std::vector<std::string>{
                           "pack 5: 2 2 of 0, 16 in 0 at model.py:3:1",
                           "unpack 5: 2 2 of 0, 16 in 0 at model.py:3:1"}));
}

TEST(Codecs, KeepValuesInside) {
  Log log;
  Codecs codecs(log);
  Step step(makeTable(16, "inside"), {}, codecs.options);
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({2, 2}, 3), y({2, 2});
  ASSERT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_EQ(y.values, x.values);
  // Rounded up, as all buffers are.
  EXPECT_EQ(step.stats().measured_peak_bytes, 64u);
  EXPECT_TRUE(log.calls.empty());
}

TEST(Codecs, FailuresEndTheRun) {
  Log log;
  Codecs codecs(log);
  Step step(makeTable(0), {}, codecs.options);
  Tensor x({2, 2}, 3), y({2, 2});
  log.failing = 1;
  EXPECT_EQ(step.run({x}, {y}), REMAT_CODEC_ERROR);
  EXPECT_EQ(step.message, "entry 0 'pack' at model.py:3:1: pack of codec "
                          "'outside' failed with code 7 for value 5");
  EXPECT_STREQ(remat_status_name(REMAT_CODEC_ERROR), "codec error");
  log = {};
  log.failing = 2;
  EXPECT_EQ(step.run({x}, {y}), REMAT_CODEC_ERROR);
  EXPECT_EQ(step.message, "entry 1 'unpack' at model.py:3:1: unpack of codec "
                          "'outside' failed with code 7 for value 5");
  log = {};
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK);
}

TEST(Codecs, TruthValuesAreChecked) {
  Log log;
  Codecs codecs(log);
  Step step(makeTable(4, "broken", REMAT_I1), {}, [&] {
    codecs.codecs[1].name = "broken";
    codecs.codecs[1].unpack = [](void *, const remat_saved_value *,
                                 const void *, void *data) {
      std::memset(data, 2, 4);
      return 0;
    };
    return codecs.options;
  }());
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  char in[4] = {0, 1, 1, 0}, out[4];
  int64_t dims[] = {2, 2};
  EXPECT_EQ(step.run({{in, REMAT_I1, 2, dims}}, {{out, REMAT_I1, 2, dims}}),
            REMAT_CODEC_ERROR);
  EXPECT_EQ(step.message,
            "entry 1 'unpack' at model.py:3:1: unpack of codec 'broken' gave a "
            "byte above 1 for value 5 of type 'i1', expected 0 or 1");
}

TEST(Codecs, MustBeGiven) {
  Log log;
  Codecs codecs(log);
  Step none(makeTable(0), {});
  EXPECT_EQ(none.loaded, REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(none.message,
            "step needs the codec 'outside' for entry 0 'pack' at "
            "model.py:3:1, but the options give none");
  Step other(makeTable(0, "file"), {}, codecs.options);
  EXPECT_EQ(other.message,
            "step needs the codec 'file' for entry 0 'pack' at model.py:3:1, "
            "but the options give 'outside', 'inside'");
  codecs.codecs[1].name = "outside";
  EXPECT_EQ(Step(makeTable(0), {}, codecs.options).message,
            "option 'codecs' has two codecs 'outside'");
  codecs.codecs[1].pack = nullptr;
  EXPECT_EQ(Step(makeTable(0), {}, codecs.options).message,
            "option 'codecs' has no name, no pack or no unpack in codec 1");
  codecs.options.codecs = nullptr;
  EXPECT_EQ(Step(makeTable(0), {}, codecs.options).message,
            "option 'codecs' is NULL, expected 2 codecs");
}

TEST(Codecs, TablesAreChecked) {
  Log log;
  Codecs codecs(log);
  auto load = [&](auto change) {
    StepTableBuilder builder;
    builder.addArgument("x", REMAT_F32, {2, 2});
    builder.addResult("y", REMAT_F32, {2, 2});
    uint32_t value =
        builder.addPackedValue("outside", 5, REMAT_F32, {2, 2}, 65);
    StepEntry pack =
        makeCodecEntry(REMAT_ENTRY_PACK, value, builder.addArgumentBuffer(0),
                       builder.addArenaBuffer(0, 128));
    StepEntry unpack = makeCodecEntry(
        REMAT_ENTRY_UNPACK, value, pack.results[0], builder.addResultBuffer(0));
    change(builder, pack, unpack);
    builder.addEntry(pack);
    builder.addEntry(unpack);
    Step step(builder, {}, codecs.options);
    EXPECT_EQ(step.loaded == REMAT_OK, step.message.empty());
    return step.message;
  };
  using Builder = StepTableBuilder;
  EXPECT_EQ(load([](Builder &, StepEntry &, StepEntry &) {}), "");
  EXPECT_EQ(
      load([](Builder &, StepEntry &pack, StepEntry &) { pack.callee = 1; }),
      "entry 0 'pack' at model.py:3:1 calls packed value 1, which does "
      "not exist");
  EXPECT_EQ(load([](Builder &builder, StepEntry &pack, StepEntry &) {
              pack.results[0] = builder.addArenaBuffer(128, 64);
            }),
            "entry 0 'pack' at model.py:3:1 writes 65 bytes of its result, "
            "which has 64");
  EXPECT_EQ(load([](Builder &builder, StepEntry &pack, StepEntry &) {
              pack.operands[0] = builder.addView(pack.operands[0], 0, 8);
            }),
            "entry 0 'pack' at model.py:3:1 reads 16 bytes of operand 0, which "
            "has 8");
  EXPECT_EQ(load([](Builder &, StepEntry &pack, StepEntry &) {
              pack.operands.push_back(pack.operands[0]);
            }),
            "entry 0 'pack' at model.py:3:1 packs without exactly one operand "
            "and one result");
  EXPECT_EQ(load([](Builder &, StepEntry &, StepEntry &unpack) {
              unpack.results[0] = unpack.operands[0];
            }),
            "entry 1 'unpack' at model.py:3:1 has a result that overlaps "
            "operand 0");
}

} // namespace
