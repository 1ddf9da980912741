//===- Calls.cpp - functions, custom calls, tuples and tokens -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Custom calls whose names begin with `remat.` are how a program of JAX says
// what StableHLO has no words for.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Calls of bodies are written out, since what is called takes tensors.
static LogicalResult lowerScalarCall(Operation *op, Lowering &lowering,
                                     StringRef name) {
  func::FuncOp callee = lowering.lookUp(op, name);
  if (!callee || callee.isExternal())
    return op->emitOpError("calls '") << name << "', which has no body";
  SmallVector<Value> arguments = lowering.get(op->getOperands());
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    if (failed(lowering.convertType(op->getLoc(), type, types)))
      return failure();
  for (Type &type : types)
    type = getElementTypeOrSelf(type);
  OpBuilder nested(lowering.builder);
  auto results =
      lowering.lowerScalars(nested, callee.getBody(), arguments, types);
  if (failed(results))
    return failure();
  lowering.builder.restoreInsertionPoint(nested.saveInsertionPoint());
  return lowering.set(op, *results);
}

static LogicalResult lowerCallTo(Operation *op, Lowering &lowering,
                                 StringRef name) {
  if (lowering.isScalar())
    return lowerScalarCall(op, lowering, name);
  if (!lowering.lookUp(op, name))
    return op->emitOpError("calls '") << name << "', which does not exist";
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    if (failed(lowering.convertType(op->getLoc(), type, types)))
      return failure();
  auto call = func::CallOp::create(lowering.builder, op->getLoc(), name, types,
                                   lowering.get(op->getOperands()));
  for (NamedAttribute attr : op->getDiscardableAttrs())
    if (attr.getName().strref().starts_with("remat."))
      call->setAttr(attr.getName(), attr.getValue());
  return lowering.set(op, call.getResults());
}

static LogicalResult lowerCall(Operation *op, Lowering &lowering) {
  return lowerCallTo(op, lowering, cast<func::CallOp>(op).getCallee());
}

/// A composite of CHLO is that operation; of another, what it is made of.
static LogicalResult lowerComposite(Operation *op, Lowering &lowering) {
  return lowerCallTo(op, lowering, getText(op, "decomposition"));
}

//===----------------------------------------------------------------------===//
// What stands for its operands
//===----------------------------------------------------------------------===//

static LogicalResult lowerIdentity(Operation *op, Lowering &lowering) {
  return lowering.set(op, lowering.get(op->getOperands()));
}

static LogicalResult lowerTupleElement(Operation *op, Lowering &lowering) {
  auto tuple = dyn_cast<TupleType>(op->getOperand(0).getType());
  int64_t index = getInteger(op, "index", 0);
  if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size()))
    return op->emitOpError("takes element ")
           << index << " of " << op->getOperand(0).getType();
  SmallVector<Type> before, own;
  for (int64_t number = 0; number < index; ++number)
    if (failed(
            lowering.convertType(op->getLoc(), tuple.getType(number), before)))
      return failure();
  if (failed(lowering.convertType(op->getLoc(), tuple.getType(index), own)))
    return failure();
  SmallVector<Value> all = lowering.get(ValueRange(op->getOperand(0)));
  return lowering.set(
      op, ArrayRef(all).drop_front(before.size()).take_front(own.size()));
}

/// A token orders effects, and there are none.
static LogicalResult lowerToken(Operation *op, Lowering &lowering) {
  return lowering.set(op, {});
}

/// The number of the only device.
static LogicalResult lowerDeviceNumber(Operation *op, Lowering &lowering) {
  if (!isa<IntegerType>(getElementTypeOrSelf(op->getResult(0))))
    return op->emitOpError("is not supported for elements of type ")
           << getElementTypeOrSelf(op->getResult(0));
  return lowering.set(op, createInteger(lowering.builder, op->getLoc(),
                                        lowering.getType(op->getResult(0)), 0));
}

/// A cast between integers that differ in being unsigned.
static LogicalResult lowerCast(Operation *op, Lowering &lowering) {
  SmallVector<Value> values = lowering.get(op->getOperands());
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    if (failed(lowering.convertType(op->getLoc(), type, types)))
      return failure();
  if (TypeRange(values) == TypeRange(types))
    return lowering.set(op, values);
  return lowering.set(op, UnrealizedConversionCastOp::create(
                              lowering.builder, op->getLoc(), types, values)
                              .getResults());
}

//===----------------------------------------------------------------------===//
// Custom calls
//===----------------------------------------------------------------------===//

/// What a call says of its result, in its configuration or as an attribute.
template <typename Attr>
static Attr getConfig(Operation *op, StringRef name) {
  for (StringRef where :
       {"backend_config", "mhlo.backend_config", "mhlo.attributes"})
    if (auto config = dyn_cast_or_null<DictionaryAttr>(getAttr(op, where)))
      if (auto attr = config.getAs<Attr>(name))
        return attr;
  return dyn_cast_or_null<Attr>(getAttr(op, ("remat." + name).str()));
}

static FailureOr<PolicyAttr> findPolicy(Operation *op) {
  if (auto policy = getConfig<PolicyAttr>(op, "policy"))
    return policy;
  auto text = getConfig<StringAttr>(op, "policy");
  if (!text)
    return PolicyAttr();
  std::optional<Policy> policy = symbolizePolicy(text.getValue());
  if (!policy)
    return op->emitOpError("has an unknown policy '")
           << text.getValue()
           << "', expected must_save, prefer_save, must_recompute, "
              "prefer_recompute, must_cpu_offload or prefer_cpu_offload";
  return PolicyAttr::get(op->getContext(), *policy);
}

static LogicalResult lowerStopGradient(Operation *op, Lowering &lowering) {
  SmallVector<Value> results;
  for (Value value : lowering.get(op->getOperands()))
    results.push_back(
        StopGradientOp::create(lowering.builder, op->getLoc(), value));
  return lowering.set(op, results);
}

static LogicalResult lowerTag(Operation *op, Lowering &lowering) {
  FailureOr<PolicyAttr> policy = findPolicy(op);
  if (failed(policy))
    return failure();
  StringAttr name = getConfig<StringAttr>(op, "name");
  if (auto text = dyn_cast_or_null<StringAttr>(getAttr(op, "backend_config"));
      text && !text.empty() && !name)
    name = text;
  if (!name && !*policy)
    return op->emitOpError("expected a 'name' or a 'policy' in its "
                           "backend_config");
  SmallVector<Value> results;
  for (Value value : lowering.get(op->getOperands()))
    results.push_back(
        TagOp::create(lowering.builder, op->getLoc(), value, name, *policy));
  return lowering.set(op, results);
}

/// A call of a function whose inner values are not kept.
static LogicalResult lowerCheckpoint(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  auto callees =
      dyn_cast_or_null<ArrayAttr>(getAttr(op, "called_computations"));
  auto callee = callees && callees.size() == 1
                    ? dyn_cast<FlatSymbolRefAttr>(callees[0])
                    : nullptr;
  if (!callee || !lowering.lookUp(op, callee.getValue()))
    return op->emitOpError("expected one function as 'called_computations'");
  FailureOr<PolicyAttr> policy = findPolicy(op);
  if (failed(policy))
    return failure();
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    if (failed(lowering.convertType(loc, type, types)))
      return failure();
  SmallVector<Value> operands = lowering.get(op->getOperands());
  OperationState state(loc, CheckpointOp::getOperationName());
  state.addTypes(types);
  if (*policy)
    state.addAttribute("policy", *policy);
  if (auto name = getConfig<StringAttr>(op, "name"))
    state.addAttribute("name", name);
  for (StringRef flag : {"early_stop", "preserve_rng_state"})
    if (auto value = getConfig<BoolAttr>(op, flag))
      state.addAttribute(flag, value);
  Region *body = state.addRegion();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(body);
    auto call =
        func::CallOp::create(builder, loc, callee.getValue(), types, operands);
    YieldOp::create(builder, loc, call.getResults());
  }
  return lowering.set(op, builder.create(state)->getResults());
}

/// What the routine of LAPACK that a call names is lowered as. On the CPU, JAX
/// calls them for what StableHLO has no operations for. A layout says how
/// matrices lie in memory, not which ones they are, so it is of no matter here.
static std::string findLapackRoutine(StringRef target) {
  if (target == "remat.row_order")
    return "lapack.row_order";
  if (!target.consume_front("lapack_") || !target.consume_back("_ffi") ||
      target.size() < 2 || !StringRef("sd").contains(target.front()))
    return "";
  return ("lapack." + target.drop_front()).str();
}

/// What to do instead of calling `target`.
static StringRef getAdvice(StringRef target) {
  constexpr StringLiteral other =
      "compute it by operations of jax.numpy or jax.lax that are not custom "
      "calls";
  if (!target.consume_front("lapack_") || target.empty())
    return other;
  if (StringRef("cz").contains(target.front()))
    return "factorizations of complex matrices are not supported, so write the "
           "problem in real and imaginary parts";
  target.consume_back("_ffi");
  return llvm::StringSwitch<StringRef>(target.drop_front())
      .Cases({"geev", "gees", "gehrd"},
             "factorizations of matrices that are not symmetric are not "
             "supported but LU, QR and SVD; use jnp.linalg.eigh where matrices "
             "are symmetric")
      .Default(other);
}

static LogicalResult lowerCustomCall(Operation *op, Lowering &lowering) {
  StringRef target = getText(op, "call_target_name");
  auto known =
      llvm::StringSwitch<OpLowering>(target)
          .Cases({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"},
                 lowerIdentity)
          .Cases({"annotate_device_placement", "LayoutConstraint",
                  "xla.sdy.FuncResultSharding"},
                 lowerIdentity)
          .Case("remat.stop_gradient", lowerStopGradient)
          .Cases({"remat.tag", "remat.checkpoint_name"}, lowerTag)
          .Case("remat.checkpoint", lowerCheckpoint)
          .Default(nullptr);
  if (known)
    return known(op, lowering);
  // CHLO travels under another name where it has to be stable.
  if (target.consume_front("mhlo.") || target.consume_front("chlo.")) {
    StringRef own = target == "topk" ? StringRef("top_k") : target;
    if (std::string name = ("chlo." + own).str(); lowering.isKnown(name))
      return lowering.lowerAs(op, name);
  }
  if (target == "TopK")
    return lowering.lowerAs(op, "chlo.top_k");
  if (std::string name = findLapackRoutine(target); lowering.isKnown(name))
    return lowering.lowerAs(op, name);
  return op->emitOpError("calls '")
         << getText(op, "call_target_name")
         << "', which is code outside of the program: " << getAdvice(target);
}

void foreign::addCalls(LoweringTable &table) {
  constexpr int any = KnownOp::any;
  auto add = [&](StringRef name, OpLowering lowering, int operands,
                 int results) {
    table[name] = {lowering, operands, results, any, KnownOp::Groups};
  };
  add("func.call", lowerCall, any, any);
  add("builtin.unrealized_conversion_cast", lowerCast, any, any);
  add("stablehlo.composite", lowerComposite, any, any);
  add("stablehlo.custom_call", lowerCustomCall, any, any);
  add("stablehlo.optimization_barrier", lowerIdentity, any, any);
  add("stablehlo.tuple", lowerIdentity, any, 1);
  add("stablehlo.get_tuple_element", lowerTupleElement, 1, 1);
  add("stablehlo.after_all", lowerToken, any, 1);
  add("stablehlo.create_token", lowerToken, 0, 1);
  table["stablehlo.partition_id"] = {lowerDeviceNumber, 0};
  table["stablehlo.replica_id"] = {lowerDeviceNumber, 0};
}
