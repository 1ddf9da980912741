//===- NestEmitter.h - elementwise ops and reductions on a GPU --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the points of a nest are divided over threads. The division, and with it
// the order of every sum, depends on shapes only.
//
// * pointwise: a thread computes as many neighbouring points as 16 bytes hold.
//   Where a block has points that are not next to each other in memory, a
//   thread reads those of several rounds before it computes any.
// * transpose: a block takes a square of points. What is next to each other in
//   memory along another loop than the results are goes through shared memory,
//   so that both are read and written in pieces of 16 bytes.
// * sum: `lanes` threads of a block share a result. Each adds up every
//   `lanes`-th term, then they add what they have. Where terms are next to each
//   other in memory, so are the lanes: warps add in a tree, then warp after
//   warp. Else a thread has as many results as 16 bytes hold, and the lanes of
//   a result are in different warps. Where there are few results, several
//   blocks share one: their partial sums go to the workspace, and a second
//   launch adds them in order. Beside a sum, the squares about its mean may be
//   added up: see NestMoments.cpp.
// * serial: one thread does all points in order.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_NESTEMITTER_H
#define REMAT_LIB_TARGET_CUDA_NESTEMITTER_H

#include "Launch.h"

#include "remat/Codegen/BodyEmitter.h"
#include "remat/Codegen/Reduction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <deque>
#include <optional>

namespace remat::cuda {

/// The division of one nest.
struct NestPlan {
  enum Kind { Empty, Serial, Pointwise, Transpose, Sum } kind = Pointwise;
  /// The loop whose neighbouring points one thread takes, or -1, and how many.
  int vectorLoop = -1;
  int64_t width = 1;
  /// Pointwise: the loop around it whose next line the points may go on to, or
  /// -1: lines that `width` does not divide lie one behind the other.
  int carryLoop = -1;
  /// Points behind the last vector of a line, which are taken one by one: a
  /// line of 50,257 elements that begins where a vector may begin.
  int64_t tail = 0;
  /// Pointwise: groups of `width` points, and the points of all tails.
  int64_t vectors = 1, tails = 0;
  /// Groups of `width` points or terms that a thread reads before it computes
  /// any of them: those of its next rounds of a loop.
  int64_t rounds = 1;
  /// Transpose: the other loop, how many neighbours along it are read at once,
  /// which inputs are, and the points along each side of a block's square.
  int tileLoop = -1;
  int64_t tileWidth = 1, tileSize = 0;
  llvm::SmallVector<unsigned> staged;
  /// Sum: how many, of how many terms, by how many threads of how many blocks.
  int64_t results = 1, terms = 1, lanes = 1, splits = 1;
  /// Sum: neighbouring threads share a result, instead of having neighbouring
  /// results.
  bool lanesAreNeighbours = false;
  /// Sum: neighbouring points are results, not terms.
  bool vectorIsResults = false;
  int64_t resultWidth() const { return vectorIsResults ? width : 1; }
  int64_t termWidth() const { return vectorIsResults ? 1 : width; }
  /// Results and terms, counted in groups of neighbours.
  int64_t groups() const { return results / resultWidth(); }
  int64_t steps() const { return terms / termWidth(); }
  /// Groups of terms of one of the blocks that share a result.
  int64_t splitSteps() const;
};

/// For a nest that a whole grid carries out in blocks of `threads`. With
/// `hasSquares`, squares about the mean are added up beside the only sum.
NestPlan planForGrid(const LoopNest &nest, int64_t threads,
                     bool hasSquares = false);
/// For a nest that one block of `threads` carries out. With `readsAhead`, it
/// has registers enough for several vectors.
NestPlan planForBlock(const LoopNest &nest, int64_t threads,
                      bool readsAhead = false);

/// For the launch that adds up what the blocks of `plan` leave.
NestPlan planForPartials(const NestPlan &plan);

/// Whether a point can fail.
bool hasChecks(const LoopNest &nest);

/// Whether the elements of a buffer are a multiple of `width`. Else it may
/// begin between two vectors: the body of a loop has elements of a slice or a
/// stack, which follow each other without gaps.
bool isWholeVectors(mlir::Value root, int64_t width);

/// Whether `width` neighbouring elements along `loop` are one vector in memory,
/// as well aligned as it is long.
bool isVectorAccess(const Access &access, unsigned loop, int64_t width);

/// Whether `width` points of a plan that carries to `carryLoop` are one vector
/// in memory, as well aligned as it is long.
bool isVectorOfLines(const LoopNest &nest, const Access &access, unsigned loop,
                     unsigned carryLoop, int64_t width);

/// Whether another element is read along `loops`.
bool variesAlong(const Access &access, llvm::ArrayRef<unsigned> loops);

/// The operations of the body whose results differ along `loops`.
llvm::DenseSet<mlir::Operation *> findVarying(const LoopNest &nest,
                                              llvm::ArrayRef<unsigned> loops);

/// Whether `width` neighbouring points along `loop` read one vector in memory
/// by `load`, which is in the body. `varying` are the operations of the body
/// whose results differ along the loop.
bool isVectorGather(const LoopNest &nest, mlir::memref::LoadOp load,
                    unsigned loop, int64_t width,
                    const llvm::DenseSet<mlir::Operation *> &varying);

/// Emits a nest into a launch.
class NestEmitter {
public:
  NestEmitter(LoopNest nest, const NestPlan &plan, LaunchBuilder &launch);

  /// Shared memory in which threads add up what they have.
  using Scratch = llvm::SmallVector<mlir::Value, 2>;

  /// All of the nest, by all blocks of the launch. `partials` are buffers of
  /// the workspace where the plan has splits.
  llvm::LogicalResult emitOnGrid(llvm::ArrayRef<unsigned> partials = {});
  /// Adds up what several blocks left, by the plan for that.
  llvm::LogicalResult emitPartials(llvm::ArrayRef<unsigned> partials);
  /// The point `number` of a pointwise plan without vectors.
  llvm::LogicalResult emitPoint(mlir::Value number) {
    return emitPointwise(number);
  }
  /// Adds up the squares of the differences between the terms and their mean,
  /// too. The nest has one output, a sum that starts from zero, and `sum` is
  /// how it is divided by the launch that reads the terms.
  void addSquares(const Access &access, const NestPlan &sum);
  /// Where this does not hold, reductions go on from what is in the outputs.
  void setFirst(mlir::Value value) { isFirst = value; }
  /// All of the nest by the block. The caller puts barriers around.
  llvm::LogicalResult emitInBlock();
  /// Whether all threads of the block compute the only element of each result.
  bool isKnownToAll() const;
  /// Then, once it is emitted, these elements.
  llvm::ArrayRef<mlir::Value> getKnown() const { return known; }

  /// Blocks of the grid that the plan wants.
  static int64_t countBlocks(const NestPlan &plan, int64_t threads);

private:
  /// One point of those that a thread does together.
  struct Point {
    Point(mlir::Block &block, const KernelContext &context)
        : body(block, context) {}
    BodyEmitter body;
    llvm::SmallVector<mlir::Value> indices;
  };

  void splitIndex(mlir::Value number, llvm::ArrayRef<unsigned> loops,
                  llvm::SmallVectorImpl<mlir::Value> &indices);
  mlir::Value emitAddress(const Access &access, const Point &point);
  mlir::Value emitElement(const Access &access, unsigned operand,
                          unsigned number);
  bool isVector(const Access &access) const {
    if (plan.carryLoop >= 0)
      return isVectorOfLines(nest, access, plan.vectorLoop, plan.carryLoop,
                             plan.width);
    return plan.vectorLoop >= 0 &&
           isVectorAccess(access, plan.vectorLoop, plan.width);
  }
  void createPoints(int64_t rounds);
  /// How many points lie next to each other.
  int64_t getWidth() const { return isTail ? 1 : plan.width; }
  /// The first of the points that lie next to the one of this number.
  unsigned getFirst(unsigned number) const {
    return number / plan.width * plan.width;
  }
  void moveToLane(Point &point, unsigned lane);
  void definePoint(unsigned number);
  void shareOps(unsigned number);
  llvm::SmallVector<mlir::Value> loadGather(mlir::memref::LoadOp load,
                                            Point &point);
  llvm::LogicalResult emitPoints(unsigned depth);
  llvm::SmallVector<unsigned> findLoopsOfPoints() const;
  void emitStore(const Access &access, llvm::ArrayRef<mlir::Value> values,
                 unsigned first = 0);
  void emitStores();
  void emitFills(mlir::Value first, int64_t step);
  llvm::LogicalResult emitPointwise(mlir::Value number, int64_t rounds = 1);
  llvm::LogicalResult emitVectorsInBlock();
  llvm::LogicalResult emitOnePoint();
  mlir::Value emitStaged(mlir::Value tile, mlir::Type type, unsigned lane);
  void splitTiles();
  std::pair<mlir::Value, mlir::Value> openTile(int64_t width,
                                               bool alongVectors);
  void emitTiles();
  llvm::LogicalResult emitTransposed();
  llvm::LogicalResult emitSerial();
  llvm::LogicalResult emitSum(mlir::Value group, mlir::Value split,
                              llvm::ArrayRef<unsigned> partials);
  llvm::LogicalResult emitTerms(mlir::Value begin, mlir::Value end,
                                mlir::Value trips, int64_t rounds,
                                llvm::SmallVectorImpl<mlir::Value> &sums);
  llvm::LogicalResult emitMine(mlir::Value begin, mlir::Value end,
                               mlir::Value isValid,
                               llvm::SmallVectorImpl<mlir::Value> &sums);
  std::optional<int64_t> countTrips() const;
  llvm::SmallVector<mlir::Type> narrowSums();
  void widenSums(llvm::ArrayRef<mlir::Type> types,
                 llvm::SmallVectorImpl<mlir::Value> &sums);
  void storeScratch(mlir::Value scratch, mlir::Value value, mlir::Value place);
  mlir::Value loadScratch(mlir::Value scratch, mlir::Type type,
                          mlir::Value place);
  Scratch getScratch(llvm::ArrayRef<mlir::Value> sums);
  void storeTerms(llvm::ArrayRef<mlir::Value> scratch,
                  llvm::ArrayRef<mlir::Value> sums, mlir::Value place);
  llvm::SmallVector<mlir::Value> loadTerms(llvm::ArrayRef<mlir::Value> scratch,
                                           llvm::ArrayRef<mlir::Value> mine,
                                           mlir::Value place);
  void combine(llvm::MutableArrayRef<mlir::Value> sums,
               llvm::ArrayRef<mlir::Value> terms);
  void combineMoments(llvm::MutableArrayRef<mlir::Value> sums,
                      llvm::ArrayRef<mlir::Value> terms);
  void setCount(llvm::SmallVectorImpl<mlir::Value> &sums, int64_t count);
  void addOrigins(llvm::SmallVectorImpl<mlir::Value> &sums);
  void removeOrigins(llvm::SmallVectorImpl<mlir::Value> &sums);
  mlir::Value emitOrigin(mlir::Value first);
  void addPoints(llvm::MutableArrayRef<mlir::Value> sums);
  std::optional<int64_t> countSplitTerms() const;
  mlir::Value emitCount(mlir::Type type, mlir::Value split);
  llvm::SmallVector<mlir::Value> emitNoMoments();
  void emitMoments(llvm::ArrayRef<mlir::Value> sums);
  void emitWarpTree(llvm::MutableArrayRef<mlir::Value> sums);
  void emitBlockTree(llvm::SmallVectorImpl<mlir::Value> &sums, mlir::Value lane,
                     int64_t stride);
  void emitTree(llvm::SmallVectorImpl<mlir::Value> &sums, mlir::Value lane,
                int64_t stride);
  mlir::Value emitInit(const Accumulator &accumulator, const Point &point);
  mlir::Value emitSteps();
  mlir::Value emitNeutral(const Accumulator &accumulator);
  llvm::SmallVector<mlir::Value> emitBegin(mlir::Value isFirstLane);
  void emitFinals(llvm::ArrayRef<mlir::Value> sums);
  mlir::Value emitIsInside();

  LoopNest nest;
  const NestPlan plan;
  LaunchBuilder &launch;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<Accumulator> accumulators;
  llvm::SmallVector<unsigned> parallel, reductions;

  /// Where squares about the mean go, and how their terms are divided.
  std::optional<Access> squares;
  NestPlan divided;
  mlir::Value isFirst;
  llvm::SmallVector<mlir::Value> known;

  /// While emitting: the points, neighbours one after the other and round after
  /// round, and how many of them are emitted.
  std::deque<Point> points;
  int64_t numActive = 0;
  /// Whether these are points of tails, which have no neighbours.
  bool isTail = false;
  /// What is read for neighbours: of an operand, or by an operation of the
  /// body, for those that begin with a point.
  llvm::DenseMap<std::pair<unsigned, unsigned>, llvm::SmallVector<mlir::Value>>
      vectors;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>,
                 llvm::SmallVector<mlir::Value>>
      gathered;
  /// Transpose: the squares of inputs in shared memory, where those of the
  /// block begin, and where in them the first point is.
  llvm::DenseMap<unsigned, mlir::Value> staged;
  mlir::Value tileBegin, vectorBegin;
  std::pair<mlir::Value, mlir::Value> stagedPlace;
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_NESTEMITTER_H
