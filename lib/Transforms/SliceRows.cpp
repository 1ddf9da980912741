//===- SliceRows.cpp - wide values that exist a slice at a time -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction may be larger than its factors and yet be read only row by row,
// or to be summed up over the rows: a language model's logits, which a cross
// entropy reads, and whose gradient two contractions read. Such a contraction,
// with all that reads it, is done for some hundred rows, then for the next.
// What is as wide as the contraction is then never there as a whole.
//
// The slices are fixed by the shapes, so that no budget or number of threads
// changes a result. They are so large that the library's contractions lose
// nothing. Smaller ones take fewer bytes and more time: functions that have
// them are alternatives, from which the plan chooses. So are functions in which
// hidden layers, whose gradients are made much later, are done in slices, too.
//
//===----------------------------------------------------------------------===//

#include "Alternatives.h"
#include "RowSlicer.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_SLICEROWSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// A copy of a function that is to have other slices.
struct SlicedCopy {
  func::FuncOp original;
  int64_t rows;
  bool slicesHidden;
  SmallVector<func::FuncOp> functions;
};

struct SliceRows : remat::impl::SliceRowsPassBase<SliceRows> {
  using SliceRowsPassBase::SliceRowsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (rows < 0) {
      module.emitError("slices have ")
          << rows << " rows, expected 1 or more, or 0 for those of the target";
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    SmallVector<func::FuncOp> forms = findForms();
    SmallVector<SlicedCopy> copies = copyForms(forms);
    for (func::FuncOp function : functions)
      counts[function] =
          slice(function, getRows(function, rows), /*slicesHidden=*/false);
    if (rows != 0 && !apart)
      for (func::FuncOp form : forms)
        setRows(form, rows);
    for (SlicedCopy &copy : copies)
      keepIfFiner(copy);
  }

private:
  /// `asked` rows, or those of the target.
  static int64_t getRows(func::FuncOp function, int64_t asked) {
    return asked != 0 ? asked : getTargetFacts(function).getSliceRows();
  }
  static void setRows(func::FuncOp function, int64_t rows) {
    if (rows != getRows(function, 0) || function->hasAttr(slicesHiddenAttrName))
      function->setAttr(sliceRowsAttrName,
                        Builder(function).getI64IntegerAttr(rows));
  }

  SmallVector<func::FuncOp> findForms();
  SmallVector<SlicedCopy> copyForms(ArrayRef<func::FuncOp> forms);
  int64_t slice(func::FuncOp function, int64_t sliceRows, bool slicesHidden);
  int64_t countSlices(ArrayRef<func::FuncOp> functions);
  void keepIfFiner(SlicedCopy &copy);

  /// Slices in each function.
  DenseMap<Operation *, int64_t> counts;
  /// What is planned last of all alternatives so far.
  func::FuncOp last;
};
} // namespace

/// The function and its alternatives.
SmallVector<func::FuncOp> SliceRows::findForms() {
  SmallVector<func::FuncOp> forms;
  auto entry = dyn_cast_or_null<func::FuncOp>(
      findEntry(getOperation(), function).getOperation());
  if (!entry || entry.isExternal())
    return forms;
  forms.push_back(entry);
  for (FunctionOpInterface other : findAlternatives(entry))
    forms.push_back(cast<func::FuncOp>(other.getOperation()));
  last = forms.back();
  return forms;
}

/// All that may have more slices, as it is before anything is sliced.
SmallVector<SlicedCopy> SliceRows::copyForms(ArrayRef<func::FuncOp> forms) {
  SmallVector<SlicedCopy> copies;
  auto copy = [&](func::FuncOp form, int64_t rows, bool slicesHidden) {
    std::string suffix = ("_slices_of_" + Twine(rows)).str();
    if (slicesHidden)
      suffix += "_hidden";
    copies.push_back({form, rows, slicesHidden, cloneWithBodies(form, suffix)});
  };
  auto copyAll = [&](int64_t finer, bool slicesHidden) {
    for (func::FuncOp form : forms) {
      // Finer slices are for budgets that have no room to make more at a time.
      int64_t fewer = getRows(form, rows) / finer;
      if (fewer > 0 && !form->hasAttr(fusedReadersAttrName))
        copy(form, fewer, slicesHidden);
    }
  };
  if (hidden)
    copyAll(1, /*slicesHidden=*/true);
  if (alternatives)
    for (int64_t finer : SliceTuning::finerSlices) {
      copyAll(finer, /*slicesHidden=*/false);
      if (hidden)
        copyAll(finer, /*slicesHidden=*/true);
    }
  return copies;
}

/// Slices what is wide in `function`, and counts the slices.
int64_t SliceRows::slice(func::FuncOp function, int64_t sliceRows,
                         bool slicesHidden) {
  if (!llvm::hasSingleElement(function.getBody()))
    return 0;
  Block &body = function.getBody().front();
  SmallVector<linalg::ContractOp> contractions(
      body.getOps<linalg::ContractOp>());
  DenseSet<Operation *> gone;
  int64_t count = 0;
  for (linalg::ContractOp contraction : contractions)
    if (!gone.contains(contraction)) {
      // What is forward would become backward.
      int64_t slices =
          apart ? 0 : RowSlicer(body, sliceRows).run(contraction, gone);
      if (slices == 0 && slicesHidden)
        slices = RowSlicer(body, sliceRows, /*inPhases=*/true)
                     .run(contraction, gone);
      numSliced += slices != 0;
      count += slices;
    }
  return count;
}

int64_t SliceRows::countSlices(ArrayRef<func::FuncOp> functions) {
  int64_t count = 0;
  for (func::FuncOp each : functions)
    count += counts.lookup(each);
  return count;
}

/// Makes `copy` an alternative if it has more slices than what it is a copy of,
/// and erases it otherwise.
void SliceRows::keepIfFiner(SlicedCopy &copy) {
  for (func::FuncOp each : copy.functions)
    counts[each] = slice(each, copy.rows, copy.slicesHidden);
  if (countSlices(copy.functions) <=
      countSlices(collectWithBodies(copy.original))) {
    for (func::FuncOp each : copy.functions) {
      counts.erase(each);
      each.erase();
    }
    return;
  }
  if (copy.slicesHidden)
    copy.functions.front()->setAttr(slicesHiddenAttrName,
                                    UnitAttr::get(&getContext()));
  setRows(copy.functions.front(), copy.rows);
  last->setAttr(RematDialect::alternativeAttrName,
                FlatSymbolRefAttr::get(copy.functions.front()));
  last = copy.functions.front();
}
