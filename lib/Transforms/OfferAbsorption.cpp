//===- OfferAbsorption.cpp - values that readers can make themselves ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel computes element by element, a kernel that is elementwise as
// well can compute for itself. Both are fused here for the planner to choose,
// one kernel for each set of such values that it may leave out.
//
// Only elementwise readers are offered this: their code is compiled without
// contraction and reassociation, and what is rounded to be stored is rounded
// in the fused body, too. So both kernels give the same bits. Sums are added up
// in an order that belongs to their kernel.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Transforms/FuseElementwise.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace remat {
#define GEN_PASS_DEF_OFFERABSORPTIONPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The one elementwise operation that `kernel` consists of, beside constants
/// and views of what it reads; null if it is something else.
static linalg::GenericOp getElementwise(func::FuncOp kernel) {
  if (kernel.isExternal() || !llvm::hasSingleElement(kernel.getBody()))
    return {};
  Block &body = kernel.front();
  linalg::GenericOp found;
  for (Operation &op : body.without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (found || generic.getNumReductionLoops() != 0 ||
          !generic.hasPureTensorSemantics() || !isMemoryEffectFree(generic) ||
          generic->hasAttr(rowsAttrName))
        return {};
      found = generic;
      continue;
    }
    bool isOfArgument =
        isViewOp(&op) && isa<BlockArgument>(getViewRoot(op.getOperand(0)));
    if (!op.hasTrait<OpTrait::ConstantLike>() && !isa<tensor::EmptyOp>(op) &&
        !isOfArgument)
      return {};
  }
  if (!found ||
      !llvm::all_of(body.getTerminator()->getOperands(), [&](Value returned) {
        return returned.getDefiningOp() == found;
      }))
    return {};
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(found->getRegions(), captured);
  return llvm::none_of(
             captured,
             [](Value value) { return isa<TensorType>(value.getType()); })
             ? found
             : linalg::GenericOp();
}

namespace {
/// What a fused kernel is made of: the reader's kernel, and before it those of
/// what it absorbs.
class KernelFuser {
public:
  explicit KernelFuser(ModuleOp module) : module(module), symbols(module) {}

  /// The kernel of `reader` that makes the results of `absorbed` itself, tasks
  /// in the order of the graph; null if it is no one operation. `operands` are
  /// those of its arguments.
  func::FuncOp
  getOrCreate(TaskOp reader, ArrayRef<TaskOp> absorbed,
              SmallVectorImpl<std::pair<int64_t, unsigned>> &operands);
  func::FuncOp getKernel(TaskOp task) {
    return symbols.lookup<func::FuncOp>(task.getKernel());
  }

  void use(StringRef kernel) { used.insert(kernel); }
  /// Erases what was made and is offered to no task.
  void eraseUnused();

private:
  ModuleOp module;
  SymbolTable symbols;
  /// By their text before fusion; null where that did not succeed.
  std::map<std::string, func::FuncOp> known;
  llvm::StringSet<> used;
};
} // namespace

void KernelFuser::eraseUnused() {
  for (auto &[text, kernel] : known)
    if (kernel && !used.contains(kernel.getName()))
      symbols.erase(kernel);
}

func::FuncOp KernelFuser::getOrCreate(
    TaskOp reader, ArrayRef<TaskOp> absorbed,
    SmallVectorImpl<std::pair<int64_t, unsigned>> &operands) {
  SmallVector<TaskOp> tasks(absorbed);
  tasks.push_back(reader);
  OpBuilder builder(module.getContext());
  auto kernel = func::FuncOp::create(
      builder, reader.getLoc(), "absorbing",
      builder.getFunctionType({}, reader->getResultTypes()));
  Block *block = kernel.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping made;
  // A value of the graph in the kernel: what is absorbed, a view of that, or
  // what the kernel reads.
  std::function<Value(Value)> find = [&](Value value) -> Value {
    if (Value known = made.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !isViewOp(op) || !made.contains(getViewRoot(value)))
      return {};
    IRMapping mapping;
    mapping.map(op->getOperand(0), find(op->getOperand(0)));
    Value view = builder.clone(*op, mapping)->getResult(0);
    made.map(value, view);
    return view;
  };
  for (TaskOp task : tasks) {
    IRMapping inside;
    func::FuncOp callee = getKernel(task);
    for (auto [number, argument] : llvm::enumerate(callee.getArguments())) {
      Value operand = task.getOperand(number);
      Value there = find(operand);
      if (!there) {
        there = block->addArgument(operand.getType(), operand.getLoc());
        made.map(operand, there);
        operands.push_back({static_cast<int64_t>(task.getId()),
                            static_cast<unsigned>(number)});
      }
      inside.map(argument, there);
    }
    for (Operation &op : callee.front().without_terminator())
      builder.clone(op, inside);
    for (auto [result, returned] : llvm::zip(
             task->getResults(), callee.front().getTerminator()->getOperands()))
      made.map(result, inside.lookup(returned));
  }
  SmallVector<Value> results = llvm::map_to_vector(
      reader->getResults(), [&](Value value) { return made.lookup(value); });
  func::ReturnOp::create(builder, reader.getLoc(), results);
  kernel.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                                 reader->getResultTypes()));
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.print(stream);
  auto [it, isNew] = known.try_emplace(text);
  if (!isNew) {
    kernel.erase();
    return it->second;
  }
  fuseElementwise(kernel);
  if (!getElementwise(kernel)) {
    kernel.erase();
    return {};
  }
  std::string name;
  for (TaskOp task : tasks)
    name += (name.empty() ? "" : "_") + task.getKernel().str();
  kernel.setName(name);
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  symbols.insert(kernel, module.getBody()->end());
  return it->second = kernel;
}

//===----------------------------------------------------------------------===//
// Offers
//===----------------------------------------------------------------------===//

namespace {
/// Finds what the tasks of one graph can absorb.
class Offers {
public:
  Offers(GraphOp graph, KernelFuser &fuser);

  /// Says at each task what it can absorb; the number of sets.
  unsigned run();

private:
  bool isPlain(TaskOp task) const;
  bool isAbsorbable(TaskOp task) const;
  SmallVector<TaskOp, 4> findCandidates(TaskOp reader) const;
  bool isChain(TaskOp reader, ArrayRef<TaskOp> absorbed) const;
  std::optional<Absorption> fuse(TaskOp reader, ArrayRef<TaskOp> absorbed);

  GraphOp graph;
  KernelFuser &fuser;
  /// Arguments whose buffers results are written to.
  DenseSet<Value> donors;
};
} // namespace

Offers::Offers(GraphOp graph, KernelFuser &fuser) : graph(graph), fuser(fuser) {
  for (BlockArgument donor : getDonors(graph))
    if (donor)
      donors.insert(donor);
}

/// The task that makes `value`, or what it is a view of.
static TaskOp getMaker(Value value) {
  return getViewRoot(value).getDefiningOp<TaskOp>();
}

/// Whether the kernel of `task` is one elementwise operation, and reads nothing
/// that is written over.
bool Offers::isPlain(TaskOp task) const {
  if (task.isClone() || task.getPinned() ||
      llvm::any_of(task.getOperands(), [&](Value operand) {
        return donors.contains(getViewRoot(operand));
      }))
    return false;
  func::FuncOp kernel = fuser.getKernel(task);
  return kernel && getElementwise(kernel);
}

bool Offers::isAbsorbable(TaskOp task) const {
  if (task->getNumResults() != 1 ||
      getBufferBytes(cast<RankedTensorType>(task->getResult(0).getType())) <
          AbsorptionTuning::minBytes)
    return false;
  std::optional<Policy> policy = task.getResultPolicy(0);
  return policy != Policy::MustSave && policy != Policy::MustCpuOffload &&
         isPlain(task);
}

/// What `reader` could absorb, what it reads itself first.
SmallVector<TaskOp, 4> Offers::findCandidates(TaskOp reader) const {
  SmallVector<TaskOp, 4> candidates;
  SmallVector<TaskOp, 4> readers = {reader};
  for (size_t i = 0; i < readers.size() &&
                     candidates.size() < AbsorptionTuning::maxCandidates;
       ++i)
    for (Value operand : readers[i].getOperands()) {
      TaskOp maker = getMaker(operand);
      if (maker && !llvm::is_contained(candidates, maker) &&
          isAbsorbable(maker)) {
        candidates.push_back(maker);
        readers.push_back(maker);
      }
    }
  return candidates;
}

/// Whether all of `absorbed` are read by `reader` or another of them.
bool Offers::isChain(TaskOp reader, ArrayRef<TaskOp> absorbed) const {
  auto reads = [](TaskOp task, TaskOp maker) {
    return llvm::any_of(task.getOperands(), [&](Value operand) {
      return getMaker(operand) == maker;
    });
  };
  return llvm::all_of(absorbed, [&](TaskOp task) {
    return reads(reader, task) || llvm::any_of(absorbed, [&](TaskOp other) {
             return reads(other, task);
           });
  });
}

std::optional<Absorption> Offers::fuse(TaskOp reader,
                                       ArrayRef<TaskOp> absorbed) {
  SmallVector<TaskOp> inOrder(absorbed);
  llvm::sort(inOrder, [](TaskOp a, TaskOp b) { return a->isBeforeInBlock(b); });
  Absorption offer;
  func::FuncOp kernel = fuser.getOrCreate(reader, inOrder, offer.operands);
  if (!kernel)
    return std::nullopt;
  offer.kernel = FlatSymbolRefAttr::get(kernel);
  for (TaskOp task : inOrder)
    offer.tasks.push_back(task.getId());
  llvm::sort(offer.tasks);
  return offer;
}

unsigned Offers::run() {
  unsigned numOffers = 0;
  for (auto reader : graph.getOps<TaskOp>()) {
    if (!isPlain(reader))
      continue;
    SmallVector<TaskOp, 4> taken;
    SmallVector<Absorption> offers;
    for (TaskOp candidate : findCandidates(reader)) {
      if (taken.size() == AbsorptionTuning::maxAbsorbed)
        break;
      // Every set of what is taken has to have a kernel.
      SmallVector<Absorption> more;
      bool hasAll = true;
      for (unsigned set = 0; set < 1u << taken.size() && hasAll; ++set) {
        SmallVector<TaskOp, 4> absorbed = {candidate};
        for (auto [number, task] : llvm::enumerate(taken))
          if (set >> number & 1)
            absorbed.push_back(task);
        if (!isChain(reader, absorbed))
          continue;
        std::optional<Absorption> offer = fuse(reader, absorbed);
        hasAll = offer.has_value();
        if (hasAll)
          more.push_back(std::move(*offer));
      }
      if (!hasAll || more.empty())
        continue;
      taken.push_back(candidate);
      llvm::append_range(offers, more);
    }
    if (offers.empty())
      continue;
    setAbsorptions(reader, offers);
    for (const Absorption &offer : offers)
      fuser.use(offer.kernel.getValue());
    numOffers += offers.size();
  }
  return numOffers;
}

namespace {
struct OfferAbsorption : remat::impl::OfferAbsorptionPassBase<OfferAbsorption> {
  using OfferAbsorptionPassBase::OfferAbsorptionPassBase;

  void runOnOperation() override {
    KernelFuser fuser(getOperation());
    for (GraphOp graph : llvm::to_vector(getOperation().getOps<GraphOp>()))
      if (!graph.isPlanned())
        numOffered += Offers(graph, fuser).run();
    fuser.eraseUnused();
  }
};
} // namespace
