//===- NarrowFloatsTest.cpp - f16 and bf16 give the same bits everywhere --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels on f16 and bf16 are compiled for CPUs with and without instructions
// for these types, and compared bit by bit with LLVM's software floats, which
// round once.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "remat/Target/CPU/TargetMachine.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "gtest/gtest.h"

#include <functional>
#include <optional>
#include <set>

using namespace remat::test;
using llvm::APFloat;
using llvm::APInt;

namespace {

constexpr auto toNearest = APFloat::rmNearestTiesToEven;

/// A type of numbers by its name in MLIR.
struct Type {
  std::string name;
  unsigned width;
  /// Null for integers.
  const llvm::fltSemantics *semantics;
};

const Type f64{"f64", 64, &APFloat::IEEEdouble()};
const Type f32{"f32", 32, &APFloat::IEEEsingle()};
const Type f16{"f16", 16, &APFloat::IEEEhalf()};
const Type bf16{"bf16", 16, &APFloat::BFloat()};
const Type i1{"i1", 8, nullptr};

/// The bits of a tensor's elements.
using Bits = std::vector<uint64_t>;

APFloat toFloat(uint64_t bits, const Type &type) {
  return APFloat(*type.semantics, APInt(type.width, bits));
}

uint64_t toBits(const APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

uint64_t convert(APFloat value, const Type &to) {
  bool losesInfo;
  value.convert(*to.semantics, toNearest, &losesInfo);
  return toBits(value);
}

} // namespace

/// CPUs that differ in what they have for f16 and bf16: nothing, conversions of
/// f16, those on vectors of AVX-512, conversions of bf16, arithmetic on f16.
/// Only those whose code this machine can run.
static std::vector<std::string> getCpus() {
  std::vector<std::string> cpus;
  for (const char *cpu : {"native", "x86-64", "haswell", "skylake-avx512",
                          "znver4", "sapphirerapids"}) {
    if (llvm::Error error = remat::cpu::checkRunsHere(cpu))
      llvm::consumeError(std::move(error));
    else
      cpus.push_back(cpu);
  }
  return cpus;
}

static Bytes pack(const Bits &values, const Type &type) {
  size_t size = type.width / 8;
  Bytes bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&bytes[i * size], &values[i], size);
  return bytes;
}

static Bits unpack(const Bytes &bytes, const Type &type) {
  size_t size = type.width / 8;
  Bits values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], &bytes[i * size], size);
  return values;
}

/// A kernel that computes `body` for each element: of %x0, %x1 ... it yields
/// %y0, %y1 ...
static std::string makeKernel(size_t count, const std::vector<Type> &inputs,
                              const std::vector<Type> &outputs,
                              const std::string &body) {
  std::string arguments, empties, maps, ins, inTypes, outs, outTypes, block,
      yields, scalarTypes, results;
  auto tensor = [&](const Type &type) {
    return "tensor<" + std::to_string(count) + "x" + type.name + ">";
  };
  auto add = [](std::string &list, const std::string &item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string number = std::to_string(i);
    add(arguments, "%a" + number + ": " + tensor(inputs[i]));
    add(maps, "#m");
    add(ins, "%a" + number);
    add(inTypes, tensor(inputs[i]));
    add(block, "%x" + number + ": " + inputs[i].name);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string number = std::to_string(i);
    empties +=
        "  %e" + number + " = tensor.empty() : " + tensor(outputs[i]) + "\n";
    add(maps, "#m");
    add(outs, "%e" + number);
    add(outTypes, tensor(outputs[i]));
    add(block, "%o" + number + ": " + outputs[i].name);
    add(yields, "%y" + number);
    add(scalarTypes, outputs[i].name);
    add(results, outputs.size() == 1 ? "%r" : "%r#" + number);
  }
  std::string declared =
      outputs.size() == 1 ? "%r" : "%r:" + std::to_string(outputs.size());
  return "#m = affine_map<(i) -> (i)>\nfunc.func @k(" + arguments + ") -> (" +
         outTypes + ") {\n" + empties + "  " + declared +
         " = linalg.generic {indexing_maps = [" + maps +
         "], iterator_types = [\"parallel\"]} ins(" + ins + " : " + inTypes +
         ") outs(" + outs + " : " + outTypes + ") {\n^bb0(" + block + "):\n" +
         body + "\n    linalg.yield " + yields + " : " + scalarTypes +
         "\n  } -> (" + outTypes + ")\n  return " + results + " : " + outTypes +
         "\n}\n";
}

/// What an element of each result is to be, for the elements of the inputs.
using Oracle = std::function<std::vector<uint64_t>(llvm::ArrayRef<uint64_t>)>;

/// Equal bits, or two NaNs where the oracle computes rather than converts: the
/// standard leaves the sign and the payload of such a NaN open.
static bool agrees(uint64_t found, uint64_t expected, const Type &type,
                   bool anyNan) {
  if (found == expected)
    return true;
  return anyNan && type.semantics && toFloat(found, type).isNaN() &&
         toFloat(expected, type).isNaN();
}

/// Runs the kernel for all CPUs and compares each result with the oracle's.
static void check(const std::vector<Type> &inputs,
                  const std::vector<Type> &outputs, const std::string &body,
                  const std::vector<Bits> &values, const Oracle &oracle,
                  bool anyNan = false) {
  std::string text = makeKernel(values[0].size(), inputs, outputs, body);
  std::vector<Bytes> arguments;
  for (size_t i = 0; i < inputs.size(); ++i)
    arguments.push_back(pack(values[i], inputs[i]));
  std::vector<Bits> expected(outputs.size());
  for (size_t i = 0; i < values[0].size(); ++i) {
    llvm::SmallVector<uint64_t> element;
    for (const Bits &input : values)
      element.push_back(input[i]);
    std::vector<uint64_t> result = oracle(element);
    for (size_t r = 0; r < outputs.size(); ++r)
      expected[r].push_back(result[r]);
  }
  for (const std::string &cpu : getCpus()) {
    SCOPED_TRACE("for " + cpu);
    RunOptions options;
    options.cpu = cpu;
    RunResult run = runKernel(text, arguments, options);
    ASSERT_EQ(run.error, "") << text;
    for (size_t r = 0; r < outputs.size(); ++r) {
      Bits found = unpack(run.results[r], outputs[r]);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_TRUE(agrees(found[i], expected[r][i], outputs[r], anyNan))
            << std::hex << "result " << r << " of 0x" << values[0][i]
            << (values.size() > 1 ? " and others" : "") << " is 0x" << found[i]
            << ", expected 0x" << expected[r][i];
    }
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Significands of `width` bits in which rounding may go wrong: one or two bits
/// that are set, up to all that are below or above them, and their neighbours.
static Bits makeSignificands(unsigned width) {
  uint64_t all = (uint64_t(1) << width) - 1;
  std::set<uint64_t> result{0, all};
  for (unsigned i = 0; i < width; ++i)
    for (unsigned j = 0; j <= i; ++j) {
      uint64_t pair = uint64_t(1) << i | uint64_t(1) << j;
      for (uint64_t value : {pair, all - pair, (uint64_t(1) << i) - 1,
                             all - ((uint64_t(1) << i) - 1)})
        result.insert(value);
    }
  return Bits(result.begin(), result.end());
}

/// All signs and exponents from `least` to `most` with such significands.
static Bits makeFloats(unsigned significand, unsigned width, uint64_t least,
                       uint64_t most) {
  Bits values, significands = makeSignificands(significand);
  for (uint64_t sign : {0, 1})
    for (uint64_t exponent = least; exponent <= most; ++exponent)
      for (uint64_t bits : significands)
        values.push_back(sign << (width - 1) | exponent << significand | bits);
  return values;
}

static Bits makeAllNarrow() {
  Bits values(1 << 16);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i;
  return values;
}

/// Pairs of values of 16 bits: all with some others.
static std::vector<Bits> makePairs() {
  std::vector<Bits> pairs(2);
  uint64_t state = 1;
  for (uint64_t a = 0; a < 1 << 16; ++a)
    for (int i = 0; i < 5; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Of any size, of nearly the same size, and special values.
      uint64_t random = state >> 48;
      uint64_t b = i < 2 ? random
                   : i < 4
                       ? (a + random % 1024 + 0x7e00 * (random & 1)) & 0xffff
                       : random & 0xffff & (0xff80 | random >> 9);
      pairs[0].push_back(a);
      pairs[1].push_back(b);
    }
  return pairs;
}

static Bits makeIntegers(unsigned width) {
  uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  std::set<uint64_t> values;
  for (unsigned i = 0; i < width; ++i)
    for (unsigned j = 0; j <= i; ++j)
      for (unsigned k = 0; k <= j; k += 1 + k / 3) {
        uint64_t value = uint64_t(1) << i | uint64_t(1) << j | uint64_t(1) << k;
        for (uint64_t sum : {value, value - 1, 0 - value, 1 - value})
          values.insert(sum & mask);
      }
  return Bits(values.begin(), values.end());
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static void checkTruncation(const Type &from, const Type &to,
                            const Bits &values) {
  SCOPED_TRACE(from.name + " to " + to.name);
  check({from}, {to},
        "    %y0 = arith.truncf %x0 : " + from.name + " to " + to.name,
        {values}, [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
          return {convert(toFloat(x[0], from), to)};
        });
}

TEST(NarrowFloats, FromF32) {
  Bits values = makeFloats(23, 32, 0, 255);
  checkTruncation(f32, bf16, values);
  checkTruncation(f32, f16, values);
}

// A result that is rounded to f32 first is another one where f32 is a tie.
TEST(NarrowFloats, FromF64RoundsOnce) {
  constexpr uint64_t bias = 1023;
  Bits values = makeFloats(52, 64, bias - 28, bias + 17);
  checkTruncation(f64, f16, values);
  for (auto [least, most] : {std::pair<uint64_t, uint64_t>(0, 1),
                             {bias - 152, bias - 120},
                             {bias - 2, bias + 2},
                             {bias + 126, bias + 129},
                             {2046, 2047}})
    checkTruncation(f64, bf16, makeFloats(52, 64, least, most));
  checkTruncation(f64, f16, makeFloats(52, 64, 2046, 2047));
  checkTruncation(f64, f16, makeFloats(52, 64, 0, 1));
}

TEST(NarrowFloats, ToWider) {
  for (const Type &from : {bf16, f16})
    for (const Type &to : {f32, f64}) {
      SCOPED_TRACE(from.name + " to " + to.name);
      check({from}, {to},
            "    %y0 = arith.extf %x0 : " + from.name + " to " + to.name,
            {makeAllNarrow()},
            [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
              // The only conversion that leaves a signalling NaN alone.
              if (&*from.semantics == &APFloat::BFloat() && to.width == 32)
                return {x[0] << 16};
              return {convert(toFloat(x[0], from), to)};
            });
    }
}

TEST(NarrowFloats, BetweenThem) {
  for (const auto &[from, to] : {std::pair(bf16, f16), std::pair(f16, bf16)}) {
    SCOPED_TRACE(from.name + " to " + to.name);
    check({from}, {to},
          "    %w = arith.extf %x0 : " + from.name +
              " to f32\n    %y0 = arith.truncf %w : f32 to " + to.name,
          {makeAllNarrow()},
          [&, from = from,
           to = to](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
            return {convert(toFloat(x[0], from), to)};
          });
  }
}

TEST(NarrowFloats, FromIntegers) {
  for (const Type &to : {bf16, f16})
    for (unsigned width : {8, 16, 32, 64}) {
      Type from{"i" + std::to_string(width), width, nullptr};
      SCOPED_TRACE(from.name + " to " + to.name);
      check({from}, {to, to},
            "    %y0 = arith.sitofp %x0 : " + from.name + " to " + to.name +
                "\n    %y1 = arith.uitofp %x0 : " + from.name + " to " +
                to.name,
            {makeIntegers(width)},
            [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
              APFloat asSigned(*to.semantics), asUnsigned(*to.semantics);
              APInt value(width, x[0]);
              asSigned.convertFromAPInt(value, true, toNearest);
              asUnsigned.convertFromAPInt(value, false, toNearest);
              return {toBits(asSigned), toBits(asUnsigned)};
            });
    }
}

TEST(NarrowFloats, ToIntegers) {
  for (const Type &from : {bf16, f16})
    for (unsigned width : {32, 64}) {
      Type to{"i" + std::to_string(width), width, nullptr};
      SCOPED_TRACE(from.name + " to " + to.name);
      // Where the integer holds the value; elsewhere it is poison.
      Bits values;
      auto toInteger = [&](uint64_t bits) -> std::optional<uint64_t> {
        llvm::APSInt value(width, /*isUnsigned=*/false);
        bool isExact;
        if (toFloat(bits, from)
                .convertToInteger(value, APFloat::rmTowardZero, &isExact) &
            APFloat::opInvalidOp)
          return std::nullopt;
        return value.getZExtValue();
      };
      for (uint64_t bits : makeAllNarrow())
        if (toInteger(bits))
          values.push_back(bits);
      check({from}, {to},
            "    %y0 = arith.fptosi %x0 : " + from.name + " to " + to.name,
            {values}, [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
              return {*toInteger(x[0])};
            });
    }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Replaces `T` by the name of the type.
static std::string forType(std::string body, const Type &type) {
  for (size_t at = 0; (at = body.find(" T", at)) != std::string::npos; ++at)
    body.replace(at + 1, 1, type.name);
  return body;
}

TEST(NarrowFloats, ArithmeticRoundsOnce) {
  for (const Type &type : {bf16, f16}) {
    SCOPED_TRACE(type.name);
    check(
        {type, type}, {type, type, type, type},
        forType(R"(
    %y0 = arith.addf %x0, %x1 : T
    %y1 = arith.subf %x0, %x1 : T
    %y2 = arith.mulf %x0, %x1 : T
    %y3 = arith.divf %x0, %x1 : T)",
                type),
        makePairs(),
        [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
          APFloat a = toFloat(x[0], type), b = toFloat(x[1], type);
          APFloat sum = a, difference = a, product = a, quotient = a;
          sum.add(b, toNearest);
          difference.subtract(b, toNearest);
          product.multiply(b, toNearest);
          quotient.divide(b, toNearest);
          return {toBits(sum), toBits(difference), toBits(product),
                  toBits(quotient)};
        },
        /*anyNan=*/true);
  }
}

TEST(NarrowFloats, ExtremaRemaindersAndComparisons) {
  for (const Type &type : {bf16, f16}) {
    SCOPED_TRACE(type.name);
    check(
        {type, type}, {type, type, type, i1, i1, i1},
        forType(R"(
    %y0 = arith.maximumf %x0, %x1 : T
    %y1 = arith.minimumf %x0, %x1 : T
    %y2 = arith.remf %x0, %x1 : T
    %y3 = arith.cmpf olt, %x0, %x1 : T
    %y4 = arith.cmpf ueq, %x0, %x1 : T
    %y5 = arith.cmpf uno, %x0, %x1 : T)",
                type),
        makePairs(),
        [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
          APFloat a = toFloat(x[0], type), b = toFloat(x[1], type);
          APFloat rest = a;
          rest.mod(b);
          APFloat::cmpResult order = a.compare(b);
          return {toBits(llvm::maximum(a, b)),
                  toBits(llvm::minimum(a, b)),
                  toBits(rest),
                  order == APFloat::cmpLessThan,
                  order == APFloat::cmpEqual || order == APFloat::cmpUnordered,
                  order == APFloat::cmpUnordered};
        },
        /*anyNan=*/true);
  }
}

// Nothing becomes of a value that is only moved, nor of a NaN whose sign
// changes: a choice of a loop's values and of constants crosses blocks.
TEST(NarrowFloats, MovesKeepBits) {
  for (const Type &type : {bf16, f16}) {
    SCOPED_TRACE(type.name);
    check({type, type}, {type, type, type},
          forType(R"(
    %y0 = arith.negf %x0 : T
    %less = arith.cmpf olt, %x0, %x1 : T
    %y1 = arith.select %less, %x0, %x1 : T
    %zero = arith.constant -0.0 : T
    %y2 = scf.if %less -> T {
      scf.yield %x1 : T
    } else {
      scf.yield %zero : T
    })",
                  type),
          makePairs(),
          [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
            bool less = toFloat(x[0], type) < toFloat(x[1], type);
            return {x[0] ^ 0x8000, less ? x[0] : x[1], less ? x[1] : 0x8000};
          });
  }
}

// Neither f32 nor f64 has enough digits for the sum: it is rounded twice,
// unless what is lost is remembered.
TEST(NarrowFloats, FusedProductsRoundOnce) {
  for (const Type &type : {bf16, f16}) {
    SCOPED_TRACE(type.name);
    std::vector<Bits> values = makePairs();
    values.emplace_back();
    for (size_t i = 0; i < values[0].size(); ++i)
      // Anything, or the least there is, which no other type has room for.
      values[2].push_back(i % 2 ? values[1][i * 7919 % values[1].size()]
                                : (i & 2) << 14 | (1 + i % 3));
    check(
        {type, type, type}, {type},
        forType("    %y0 = math.fma %x0, %x1, %x2 : T", type), values,
        [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
          APFloat result = toFloat(x[0], type);
          result.fusedMultiplyAdd(toFloat(x[1], type), toFloat(x[2], type),
                                  toNearest);
          return {toBits(result)};
        },
        /*anyNan=*/true);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The results of one function of a narrow type for all its values.
static Bits apply(const std::string &function, const Type &from, const Type &to,
                  const Bits &values) {
  RunOptions options;
  options.cpu = "native";
  RunResult run =
      runKernel(makeKernel(values.size(), {from}, {to},
                           "    %y0 = " + function + " %x0 : " + from.name),
                {pack(values, from)}, options);
  EXPECT_EQ(run.error, "");
  return run.error.empty() ? unpack(run.results[0], to) : Bits(values.size());
}

// Each result is that of f32, rounded: also where another function reads it in
// the same kernel. Only NaNs are not compared.
TEST(NarrowFloats, FunctionsAreRounded) {
  for (const Type &type : {bf16, f16}) {
    SCOPED_TRACE(type.name);
    Bits all = makeAllNarrow(), wide, tanh, exp;
    for (uint64_t bits : all)
      wide.push_back(convert(toFloat(bits, type), f32));
    for (uint64_t bits : apply("math.tanh", f32, f32, wide))
      tanh.push_back(convert(toFloat(bits, f32), type));
    wide.clear();
    for (uint64_t bits : tanh)
      wide.push_back(convert(toFloat(bits, type), f32));
    for (uint64_t bits : apply("math.exp", f32, f32, wide))
      exp.push_back(convert(toFloat(bits, f32), type));
    check(
        {type}, {type, type},
        forType(R"(
    %y0 = math.tanh %x0 : T
    %y1 = math.exp %y0 : T)",
                type),
        {all},
        [&](llvm::ArrayRef<uint64_t> x) -> std::vector<uint64_t> {
          return {tanh[x[0]], exp[x[0]]};
        },
        /*anyNan=*/true);
  }
}
