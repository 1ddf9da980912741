//===- remat-pack.cpp - packs live ranges into an arena -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a table of buffers with their lives and sizes, gives each an offset in
// one arena, and writes the table with the offsets. The result is checked.
//
// Exit status: 0 packed, 1 bad input, 3 the arena is larger than --capacity.
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "common/Driver.h"
#include "common/OutputFlags.h"

#include "remat/Planning/Algorithms.h"
#include "remat/Support/OutputFiles.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>

using namespace llvm;
using namespace remat;
using namespace remat::pack;
using remat::tools::makeError;

namespace {
/// The command line.
struct Options {
  cl::OptionCategory category{"remat-pack options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::desc("<buffers.csv>"), cl::cat(category)};
  cl::opt<int64_t> capacity{
      "capacity", cl::init(0), cl::cat(category), cl::value_desc("bytes"),
      cl::desc("An arena of so many bytes is small enough (default: look for "
               "the smallest)")};
  cl::opt<double> effort{
      "effort", cl::init(1), cl::cat(category), cl::value_desc("factor"),
      cl::desc("How long to search: 1 is about a second. More effort never "
               "leads to a larger arena")};
  cl::opt<std::string> outputFile{"o", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write the table with offsets")};
  cl::opt<std::string> reportFile{"json", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write a report, as JSON")};
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

/// The error of buffers for which no arena within the capacity was found.
class CapacityError
    : public ErrorInfo<CapacityError, planning::InfeasibleBudgetError> {
public:
  static char ID;

  CapacityError(int64_t capacity, const planning::Packing &packing)
      : ErrorInfo(capacity, packing.totalBytes, std::string()),
        lowerBytes(packing.lowerBytes) {}

  void log(raw_ostream &os) const override {
    if (lowerBytes > getBudget())
      os << "the buffers do not fit into " << getBudget()
         << " bytes: every arena has at least " << lowerBytes << " bytes";
    else
      os << "found no arena of " << getBudget() << " bytes, the smallest has "
         << getSmallestFeasible()
         << "; nor is it proven that there is none. A larger --effort may find "
            "one";
  }

private:
  int64_t lowerBytes;
};
char CapacityError::ID = 0;

static json::Object makeReport(const Table &table,
                               const planning::Packing &packing,
                               double seconds) {
  json::Object report{{"schema", "remat.pack/1"},
                      {"buffers", int64_t(table.ranges.size())},
                      {"peak_bytes", packing.peakBytes},
                      {"lower_bound_bytes", packing.lowerBytes},
                      {"arena_bytes", packing.totalBytes},
                      {"seconds", seconds}};
  if (options().capacity > 0) {
    report["capacity_bytes"] = options().capacity.getValue();
    report["fits"] = packing.totalBytes <= options().capacity;
  }
  return report;
}

static std::array<tools::OutputFlag, 2> getOutputFlags() {
  return {{{"-o", options().outputFile}, {"--json", options().reportFile}}};
}

static Error writeOutputs(const Table &table, const planning::Packing &packing,
                          double seconds) {
  OutputFiles files;
  if (!options().outputFile.empty())
    if (Error error = files.add(options().outputFile, [&](raw_ostream &os) {
          writeTable(table, packing, os);
        }))
      return error;
  if (!options().reportFile.empty()) {
    json::Value report = makeReport(table, packing, seconds);
    if (Error error = files.add(options().reportFile, [&](raw_ostream &os) {
          os << formatv("{0:2}", report) << '\n';
        }))
      return error;
  }
  if (Error error = files.commit())
    return error;
  raw_ostream &os = tools::getTextStream(getOutputFlags());
  os << formatv("{0} buffers, peak {1} bytes, arena {2} bytes, at least {3} "
                "bytes, {4:f2} s\n",
                table.ranges.size(), packing.peakBytes, packing.totalBytes,
                packing.lowerBytes, seconds);
  return Error::success();
}

static Error runTool() {
  if (options().capacity < 0 ||
      (options().capacity == 0 && options().capacity.getNumOccurrences()))
    return makeError("--capacity: expected a number of bytes above 0, actual " +
                     Twine(options().capacity));
  double effort = options().effort;
  if (!(effort >= 0 && effort <= 1e6))
    return makeError("--effort: expected a factor from 0 to 1000000");
  if (Error error = tools::checkFileNames(getOutputFlags()))
    return error;
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileOrSTDIN(options().inputFile, /*IsText=*/true);
  if (!file)
    return createFileError(options().inputFile, file.getError());
  Expected<Table> table = parseTable((*file)->getBuffer());
  if (!table)
    return createFileError(options().inputFile, table.takeError());

  planning::PackingOptions packingOptions;
  packingOptions.maxWork =
      static_cast<int64_t>(effort * double(packingOptions.maxWork));
  packingOptions.enoughBytes = options().capacity;
  auto begin = std::chrono::steady_clock::now();
  planning::Packing packing =
      planning::packLiveRanges(table->ranges, packingOptions);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (std::optional<std::string> fault =
          planning::findPackingFault(table->ranges, packing))
    return makeError("internal error: " + *fault);
  if (Error error = writeOutputs(*table, packing, seconds.count()))
    return error;
  if (options().capacity == 0 || packing.totalBytes <= options().capacity)
    return Error::success();
  return make_error<CapacityError>(options().capacity, packing);
}

int main(int argc, char **argv) {
  return tools::runMain(
      argc, argv, "remat-pack", "Pack buffers with known lives into an arena\n",
      []() -> cl::OptionCategory & { return options().category; }, runTool);
}
