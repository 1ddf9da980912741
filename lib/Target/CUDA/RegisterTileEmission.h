//===- RegisterTileEmission.h - tiles in registers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emission of a launch whose tiles are in registers, in parts: factors and
// their products (RegisterTileFactors.cpp), what steps read of rows or columns
// (RegisterTileLines.cpp), what is known of whole tiles
// (RegisterTileMasks.cpp), and all else (RegisterTileEmitter.cpp).
//
// A warp owns 16 rows (or columns, in sums over rows) of the block's tile, and
// has all of the tile that is swept over: element (g + 8 h, 8 q + 2 t + c) of
// the 16 is the thread's element 4 q + 2 h + c, as in emitTensorCore. Two of
// the eights next to each other are the first factor of another product.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_REGISTERTILEEMISSION_H
#define REMAT_LIB_TARGET_CUDA_REGISTERTILEEMISSION_H

#include "MatrixStage.h"
#include "NestEmitter.h"
#include "RegisterTiles.h"
#include "TiledRowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <array>
#include <optional>

namespace remat::cuda {

/// row * ofRow + column * ofColumn + offset.
struct AffineForm {
  int64_t ofRow = 0, ofColumn = 0, offset = 0;

  bool isConstant() const { return ofRow == 0 && ofColumn == 0; }
  AffineForm plus(const AffineForm &other, int64_t sign) const {
    return {ofRow + sign * other.ofRow, ofColumn + sign * other.ofColumn,
            offset + sign * other.offset};
  }
  /// The least and the largest number, of rows and columns from the first to
  /// the last.
  std::pair<int64_t, int64_t> getRange(int64_t row, int64_t lastRow,
                                       int64_t column,
                                       int64_t lastColumn) const {
    auto [leastRow, mostRow] = std::minmax({ofRow * row, ofRow * lastRow});
    auto [leastColumn, mostColumn] =
        std::minmax({ofColumn * column, ofColumn * lastColumn});
    return {leastRow + leastColumn + offset, mostRow + mostColumn + offset};
  }
};

class RegisterTileEmission : public TiledRowEmission {
public:
  RegisterTileEmission(const TiledRows &plan, const RowSchedule &schedule,
                       LaunchBuilder &launch, const RegisterTiles &registers)
      : TiledRowEmission(plan, schedule, launch), tiles(registers),
        owned(tiles.overRows ? plan.tileColumns : schedule.blockRows),
        swept(llvm::alignTo(tiles.overRows ? schedule.blockRows
                                           : plan.tileColumns,
                            uint64_t(16))) {
    // With what each launch does again for itself, which is known by now.
    for (llvm::SmallVector<TilePass> &sweep : tiles.sweeps)
      for (TilePass &pass : sweep)
        pass.steps =
            findTiledSteps(plan, [&](unsigned number, const TiledStep &) {
              return llvm::is_contained(pass.ends, number);
            });
    findComparisons();
  }

protected:
  void allocate() override;
  llvm::LogicalResult emitSweep(unsigned sweep) override;
  llvm::LogicalResult emitSums(mlir::Value unit) override;

private:
  using Fragment = llvm::SmallVector<mlir::Value>;
  /// An element of a fragment: its row or column that the warp owns, 0 or 1,
  /// and the other one.
  struct Element {
    unsigned h, q, c;
  };
  static Element getElement(unsigned number) {
    return {number % 4 / 2, number / 4, number % 2};
  }

  bool isWhole(bool rows) const {
    if (isInner && rows == tiles.overRows)
      return true;
    return rows ? schedule.runRows % schedule.blockRows == 0 &&
                      schedule.blockRows % 16 == 0
                : plan.hasWholeTiles();
  }
  mlir::Value emitCount(bool rows);
  mlir::Value getOwned(unsigned h) { return add(ownedLane, index(8 * h)); }
  mlir::Value getSwept(Element e) {
    return add(sweptLane, index(8 * e.q + e.c));
  }
  mlir::Value getPlace(Element e, bool row) {
    return row != tiles.overRows ? getOwned(e.h) : getSwept(e);
  }
  mlir::Value emitIsSwept(Element e);
  mlir::Value emitIsOwned(unsigned h);
  void setSwept(mlir::Value tile);

  /// A comparison of a row and a column in the body of a step.
  struct Comparison {
    mlir::arith::CmpIOp op;
    /// What is compared with 0, and how.
    AffineForm form;
    mlir::arith::CmpIPredicate predicate;
    /// Its result in inner tiles.
    bool isInner;
    /// Of the thread's first element of the tile at hand.
    mlir::Value first;
  };
  void findComparisons();
  llvm::SmallVector<Comparison *> getComparisons(const TilePass &pass);
  bool findInnerTiles(const TilePass &pass);
  mlir::Value emitIsInner(const TilePass &pass);
  mlir::Value emitComparison(Comparison &comparison, Element e);
  llvm::LogicalResult emitSplitTile(const TilePass &pass,
                                    llvm::SmallVector<mlir::Value> &sums);

  StageSource openFactor(unsigned number);
  void stage(const std::vector<bool> &factors, bool owned, mlir::Value place);
  bool isMade(const std::vector<bool> &factors) const;
  std::vector<bool> findFactors(const TilePass &pass) const;

  llvm::SmallVector<mlir::Value> emitInits(const TilePass &pass);
  llvm::LogicalResult emitTiles(const TilePass &pass, mlir::Value begin,
                                mlir::Value end,
                                llvm::SmallVector<mlir::Value> &sums);
  llvm::LogicalResult emitTile(const TilePass &pass,
                               llvm::SmallVector<mlir::Value> &sums);
  void updateMaximum(const TilePass &pass, llvm::ArrayRef<mlir::Value> before,
                     llvm::MutableArrayRef<mlir::Value> sums);
  void emitScores(unsigned number);
  void defineElement(LoopNest &nest, unsigned number, const Element &e,
                     BodyEmitter &body);
  void storeElements(LoopNest &nest, unsigned number, const Access &access,
                     llvm::ArrayRef<mlir::Value> elements);
  llvm::LogicalResult emitElements(unsigned number,
                                   llvm::MutableArrayRef<mlir::Value> sums);
  void emitProduct(unsigned number, llvm::MutableArrayRef<mlir::Value> sums);
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  takeApart(llvm::ArrayRef<mlir::Value> values, mlir::Type type, int64_t count);
  llvm::LogicalResult finish(const TilePass &pass,
                             llvm::ArrayRef<mlir::Value> sums);
  void finishReduction(unsigned number, llvm::ArrayRef<mlir::Value> sums);
  /// The loops of a product, or of what finishes it.
  struct Finish {
    LoopNest nest;
    /// The loops that walk columns, the rows of a run and the other side of the
    /// product; -1 for none.
    int columnLoop = -1, rowLoop = -1, sideLoop = -1;
    /// The step, if it is one for rows that finishes the product.
    int step = -1;
    /// Whether the product is what is stored.
    bool isProduct = false;
    /// What it reads of the row at hand, by input, and one divided by it.
    llvm::DenseMap<unsigned, mlir::Value> rowInputs, inverses;
  };
  Finish openFinish(unsigned number);
  mlir::Value getFinishAddress(const Finish &finish, const Access &access,
                               unsigned h);
  llvm::FailureOr<mlir::Value> getRowInput(unsigned number,
                                           const LoopNest &nest, unsigned input,
                                           unsigned h);
  llvm::LogicalResult loadRowInputs(Finish &finish, mlir::Value product,
                                    unsigned h);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  finishSum(const Finish &finish, mlir::Value sum);
  void storePair(const Finish &finish, unsigned output, mlir::Value base,
                 Element e, llvm::ArrayRef<mlir::Value> values);
  llvm::LogicalResult storeProduct(unsigned number,
                                   llvm::ArrayRef<mlir::Value> sums);

  /// What a step reads of each row or column, or one divided by it.
  struct Line {
    unsigned step, input;
    bool ofRows, isInverse;
    mlir::Value root;
    int64_t offset, coefficient;
    /// For what the warp owns: the thread's two values. For what is swept over:
    /// two places in shared memory, and what this thread has read for the next
    /// tile.
    std::array<mlir::Value, 2> values;
    mlir::Value buffer;
    llvm::SmallVector<mlir::Value> next;
  };
  bool isOwned(const Line &line) const { return line.ofRows != tiles.overRows; }
  int64_t getRowLoop(unsigned number) const;
  std::optional<Line> getLine(unsigned number, unsigned input,
                              bool isInverse) const;
  Line *findLine(unsigned number, unsigned input, bool isInverse);
  void addLines(const TilePass &pass);
  mlir::Value emitLine(const Line &line, mlir::Value place);
  void loadOwnedLines();
  void loadNextLines();
  void storeNextLines(mlir::Value place);
  mlir::Value readLine(const Line &line, unsigned input, Element e);
  mlir::Value emitInverse(const LoopNest &nest, unsigned number, unsigned input,
                          Element e);

  LoopNest openStep(unsigned number);
  mlir::Value emitInput(const LoopNest &nest, unsigned number, unsigned input,
                        Element e);
  mlir::Value emitAddress(const LoopNest &nest, const Access &access,
                          unsigned columnLoop, int64_t row,
                          mlir::Value rowPlace, mlir::Value columnPlace);
  llvm::SmallVector<Accumulator> findSums(LoopNest &nest, unsigned number);
  int64_t countSums(unsigned number);

  RegisterTiles tiles;
  /// Rows or columns of a tile that warps own, and those that they sweep over.
  const int64_t owned, swept;
  std::vector<MatrixStage> stages;
  std::vector<bool> isStaged;
  /// The thread's first row or column among those of the block's tile that
  /// warps own, and among those that are swept over; its warp's first.
  mlir::Value ownedLane, sweptLane, warpBegin, place;
  /// Which of the two places of factors that are swept over is read.
  mlir::Value half;
  /// By root: what the tile at hand has, and what was reduced for the rows that
  /// the warp owns, with how a row's element is found.
  llvm::DenseMap<mlir::Value, Fragment> fragments;
  struct RowValues {
    int64_t offset, coefficient;
    std::array<mlir::Value, 2> values;
  };
  llvm::DenseMap<mlir::Value, RowValues> rowValues;
  /// By root: the maximum so far of the rows that the warp owns, or 0 where it
  /// is minus infinity.
  llvm::DenseMap<mlir::Value, std::array<mlir::Value, 2>> runningMaxima;
  /// By factor: its words, where they are kept.
  std::vector<llvm::SmallVector<llvm::SmallVector<mlir::Value>>> kept;
  /// What the step at hand has read.
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::Value> loaded;
  /// The unit whose rows are added up.
  mlir::Value unit;
  /// Of the pass at hand.
  std::vector<Line> lines;
  /// By step.
  std::vector<llvm::SmallVector<Comparison>> comparisons;
  /// The body at hand is that of inner tiles.
  bool isInner = false;
};

/// The argument of a body that an f32 is divided by; null if it is none.
mlir::BlockArgument getDivisor(mlir::arith::DivFOp op,
                               const codegen::LoopNest &nest);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_REGISTERTILEEMISSION_H
