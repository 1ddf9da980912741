//===- Toolkit.cpp - programs and files of the CUDA toolkit ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Toolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace llvm;
using namespace remat::cuda;

#ifndef REMAT_CUDA_TOOLKIT
#define REMAT_CUDA_TOOLKIT ""
#endif

/// The file in `directory`, or nothing if there is none.
static std::string findFile(StringRef directory, StringRef name) {
  if (directory.empty())
    return {};
  SmallString<128> path(directory);
  sys::path::append(path, name);
  return sys::fs::is_regular_file(path) ? path.str().str() : std::string();
}

namespace {

/// A temporary file that goes with this object.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(StringRef suffix) {
    TemporaryFile file;
    if (std::error_code error =
            sys::fs::createTemporaryFile("remat", suffix, file.path))
      return createStringError(error, "a temporary file cannot be made: " +
                                          error.message());
    file.remover.setFile(file.path);
    return std::move(file);
  }
  StringRef getPath() const { return path; }
  Expected<std::unique_ptr<MemoryBuffer>> read() const {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
    if (!buffer)
      return createFileError(path, buffer.getError());
    return std::move(*buffer);
  }

private:
  SmallString<128> path;
  FileRemover remover;
};

} // namespace

/// Runs a program, and returns what it printed. The exit status is not 0 if it
/// failed, or could not be started.
static Expected<std::string>
runProgram(StringRef program, ArrayRef<StringRef> arguments, int &status) {
  auto output = TemporaryFile::create("log");
  if (!output)
    return output.takeError();
  std::optional<StringRef> redirects[] = {StringRef(), output->getPath(),
                                          output->getPath()};
  SmallVector<StringRef> command{program};
  append_range(command, arguments);
  std::string message;
  status =
      sys::ExecuteAndWait(program, command, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  auto text = output->read();
  if (!text)
    return text.takeError();
  return (*text)->getBuffer().str() + message;
}

Expected<Toolkit> Toolkit::find(StringRef directory) {
  Toolkit toolkit;
  std::optional<std::string> home = sys::Process::GetEnv("CUDA_HOME");
  std::string given = directory.str();
  if (given.empty() && home && !home->empty())
    given = *home;
  SmallVector<StringRef> places{given};
  if (given.empty())
    places = {REMAT_CUDA_TOOLKIT, "/usr/local/cuda"};
  for (StringRef place : places) {
    if (toolkit.ptxas.empty())
      toolkit.ptxas = findFile(place, "bin/ptxas");
    if (toolkit.libdevice.empty())
      toolkit.libdevice = findFile(place, "nvvm/libdevice/libdevice.10.bc");
  }
  if (!directory.empty() && toolkit.ptxas.empty())
    return createStringError("there is no CUDA toolkit in '" + directory +
                             "', expected a program bin/ptxas");
  if (given.empty() && toolkit.ptxas.empty())
    if (auto found = sys::findProgramByName("ptxas"))
      toolkit.ptxas = *found;
  if (toolkit.ptxas.empty())
    return toolkit;
  int status = 0;
  auto version = runProgram(toolkit.ptxas, {"--version"}, status);
  if (!version)
    return version.takeError();
  if (status != 0)
    return createStringError("'" + toolkit.ptxas +
                             "' does not run: " + StringRef(*version).trim());
  toolkit.ptxasVersion = *version;
  return toolkit;
}

/// Reads what `ptxas -v` prints: a line that names a function, and then one
/// with its sizes.
static std::vector<FunctionResources> parseResources(StringRef log) {
  std::vector<FunctionResources> resources;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    auto [before, name] = lines[i].split("Function properties for ");
    if (name.empty())
      continue;
    FunctionResources function{name.trim().str()};
    SmallVector<StringRef> sizes;
    lines[i + 1].split(sizes, ',');
    for (StringRef size : sizes) {
      unsigned bytes = 0;
      size = size.trim();
      if (size.consumeInteger(10, bytes))
        continue;
      (size.contains("stack") ? function.stackBytes : function.spillBytes) +=
          bytes;
    }
    resources.push_back(std::move(function));
  }
  return resources;
}

void remat::cuda::limitBlocks(std::string &ptx, StringRef function,
                              unsigned threads) {
  constexpr StringLiteral sizeName = ".maxntid ", countName = ".minnctapersm ";
  size_t entry = ptx.find((".entry " + function + "(").str());
  size_t place = ptx.find(sizeName, entry);
  if (entry == std::string::npos || place == std::string::npos ||
      ptx.find('{', entry) < place)
    return;
  StringRef size = StringRef(ptx).substr(place + sizeName.size());
  unsigned mine = 0;
  if (size.consumeInteger(10, mine) || mine == 0)
    return;
  place = ptx.find('\n', place) + 1;
  if (StringRef(ptx).substr(place).starts_with(countName))
    ptx.erase(place, ptx.find('\n', place) + 1 - place);
  ptx.insert(place,
             (countName + Twine(std::max(threads / mine, 1u)) + "\n").str());
}

Expected<SmallVector<char, 0>>
Toolkit::assemble(StringRef ptx, StringRef chip,
                  std::vector<FunctionResources> &resources) const {
  auto cubin = run(ptx, chip, resources);
  std::string limited = ptx.str();
  StringMap<unsigned> limits;
  // More registers for each thread, then all that there are.
  for (unsigned threads : {roomyThreads, 0u}) {
    bool any = false;
    for (const FunctionResources &function : resources)
      if (function.spillBytes != 0) {
        limitBlocks(limited, function.function, threads);
        limits[function.function] = threads;
        any = true;
      }
    if (!cubin || !any)
      break;
    cubin = run(limited, chip, resources);
  }
  for (FunctionResources &function : resources)
    if (auto limit = limits.find(function.function); limit != limits.end())
      function.blockThreads = limit->second;
  return cubin;
}

Expected<SmallVector<char, 0>>
Toolkit::run(StringRef ptx, StringRef chip,
             std::vector<FunctionResources> &resources) const {
  auto input = TemporaryFile::create("ptx");
  if (!input)
    return input.takeError();
  auto output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  std::error_code error;
  raw_fd_ostream stream(input->getPath(), error);
  stream << ptx;
  stream.close();
  if (error || stream.has_error()) {
    error = error ? error : stream.error();
    stream.clear_error();
    return createFileError(input->getPath(), error);
  }
  std::string architecture = ("-arch=" + chip).str();
  int status = 0;
  auto log = runProgram(
      ptxas, {architecture, "-v", input->getPath(), "-o", output->getPath()},
      status);
  if (!log)
    return log.takeError();
  if (status != 0)
    return createStringError("'" + ptxas + "' failed for " + chip + ": " +
                             StringRef(*log).trim());
  resources = parseResources(*log);
  auto cubin = output->read();
  if (!cubin)
    return cubin.takeError();
  StringRef bytes = (*cubin)->getBuffer();
  return SmallVector<char, 0>(bytes.begin(), bytes.end());
}
