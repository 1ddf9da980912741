//===- Products.cpp - results and derivatives in files --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"

#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Gradients.h"

#include "common/Driver.h"

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// Appends `count` names PREFIX0.npy, PREFIX1.npy, ..., or none of the names
/// if they are not `wanted`.
static void addFiles(std::vector<std::string> &files, StringRef prefix,
                     size_t count, bool wanted = true) {
  for (size_t i = 0; i < count; ++i)
    files.push_back(wanted ? (prefix + Twine(i) + ".npy").str() : "");
}

/// The same for the numbers in `numbers`.
static void addFiles(std::vector<std::string> &files, StringRef prefix,
                     ArrayRef<int64_t> numbers) {
  for (int64_t number : numbers)
    files.push_back((prefix + Twine(number) + ".npy").str());
}

static SmallVector<int64_t> getDifferentiable(mlir::TypeRange types) {
  SmallVector<int64_t> numbers;
  for (auto [number, type] : enumerate(types))
    if (isDifferentiableType(type))
      numbers.push_back(number);
  return numbers;
}

static void addState(Products &products, mlir::FunctionOpInterface entry) {
  products.initialState = getInitialState(entry);
  products.firstState = entry.getNumArguments() - products.initialState.size();
}

static Error checkModes(ArrayRef<std::string> modes) {
  for (const std::string &mode : modes)
    if (!is_contained({"forward", "vjp", "jvp", "hvp"}, mode))
      return makeError("unknown mode '" + mode +
                       "' in --emit, expected 'forward', 'vjp', 'jvp' or "
                       "'hvp'");
  return Error::success();
}

Expected<Products> run::planProducts(mlir::FunctionOpInterface entry,
                                     ArrayRef<std::string> modes,
                                     ArrayRef<int64_t> given) {
  if (Error error = checkModes(modes))
    return std::move(error);
  bool vjp = is_contained(modes, "vjp"), jvp = is_contained(modes, "jvp"),
       hvp = is_contained(modes, "hvp");
  SmallVector<int64_t> wrt = llvm::to_vector(given);
  if (wrt.empty())
    wrt = getDifferentiable(entry.getArgumentTypes());
  SmallVector<int64_t> results = getDifferentiable(entry.getResultTypes());

  Products products;
  addState(products, entry);
  addFiles(products.argumentFiles, "arg", entry.getNumArguments());
  addFiles(products.resultFiles, "result", entry.getNumResults(),
           is_contained(modes, "forward"));
  DifferentiateOptions derivative;
  derivative.wrt = wrt;
  if (vjp || hvp) {
    derivative.mode = DifferentiateOptions::Reverse;
    products.derivatives.push_back(derivative);
    addFiles(products.argumentFiles, "cotangent", results);
    addFiles(products.resultFiles, "vjp", wrt.size(), vjp);
  }
  if (hvp) {
    // In reverse over the gradients, as PyTorch does.
    DifferentiateOptions second = derivative;
    for (size_t i = 0; i < wrt.size(); ++i)
      second.results.push_back(entry.getNumResults() + i);
    products.derivatives.push_back(second);
    addFiles(products.argumentFiles, "tangent", wrt.size());
    addFiles(products.resultFiles, "hvp", wrt.size());
  }
  if (jvp && !results.empty()) {
    derivative.mode = DifferentiateOptions::Forward;
    derivative.results = results;
    products.derivatives.push_back(derivative);
    addFiles(products.argumentFiles, "tangent", wrt.size());
    addFiles(products.resultFiles, "jvp", results);
  }
  return products;
}

Products run::planProducts(mlir::FunctionOpInterface entry,
                           const StepOptions &step) {
  SmallVector<int64_t> wrt = step.wrt;
  if (wrt.empty())
    wrt = getDifferentiable(entry.getArgumentTypes());
  SmallVector<int64_t> results = getDifferentiable(entry.getResultTypes());
  Products products;
  addState(products, entry);
  addFiles(products.argumentFiles, "arg", entry.getNumArguments());
  // Gradients that the function has computed.
  for (unsigned number = 0; number < entry.getNumResults(); ++number)
    if (!step.optimizer.empty() &&
        entry.getResultAttr(number, gradientAttrName))
      products.used.insert(number);
  products.ownResults = entry.getNumResults() - products.used.size();
  addFiles(products.resultFiles, "result", products.ownResults);
  products.derivatives = step.getDerivatives();
  for (const DifferentiateOptions &derivative : products.derivatives) {
    if (derivative.mode != DifferentiateOptions::Forward) {
      // What an optimizer makes of a cotangent is an argument of its own.
      if (derivative.mode == DifferentiateOptions::Reverse &&
          (step.optimizer.empty() || step.cotangents))
        addFiles(products.argumentFiles, "cotangent", results);
      if (step.optimizer.empty())
        addFiles(products.resultFiles, "vjp", wrt.size());
      if (derivative.accumulate) {
        products.firstSum = products.argumentFiles.size();
        addFiles(products.argumentFiles, "grad", wrt.size());
      }
      continue;
    }
    addFiles(products.argumentFiles, "tangent", wrt.size());
    addFiles(products.resultFiles, "jvp", results);
    // The gradients are results by now.
    if (step.differentiate)
      addFiles(products.resultFiles, "hvp", wrt.size());
  }
  return products;
}

void run::addOptimizerFiles(size_t arguments, size_t results,
                            Products &products) {
  products.firstSum = products.argumentFiles.size();
  addFiles(products.argumentFiles, "state",
           arguments - products.argumentFiles.size());
  addFiles(products.resultFiles, "update",
           results - products.resultFiles.size());
}
