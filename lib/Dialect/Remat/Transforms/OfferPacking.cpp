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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
/// A value, and in which form it may be kept.
struct Offer {
  OpResult value;
  /// Whether a scale that rounds small elements to 0 does no harm.
  bool mayBecomeZero;
  std::optional<ElementCodec> codec;
  /// What it does to gradients, as measured.
  double error = 0;
};

/// One step in the choice of forms: another form of a value.
struct Upgrade {
  ElementCodec codec;
  double error = 0;
  int64_t bytes = 0;
};
} // namespace

static int64_t getPackedBytes(RankedTensorType type, ElementCodec codec) {
  int64_t bytes = 0;
  for (RankedTensorType part : getPackedTypes(type, codec))
    bytes += getBufferBytes(part);
  return bytes;
}

/// Whether `codec` has a form of the value, and a smaller one.
static bool takes(const Offer &offer, ElementCodec codec) {
  auto type = cast<RankedTensorType>(offer.value.getType());
  bool hasForm =
      !hasScales(codec) ||
      (offer.mayBecomeZero && type.getNumElements() % codecBlockSize == 0);
  return hasForm && getPackedBytes(type, codec) < getBufferBytes(type);
}

/// Without a bound on errors: the smallest form.
static void chooseSmallest(Offer &offer, ArrayRef<ElementCodec> codecs) {
  auto type = cast<RankedTensorType>(offer.value.getType());
  for (ElementCodec codec : codecs)
    if (takes(offer, codec) &&
        (!offer.codec ||
         getPackedBytes(type, codec) < getPackedBytes(type, *offer.codec)))
      offer.codec = codec;
}

/// Chooses forms so that the sum of all errors is at most `bound`, whichever of
/// them the plan takes: in each step the one that saves the most bytes for its
/// error. This is the greedy method for the multiple-choice knapsack problem
/// (Kellerer, Pferschy and Pisinger: Knapsack Problems, chapter 11).
static void chooseWithin(double bound, const GradientErrors &errors,
                         ArrayRef<ElementCodec> codecs,
                         MutableArrayRef<Offer> offers) {
  auto findBest = [&](const Offer &offer) {
    auto type = cast<RankedTensorType>(offer.value.getType());
    int64_t bytes =
        offer.codec ? getPackedBytes(type, *offer.codec) : getBufferBytes(type);
    std::optional<Upgrade> best;
    for (ElementCodec codec : codecs) {
      std::optional<double> error = errors.find(offer.value, codec);
      if (!error || !takes(offer, codec))
        continue;
      Upgrade upgrade = {codec, *error - offer.error,
                         bytes - getPackedBytes(type, codec)};
      if (upgrade.bytes <= 0 || upgrade.error > bound)
        continue;
      // Of two that save the same for nothing, the one that saves more.
      auto isBetter = [&](const Upgrade &other) {
        double mine = double(upgrade.bytes) * std::max(other.error, 0.0);
        double theirs = double(other.bytes) * std::max(upgrade.error, 0.0);
        return mine != theirs ? mine > theirs : upgrade.bytes > other.bytes;
      };
      if (!best || isBetter(*best))
        best = upgrade;
    }
    return best;
  };
  while (true) {
    Offer *chosen = nullptr;
    Upgrade step;
    for (Offer &offer : offers) {
      std::optional<Upgrade> best = findBest(offer);
      if (!best)
        continue;
      if (chosen && double(best->bytes) * std::max(step.error, 0.0) <=
                        double(step.bytes) * std::max(best->error, 0.0))
        continue;
      chosen = &offer;
      step = *best;
    }
    if (!chosen)
      return;
    chosen->codec = step.codec;
    chosen->error += step.error;
    bound -= step.error;
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
      SmallVector<Offer> offers = collect(graph);
      if (maxGradientError > 0)
        chooseWithin(maxGradientError / gradientErrorMargin, errors, known,
                     offers);
      else
        for (Offer &offer : offers)
          chooseSmallest(offer, known);
      addTasks(graph, offers);
    }
  }

private:
  LogicalResult parseCodecs(SmallVectorImpl<ElementCodec> &known);
  SmallVector<Offer> collect(GraphOp graph);
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

SmallVector<Offer> OfferPacking::collect(GraphOp graph) {
  Packable packable(graph);
  SmallVector<Offer> offers;
  for (auto task : graph.getOps<TaskOp>())
    for (OpResult value : task->getResults())
      if (packable.contains(value))
        offers.push_back({value, packable.mayBecomeZero(value), std::nullopt});
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
    if (!offer.codec)
      continue;
    auto type = cast<RankedTensorType>(offer.value.getType());
    TaskOp pack = addTask(getKernel(type, *offer.codec, false), offer.value,
                          packsAttrName, *offer.codec);
    if (maxGradientError > 0)
      pack->setAttr(gradientErrorAttrName,
                    builder.getF64FloatAttr(offer.error * gradientErrorMargin));
    addTask(getKernel(type, *offer.codec, true), pack->getResults(),
            unpacksAttrName, *offer.codec);
    ++numOffered;
  }
}
