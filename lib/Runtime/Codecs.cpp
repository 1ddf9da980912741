//===- Codecs.cpp - saved values in the caller's hands --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that a codec of the caller packs in the forward computation and brings
// back in the backward one.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include <algorithm>
#include <cstring>

using namespace remat;

/// What the caller gives, for a message.
static std::string listCodecs(const remat_step_options &options) {
  if (options.codec_count == 0)
    return "the options give none";
  std::string text = "the options give";
  for (size_t i = 0; i < options.codec_count; ++i)
    text += std::string(i == 0 ? " '" : ", '") + options.codecs[i].name + "'";
  return text;
}

bool remat_step::findCodecs(const remat_step_options &options,
                            std::string &message) {
  if (options.codec_count > 0 && !options.codecs) {
    message = "option 'codecs' is NULL, expected " +
              std::to_string(options.codec_count) + " codecs";
    return false;
  }
  for (size_t i = 0; i < options.codec_count; ++i) {
    const remat_codec &codec = options.codecs[i];
    if (!codec.name || !codec.pack || !codec.unpack) {
      message = "option 'codecs' has no name, no pack or no unpack in codec " +
                std::to_string(i);
      return false;
    }
    for (size_t j = 0; j < i; ++j)
      if (std::strcmp(codec.name, options.codecs[j].name) == 0) {
        message =
            "option 'codecs' has two codecs '" + std::string(codec.name) + "'";
        return false;
      }
  }
  for (size_t value = 0; value < table.packedValues.size(); ++value) {
    const char *name = table.string(table.packedValues[value].codec);
    const remat_codec *end = options.codecs + options.codec_count;
    const remat_codec *found =
        std::find_if(options.codecs, end, [&](const remat_codec &codec) {
          return std::strcmp(codec.name, name) == 0;
        });
    if (found != end) {
      codecs.push_back(*found);
      continue;
    }
    uint32_t entry = 0;
    while (entry + 1 < table.entries.size() &&
           !(table.entries[entry].kind == REMAT_ENTRY_PACK &&
             table.entries[entry].callee == value))
      ++entry;
    message = "step needs the codec '" + std::string(name) + "'";
    if (entry < table.entries.size())
      message += " for " + table.describe(entry);
    message += ", but " + listCodecs(options);
    return false;
  }
  return true;
}

remat_status remat_step::runCodec(uint32_t index, void *const *buffers) {
  const remat_entry &entry = table.entries[index];
  const remat_packed_value &packed = table.packedValues[entry.callee];
  const remat_codec &codec = codecs[entry.callee];
  remat_saved_value value = {packed.id,
                             static_cast<remat_dtype>(packed.dtype),
                             static_cast<int32_t>(packed.rank),
                             table.dims.data() + packed.dims,
                             0,
                             packed.packed_bytes,
                             table.string(entry.location)};
  tensorBytes(packed.dtype, value.dims, packed.rank, value.bytes);
  bool packs = entry.kind == REMAT_ENTRY_PACK;
  int failed = packs ? codec.pack(codec.user, &value, buffers[0], buffers[1])
                     : codec.unpack(codec.user, &value, buffers[0], buffers[1]);
  std::string what = std::string(packs ? "pack" : "unpack") + " of codec '" +
                     codec.name + "' ";
  if (failed) {
    error = table.describe(index) + ": " + what + "failed with code " +
            std::to_string(failed) + " for value " + std::to_string(value.id);
    return REMAT_CODEC_ERROR;
  }
  // Of another byte, one kernel may read the last bit and the next whether it
  // is 0.
  const auto *bytes = static_cast<const unsigned char *>(buffers[1]);
  if (!packs && packed.dtype == REMAT_I1 &&
      std::any_of(bytes, bytes + value.bytes,
                  [](unsigned char byte) { return byte > 1; })) {
    error = table.describe(index) + ": " + what +
            "gave a byte above 1 for value " + std::to_string(value.id) +
            " of type 'i1', expected 0 or 1";
    return REMAT_CODEC_ERROR;
  }
  return REMAT_OK;
}
