//===- StepSnapshot.cpp - the memory of a step, for PyTorch's viewer ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The viewer reads pickles of protocol 4 and below, and not all operations of
// these: strings, numbers, lists, dictionaries and pairs are enough.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepSnapshot.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/EndianStream.h"

using namespace llvm;
using namespace remat;

namespace {
/// Writes values of Python, in the order in which they are given.
class Pickler {
public:
  explicit Pickler(raw_ostream &os) : writer(os, endianness::little), os(os) {
    os << "\x80\x02";
  }
  ~Pickler() { os << '.'; }

  void add(StringRef text) {
    os << 'X';
    writer.write<uint32_t>(text.size());
    os << text;
  }
  void add(const char *text) { add(StringRef(text)); }
  void add(int64_t number) {
    if (isInt<32>(number)) {
      os << 'J';
      writer.write<int32_t>(number);
      return;
    }
    os << "\x8a\x08";
    writer.write<int64_t>(number);
  }
  void add(bool flag) { os << (flag ? '\x88' : '\x89'); }
  /// (0, 0)
  void addZeros() {
    add(int64_t(0));
    add(int64_t(0));
    os << '\x86';
  }
  void addList(function_ref<void()> addElements) {
    os << "](";
    addElements();
    os << 'e';
  }
  /// `addEntries` gives keys and values by turns.
  void addDict(function_ref<void()> addEntries) {
    os << "}(";
    addEntries();
    os << 'u';
  }
  template <typename T>
  void addEntry(StringRef key, T value) {
    add(key);
    add(value);
  }

private:
  support::endian::Writer writer;
  raw_ostream &os;
};

class SnapshotWriter {
public:
  SnapshotWriter(const StepReport &report, raw_ostream &os)
      : report(report), pickler(os) {}
  void write();

private:
  void writeSegment();
  void writeFrame(StringRef name, StringRef location);
  void writeEvent(StringRef action, int64_t address, int64_t bytes,
                  int64_t nanoseconds, const StepReport *owner = nullptr,
                  const ReportBuffer *buffer = nullptr);
  void writeStep(const StepReport &step, int64_t address, int64_t begin);
  void writeTrace();

  const StepReport &report;
  Pickler pickler;
};
} // namespace

/// A place "file:line:column" is that of the frame.
void SnapshotWriter::writeFrame(StringRef name, StringRef location) {
  StringRef place = location.rsplit(':').first;
  StringRef file = place.rsplit(':').first;
  int64_t number = 0;
  if (place.rsplit(':').second.getAsInteger(10, number))
    file = location;
  pickler.addDict([&] {
    pickler.addEntry("filename", file);
    pickler.addEntry("line", number);
    pickler.addEntry("name", name);
  });
}

/// What is allocated for, the innermost frame first.
void SnapshotWriter::writeEvent(StringRef action, int64_t address,
                                int64_t bytes, int64_t nanoseconds,
                                const StepReport *owner,
                                const ReportBuffer *buffer) {
  pickler.addDict([&] {
    pickler.addEntry("action", action);
    pickler.addEntry("addr", address);
    pickler.addEntry("size", bytes);
    pickler.addEntry("stream", int64_t(0));
    pickler.addEntry("time_us", nanoseconds / 1000);
    pickler.add("frames");
    pickler.addList([&] {
      if (!buffer)
        return;
      const ReportEntry &maker = owner->entries[buffer->birth];
      writeFrame(buffer->name, maker.location);
      if (maker.copyOf)
        writeFrame("recompute of " + owner->entries[*maker.copyOf].name,
                   owner->entries[*maker.copyOf].location);
      writeFrame(stringify(buffer->role), "");
    });
  });
}

/// As it is at the end: nothing is in the arena.
void SnapshotWriter::writeSegment() {
  pickler.addDict([&] {
    for (StringRef key : {"device", "address", "allocated_size", "active_size",
                          "requested_size", "stream"})
      pickler.addEntry(key, int64_t(0));
    pickler.addEntry("total_size", report.arenaBytes);
    pickler.addEntry("segment_type", "large");
    pickler.add("segment_pool_id");
    pickler.addZeros();
    pickler.addEntry("is_expandable", false);
    pickler.add("frames");
    pickler.addList([] {});
    pickler.add("blocks");
    pickler.addList([&] {
      pickler.addDict([&] {
        pickler.addEntry("address", int64_t(0));
        pickler.addEntry("size", report.arenaBytes);
        pickler.addEntry("requested_size", int64_t(0));
        pickler.addEntry("state", "inactive");
        pickler.add("frames");
        pickler.addList([] {});
      });
    });
  });
}

/// What `step` allocates, whose arena is at `address` and which begins at
/// `begin`. Of a loop, what one iteration does comes before the buffer that all
/// of them have.
void SnapshotWriter::writeStep(const StepReport &step, int64_t address,
                               int64_t begin) {
  std::vector<SmallVector<size_t, 2>> births(step.entries.size()),
      deaths(step.entries.size());
  for (auto [number, buffer] : enumerate(step.buffers))
    if (!buffer.isCallers && buffer.space == MemorySpace::Arena &&
        buffer.bytes > 0) {
      births[buffer.birth].push_back(number);
      deaths[buffer.death].push_back(number);
    }
  for (auto [index, entry] : enumerate(step.entries)) {
    int64_t time = begin + entry.start, end = time + entry.cost;
    for (size_t number : births[index]) {
      const ReportBuffer &buffer = step.buffers[number];
      if (entry.iteration == number)
        for (const LoopBody &body : entry.bodies) {
          writeStep(body.report, address + buffer.offset, time);
          for (const ReportEntry &inner : body.report.entries)
            time = std::min(time + inner.cost, end);
        }
      writeEvent("alloc", address + buffer.offset, buffer.bytes, time, &step,
                 &buffer);
    }
    for (size_t number : deaths[index])
      for (StringRef action : {"free_requested", "free_completed"})
        writeEvent(action, address + step.buffers[number].offset,
                   step.buffers[number].bytes, end, &step,
                   &step.buffers[number]);
  }
}

void SnapshotWriter::writeTrace() {
  writeEvent("segment_alloc", 0, report.arenaBytes, 0);
  writeStep(report, /*address=*/0, /*begin=*/0);
}

void SnapshotWriter::write() {
  pickler.addDict([&] {
    pickler.add("segments");
    pickler.addList([&] { writeSegment(); });
    pickler.add("device_traces");
    pickler.addList([&] { pickler.addList([&] { writeTrace(); }); });
    pickler.add("allocator_settings");
    pickler.addDict([] {});
    pickler.add("external_annotations");
    pickler.addList([] {});
  });
}

void remat::writeMemorySnapshot(const StepReport &report, raw_ostream &os) {
  SnapshotWriter(report, os).write();
}
