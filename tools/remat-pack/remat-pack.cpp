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
#include "common/Interrupts.h"
#include "common/NumberParser.h"
#include "common/OutputFlags.h"
#include "common/ProgressFlag.h"
#include "common/ProgressLine.h"

#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Budget.h"
#include "remat/Support/InputFiles.h"
#include "remat/Support/OutputFiles.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <atomic>
#include <mutex>

using namespace llvm;
using namespace remat;
using namespace remat::pack;
using remat::tools::makeError;

/// The default effort: a capacity is a question, to which the answer is wanted.
static constexpr double usualEffort = 1, capacityEffort = 100;

namespace {
/// The command line.
struct Options {
  cl::OptionCategory category{"remat-pack options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::desc("<buffers.csv>"), cl::cat(category)};
  cl::opt<std::string> capacityText{
      "capacity", cl::cat(category), cl::value_desc("bytes"),
      cl::desc("An arena of so many bytes is small enough (default: look for "
               "the smallest)")};
  tools::NumberFlag<double> effort{
      "effort", cl::init(usualEffort), cl::cat(category),
      cl::value_desc("factor"),
      cl::desc("How long to search at most: 1 is about a second (default: 1, "
               "and 100 with --capacity). More effort never leads to a larger "
               "arena")};
  cl::opt<std::string> outputFile{"o", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write the table with offsets")};
  cl::opt<std::string> reportFile{"json", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write a report, as JSON")};
  tools::ProgressFlag progress{category, "the search"};

  /// What `capacityText` says; 0 if it was not given.
  int64_t capacity = 0;
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

namespace {
/// A search that the user watches: says once a second how far it is, and Ctrl-C
/// ends it, with its best arena so far.
class PackWatch {
public:
  PackWatch()
      : line("remat-pack", options().progress.shows(),
             [this] { return describe(); }) {
    tools::setInterruptFunction([] { interrupted = true; });
  }
  ~PackWatch() {
    tools::setInterruptFunction(nullptr);
    line.clear();
    if (interrupted)
      errs() << "remat-pack: interrupted, the arena is the best so far\n";
  }
  PackWatch(const PackWatch &) = delete;

  void attach(planning::PackingOptions &packing) {
    packing.interrupt = &interrupted;
    packing.onProgress = [this](const planning::Packing &best) {
      std::lock_guard<std::mutex> lock(mutex);
      arenaBytes = best.totalBytes;
      lowerBytes = best.lowerBytes;
    };
  }
  double getSeconds() const { return line.getSeconds(); }

private:
  tools::ProgressState describe() {
    std::lock_guard<std::mutex> lock(mutex);
    if (arenaBytes == 0)
      return {"no arena better than the first one yet", std::nullopt};
    return {
        formatv("arena {0} bytes, at least {1} bytes", arenaBytes, lowerBytes),
        std::nullopt};
  }

  /// Set by Ctrl-C.
  static inline std::atomic<bool> interrupted = false;

  /// Guards what is below, which the thread that prints reads.
  std::mutex mutex;
  int64_t arenaBytes = 0, lowerBytes = 0;
  /// The last member: its thread ends before what it reads.
  tools::ProgressLine line;
};

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
} // namespace

char CapacityError::ID = 0;

static double getEffort() {
  bool isQuestion =
      options().capacity > 0 && options().effort.getNumOccurrences() == 0;
  return isQuestion ? capacityEffort : options().effort.getValue();
}

static json::Object makeReport(const Table &table,
                               const planning::Packing &packing,
                               double seconds) {
  json::Object report{{"schema", "remat.pack/1"},
                      {"buffers", int64_t(table.ranges.size())},
                      {"peak_bytes", packing.peakBytes},
                      {"lower_bound_bytes", packing.lowerBytes},
                      {"arena_bytes", packing.totalBytes},
                      {"effort", getEffort()},
                      {"seconds", seconds}};
  if (options().capacity > 0) {
    report["capacity_bytes"] = options().capacity;
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

static Error parseCapacity() {
  if (options().capacityText.getNumOccurrences() == 0)
    return Error::success();
  planning::BudgetRequest request;
  Error error = planning::parseBudget(options().capacityText).moveInto(request);
  bool isBytes = !error && request.kind == planning::BudgetRequest::Kind::Bytes;
  consumeError(std::move(error));
  if (!isBytes || request.bytes == 0)
    return makeError("--capacity: expected bytes above 0 with an optional "
                     "suffix KiB, MiB or GiB, got '" +
                     options().capacityText + "'");
  options().capacity = request.bytes;
  return Error::success();
}

static Error runTool() {
  if (Error error = parseCapacity())
    return error;
  double effort = getEffort();
  if (!(effort >= 0 && effort <= 1e6))
    return makeError("--effort: expected a factor from 0 to 1000000");
  if (Error error =
          tools::checkFileNames(getOutputFlags(), {options().inputFile}))
    return error;
  Expected<std::unique_ptr<MemoryBuffer>> file =
      readTextFileOrInput(options().inputFile);
  if (!file)
    return file.takeError();
  Expected<Table> table = parseTable((*file)->getBuffer());
  if (!table)
    return createFileError(options().inputFile, table.takeError());

  planning::PackingOptions packingOptions;
  packingOptions.maxWork =
      static_cast<int64_t>(effort * double(packingOptions.maxWork));
  packingOptions.enoughBytes = options().capacity;
  planning::Packing packing;
  double seconds = 0;
  {
    PackWatch watch;
    watch.attach(packingOptions);
    packing = planning::packLiveRanges(table->ranges, packingOptions);
    seconds = watch.getSeconds();
  }
  if (std::optional<std::string> fault =
          planning::findPackingFault(table->ranges, packing))
    return makeError("internal error: " + *fault);
  if (Error error = writeOutputs(*table, packing, seconds))
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
