//===- Table.cpp - live ranges as a table ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "common/Driver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <optional>

using namespace llvm;
using namespace remat;
using namespace remat::pack;
using remat::planning::LiveRange;
using remat::tools::makeError;

namespace {
enum class Column {
  Id,
  Lower,
  Upper,
  End,
  Size,
  Alignment,
  Offset,
  Hint,
  Gaps,
  Unknown
};

/// Reads the lines of one file.
class TableReader {
public:
  Expected<Table> read(StringRef text);

private:
  Error readColumns(StringRef line);
  Error readLine(StringRef line);
  Expected<std::optional<int64_t>> getNumber(ArrayRef<StringRef> fields,
                                             Column column) const;
  Error makeLineError(const Twine &message) const {
    return makeError("line " + Twine(number) + ": " + message);
  }
  Error checkFixed() const;
  void setPositions();

  Table table;
  SmallVector<Column> columns;
  /// Of the line that is read.
  unsigned number = 0;
  /// Of each range, its first time and its last one.
  std::vector<std::pair<int64_t, int64_t>> lives;
  /// The lines of the ranges.
  std::vector<unsigned> numbers;
};
} // namespace

static Column parseColumn(StringRef name) {
  return StringSwitch<Column>(name)
      .Cases({"id", "buffer", "buffer_id"}, Column::Id)
      .Cases({"lower", "start", "begin"}, Column::Lower)
      .Case("upper", Column::Upper)
      .Case("end", Column::End)
      .Case("size", Column::Size)
      .Case("alignment", Column::Alignment)
      .Case("offset", Column::Offset)
      .Case("hint", Column::Hint)
      .Case("gaps", Column::Gaps)
      .Default(Column::Unknown);
}

Error TableReader::readColumns(StringRef line) {
  SmallVector<StringRef> names;
  line.split(names, ',');
  for (StringRef name : names) {
    name = name.trim();
    Column column = parseColumn(name);
    if (column == Column::Unknown)
      return makeLineError("unknown column '" + name +
                           "'; expected id, lower, upper or end, size, and, "
                           "if wanted, alignment, offset, hint");
    if (is_contained(columns, column))
      return makeLineError("the column '" + name + "' is there twice");
    columns.push_back(column);
    table.columns.push_back(name.str());
  }
  auto has = [&](Column column) { return is_contained(columns, column); };
  if (has(Column::Upper) && has(Column::End))
    return makeLineError("expected one of the columns 'upper' and 'end'");
  if (!has(Column::Id) || !has(Column::Lower) || !has(Column::Size) ||
      (!has(Column::Upper) && !has(Column::End)))
    return makeLineError("expected the columns id, lower, upper or end, size, "
                         "actual '" +
                         line.trim() + "'");
  return Error::success();
}

/// The number in a column; none if there is no such column or nothing in it.
Expected<std::optional<int64_t>>
TableReader::getNumber(ArrayRef<StringRef> fields, Column column) const {
  const auto *found = llvm::find(columns, column);
  if (found == columns.end())
    return std::nullopt;
  size_t index = found - columns.begin();
  bool mayBeEmpty = column == Column::Alignment || column == Column::Offset;
  if (mayBeEmpty && fields[index].empty())
    return std::nullopt;
  int64_t value;
  if (fields[index].getAsInteger(10, value) || value < 0)
    return makeLineError("expected a number from 0 to 2^63 - 1 in the column "
                         "'" +
                         table.columns[index] + "', actual '" + fields[index] +
                         "'");
  return value;
}

Error TableReader::readLine(StringRef line) {
  SmallVector<StringRef> fields;
  line.split(fields, ',');
  for (StringRef &field : fields)
    field = field.trim();
  if (fields.size() != columns.size())
    return makeLineError("expected " + Twine(columns.size()) +
                         " fields, actual " + Twine(fields.size()));
  for (auto [column, field] : zip(columns, fields))
    if (column == Column::Gaps && !field.empty())
      return makeLineError("a buffer with gaps in its life cannot be packed; "
                           "give each of its lives a line of its own");
  std::optional<int64_t> lower, upper, end, size, alignment, offset;
  for (auto [column, value] :
       {std::pair(Column::Lower, &lower), std::pair(Column::Upper, &upper),
        std::pair(Column::End, &end), std::pair(Column::Size, &size),
        std::pair(Column::Alignment, &alignment),
        std::pair(Column::Offset, &offset)}) {
    Expected<std::optional<int64_t>> number = getNumber(fields, column);
    if (!number)
      return number.takeError();
    *value = *number;
  }
  int64_t last = end ? *end : *upper - 1;
  if (last < *lower)
    return makeLineError("the buffer lives from " + Twine(*lower) +
                         " to before " + Twine(last + 1) +
                         "; expected a life of at least one time");
  LiveRange range;
  range.bytes = *size;
  range.alignment = alignment.value_or(1);
  range.fixedOffset = offset.value_or(-1);
  if (range.alignment == 0)
    return makeLineError("expected an alignment of at least 1, actual 0");
  if (range.fixedOffset >= 0 && range.fixedOffset % range.alignment != 0)
    return makeLineError("the offset " + Twine(range.fixedOffset) +
                         " is no multiple of the alignment " +
                         Twine(range.alignment));
  int64_t bound = int64_t(1) << 52;
  if (range.bytes > bound || range.alignment > bound ||
      range.fixedOffset > bound)
    return makeLineError("expected numbers of at most 2^52 bytes");
  table.ranges.push_back(range);
  lives.push_back({*lower, last});
  numbers.push_back(number);
  table.lines.emplace_back(fields.begin(), fields.end());
  return Error::success();
}

/// Times that are too large for a position are renumbered: their order is what
/// matters.
void TableReader::setPositions() {
  std::vector<int64_t> begins;
  bool isSmall = true;
  for (auto [begin, last] : lives) {
    begins.push_back(begin);
    isSmall &= last < std::numeric_limits<uint32_t>::max();
  }
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  for (auto [range, life] : zip(table.ranges, lives)) {
    auto [begin, last] = life;
    range.begin = isSmall ? begin : lower_bound(begins, begin) - begins.begin();
    range.end = isSmall ? last : upper_bound(begins, last) - begins.begin() - 1;
  }
}

/// Buffers with fixed offsets that live together must be apart.
Error TableReader::checkFixed() const {
  std::vector<int64_t> offsets;
  int64_t total = 0;
  for (const LiveRange &range : table.ranges) {
    if (AddOverflow(total, range.bytes + range.alignment, total) ||
        total > int64_t(1) << 53)
      return makeError("the buffers are too large: expected at most 2^53 bytes "
                       "in all");
    offsets.push_back(range.fixedOffset);
  }
  if (auto overlap = planning::findOverlap(table.ranges, offsets)) {
    auto [first, second] = std::minmax(overlap->first, overlap->second);
    return makeError("the buffers of lines " + Twine(numbers[first]) + " and " +
                     Twine(numbers[second]) +
                     " overlap at the offsets that they must have");
  }
  return Error::success();
}

Expected<Table> TableReader::read(StringRef text) {
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    ++number;
    if (line.trim().empty())
      continue;
    if (Error error = columns.empty() ? readColumns(line) : readLine(line))
      return error;
  }
  if (columns.empty())
    return makeError("the file is empty; expected a line of column names");
  setPositions();
  if (Error error = checkFixed())
    return error;
  return std::move(table);
}

Expected<Table> pack::parseTable(StringRef text) {
  return TableReader().read(text);
}

void pack::writeTable(const Table &table, const planning::Packing &packing,
                      raw_ostream &os) {
  auto write = [&](ArrayRef<std::string> fields, const Twine &last) {
    for (auto [name, field] : zip(table.columns, fields))
      if (parseColumn(name) != Column::Offset)
        os << field << ',';
    os << last << '\n';
  };
  write(table.columns, "offset");
  for (auto [fields, offset, range] :
       zip(table.lines, packing.offsets, table.ranges))
    // What has no bytes is nowhere in the arena; a fixed offset stays.
    write(fields,
          Twine(range.bytes == 0 ? std::max<int64_t>(range.fixedOffset, 0)
                                 : offset));
}
