//===- KernelCache.cpp - compiled kernels, kept ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file holds the SHA-256 of its key and the code, and then the code. It gets
// its name when it is whole, so that a process that ends early leaves no half
// of one. Names start as those of LLVM's caches do, whose pruning is used.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelCache.h"

#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace llvm;
using namespace remat::codegen;

using Digest = std::array<uint8_t, 32>;

static Digest getDigest(StringRef key, StringRef code) {
  SHA256 hash;
  hash.update(key);
  hash.update(code);
  return hash.final();
}

static std::string getPath(StringRef directory, StringRef key) {
  SmallString<128> path(directory);
  sys::path::append(path, "llvmcache-" + key);
  return path.str().str();
}

/// The code in the file, if there is one, and it is whole and that of `key`.
static std::optional<ObjectCode> readFile(const std::string &path,
                                          StringRef key) {
  // Pruning goes by the time of the last access.
  Expected<sys::fs::file_t> file =
      sys::fs::openNativeFileForRead(path, sys::fs::OF_UpdateAtime);
  if (!file) {
    consumeError(file.takeError());
    return std::nullopt;
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getOpenFile(*file, path, /*FileSize=*/-1,
                                /*RequiresNullTerminator=*/false);
  sys::fs::closeFile(*file);
  if (!buffer || (*buffer)->getBufferSize() < sizeof(Digest))
    return std::nullopt;
  StringRef bytes = (*buffer)->getBuffer();
  StringRef code = bytes.drop_front(sizeof(Digest));
  if (toStringRef(getDigest(key, code)) != bytes.take_front(sizeof(Digest)))
    return std::nullopt;
  return ObjectCode(code.begin(), code.end());
}

static Error writeFile(const std::string &path, StringRef key, StringRef code) {
  Expected<sys::fs::TempFile> file =
      sys::fs::TempFile::create(path + "-%%%%%%.tmp");
  if (!file)
    return createFileError(path, file.takeError());
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << toStringRef(getDigest(key, code)) << code;
  stream.flush();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    return joinErrors(createFileError(path, error), file->discard());
  }
  if (Error error = file->keep(path))
    return createFileError(path, std::move(error));
  return Error::success();
}

Expected<std::unique_ptr<KernelCache>> KernelCache::open(StringRef directory) {
  if (std::error_code error = sys::fs::create_directories(directory))
    return createFileError(directory, error);
  if (!sys::fs::is_directory(directory))
    return createFileError(directory,
                           std::make_error_code(std::errc::not_a_directory));
  pruneCache(directory, CachePruningPolicy());
  auto cache = std::make_unique<KernelCache>();
  cache->directory = directory.str();
  return cache;
}

bool KernelCache::find(StringRef key, ObjectCode &code) {
  {
    std::lock_guard lock(mutex);
    auto found = known.find(key);
    if (found != known.end()) {
      code = found->second;
      return true;
    }
  }
  if (directory.empty())
    return false;
  std::optional<ObjectCode> stored = readFile(getPath(directory, key), key);
  if (stored)
    code = std::move(*stored);
  return stored.has_value();
}

Expected<ObjectCode>
KernelCache::get(StringRef key, function_ref<Expected<ObjectCode>()> compile) {
  ObjectCode code;
  if (!find(key, code)) {
    Expected<ObjectCode> compiled = compile();
    if (!compiled)
      return compiled.takeError();
    code = std::move(*compiled);
    if (!directory.empty())
      if (Error error = writeFile(getPath(directory, key), key,
                                  StringRef(code.data(), code.size())))
        return std::move(error);
  }
  std::lock_guard lock(mutex);
  known.try_emplace(key, code);
  return code;
}
