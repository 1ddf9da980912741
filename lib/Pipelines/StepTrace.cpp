//===- StepTrace.cpp - a step on a time line ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spans of one track nest, as viewers expect: an entry is a span in the track
// of its stream, and in a loop are those of one iteration, as long as one takes
// on average. Lives of buffers overlap, so they are asynchronous spans with
// an id each. Counters have no unit in this format, so their names have one.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepTrace.h"

#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace remat;

/// The version of the header, as other writers of the format count it.
static constexpr int schemaVersion = 1;

/// The track of buffers; entries are in that of their stream, counted from 1.
static constexpr int bufferTrack = 9;

static StringRef getStreamName(remat_stream stream) {
  switch (stream) {
  case REMAT_STREAM_TO_DEVICE:
    return "copies from the host";
  case REMAT_STREAM_TO_HOST:
    return "copies to the host";
  default:
    return "computation";
  }
}

/// Bytes in the arena by role.
using Memory = std::array<int64_t, numBufferRoles>;

/// Nanoseconds in the format's unit.
static double toMicroseconds(int64_t nanoseconds) {
  return double(nanoseconds) / 1000.0;
}

static double toMebibytes(int64_t bytes) { return double(bytes) / 1048576.0; }

/// `live`, what is in the arena while `entry` of `report` runs, without what it
/// has for its iterations.
static Memory withoutIteration(const ReportEntry &entry,
                               const StepReport &report, Memory live) {
  if (entry.iteration)
    live[unsigned(BufferRole::Workspace)] -=
        report.buffers[*entry.iteration].bytes;
  return live;
}

namespace {
/// Writes one process.
class Timeline {
public:
  /// Ids of processes differ, ids of entries do not.
  Timeline(const StepReport &report, ArrayRef<remat_entry_span> spans,
           bool isMeasured, json::OStream &events)
      : report(report), spans(spans), isMeasured(isMeasured), events(events) {}
  void write();

private:
  void event(StringRef phase, StringRef title, int track,
             std::optional<int64_t> time,
             function_ref<void(json::OStream &)> more);
  void writeNames();
  void writeEntry(size_t index);
  void writeWork(const ReportEntry &entry, const EntryWork &work,
                 json::OStream &json);
  void writeBodies(const ReportEntry &entry, int track, int64_t runs,
                   remat_entry_span span, Memory memory);
  void writeMemory(const Memory &live, int64_t time);
  void writeFlow(size_t index);
  void writeBuffers();
  int getTrack(size_t index) const {
    return int(report.entries[index].stream) + 1;
  }
  std::string getId(size_t index) const {
    return "0x" + utohexstr(uint64_t(getProcess()) << 32 | index, true);
  }
  int getProcess() const { return isMeasured ? 2 : 1; }

  const StepReport &report;
  ArrayRef<remat_entry_span> spans;
  bool isMeasured;
  json::OStream &events;
};
} // namespace

/// Writes an event in a line of its own.
void Timeline::event(StringRef phase, StringRef title, int track,
                     std::optional<int64_t> time,
                     function_ref<void(json::OStream &)> more) {
  events.rawValue([&](raw_ostream &os) {
    os << '\n';
    json::OStream json(os);
    json.object([&] {
      json.attribute("ph", phase);
      json.attribute("name", title);
      json.attribute("pid", getProcess());
      json.attribute("tid", track);
      if (time)
        json.attribute("ts", toMicroseconds(*time));
      more(json);
    });
  });
}

void Timeline::writeNames() {
  auto metadata = [&](StringRef kind, int track, StringRef text) {
    event("M", kind, track, std::nullopt, [&](json::OStream &json) {
      json.attributeObject("args", [&] { json.attribute("name", text); });
    });
  };
  metadata("process_name", 0, isMeasured ? "measured" : "planned");
  std::array<bool, REMAT_STREAM_COUNT> isUsed{true};
  for (const ReportEntry &entry : report.entries)
    isUsed[entry.stream] = true;
  for (unsigned stream = 0; stream < isUsed.size(); ++stream)
    if (isUsed[stream])
      metadata("thread_name", stream + 1,
               getStreamName(static_cast<remat_stream>(stream)));
  metadata("thread_name", bufferTrack, "buffers");
}

/// What a span says of its work.
void Timeline::writeWork(const ReportEntry &entry, const EntryWork &work,
                         json::OStream &json) {
  json.attribute("kind", stringify(entry.phase));
  json.attribute("kernel", entry.kernel);
  if (!entry.layer.empty())
    json.attribute("layer", entry.layer);
  if (!entry.label.empty())
    json.attribute("label", entry.label);
  if (!entry.location.empty())
    json.attribute("loc", entry.location);
  json.attribute("planned_ns", entry.cost);
  json.attribute("bytes_in", work.bytesRead);
  json.attribute("bytes_out", work.bytesWritten);
  json.attribute("flops", work.flops);
}

void Timeline::writeEntry(size_t index) {
  const ReportEntry &entry = report.entries[index];
  const remat_entry_span &span = spans[index];
  event("X", entry.name, getTrack(index), span.begin, [&](json::OStream &json) {
    json.attribute("cat", "op");
    json.attribute("dur", toMicroseconds(span.end - span.begin));
    json.attributeObject("args", [&] {
      json.attribute("id", int64_t(index));
      if (entry.copyOf)
        json.attribute("recompute_of", int64_t(*entry.copyOf));
      writeWork(entry, isMeasured ? entry.getRan() : entry, json);
      json.attribute("arena_bytes", entry.liveBytes);
    });
  });
}

/// "iteration (average of 12)".
static std::string describeRuns(const LoopBody &body, int64_t runs) {
  std::string name = body.isAdvance ? "states made again" : "iteration";
  return runs == 1 ? name : name + " (average of " + std::to_string(runs) + ")";
}

/// The spans within that of `entry`, a loop that has run `runs` times in
/// `span`, which is one of them: of each body one run, and behind it those that
/// are alike. `memory` is what is in the arena without those of the bodies.
void Timeline::writeBodies(const ReportEntry &entry, int track, int64_t runs,
                           remat_entry_span span, Memory memory) {
  std::vector<std::vector<int64_t>> parts =
      splitTime(entry, span.end - span.begin);
  int64_t at = span.begin;
  auto writeSpan = [&](StringRef name, int64_t begin, int64_t end,
                       function_ref<void(json::OStream &)> writeArgs) {
    event("X", name, track, begin, [&](json::OStream &json) {
      json.attribute("cat", "loop");
      json.attribute("dur", toMicroseconds(end - begin));
      json.attributeObject("args", [&] { writeArgs(json); });
    });
  };
  for (size_t number = 0; number < entry.bodies.size(); ++number) {
    const LoopBody &body = entry.bodies[number];
    // All of them in this span, and one.
    int64_t times = body.mostRuns;
    if (isMeasured && body.ran)
      times = *body.ran / std::max<int64_t>(runs, 1);
    int64_t all = 0;
    for (int64_t part : parts[number])
      all += part;
    if (times <= 0 || all <= 0)
      continue;
    int64_t begin = at, now = at;
    at += all;
    int64_t one = all / times;
    writeSpan(describeRuns(body, times), begin, begin + one,
              [&](json::OStream &json) { json.attribute("runs", times); });
    for (size_t i = 0; i < body.report.entries.size(); ++i) {
      const ReportEntry &inner = body.report.entries[i];
      int64_t end = std::min(now + parts[number][i] / times, begin + one);
      writeSpan(inner.name, now, end, [&](json::OStream &json) {
        if (inner.copyOf)
          json.attribute("repeats", body.report.entries[*inner.copyOf].name);
        writeWork(inner, inner, json);
        json.attribute("arena_bytes", inner.liveBytes);
      });
      Memory live = memory;
      for (unsigned role = 0; role < numBufferRoles; ++role)
        live[role] += inner.live[role];
      if (inner.stream == REMAT_STREAM_COMPUTE)
        writeMemory(live, now);
      if (!inner.bodies.empty())
        writeBodies(inner, track, runs * times, {now, end},
                    withoutIteration(inner, body.report, live));
      now = end;
    }
    if (times > 1)
      writeSpan(
          std::to_string(times - 1) + " more like it", begin + one, at,
          [&](json::OStream &json) { json.attribute("runs", times - 1); });
  }
}

/// The arena while an entry runs.
void Timeline::writeMemory(const Memory &live, int64_t time) {
  event("C", "arena, MiB", 0, time, [&](json::OStream &json) {
    json.attribute("cat", "mem");
    json.attributeObject("args", [&] {
      for (unsigned role = 0; role < numBufferRoles; ++role)
        if (auto kind = BufferRole(role); kind != BufferRole::Parameter &&
                                          kind != BufferRole::Input &&
                                          kind != BufferRole::Result)
          json.attribute(stringify(kind), toMebibytes(live[role]));
    });
  });
  if (report.budget)
    event("C", "budget, MiB", 0, time, [&](json::OStream &json) {
      json.attribute("cat", "mem");
      json.attributeObject("args", [&] {
        json.attribute("budget", toMebibytes(*report.budget));
      });
    });
}

/// An arrow from an entry to what repeats it, and from what takes a value to
/// the host to what brings it back. Each has a number of its own.
void Timeline::writeFlow(size_t index) {
  auto drawFrom = [&](StringRef name, size_t origin) {
    for (auto [phase, at] :
         {std::pair(StringRef("s"), origin), std::pair(StringRef("f"), index)})
      event(phase, name, getTrack(at), spans[at].begin,
            [&, phase = phase](json::OStream &json) {
              json.attribute("cat", "remat");
              json.attribute("id", getId(index));
              if (phase == "f")
                json.attribute("bp", "e");
            });
  };
  const ReportEntry &entry = report.entries[index];
  if (entry.copyOf)
    drawFrom("recompute", *entry.copyOf);
  else if (entry.offloadedBy)
    drawFrom("reload", *entry.offloadedBy);
}

void Timeline::writeBuffers() {
  for (auto [index, buffer] : enumerate(report.buffers)) {
    if (buffer.isCallers)
      continue;
    auto edge = [&, &buffer = buffer, number = index](StringRef phase,
                                                      int64_t time) {
      event(phase, buffer.name, bufferTrack, time, [&](json::OStream &json) {
        json.attribute("cat", "buffer");
        json.attribute("id", getId(number));
        if (phase != "b")
          return;
        json.attributeObject("args", [&] {
          json.attribute("space", stringifyMemorySpace(buffer.space));
          json.attribute("offset", buffer.offset);
          json.attribute("bytes", buffer.bytes);
          json.attribute("role", stringify(buffer.role));
          json.attribute("decision", stringify(buffer.decision));
          if (!buffer.why.empty())
            json.attribute("why", buffer.why);
        });
      });
    };
    edge("b", spans[buffer.birth].begin);
    edge("e", std::max(spans[buffer.birth].begin, spans[buffer.death].end));
  }
}

void Timeline::write() {
  writeNames();
  for (size_t index = 0; index < report.entries.size(); ++index) {
    writeEntry(index);
    const ReportEntry &entry = report.entries[index];
    // Copies run beside the schedule that memory follows.
    if (entry.stream == REMAT_STREAM_COMPUTE)
      writeMemory(entry.live, spans[index].begin);
    if (!entry.bodies.empty())
      writeBodies(entry, getTrack(index), /*runs=*/1, spans[index],
                  withoutIteration(entry, report, entry.live));
    writeFlow(index);
  }
  writeBuffers();
  if (report.entries.empty())
    return;
  size_t peak = report.getPeak();
  event("i", "peak", getTrack(peak), spans[peak].begin,
        [&](json::OStream &json) {
          json.attribute("s", "p");
          json.attributeObject("args", [&] {
            json.attribute("bytes", report.entries[peak].liveBytes);
          });
        });
}

void remat::writeTrace(const StepReport &report,
                       ArrayRef<remat_entry_span> measured, raw_ostream &os,
                       std::optional<BuildTimes> built) {
  std::vector<remat_entry_span> planned;
  for (const ReportEntry &entry : report.entries)
    planned.push_back({entry.start, entry.start + entry.cost});
  json::OStream json(os);
  json.object([&] {
    json.attribute("schemaVersion", schemaVersion);
    json.attribute("displayTimeUnit", "ms");
    json.attributeObject("remat", [&] {
      json.attribute("step", report.function);
      json.attribute("plan_hash", report.getHash());
      if (report.budget)
        json.attribute("budget_bytes", *report.budget);
      json.attribute("planned_peak_bytes", report.plannedPeak);
      json.attribute("arena_bytes", report.arenaBytes);
      if (built) {
        json.attribute("plan_seconds", built->plan);
        json.attribute("compile_seconds", built->compile);
      }
    });
    json.attributeArray("traceEvents", [&] {
      Timeline(report, planned, /*isMeasured=*/false, json).write();
      if (!measured.empty())
        Timeline(report, measured, /*isMeasured=*/true, json).write();
    });
  });
  os << '\n';
}
