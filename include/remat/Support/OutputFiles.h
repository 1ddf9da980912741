//===- OutputFiles.h - files written whole or not at all --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How everything in remat that makes files makes them: the tools, the C API and
// the kernel cache.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_OUTPUTFILES_H
#define REMAT_SUPPORT_OUTPUTFILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace remat {

/// Files that belong together. Each is written to a temporary file beside its
/// place; they take their names only after all were written. If anything goes
/// wrong, what was there before is still there, and nothing else.
///
/// "-" and "/dev/stdout" are the standard output. It and what is no regular
/// file (a device, a pipe) cannot be taken back, so they are written when all
/// others are whole, and before these take their names. A name that was given
/// is taken back if another one cannot be, where the file system can exchange
/// two files.
///
/// An error names the file. The process is never ended.
class OutputFiles {
public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles &) = delete;
  OutputFiles &operator=(const OutputFiles &) = delete;
  /// Deletes what was not committed.
  ~OutputFiles();

  /// Adds a file with what `write` prints. A file that is there keeps its
  /// permissions, and a link still points to it.
  llvm::Error add(llvm::StringRef path,
                  llvm::function_ref<void(llvm::raw_ostream &)> write);

  /// Gives all files their names.
  llvm::Error commit();

  /// Whether a file called so is the standard output.
  static bool isStandardOutput(llvm::StringRef path);

  /// Whether it is that or another stream, which holds nothing that could be
  /// read before it is written.
  static bool isStream(llvm::StringRef path);

  /// What the names of temporary files begin with.
  static constexpr llvm::StringLiteral temporaryPrefix = ".remat-";

  /// From now on, a signal that ends the process deletes its temporary files,
  /// and a file above the process's limit is an error instead of a signal. This
  /// is for programs, after LLVM has set up its signal handlers: a library
  /// leaves those of its process alone.
  static void handleSignals();

private:
  struct File {
    /// As it was given, for messages; where the links lead; and for now.
    std::string path, target, temporary;
    /// How `target` came to be, if it did: the old file is `temporary` now,
    /// there was none, or it is gone.
    enum { Nothing, Exchanged, Made, Replaced } done = Nothing;

    std::error_code place();
    void takeBack();
  };
  struct Stream {
    std::string path, contents;
  };

  llvm::Error addFile(llvm::StringRef path,
                      llvm::function_ref<void(llvm::raw_ostream &)> write);

  std::vector<File> files;
  std::vector<Stream> streams;
};

/// Writes one file.
llvm::Error
writeOutputFile(llvm::StringRef path,
                llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace remat

#endif // REMAT_SUPPORT_OUTPUTFILES_H
