//===- KernelCache.cpp - compiled kernels, kept ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file holds the SHA-256 of its key and the code, and then the code. It gets
// its name when it is whole, so that a process that ends early leaves no half
// of one.
//
// The digest finds damage, but anyone can compute it, and what is in the files
// is run. So a directory that others can write is not used.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelCache.h"

#include "Tuning.h"

#include "remat/Support/OutputFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <optional>
#include <unistd.h>

using namespace llvm;
using namespace remat;
using namespace remat::codegen;

using Digest = std::array<uint8_t, 32>;

/// What the names of the cache's files begin with. Others are not touched.
static constexpr StringLiteral filePrefix = "remat-kernel-";

static Digest getDigest(StringRef key, StringRef code) {
  SHA256 hash;
  hash.update(key);
  hash.update(code);
  return hash.final();
}

static std::string getPath(StringRef directory, StringRef key) {
  SmallString<128> path(directory);
  sys::path::append(path, filePrefix + key);
  return path.str().str();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The code in the file, if there is one, and it is whole and that of `key`.
static std::optional<ObjectCode> readFile(const std::string &path,
                                          StringRef key) {
  // To open a pipe is to wait for whoever writes to it.
  if (!sys::fs::is_regular_file(path))
    return std::nullopt;
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
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && !sys::fs::is_regular_file(status))
    return createFileError(path, createStringError("is no regular file"));
  return writeOutputFile(path, [&](raw_ostream &os) {
    os << toStringRef(getDigest(key, code)) << code;
  });
}

namespace {
/// A file of the cache.
struct Entry {
  std::string path;
  sys::TimePoint<> accessed;
  uint64_t bytes;
};
} // namespace

/// Deletes what nobody read for a week, then what was not read for longest
/// while the cache has more than three quarters of the room that it could have.
static void prune(StringRef directory) {
  sys::TimePoint<> now = std::chrono::system_clock::now();
  std::vector<Entry> entries;
  std::error_code error;
  for (sys::fs::directory_iterator it(directory, error, false), end;
       !error && it != end; it.increment(error)) {
    StringRef name = sys::path::filename(it->path());
    // Among temporary files are those of processes that were killed.
    if (!name.starts_with(filePrefix) &&
        !name.starts_with(OutputFiles::temporaryPrefix))
      continue;
    ErrorOr<sys::fs::basic_file_status> status = it->status();
    if (!status || status->type() != sys::fs::file_type::regular_file)
      continue;
    // Directories may be mounted so that reading leaves no trace.
    sys::TimePoint<> accessed = std::max(status->getLastAccessedTime(),
                                         status->getLastModificationTime());
    if (now - accessed > CacheTuning::maxAge)
      sys::fs::remove(it->path());
    else if (name.starts_with(filePrefix))
      entries.push_back({it->path(), accessed, status->getSize()});
  }
  ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(directory);
  if (!space)
    return;
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  uint64_t most = (space->available + total) / 4 * CacheTuning::keptQuarters;
  sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.accessed, a.path) < std::tie(b.accessed, b.path);
  });
  for (const Entry &entry : entries) {
    if (total <= most)
      return;
    if (!sys::fs::remove(entry.path))
      total -= entry.bytes;
  }
}

/// An error if someone else could put files into the directory.
static Error checkOwner(StringRef directory,
                        const sys::fs::file_status &status) {
  auto fail = [&](const std::string &what) {
    return createFileError(
        directory,
        createStringError("what is in a kernel cache is run, but " + what));
  };
  uint32_t user = geteuid(), owner = status.getUser();
  if (owner != user && owner != 0)
    return fail(formatv("this directory belongs to user {0}, expected {1}",
                        owner, user));
  if (status.permissions() & (sys::fs::group_write | sys::fs::others_write))
    return fail(formatv("others can write to this directory (mode {0}), take "
                        "that away by 'chmod go-w'",
                        format("%04o", unsigned(status.permissions()))));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// KernelCache
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<KernelCache>> KernelCache::open(StringRef directory) {
  auto cache = std::make_unique<KernelCache>();
  std::error_code error = sys::fs::create_directories(
      directory, /*IgnoreExisting=*/true,
      sys::fs::owner_all | sys::fs::group_read | sys::fs::group_exe |
          sys::fs::others_read | sys::fs::others_exe);
  sys::fs::file_status status;
  if (!error)
    error = sys::fs::status(directory, status);
  if (!error && !sys::fs::is_directory(status))
    error = std::make_error_code(std::errc::not_a_directory);
  // Something else is there: this was not meant.
  if (error == std::errc::not_a_directory || error == std::errc::file_exists)
    return createFileError(directory,
                           std::make_error_code(std::errc::not_a_directory));
  if (error) {
    cache->warn(createFileError(directory, error));
    return std::move(cache);
  }
  if (Error error = checkOwner(directory, status))
    return std::move(error);
  prune(directory);
  cache->directory = directory.str();
  return std::move(cache);
}

void KernelCache::warn(Error error) {
  std::string text = toString(std::move(error));
  std::lock_guard lock(mutex);
  if (storing)
    warning = "the kernel cache cannot be written, kernels are compiled anew "
              "next time: " +
              text;
  storing = false;
}

std::string KernelCache::takeWarning() {
  std::lock_guard lock(mutex);
  return std::exchange(warning, {});
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
    bool stores;
    {
      std::lock_guard lock(mutex);
      stores = storing && !directory.empty();
    }
    if (stores)
      if (Error error = writeFile(getPath(directory, key), key,
                                  StringRef(code.data(), code.size())))
        warn(std::move(error));
  }
  std::lock_guard lock(mutex);
  known.try_emplace(key, code);
  return code;
}
