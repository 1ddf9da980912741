//===- CostFile.h - measured costs of kernels -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels took on one machine, kept in a JSON file and found again by what
// they compute, in whatever model. Contractions may have been measured in
// two implementations, as calls of the library and as generated code:
//
//   {"schema": "remat.costs/3",
//    "target": {"name": "cpu", "cpu": ..., "threads": "2", ...},
//    "algorithms": <base64>,
//    "link": {"to_device": <bytes/s>, "to_host": <bytes/s>},
//    "kernels": {"<key>": {"library": <ns>, "generated": <ns>}, ...}}
//
// Times say nothing of other machines, so a file is good for its own only.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_COSTFILE_H
#define REMAT_COST_COSTFILE_H

#include "remat/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace remat {

/// A name for what the kernel computes: equal for equal bodies and types,
/// whatever the function is called, where it came from and how it is carried
/// out.
std::string getKernelKey(mlir::FunctionOpInterface kernel);

/// Nanoseconds that a kernel took in the implementations that were measured.
struct KernelCosts {
  std::optional<int64_t> library, generated;
};

/// Bytes per second of copies of offloaded values.
struct LinkCosts {
  int64_t toHost = 0, toDevice = 0;

  /// What both directions reach.
  int64_t getBandwidth() const { return std::min(toHost, toDevice); }
};

/// The contents of a file of costs.
struct CostFile {
  /// What the costs were measured on; `name` is that of the target.
  MachineFacts target;
  /// If it was measured.
  std::optional<LinkCosts> link;
  /// The algorithms of matmuls on a device that the costs are of, see
  /// remat_step_algorithms; empty if there are none.
  std::string algorithms;
  /// By key.
  std::map<std::string, KernelCosts> kernels;

  /// Fails if the file cannot be read or is no cost file.
  static llvm::Expected<CostFile> load(llvm::StringRef path);
  /// Writes such a file. Fails if it cannot be written.
  llvm::Error save(llvm::StringRef path) const;

  /// Threads of the host that the costs were measured with; 0 if they do not
  /// depend on that.
  int getThreads() const;

  /// Fails if the costs, which were read from `path`, are not those of
  /// `machine`: if a fact that is known of it is another one in the file.
  llvm::Error checkMachine(llvm::StringRef path,
                           const MachineFacts &machine) const;
};

/// The machine that a module is compiled for with these options: what its
/// target says (Target::describeMachine), with the target's `name`.
llvm::Expected<MachineFacts>
describeMachine(mlir::ModuleOp module, const EmitOptions &options, int threads);

/// The costs in the file at `path` for a module that is compiled with these
/// options; none if `path` is empty. Fails if they are those of another
/// machine.
llvm::Expected<CostFile> loadCosts(llvm::StringRef path, mlir::ModuleOp module,
                                   const EmitOptions &options, int threads);

} // namespace remat

#endif // REMAT_COST_COSTFILE_H
