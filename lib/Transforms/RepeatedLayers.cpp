//===- RepeatedLayers.cpp - a chain of equal layers in a block ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that are equal but for what they read have the same number. The
// numbers of a chain have a period; every place within the first period is one
// where layers may begin.
//
//===----------------------------------------------------------------------===//

#include "RepeatedLayers.h"

#include "Tuning.h"
#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Closure.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

using namespace mlir;
using namespace remat;

SmallVector<OpOperand *> remat::collectReads(Operation *op) {
  SmallVector<OpOperand *> reads;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (!op->isProperAncestor(
              operand.get().getParentBlock()->getParentOp()) &&
          operand.get().getParentBlock()->getParentOp() != op)
        reads.push_back(&operand);
  });
  return reads;
}

bool remat::isRemade(Operation *op) {
  using Next = SmallVectorImpl<Operation *>;
  return holdsForClosure(op, [](Operation *made, Next &next) {
    // What is no result is given.
    if (!made)
      return false;
    if (made->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(made))
      return true;
    bool isNumber =
        llvm::none_of(made->getResultTypes(), llvm::IsaPred<TensorType>);
    if (!isa<linalg::FillOp>(made) && !(isNumber && isMemoryEffectFree(made)))
      return false;
    for (OpOperand *read : collectReads(made))
      next.push_back(read->get().getDefiningOp());
    return true;
  });
}

/// Whether two operations are equal but for what they read.
static bool areAlike(Operation *a, Operation *b) {
  DenseMap<Value, Value> inner;
  return OperationEquivalence::isEquivalentTo(
      a, b,
      [&](Value left, Value right) {
        auto found = inner.find(left);
        return success(found == inner.end() ? left.getType() == right.getType()
                                            : found->second == right);
      },
      [&](Value left, Value right) { inner[left] = right; },
      OperationEquivalence::IgnoreLocations);
}

/// Whether what makes these is remade and equal.
static bool areEqualRemade(Value a, Value b) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || !isRemade(left) || !isRemade(right))
    return false;
  using Pair = std::pair<Value, Value>;
  return holdsForClosure(Pair(a, b), [](Pair pair,
                                        SmallVectorImpl<Pair> &next) {
    if (pair.first == pair.second)
      return true;
    auto left = cast<OpResult>(pair.first), right = cast<OpResult>(pair.second);
    if (left.getResultNumber() != right.getResultNumber() ||
        !areAlike(left.getOwner(), right.getOwner()))
      return false;
    for (auto [one, other] : llvm::zip_equal(collectReads(left.getOwner()),
                                             collectReads(right.getOwner())))
      next.push_back({one->get(), other->get()});
    return true;
  });
}

/// Whether `op` asks for something of values of this step, of which a loop's
/// body makes many: another form of what is kept, a recomputation of what
/// nobody needs, or one that draws other numbers.
static bool asksForOneValue(Operation *op) {
  if (auto tag = dyn_cast<TagOp>(op))
    return bool(tag.getCodecAttr());
  if (auto scope = dyn_cast<ScopeOp>(op))
    return bool(scope.getCodecAttr());
  auto region = dyn_cast<CheckpointOp>(op);
  return region && !(region.getEarlyStop() && region.getPreserveRngState());
}

/// Whether a layer with `op` may run in a loop, and again in its derivative.
static bool mayRepeat(Operation *op) {
  return !op->walk([](Operation *inner) {
              bool isOnce = isa<GradientHookOp>(inner) || runsOnce(inner) ||
                            asksForOneValue(inner);
              return isOnce ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
}

//===----------------------------------------------------------------------===//
// What layers read
//===----------------------------------------------------------------------===//

namespace {
/// Finds out what the layers of a chain read and hand on.
class ChainReader {
public:
  ChainReader(ArrayRef<Operation *> ops, unsigned count) : count(count) {
    chain.ops.assign(ops.begin(), ops.end());
    chain.count = count;
    for (auto [place, op] : llvm::enumerate(ops))
      places[op] = place;
  }

  /// The chain, or nothing if its operations are no equal layers.
  std::optional<LayerChain> run();

private:
  struct Origin {
    /// 0: the reader's own layer; 1: the one before; nothing: outside.
    std::optional<unsigned> distance;
    LayerResult result;
  };
  FailureOr<Origin> findOrigin(Value value, unsigned layer);
  bool addRead(unsigned place, unsigned number);
  bool addOutside(unsigned place, ArrayRef<Value> values);
  bool addResults();
  bool asksForTwoRuns() const;

  LayerChain chain;
  unsigned count;
  DenseMap<Operation *, unsigned> places;
  /// What each operation of each layer reads.
  std::vector<SmallVector<OpOperand *>> operands;
};
} // namespace

/// Fails for what comes from a layer before the last one.
FailureOr<ChainReader::Origin> ChainReader::findOrigin(Value value,
                                                       unsigned layer) {
  auto place = places.find(value.getDefiningOp());
  if (!value.getDefiningOp() || place == places.end())
    return Origin{};
  unsigned length = chain.getLength(), from = place->second / length;
  if (from > layer || layer - from > 1)
    return failure();
  return Origin{
      layer - from,
      {place->second % length, cast<OpResult>(value).getResultNumber()}};
}

/// Takes down what all layers get from outside of the chain.
bool ChainReader::addOutside(unsigned place, ArrayRef<Value> values) {
  SmallVector<LayerRead> &reads = chain.reads[place];
  auto addTo = [](auto &known, const auto &wanted) -> unsigned {
    auto found = llvm::find(known, wanted);
    if (found != known.end())
      return found - known.begin();
    known.push_back(wanted);
    return known.size() - 1;
  };
  bool areEqual = llvm::all_of(values.drop_front(), [&](Value value) {
    return areEqualRemade(values.front(), value);
  });
  Operation *maker = values.front().getDefiningOp();
  if (areEqual && maker && isRemade(maker)) {
    reads.push_back({LayerRead::Remade});
    return true;
  }
  auto type = dyn_cast<RankedTensorType>(values.front().getType());
  if (areEqual) {
    if (type)
      reads.push_back(
          {LayerRead::Invariant, {}, addTo(chain.invariants, values.front())});
    return bool(type);
  }
  // Constants of layers are written before the loop reads them.
  bool hasConstants = llvm::any_of(values, [](Value value) {
    return value.getDefiningOp() && isRemade(value.getDefiningOp());
  });
  bool isNumber = values.front().getType().isIntOrFloat();
  if (isNumber && !llvm::all_of(values, [](Value value) {
        Operation *op = value.getDefiningOp();
        return op && op->hasTrait<OpTrait::ConstantLike>();
      }))
    return false;
  if (!isNumber &&
      (!type || (hasConstants &&
                 getBufferBytes(type) > FoldingTuning::mostConstantBytes)))
    return false;
  reads.push_back(
      {LayerRead::Listed, {}, addTo(chain.lists, SmallVector<Value>(values))});
  return true;
}

/// Takes down where the operations at `place` get value `number` of those that
/// they read.
bool ChainReader::addRead(unsigned place, unsigned number) {
  SmallVector<Value> values;
  SmallVector<Origin> origins;
  unsigned length = chain.getLength();
  for (unsigned layer = 0; layer < count; ++layer) {
    values.push_back(operands[layer * length + place][number]->get());
    FailureOr<Origin> origin = findOrigin(values.back(), layer);
    if (failed(origin))
      return false;
    origins.push_back(*origin);
  }
  const Origin &second = origins[1];
  for (const Origin &origin : ArrayRef(origins).drop_front(2))
    if (origin.distance != second.distance || origin.result != second.result)
      return false;
  const Origin &first = origins.front();
  if (!second.distance)
    return !first.distance && addOutside(place, values);
  if (*second.distance == 0) {
    chain.reads[place].push_back({LayerRead::Own, second.result});
    return first.distance == 0u && first.result == second.result;
  }
  if (first.distance || !isa<RankedTensorType>(values.front().getType()))
    return false;
  auto found = llvm::find_if(chain.carried, [&](const CarriedValue &value) {
    return value.result == second.result && value.init == values.front();
  });
  chain.reads[place].push_back(
      {LayerRead::Carried, {}, unsigned(found - chain.carried.begin())});
  if (found == chain.carried.end())
    chain.carried.push_back({second.result, values.front()});
  return true;
}

/// Takes down what is read behind the chain: of the last layer what it would
/// hand on, or of all layers.
bool ChainReader::addResults() {
  for (unsigned place = 0; place < chain.getLength(); ++place)
    for (OpResult result : chain.getOp(0, place)->getResults()) {
      unsigned number = result.getResultNumber();
      auto isReadBehind = [&](unsigned layer) {
        Value value = chain.getOp(layer, place)->getResult(number);
        return llvm::any_of(value.getUses(), [&](OpOperand &use) {
          Operation *user = use.getOwner();
          Block *block = chain.ops.front()->getBlock();
          return !places.contains(block->findAncestorOpInBlock(*user));
        });
      };
      unsigned numRead = 0;
      for (unsigned layer = 0; layer < count; ++layer)
        numRead += isReadBehind(layer);
      if (numRead == 0)
        continue;
      LayerResult found = {place, number};
      bool isFinal =
          numRead == 1 && isReadBehind(count - 1) &&
          llvm::any_of(chain.carried, [&](const CarriedValue &value) {
            return value.result == found;
          });
      if (isFinal)
        continue;
      // A list of which somebody reads a part costs what that one does not.
      if (numRead != count || !isa<RankedTensorType>(result.getType()))
        return false;
      chain.listedResults.push_back(found);
    }
  return true;
}

/// Whether something that the layers make must be kept, and a result that is
/// read behind them must be made again: a loop has them all of the same runs.
bool ChainReader::asksForTwoRuns() const {
  auto keeps = [](Operation *op) {
    return op
        ->walk([](TagOp tag) {
          std::optional<Policy> policy = tag.getPolicy();
          bool isKept =
              policy == Policy::MustSave || policy == Policy::MustCpuOffload;
          return isKept ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  Operation *last = chain.ops.back();
  return llvm::any_of(chain.ops, keeps) &&
         llvm::any_of(chain.ops, [&](Operation *op) {
           return llvm::any_of(op->getResults(), [&](Value result) {
             return llvm::any_of(findTags(result), [&](TagOp tag) {
               return tag.getPolicy() == Policy::MustRecompute &&
                      tag->getBlock() == last->getBlock() &&
                      last->isBeforeInBlock(tag);
             });
           });
         });
}

std::optional<LayerChain> ChainReader::run() {
  unsigned length = chain.getLength();
  chain.reads.resize(length);
  for (Operation *op : chain.ops)
    operands.push_back(collectReads(op));
  for (unsigned place = 0; place < length; ++place)
    for (unsigned number = 0; number < operands[place].size(); ++number)
      if (!addRead(place, number))
        return std::nullopt;
  // Layers that hand nothing on are no chain.
  if (chain.carried.empty() || !addResults() || asksForTwoRuns())
    return std::nullopt;
  return std::move(chain);
}

//===----------------------------------------------------------------------===//
// Periods
//===----------------------------------------------------------------------===//

namespace {
/// A part of the sequence of operations that has a period.
struct Run {
  unsigned begin = 0, size = 0, period = 1;
  /// How many operations its layers have.
  unsigned covered() const { return size / period * period; }
};
} // namespace

/// The operations of `block` that may be in layers, in order: not what each
/// layer makes for itself, and not what is made of such alone.
static SmallVector<Operation *> collectSequence(Block &block) {
  SmallVector<Operation *> sequence;
  DenseSet<Operation *> fixed;
  for (Operation &op : block.without_terminator()) {
    bool isFixed = isMemoryEffectFree(&op) && mayRepeat(&op) &&
                   llvm::all_of(collectReads(&op), [&](OpOperand *read) {
                     return fixed.contains(read->get().getDefiningOp());
                   });
    if (isFixed)
      fixed.insert(&op);
    else
      sequence.push_back(&op);
  }
  return sequence;
}

/// The same number for operations that are equal but for what they read; one of
/// its own for each that may be in no layer.
static SmallVector<unsigned> numberOps(ArrayRef<Operation *> sequence) {
  DenseMap<llvm::hash_code, SmallVector<std::pair<Operation *, unsigned>, 1>>
      known;
  SmallVector<unsigned> numbers;
  unsigned next = 0;
  for (Operation *op : sequence) {
    if (!mayRepeat(op)) {
      numbers.push_back(next++);
      continue;
    }
    llvm::hash_code hash = 0;
    op->walk([&](Operation *inner) {
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(
                    inner, OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::IgnoreLocations));
    });
    auto &alike = known[hash];
    auto found = llvm::find_if(
        alike, [&](const auto &other) { return areAlike(other.first, op); });
    if (found == alike.end()) {
      alike.push_back({op, next++});
      found = std::prev(alike.end());
    }
    numbers.push_back(found->second);
  }
  return numbers;
}

/// The runs of at least `fewest` periods, those that cover most first, of equal
/// ones that of the shortest period.
static std::vector<Run> findRuns(ArrayRef<unsigned> numbers, unsigned fewest) {
  std::vector<Run> runs;
  unsigned longest =
      std::min<unsigned>(numbers.size() / fewest, FoldingTuning::mostOps);
  for (unsigned period = FoldingTuning::fewestOps; period <= longest;
       ++period) {
    unsigned begin = 0;
    for (unsigned i = period; i <= numbers.size(); ++i) {
      if (i < numbers.size() && numbers[i] == numbers[i - period])
        continue;
      if (i - begin >= fewest * period)
        runs.push_back({begin, i - begin, period});
      begin = i + 1 - period;
    }
  }
  llvm::stable_sort(runs, [](const Run &a, const Run &b) {
    return a.covered() > b.covered();
  });
  if (runs.size() > FoldingTuning::mostTried)
    runs.resize(FoldingTuning::mostTried);
  return runs;
}

/// What the layers of a chain hand to each other.
static int64_t countCarriedBytes(const LayerChain &chain) {
  int64_t bytes = 0;
  for (const CarriedValue &value : chain.carried)
    bytes = addCounts(bytes, getBufferBytes(value.init));
  return bytes;
}

std::optional<LayerChain> remat::findRepeatedLayers(Block &block,
                                                    unsigned fewest) {
  SmallVector<Operation *> sequence = collectSequence(block);
  for (const Run &run : findRuns(numberOps(sequence), fewest)) {
    std::optional<LayerChain> best;
    // Layers that begin later may be one less.
    for (unsigned begin = 0; begin < run.period; ++begin) {
      unsigned count = (run.size - begin) / run.period;
      if (count < fewest)
        break;
      std::optional<LayerChain> chain =
          ChainReader(
              ArrayRef(sequence).slice(run.begin + begin, count * run.period),
              count)
              .run();
      if (chain &&
          (!best || countCarriedBytes(*chain) < countCarriedBytes(*best)))
        best = std::move(chain);
    }
    if (best)
      return best;
  }
  return std::nullopt;
}
