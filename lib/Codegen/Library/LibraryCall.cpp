//===- LibraryCall.cpp - kernels that a library carries out ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/LibraryCall.h"

#include "Kinds.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/Matchers.h"

#include <mutex>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

LibraryCall::~LibraryCall() = default;

namespace {

/// The kinds of calls in the order in which they are asked.
struct Registry {
  std::mutex mutex;
  std::vector<std::pair<std::string, LibraryCallMatcher>> kinds = {
      {"matmul", matchMatmul},
      {"convolution", matchConvolution},
      {"codec", matchCodec},
      {"transfer", matchTransfer},
      {"loop", matchLoop}};
};

} // namespace

static Registry &getRegistry() {
  static Registry registry;
  return registry;
}

bool remat::codegen::registerLibraryCall(StringRef name,
                                         LibraryCallMatcher matcher) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (llvm::any_of(registry.kinds,
                   [&](const auto &kind) { return kind.first == name; }))
    return false;
  registry.kinds.emplace(registry.kinds.begin(), name.str(),
                         std::move(matcher));
  return true;
}

LibraryCallRef remat::codegen::describeLibraryCall(FunctionOpInterface kernel) {
  for (const auto &[name, match] : getRegistry().kinds)
    if (LibraryCallRef call = match(kernel))
      return call;
  return {};
}

LibraryCallRef remat::codegen::matchLibraryCall(FunctionOpInterface kernel) {
  LibraryCallRef call = describeLibraryCall(kernel);
  if (!call || !call->mayBeGenerated())
    return call;
  auto chosen = kernel->getAttrOfType<ImplementationAttr>(
      RematDialect::implementationAttrName);
  return chosen && chosen.getValue() == Implementation::Generated ? nullptr
                                                                  : call;
}

bool remat::codegen::mayBeEither(FunctionOpInterface kernel,
                                 const LibraryCall &call) {
  return call.getPlanWorkspaceBytes() && call.mayBeGenerated() &&
         llvm::equal(call.getOperands(),
                     llvm::seq<unsigned>(0, kernel.getNumArguments()),
                     [](const LibraryCall::Operand &operand, unsigned number) {
                       return !operand.constant && operand.argument == number;
                     });
}

bool remat::codegen::isEither(FunctionOpInterface kernel) {
  auto chosen = kernel->getAttrOfType<ImplementationAttr>(
      RematDialect::implementationAttrName);
  if (!chosen || chosen.getValue() != Implementation::Either)
    return false;
  LibraryCallRef call = describeLibraryCall(kernel);
  return call && mayBeEither(kernel, *call);
}

Operation *remat::codegen::getResultMaker(FunctionOpInterface kernel) {
  Region &body = kernel.getFunctionBody();
  if (!body.hasOneBlock() || kernel.getNumResults() != 1)
    return nullptr;
  Operation *terminator = body.front().getTerminator();
  if (terminator->getNumOperands() != 1)
    return nullptr;
  return getViewRoot(terminator->getOperand(0)).getDefiningOp();
}

BlockArgument remat::codegen::getKernelArgument(Value value) {
  return dyn_cast<BlockArgument>(getViewRoot(value));
}

std::optional<LibraryCall::Operand>
remat::codegen::getCallOperand(Value value) {
  if (BlockArgument argument = getKernelArgument(value))
    return LibraryCall::Operand(argument.getArgNumber());
  DenseElementsAttr constant;
  if (matchPattern(getViewRoot(value), m_Constant(&constant)) &&
      isa<FloatType>(constant.getElementType()))
    return LibraryCall::Operand(constant);
  return std::nullopt;
}
