//===- Table.cpp - reads a step table -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies the sections out of a blob and checks what can be checked record by
// record. Nothing in the blob is trusted.
//
//===----------------------------------------------------------------------===//

#include "Table.h"
#include "Descriptors.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace remat;

std::string Table::describe(uint32_t entry) const {
  const remat_entry &record = entries[entry];
  std::string text = "entry " + std::to_string(entry);
  if (*string(record.name))
    text += std::string(" '") + string(record.name) + "'";
  if (*string(record.location))
    text += std::string(" at ") + string(record.location);
  return text;
}

bool Table::isOnHost(const remat_buffer &buffer) const {
  switch (buffer.space) {
  case REMAT_SPACE_HOST:
    return true;
  case REMAT_SPACE_ARGUMENT:
    return (arguments[buffer.index].flags & REMAT_TENSOR_HOST) != 0;
  case REMAT_SPACE_RESULT:
    return (results[buffer.index].flags & REMAT_TENSOR_HOST) != 0;
  default:
    return false;
  }
}

uint64_t Table::bytesOf(const remat_signature &signature) const {
  uint64_t bytes = 0;
  tensorBytes(signature.dtype, dims.data() + signature.dims, signature.rank,
              bytes);
  return bytes;
}

uint64_t remat_table_checksum(const void *blob, uint64_t blob_bytes) {
  constexpr uint64_t own = offsetof(remat_step_header, checksum);
  static_assert(own % sizeof(uint64_t) == 0, "the checksum is one word");
  uint64_t sum = 0;
  for (uint64_t at = 0; at < blob_bytes; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    if (at != own)
      std::memcpy(&word, static_cast<const char *>(blob) + at,
                  std::min<uint64_t>(sizeof(word), blob_bytes - at));
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 32;
  }
  return sum;
}

bool remat::tensorBytes(int32_t dtype, const int64_t *dims, uint32_t rank,
                        uint64_t &bytes) {
  bytes = remat_dtype_bytes(dtype);
  if (bytes == 0)
    return false;
  bool empty = false, overflow = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return false;
    empty |= dims[i] == 0;
    overflow |=
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(dims[i]), &bytes);
  }
  if (empty)
    bytes = 0;
  return empty || !overflow;
}

namespace {

/// Reads one blob; every member function returns false after setting `error`.
class Reader {
public:
  Reader(const remat_module &module, Table &table, std::string &error,
         unsigned depth)
      : module(module), table(table), error(error), depth(depth) {}

  bool read() {
    return readHeader() && readSections() && checkStrings() &&
           checkSignatures("argument", table.arguments) &&
           checkSignatures("result", table.results) && checkDonations() &&
           checkPackedValues() && checkKernels() && checkPlans() &&
           checkBuffers() && checkCalls() &&
           readBodies(module, table, depth, error);
  }

private:
  bool fail(std::string text) {
    error = std::move(text);
    return false;
  }

  static std::string counted(const char *what, size_t number) {
    return what + (" " + std::to_string(number));
  }

  bool readHeader() {
    if (module.version != REMAT_STEP_TABLE_VERSION)
      return fail("module has version " + std::to_string(module.version) +
                  ", this runtime runs version " +
                  std::to_string(REMAT_STEP_TABLE_VERSION));
    if (!module.blob || module.blob_bytes < sizeof(remat_step_header))
      return fail("module's step table is missing or shorter than its header");
    std::memcpy(&table.header, module.blob, sizeof(table.header));
    const remat_step_header &header = table.header;
    if (header.magic != REMAT_STEP_TABLE_MAGIC)
      return fail("module's blob is not a step table");
    if (header.version != REMAT_STEP_TABLE_VERSION)
      return fail("step table has version " + std::to_string(header.version) +
                  ", this runtime runs version " +
                  std::to_string(REMAT_STEP_TABLE_VERSION));
    if (header.blob_bytes != module.blob_bytes)
      return fail("step table has " + std::to_string(module.blob_bytes) +
                  " bytes, expected " + std::to_string(header.blob_bytes));
    uint64_t sum = remat_table_checksum(module.blob, module.blob_bytes);
    if (header.checksum != sum)
      return fail("step table is damaged: its checksum is " +
                  std::to_string(sum) + ", expected " +
                  std::to_string(header.checksum));
    if (header.flags & ~uint64_t(REMAT_TABLE_TF32))
      return fail("step table has unknown flags: " +
                  std::to_string(header.flags));
    if (module.kernel_count > 0 && !module.kernels)
      return fail("module's kernel table is missing");
    return true;
  }

  bool inBlob(const char *name, const remat_section &section,
              uint64_t recordBytes) {
    uint64_t bytes, end;
    if (__builtin_mul_overflow(section.count, recordBytes, &bytes) ||
        __builtin_add_overflow(section.offset, bytes, &end) ||
        end > module.blob_bytes || section.count >= REMAT_NONE)
      return fail(std::string("section '") + name +
                  "' lies outside of the step table");
    return true;
  }

  template <typename Record>
  bool copy(const char *name, const remat_section &section,
            std::vector<Record> &records) {
    if (!inBlob(name, section, sizeof(Record)))
      return false;
    records.resize(section.count);
    if (section.count > 0)
      std::memcpy(records.data(),
                  static_cast<const char *>(module.blob) + section.offset,
                  section.count * sizeof(Record));
    return true;
  }

  /// Finds bytes that stay where they are, of which there may be more than
  /// 2^32.
  bool find(const char *name, const remat_section &section,
            const char *&bytes) {
    uint64_t end;
    if (__builtin_add_overflow(section.offset, section.count, &end) ||
        end > module.blob_bytes)
      return fail(std::string("section '") + name +
                  "' lies outside of the step table");
    bytes = static_cast<const char *>(module.blob) + section.offset;
    return true;
  }

  bool readSections() {
    const remat_step_header &h = table.header;
    return find("constants", h.constants, table.constants) &&
           find("body_bytes", h.body_bytes, table.bodyBytes) &&
           copy("strings", h.strings, table.strings) &&
           copy("dims", h.dims, table.dims) &&
           copy("arguments", h.arguments, table.arguments) &&
           copy("results", h.results, table.results) &&
           copy("buffers", h.buffers, table.buffers) &&
           copy("entries", h.entries, table.entries) &&
           copy("uses", h.uses, table.uses) &&
           copy("matmuls", h.matmuls, table.matmuls) &&
           copy("convolutions", h.convolutions, table.convolutions) &&
           copy("checks", h.checks, table.checks) &&
           copy("calls", h.calls, table.callBegins) &&
           copy("packed_values", h.packed_values, table.packedValues) &&
           copy("waits", h.waits, table.waits) &&
           copy("kernels", h.kernels, table.kernels) &&
           copy("launches", h.launches, table.launches) &&
           copy("scratch", h.scratch, table.scratch) &&
           copy("plans", h.plans, table.plans) &&
           copy("loops", h.loops, table.loops) &&
           copy("loop_lists", h.loop_lists, table.loopLists) &&
           copy("bodies", h.bodies, table.bodies);
  }

  bool checkCalls() {
    table.callBegins.insert(table.callBegins.begin(), 0);
    table.callBegins.push_back(static_cast<uint32_t>(table.entries.size()));
    for (size_t i = 1; i < table.callBegins.size(); ++i)
      if (table.callBegins[i] < table.callBegins[i - 1])
        return fail(counted("call", i) + " begins before the one before it");
    if (table.header.state_bytes > table.header.arena_bytes)
      return fail("state has " + std::to_string(table.header.state_bytes) +
                  " bytes, but the arena only " +
                  std::to_string(table.header.arena_bytes));
    for (size_t i = 0; i < table.buffers.size(); ++i) {
      const remat_buffer &buffer = table.buffers[i];
      if (buffer.space == REMAT_SPACE_ARENA && buffer.bytes > 0 &&
          buffer.offset < table.header.state_bytes &&
          buffer.offset + buffer.bytes > table.header.state_bytes)
        return fail(counted("buffer", i) + " lies partly in the state");
    }
    return true;
  }

  bool isString(uint32_t offset) const { return offset < table.strings.size(); }

  bool checkStrings() {
    if (table.strings.empty() || table.strings.back() != '\0')
      return fail("section 'strings' does not end with a NUL");
    for (size_t i = 0; i < table.checks.size(); ++i)
      if (!isString(table.checks[i]))
        return fail(counted("check", i) + " has no message");
    for (size_t i = 0; i < table.entries.size(); ++i)
      if (!isString(table.entries[i].name) ||
          !isString(table.entries[i].location) ||
          !isString(table.entries[i].origins))
        return fail(counted("entry", i) + " has no name, location or origins");
    for (size_t i = 0; i < table.plans.size(); ++i)
      if (!isString(table.plans[i].text) ||
          table.plans[i].convolution >= table.convolutions.size())
        return fail(counted("plan", i) + " has no text or no convolution");
    return true;
  }

  bool checkPlans() {
    for (size_t i = 0; i < table.plans.size(); ++i) {
      const remat_plan &plan = table.plans[i];
      if (plan.kernel == REMAT_NONE)
        continue;
      if (plan.kernel >= table.kernels.size())
        return fail(counted("plan", i) + " uses kernel " +
                    std::to_string(plan.kernel) + ", the table has " +
                    std::to_string(table.kernels.size()));
      if (plan.capability != 0 || plan.text != 0)
        return fail(counted("plan", i) +
                    " is code and a plan of a library, expected one of both");
    }
    return true;
  }

  bool checkSignatures(const char *what,
                       const std::vector<remat_signature> &signatures) {
    for (size_t i = 0; i < signatures.size(); ++i) {
      const remat_signature &s = signatures[i];
      uint64_t bytes;
      if (!isString(s.name) || s.rank > table.dims.size() ||
          s.dims > table.dims.size() - s.rank)
        return fail(counted(what, i) + " has no name or no dims");
      if (!tensorBytes(s.dtype, table.dims.data() + s.dims, s.rank, bytes))
        return fail(counted(what, i) +
                    " has an unknown element type or impossible dims");
    }
    return true;
  }

  /// An argument and the result that has its buffer name each other and are
  /// tensors of one type.
  bool checkDonations() {
    for (size_t i = 0; i < table.arguments.size(); ++i) {
      const remat_signature &from = table.arguments[i];
      if (from.flags & ~unsigned(REMAT_TENSOR_HOST))
        return fail(counted("argument", i) + " has unknown flags");
      if (from.donation == REMAT_NONE)
        continue;
      if (from.donation >= table.results.size() ||
          table.results[from.donation].donation != i)
        return fail(counted("argument", i) +
                    " gives its buffer to a result that does not have it");
      const remat_signature &to = table.results[from.donation];
      if (from.dtype != to.dtype || from.rank != to.rank ||
          !std::equal(table.dims.begin() + from.dims,
                      table.dims.begin() + from.dims + from.rank,
                      table.dims.begin() + to.dims))
        return fail(counted("argument", i) +
                    " gives its buffer to a result of another type");
      if ((from.flags ^ to.flags) & REMAT_TENSOR_HOST)
        return fail(counted("argument", i) +
                    " gives its buffer to a result in other memory");
    }
    for (size_t i = 0; i < table.results.size(); ++i) {
      const remat_signature &to = table.results[i];
      if (to.flags & ~unsigned(REMAT_TENSOR_ABSENT | REMAT_TENSOR_HOST))
        return fail(counted("result", i) + " has unknown flags");
      if (to.flags & REMAT_TENSOR_HOST && to.donation == REMAT_NONE)
        return fail(counted("result", i) +
                    " is in host memory without having the buffer of an "
                    "argument there");
      if (to.donation != REMAT_NONE &&
          (to.donation >= table.arguments.size() ||
           table.arguments[to.donation].donation != i))
        return fail(counted("result", i) +
                    " has the buffer of an argument that does not give it");
    }
    return true;
  }

  bool checkPackedValues() {
    for (size_t i = 0; i < table.packedValues.size(); ++i) {
      const remat_packed_value &v = table.packedValues[i];
      uint64_t bytes;
      if (!isString(v.codec) || v.rank > table.dims.size() ||
          v.dims > table.dims.size() - v.rank)
        return fail(counted("packed value", i) + " has no codec or no dims");
      if (!tensorBytes(v.dtype, table.dims.data() + v.dims, v.rank, bytes))
        return fail(counted("packed value", i) +
                    " has an unknown element type or impossible dims");
    }
    return true;
  }

  bool checkKernels() {
    if (module.device_code && module.kernel_count > 0)
      return fail("module has functions and the code of a device, expected "
                  "one of both");
    auto isRange = [](uint32_t first, uint32_t count, size_t size) {
      return count <= size && first <= size - count;
    };
    for (size_t i = 0; i < table.kernels.size(); ++i) {
      const remat_device_kernel &k = table.kernels[i];
      if (!isRange(k.first_launch, k.launch_count, table.launches.size()) ||
          !isRange(k.first_scratch, k.scratch_count, table.scratch.size()))
        return fail(counted("kernel", i) +
                    " has launches or scratch outside of the table");
    }
    // What devices of all compute capabilities can do.
    const uint32_t mostThreads = 1024, mostBlocks = INT32_MAX;
    for (size_t i = 0; i < table.launches.size(); ++i) {
      const remat_launch &l = table.launches[i];
      if (!isString(l.function))
        return fail(counted("launch", i) + " has no function");
      if (l.blocks < 1 || l.blocks > mostBlocks || l.threads < 1 ||
          l.threads > mostThreads)
        return fail(counted("launch", i) + " has " + std::to_string(l.blocks) +
                    " blocks of " + std::to_string(l.threads) +
                    " threads, expected 1 to " + std::to_string(mostBlocks) +
                    " of 1 to " + std::to_string(mostThreads));
    }
    return true;
  }

  /// Bytes of the memory that a buffer lies in.
  bool spaceBytes(const remat_buffer &buffer, uint64_t &bytes) {
    const std::vector<remat_signature> *signatures = &table.arguments;
    switch (buffer.space) {
    case REMAT_SPACE_ARENA:
      bytes = table.header.arena_bytes;
      return true;
    case REMAT_SPACE_HOST:
      bytes = table.header.host_bytes;
      return true;
    case REMAT_SPACE_CONSTANT:
      bytes = table.header.constants.count;
      return true;
    case REMAT_SPACE_RESULT:
      signatures = &table.results;
      [[fallthrough]];
    case REMAT_SPACE_ARGUMENT: {
      if (buffer.index >= signatures->size())
        return false;
      const remat_signature &s = (*signatures)[buffer.index];
      return tensorBytes(s.dtype, table.dims.data() + s.dims, s.rank, bytes);
    }
    default:
      return false;
    }
  }

  bool checkBuffers() {
    for (size_t i = 0; i < table.buffers.size(); ++i) {
      const remat_buffer &buffer = table.buffers[i];
      uint64_t space, end;
      if (!spaceBytes(buffer, space))
        return fail(counted("buffer", i) +
                    " is in no known space, argument or result");
      if (__builtin_add_overflow(buffer.offset, buffer.bytes, &end) ||
          end > space)
        return fail(counted("buffer", i) + " (" + std::to_string(buffer.bytes) +
                    " bytes at " + std::to_string(buffer.offset) +
                    ") lies outside of its space of " + std::to_string(space) +
                    " bytes");
      if (buffer.root >= table.buffers.size())
        return fail(counted("buffer", i) + " is a view of no buffer");
      if (buffer.used > buffer.bytes)
        return fail(counted("buffer", i) + " holds " +
                    std::to_string(buffer.used) + " of " +
                    std::to_string(buffer.bytes) + " bytes");
      if (buffer.row != 0 && buffer.used % strideOf(buffer) != 0)
        return fail(counted("buffer", i) + " has rows of " +
                    std::to_string(buffer.row) + " bytes, which its " +
                    std::to_string(buffer.used) + " bytes are not");
      if (buffer.reused > 1 ||
          (buffer.reused && buffer.space != REMAT_SPACE_RESULT))
        return fail(counted("buffer", i) + " is reused but in no result");
      if (buffer.reused && table.results[buffer.index].donation != REMAT_NONE)
        return fail(counted("buffer", i) +
                    " is reused but in a result that an argument is in");
      const remat_buffer &root = table.buffers[buffer.root];
      if (root.root != buffer.root || root.space != buffer.space ||
          root.index != buffer.index || root.reused != buffer.reused ||
          buffer.offset < root.offset || end > root.offset + root.bytes)
        return fail(counted("buffer", i) + " is not a part of its root, " +
                    counted("buffer", buffer.root));
    }
    return true;
  }

  const remat_module &module;
  Table &table;
  std::string &error;
  unsigned depth;
};

} // namespace

bool remat::readTable(const remat_module &module, Table &table,
                      std::string &error, unsigned depth) {
  return Reader(module, table, error, depth).read();
}
