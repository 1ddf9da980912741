//===- Timeline.h - a plan that can be changed in place ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of the local search: a sequence of steps together with the bytes
// that are live during each, kept up to date while steps are inserted, removed
// and moved. Steps are stored in chunks; adding bytes to a range touches the
// steps of its two border chunks and two numbers for each chunk in between.
// A change costs a few of those, instead of a simulation of the whole plan.
//
// Offloads are implicit: a value with a Reload leaves for the host right after
// its op ran for the first time. A packed form is a value of its own, made by a
// Pack step and read by Unpack steps. An absorbed op has no place in the
// sequence: it changes what its host, the run of a kernel, reads from memory.
// `Simulator` stays the judge of every result.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_TIMELINE_H
#define REMAT_LIB_PLANNING_TIMELINE_H

#include "Graph.h"
#include "remat/Planning/Plan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace remat::planning {

/// A step of a timeline. An id stays valid until the step is removed and the
/// change is committed.
using StepId = uint32_t;
inline constexpr StepId noStep = ~StepId(0);

/// What a step does. Borders hold arguments and outputs.
enum class StepKind : uint8_t { Border, Run, Reload, Pack, Unpack, Absorb };

/// One copy of a root value or of its packed form, and the steps that read it.
struct TimelineCopy {
  ValueId value = noValue;
  StepId def = noStep;
  /// In the order of the timeline.
  llvm::SmallVector<StepId, 4> readers;
};

class Timeline {
public:
  explicit Timeline(const Graph &graph);

  /// Replaces the sequence. `plan` simulates without an error.
  void load(const Plan &plan);
  /// The sequence, offloads made explicit.
  Plan plan() const;

  //===--- Reading --------------------------------------------------------===//

  /// Steps before the first and after the last action; they hold arguments and
  /// outputs.
  StepId begin() const { return firstStep; }
  StepId end() const { return lastStep; }
  StepId next(StepId step) const;
  StepId previous(StepId step) const;

  bool before(StepId a, StepId b) const { return key(a) < key(b); }
  /// Whether the step belongs to the backward phase, which there must be.
  bool isBehindForward(StepId step) const { return before(forwardEnd, step); }
  /// Positions as numbers that grow along the timeline; they change when it
  /// does.
  uint64_t key(StepId step) const { return places[step].key; }
  StepKind kind(StepId step) const { return steps[step].kind; }
  bool isReload(StepId step) const { return kind(step) == StepKind::Reload; }
  /// The op of a run or an absorption; `noOp` for all others.
  OpId op(StepId step) const { return steps[step].op; }
  /// The value that is reloaded, packed or unpacked.
  ValueId value(StepId step) const { return steps[step].value; }
  /// The step itself, or the host of an absorption: what has a place.
  StepId anchor(StepId step) const {
    return kind(step) == StepKind::Absorb ? steps[step].host : step;
  }
  /// What a run or absorption costs, a pack or unpack, or a transfer.
  int64_t costOf(StepId step) const;
  /// Whether the step repeats something and no MUST asks for it.
  bool isRemovable(StepId step) const {
    return steps[step].alive && steps[step].repeat && !isNeeded(step);
  }
  bool isRepeat(StepId step) const { return steps[step].repeat; }
  bool isAlive(StepId step) const { return steps[step].alive; }
  /// The first run of an op.
  StepId firstRun(OpId op) const { return firstRuns[op]; }
  /// Steps that were inserted, absorptions too, in no particular but a
  /// deterministic order.
  llvm::ArrayRef<StepId> repeats() const { return repeatList; }
  /// All steps ever made have smaller ids.
  size_t numStepIds() const { return steps.size(); }

  /// The packed form of a value, as a value.
  ValueId packedForm(ValueId value) const { return graph.numValues() + value; }
  /// Bytes of a value or a packed form.
  int64_t bytes(ValueId form) const { return formBytes[form]; }
  /// What a step reads from memory. `buffer` holds it where it is not a list
  /// of the graph.
  llvm::ArrayRef<ValueId> reads(StepId step,
                                llvm::SmallVectorImpl<ValueId> &buffer) const;
  /// Absorptions into a run, in the order of their ops.
  llvm::ArrayRef<StepId> absorptions(StepId host) const {
    if (!steps[host].isHost)
      return {};
    return absorbed.find(host)->second;
  }
  bool isAbsorbed(OpId op, StepId host) const;
  /// How many absorptions of an op there are.
  uint32_t numAbsorptions(OpId op) const { return absorptionCount[op]; }
  /// Whether a forward op may read this copy if it runs again before a step, as
  /// far as a MUST is concerned.
  bool mayReadAgain(uint32_t copy, StepId before) const {
    const TimelineCopy &c = pool[copy];
    return !graph.mustLeaveForward(c.value) ||
           graph.policy(c.value) != Policy::MustRecompute ||
           !isBehindForward(before) || isFresh(c);
  }

  /// Summed cost of what is run, absorbed, packed and unpacked; and of the
  /// transfers of reloads and of the offloads they need.
  int64_t cost() const { return totalCost; }
  int64_t transferTime() const { return totalTransfer; }
  int64_t hostBytes() const { return totalHost; }
  /// Whether the value has reloads, and so a copy on the host.
  bool isOnHost(ValueId value) const { return reloads[value] > 0; }

  int64_t peak() const;
  /// The first step with the most live bytes.
  StepId peakStep() const;
  int64_t bytesAt(StepId step) const {
    const Chunk &chunk = chunks[places[step].chunk];
    return chunk.bytes[places[step].slot] + chunk.offset;
  }
  /// The most bytes live at steps strictly between two.
  int64_t maxBetween(StepId after, StepId before) const;
  /// The first step strictly between two with more than `limit` bytes;
  /// `noStep` if there is none.
  StepId firstAbove(StepId after, StepId before, int64_t limit) const;
  /// Calls `visit(bytes)` for the steps strictly between two.
  template <typename Visitor>
  void forEachBytes(StepId after, StepId before, Visitor visit) const {
    uint32_t last = chunks[places[before].chunk].index;
    size_t slot = places[after].slot + 1;
    for (uint32_t i = chunks[places[after].chunk].index; i <= last; ++i) {
      const Chunk &chunk = chunks[order[i]];
      size_t end = i == last ? places[before].slot : chunk.bytes.size();
      for (; slot < end; ++slot)
        visit(chunk.bytes[slot] + chunk.offset);
      slot = 0;
    }
  }
  /// Calls `visit(step, bytes)` for the steps with more than `limit` bytes.
  template <typename Visitor>
  void forEachAbove(int64_t limit, Visitor visit) const {
    for (size_t place = 0; place < order.size(); ++place) {
      if (mostBytes[place] <= limit)
        continue;
      const Chunk &chunk = chunks[order[place]];
      for (size_t i = 0; i < chunk.steps.size(); ++i)
        if (chunk.bytes[i] + chunk.offset > limit)
          visit(chunk.steps[i], chunk.bytes[i] + chunk.offset);
    }
  }

  /// Copies of a value or a packed form in the order of their definition.
  llvm::ArrayRef<uint32_t> copies(ValueId value) const {
    return copiesOf[value];
  }
  const TimelineCopy &copy(uint32_t index) const { return pool[index]; }
  llvm::ArrayRef<uint32_t> copiesMadeBy(StepId step) const {
    return steps[step].copies;
  }
  /// The copy that a step at `step` would read; `noCopy` if there is none.
  uint32_t copyBefore(ValueId value, StepId step) const;
  static constexpr uint32_t noCopy = ~uint32_t(0);
  StepId lastUse(uint32_t copy) const {
    const TimelineCopy &c = pool[copy];
    return c.readers.empty() ? c.def : c.readers.back();
  }

  //===--- Changing -------------------------------------------------------===//

  StepId insertRun(OpId op, StepId before);
  /// The value has a copy somewhere before.
  StepId insertReload(ValueId value, StepId before);
  /// The value has a copy before, and a packed one unless it is an unpack.
  StepId insertPack(ValueId value, StepId before);
  StepId insertUnpack(ValueId value, StepId before);
  /// The op ran before `host`, a run that (or whose absorbed ops) will read
  /// its results.
  StepId insertAbsorb(OpId op, StepId host);
  /// Removes a repeat. Its readers then read the copy before. What is of no
  /// more use is removed too: absorptions into it or for it alone, and a pack
  /// that nobody unpacks.
  void remove(StepId step);
  /// Moves a step. The caller keeps it behind what it reads, before what reads
  /// it, and on the same side of all other copies of its results.
  void move(StepId step, StepId before);

  /// Changes since the last commit can be taken back, all or those since a
  /// mark.
  void commit();
  size_t mark() const { return journal.size(); }
  /// Calls `visit(step)` for the steps inserted since a mark.
  template <typename Visitor>
  void forEachInserted(size_t mark, Visitor visit) const {
    for (const Change &change : llvm::ArrayRef(journal).drop_front(mark))
      if (change.kind == Change::Inserted)
        visit(change.step);
  }
  void rollback(size_t mark = 0);

private:
  struct Step {
    OpId op = noOp;
    ValueId value = noValue;
    /// Where it stands in `repeatList`.
    uint32_t repeatIndex = 0;
    /// Of an absorption.
    StepId host = noStep;
    StepKind kind = StepKind::Border;
    bool repeat = false, alive = false;
    /// Whether something is absorbed into it.
    bool isHost = false;
    llvm::SmallVector<uint32_t, 1> copies;
  };
  /// Apart from the rest of a step: what comparisons look at.
  struct Place {
    uint64_t key = 0;
    uint32_t chunk = 0, slot = 0;
  };
  struct Chunk {
    /// Where it stands in `order`.
    uint32_t index = 0;
    int64_t offset = 0;
    std::vector<StepId> steps;
    std::vector<int64_t> bytes;
  };
  struct Change {
    enum Kind { Inserted, Removed, Moved } kind;
    StepId step;
    /// The step that followed; nothing for an absorption.
    StepId next;
  };

  bool isNeeded(StepId step) const;
  bool isFresh(const TimelineCopy &copy) const;
  bool mayReplace(const TimelineCopy &made, ValueId value,
                  uint32_t source) const;
  bool mayRead(StepId reader, ValueId value, uint32_t copy) const;
  bool isUseful(StepId absorption) const;
  void clear();
  StepId allocateStep(StepKind kind);
  uint32_t allocateCopy(ValueId value, StepId def);
  void append(StepId step);
  void renumber();
  void spreadKeys(const Chunk &chunk);
  void splitChunk(uint32_t index);
  void updateMax(Chunk &chunk);

  /// Adds to steps with keys in (after, upTo].
  void addBytes(StepId after, StepId upTo, int64_t bytes);
  /// The bytes that live on from the step before `step` to `step`.
  int64_t bytesAcross(StepId step) const;
  int64_t ownBytes(StepId step) const;
  void place(StepId step, StepId before);
  void unplace(StepId step);
  void addReader(uint32_t copy, StepId step);
  void removeReader(uint32_t copy, StepId step);
  StepId insert(StepKind kind, OpId op, ValueId value, StepId before);
  void removeOne(StepId step);
  void attach(StepId step, StepId before);
  void detach(StepId step);
  void attachAbsorption(StepId step);
  void detachAbsorption(StepId step);
  void changeReads(StepId host, llvm::function_ref<void()> change);
  void enlist(StepId step);
  void delist(StepId step);
  llvm::ArrayRef<ValueId> makes(StepId step,
                                llvm::SmallVectorImpl<ValueId> &buffer) const;
  void moveTo(StepId step, StepId before);
  void account(StepId step, int sign);
  void fillChunks();

  const Graph &graph;
  const Problem &problem;

  std::vector<Step> steps;
  std::vector<Place> places;
  std::vector<StepId> freeSteps, removedSteps;
  std::vector<TimelineCopy> pool;
  std::vector<uint32_t> freeCopies;
  std::vector<llvm::SmallVector<uint32_t, 2>> copiesOf;
  std::vector<StepId> firstRuns;
  std::vector<StepId> repeatList;
  /// Reloads per value, absorptions per op.
  std::vector<uint32_t> reloads, absorptionCount;
  llvm::DenseMap<StepId, llvm::SmallVector<StepId, 2>> absorbed;
  /// Of values and packed forms.
  std::vector<int64_t> formBytes;
  /// Whether a MUST keeps any value from crossing into the backward phase.
  bool hasMusts = false;

  std::vector<Chunk> chunks;
  std::vector<uint32_t> freeChunks;
  std::vector<uint32_t> order;
  /// The most bytes at a step of each chunk, in that order.
  std::vector<int64_t> mostBytes;
  size_t chunkCapacity = 64;

  StepId firstStep = noStep, lastStep = noStep;
  /// The last first run before that of any backward op, or the first step. It
  /// holds for the order of first runs that was loaded: where a MUST asks for
  /// it, nobody moves them.
  StepId forwardEnd = noStep;
  int64_t totalCost = 0, totalTransfer = 0, totalHost = 0;
  std::vector<Change> journal;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_TIMELINE_H
