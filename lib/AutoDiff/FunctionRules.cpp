//===- FunctionRules.cpp - derivative rules of functions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function whose attributes name the functions that compute its derivative
// gets them as a remat.custom_rule in its body. So they hold wherever it is
// differentiated: where it is called, in remat.vjp and remat.jvp of it, and
// where it is what is compiled.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {
#define GEN_PASS_DEF_ATTACHRULESPASS
#define GEN_PASS_DEF_LOWERRULESPASS
#include "remat/AutoDiff/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static SmallVector<Type> getDifferentiable(TypeRange types) {
  return llvm::to_vector(llvm::make_filter_range(types, isDifferentiableType));
}

/// Checks the type of the function that an attribute of `function` names.
static FailureOr<func::FuncOp> getRule(ModuleOp module, func::FuncOp function,
                                       StringRef attribute, TypeRange inputs,
                                       std::optional<TypeRange> results) {
  auto symbol = function->getAttrOfType<FlatSymbolRefAttr>(attribute);
  if (!symbol)
    return func::FuncOp();
  auto rule = module.lookupSymbol<func::FuncOp>(symbol.getValue());
  if (!rule)
    return function.emitOpError("has the rule ")
           << symbol << ", which is no function";
  bool fits = TypeRange(rule.getArgumentTypes()) == inputs &&
              (!results || TypeRange(rule.getResultTypes()) == *results);
  if (fits)
    return rule;
  InFlightDiagnostic diag = function.emitOpError("has the rule ")
                            << symbol << " of type " << rule.getFunctionType()
                            << ", expected (" << inputs << ")";
  if (results)
    diag << " -> (" << *results << ")";
  return diag;
}

namespace {
/// The rules of a function; null where it has none.
struct Rules {
  func::FuncOp fwd, vjp, jvp;
};
} // namespace

static FailureOr<Rules> getRules(ModuleOp module, func::FuncOp function) {
  SmallVector<Type> x = llvm::to_vector(function.getArgumentTypes());
  SmallVector<Type> y = llvm::to_vector(function.getResultTypes());
  SmallVector<Type> dx = getDifferentiable(x), dy = getDifferentiable(y);
  FailureOr<func::FuncOp> fwd =
      getRule(module, function, RematDialect::fwdAttrName, x, std::nullopt);
  if (failed(fwd))
    return failure();
  SmallVector<Type> saved = x;
  if (*fwd) {
    TypeRange results = fwd->getResultTypes();
    if (results.size() < y.size() ||
        results.take_front(y.size()) != TypeRange(y))
      return function.emitOpError("has the rule '")
             << fwd->getName() << "' with results (" << results
             << "), expected (" << TypeRange(y) << ") and what it saves";
    saved = llvm::to_vector(results.drop_front(y.size()));
  } else {
    llvm::append_range(saved, y);
  }
  llvm::append_range(saved, dy);
  FailureOr<func::FuncOp> vjp = getRule(
      module, function, RematDialect::vjpAttrName, saved, TypeRange(dx));
  SmallVector<Type> moved = x;
  llvm::append_range(moved, dx);
  FailureOr<func::FuncOp> jvp = getRule(
      module, function, RematDialect::jvpAttrName, moved, TypeRange(dy));
  if (failed(vjp) || failed(jvp))
    return failure();
  if (*fwd && !*vjp)
    return function.emitOpError("has a 'remat.fwd' but no 'remat.vjp'");
  return Rules{*fwd, *vjp, *jvp};
}

/// Fills `region` with a call of `rule` on `saved` and the region's arguments.
static void buildRegion(Region &region, func::FuncOp rule, ValueRange saved,
                        ArrayRef<Type> types, Location loc) {
  OpBuilder builder(rule.getContext());
  Block *block = builder.createBlock(&region, {}, types,
                                     SmallVector<Location>(types.size(), loc));
  SmallVector<Value> operands = llvm::to_vector(saved);
  llvm::append_range(operands, block->getArguments());
  auto call = func::CallOp::create(builder, loc, rule, operands);
  YieldOp::create(builder, loc, call.getResults());
}

/// Puts the rules in front of `terminator`: what it returns are the values, and
/// `saved` is what the other forward function keeps beside them.
static void attachTo(func::ReturnOp terminator, const Rules &rules,
                     ValueRange arguments, ArrayRef<Value> saved) {
  OpBuilder builder(terminator);
  Location loc = terminator.getLoc();
  SmallVector<Value> values = llvm::to_vector(terminator.getOperands());
  SmallVector<Value> kept = llvm::to_vector(saved);
  if (!rules.fwd) {
    kept = llvm::to_vector(arguments);
    llvm::append_range(kept, values);
  }
  TypeRange types = ValueRange(values).getTypes();
  auto rule = CustomRuleOp::create(builder, loc, types, arguments, values);
  if (rules.vjp)
    buildRegion(rule.getVjp(), rules.vjp, kept, getDifferentiable(types), loc);
  if (rules.jvp)
    buildRegion(rule.getJvp(), rules.jvp, arguments,
                getDifferentiable(arguments.getTypes()), loc);
  terminator->setOperands(rule.getResults());
}

static void dropRules(func::FuncOp function) {
  for (StringRef name : {StringRef(RematDialect::vjpAttrName),
                         StringRef(RematDialect::jvpAttrName),
                         StringRef(RematDialect::fwdAttrName)})
    function->removeAttr(name);
}

/// Makes the body of `function` a call of `forward`, which returns more.
/// Returns what it returns beyond the results.
static SmallVector<Value> replaceBody(func::FuncOp function,
                                      func::FuncOp forward) {
  function.getBody().dropAllReferences();
  function.getBody().getBlocks().clear();
  Block *body = function.addEntryBlock();
  auto builder = OpBuilder::atBlockEnd(body);
  auto call = func::CallOp::create(builder, function.getLoc(), forward,
                                   body->getArguments());
  unsigned count = function.getNumResults();
  func::ReturnOp::create(builder, function.getLoc(),
                         call.getResults().take_front(count));
  return llvm::to_vector_of<Value>(call.getResults().drop_front(count));
}

/// The calls of `function` in its rules and in what these call.
static SmallVector<func::CallOp>
findCallsInRules(ModuleOp module, func::FuncOp function, const Rules &rules) {
  llvm::SetVector<func::FuncOp> reached;
  for (func::FuncOp rule : {rules.fwd, rules.vjp, rules.jvp})
    if (rule)
      reached.insert(rule);
  SmallVector<func::CallOp> calls;
  for (size_t i = 0; i < reached.size(); ++i) {
    func::FuncOp caller = reached[i];
    caller.walk([&](func::CallOp call) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee == function)
        calls.push_back(call);
      else if (callee)
        reached.insert(callee);
    });
  }
  return calls;
}

/// Inside of its rules, a function stands for its body, which it would call
/// without end otherwise.
static void callBodyInRules(ModuleOp module, func::FuncOp function,
                            const Rules &rules) {
  SmallVector<func::CallOp> calls = findCallsInRules(module, function, rules);
  if (calls.empty() || function.isExternal())
    return;
  func::FuncOp body = function.clone();
  dropRules(body);
  body.setPrivate();
  SymbolTable(module).insert(body, std::next(function->getIterator()));
  for (func::CallOp call : calls)
    call.setCallee(body.getName());
}

bool remat::hasRules(func::FuncOp function) {
  return llvm::any_of(ArrayRef<StringRef>{RematDialect::vjpAttrName,
                                          RematDialect::jvpAttrName,
                                          RematDialect::fwdAttrName},
                      [&](StringRef name) { return function->hasAttr(name); });
}

LogicalResult remat::attachRules(func::FuncOp function) {
  if (!hasRules(function))
    return success();
  auto module = function->getParentOfType<ModuleOp>();
  if (!module)
    return function.emitOpError("has rules, but is in no module that could "
                                "have the functions which they name");
  FailureOr<Rules> rules = getRules(module, function);
  if (failed(rules))
    return failure();
  callBodyInRules(module, function, *rules);
  SmallVector<Value> saved;
  if (rules->fwd)
    saved = replaceBody(function, rules->fwd);
  for (Block &block : function.getBody())
    if (auto terminator = dyn_cast<func::ReturnOp>(block.getTerminator()))
      attachTo(terminator, *rules, function.getArguments(), saved);
  dropRules(function);
  return success();
}

namespace {
struct RematAttachRulesPass
    : remat::impl::AttachRulesPassBase<RematAttachRulesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(attachRules(function)))
        return signalPassFailure();
  }
};

struct RematLowerRulesPass
    : remat::impl::LowerRulesPassBase<RematLowerRulesPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto rule = dyn_cast<CustomRuleOp>(op))
        rule.replaceAllUsesWith(rule.getValues());
      else if (auto hook = dyn_cast<GradientHookOp>(op))
        hook.replaceAllUsesWith(hook.getValues());
      else
        return;
      op->erase();
    });
  }
};
} // namespace
