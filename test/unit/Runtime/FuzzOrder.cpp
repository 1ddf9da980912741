//===- FuzzOrder.cpp - streams and waits of random steps ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions: one entry is before another if they are in the same stream,
// if the other waits for it, or by way of a third. Which pairs must be in order
// is looked up for each pair. The run time does neither; it must agree.
//
//===----------------------------------------------------------------------===//

#include "FuzzOrder.h"

#include "Streams.h"
#include "remat/Runtime/StepTableBuilder.h"

#include <algorithm>
#include <random>

using namespace remat;

namespace {

constexpr uint64_t unit = REMAT_ALIGNMENT;
constexpr unsigned arenaUnits = 8, hostUnits = 4;

/// A random step whose entries are legal one after the other.
class StepMaker {
public:
  explicit StepMaker(std::mt19937_64 &random) : random(random) {
    for (const char *name : {"x", "sum"})
      builder.addArgument(name, REMAT_F32, {32});
    for (const char *name : {"y", "sum"})
      builder.addResult(name, REMAT_F32, {32});
    builder.addDonation(1, 1);
    for (uint32_t i = 0; i < 2; ++i)
      values.push_back({builder.addArgumentBuffer(i), REMAT_SPACE_ARGUMENT});
    builder.setArenaBytes(arenaUnits * unit);
    builder.setHostBytes(hostUnits * unit);
  }

  std::string make() {
    unsigned length = 2 + random() % 40, call = random() % (2 * length);
    for (unsigned i = 0; i < length; ++i) {
      if (i == call)
        beginCall();
      addRandom();
    }
    for (uint32_t result : {0, 1})
      if (!isWritten[result])
        define(result, pickValue());
    builder.assignStreams();
    return builder.finalize();
  }

private:
  struct Value {
    uint32_t buffer;
    remat_space space;
    uint64_t begin = 0, units = 0;
    bool reused = false;
  };

  unsigned roll(unsigned sides) { return unsigned(random() % sides); }
  const Value &pickValue() { return values[roll(unsigned(values.size()))]; }

  /// A place for some units that no value has, or false.
  bool findPlace(remat_space space, bool reused, uint64_t units,
                 uint64_t &begin) {
    uint64_t most = reused                      ? 2
                    : space == REMAT_SPACE_HOST ? hostUnits
                                                : arenaUnits;
    std::vector<uint64_t> places;
    for (uint64_t at = 0; at + units <= most; ++at)
      if (std::none_of(values.begin(), values.end(), [&](const Value &value) {
            return value.space == space && value.reused == reused &&
                   at < value.begin + value.units && value.begin < at + units;
          }))
        places.push_back(at);
    if (places.empty())
      return false;
    begin = places[roll(unsigned(places.size()))];
    return true;
  }

  /// A new buffer somewhere; a value of no units if there is no room.
  Value makeValue(remat_space space) {
    Value value = {0, space, 0, 1 + roll(2), space == REMAT_SPACE_RESULT};
    if ((value.reused && isWritten[0]) ||
        !findPlace(space, value.reused, value.units, value.begin))
      return {0, space};
    uint64_t offset = value.begin * unit, bytes = value.units * unit;
    value.buffer = value.reused ? builder.addReusedBuffer(0, offset, bytes)
                   : space == REMAT_SPACE_HOST
                       ? builder.addHostBuffer(offset, bytes)
                       : builder.addArenaBuffer(offset, bytes);
    return value;
  }

  void addEntry(remat_entry_kind kind, std::vector<uint32_t> operands,
                uint32_t result, uint32_t workspace = REMAT_NONE) {
    StepEntry entry;
    entry.kind = kind;
    entry.operands = std::move(operands);
    if (result != REMAT_NONE)
      entry.results = {result};
    entry.workspace = workspace;
    builder.addEntry(entry);
  }

  void drop(size_t index) { values.erase(values.begin() + index); }

  /// Writes a result: what was in its buffer is gone.
  void define(uint32_t result, Value from) {
    bool isCopy = from.space != REMAT_SPACE_ARGUMENT && roll(2);
    for (size_t i = values.size(); i-- > 0;)
      if ((result == 0 && values[i].reused) ||
          (result == 1 && values[i].buffer == 1))
        drop(i);
    bool isGone =
        (result == 0 && from.reused) || (result == 1 && from.buffer == 1);
    Value value = {builder.addResultBuffer(result), REMAT_SPACE_RESULT};
    addEntry(isCopy && !isGone ? REMAT_ENTRY_COPY : REMAT_ENTRY_KERNEL,
             isGone ? std::vector<uint32_t>{} : std::vector{from.buffer},
             value.buffer);
    values.push_back(value);
    isWritten[result] = true;
  }

  void beginCall() {
    // Only what is in the arena and on the host lasts.
    for (size_t i = values.size(); i-- > 0;)
      if (values[i].reused)
        drop(i);
    builder.beginCall();
    builder.setStateBytes(arenaUnits * unit);
  }

  void addRandom() {
    static const remat_space spaces[] = {REMAT_SPACE_ARENA, REMAT_SPACE_ARENA,
                                         REMAT_SPACE_HOST, REMAT_SPACE_RESULT};
    Value from = pickValue();
    unsigned kind = roll(12);
    if (kind < 2) {
      size_t index = roll(unsigned(values.size()));
      if (values[index].space == REMAT_SPACE_ARGUMENT)
        return;
      if (roll(2))
        addEntry(REMAT_ENTRY_RELEASE, {values[index].buffer}, REMAT_NONE);
      drop(index);
    } else if (uint32_t result = roll(8) ? 1 : 0;
               kind == 2 && !isWritten[result]) {
      define(result, from);
    } else if (kind == 3 && from.space == REMAT_SPACE_ARENA) {
      // In place; the value is in a part of its root from now on.
      uint32_t view = builder.addView(from.buffer, 0, unit);
      addEntry(REMAT_ENTRY_KERNEL, {from.buffer}, view);
    } else if (Value value = makeValue(spaces[roll(4)]); value.units > 0) {
      bool isCopy = kind < 9;
      uint32_t workspace = REMAT_NONE;
      uint64_t at;
      values.push_back(value);
      if (!isCopy && roll(3) == 0 && findPlace(REMAT_SPACE_ARENA, false, 1, at))
        workspace = builder.addArenaBuffer(at * unit, unit);
      std::vector<uint32_t> operands = {from.buffer};
      Value second = values[roll(unsigned(values.size()) - 1)];
      if (!isCopy && roll(2))
        operands.push_back(second.buffer);
      addEntry(isCopy ? REMAT_ENTRY_COPY : REMAT_ENTRY_KERNEL, operands,
               value.buffer, workspace);
    }
  }

  std::mt19937_64 &random;
  StepTableBuilder builder;
  std::vector<Value> values;
  bool isWritten[2] = {false, false};
};

/// What is before each entry: a bit for each.
using Order = std::vector<uint64_t>;

class Definitions {
public:
  explicit Definitions(const Table &table) : t(table) {}

  Order order() const {
    Order before(t.entries.size());
    for (uint32_t later = 0; later < before.size(); ++later) {
      const remat_entry &entry = t.entries[later];
      auto add = [&](uint32_t earlier) {
        before[later] |= before[earlier] | uint64_t(1) << earlier;
      };
      for (uint32_t i = 0; i < later; ++i)
        if (t.entries[i].stream == entry.stream || call(i) != call(later))
          add(i);
      for (uint32_t i = 0; i < entry.wait_count; ++i)
        add(t.waits[entry.first_wait + i]);
    }
    return before;
  }

  /// Whether entries that use the same bytes are in order.
  bool isSafe(const Order &before) const {
    return holds(before, [&](uint32_t earlier, uint32_t later) {
      return conflict(earlier, later, [&](auto &a, auto &b) {
        return memory(a) == memory(b) && a.offset < b.offset + b.bytes &&
               b.offset < a.offset + a.bytes;
      });
    });
  }

  /// Whether the rules of assignStreams hold.
  bool keepsRules(const Order &before) const {
    return holds(before, [&](uint32_t earlier, uint32_t later) {
      const remat_entry &a = t.entries[earlier], &b = t.entries[later];
      bool isCopy = b.stream != REMAT_STREAM_COMPUTE;
      return (isCopy && a.stream == REMAT_STREAM_COMPUTE) ||
             (a.stream != REMAT_STREAM_COMPUTE && frees(earlier, later)) ||
             conflict(earlier, later, [&](auto &x, auto &y) {
               bool isCallers = x.space != REMAT_SPACE_ARENA &&
                                x.space != REMAT_SPACE_HOST && !x.reused &&
                                !y.reused;
               return isCallers ? memory(x) == memory(y) : x.root == y.root;
             });
    });
  }

private:
  template <typename Function>
  bool holds(const Order &before, const Function &mustBeInOrder) const {
    for (uint32_t later = 0; later < before.size(); ++later)
      for (uint32_t earlier = 0; earlier < later; ++earlier)
        if (!(before[later] >> earlier & 1) && mustBeInOrder(earlier, later))
          return false;
    return true;
  }

  /// Whether one entry writes what the other uses, by `isSame`.
  template <typename Function>
  bool conflict(uint32_t earlier, uint32_t later,
                const Function &isSame) const {
    const remat_entry &a = t.entries[earlier], &b = t.entries[later];
    auto uses = [&](const remat_entry &entry, const auto &function) {
      uint32_t count = entry.operand_count + entry.result_count;
      for (uint32_t i = 0; i < count; ++i)
        if (function(t.operand(entry, i), i >= entry.operand_count))
          return true;
      return entry.workspace != REMAT_NONE &&
             function(t.buffers[entry.workspace], true);
    };
    return uses(a, [&](const remat_buffer &x, bool isWritten) {
      return uses(b, [&](const remat_buffer &y, bool isWrittenLater) {
        return (isWritten || isWrittenLater) && isSame(x, y);
      });
    });
  }

  /// Whether a buffer of a copy is dead when `later` begins, which counts on it
  /// if it is of the arena, or if it writes to the host.
  bool frees(uint32_t copy, uint32_t later) const {
    const remat_entry &a = t.entries[copy], &b = t.entries[later];
    bool writesHost = false;
    for (uint32_t i = 0; i < b.result_count; ++i)
      writesHost |= t.result(b, i).space == REMAT_SPACE_HOST;
    for (uint32_t use : {0, 1}) {
      const remat_buffer &buffer = t.operand(a, use);
      bool counts = buffer.space == REMAT_SPACE_ARENA || buffer.reused ||
                    (buffer.space == REMAT_SPACE_HOST && writesHost);
      if (counts && lastUse(buffer.root) < later)
        return true;
    }
    return false;
  }

  uint32_t lastUse(uint32_t root) const {
    uint32_t last = 0;
    for (uint32_t i = 0; i < t.entries.size(); ++i)
      for (uint32_t j = 0;
           j < t.entries[i].operand_count + t.entries[i].result_count; ++j)
        if (t.operand(t.entries[i], j).root == root)
          last = i;
    return last;
  }

  /// Result 1 has the buffer of argument 1.
  static std::pair<int, uint32_t> memory(const remat_buffer &buffer) {
    bool isGiven = buffer.space == REMAT_SPACE_RESULT && buffer.index == 1;
    return {isGiven ? REMAT_SPACE_ARGUMENT : buffer.space, buffer.index};
  }

  size_t call(uint32_t entry) const {
    return std::upper_bound(t.callBegins.begin(), t.callBegins.end(), entry) -
           t.callBegins.begin();
  }

  const Table &t;
};

/// Changes one stream or some waits, which may leave the order as it was.
void mutate(Table &table, std::mt19937_64 &random) {
  std::vector<std::vector<uint32_t>> waits;
  for (const remat_entry &entry : table.entries)
    waits.emplace_back(table.waits.begin() + entry.first_wait,
                       table.waits.begin() + entry.first_wait +
                           entry.wait_count);
  for (unsigned changes = 1 + random() % 3; changes-- > 0;) {
    uint32_t index = uint32_t(random() % table.entries.size());
    remat_entry &entry = table.entries[index];
    unsigned kind = unsigned(random() % 6);
    if (kind == 0 && entry.kind == REMAT_ENTRY_COPY)
      entry.stream = uint32_t(random() % REMAT_STREAM_COUNT);
    else if (kind == 1 && index > 0)
      waits[index].push_back(uint32_t(random() % index));
    else if (kind == 2 && index > 0)
      for (uint32_t &wait : waits[index])
        wait = uint32_t(random() % index);
    else if (!waits[index].empty())
      waits[index].pop_back();
  }
  table.waits.clear();
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    table.entries[i].first_wait = uint32_t(table.waits.size());
    table.entries[i].wait_count = uint32_t(waits[i].size());
    table.waits.insert(table.waits.end(), waits[i].begin(), waits[i].end());
  }
}

/// Whether the order needs each wait: without it, a rule is broken.
bool isMinimal(Table table) {
  for (remat_entry &entry : table.entries)
    for (uint32_t i = 0; i < entry.wait_count; ++i) {
      uint32_t first = entry.first_wait, last = first + entry.wait_count - 1;
      std::swap(table.waits[first + i], table.waits[last]);
      --entry.wait_count;
      Definitions definitions(table);
      bool isNeeded = !definitions.keepsRules(definitions.order());
      ++entry.wait_count;
      std::swap(table.waits[first + i], table.waits[last]);
      if (!isNeeded)
        return false;
    }
  return true;
}

} // namespace

std::string remat::tryOrder(uint64_t seed, OrderCounts &counts) {
  std::mt19937_64 random(seed);
  std::string blob = StepMaker(random).make(), error;
  ++counts.tables;
  if (!checkStepTable(blob, error))
    return "a table is refused: " + error;
  remat_module module = makeModule(blob);
  Table table;
  readTable(module, table, error);
  Definitions definitions(table);
  Order order = definitions.order();
  if (!definitions.isSafe(order))
    return "a table is accepted that is not in order";
  if (!definitions.keepsRules(order))
    return "waits do not keep the rules";
  if (!isMinimal(table))
    return "a wait is not needed";
  for (int i = 0; i < 4; ++i) {
    Table changed = table;
    mutate(changed, random);
    ++counts.mutated;
    Definitions definitions(changed);
    bool isSafe = definitions.isSafe(definitions.order());
    error.clear();
    if (checkOrder(changed, error) != isSafe)
      return isSafe ? "a table in order is refused: " + error
                    : "a table is accepted that is not in order";
    if (!isSafe && error.empty())
      return "a table is refused without a word";
    ++(isSafe ? counts.accepted : counts.refused);
  }
  return "";
}
