//===- StepProfile.cpp - where the time of a step goes --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepProfile.h"

#include "remat/Planning/LayerFolding.h"
#include "remat/Support/Tables.h"
#include "remat/Utils/Saturating.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <map>
#include <set>
#include <variant>

using namespace llvm;
using namespace remat;

StringRef remat::stringify(ProfileGroup group) {
  switch (group) {
  case ProfileGroup::Op:
    return "op";
  case ProfileGroup::Kernel:
    return "kernel";
  case ProfileGroup::Name:
    return "name";
  case ProfileGroup::Layer:
    return "layer";
  case ProfileGroup::Label:
    return "label";
  case ProfileGroup::Phase:
    return "phase";
  }
  llvm_unreachable("unknown group");
}

StringRef remat::stringify(ProfileSort sort) {
  switch (sort) {
  case ProfileSort::Self:
    return "self";
  case ProfileSort::Total:
    return "total";
  case ProfileSort::Calls:
    return "calls";
  case ProfileSort::Bytes:
    return "bytes";
  case ProfileSort::Flops:
    return "flops";
  case ProfileSort::Name:
    return "name";
  }
  llvm_unreachable("unknown order");
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// What the row of an entry is called.
static std::string getGroupName(const ReportEntry &entry, ProfileGroup group) {
  switch (group) {
  case ProfileGroup::Op:
    return entry.kind;
  case ProfileGroup::Kernel:
    return entry.kernel;
  case ProfileGroup::Name: {
    StringRef rest = StringRef(entry.name).drop_front(entry.layer.size());
    return planning::foldLayer(entry.layer) + rest.str();
  }
  case ProfileGroup::Layer:
    return entry.layer.empty() ? "(no layer)"
                               : planning::foldLayer(entry.layer);
  case ProfileGroup::Label:
    return entry.label.empty() ? "(no label)" : entry.label;
  case ProfileGroup::Phase:
    return stringify(entry.phase).str();
  }
  llvm_unreachable("unknown group");
}

/// What `name` is in: "h" of "h.*"; "" if nothing.
static StringRef getOuter(StringRef name) {
  size_t end = name.find_last_of("./");
  return end == StringRef::npos ? StringRef() : name.take_front(end);
}

static void addCpu(ProfileRow &row, std::optional<int64_t> nanoseconds) {
  if (nanoseconds)
    row.cpuNanoseconds = row.cpuNanoseconds.value_or(0) + *nanoseconds;
}

namespace {
/// Adds entries up.
class Grouping {
public:
  explicit Grouping(ProfileGroup group) : group(group) {}
  /// With what is inside of it, if it is a loop.
  void add(const ReportEntry &entry, int64_t nanoseconds,
           std::optional<int64_t> cpuNanoseconds, int64_t calls = 1);
  std::vector<ProfileRow> finish();

private:
  void addRow(const ReportEntry &entry, int64_t calls, int64_t self,
              std::optional<int64_t> selfCpu, int64_t total);

  ProfileGroup group;
  std::map<std::string, ProfileRow> rows;
  /// The layers of each row.
  std::map<std::string, std::set<std::string>> layers;
};
} // namespace

void Grouping::add(const ReportEntry &entry, int64_t nanoseconds,
                   std::optional<int64_t> cpuNanoseconds, int64_t calls) {
  int64_t self = nanoseconds;
  std::optional<int64_t> selfCpu = cpuNanoseconds;
  for (auto [body, times] : zip(entry.bodies, splitTime(entry, nanoseconds)))
    for (auto [inner, time] : zip(body.report.entries, times)) {
      // CPU time is not taken inside of loops: threads are at work as in all of
      // it.
      std::optional<int64_t> cpu;
      if (cpuNanoseconds)
        cpu = int64_t(double(*cpuNanoseconds) * double(time) /
                      double(std::max<int64_t>(nanoseconds, 1)));
      add(inner, time, cpu, body.ran.value_or(calls * body.mostRuns));
      self -= time;
      if (selfCpu)
        *selfCpu -= *cpu;
    }
  addRow(entry, calls, self, selfCpu, nanoseconds);
}

void Grouping::addRow(const ReportEntry &entry, int64_t calls, int64_t self,
                      std::optional<int64_t> selfCpu, int64_t total) {
  std::string name = getGroupName(entry, group);
  ProfileRow &row = rows[name];
  row.streams.set(entry.stream);
  row.calls += calls;
  row.selfNanoseconds += self;
  // What is inside of a loop counts where it is: in groups around that, too.
  bool isNested = group == ProfileGroup::Layer ||
                  group == ProfileGroup::Label || group == ProfileGroup::Phase;
  row.totalNanoseconds += isNested ? self : total;
  addCpu(row, selfCpu);
  // What a loop does is what is inside of it.
  if (entry.bodies.empty()) {
    const EntryWork &work = entry.getRan();
    row.bytes += multiplyCounts(work.bytesRead + work.bytesWritten, calls);
    row.flops += multiplyCounts(work.flops, calls);
  }
  if (entry.phase == StepPhase::Recompute) {
    row.recomputeCalls += calls;
    row.recomputeNanoseconds += self;
  }
  if (group == ProfileGroup::Name || group == ProfileGroup::Layer)
    layers[name].insert(entry.layer);
  if (!isNested)
    return;
  StringRef inner;
  if (group == ProfileGroup::Layer)
    inner = entry.layer;
  for (StringRef outer = getOuter(name); !outer.empty();
       outer = getOuter(outer)) {
    ProfileRow &around = rows[outer.str()];
    around.totalNanoseconds += self;
    if (selfCpu)
      addCpu(around, 0);
    around.streams.set(entry.stream);
    if (inner = getOuter(inner); !inner.empty())
      layers[outer.str()].insert(inner.str());
  }
}

std::vector<ProfileRow> Grouping::finish() {
  std::vector<ProfileRow> list;
  for (auto &[name, row] : rows) {
    row.name = name;
    if (auto found = layers.find(name); found != layers.end())
      row.layers = found->second.size();
    list.push_back(std::move(row));
  }
  return list;
}

StepProfile remat::makeProfile(const StepReport &report,
                               const StepMeasurement &measured,
                               ProfileGroup group, ProfileSort sort) {
  Grouping grouping(group);
  for (auto [i, entry] : enumerate(report.entries)) {
    std::optional<int64_t> cpu;
    if (!measured.cpuTimes.empty())
      cpu = measured.cpuTimes[i];
    grouping.add(entry, measured.times[i], cpu);
  }
  StepProfile profile{group, sort, grouping.finish()};
  auto getKey = [&](const ProfileRow &row) -> int64_t {
    switch (sort) {
    case ProfileSort::Self:
      return row.selfNanoseconds;
    case ProfileSort::Total:
      return row.totalNanoseconds;
    case ProfileSort::Calls:
      return row.calls;
    case ProfileSort::Bytes:
      return row.bytes;
    case ProfileSort::Flops:
      return row.flops;
    case ProfileSort::Name:
      return 0;
    }
    llvm_unreachable("unknown order");
  };
  llvm::sort(profile.rows, [&](const ProfileRow &a, const ProfileRow &b) {
    return std::pair(-getKey(a), StringRef(a.name)) <
           std::pair(-getKey(b), StringRef(b.name));
  });
  return profile;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static std::vector<std::string> getStreamNames(const ProfileRow &row) {
  static constexpr StringLiteral names[] = {"compute", "to_device", "to_host"};
  static_assert(std::size(names) == REMAT_STREAM_COUNT);
  std::vector<std::string> list;
  for (auto [stream, name] : enumerate(names))
    if (row.streams[stream])
      list.push_back(name.str());
  return list;
}

/// `value` per nanosecond, which is thousands of millions per second.
static double getRate(int64_t value, int64_t nanoseconds) {
  return double(value) / double(std::max<int64_t>(nanoseconds, 1));
}

/// All rows as one: what is within several groups has a row in one of them.
static ProfileRow sumRows(ArrayRef<ProfileRow> rows) {
  ProfileRow sum;
  sum.name = "total";
  for (const ProfileRow &row : rows) {
    sum.calls += row.calls;
    sum.selfNanoseconds += row.selfNanoseconds;
    addCpu(sum, row.cpuNanoseconds);
    sum.recomputeCalls += row.recomputeCalls;
    sum.recomputeNanoseconds += row.recomputeNanoseconds;
    sum.bytes += row.bytes;
    sum.flops += row.flops;
    sum.streams |= row.streams;
  }
  sum.totalNanoseconds = sum.selfNanoseconds;
  return sum;
}

void StepProfile::print(raw_ostream &os) const {
  ProfileRow sum = sumRows(rows);
  auto format = [](double value, const char *pattern) {
    std::string text;
    raw_string_ostream(text) << llvm::format(pattern, value);
    return text;
  };
  std::vector<std::vector<std::string>> cells = {
      {stringify(group).str(), "calls", "self_ms", "self_%", "total_ms",
       "cpu_ms", "avg_us", "MB", "MFLOP", "GFLOP/s", "GB/s", "recompute_calls",
       "recompute_ms", "streams"}};
  auto addRow = [&](const ProfileRow &row) {
    std::string name = planning::abbreviateName(row.name);
    if (row.layers > 1)
      name += " x" + std::to_string(row.layers);
    int64_t self = row.selfNanoseconds;
    std::optional<int64_t> cpu = row.cpuNanoseconds;
    cells.push_back(
        {name, std::to_string(row.calls), format(self * 1e-6, "%.3f"),
         format(100.0 * self / std::max<int64_t>(sum.selfNanoseconds, 1),
                "%.1f"),
         format(row.totalNanoseconds * 1e-6, "%.3f"),
         cpu ? format(*cpu * 1e-6, "%.3f") : "-",
         format(self * 1e-3 / std::max<int64_t>(row.calls, 1), "%.3f"),
         format(row.bytes * 1e-6, "%.3f"), format(row.flops * 1e-6, "%.3f"),
         format(getRate(row.flops, self), "%.2f"),
         format(getRate(row.bytes, self), "%.2f"),
         std::to_string(row.recomputeCalls),
         format(row.recomputeNanoseconds * 1e-6, "%.3f"),
         join(getStreamNames(row), "+")});
  };
  for_each(rows, addRow);
  addRow(sum);
  printAligned(os, cells, /*beginsWithNames=*/true);
}

/// A member of a row; not there where it was not measured.
using Member = std::variant<std::monostate, std::string, int64_t>;

/// The members of a row in order: those that are text, then numbers.
static std::vector<std::pair<StringLiteral, Member>>
listMembers(const ProfileRow &row) {
  Member cpu;
  if (row.cpuNanoseconds)
    cpu = *row.cpuNanoseconds;
  return {{"name", row.name},
          {"streams", join(getStreamNames(row), "+")},
          {"layers", int64_t(row.layers)},
          {"calls", row.calls},
          {"self_nanoseconds", row.selfNanoseconds},
          {"total_nanoseconds", row.totalNanoseconds},
          {"cpu_nanoseconds", cpu},
          {"recompute_calls", row.recomputeCalls},
          {"recompute_nanoseconds", row.recomputeNanoseconds},
          {"bytes", row.bytes},
          {"flops", row.flops}};
}

json::Value StepProfile::toJson() const {
  auto toObject = [](const ProfileRow &row) {
    json::Object object;
    for (auto &[name, member] : listMembers(row)) {
      json::Value value = nullptr;
      if (auto *text = std::get_if<std::string>(&member))
        value = *text;
      else if (auto *number = std::get_if<int64_t>(&member))
        value = *number;
      object[name] = std::move(value);
    }
    object["streams"] = json::Array(getStreamNames(row));
    return object;
  };
  json::Array array;
  for (const ProfileRow &row : rows)
    array.push_back(toObject(row));
  return json::Object{{"group", stringify(group)},
                      {"sort", stringify(sort)},
                      {"rows", std::move(array)},
                      {"total", toObject(sumRows(rows))}};
}

/// A cell that is text: in quotes if it would be taken for several.
static std::string quoteCell(StringRef text) {
  if (text.find_first_of(",\"\r\n") == StringRef::npos)
    return text.str();
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

void StepProfile::printCsv(raw_ostream &os) const {
  auto print = [&](auto toCell, const ProfileRow &row) {
    interleave(
        listMembers(row), os, [&](auto &member) { os << toCell(member); }, ",");
    os << "\n";
  };
  print([](auto &member) { return member.first.str(); }, ProfileRow());
  for (const ProfileRow &row : rows)
    print(
        [](auto &member) {
          if (auto *text = std::get_if<std::string>(&member.second))
            return quoteCell(*text);
          auto *number = std::get_if<int64_t>(&member.second);
          return number ? std::to_string(*number) : std::string();
        },
        row);
}
