//===- OutputFiles.cpp - files that are written whole or not at all -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's streams end the process if they are destroyed with an error that
// nobody asked for. So every stream here is flushed, asked, and cleared.
//
//===----------------------------------------------------------------------===//

#include "remat/Support/OutputFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include <fcntl.h>

using namespace llvm;
using namespace remat;

static std::atomic<bool> deletesOnSignals = false;

void OutputFiles::handleSignals() {
  deletesOnSignals = true;
  std::signal(SIGXFSZ, SIG_IGN);
}

/// The error of a stream after all was written to it, which it then forgets.
static std::error_code finish(raw_fd_ostream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

/// A name that no other file has, of this process or another one.
static std::string makeTemporaryPath(StringRef directory) {
  static std::atomic<unsigned> count = 0;
  auto now = std::chrono::system_clock::now().time_since_epoch();
  SmallString<128> path(directory);
  sys::path::append(path, OutputFiles::temporaryPrefix +
                              utohexstr(sys::Process::getProcessId()) + "-" +
                              utohexstr(uint64_t(now.count())) + "-" +
                              utohexstr(count++) + ".tmp");
  return path.str().str();
}

static void removeTemporary(const std::string &path) {
  sys::fs::remove(path);
  if (deletesOnSignals)
    sys::DontRemoveFileOnSignal(path);
}

/// Makes a file in `directory` that holds what `write` prints.
static std::error_code writeTemporary(StringRef directory, unsigned mode,
                                      function_ref<void(raw_ostream &)> write,
                                      std::string &path) {
  int descriptor = -1;
  std::error_code error;
  do {
    path = makeTemporaryPath(directory);
    // Before there is a file, so that a signal cannot come in between.
    if (deletesOnSignals)
      sys::RemoveFileOnSignal(path);
    error = sys::fs::openFile(path, descriptor, sys::fs::CD_CreateNew,
                              sys::fs::FA_Write, sys::fs::OF_None, mode);
    if (error && deletesOnSignals)
      sys::DontRemoveFileOnSignal(path);
  } while (error == std::errc::file_exists);
  if (error)
    return error;
  {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
    write(stream);
    error = finish(stream);
  }
  // Some file systems say only now that there was no room.
  std::error_code closing = sys::Process::SafelyCloseFileDescriptor(descriptor);
  if (!error)
    error = closing;
  if (error)
    removeTemporary(path);
  return error;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

bool OutputFiles::isStandardOutput(StringRef path) {
  return is_contained({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"},
                      path);
}

/// Whether the path names an open file of this process rather than a place in
/// a directory. What is behind it may even look like a regular file.
static bool isDescriptor(StringRef path) {
  return path == "/dev/stdin" || path == "/dev/stderr" ||
         path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

bool OutputFiles::isStream(StringRef path) {
  if (isStandardOutput(path) || isDescriptor(path))
    return true;
  sys::fs::file_status status;
  return !sys::fs::status(path, status) && sys::fs::exists(status) &&
         !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status);
}

/// Where a file called `path` is made: links are followed as far as there is
/// something.
static std::error_code findTarget(StringRef path, bool exists,
                                  std::string &target) {
  SmallString<128> resolved;
  if (exists) {
    if (std::error_code error = sys::fs::real_path(path, resolved))
      return error;
    target = resolved.str().str();
    return {};
  }
  StringRef parent = sys::path::parent_path(path);
  if (std::error_code error =
          sys::fs::real_path(parent.empty() ? "." : parent, resolved))
    return error;
  sys::path::append(resolved, sys::path::filename(path));
  target = resolved.str().str();
  return {};
}

//===----------------------------------------------------------------------===//
// OutputFiles
//===----------------------------------------------------------------------===//

OutputFiles::~OutputFiles() {
  for (const File &file : files)
    removeTemporary(file.temporary);
}

Error OutputFiles::add(StringRef path,
                       function_ref<void(raw_ostream &)> write) {
  if (!isStream(path))
    return addFile(path, write);
  Stream &stream = streams.emplace_back();
  stream.path = path.str();
  raw_string_ostream contents(stream.contents);
  write(contents);
  return Error::success();
}

Error OutputFiles::addFile(StringRef path,
                           function_ref<void(raw_ostream &)> write) {
  if (path.empty())
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             "a file to write has no name");
  File file;
  file.path = path.str();
  sys::fs::file_status status;
  std::error_code unknown = sys::fs::status(path, status);
  bool exists = !unknown;
  // Such as a name that is too long: no file could take it.
  if (!exists && unknown != std::errc::no_such_file_or_directory)
    return createFileError(path, unknown);
  if (sys::fs::is_directory(status))
    return createFileError(path,
                           std::make_error_code(std::errc::is_a_directory));
  // A name in the directory could be given to another file.
  if (exists)
    if (std::error_code error =
            sys::fs::access(path, sys::fs::AccessMode::Write))
      return createFileError(path, error);
  if (std::error_code error = findTarget(path, exists, file.target))
    return createFileError(path, error);
  for (const File &other : files)
    if (other.target == file.target)
      return createStringError(
          std::make_error_code(std::errc::invalid_argument),
          "'" + other.path + "' and '" + path + "' are the same file");
  if (std::error_code error = writeTemporary(
          sys::path::parent_path(file.target), 0666, write, file.temporary))
    return createFileError(path, error);
  if (exists)
    if (std::error_code error = sys::fs::setPermissions(
            file.temporary, sys::fs::perms(status.permissions() & 0777))) {
      removeTemporary(file.temporary);
      return createFileError(path, error);
    }
  files.push_back(std::move(file));
  return Error::success();
}

static Error writeStream(StringRef path, StringRef contents) {
  // Both may lead to the same place.
  if (std::error_code error = finish(outs()))
    return createFileError("standard output", error);
  // To open it anew would be to begin at its start again.
  if (OutputFiles::isStandardOutput(path)) {
    outs() << contents;
    if (std::error_code error = finish(outs()))
      return createFileError("standard output", error);
    return Error::success();
  }
  std::error_code error;
  raw_fd_ostream stream(path, error, sys::fs::CD_OpenExisting,
                        sys::fs::FA_Write, sys::fs::OF_Append);
  if (error)
    return createFileError(path, error);
  stream << contents;
  stream.close();
  if (std::error_code error = finish(stream))
    return createFileError(path, error);
  return Error::success();
}

/// Gives two files the names of each other; false if that cannot be done.
static bool exchangeFiles([[maybe_unused]] const std::string &first,
                          [[maybe_unused]] const std::string &second) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, first.c_str(), AT_FDCWD, second.c_str(),
                     RENAME_EXCHANGE) == 0;
#else
  return false;
#endif
}

/// Gives the temporary file its name.
std::error_code OutputFiles::File::place() {
  // A folder could be exchanged, too.
  if (sys::fs::is_directory(target))
    return std::make_error_code(std::errc::is_a_directory);
  if (exchangeFiles(temporary, target)) {
    done = Exchanged;
    return {};
  }
  bool isNew = !sys::fs::exists(target);
  if (std::error_code error = sys::fs::rename(temporary, target))
    return error;
  done = isNew ? Made : Replaced;
  return {};
}

void OutputFiles::File::takeBack() {
  if (done == Exchanged)
    exchangeFiles(temporary, target);
  else if (done == Made)
    sys::fs::rename(target, temporary);
}

Error OutputFiles::commit() {
  for (const Stream &stream : streams)
    if (Error error = writeStream(stream.path, stream.contents))
      return error;
  streams.clear();
  for (File &file : files) {
    std::error_code error = file.place();
    if (!error)
      continue;
    for (File &other : files)
      other.takeBack();
    return createFileError(file.path, error);
  }
  // What was there before is called by the temporary names now.
  for (const File &file : files)
    removeTemporary(file.temporary);
  files.clear();
  return Error::success();
}

Error remat::writeOutputFile(StringRef path,
                             function_ref<void(raw_ostream &)> write) {
  OutputFiles files;
  if (Error error = files.add(path, write))
    return error;
  return files.commit();
}
