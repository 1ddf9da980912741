//===- StepTableBuilder.h - builds the blob of a step -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the records of a step table (StepTable.h) and lays them out as one
// blob. The same calls give the same bytes. The builder checks nothing: the
// runtime checks every blob that it loads, and so does checkStepTable.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_STEPTABLEBUILDER_H
#define REMAT_RUNTIME_STEPTABLEBUILDER_H

#include "remat/Runtime/StepTable.h"

#include <map>
#include <string>
#include <vector>

namespace remat {

/// What an entry is, with names in place of numbers of strings and uses.
struct StepEntry {
  remat_entry_kind kind = REMAT_ENTRY_KERNEL;
  /// Kernel number, or what addMatmul, addConvolution, addPackedValue or
  /// addLoop returned.
  uint32_t callee = 0;
  std::vector<uint32_t> operands;
  std::vector<uint32_t> results;
  uint32_t workspace = REMAT_NONE;
  uint32_t hostWorkspace = REMAT_NONE;
  int64_t extent = 1;
  int64_t grain = 1;
  bool backward = false;
  bool update = false;
  bool recompute = false;
  bool writesInfinity = false, writesNaN = false;
  uint32_t task = 0;
  uint32_t original = REMAT_NONE;
  uint32_t copy = 0;
  int64_t forwardIndex = -1;
  std::string name;
  std::string location;
  /// As in remat_entry.
  std::string origins;
};

/// A launch on a device with its function's name.
struct DeviceLaunch {
  std::string function;
  uint32_t blocks = 1, threads = 1, sharedBytes = 0;
};

/// Puts the table of a step together, piece by piece, for `finalize` to write.
/// It does not check what it is given: the run time checks the table.
class StepTableBuilder {
public:
  StepTableBuilder();

  /// Number of the string `text` in the table; equal strings share one.
  uint32_t addString(const std::string &text);

  /// Arguments and results, in order; the number that buffers refer to.
  uint32_t addArgument(const std::string &name, remat_dtype dtype,
                       const std::vector<int64_t> &dims, uint32_t flags = 0);
  uint32_t addResult(const std::string &name, remat_dtype dtype,
                     const std::vector<int64_t> &dims, uint32_t flags = 0);
  /// Lets the argument give its buffer to the result.
  void addDonation(uint32_t argument, uint32_t result) {
    arguments[argument].donation = result;
    results[result].donation = argument;
  }

  /// Root buffers. `bytes` is rounded up to the alignment; the arenas grow to
  /// hold the buffer.
  uint32_t addArenaBuffer(uint64_t offset, uint64_t bytes);
  uint32_t addHostBuffer(uint64_t offset, uint64_t bytes);
  /// The whole of argument or result `index`, with its exact size.
  uint32_t addArgumentBuffer(uint32_t index);
  uint32_t addResultBuffer(uint32_t index);
  /// A part of the result, to be used before the result is written.
  uint32_t addReusedBuffer(uint32_t index, uint64_t offset, uint64_t bytes);
  /// Read-only data; kept in the blob, equal data once.
  uint32_t addConstantBuffer(const void *data, uint64_t bytes);
  /// `bytes` bytes from byte `offset` of `buffer` (itself a root or a view).
  uint32_t addView(uint32_t buffer, uint64_t offset, uint64_t bytes);
  /// All of `buffer`: what a reshape gives.
  uint32_t addView(uint32_t buffer);
  /// Says what is in a buffer, for messages and comparisons: elements of a type
  /// (-1 for one that is no remat_dtype) of so many bytes. Where there are gaps
  /// behind rows, `row` is the bytes of a row without its gap.
  void setContents(uint32_t buffer, int32_t dtype, uint64_t bytes,
                   uint32_t row = 0);
  /// Any record, as it is.
  uint32_t addBuffer(const remat_buffer &buffer);

  /// Descriptors; equal ones share a number.
  uint32_t addMatmul(const remat_matmul &matmul);
  uint32_t addConvolution(const remat_convolution &convolution);

  /// How a library carries the convolution of this number out on devices of a
  /// compute capability; see remat_plan. Equal ones are there once.
  void addPlan(uint32_t convolution, uint32_t capability, uint32_t version,
               const std::string &text, uint64_t workspaceBytes);

  /// The code that carries it out where no library does: the kernel of this
  /// number.
  void addCodePlan(uint32_t convolution, uint32_t kernel,
                   uint64_t workspaceBytes);

  /// A value that the codec of this name packs into `packedBytes` bytes; equal
  /// ones share a number.
  uint32_t addPackedValue(const std::string &codec, uint64_t id,
                          remat_dtype dtype, const std::vector<int64_t> &dims,
                          uint64_t packedBytes);

  /// The table of a loop's body, and a loop; equal ones share a number. Which
  /// of the loop's parts are lists is in `lists`: see remat_loop.
  uint32_t addBody(const std::string &table);
  uint32_t addLoop(remat_loop loop, const std::vector<uint32_t> &lists = {});

  /// A kernel on a device, with its launches and where in the workspace its
  /// parameters lie; the number that entries call.
  uint32_t addKernel(uint32_t unit, const std::vector<DeviceLaunch> &launches,
                     const std::vector<uint64_t> &scratch);

  /// A message for remat_kernel_status::check, e.g. "indices of 'gather'".
  uint32_t addCheck(const std::string &message);

  /// Appends to the schedule; the entry's number.
  uint32_t addEntry(const StepEntry &entry);
  /// Gives all entries their streams, and what they wait for: copies between
  /// the host and elsewhere run beside the computation, and no byte is live
  /// longer than in the order of the entries. Without it, all entries run one
  /// after the other.
  void assignStreams();

  /// What is added from now on belongs to the step's next call. What a later
  /// call needs must lie in the first `setStateBytes` bytes of the arena.
  void beginCall() { calls.push_back(static_cast<uint32_t>(entries.size())); }
  void setStateBytes(uint64_t bytes) { stateBytes = bytes; }

  /// Arenas are as large as their buffers need, or as large as this.
  void setArenaBytes(uint64_t bytes) { arenaBytes = bytes; }
  void setHostBytes(uint64_t bytes) { hostBytes = bytes; }
  /// Threads that the workspaces were sized for.
  void setThreads(uint32_t count) { threads = count; }
  /// What a table allows, such as REMAT_TABLE_TF32.
  void setFlags(uint64_t allowed) { flags = allowed; }

  uint64_t getArenaBytes() const { return arenaBytes; }

  /// The blob. Its sections are aligned to REMAT_ALIGNMENT when it is.
  std::string finalize() const;

private:
  remat_signature makeSignature(const std::string &name, remat_dtype dtype,
                                const std::vector<int64_t> &dims);
  uint32_t addCallerBuffer(remat_space space, uint32_t index,
                           const remat_signature &signature);

  std::string strings;
  std::map<std::string, uint32_t> stringNumbers;
  std::vector<int64_t> dims;
  std::vector<remat_signature> arguments;
  std::vector<remat_signature> results;
  std::vector<remat_buffer> buffers;
  std::vector<remat_entry> entries;
  std::vector<uint32_t> uses;
  std::vector<uint32_t> waits;
  std::vector<remat_matmul> matmuls;
  std::map<std::string, uint32_t> matmulNumbers;
  std::vector<remat_convolution> convolutions;
  std::map<std::string, uint32_t> convolutionNumbers;
  std::vector<remat_packed_value> packedValues;
  std::map<uint64_t, uint32_t> packedValueNumbers;
  std::vector<remat_section> bodies;
  std::string bodyBytes;
  std::map<std::string, uint32_t> bodyNumbers;
  std::vector<remat_loop> loops;
  std::map<std::string, uint32_t> loopNumbers;
  std::vector<uint32_t> loopLists;
  std::map<std::vector<uint32_t>, uint32_t> listNumbers;
  std::vector<remat_device_kernel> kernels;
  std::vector<remat_launch> launches;
  std::vector<uint64_t> scratchOffsets;
  std::vector<remat_plan> plans;
  std::vector<uint32_t> checks;
  std::map<std::string, uint32_t> checkNumbers;
  std::string constants;
  std::map<std::string, uint64_t> constantOffsets;
  uint64_t arenaBytes = 0;
  uint64_t hostBytes = 0;
  uint64_t stateBytes = 0;
  uint64_t flags = 0;
  std::vector<uint32_t> calls;
  uint32_t threads = 0;
};

/// Bytes of the workspace of an entry for `loop`, the tables of whose bodies
/// are `body` and, if it has one, `advance`; UINT64_MAX if these are no step
/// tables, or not those of the loop.
uint64_t loopWorkspaceBytes(const remat_loop &loop, const std::string &body,
                            const std::string &advance = {});

/// The same of its workspace on the host.
uint64_t loopHostBytes(const remat_loop &loop, const std::string &body,
                       const std::string &advance);

/// The module of a step with this table and these kernels, which outlive it.
remat_module makeModule(const std::string &table,
                        const remat_kernel_fn *kernels = nullptr,
                        size_t kernelCount = 0);

/// Whether a runtime would load the table, if it had the kernels: reads and
/// checks it as that does. False with a message if not.
bool checkStepTable(const std::string &table, std::string &error);

} // namespace remat

#endif // REMAT_RUNTIME_STEPTABLEBUILDER_H
