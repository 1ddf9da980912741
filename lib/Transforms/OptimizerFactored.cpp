//===- OptimizerFactored.cpp - the update of Adafactor --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adafactor (Shazeer and Stern, 2018) as torch.optim computes it. Of a matrix,
// the mean squares of gradients are kept for rows and for columns only, and an
// element's is estimated by their product. The update as a whole is bounded,
// and is relative to the size of the weight. Of a weight with more dimensions,
// the last two make matrices.
//
//===----------------------------------------------------------------------===//

#include "OptimizerUpdates.h"

#include <cmath>

using namespace mlir;
using namespace remat;

using Scalar = OptimizerScalar;

namespace {
/// The update of one weight.
class Factored {
public:
  Factored(OpBuilder &builder, Location loc, const OptimizerOptions &options,
           WeightUpdate &update, const StepNumbers &numbers)
      : builder(builder), options(options), update(update), numbers(numbers),
        type(cast<RankedTensorType>(update.weight.getType())),
        element(type.getElementType()), computed(getComputedType(element)),
        loops(builder, loc, type.getShape()), loc(loc),
        isMatrix(type.getRank() > 1) {}

  void emit();

private:
  Value prepareWeight();
  Value prepareGradient();
  Scalar computeRoot(Value tensor, OptimizerLoops::Term term,
                     ArrayRef<OptimizerOperand> others);
  Value updateMean(unsigned omitted, Value mean);
  void updateState();
  Scalar scaleGradient(ArrayRef<Scalar> elements);
  StepNumbers select(std::initializer_list<Scalar StepNumbers::*> members);

  OpBuilder &builder;
  const OptimizerOptions &options;
  WeightUpdate &update;
  const StepNumbers &numbers;
  RankedTensorType type;
  Type element, computed;
  OptimizerLoops loops;
  Location loc;
  bool isMatrix;

  Value gradient;
  double epsilon = 0;
  /// What `scaleGradient` reads: the gradient and estimates of its square.
  SmallVector<OptimizerOperand> scaled;
};
} // namespace

StepNumbers
Factored::select(std::initializer_list<Scalar StepNumbers::*> members) {
  StepNumbers selected;
  for (Scalar StepNumbers::*member : members)
    selected.*member = numbers.*member;
  return selected;
}

/// The weight as it was, in the type of the arithmetic.
Value Factored::prepareWeight() {
  if (element == computed)
    return update.weight;
  SmallVector<OptimizerOperand> inputs = {loops.whole(update.weight)};
  StepNumbers used;
  if (update.master) {
    inputs.push_back(loops.whole(update.master));
    used = select({&StepNumbers::isFirst});
    addNumbers(used, computed, loops, inputs);
  }
  return loops
      .map(inputs, computed,
           [&](ArrayRef<Scalar> elements) -> SmallVector<Scalar> {
             Scalar wide = convertNumber(elements[0], computed);
             if (!update.master)
               return {wide};
             return {elements[2].select(wide, elements[1])};
           })
      .front();
}

Value Factored::prepareGradient() {
  StepNumbers used = select({&StepNumbers::unscale, &StepNumbers::clip});
  if (element == computed && !used.unscale && !used.clip &&
      options.clipValue == 0)
    return update.gradient;
  SmallVector<OptimizerOperand> inputs = {loops.whole(update.gradient)};
  addNumbers(used, computed, loops, inputs);
  return loops
      .map(inputs, computed,
           [&](ArrayRef<Scalar> elements) -> SmallVector<Scalar> {
             return {remat::prepareGradient(
                 options, convertNumber(elements[0], computed),
                 readNumbers(used, elements.drop_front()))};
           })
      .front();
}

/// The root of the mean of what `term` makes of the elements, as f64.
Scalar Factored::computeRoot(Value tensor, OptimizerLoops::Term term,
                             ArrayRef<OptimizerOperand> others) {
  SmallVector<OptimizerOperand> inputs = {loops.whole(tensor)};
  llvm::append_range(inputs, others);
  Scalar sum = {&builder,
                loops.sum(inputs, loops.number(tensor).map, computed, term)};
  double count = std::max<int64_t>(type.getNumElements(), 1);
  return sqrt(convertNumber(sum, builder.getF64Type()) / count);
}

/// The mean square along a dimension, mixed with that of earlier steps.
Value Factored::updateMean(unsigned omitted, Value mean) {
  AffineMap kept = loops.getMap(omitted);
  double size = std::max<int64_t>(type.getDimSize(omitted), 1);
  Value sums = loops.sum(
      loops.whole(gradient), kept, computed,
      [](ArrayRef<Scalar> elements) { return elements[0] * elements[0]; });
  auto shape = cast<RankedTensorType>(sums.getType()).getShape();
  OptimizerLoops rows(builder, loc, shape);
  SmallVector<OptimizerOperand> inputs = {rows.whole(mean), rows.whole(sums)};
  StepNumbers used = select({&StepNumbers::share, &StepNumbers::isFinite});
  addNumbers(used, computed, rows, inputs);
  return rows
      .map(inputs, computed,
           [&](ArrayRef<Scalar> elements) -> SmallVector<Scalar> {
             StepNumbers read = readNumbers(used, elements.drop_front(2));
             Scalar old = elements[0];
             Scalar next = old + read.share * (elements[1] / size - old);
             return {read.isFinite ? read.isFinite.select(next, old) : next};
           })
      .front();
}

void Factored::updateState() {
  scaled = {loops.whole(gradient)};
  if (isMatrix) {
    unsigned columns = type.getRank() - 1, rows = columns - 1;
    Value &rowMeans = update.state[0], &columnMeans = update.state[1];
    rowMeans = updateMean(columns, rowMeans);
    columnMeans = updateMean(rows, columnMeans);
    auto rowType = cast<RankedTensorType>(rowMeans.getType());
    OptimizerLoops overRows(builder, loc, rowType.getShape());
    Value sums =
        overRows.sum(overRows.whole(rowMeans), overRows.getMap(rows), computed,
                     [](ArrayRef<Scalar> elements) { return elements[0]; });
    AffineMap matrices = loops.getMap(columns).dropResult(rows);
    scaled.append({{rowMeans, loops.getMap(columns)},
                   {columnMeans, loops.getMap(rows)},
                   {sums, matrices}});
    return;
  }
  Value &variance = update.state[0];
  SmallVector<OptimizerOperand> inputs = {loops.whole(variance),
                                          loops.whole(gradient)};
  StepNumbers used = select({&StepNumbers::share, &StepNumbers::isFinite});
  addNumbers(used, computed, loops, inputs);
  variance = loops
                 .map(inputs, computed,
                      [&](ArrayRef<Scalar> elements) -> SmallVector<Scalar> {
                        StepNumbers read =
                            readNumbers(used, elements.drop_front(2));
                        Scalar old = elements[0], g = elements[1];
                        Scalar next = old + read.share * (g * g - old);
                        return {read.isFinite ? read.isFinite.select(next, old)
                                              : next};
                      })
                 .front();
  scaled.push_back(loops.whole(variance));
}

/// The gradient by the root of what its square is estimated to be.
Scalar Factored::scaleGradient(ArrayRef<Scalar> elements) {
  Scalar square = elements[1];
  if (isMatrix) {
    double rows = std::max<int64_t>(type.getDimSize(type.getRank() - 2), 1);
    square = square * elements[2] / atLeast(elements[3] / rows, epsilon);
  }
  return atLeast(square, epsilon * epsilon).apply<math::RsqrtOp>() *
         elements[0];
}

void Factored::emit() {
  Value weight = prepareWeight();
  gradient = prepareGradient();
  Type own = update.master ? computed : element;
  unsigned precision =
      APFloat::semanticsPrecision(cast<FloatType>(own).getFloatSemantics());
  epsilon = options.epsilon1.value_or(std::ldexp(1.0, 1 - int(precision)));
  updateState();

  Scalar size = atLeast(computeRoot(weight,
                                    [](ArrayRef<Scalar> elements) {
                                      return elements[0] * elements[0];
                                    },
                                    {}),
                        options.epsilon2);
  Scalar change = computeRoot(
      gradient,
      [&](ArrayRef<Scalar> elements) {
        Scalar change = scaleGradient(elements);
        return change * change;
      },
      ArrayRef(scaled).drop_front());
  StepNumbers used = select({&StepNumbers::decay, &StepNumbers::isFinite});
  used.rate = size * numbers.rate / atLeast(change / options.updateBound, 1);

  SmallVector<OptimizerOperand> inputs(scaled);
  inputs.push_back(loops.whole(weight));
  addNumbers(used, computed, loops, inputs);
  SmallVector<Type> types = {element};
  if (update.master)
    types.push_back(computed);
  SmallVector<Value> results = loops.map(
      inputs, types, [&](ArrayRef<Scalar> elements) -> SmallVector<Scalar> {
        Scalar old = elements[scaled.size()];
        StepNumbers read =
            readNumbers(used, elements.drop_front(scaled.size() + 1));
        Scalar next = read.decay ? old * read.decay : old;
        next = next - read.rate * scaleGradient(elements);
        if (read.isFinite)
          next = read.isFinite.select(next, old);
        SmallVector<Scalar> made = {convertNumber(next, element)};
        if (update.master)
          made.push_back(next);
        return made;
      });
  update.weight = results[0];
  if (update.master)
    update.master = results[1];
}

void remat::updateByAdafactor(OpBuilder &builder, Location loc,
                              const OptimizerOptions &options,
                              WeightUpdate &update,
                              const StepNumbers &numbers) {
  Factored(builder, loc, options, update, numbers).emit();
}
