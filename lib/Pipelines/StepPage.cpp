//===- StepPage.cpp - a step as a page to look at -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The page is made of the files in Page, which are in the library, and of data:
// columns of numbers, with all text in one table. So a step of 100,000 values
// stays small, and nothing that a model says is read as HTML or as a script.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepPage.h"

#include "PageFiles.h"

#include "remat/Utils/Utf8.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace remat;

static constexpr StringLiteral schema = "remat.report/1";

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

namespace {
/// Writes the data of plans, with text by its number in a table.
class DataWriter {
public:
  explicit DataWriter(json::OStream &json) : json(json) {}
  void write(ArrayRef<PlannedStep> plans, StringRef title);

private:
  void writePlan(const PlannedStep &plan);
  void writeReport(const StepReport &report);
  void writeBodies(const StepReport &report);
  void writeEntries(const StepReport &report);
  void writeReads(const StepReport &report);
  void writeBuffers(const StepReport &report);
  void writeSpans(ArrayRef<remat_entry_span> spans);
  int64_t number(StringRef text);
  template <typename Row, typename Get>
  void column(StringRef name, const std::vector<Row> &rows, Get get) {
    json.attributeArray(name, [&] {
      for (const Row &row : rows)
        json.value(int64_t(get(row)));
    });
  }
  template <typename Kind>
  void names(StringRef name, unsigned count) {
    json.attributeArray(name, [&] {
      for (unsigned i = 0; i < count; ++i)
        json.value(stringify(Kind(i)));
    });
  }

  json::OStream &json;
  StringMap<int64_t> numbers;
  std::vector<std::string> texts;
};
} // namespace

int64_t DataWriter::number(StringRef text) {
  auto [entry, isNew] = numbers.try_emplace(text, texts.size());
  if (isNew)
    texts.push_back(text.str());
  return entry->second;
}

void DataWriter::writeEntries(const StepReport &report) {
  auto write = [&](StringRef name, auto get) {
    column(name, report.entries, get);
  };
  auto text = [&](StringRef name, std::string ReportEntry::*member) {
    write(name,
          [&](const ReportEntry &entry) { return number(entry.*member); });
  };
  text("name", &ReportEntry::name);
  text("kind", &ReportEntry::kind);
  text("kernel", &ReportEntry::kernel);
  text("layer", &ReportEntry::layer);
  text("label", &ReportEntry::label);
  text("location", &ReportEntry::location);
  write("phase", [](const auto &entry) { return entry.phase; });
  write("task", [](const auto &entry) { return entry.task.value_or(-1); });
  write("copyOf", [](const auto &entry) {
    return entry.copyOf ? int64_t(*entry.copyOf) : -1;
  });
  write("stream", [](const auto &entry) { return entry.stream; });
  write("start", [](const auto &entry) { return entry.start; });
  write("cost", [](const auto &entry) { return entry.cost; });
  write("bytesRead",
        [](const auto &entry) { return entry.getRan().bytesRead; });
  write("bytesWritten",
        [](const auto &entry) { return entry.getRan().bytesWritten; });
  write("flops", [](const auto &entry) { return entry.getRan().flops; });
  writeReads(report);
}

/// What entry i reads is in `reads`, from number `readsBegin[i]` on.
void DataWriter::writeReads(const StepReport &report) {
  int64_t begin = 0;
  json.attributeArray("readsBegin", [&] {
    for (const ReportEntry &entry : report.entries) {
      json.value(begin);
      begin += entry.reads.size();
    }
    json.value(begin);
  });
  json.attributeArray("reads", [&] {
    for (const ReportEntry &entry : report.entries)
      for (size_t buffer : entry.reads)
        json.value(int64_t(buffer));
  });
}

void DataWriter::writeBuffers(const StepReport &report) {
  auto write = [&](StringRef name, auto get) {
    column(name, report.buffers, get);
  };
  // What most entries make is called by these, so the page knows its name.
  write("name", [&](const ReportBuffer &buffer) {
    const std::string &maker = report.entries[buffer.birth].name;
    bool isKnown =
        !buffer.isCallers &&
        buffer.name == (buffer.type.empty() ? "workspace of " + maker
                                            : maker + " " + buffer.type);
    return isKnown ? -1 : number(buffer.name);
  });
  write("type", [&](const auto &buffer) { return number(buffer.type); });
  write("task", [](const auto &buffer) { return buffer.task.value_or(-1); });
  write("result", [](const auto &buffer) { return buffer.result; });
  write("role", [](const auto &buffer) { return buffer.role; });
  write("decision", [](const auto &buffer) { return buffer.decision; });
  write("why", [&](const auto &buffer) { return number(buffer.why); });
  write("reason", [&](const auto &buffer) { return number(buffer.reason); });
  write("space", [&](const auto &buffer) {
    return number(stringifyMemorySpace(buffer.space));
  });
  write("isCallers", [](const auto &buffer) { return buffer.isCallers; });
  write("offset", [](const auto &buffer) { return buffer.offset; });
  write("bytes", [](const auto &buffer) { return buffer.bytes; });
  write("within", [](const auto &buffer) {
    return buffer.within ? int64_t(*buffer.within) : -1;
  });
  write("birth", [](const auto &buffer) { return buffer.birth; });
  write("death", [](const auto &buffer) { return buffer.death; });
}

void DataWriter::writeSpans(ArrayRef<remat_entry_span> spans) {
  json.attributeArray("begin", [&] {
    for (const remat_entry_span &span : spans)
      json.value(int64_t(span.begin));
  });
  json.attributeArray("end", [&] {
    for (const remat_entry_span &span : spans)
      json.value(int64_t(span.end));
  });
}

void DataWriter::writeReport(const StepReport &report) {
  if (report.budget)
    json.attribute("budgetBytes", *report.budget);
  json.attribute("peakBytes", report.plannedPeak);
  json.attribute("arenaBytes", report.arenaBytes);
  json.attributeObject("entries", [&] { writeEntries(report); });
  json.attributeObject("buffers", [&] { writeBuffers(report); });
  json.attributeArray("bodies", [&] { writeBodies(report); });
}

/// What is inside of loops, each with the number of its entry.
void DataWriter::writeBodies(const StepReport &report) {
  for (auto [index, entry] : enumerate(report.entries))
    for (const LoopBody &body : entry.bodies) {
      if (body.report.entries.empty())
        continue;
      json.object([&, index = index] {
        json.attribute("entry", int64_t(index));
        json.attribute("isAdvance", body.isAdvance);
        json.attribute("runs", body.mostRuns);
        writeReport(body.report);
      });
    }
}

void DataWriter::writePlan(const PlannedStep &plan) {
  const StepReport &report = plan.report;
  json.attribute("origin", stringify(plan.origin));
  json.attribute("hash", report.getHash());
  json.attribute("planner", plan.planner);
  json.attribute("optimal", plan.isOptimal);
  json.attribute("order", plan.microbatchOrder);
  json.attribute("parts", plan.batchParts);
  json.attribute("sliceRows", plan.sliceRows);
  json.attribute("slicesHidden", plan.slicesHidden);
  json.attribute("layers", plan.foldedLayers);
  json.attribute("baseTime", plan.baseTime);
  json.attribute("time", plan.time);
  json.attribute("lowerBound", plan.lowerBound);
  writeReport(report);
  if (!plan.measured.empty())
    json.attributeObject("measured", [&] { writeSpans(plan.measured); });
}

void DataWriter::write(ArrayRef<PlannedStep> plans, StringRef title) {
  json.object([&] {
    json.attribute("schema", schema);
    json.attribute("title", toUtf8(title));
    names<StepPhase>("phases", unsigned(StepPhase::Transfer) + 1);
    names<BufferRole>("roles", numBufferRoles);
    names<BufferDecision>("decisions", unsigned(BufferDecision::Packed) + 1);
    json.attributeArray("plans", [&] {
      for (const PlannedStep &plan : plans)
        json.object([&] { writePlan(plan); });
    });
    // The last, as all text has a number now.
    json.attributeArray("texts", [&] {
      for (const std::string &text : texts)
        json.value(text);
    });
  });
}

/// JSON in which nothing ends a script, or a line of one. Such characters are
/// in strings only.
static std::string makeData(ArrayRef<PlannedStep> plans, StringRef title) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream json(os);
  DataWriter(json).write(plans, title);
  std::string safe;
  safe.reserve(text.size());
  StringRef rest = text;
  while (!rest.empty()) {
    auto replace = [&](StringRef found, StringRef by) {
      if (!rest.consume_front(found))
        return false;
      safe += by;
      return true;
    };
    if (replace("<", "\\u003c") || replace("\xe2\x80\xa8", "\\u2028") ||
        replace("\xe2\x80\xa9", "\\u2029"))
      continue;
    safe += rest.front();
    rest = rest.drop_front();
  }
  return safe;
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static void writeScripts(raw_ostream &os) {
  os << "/*\n" << page::license << "*/\n" << page::library;
  // In one function, whose names are not those of the page.
  os << "(() => {\n\"use strict\";\n";
  for (StringRef script : page::scripts)
    os << script;
  os << "})();\n";
}

void remat::writePage(ArrayRef<PlannedStep> plans, StringRef title,
                      raw_ostream &os) {
  StringRef rest = page::frame;
  auto writeUntil = [&](StringRef mark) {
    auto [before, behind] = rest.split(mark);
    os << before;
    rest = behind;
  };
  writeUntil("@STYLE@");
  os << page::style;
  writeUntil("@DATA@");
  os << makeData(plans, title);
  writeUntil("@SCRIPT@");
  writeScripts(os);
  os << rest;
}
