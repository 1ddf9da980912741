//===- StopSoftmaxMaxGradient.cpp - maxima that a softmax subtracts -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax subtracts the maximum of each row only so that nothing overflows.
// Its result does not depend on what is subtracted, so the maximum's gradient
// is zero: not a small number but an identity. Saying so with
// remat.stop_gradient spares the backward pass three passes over the scores,
// and the scores themselves.
//
// The proof follows a shift of the maximum by c through all that uses it: a
// value becomes v + degree * c or v * exp(degree * c). Where all degrees end at
// zero, the shift has no effect.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace remat {
#define GEN_PASS_DEF_STOPSOFTMAXMAXGRADIENTPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// How a number changes when the maximum grows by c.
struct Shift {
  enum Kind { None, Sum, Factor } kind = None;
  int64_t degree = 0;

  static Shift get(Kind kind, int64_t degree) {
    return degree == 0 ? Shift() : Shift{kind, degree};
  }
  bool isNone() const { return kind == None; }
  bool operator==(const Shift &other) const {
    return kind == other.kind && degree == other.degree;
  }
};

/// A tensor that changes: how, and which of its dimensions each dimension of
/// the maximum has become.
struct ShiftedTensor {
  Shift shift;
  SmallVector<int64_t> dims;
};

class ShiftProof {
public:
  /// Whether no result of the function depends on a shift of `maximum`.
  bool holdsFor(Value maximum);

private:
  bool visit(Operation *op);
  bool visitGeneric(linalg::GenericOp op);
  std::optional<Shift> getShift(Operation &op,
                                const DenseMap<Value, Shift> &known);
  bool add(Value value, ShiftedTensor tensor);

  DenseMap<Value, ShiftedTensor> shifted;
  SetVector<Operation *> worklist;
};

} // namespace

bool ShiftProof::add(Value value, ShiftedTensor tensor) {
  shifted[value] = std::move(tensor);
  for (Operation *user : value.getUsers())
    worklist.insert(user);
  return true;
}

/// The shift of a scalar operation's result; nothing if it is not of the two
/// kinds.
std::optional<Shift> ShiftProof::getShift(Operation &op,
                                          const DenseMap<Value, Shift> &known) {
  SmallVector<Shift> operands = llvm::map_to_vector(
      op.getOperands(), [&](Value value) { return known.lookup(value); });
  if (llvm::all_of(operands, [](Shift shift) { return shift.isNone(); }))
    return Shift();
  auto both = [&](Shift::Kind kind, int64_t sign) -> std::optional<Shift> {
    for (Shift shift : operands)
      if (!shift.isNone() && shift.kind != kind)
        return std::nullopt;
    return Shift::get(kind, operands[0].degree + sign * operands[1].degree);
  };
  if (isa<arith::AddFOp>(op)) {
    // Two factors of one degree can be taken out of a sum.
    if (operands[0] == operands[1] && operands[0].kind == Shift::Factor)
      return operands[0];
    return both(Shift::Sum, 1);
  }
  if (isa<arith::SubFOp>(op))
    return both(Shift::Sum, -1);
  if (isa<arith::MulFOp>(op))
    return both(Shift::Factor, 1);
  if (isa<arith::DivFOp>(op))
    return both(Shift::Factor, -1);
  if (isa<math::ExpOp>(op) && operands[0].kind == Shift::Sum)
    return Shift::get(Shift::Factor, operands[0].degree);
  if (isa<math::LogOp>(op) && operands[0].kind == Shift::Factor)
    return Shift::get(Shift::Sum, operands[0].degree);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return operands[0];
  if (isa<arith::NegFOp>(op))
    return operands[0].kind == Shift::Sum
               ? Shift::get(Shift::Sum, -operands[0].degree)
               : operands[0];
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (!operands[0].isNone())
      return std::nullopt;
    if (operands[1] == operands[2])
      return operands[1];
    // Zero is any multiple of itself.
    for (unsigned i : {1, 2})
      if (operands[i].isNone() && operands[3 - i].kind == Shift::Factor &&
          matchPattern(select->getOperand(i), m_AnyZeroFloat()))
        return operands[3 - i];
  }
  return std::nullopt;
}

bool ShiftProof::visitGeneric(linalg::GenericOp op) {
  Block *body = op.getBody();
  DenseMap<Value, Shift> known;
  // The loop that walks each dimension of the maximum.
  SmallVector<int64_t> loops;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = shifted.find(operand.get());
    if (it == shifted.end())
      continue;
    if (!op.isDpsInput(&operand))
      return false;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<int64_t> mine;
    for (int64_t dim : it->second.dims) {
      auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim));
      if (!expr)
        return false;
      mine.push_back(expr.getPosition());
    }
    if (!loops.empty() && loops != mine)
      return false;
    loops = mine;
    known[op.getMatchingBlockArgument(&operand)] = it->second.shift;
  }
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (int64_t loop : loops)
    if (iterators[loop] == utils::IteratorType::reduction)
      return false;
  // A sum of numbers with one factor has that factor: its former value does.
  bool reduces = op.getNumReductionLoops() != 0;
  Operation *terminator = body->getTerminator();
  for (Operation &inner : body->without_terminator()) {
    if (inner.getNumRegions() != 0 || inner.getNumResults() != 1)
      return false;
    for (auto [number, output] : llvm::enumerate(op.getRegionOutputArgs()))
      if (reduces && llvm::is_contained(inner.getOperands(), output)) {
        if (terminator->getOperand(number) != inner.getResult(0) ||
            inner.getNumOperands() != 2)
          return false;
        Value other = inner.getOperand(inner.getOperand(0) == output ? 1 : 0);
        Shift shift = known.lookup(other);
        if (!shift.isNone() &&
            (!isa<arith::AddFOp>(inner) || shift.kind != Shift::Factor ||
             !isZeroTensor(op.getDpsInits()[number])))
          return false;
        known[output] = shift;
      }
    std::optional<Shift> shift = getShift(inner, known);
    if (!shift)
      return false;
    if (!shift->isNone())
      known[inner.getResult(0)] = *shift;
  }
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    Shift shift = known.lookup(terminator->getOperand(number));
    if (shift.isNone())
      continue;
    AffineMap map = op.getIndexingMapsArray()[op.getNumDpsInputs() + number];
    ShiftedTensor tensor{shift, {}};
    for (int64_t loop : loops) {
      std::optional<unsigned> dim =
          map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
      if (!dim)
        return false;
      tensor.dims.push_back(*dim);
    }
    add(result, std::move(tensor));
  }
  return true;
}

bool ShiftProof::visit(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.hasPureTensorSemantics() && visitGeneric(generic);
  if (isa<TagOp>(op)) {
    ShiftedTensor tensor = shifted.at(op->getOperand(0));
    return add(op->getResult(0), std::move(tensor));
  }
  return false;
}

bool ShiftProof::holdsFor(Value maximum) {
  auto type = dyn_cast<RankedTensorType>(maximum.getType());
  if (!type)
    return false;
  add(maximum, {Shift::get(Shift::Sum, 1),
                llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))});
  // In program order, so that all operands of an operation are known.
  while (!worklist.empty()) {
    Operation *first =
        *llvm::min_element(worklist, [](Operation *a, Operation *b) {
          return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b);
        });
    worklist.remove(first);
    if (first->getBlock() != maximum.getParentBlock() || !visit(first))
      return false;
  }
  return true;
}

/// The result of `op` that is a maximum over some dimension, or null.
static Value getMaximum(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() == 0 ||
      !op.hasPureTensorSemantics())
    return {};
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *combiner = yielded.getDefiningOp();
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(combiner) ||
      !llvm::is_contained(combiner->getOperands(),
                          Value(op.getRegionOutputArgs()[0])))
    return {};
  return op->getResult(0);
}

namespace {
struct DetachMaxima
    : public remat::impl::StopSoftmaxMaxGradientPassBase<DetachMaxima> {
  void runOnOperation() override {
    SmallVector<Value> maxima;
    getOperation().walk([&](linalg::GenericOp op) {
      if (Value maximum = getMaximum(op))
        maxima.push_back(maximum);
    });
    for (Value maximum : maxima) {
      if (!ShiftProof().holdsFor(maximum))
        continue;
      OpBuilder builder(getOperation().getContext());
      builder.setInsertionPointAfterValue(maximum);
      auto stop = StopGradientOp::create(builder, maximum.getLoc(),
                                         maximum.getType(), maximum);
      maximum.replaceAllUsesExcept(stop, stop);
      ++numDetached;
    }
  }
};
} // namespace
