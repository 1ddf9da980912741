//===- Lowering.h - from foreign operations to linalg -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is written anew: each of its operations is looked up by name in
// one table, and what it stands for is built behind what was built before. What
// the operands were is still there to be asked, above all whether integers were
// unsigned, which nothing here is any more.
//
// The same operations describe what a reduction or a comparison does with two
// elements. There they stand for scalars.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_LOWERING_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_LOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace remat::foreign {

class Lowering;

/// Builds what `op` stands for and says so by `Lowering::set`.
using OpLowering = llvm::LogicalResult (*)(mlir::Operation *op,
                                           Lowering &lowering);

/// What is known of the operations of one name. They come without a definition
/// that would verify them, so what each must have is said here.
struct KnownOp {
  /// The operands, results or regions of an operation that has any number.
  static constexpr int any = -1;
  enum Kind : uint8_t {
    /// On tensors only.
    Tensors,
    /// Also on scalars, in the body of a reduction.
    Scalars,
    /// Also on tuples and tokens, which stand for many values or for none.
    Groups,
  };

  KnownOp() = default;
  KnownOp(OpLowering lower, int operands, int results = 1, int regions = 0,
          Kind kind = Tensors)
      : lower(lower), operands(operands), results(results), regions(regions),
        kind(kind) {}

  OpLowering lower = nullptr;
  int operands = any, results = any, regions = any;
  Kind kind = Tensors;
};
using LoweringTable = llvm::StringMap<KnownOp>;

// One file for each of these, which says what its operations are.
void addArithmetic(LoweringTable &table);
void addAttention(LoweringTable &table);
void addCalls(LoweringTable &table);
void addChoices(LoweringTable &table);
void addControlFlow(LoweringTable &table);
void addConversions(LoweringTable &table);
void addConvolutions(LoweringTable &table);
void addDots(LoweringTable &table);
void addEigen(LoweringTable &table);
void addFourier(LoweringTable &table);
void addGathers(LoweringTable &table);
void addLu(LoweringTable &table);
void addQr(LoweringTable &table);
void addRandom(LoweringTable &table);
void addReducedPrecision(LoweringTable &table);
void addReductions(LoweringTable &table);
void addScatters(LoweringTable &table);
void addShapes(LoweringTable &table);
void addSlices(LoweringTable &table);
void addSorts(LoweringTable &table);
void addSpecialFunctions(LoweringTable &table);
void addSvd(LoweringTable &table);
void addTmTensor(LoweringTable &table);
void addTriangular(LoweringTable &table);
void addWindows(LoweringTable &table);

class Lowering {
public:
  Lowering(mlir::ModuleOp module, const LoweringTable &table)
      : builder(module.getContext()), module(module), table(table) {}

  /// Where what is built goes to.
  mlir::OpBuilder builder;

  /// Writes the body of a function anew into `body`, without a change to the
  /// function.
  llvm::LogicalResult lowerFunction(mlir::func::FuncOp function,
                                    mlir::Region &body,
                                    llvm::SmallVectorImpl<unsigned> &kept);

  /// Builds what the operations of `block` stand for, when its arguments are
  /// `arguments`; returns what its last operation hands on.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  lowerBlock(mlir::Block &block, mlir::ValueRange arguments);

  /// The same for the region of a reduction, whose arguments of rank 0 are
  /// scalars, at the place where `nested` stands. What it hands on must have
  /// the types `results`.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  lowerScalars(mlir::OpBuilder &nested, mlir::Region &region,
               mlir::ValueRange arguments, mlir::TypeRange results);

  /// Whether values stand for scalars.
  bool isScalar() const { return scalars; }

  /// What stands for `value`, which is one tensor, or one scalar.
  mlir::Value get(mlir::Value value);
  /// What stands for `values`; a tuple has many, and a token none.
  llvm::SmallVector<mlir::Value> get(mlir::ValueRange values);
  /// A scalar with the value of a tensor of rank 0.
  mlir::Value getScalar(mlir::Value value);

  /// Says what the only result of `op` is, or what all of them are; refuses
  /// what does not have their types.
  llvm::LogicalResult set(mlir::Operation *op, mlir::ValueRange results);
  void set(mlir::Value value, mlir::ValueRange stands);

  /// The types that stand for `type`; fails, with an error at `loc`, for types
  /// that nothing does.
  llvm::LogicalResult convertType(mlir::Location loc, mlir::Type type,
                                  llvm::SmallVectorImpl<mlir::Type> &types);
  /// The type of what stands for a result or an operand that is one tensor; of
  /// its elements in a scalar body.
  mlir::Type getType(mlir::Value value);
  mlir::RankedTensorType getTensorType(mlir::Value value);

  /// The constant that a foreign `value` is, also through arguments of private
  /// functions that are always called with it.
  mlir::DenseElementsAttr findConstant(mlir::Value value);
  std::optional<int64_t> findInteger(mlir::Value value);

  mlir::func::FuncOp lookUp(mlir::Operation *op, llvm::StringRef name);
  llvm::LogicalResult lowerOp(mlir::Operation *op);
  /// Whether there are operations called `name`.
  bool isKnown(llvm::StringRef name) const { return table.contains(name); }
  /// Lowers `op`, which has another name, as one called `name`.
  llvm::LogicalResult lowerAs(mlir::Operation *op, llvm::StringRef name);

private:
  llvm::LogicalResult lowerKnown(mlir::Operation *op, const KnownOp &known);
  void tagResults(mlir::Operation *op);
  llvm::LogicalResult copy(mlir::Operation *op);
  llvm::LogicalResult check(mlir::Operation *op, const KnownOp &known);
  llvm::LogicalResult checkOrder(mlir::Operation *op);
  llvm::LogicalResult checkType(mlir::Operation *op, mlir::Type type,
                                const KnownOp &known);
  llvm::LogicalResult setArguments(mlir::Block &block,
                                   mlir::ValueRange arguments);
  llvm::LogicalResult distribute(mlir::Operation *op, mlir::ValueRange results);
  mlir::DenseElementsAttr findArgument(mlir::BlockArgument argument);

  mlir::ModuleOp module;
  const LoweringTable &table;
  bool scalars = false;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> values;
  /// The constants that arguments of functions are; null if they are none, and
  /// while that is looked for.
  llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr> constants;
  unsigned constantDepth = 0;
  /// How deep calls are in each other, in scalar bodies.
  unsigned depth = 0;
};

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// An attribute of `op`, also one that its properties hold.
mlir::Attribute getAttr(mlir::Operation *op, llvm::StringRef name);
/// Numbers, as an array or a tensor; `missing` of them if there are none.
llvm::SmallVector<int64_t> getIntegers(mlir::Operation *op,
                                       llvm::StringRef name);
llvm::SmallVector<int64_t> getIntegers(mlir::Operation *op,
                                       llvm::StringRef name, size_t missing,
                                       int64_t value);
int64_t getInteger(mlir::Operation *op, llvm::StringRef name, int64_t missing);
/// False if there is none. Refuses what is neither true nor false.
mlir::FailureOr<bool> readFlag(mlir::Operation *op, llvm::StringRef name);
llvm::StringRef getText(mlir::Operation *op, llvm::StringRef name);
/// The name of the case in `#stablehlo<comparison_direction LT>`.
llvm::StringRef getEnum(mlir::Operation *op, llvm::StringRef name);

/// What is in the brackets of `#stablehlo.dot<a = [0], b = 1>`.
class Fields {
public:
  Fields(mlir::Operation *op, llvm::StringRef name);
  llvm::SmallVector<int64_t> getIntegers(llvm::StringRef key) const;
  int64_t getInteger(llvm::StringRef key, int64_t missing) const;
  llvm::StringRef getText() const { return text; }

private:
  std::optional<llvm::StringRef> find(llvm::StringRef key) const;
  std::string text;
};

//===----------------------------------------------------------------------===//
// What several families build
//===----------------------------------------------------------------------===//

/// Whether the elements of a foreign value are unsigned integers, or truth
/// values, which count as such.
bool isUnsigned(mlir::Value value);
/// The integer of the same width that says nothing of a sign.
mlir::Type makeSignless(mlir::Type type);
/// The type of a foreign `value`, which is a tensor.
mlir::RankedTensorType getForeignType(mlir::Value value);

/// Whether `numbers` are different dimensions of a tensor of `rank`.
bool areDims(llvm::ArrayRef<int64_t> numbers, int64_t rank);
/// Whether a foreign value is an integer tensor of rank 0.
bool isIntegerScalar(mlir::Value value);
/// Whether all `numbers` are at least `least`.
bool areAtLeast(llvm::ArrayRef<int64_t> numbers, int64_t least);
/// What `size` elements take up that are `step` apart, at most INT64_MAX.
int64_t getSpread(int64_t size, int64_t step);
/// The same with padding by `low` and `high` elements. Refuses what no buffer
/// could hold.
llvm::FailureOr<int64_t> getPaddedSize(mlir::Operation *op, int64_t size,
                                       int64_t step, int64_t low, int64_t high);
/// Refuses a result of `op`, the one called `number`, that does not have
/// `shape`.
llvm::LogicalResult checkShape(mlir::Operation *op,
                               llvm::ArrayRef<int64_t> shape,
                               unsigned number = 0);
/// Refuses a result of other elements than the first operand has.
llvm::LogicalResult checkElements(mlir::Operation *op);
/// A foreign operand of `op` with elements of the type that it is reduced in,
/// which may be a wider one of the same kind.
llvm::FailureOr<mlir::Value> createPromoted(mlir::Operation *op,
                                            Lowering &lowering,
                                            mlir::Value operand,
                                            mlir::Type element);

/// A constant of the shape and element type of `type`, which may be a scalar's.
mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Type type, double value);
mlir::Value createInteger(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type type, const llvm::APInt &value);
mlir::Value createInteger(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type type, int64_t value);
mlir::Value createIndex(mlir::OpBuilder &builder, mlir::Location loc,
                        int64_t value);

/// `type` with other elements.
mlir::Type withElements(mlir::Type type, mlir::Type element);

/// The index that the integer `value` is, between 0 and `last`.
mlir::Value createClampedIndex(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value value, bool isUnsigned,
                               int64_t last);

/// The element of a tensor of rank 0.
mlir::Value createElementOf(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value tensor);
/// The same elements in another static shape.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<int64_t> shape);
mlir::Value createTranspose(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value,
                            llvm::ArrayRef<int64_t> permutation);
mlir::Value createSlice(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, llvm::ArrayRef<int64_t> begin,
                        llvm::ArrayRef<int64_t> sizes,
                        llvm::ArrayRef<int64_t> strides);
/// The slice number `index` along `dim`, without that dimension.
mlir::Value createTaken(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, int64_t dim, int64_t index);
/// A tensor all of whose elements are the scalar `value`.
mlir::Value createFilled(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::RankedTensorType type, mlir::Value value);
/// `value` with padding, which may be negative, and between its elements.
mlir::Value createPadded(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Value padding,
                         llvm::ArrayRef<int64_t> low,
                         llvm::ArrayRef<int64_t> high,
                         llvm::ArrayRef<int64_t> interior);
mlir::Value createReversed(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, llvm::ArrayRef<int64_t> dims);
/// The same function of the elements of several tensors, on all of which it
/// works as a whole if it can.
mlir::Value createConverted(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value, mlir::Type element,
                            bool isUnsigned);

/// `result`, which is a function of `x`, with `rule` as how a change of either
/// becomes one of the other.
mlir::Value createWithRule(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value x, mlir::Value result,
                           llvm::function_ref<mlir::Value(mlir::Value)> rule);

/// The same, with a rule for cotangents and one for tangents.
mlir::Value
createWithRules(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x,
                mlir::Value result,
                llvm::function_ref<mlir::Value(mlir::Value)> reverse,
                llvm::function_ref<mlir::Value(mlir::Value)> forward);

/// The map of `loops` loops to `count` of them from number `begin` on.
mlir::AffineMap createLoopsMap(mlir::OpBuilder &builder, unsigned loops,
                               unsigned begin, unsigned count);

using BodyBuilder = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location,
                                            mlir::ValueRange)>;
/// A structured operation with parallel and then reduction loops.
mlir::linalg::GenericOp
createGeneric(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::ValueRange inputs, mlir::ValueRange inits,
              llvm::ArrayRef<mlir::AffineMap> maps, unsigned parallelLoops,
              unsigned reductionLoops, BodyBuilder body);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_LOWERING_H
