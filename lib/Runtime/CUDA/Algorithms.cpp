//===- Algorithms.cpp - stored algorithms of matmuls ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Algorithms.h"

#include <cstddef>
#include <type_traits>

using namespace remat::cuda;

namespace {
struct Header {
  uint64_t magic;
  /// Of the step table, of which the descriptions are.
  uint32_t version;
  uint32_t recordBytes;
  uint64_t count;
  /// As that of a step table, with 0 here.
  uint64_t checksum;
  AlgorithmMachine machine;
};
} // namespace

/// "rematalg", little endian.
static constexpr uint64_t algorithmMagic = UINT64_C(0x676c6174616d6572);

static_assert(std::has_unique_object_representations_v<remat_matmul>,
              "descriptions are compared as bytes");
static_assert(std::is_trivially_copyable_v<Algorithms::Record>);

/// The checksum of bytes whose header has 0 in its place.
static uint64_t sumUp(std::string bytes) {
  std::memset(&bytes[offsetof(Header, checksum)], 0, sizeof(uint64_t));
  return remat_table_checksum(bytes.data(), bytes.size());
}

std::string AlgorithmMachine::describe() const {
  return "'" + std::string(device) + "' of compute capability " +
         std::to_string(capability / 10) + "." +
         std::to_string(capability % 10) + " with cuBLASLt " +
         std::to_string(libraryVersion);
}

bool Algorithms::read(const void *data, uint64_t bytes, std::string &error) {
  Header header = {};
  error = "the stored algorithms of matmuls are damaged";
  if (bytes < sizeof(header))
    return false;
  std::string copy(static_cast<const char *>(data), bytes);
  std::memcpy(&header, copy.data(), sizeof(header));
  if (header.magic != algorithmMagic)
    return false;
  if (header.version != REMAT_STEP_TABLE_VERSION ||
      header.recordBytes != sizeof(Record)) {
    error = "the stored algorithms of matmuls have version " +
            std::to_string(header.version) + ", expected " +
            std::to_string(REMAT_STEP_TABLE_VERSION);
    return false;
  }
  if (header.count != (bytes - sizeof(header)) / sizeof(Record) ||
      bytes != sizeof(header) + header.count * sizeof(Record) ||
      header.checksum != sumUp(copy) ||
      !std::memchr(header.machine.device, 0, sizeof(header.machine.device)))
    return false;
  machine = header.machine;
  records.resize(header.count);
  if (header.count > 0)
    std::memcpy(records.data(), copy.data() + sizeof(header),
                header.count * sizeof(Record));
  error.clear();
  return true;
}

std::string Algorithms::write() const {
  Header header = {};
  header.magic = algorithmMagic;
  header.version = REMAT_STEP_TABLE_VERSION;
  header.recordBytes = sizeof(Record);
  header.count = records.size();
  header.machine = machine;
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char *>(records.data()),
               records.size() * sizeof(Record));
  header.checksum = sumUp(bytes);
  std::memcpy(&bytes[0], &header, sizeof(header));
  return bytes;
}

const Algorithms::Record *Algorithms::find(const remat_matmul &matmul,
                                           bool allowsTf32) const {
  for (const Record &record : records)
    if (std::memcmp(&record.matmul, &matmul, sizeof(matmul)) == 0 &&
        (record.allowsTf32 != 0) == allowsTf32)
      return &record;
  return nullptr;
}
