//===- MixedIntegerProgram.h - integer programs as data ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A minimization over rows of coefficients, and what a solver said about it.
// No type of the solver appears here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_MIXEDINTEGERPROGRAM_H
#define REMAT_LIB_PLANNING_MIXEDINTEGERPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace remat::planning {

class MixedIntegerProgram {
public:
  using Term = std::pair<int32_t, double>;

  /// Adds a variable in [0, upper] and returns its index.
  int32_t addVariable(double cost, bool integer, double upper = 1.0);
  void fix(int32_t variable, double value);
  /// Sum of `terms` <= `bound`.
  void addRow(llvm::ArrayRef<Term> terms, double bound);

  int32_t numVariables() const { return int32_t(cost.size()); }

  std::vector<double> cost, lower, upper;
  std::vector<int32_t> integer;
  std::vector<int32_t> rowBegin, column;
  std::vector<double> coefficient, rowUpper;
};

struct ProgramResult {
  enum class Status { Optimal, Infeasible, Stopped };
  Status status = Status::Stopped;
  /// The best assignment found, if any.
  std::optional<std::vector<double>> assignment;
  /// No assignment costs less. Of a program without integers, it is what the
  /// duals prove, whatever the tolerances of the solver.
  double bound = 0;
  /// Simplex iterations that it took.
  int64_t iterations = 0;
};

/// Whether this build has a solver.
bool hasProgramSolver();

/// How many simplex iterations HiGHS does in about `seconds` on a program with
/// so many variables, with integers or without.
int64_t iterationsFor(double seconds, double variables, bool relaxed = false);

/// What to solve, and when to stop.
struct ProgramLimits {
  /// Whether variables may take any value in their range.
  bool relaxed = false;
  double seconds = 1.0;
  /// Simplex iterations in all: a limit that does not depend on the machine.
  int64_t iterations = std::numeric_limits<int64_t>::max();
  /// A number of which all objective values are multiples.
  double costStep = 1.0;
  /// Ends when the proven bound reaches this.
  double enough = std::numeric_limits<double>::infinity();
  /// Assignments of a larger objective value are of no interest: without others
  /// the program is infeasible.
  double cutoff = std::numeric_limits<double>::infinity();
  /// Ends when an assignment of at most this objective value is found.
  double target = -std::numeric_limits<double>::infinity();
  /// Ends when the part of the objective value that may be saved is at most
  /// this.
  double gap = 0;
  const std::atomic<bool> *interrupt = nullptr;
};

/// Minimizes `program` on one thread, from the assignment `start` if it is not
/// empty. Every outcome of the solver is data; an error means that it refused
/// the input or that there is no solver.
llvm::Expected<ProgramResult> minimize(const MixedIntegerProgram &program,
                                       llvm::ArrayRef<double> start,
                                       const ProgramLimits &limits);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_MIXEDINTEGERPROGRAM_H
