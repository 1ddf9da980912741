//===- KernelHarness.cpp - run one kernel through the runtime -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "remat/Codegen/KernelBufferization.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Target/CPU/CPUTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <cstdlib>

using namespace mlir;
using namespace remat;
using namespace remat::test;

std::vector<float> remat::test::makeValues(size_t count, unsigned seed) {
  std::vector<float> values(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  for (float &value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(state >> 40) / 0x1p23f - 1.0f;
  }
  return values;
}

std::string remat::test::getTestedCpu() {
  const char *name = std::getenv("REMAT_TEST_MCPU");
  return name ? name : "";
}

static MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    registry.insert<RematDialect>();
    codegen::registerKernelInterfaces(registry);
    registerTarget(cpu::createTarget());
    auto *result = new MLIRContext(registry);
    result->loadDialect<RematDialect>();
    return result;
  }();
  return *context;
}

/// Adds a graph that runs @k once.
static void wrapInGraph(ModuleOp module, func::FuncOp kernel) {
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName,
                  UnitAttr::get(module.getContext()));
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = kernel.getLoc();
  auto graph = GraphOp::create(builder, loc, "main", kernel.getFunctionType());
  Region &body = graph.getBody();
  Block *block = body.empty() ? &body.emplaceBlock() : &body.front();
  if (block->getNumArguments() == 0)
    for (Type type : kernel.getArgumentTypes())
      block->addArgument(type, loc);
  builder.setInsertionPointToEnd(block);
  OperationState state(loc, TaskOp::getOperationName());
  state.addOperands(block->getArguments());
  state.addTypes(kernel.getResultTypes());
  state.addAttribute("kernel", FlatSymbolRefAttr::get(kernel));
  state.addAttribute("id", builder.getI64IntegerAttr(0));
  Operation *task = builder.create(state);
  ReturnOp::create(builder, loc, task->getResults());
}

static std::string run(ModuleOp module, const std::vector<Bytes> &arguments,
                       const RunOptions &options, RunResult &result) {
  auto kernel = module.lookupSymbol<func::FuncOp>("k");
  if (!kernel)
    return "no function @k";
  wrapInGraph(module, kernel);
  PassManager manager(module.getContext());
  manager.addPass(createChooseImplementationsPass());
  manager.addPass(createAnnotateCostsPass());
  manager.addPass(createPlanPass());
  manager.addPass(createPlacePass());
  if (failed(manager.run(module)))
    return "passes failed";
  LoweringOptions lowering;
  lowering.threads = options.threads;
  EmitOptions emission;
  emission.chip = options.cpu;
  auto jit = lookupTarget(module)->load(module, lowering, emission);
  if (!jit)
    return toString(jit.takeError());
  remat_step_options stepOptions = {};
  stepOptions.threads = options.threads;
  stepOptions.flags = REMAT_STEP_POISON;
  remat_step *step = nullptr;
  if (remat_step_load((*jit)->getModule(), &stepOptions, &step) != REMAT_OK)
    return remat_last_error();
  std::vector<remat_tensor> inputs, outputs;
  auto view = [](remat_tensor_info &info, Bytes &bytes) {
    return remat_tensor{bytes.data(), info.dtype, info.rank, info.dims};
  };
  std::vector<Bytes> copies = arguments;
  for (size_t i = 0; i < remat_step_argument_count(step); ++i) {
    remat_tensor_info info;
    remat_step_argument(step, i, &info);
    if (i >= copies.size() || copies[i].size() != info.bytes)
      return "argument " + std::to_string(i) + " has the wrong size";
    inputs.push_back(view(info, copies[i]));
  }
  result.results.resize(remat_step_result_count(step));
  for (size_t i = 0; i < result.results.size(); ++i) {
    remat_tensor_info info;
    remat_step_result(step, i, &info);
    result.results[i].assign(info.bytes, static_cast<char>(0xff));
    outputs.push_back(view(info, result.results[i]));
  }
  std::string error;
  for (int i = 0; i < options.repetitions && error.empty(); ++i) {
    auto start = std::chrono::steady_clock::now();
    if (remat_step_run(step, inputs.data(), inputs.size(), outputs.data(),
                       outputs.size()) != REMAT_OK)
      error = remat_step_error(step);
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    if (i == 0 || time.count() < result.seconds)
      result.seconds = time.count();
  }
  remat_step_free(step);
  return error;
}

RunResult remat::test::runKernel(const std::string &kernel,
                                 const std::vector<Bytes> &arguments,
                                 const RunOptions &options) {
  RunResult result;
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
  auto module = parseSourceString<ModuleOp>(kernel, &getContext());
  std::string error =
      module ? run(*module, arguments, options, result) : "parse error";
  if (!error.empty())
    result.error = error + "\n" + diagnostics;
  return result;
}
