//===- CodecLibrary.cpp - codecs from a shared library --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodecLibrary.h"

#include "Options.h"

#include "llvm/Support/DynamicLibrary.h"

using namespace llvm;
using namespace remat;

static Expected<ArrayRef<remat_codec>> loadCodecs(const std::string &path) {
  std::string message;
  auto library =
      sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
  if (!library.isValid())
    return createStringError("could not load the codecs of '" + path +
                             "': " + message);
  const char *const entry = "remat_codecs";
  void *address = library.getAddressOfSymbol(entry);
  if (!address)
    return createFileError(
        path, createStringError(
                  Twine("is no library of codecs: it has no function '") +
                  entry + "'"));
  size_t count = 0;
  const remat_codec *codecs =
      reinterpret_cast<remat_codecs_fn>(address)(&count);
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
