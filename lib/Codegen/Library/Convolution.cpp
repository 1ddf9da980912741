//===- Convolution.cpp - convolutions as library calls --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/Library/Convolution.h"

#include "Kinds.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Runtime/StepTableBuilder.h"
#include "remat/Utils/ConvolutionBias.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {

class ConvolutionCall : public LibraryCall {
public:
  /// A filter gradient's operands are the input and the output's gradient; the
  /// second of the other kinds is the filter. A bias is the third.
  ConvolutionCall(const remat_convolution &conv, ArrayRef<Operand> callOperands,
                  ArrayRef<DevicePlan> plans)
      : conv(conv), plans(plans) {
    operands.assign(callOperands.begin(), callOperands.end());
  }

  int64_t countFlops() const override {
    int64_t flops = 2;
    for (int64_t size :
         {conv.batch, conv.output_channels,
          conv.input_channels / std::max<int64_t>(conv.groups, 1)})
      flops = multiplyCounts(flops, size);
    for (int i = 0; i < conv.spatial_rank; ++i)
      flops =
          multiplyCounts(flops, multiplyCounts(conv.output[i], conv.filter[i]));
    return flops;
  }
  int64_t getWorkspaceBytes(int threads) const override {
    return remat_convolution_workspace_bytes(&conv, threads);
  }
  void addTo(StepTableBuilder &table, StepEntry &entry) const override {
    entry.kind = REMAT_ENTRY_CONVOLUTION;
    entry.callee = table.addConvolution(conv);
    for (const DevicePlan &device : plans)
      table.addPlan(entry.callee, device.capability, device.plan.version,
                    device.plan.text, device.plan.workspaceBytes);
  }
  const remat_convolution *getConvolution() const override { return &conv; }
  std::optional<int64_t> getPlanWorkspaceBytes() const override {
    if (plans.empty())
      return std::nullopt;
    uint64_t bytes = 0;
    for (const DevicePlan &plan : plans)
      bytes = std::max(bytes, plan.plan.workspaceBytes);
    return bytes;
  }
  bool hasSecondPlans() const override {
    return llvm::any_of(plans,
                        [](const DevicePlan &plan) { return plan.isSecond; });
  }
  /// Where there are devices that have plans.
  bool mayBeGenerated() const override { return !plans.empty(); }

private:
  remat_convolution conv;
  SmallVector<DevicePlan> plans;
};

} // namespace

/// Sizes and strides of the logical dimensions of a factor.
static void describeFactor(RankedTensorType type, ArrayRef<int64_t> layout,
                           SmallVectorImpl<int64_t> &sizes,
                           SmallVectorImpl<int64_t> &strides) {
  SmallVector<int64_t> tensorStrides = computeStrides(type.getShape());
  for (int64_t dim : layout) {
    sizes.push_back(type.getDimSize(dim));
    strides.push_back(tensorStrides[dim]);
  }
}

std::optional<remat_convolution>
remat::codegen::describeConvolution(ConvOp op) {
  unsigned rank = op.getSpatialRank();
  RankedTensorType types[] = {op.getInputType(), op.getFilterType(),
                              op.getOutputType()};
  for (RankedTensorType type : types)
    if (!getDtype(type.getElementType()) ||
        isa<ComplexType>(type.getElementType()))
      return std::nullopt;
  if (rank > 3)
    return std::nullopt;
  SmallVector<int64_t> input, filter, output;
  SmallVector<int64_t> inputStrides, filterStrides, outputStrides;
  describeFactor(types[0], op.getInputLayout(), input, inputStrides);
  describeFactor(types[1], op.getFilterLayout(), filter, filterStrides);
  describeFactor(types[2], op.getOutputLayout(), output, outputStrides);

  remat_convolution conv = {};
  switch (op.getKind()) {
  case ConvKind::Forward:
    conv.kind = REMAT_CONV_FORWARD;
    break;
  case ConvKind::InputGrad:
    conv.kind = REMAT_CONV_INPUT_GRADIENT;
    break;
  case ConvKind::FilterGrad:
    conv.kind = REMAT_CONV_FILTER_GRADIENT;
    break;
  }
  conv.spatial_rank = rank;
  conv.input_dtype = *getDtype(types[0].getElementType());
  conv.filter_dtype = *getDtype(types[1].getElementType());
  conv.output_dtype = *getDtype(types[2].getElementType());
  conv.batch = input[0];
  conv.groups = op.getGroups();
  conv.input_channels = input[1];
  conv.output_channels = output[1];
  for (unsigned i = 0; i < rank; ++i) {
    conv.input[i] = input[i + 2];
    conv.filter[i] = filter[i + 2];
    conv.output[i] = output[i + 2];
    conv.stride[i] = op.getStrides()[i];
    conv.dilation[i] = op.getDilations()[i];
    conv.pad_lo[i] = op.getPadding()[2 * i];
    conv.pad_hi[i] = op.getPadding()[2 * i + 1];
  }
  llvm::copy(inputStrides, conv.input_strides);
  llvm::copy(outputStrides, conv.output_strides);
  // The filter's output features are all groups', group by group.
  conv.filter_strides[0] = filterStrides[0] * (filter[0] / conv.groups);
  llvm::copy(filterStrides, conv.filter_strides + 1);
  return conv;
}

/// The sum with a bias is written in the type of the factors.
static void addBias(remat_convolution &conv) {
  conv.bias = 1;
  (conv.kind == REMAT_CONV_FORWARD ? conv.output_dtype : conv.input_dtype) =
      conv.filter_dtype;
}

LibraryCallRef remat::codegen::matchConvolution(FunctionOpInterface kernel) {
  Operation *maker = getResultMaker(kernel);
  auto op = dyn_cast_or_null<ConvOp>(maker);
  std::optional<ConvolutionBias> added;
  if (auto sum = dyn_cast_or_null<linalg::GenericOp>(maker))
    if ((added = matchConvolutionBias(sum)))
      op = added->conv;
  if (!op)
    return {};
  SmallVector<Value> values = {op.getLhs(), op.getRhs()};
  if (added)
    values.push_back(added->bias);
  SmallVector<LibraryCall::Operand> operands;
  for (Value value : values) {
    std::optional<LibraryCall::Operand> operand = getCallOperand(value);
    if (!operand)
      return {};
    operands.push_back(*operand);
  }
  std::optional<remat_convolution> conv = describeConvolution(op);
  if (conv && added)
    addBias(*conv);
  if (!conv || remat_convolution_workspace_bytes(&*conv, 1) < 0)
    return {};
  return std::make_shared<ConvolutionCall>(*conv, operands,
                                           getDevicePlans(kernel));
}

int64_t remat::codegen::getWorthwhileBytes(const LibraryCall &call,
                                           TargetAttr facts) {
  auto flops = static_cast<double>(call.countFlops());
  double loopFlops =
      static_cast<double>(facts.getLoopFlops()) * generatedConvolutionSpeed;
  double gained = flops / loopFlops -
                  flops / static_cast<double>(facts.getContractionFlops());
  double bytes = gained * static_cast<double>(facts.getBandwidth()) / 2;
  return bytes < 0x1p62 ? std::max(static_cast<int64_t>(bytes), int64_t(0))
                        : INT64_MAX;
}

/// Before the number of a capability in the name of a device.
static constexpr StringLiteral devicePrefix = "sm_";

/// On plans that were chosen for their workspace.
static constexpr StringLiteral secondName = "second";

SmallVector<DevicePlan>
remat::codegen::getDevicePlans(FunctionOpInterface kernel) {
  SmallVector<DevicePlan> plans;
  auto attr = kernel->getAttrOfType<ArrayAttr>(RematDialect::plansAttrName);
  if (!attr)
    return plans;
  for (auto members : attr.getAsRange<DictionaryAttr>()) {
    DevicePlan &plan = plans.emplace_back();
    StringRef device = members.getAs<StringAttr>("device").getValue();
    device.consume_front(devicePrefix);
    device.getAsInteger(10, plan.capability);
    plan.plan.text = members.getAs<StringAttr>("plan").str();
    plan.plan.version = members.getAs<IntegerAttr>("version").getInt();
    plan.plan.workspaceBytes = members.getAs<IntegerAttr>("workspace").getInt();
    plan.isSecond = members.contains(secondName);
  }
  return plans;
}

void remat::codegen::setDevicePlans(FunctionOpInterface kernel,
                                    ArrayRef<DevicePlan> plans) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> attrs;
  for (const auto &[capability, plan, isSecond] : plans) {
    NamedAttrList members;
    members.append("device",
                   builder.getStringAttr(devicePrefix + Twine(capability)));
    members.append("plan", builder.getStringAttr(plan.text));
    if (isSecond)
      members.append(secondName, builder.getUnitAttr());
    members.append("version", builder.getI64IntegerAttr(plan.version));
    members.append("workspace", builder.getI64IntegerAttr(plan.workspaceBytes));
    attrs.push_back(members.getDictionary(kernel.getContext()));
  }
  kernel->setAttr(RematDialect::plansAttrName, builder.getArrayAttr(attrs));
}
