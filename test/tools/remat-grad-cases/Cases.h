//===- Cases.h - random functions to differentiate --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function in the making whose results are cases: each is some operations on
// arguments of its own. Shapes, maps and numbers are random, the same for the
// same seed.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_GRAD_CASES_CASES_H
#define REMAT_TEST_GRAD_CASES_CASES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <random>
#include <string>
#include <vector>

namespace remat::cases {

using Shape = llvm::SmallVector<int64_t>;

struct Value {
  std::string name;
  Shape shape;
  std::string element;

  std::string getType() const;
};

/// An operand of a structured operation: its dimensions are these loops.
struct Access {
  Value value;
  llvm::SmallVector<unsigned> dims;
};

class Function {
public:
  explicit Function(uint64_t seed) : random(seed) {}

  /// A number from `low` to `high`.
  int64_t pick(int64_t low, int64_t high);
  template <typename T>
  const T &pickFrom(llvm::ArrayRef<T> values) {
    return values[pick(0, values.size() - 1)];
  }
  /// Dimensions of size 0 and 1 are among them.
  Shape pickShape(unsigned rank);
  /// f32 or one of the other floating-point types.
  std::string pickElement();
  llvm::SmallVector<unsigned> pickPermutation(unsigned count);

  Value addArgument(const Shape &shape, llvm::StringRef element);
  /// Adds "%name = `text`" to the body.
  Value emit(const Shape &shape, llvm::StringRef element,
             const llvm::Twine &text);
  Value emitEmpty(const Shape &shape, llvm::StringRef element);
  Value emitFill(const Shape &shape, llvm::StringRef element, double value);
  /// `value` plus `number`.
  Value emitShift(const Value &value, double number);
  /// A tensor of integers below `limit`.
  Value emitIndices(const Shape &shape, int64_t limit);
  /// A linalg.generic. In `body` %i0, %i1, ... are the elements of `inputs`,
  /// %o that of `init`, and the last line yields.
  Value emitGeneric(llvm::ArrayRef<int64_t> loops,
                    llvm::ArrayRef<Access> inputs, const Access &init,
                    llvm::StringRef body);
  /// Ends a case.
  void addResult(const Value &value) { results.push_back(value); }

  size_t getNumResults() const { return results.size(); }
  void print(llvm::raw_ostream &os) const;

private:
  std::mt19937_64 random;
  std::string text;
  unsigned counter = 0;
  std::vector<Value> arguments, results;
};

/// The type of a tensor of `shape`.
std::string getTensorType(llvm::ArrayRef<int64_t> shape,
                          llvm::StringRef element);
/// Numbers, separated by commas.
std::string join(llvm::ArrayRef<int64_t> numbers);

/// Adds one case; `number` selects what the random numbers do not.
using Family = void (*)(Function &, unsigned number);

void addUnary(Function &, unsigned number);
void addBinary(Function &, unsigned number);
void addBroadcast(Function &, unsigned number);
void addReduction(Function &, unsigned number);
void addContraction(Function &, unsigned number);
void addConvolution(Function &, unsigned number);
void addPooling(Function &, unsigned number);
void addNamed(Function &, unsigned number);
void addComplex(Function &, unsigned number);
void addReshape(Function &, unsigned number);
void addSlice(Function &, unsigned number);
void addElement(Function &, unsigned number);
void addGather(Function &, unsigned number);
void addControl(Function &, unsigned number);

} // namespace remat::cases

#endif // REMAT_TEST_GRAD_CASES_CASES_H
