//===- StepProfile.h - where the time of a step goes ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPPROFILE_H
#define REMAT_PIPELINES_STEPPROFILE_H

#include "remat/Pipelines/StepMeasurement.h"
#include "remat/Pipelines/StepReport.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <bitset>

namespace remat {

/// What a row of a profile is about: a kind of work, a kernel, an entry of the
/// schedule in all layers that have it, a layer, a name that the program gave,
/// or a phase.
enum class ProfileGroup { Op, Kernel, Name, Layer, Label, Phase };
llvm::StringRef stringify(ProfileGroup group);

/// What rows are sorted by: the largest number first, those of equal numbers by
/// name; or all by name.
enum class ProfileSort { Self, Total, Calls, Bytes, Flops, Name };
llvm::StringRef stringify(ProfileSort sort);

/// The entries of one group together.
struct ProfileRow {
  std::string name;
  /// The layers that are folded into the row: "h.*.attn" stands for so many.
  unsigned layers = 1;
  /// Those that the entries run in.
  std::bitset<REMAT_STREAM_COUNT> streams;
  int64_t calls = 0, recomputeCalls = 0;
  /// Of the group itself, and with what is in it: a layer has layers in it.
  int64_t selfNanoseconds = 0, totalNanoseconds = 0;
  /// CPU time of the group itself, of all threads; none on a device.
  std::optional<int64_t> cpuNanoseconds;
  int64_t recomputeNanoseconds = 0;
  int64_t bytes = 0, flops = 0;
};

/// What entries take, by groups of them.
struct StepProfile {
  ProfileGroup group = ProfileGroup::Op;
  ProfileSort sort = ProfileSort::Self;
  std::vector<ProfileRow> rows;

  /// As a table with a row of totals, as {"group", "sort", "rows", "total"},
  /// and as the rows with the names of their members in front, separated by
  /// commas.
  void print(llvm::raw_ostream &os) const;
  llvm::json::Value toJson() const;
  void printCsv(llvm::raw_ostream &os) const;
};

/// Groups the entries, which took what was measured.
StepProfile makeProfile(const StepReport &report,
                        const StepMeasurement &measured, ProfileGroup group,
                        ProfileSort sort);

} // namespace remat

#endif // REMAT_PIPELINES_STEPPROFILE_H
