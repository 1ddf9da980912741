//===- Fourier.cpp - discrete Fourier transforms --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform of length r m is r-point transforms of every m-th element,
// factors for each element, and then m-point transforms (Cooley and Tukey). The
// one of a short length is a product with a matrix. So a transform costs its
// length times the sum of its factors, and is made of contractions, which have
// derivatives. A length without short factors is a convolution with a chirp, of
// a length that is a power of two (Bluestein).
//
// Real and imaginary parts are tensors of their own.
//
//===----------------------------------------------------------------------===//

#include "Indexed.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/Support/MathExtras.h"

#include <complex>

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// The longest transform that is a product with a matrix.
static constexpr int64_t longestMatrix = 64;

/// The most numbers in a constant that a transform multiplies by.
static constexpr int64_t mostFactors = int64_t(1) << 26;

using Number = std::complex<double>;

/// exp(2 pi i turns / whole).
static Number getRoot(int64_t turns, int64_t whole) {
  turns %= whole;
  double angle = 2 * llvm::numbers::pi * static_cast<double>(turns) /
                 static_cast<double>(whole);
  return {std::cos(angle), std::sin(angle)};
}

/// The transform of `numbers`, whose count is a power of two.
static std::vector<Number> transformNumbers(ArrayRef<Number> numbers) {
  int64_t size = numbers.size();
  if (size == 1)
    return numbers.vec();
  std::vector<Number> even, odd, result(size);
  for (int64_t i = 0; i < size; i += 2) {
    even.push_back(numbers[i]);
    odd.push_back(numbers[i + 1]);
  }
  even = transformNumbers(even);
  odd = transformNumbers(odd);
  for (int64_t i = 0; i < size / 2; ++i) {
    Number turned = std::conj(getRoot(i, size)) * odd[i];
    result[i] = even[i] + turned;
    result[i + size / 2] = even[i] - turned;
  }
  return result;
}

namespace {
/// Complex numbers. Without `im` they are real.
struct Parts {
  Value re, im;
};

class Fourier {
public:
  /// Of an `inverse` transform, what is built here is not divided by the
  /// length.
  Fourier(OpBuilder &builder, Location loc, bool isInverse)
      : math(builder, loc), isInverse(isInverse) {}

  /// Transforms dimension `dim` of `x`.
  Parts transform(Parts x, int64_t dim);

  Indexed math;

private:
  /// The factor that belongs to `turns` of `whole`.
  Number getFactor(int64_t turns, int64_t whole) const {
    Number root = getRoot(turns, whole);
    return isInverse ? root : std::conj(root);
  }
  /// On the last dimension of matrices.
  Parts transformRows(Parts x);
  Parts transformByChirp(Parts x);
  /// Constants of `shape`.
  Parts makeConstants(ArrayRef<int64_t> shape, Type element,
                      ArrayRef<Number> numbers);
  /// Calls `combine` for the products of parts, and adds them up.
  Parts combine(Parts a, Parts b,
                llvm::function_ref<Value(Value, Value)> product);
  Parts reshape(Parts x, ArrayRef<int64_t> shape);
  Parts transpose(Parts x, ArrayRef<int64_t> permutation);

  bool isInverse;
};
} // namespace

static ArrayRef<int64_t> getShape(const Parts &x) {
  return cast<RankedTensorType>(x.re.getType()).getShape();
}

/// The length of the first of two transforms; 0 if the length is short, and 1
/// if it has no short factor.
static int64_t findFactor(int64_t length) {
  if (length <= longestMatrix)
    return 0;
  int64_t best = 1, bestCost = INT64_MAX;
  for (int64_t factor = 2; factor <= longestMatrix; ++factor) {
    if (length % factor != 0)
      continue;
    // What is left after the longest matrix counts only if it is the last.
    int64_t rest = length / factor;
    int64_t cost =
        rest <= longestMatrix ? factor + rest : 2 * longestMatrix + rest;
    if (cost <= bestCost) {
      best = factor;
      bestCost = cost;
    }
  }
  return best;
}

/// The numbers in the largest constant of a transform.
static int64_t countFactors(int64_t length) {
  int64_t rest = length, factor;
  while ((factor = findFactor(rest)) > 1)
    rest /= factor;
  int64_t chirp = factor == 0 ? 0 : llvm::PowerOf2Ceil(2 * rest - 1);
  return std::max(length, chirp);
}

Parts Fourier::makeConstants(ArrayRef<int64_t> shape, Type element,
                             ArrayRef<Number> numbers) {
  auto make = [&](llvm::function_ref<double(Number)> part) -> Value {
    auto type = RankedTensorType::get(shape, element);
    const llvm::fltSemantics &semantics =
        cast<FloatType>(element).getFloatSemantics();
    SmallVector<APFloat> values;
    for (Number number : numbers) {
      APFloat value(part(number));
      bool loses;
      value.convert(semantics, APFloat::rmNearestTiesToEven, &loses);
      values.push_back(value);
    }
    return arith::ConstantOp::create(math.builder, math.loc,
                                     DenseElementsAttr::get(type, values));
  };
  return {make([](Number number) { return number.real(); }),
          make([](Number number) { return number.imag(); })};
}

Parts Fourier::combine(Parts a, Parts b,
                       llvm::function_ref<Value(Value, Value)> product) {
  Value re = product(a.re, b.re), im = product(a.re, b.im);
  if (!a.im)
    return {re, im};
  return {math.subtract(re, product(a.im, b.im)),
          math.add(im, product(a.im, b.re))};
}

Parts Fourier::reshape(Parts x, ArrayRef<int64_t> shape) {
  auto one = [&](Value value) {
    return value ? createReshape(math.builder, math.loc, value, shape) : value;
  };
  return {one(x.re), one(x.im)};
}

Parts Fourier::transpose(Parts x, ArrayRef<int64_t> permutation) {
  auto one = [&](Value value) {
    return value ? createTranspose(math.builder, math.loc, value, permutation)
                 : value;
  };
  return {one(x.re), one(x.im)};
}

Parts Fourier::transformRows(Parts x) {
  Type element = getElementTypeOrSelf(x.re);
  int64_t rows = getShape(x)[0], length = getShape(x)[1],
          factor = findFactor(length);
  if (factor == 1)
    return transformByChirp(x);
  int64_t size = factor == 0 ? length : factor, rest = length / size;
  SmallVector<Number> numbers;
  for (int64_t in = 0; in < size; ++in)
    for (int64_t out = 0; out < size; ++out)
      numbers.push_back(getFactor(in * out, size));
  Parts matrix = makeConstants({size, size}, element, numbers);
  if (rest == 1)
    return combine(x, matrix, [&](Value a, Value b) {
      return math.contract("bn,nk->bk", a, b);
    });
  x = combine(reshape(x, {rows, size, rest}), matrix, [&](Value a, Value b) {
    return math.contract("bnm,nk->bkm", a, b);
  });
  numbers.clear();
  for (int64_t out = 0; out < size; ++out)
    for (int64_t in = 0; in < rest; ++in)
      numbers.push_back(getFactor(out * in, length));
  x = combine(
      x, makeConstants({size, rest}, element, numbers), [&](Value a, Value b) {
        return math.map(
            "bkm,km->bkm", {a, b},
            [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
              return arith::MulFOp::create(nested, loc, args[0], args[1]);
            });
      });
  x = transformRows(reshape(x, {rows * size, rest}));
  x = transpose(reshape(x, {rows, size, rest}), {0, 2, 1});
  return reshape(x, {rows, length});
}

Parts Fourier::transformByChirp(Parts x) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  Type element = getElementTypeOrSelf(x.re);
  int64_t length = getShape(x)[1], size = llvm::PowerOf2Ceil(2 * length - 1);
  // exp(pi i j^2 / length); squares are taken modulo the period.
  SmallVector<Number> chirp;
  for (int64_t j = 0, square = 0; j < length; ++j) {
    chirp.push_back(getFactor(square, 2 * length));
    square = (square + 2 * j + 1) % (2 * length);
  }
  // The transform of its conjugate, as far as it is needed, on both sides of 0.
  std::vector<Number> kernel(size);
  for (int64_t j = 0; j < length; ++j)
    kernel[j] = kernel[(size - j) % size] = std::conj(chirp[j]);
  kernel = transformNumbers(kernel);
  for (Number &number : kernel)
    number /= static_cast<double>(size);
  auto multiply = [&](Parts a, Parts b) {
    return combine(a, b, [&](Value left, Value right) {
      return math.map(
          "bn,n->bn", {left, right},
          [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
            return arith::MulFOp::create(nested, loc, args[0], args[1]);
          });
    });
  };
  Parts turns = makeConstants({length}, element, chirp);
  x = multiply(x, turns);
  Value zero = createConstant(builder, loc, element, 0.0);
  auto pad = [&](Value value) {
    return createPadded(builder, loc, value, zero, {0, 0}, {0, size - length},
                        {0, 0});
  };
  Fourier forward(builder, loc, false), inverse(builder, loc, true);
  x = forward.transformRows({pad(x.re), pad(x.im)});
  x = multiply(x, makeConstants({size}, element, kernel));
  x = inverse.transformRows(x);
  auto cut = [&](Value value) {
    return createSlice(builder, loc, value, {0, 0}, {getShape(x)[0], length},
                       {1, 1});
  };
  return multiply({cut(x.re), cut(x.im)}, turns);
}

Parts Fourier::transform(Parts x, int64_t dim) {
  int64_t rank = getShape(x).size();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[dim], permutation[rank - 1]);
  x = transpose(x, permutation);
  SmallVector<int64_t> shape(getShape(x));
  int64_t rows = ShapedType::getNumElements(ArrayRef(shape).drop_back());
  x = transformRows(reshape(x, {rows, shape.back()}));
  return transpose(reshape(x, shape), permutation);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// `value`, or its parts.
static Parts split(Indexed &math, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto complexType = dyn_cast<ComplexType>(type.getElementType());
  if (!complexType)
    return {value, {}};
  RankedTensorType real = type.clone(complexType.getElementType());
  auto take = [&](auto part) {
    return createElementwise(math.builder, math.loc, value, real, part);
  };
  return {take([](OpBuilder &nested, Location loc, ValueRange args) -> Value {
            return complex::ReOp::create(nested, loc, args[0]);
          }),
          take([](OpBuilder &nested, Location loc, ValueRange args) -> Value {
            return complex::ImOp::create(nested, loc, args[0]);
          })};
}

static Value join(Indexed &math, Parts x) {
  auto type = cast<RankedTensorType>(x.re.getType());
  auto complexType = ComplexType::get(type.getElementType());
  return createElementwise(
      math.builder, math.loc, {x.re, x.im}, type.clone(complexType),
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return complex::CreateOp::create(nested, loc, complexType, args[0],
                                         args[1]);
      });
}

/// The whole spectrum of real numbers, of which `x` is the first half along the
/// last dimension; the rest is its conjugate backwards.
static Parts completeSpectrum(Indexed &math, Parts x, int64_t length) {
  int64_t rank = getShape(x).size(), half = getShape(x).back(),
          rest = length - half;
  if (rest == 0)
    return x;
  SmallVector<int64_t> begin(rank, 0), sizes(getShape(x)), strides(rank, 1);
  begin.back() = 1;
  sizes.back() = rest;
  auto extend = [&](Value value, double sign) -> Value {
    Value mirrored = createReversed(
        math.builder, math.loc,
        createSlice(math.builder, math.loc, value, begin, sizes, strides),
        {rank - 1});
    if (sign < 0)
      mirrored = math.scale(mirrored, sign);
    return tensor::ConcatOp::create(math.builder, math.loc, rank - 1,
                                    ValueRange{value, mirrored});
  };
  return {extend(x.re, 1), extend(x.im, -1)};
}

static LogicalResult lowerFft(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  StringRef kind = getEnum(op, "fft_type");
  SmallVector<int64_t> lengths = getIntegers(op, "fft_length");
  RankedTensorType from = lowering.getTensorType(op->getOperand(0)),
                   to = lowering.getTensorType(op->getResult(0));
  if (kind != "FFT" && kind != "IFFT" && kind != "RFFT" && kind != "IRFFT")
    return op->emitOpError("has 'fft_type' ")
           << kind << ", expected FFT, IFFT, RFFT or IRFFT";
  int64_t count = lengths.size(), rank = from.getRank();
  if (count < 1 || count > 3 || count > rank)
    return op->emitOpError("has ")
           << count << " lengths, expected 1 to " << std::min<int64_t>(3, rank);
  bool isReal = kind == "RFFT", toReal = kind == "IRFFT";
  Type element = from.getElementType(), real = element;
  if (auto complexType = dyn_cast<ComplexType>(element))
    real = complexType.getElementType();
  if (isa<ComplexType>(element) == isReal || !(real.isF32() || real.isF64()))
    return op->emitOpError("of ")
           << from << " is not supported, expected "
           << (isReal ? "f32 or f64" : "complex numbers of f32 or f64");
  // Of a spectrum of real numbers, about half is stored.
  SmallVector<int64_t> given(from.getShape()), made(from.getShape());
  for (auto [number, length] : llvm::enumerate(lengths)) {
    int64_t dim = rank - count + number;
    given[dim] = made[dim] = length;
  }
  if (toReal)
    given.back() = lengths.back() / 2 + 1;
  if (isReal)
    made.back() = lengths.back() / 2 + 1;
  if (given != from.getShape())
    return op->emitOpError("has an operand of type ")
           << from << ", expected one of shape [" << given
           << "] for the lengths [" << lengths << "]";
  if (failed(checkShape(op, made)))
    return failure();
  Type expected = toReal ? real : Type(ComplexType::get(real));
  if (to.getElementType() != expected)
    return op->emitOpError("has a result of type ")
           << to << ", expected elements of type " << expected;
  for (int64_t length : lengths)
    if (int64_t factors = countFactors(length); factors > mostFactors)
      return op->emitOpError("has a length of ")
             << length << ", for which " << factors
             << " factors are stored, expected at most " << mostFactors;
  Location loc = op->getLoc();
  if (to.getNumElements() == 0 || from.getNumElements() == 0)
    return lowering.set(op, createZeros(builder, loc, to));

  bool isInverse = kind == "IFFT" || toReal;
  Fourier fourier(builder, loc, isInverse);
  Parts x = split(fourier.math, lowering.get(op->getOperand(0)));
  if (isReal) {
    x = fourier.transform(x, rank - 1);
    SmallVector<int64_t> zeros(rank, 0), ones(rank, 1);
    x = {createSlice(builder, loc, x.re, zeros, made, ones),
         createSlice(builder, loc, x.im, zeros, made, ones)};
  }
  for (int64_t dim = rank - count; dim < rank - 1; ++dim)
    x = fourier.transform(x, dim);
  if (toReal)
    x = completeSpectrum(fourier.math, x, lengths.back());
  if (!isReal)
    x = fourier.transform(x, rank - 1);
  if (isInverse) {
    double factor = 1.0;
    for (int64_t length : lengths)
      factor /= static_cast<double>(length);
    x = {fourier.math.scale(x.re, factor), fourier.math.scale(x.im, factor)};
  }
  return lowering.set(op, toReal ? x.re : join(fourier.math, x));
}

void foreign::addFourier(LoweringTable &table) {
  table["stablehlo.fft"] = {lowerFft, 1};
}
