//===- MaskedColumns.cpp - scores that a causal mask hides ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See MaskedColumns.h. The columns are a loop of the operation that compares
// its index with the row's, and of all that share a buffer with it. Bodies are
// then evaluated at a masked element, of which nothing is known but that
// column - row >= shift.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/MaskedColumns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace remat::codegen;

namespace {

/// What is known of a scalar at a masked element.
struct Known {
  enum Kind {
    Anything,
    Float,
    Boolean,
    /// row * `row` + column * `column` + `offset`.
    Index,
    /// The value of a reduction so far.
    Old
  } kind = Anything;
  double number = 0;
  bool truth = false;
  int64_t row = 0, column = 0, offset = 0;

  bool isNumber(double value) const { return kind == Float && number == value; }
  bool isTruth(bool value) const { return kind == Boolean && truth == value; }
  bool operator==(const Known &o) const {
    return kind == o.kind && number == o.number && truth == o.truth &&
           row == o.row && column == o.column && offset == o.offset;
  }
};

constexpr double infinity = std::numeric_limits<double>::infinity();

Known makeFloat(double number) {
  Known known;
  known.kind = Known::Float;
  known.number = number;
  return known;
}

Known makeBoolean(bool truth) {
  Known known;
  known.kind = Known::Boolean;
  known.truth = truth;
  return known;
}

Known makeIndex(int64_t row, int64_t column, int64_t offset) {
  Known known;
  known.kind = Known::Index;
  known.row = row;
  known.column = column;
  known.offset = offset;
  return known;
}

/// Evaluates a body at a masked element.
class MaskedBody {
public:
  MaskedBody(unsigned row, unsigned column, int64_t shift)
      : row(row), column(column), shift(shift) {}

  void set(Value value, Known known) { values[value] = known; }
  Known get(Value value) const;
  void run(Block &body);

  /// The least shift that decides all comparisons of the two indices.
  std::optional<int64_t> needed;

private:
  Known evaluate(Operation *op);
  Known evaluateFloat(Operation *op) const;
  Known compare(arith::CmpIOp op);

  unsigned row, column;
  int64_t shift;
  DenseMap<Value, Known> values;
};

} // namespace

Known MaskedBody::get(Value value) const {
  auto it = values.find(value);
  if (it != values.end())
    return it->second;
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  if (auto number = dyn_cast<FloatAttr>(constant))
    return makeFloat(number.getValueAsDouble());
  if (auto integer = dyn_cast<IntegerAttr>(constant)) {
    if (integer.getType().isInteger(1))
      return makeBoolean(integer.getValue().getBoolValue());
    if (integer.getValue().getSignificantBits() <= 32)
      return makeIndex(0, 0, integer.getValue().getSExtValue());
  }
  return {};
}

/// Decides by the sign of left - right, if that is column - row up to a
/// constant, or the reverse.
Known MaskedBody::compare(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  Known a = get(op.getLhs()), b = get(op.getRhs());
  P predicate = op.getPredicate();
  bool isLess = predicate == P::slt || predicate == P::sle;
  bool isStrict = predicate == P::slt || predicate == P::sgt;
  if (a.kind != Known::Index || b.kind != Known::Index ||
      (!isLess && predicate != P::sgt && predicate != P::sge))
    return {};
  int64_t sign = a.column - b.column, offset = a.offset - b.offset;
  if (a.row - b.row != -sign || (sign != 1 && sign != -1))
    return {};
  // With x = column - row >= shift the left side less the right is
  // sign * x + offset, which has its final sign from here on:
  bool isGrowing = sign == 1;
  bool orEqual = isGrowing == isLess ? !isStrict : isStrict;
  int64_t from = (isGrowing ? -offset : offset) + (orEqual ? 1 : 0);
  needed = std::max(needed.value_or(from), from);
  if (shift < from)
    return {};
  return makeBoolean(isGrowing != isLess);
}

Known MaskedBody::evaluateFloat(Operation *op) const {
  if (op->getNumOperands() == 0 || op->getNumOperands() > 2)
    return {};
  Known a = get(op->getOperand(0));
  Known b = op->getNumOperands() == 2 ? get(op->getOperand(1)) : Known();
  auto either = [&](double number) {
    return a.isNumber(number) || b.isNumber(number);
  };
  // An operand that leaves the other one as it is.
  auto neutral = [&](double number) -> Known {
    if (a.isNumber(number))
      return b;
    return b.isNumber(number) ? a : Known();
  };
  return TypeSwitch<Operation *, Known>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return a; })
      .Case([&](arith::NegFOp) {
        return a.kind == Known::Float ? makeFloat(-a.number) : Known();
      })
      .Case([&](arith::AddFOp) {
        return either(-infinity) ? makeFloat(-infinity) : neutral(0);
      })
      .Case([&](arith::SubFOp) {
        return a.isNumber(-infinity) ? a : b.isNumber(0) ? a : Known();
      })
      .Case([&](arith::MulFOp) { return either(0) ? makeFloat(0) : Known(); })
      .Case([&](arith::DivFOp) { return a.isNumber(0) ? a : Known(); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return neutral(-infinity); })
      .Case([&](math::ExpOp) {
        return a.isNumber(-infinity) ? makeFloat(0) : Known();
      })
      .Case([&](arith::CmpFOp compare) {
        bool equal = compare.getPredicate() == arith::CmpFPredicate::OEQ;
        return equal && a.kind == Known::Float && b.kind == Known::Float
                   ? makeBoolean(a.number == b.number)
                   : Known();
      })
      .Default([](Operation *) { return Known(); });
}

Known MaskedBody::evaluate(Operation *op) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    if (index.getDim() == row)
      return makeIndex(1, 0, 0);
    return index.getDim() == column ? makeIndex(0, 1, 0) : Known();
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return get(op->getOperand(0));
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    Known a = get(op->getOperand(0)), b = get(op->getOperand(1));
    if (a.kind != Known::Index || b.kind != Known::Index)
      return {};
    int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
    return makeIndex(a.row + sign * b.row, a.column + sign * b.column,
                     a.offset + sign * b.offset);
  }
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return compare(cmp);
  if (isa<arith::AndIOp>(op)) {
    Known a = get(op->getOperand(0)), b = get(op->getOperand(1));
    if (a.isTruth(false) || b.isTruth(false))
      return makeBoolean(false);
    return a.isTruth(true) ? b : b.isTruth(true) ? a : Known();
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Known condition = get(select.getCondition());
    Known a = get(select.getTrueValue()), b = get(select.getFalseValue());
    if (condition.kind == Known::Boolean)
      return condition.truth ? a : b;
    return a == b ? a : Known();
  }
  return evaluateFloat(op);
}

void MaskedBody::run(Block &body) {
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() == 1 && op.getNumRegions() == 0)
      set(op.getResult(0), evaluate(&op));
}

namespace {

class Finder {
public:
  Finder(ArrayRef<BlockStep> steps, const DenseSet<Value> &inside)
      : steps(steps), inside(inside) {}

  std::optional<MaskedColumns> run();

private:
  bool findSeeds();
  bool spread();
  bool checkContraction(const BlockStep &step, int loop);
  bool checkBody(const BlockStep &step, int loop);
  bool isColumns(const BlockStep &step, int loop) const;

  ArrayRef<BlockStep> steps;
  const DenseSet<Value> &inside;
  MaskedColumns result;
  /// Buffers with a dimension of columns, and its stride.
  DenseMap<Value, int64_t> strides;
  /// What is known of their masked elements.
  DenseMap<Value, Known> contents;
};

} // namespace

/// Whether a loop may be one over the columns: of its own, all of them.
bool Finder::isColumns(const BlockStep &step, int loop) const {
  const Loop &info = step.nest->loops[loop];
  return info.size == result.size && info.dims.size() == 1 &&
         info.dims.front() != step.row && !info.isOpen();
}

/// The loops whose index is compared with the row's.
bool Finder::findSeeds() {
  std::optional<int64_t> shift;
  // Where a mask hides all of the first rows, their maxima are infinite, and
  // what is masked is no zero.
  bool hidesRows = false;
  for (auto [number, step] : llvm::enumerate(steps)) {
    for (auto [loop, info] : llvm::enumerate(step.nest->loops)) {
      if (info.dims.size() != 1 || info.dims.front() == step.row)
        continue;
      MaskedBody body(step.row, info.dims.front(), 0);
      body.run(*step.nest->body);
      if (!body.needed)
        continue;
      if (result.loops[number] >= 0 || step.isJoined ||
          (shift && info.size != result.size))
        return false;
      result.loops[number] = loop;
      result.size = info.size;
      shift = std::max(shift.value_or(1), *body.needed);
      hidesRows |= *body.needed < 1;
    }
  }
  result.shift = shift.value_or(1);
  return shift && !hidesRows;
}

/// The same columns in all steps that share buffers with those that have them.
bool Finder::spread() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [number, step] : llvm::enumerate(steps)) {
      int &loop = result.loops[number];
      SmallVector<const Access *> accesses;
      for (const Access &access :
           llvm::concat<const Access>(step.nest->inputs, step.nest->outputs))
        if (access.root && inside.contains(access.root))
          accesses.push_back(&access);
      for (const Access *access : accesses) {
        auto stride = strides.find(access->root);
        if (stride == strides.end() || loop >= 0)
          continue;
        for (unsigned i = 0; i < step.nest->loops.size(); ++i)
          if (access->coefficients[i] == stride->second && isColumns(step, i))
            loop = i;
        if (loop < 0)
          return false;
        changed = true;
      }
      if (loop < 0)
        continue;
      for (const Access *access : accesses) {
        int64_t stride = access->coefficients[loop];
        auto known = strides.find(access->root);
        if (known != strides.end() ? known->second != stride
                                   : stride != 0 && access->nonlinear)
          return false;
        if (known == strides.end() && stride != 0) {
          strides[access->root] = stride;
          changed = true;
        }
      }
    }
  }
  return true;
}

/// Terms of a contraction that are zero need not be added.
bool Finder::checkContraction(const BlockStep &step, int loop) {
  const Access &output = step.nest->outputs[0];
  if (output.coefficients[loop] != 0 && inside.contains(output.root)) {
    contents[output.root] = Known();
    return true;
  }
  if (output.coefficients[loop] != 0 && !step.sums)
    return false;
  return llvm::any_of(step.nest->inputs, [&](const Access &input) {
    return input.coefficients[loop] != 0 && inside.contains(input.root) &&
           contents.lookup(input.root).isNumber(0);
  });
}

bool Finder::checkBody(const BlockStep &step, int loop) {
  const LoopNest &nest = *step.nest;
  MaskedBody body(step.row, nest.loops[loop].dims.front(), result.shift);
  auto arguments = nest.body->getArguments();
  for (auto [input, argument] : llvm::zip(nest.inputs, arguments))
    if (input.root && inside.contains(input.root) &&
        input.coefficients[loop] != 0)
      body.set(argument, contents.lookup(input.root));
  Known old;
  old.kind = Known::Old;
  auto outputs = arguments.drop_front(nest.inputs.size());
  if (nest.loops[loop].isReduction)
    for (Value argument : outputs)
      body.set(argument, old);
  body.run(*nest.body);
  for (auto [number, output] : llvm::enumerate(nest.outputs)) {
    Known value = body.get(nest.body->getTerminator()->getOperand(number));
    if (nest.loops[loop].isReduction) {
      if (value.kind != Known::Old || output.coefficients[loop] != 0)
        return false;
      continue;
    }
    if (output.coefficients[loop] == 0 || !inside.contains(output.root))
      return false;
    contents[output.root] = value;
  }
  return true;
}

std::optional<MaskedColumns> Finder::run() {
  result.loops.assign(steps.size(), -1);
  if (!findSeeds() || !spread())
    return std::nullopt;
  for (auto [step, loop] : llvm::zip(steps, result.loops))
    if (loop >= 0 && !(step.isContraction ? checkContraction(step, loop)
                                          : checkBody(step, loop)))
      return std::nullopt;
  return result;
}

std::optional<MaskedColumns>
remat::codegen::findMaskedColumns(ArrayRef<BlockStep> steps,
                                  const DenseSet<Value> &inside) {
  return Finder(steps, inside).run();
}
