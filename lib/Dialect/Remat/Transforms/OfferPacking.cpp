//===- OfferPacking.cpp - packed forms for the planner --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offers are tasks with kernels of their own, so that they cost what any other
// task costs and fuse with nothing: the planner has to be free to leave them
// out.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "Packable.h"

#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/GradientErrors.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/ElementCodecs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <queue>

namespace remat {
#define GEN_PASS_DEF_OFFERPACKINGPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Choice of a form
//===----------------------------------------------------------------------===//

namespace {
/// A form of a value.
struct Form {
  ElementCodec codec;
  /// By how much it is smaller than the value.
  int64_t savedBytes = 0;
  /// What it does to gradients, if that is measured.
  std::optional<double> error;
};

/// A value, and in which form it may be kept.
struct Offer {
  OpResult value;
  SmallVector<Form, 4> forms;
  /// One of them; they stay where they are once there is a choice.
  const Form *chosen = nullptr;

  double getError() const { return chosen ? chosen->error.value_or(0) : 0; }
  int64_t getSavedBytes() const { return chosen ? chosen->savedBytes : 0; }
};

/// Another form of a value than it has, and what that makes different.
struct Upgrade {
  const Form *form;
  double error;
  int64_t savedBytes;
  unsigned offer;

  /// Whether it saves less for its error than `other`; for no error, whether it
  /// saves less.
  bool operator<(const Upgrade &other) const {
    double mine = double(savedBytes) * std::max(other.error, 0.0);
    double theirs = double(other.savedBytes) * std::max(error, 0.0);
    return std::tuple(mine, savedBytes, other.offer) <
           std::tuple(theirs, other.savedBytes, offer);
  }
};
} // namespace

/// The forms of a value that are smaller than it is.
static SmallVector<Form, 4> findForms(OpResult value, bool mayBecomeZero,
                                      ArrayRef<ElementCodec> codecs,
                                      const GradientErrors &errors) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Form, 4> forms;
  for (ElementCodec codec : codecs) {
    // A block that is not full would have to be copied first.
    if (hasScales(codec) &&
        (!mayBecomeZero || type.getNumElements() % codecBlockSize != 0))
      continue;
    int64_t bytes = 0;
    for (RankedTensorType part : getPackedTypes(type, codec))
      bytes += getBufferBytes(part);
    if (int64_t saved = getBufferBytes(type) - bytes; saved > 0)
      forms.push_back({codec, saved, errors.find(value, codec)});
  }
  return forms;
}

/// Without a bound on errors: the smallest form.
static void chooseSmallest(Offer &offer) {
  for (const Form &form : offer.forms)
    if (form.savedBytes > offer.getSavedBytes())
      offer.chosen = &form;
}

/// The best upgrade of an offer that adds at most `bound` to the error.
static std::optional<Upgrade> findUpgrade(const Offer &offer, unsigned number,
                                          double bound) {
  std::optional<Upgrade> best;
  for (const Form &form : offer.forms) {
    if (!form.error)
      continue;
    Upgrade upgrade = {&form, *form.error - offer.getError(),
                       form.savedBytes - offer.getSavedBytes(), number};
    bool isAllowed = upgrade.savedBytes > 0 && upgrade.error <= bound;
    if (isAllowed && (!best || *best < upgrade))
      best = upgrade;
  }
  return best;
}

/// Chooses forms so that the sum of all errors is at most `bound`, whichever of
/// them the plan takes: in each step the one that saves the most bytes for its
/// error. This is the greedy method for the multiple-choice knapsack problem
/// (Kellerer, Pferschy and Pisinger: Knapsack Problems, chapter 11).
static void chooseWithin(double bound, MutableArrayRef<Offer> offers) {
  std::priority_queue<Upgrade> upgrades;
  auto push = [&](unsigned number) {
    if (auto upgrade = findUpgrade(offers[number], number, bound))
      upgrades.push(*upgrade);
  };
  for (unsigned number = 0; number < offers.size(); ++number)
    push(number);
  while (!upgrades.empty()) {
    Upgrade best = upgrades.top();
    upgrades.pop();
    if (best.error <= bound) {
      offers[best.offer].chosen = best.form;
      bound -= best.error;
    }
    // The bound, or what the offer has, is another one now.
    push(best.offer);
  }
}

//===----------------------------------------------------------------------===//
// Kernels and tasks
//===----------------------------------------------------------------------===//

namespace {
struct OfferPacking : remat::impl::OfferPackingPassBase<OfferPacking> {
  using OfferPackingPassBase::OfferPackingPassBase;

  void runOnOperation() override {
    SmallVector<ElementCodec> known;
    if (failed(parseCodecs(known)))
      return signalPassFailure();
    GradientErrors errors;
    if (!gradientErrors.empty()) {
      llvm::Expected<GradientErrors> loaded =
          GradientErrors::load(gradientErrors);
      if (!loaded) {
        getOperation().emitError(llvm::toString(loaded.takeError()));
        return signalPassFailure();
      }
      errors = std::move(*loaded);
    }
    for (GraphOp graph : llvm::to_vector(getStepGraphs(getOperation()))) {
      if (graph.isPlanned()) {
        graph.emitOpError("is already planned, expected one without a plan");
        return signalPassFailure();
      }
      std::vector<Offer> offers = collect(graph, known, errors);
      if (maxGradientError > 0)
        chooseWithin(maxGradientError / gradientErrorMargin, offers);
      else
        llvm::for_each(offers, chooseSmallest);
      addTasks(graph, offers);
    }
  }

private:
  LogicalResult parseCodecs(SmallVectorImpl<ElementCodec> &known);
  std::vector<Offer> collect(GraphOp graph, ArrayRef<ElementCodec> known,
                             const GradientErrors &errors);
  void addTasks(GraphOp graph, ArrayRef<Offer> offers);
  func::FuncOp getKernel(RankedTensorType type, ElementCodec codec,
                         bool unpacks);

  DenseMap<std::tuple<Type, int, int>, func::FuncOp> kernels;
};
} // namespace

LogicalResult OfferPacking::parseCodecs(SmallVectorImpl<ElementCodec> &known) {
  for (const std::string &name : codecs) {
    std::optional<ElementCodec> codec = parseElementCodec(name);
    if (!codec)
      return getOperation().emitError("remat-offer-packing: unknown codec '")
             << name << "', expected "
             << llvm::join(getElementCodecNames(), ", ");
    known.push_back(*codec);
  }
  return success();
}

/// A kernel that packs values of this type, or brings them back.
func::FuncOp OfferPacking::getKernel(RankedTensorType type, ElementCodec codec,
                                     bool unpacks) {
  func::FuncOp &kernel = kernels[{type, static_cast<int>(codec), unpacks}];
  if (kernel)
    return kernel;
  OpBuilder builder(&getContext());
  Location loc = getOperation().getLoc();
  SmallVector<Type> packed(
      llvm::to_vector_of<Type>(getPackedTypes(type, codec)));
  kernel =
      func::FuncOp::create(builder, loc, unpacks ? "unpack" : "pack",
                           unpacks ? builder.getFunctionType(packed, type)
                                   : builder.getFunctionType(type, packed));
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> results;
  if (unpacks)
    results = {createUnpacked(builder, loc, body->getArguments(), type, codec)};
  else
    results = createPacked(builder, loc, body->getArgument(0), codec);
  func::ReturnOp::create(builder, loc, results);
  // A block is scaled and rounded while it is in the cache.
  if (hasScales(codec))
    for (Operation &op : *body)
      if (isa<linalg::LinalgOp>(op))
        op.setAttr(rowsAttrName, builder.getDenseI64ArrayAttr({0}));
  SymbolTable symbols(getOperation());
  symbols.insert(kernel, getOperation().getBody()->end());
  return kernel;
}

std::vector<Offer> OfferPacking::collect(GraphOp graph,
                                         ArrayRef<ElementCodec> known,
                                         const GradientErrors &errors) {
  Packable packable(graph);
  std::vector<Offer> offers;
  for (auto task : graph.getOps<TaskOp>())
    for (OpResult value : task->getResults())
      if (packable.contains(value))
        offers.push_back({value, findForms(value, packable.mayBecomeZero(value),
                                           known, errors)});
  return offers;
}

void OfferPacking::addTasks(GraphOp graph, ArrayRef<Offer> offers) {
  int64_t number = 0;
  for (auto task : graph.getOps<TaskOp>())
    number = std::max<int64_t>(number, task.getId() + 1);
  OpBuilder builder(graph.getBody().front().getTerminator());
  auto addTask = [&](func::FuncOp kernel, ValueRange operands, StringRef mark,
                     ElementCodec codec) {
    unsigned level = graph.getPlannedLevel();
    auto task = TaskOp::create(
        builder, operands[0].getLoc(), kernel.getFunctionType().getResults(),
        kernel.getName(), operands, /*id=*/number++, /*copy=*/0,
        /*backward=*/true, /*phase=*/0, /*pinned=*/false, /*policies=*/{},
        /*names=*/{}, /*layers=*/{}, /*cost=*/0, /*workspace=*/0,
        /*host_workspace=*/0,
        /*placement=*/{}, /*workspace_offset=*/{},
        /*host_workspace_offset=*/{},
        /*level=*/level > 1 ? builder.getI64IntegerAttr(level) : IntegerAttr(),
        /*policy_level=*/{});
    task->setAttr(mark, builder.getStringAttr(getElementCodecName(codec)));
    return task;
  };
  for (const Offer &offer : offers) {
    if (!offer.chosen)
      continue;
    ElementCodec codec = offer.chosen->codec;
    auto type = cast<RankedTensorType>(offer.value.getType());
    TaskOp pack = addTask(getKernel(type, codec, false), offer.value,
                          packsAttrName, codec);
    if (maxGradientError > 0)
      pack->setAttr(
          gradientErrorAttrName,
          builder.getF64FloatAttr(offer.getError() * gradientErrorMargin));
    addTask(getKernel(type, codec, true), pack->getResults(), unpacksAttrName,
            codec);
    ++numOffered;
  }
}
