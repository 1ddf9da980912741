//===- remat-reference.cpp - run a model through upstream MLIR alone ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An oracle for tests that shares no compiler code with remat: lowers a model
// with upstream's passes and runs it on arguments from files.
//
//   remat-reference random MODEL.mlir DIR     makes DIR/arg0.npy ...
//   remat-reference run MODEL.mlir IN OUT     writes OUT/result0.npy ...
//   remat-reference ones FILE                 makes a scalar cotangent, f32 1
//   remat-reference compare A B TOLERANCE [N] compares files pairwise: A and B
//                                             are paths with a * for a number,
//                                             from N in A and from 0 in B
//
//===----------------------------------------------------------------------===//

#include "common/Tensor.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace llvm;
using remat::tools::Tensor;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static std::string makePath(StringRef directory, StringRef stem,
                            size_t number) {
  SmallString<128> path(directory);
  sys::path::append(path, stem + Twine(number) + ".npy");
  return std::string(path);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::optional<remat_dtype> convertType(mlir::Type type) {
  if (type.isF32())
    return REMAT_F32;
  if (type.isF64())
    return REMAT_F64;
  if (type.isInteger(1))
    return REMAT_I1;
  if (type.isInteger(32))
    return REMAT_I32;
  if (type.isInteger(64))
    return REMAT_I64;
  return std::nullopt;
}

static Expected<std::vector<Tensor>> allocate(mlir::TypeRange types) {
  std::vector<Tensor> tensors;
  for (mlir::Type type : types) {
    auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
    std::optional<remat_dtype> dtype =
        tensor ? convertType(tensor.getElementType()) : std::nullopt;
    if (!dtype || !tensor.hasStaticShape())
      return makeError("unsupported type in the model's signature");
    tensors.emplace_back(*dtype, tensor.getShape());
  }
  return std::move(tensors);
}

//===----------------------------------------------------------------------===//
// Random arguments
//===----------------------------------------------------------------------===//

/// Floats in (-0.5, 0.5), integers in {0, ..., 7}: small enough to be classes.
static void fillRandom(Tensor &tensor, uint64_t &state) {
  bool isFloat =
      tensor.getDtype() == REMAT_F32 || tensor.getDtype() == REMAT_F64;
  for (size_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = state >> 33;
    if (isFloat)
      tensor.set(i, static_cast<double>(bits) / 0x1p31 - 0.5);
    else
      tensor.setInteger(i, bits % 8);
  }
}

//===----------------------------------------------------------------------===//
// Upstream's way to machine code
//===----------------------------------------------------------------------===//

static constexpr const char *pipeline =
    "builtin.module(inline,canonicalize,cse,linalg-generalize-named-ops,"
    "convert-tensor-to-linalg,empty-tensor-to-alloc-tensor,"
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map},"
    "buffer-deallocation-pipeline,convert-linalg-to-loops,convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,"
    "func.func(llvm-request-c-wrappers),convert-math-to-llvm,"
    "convert-math-to-libm,arith-expand,convert-arith-to-llvm,"
    "finalize-memref-to-llvm,convert-index-to-llvm,convert-func-to-llvm,"
    "convert-cf-to-llvm,reconcile-unrealized-casts)";

/// A memref descriptor: allocated and aligned pointer, offset, sizes, strides.
static std::vector<int64_t> makeDescriptor(const Tensor &tensor) {
  std::vector<int64_t> words(3 + 2 * tensor.getShape().size(), 0);
  std::memcpy(&words[0], &*std::make_unique<void *>(tensor.getData()), 8);
  words[1] = words[0];
  int64_t stride = 1;
  for (int64_t i = tensor.getShape().size() - 1; i >= 0; --i) {
    words[3 + i] = tensor.getShape()[i];
    words[3 + tensor.getShape().size() + i] = stride;
    stride *= tensor.getShape()[i];
  }
  return words;
}

/// Copies the results out of the structure of descriptors that the function
/// returned. Their memory is left to the process.
static void copyResults(ArrayRef<int64_t> returned,
                        MutableArrayRef<Tensor> results) {
  for (Tensor &result : results) {
    const char *data;
    std::memcpy(&data, &returned[1], 8);
    std::memcpy(result.getData(),
                data + returned[2] *
                           remat::tools::getElementSize(result.getDtype()),
                result.getBytes());
    returned = returned.drop_front(3 + 2 * result.getShape().size());
  }
}

static Error runUpstream(mlir::ModuleOp module, ArrayRef<Tensor> arguments,
                         MutableArrayRef<Tensor> results) {
  mlir::PassManager pm(module.getContext());
  if (failed(mlir::parsePassPipeline(
          StringRef(pipeline).drop_front(strlen("builtin.module(")).drop_back(),
          pm)) ||
      failed(pm.run(module)))
    return makeError("upstream's pipeline failed");
  mlir::ExecutionEngineOptions options;
  auto optimize = mlir::makeOptimizingTransformer(2, 0, nullptr);
  options.transformer = optimize;
  const StringRef libraries[] = {MLIR_RUNNER_UTILS};
  options.sharedLibPaths = libraries;
  Expected<std::unique_ptr<mlir::ExecutionEngine>> engine =
      mlir::ExecutionEngine::create(module, options);
  if (!engine)
    return engine.takeError();

  std::vector<std::vector<int64_t>> descriptors;
  size_t returnedWords = 0;
  for (const Tensor &argument : arguments)
    descriptors.push_back(makeDescriptor(argument));
  for (const Tensor &result : results)
    returnedWords += 3 + 2 * result.getShape().size();
  std::vector<int64_t> returned(returnedWords);
  // The packed interface takes pointers to the C interface's arguments, which
  // are themselves pointers.
  std::vector<void *> pointers = {returned.data()};
  for (std::vector<int64_t> &descriptor : descriptors)
    pointers.push_back(descriptor.data());
  std::vector<void *> packed;
  for (void *&pointer : pointers)
    packed.push_back(&pointer);
  if (Error error = (*engine)->invokePacked("_mlir_ciface_main", packed))
    return error;
  copyResults(returned, results);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// The function main of a model, with the module that holds it.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseModel(mlir::MLIRContext &context, StringRef path) {
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module || !module->lookupSymbol<mlir::func::FuncOp>("main"))
    return makeError(path + ": no model with a function 'main'");
  return std::move(module);
}

static Error makeRandom(mlir::MLIRContext &context, StringRef model,
                        StringRef directory) {
  auto module = parseModel(context, model);
  if (!module)
    return module.takeError();
  auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  auto arguments = allocate(main.getArgumentTypes());
  if (!arguments)
    return arguments.takeError();
  sys::fs::create_directories(directory);
  uint64_t state = 1;
  for (auto [index, argument] : enumerate(*arguments)) {
    fillRandom(argument, state);
    if (Error error =
            remat::tools::writeNpy(makePath(directory, "arg", index), argument))
      return error;
  }
  return Error::success();
}

static Error run(mlir::MLIRContext &context, StringRef model, StringRef input,
                 StringRef output) {
  auto module = parseModel(context, model);
  if (!module)
    return module.takeError();
  auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  auto arguments = allocate(main.getArgumentTypes());
  auto results = allocate(main.getResultTypes());
  if (!arguments || !results)
    return joinErrors(arguments.takeError(), results.takeError());
  for (auto [index, argument] : enumerate(*arguments)) {
    Expected<Tensor> read =
        remat::tools::readNpy(makePath(input, "arg", index),
                              argument.getDtype(), argument.getShape());
    if (!read)
      return read.takeError();
    argument = std::move(*read);
  }
  if (Error error = runUpstream(**module, *arguments, *results))
    return error;
  sys::fs::create_directories(output);
  for (auto [index, result] : enumerate(*results))
    if (Error error =
            remat::tools::writeNpy(makePath(output, "result", index), result))
      return error;
  return Error::success();
}

/// Largest difference relative to the largest element of either.
static Expected<double> compareFiles(StringRef first, StringRef second) {
  Expected<Tensor> a = remat::tools::readNpy(first);
  if (!a)
    return a.takeError();
  Expected<Tensor> b =
      remat::tools::readNpy(second, a->getDtype(), a->getShape());
  if (!b)
    return b.takeError();
  double scale = 1e-30, difference = 0;
  for (size_t i = 0, e = a->getNumElements(); i < e; ++i) {
    scale = std::max({scale, std::abs(a->get(i)), std::abs(b->get(i))});
    double error = std::abs(a->get(i) - b->get(i));
    difference = std::isnan(error) ? HUGE_VAL : std::max(difference, error);
  }
  return difference / scale;
}

static Error compare(StringRef first, StringRef second, double tolerance,
                     size_t skipped) {
  auto at = [](StringRef pattern, size_t number) {
    auto [head, tail] = pattern.split('*');
    if (!pattern.contains('*'))
      return number == 0 ? pattern.str() : std::string();
    return (head + Twine(number) + tail).str();
  };
  size_t count = 0;
  double worst = 0;
  for (; sys::fs::exists(at(first, count + skipped)); ++count) {
    Expected<double> error =
        compareFiles(at(first, count + skipped), at(second, count));
    if (!error)
      return error.takeError();
    if (*error > tolerance)
      return makeError(at(first, count + skipped) + " and " +
                       at(second, count) + " differ by " +
                       std::to_string(*error) + ", tolerance " +
                       std::to_string(tolerance));
    worst = std::max(worst, *error);
  }
  if (count == 0)
    return makeError("no files " + first);
  outs() << count << " files agree, worst relative difference " << worst
         << '\n';
  return Error::success();
}

static Error dispatch(ArrayRef<StringRef> arguments) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::MLIRContext context(registry);
  double tolerance;
  size_t skipped;
  if (arguments.size() == 3 && arguments[0] == "random")
    return makeRandom(context, arguments[1], arguments[2]);
  if (arguments.size() == 4 && arguments[0] == "run")
    return run(context, arguments[1], arguments[2], arguments[3]);
  if (arguments.size() == 4 && arguments[0] == "compare" &&
      !arguments[3].getAsDouble(tolerance))
    return compare(arguments[1], arguments[2], tolerance, /*skipped=*/0);
  if (arguments.size() == 5 && arguments[0] == "compare" &&
      !arguments[3].getAsDouble(tolerance) &&
      !arguments[4].getAsInteger(10, skipped))
    return compare(arguments[1], arguments[2], tolerance, skipped);
  if (arguments.size() == 2 && arguments[0] == "ones") {
    Tensor one(REMAT_F32, {});
    one.set(0, 1);
    return remat::tools::writeNpy(arguments[1], one);
  }
  return makeError("expected 'random MODEL DIR', 'run MODEL IN OUT', "
                   "'ones FILE' or 'compare A B TOLERANCE [N]'");
}

int main(int argc, char **argv) {
  InitLLVM initLLVM(argc, argv);
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  mlir::registerAllPasses();
  std::vector<StringRef> arguments(argv + 1, argv + argc);
  if (Error error = dispatch(arguments)) {
    errs() << "remat-reference: " << toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
