//===- CodecLibrary.cpp - codecs from a shared library --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodecLibrary.h"

#include "Options.h"

#include "common/UserLibrary.h"

using namespace llvm;
using namespace remat;

static Expected<ArrayRef<remat_codec>> loadCodecs(const std::string &path) {
  Expected<void *> address =
      tools::loadUserFunction(path, "codecs", "remat_codecs");
  if (!address)
    return address.takeError();
  size_t count = 0;
  const remat_codec *codecs =
      reinterpret_cast<remat_codecs_fn>(*address)(&count);
  return ArrayRef<remat_codec>(codecs, codecs ? count : 0);
}

Expected<ArrayRef<remat_codec>> run::getCodecs() {
  static std::optional<ArrayRef<remat_codec>> known;
  if (known || options().codecs.empty())
    return known.value_or(ArrayRef<remat_codec>());
  Expected<ArrayRef<remat_codec>> loaded = loadCodecs(options().codecs);
  if (loaded)
    known = *loaded;
  return loaded;
}
