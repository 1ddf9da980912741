//===- Idioms.cpp - the table of idioms and its door ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An idiom is admitted if the exporter's decomposition loses the framework's
// value at a singular point, and if its formula equals that of the parts
// elsewhere.
//
// To add one, write its `match`, a line in the table here and one in the table
// of docs/differentiation.md, and a test of its name in test/AutoDiff/Idioms,
// which checks both halves of the rule. The suite fails while one is missing.
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"

#include "mlir/IR/Remarks.h"

#include "IdiomMatchers.h"

using namespace mlir;
using namespace remat;

// clang-format off
static constexpr Idiom idioms[] = {
    {"square-of-magnitude",
     "huber_loss, smooth_l1_loss, linalg.vector_norm: abs(x) * abs(x), with "
     "factors, or abs(x) to the power 2",
     idiom::matchSquareOfMagnitude},
    {"logsigmoid",
     "logsigmoid, binary_cross_entropy_with_logits: min(x, 0) - "
     "log1p(exp(-abs(x)))",
     idiom::matchLogSigmoid},
    {"sigmoid",
     "sigmoid, silu, glu: 1 / (1 + exp(-x)), and derivatives of softplus",
     idiom::matchSigmoid},
    {"logit",
     "logit: log(x / (1 - x))",
     idiom::matchLogit},
    {"negative-elu",
     "elu, selu: exp(min(x, 0)), with factors, in the sum of two parts",
     idiom::matchNegativeElu},
    {"xlogy",
     "xlogy, special.xlog1py, kl_div: x == 0 ? 0 : x * log(y)",
     idiom::matchXLogY},
    {"logaddexp",
     "logaddexp, logaddexp2: max(a, b) + log1p(exp(-abs(a - b))), or the "
     "maximum where it is infinite",
     idiom::matchLogAddExp},
    {"logcumsumexp",
     "logcumsumexp: log of the sums of exp(x) so far",
     idiom::matchLogCumSumExp},
    {"elu",
     "celu: x > 0 ? x : expm1(x), with factors",
     idiom::matchElu},
    {"softplus",
     "softplus: x > threshold ? x : log1p(exp(x)), with factors",
     idiom::matchSoftplus},
    {"sinc",
     "sinc: x == 0 ? 1 : sin(x) / x",
     idiom::matchSinc},
    {"extremum",
     "maximum, minimum, clamp by tensors: a > b ? a : b",
     idiom::matchExtremum},
    {"clamp",
     "clamp, relu, relu6, hardtanh: x > bound ? x : bound",
     idiom::matchClamp},
};
// clang-format on

ArrayRef<Idiom> remat::getIdioms() { return idioms; }

void IdiomLog::emitRemarks(StringRef function) const {
  for (auto [op, idiom] : found)
    remark::passed(op->getLoc(), remark::RemarkOpts::name(idiom->name)
                                     .category("idiom")
                                     .function(function))
        << idiom->source;
}

//===----------------------------------------------------------------------===//
// The door
//===----------------------------------------------------------------------===//

/// The terms of the idiom that ends in `op`, if the context looks for idioms.
static IdiomTerms findIdiom(Operation *op, DerivativeContext &context) {
  IdiomLog *log = context.getIdiomLog();
  if (!log)
    return {};
  for (const Idiom &idiom : idioms) {
    IdiomTerms terms = idiom.match(op);
    if (terms.empty())
      continue;
    log->add(op, idiom);
    return terms;
  }
  return {};
}

/// Reports that `op` has no rule, or that the context has none at all: those of
/// upstream's operations are extensions.
static LogicalResult reportNoRule(Operation *op) {
  InFlightDiagnostic error = op->emitOpError("has no derivative rule");
  auto sum = RegisteredOperationName::lookup(arith::AddFOp::getOperationName(),
                                             op->getContext());
  if (sum && !sum->hasInterface<DifferentiableOpInterface>())
    error.attachNote() << "rules of upstream's operations are not registered; "
                          "call remat::registerRematExtensions, or give "
                          "mlir-opt --load-dialect-plugin=RematPlugin.so, too";
  return error;
}

LogicalResult remat::emitDerivative(Operation *op, ReverseContext &context) {
  if (IdiomTerms terms = findIdiom(op, context); !terms.empty()) {
    Value cotangent = context.cotangent(op->getResult(0));
    for (const IdiomTerm &term : terms)
      if (context.isActive(term.leaf) && cotangent)
        context.accumulate(term.leaf,
                           term.derivative(Expr(context, cotangent)));
    return success();
  }
  if (auto rule = dyn_cast<DifferentiableOpInterface>(op))
    return rule.emitVJP(context);
  return reportNoRule(op);
}

LogicalResult remat::emitDerivative(Operation *op, ForwardContext &context) {
  if (IdiomTerms terms = findIdiom(op, context); !terms.empty()) {
    for (const IdiomTerm &term : terms)
      if (Value tangent = context.tangent(term.leaf)) {
        const auto &derivative = term.tangent ? term.tangent : term.derivative;
        context.addTangent(op->getResult(0),
                           derivative(Expr(context, tangent)));
      }
    return success();
  }
  if (auto rule = dyn_cast<DifferentiableOpInterface>(op))
    return rule.emitJVP(context);
  return reportNoRule(op);
}
