/*===- codecs.c - codecs in C for saved values
-----------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
\*===----------------------------------------------------------------------===*/

/* A library for --codecs of remat-run. The codec "file" keeps values in files
   of the folder in CODEC_DIR and no byte in the step; "rle" keeps runs of equal
   bytes, after all first bytes of elements, all second ones and so on; "broken"
   fails where CODEC_FAIL says. */

#include "remat/Runtime/Runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const remat_saved_value *value, const char *mode) {
  char name[4096];
  const char *folder = getenv("CODEC_DIR");
  snprintf(name, sizeof(name), "%s/value%llu", folder ? folder : ".",
           (unsigned long long)value->id);
  return fopen(name, mode);
}

static int write_file(void *user, const remat_saved_value *value,
                      const void *data, void *packed) {
  (void)user;
  (void)packed;
  FILE *file = open_file(value, "wb");
  if (!file)
    return 1;
  size_t written = fwrite(data, 1, value->bytes, file);
  return fclose(file) == 0 && written == value->bytes ? 0 : 2;
}

static int read_file(void *user, const remat_saved_value *value,
                     const void *packed, void *data) {
  (void)user;
  (void)packed;
  FILE *file = open_file(value, "rb");
  if (!file)
    return 1;
  size_t read = fread(data, 1, value->bytes, file);
  fclose(file);
  return read == value->bytes ? 0 : 2;
}

/* Byte `at` of the value when its bytes are ordered by their place in the
   element. */
static uint64_t shuffled(const remat_saved_value *value, uint64_t at) {
  uint64_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i)
    count *= (uint64_t)value->dims[i];
  uint64_t width = value->bytes / count;
  return at % count * width + at / count;
}

/* Pairs of a length and a byte. Fails if they do not fit. */
static int compress(void *user, const remat_saved_value *value,
                    const void *data, void *packed) {
  (void)user;
  const unsigned char *in = data;
  unsigned char *out = packed;
  uint64_t used = 0;
  memset(packed, 0, value->packed_bytes);
  for (uint64_t at = 0; at < value->bytes;) {
    unsigned char byte = in[shuffled(value, at)];
    unsigned length = 0;
    while (length < 255 && at < value->bytes &&
           in[shuffled(value, at)] == byte) {
      ++length;
      ++at;
    }
    if (used + 2 > value->packed_bytes)
      return 3;
    out[used++] = (unsigned char)length;
    out[used++] = byte;
  }
  return 0;
}

static int expand(void *user, const remat_saved_value *value,
                  const void *packed, void *data) {
  (void)user;
  const unsigned char *in = packed;
  unsigned char *out = data;
  uint64_t used = 0;
  for (uint64_t at = 0; at < value->bytes;) {
    unsigned length = in[used++];
    unsigned char byte = in[used++];
    if (length == 0)
      return 4;
    for (; length > 0; --length, ++at)
      out[shuffled(value, at)] = byte;
  }
  return 0;
}

/* Fails in `pack` or `unpack`, as the text of `user` and CODEC_FAIL say. */
static int fail(const char *where) {
  const char *wanted = getenv("CODEC_FAIL");
  return wanted && strcmp(wanted, where) == 0 ? 42 : 0;
}

static int broken_pack(void *user, const remat_saved_value *value,
                       const void *data, void *packed) {
  (void)user;
  memcpy(packed, data, value->bytes);
  return fail("pack");
}

static int broken_unpack(void *user, const remat_saved_value *value,
                         const void *packed, void *data) {
  (void)user;
  memcpy(data, packed, value->bytes);
  return fail("unpack");
}

const remat_codec *remat_codecs(size_t *count) {
  static const remat_codec codecs[] = {
      {"file", write_file, read_file, NULL},
      {"rle", compress, expand, NULL},
      {"broken", broken_pack, broken_unpack, NULL}};
  *count = sizeof(codecs) / sizeof(codecs[0]);
  return codecs;
}
