//===- KernelCacheTest.cpp - compiled kernels, kept -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelCache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <chrono>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace remat::codegen;

namespace {

/// A compiler that counts how often it is called.
class Compiler {
public:
  llvm::Expected<ObjectCode> operator()() {
    ++calls;
    if (fails)
      return llvm::createStringError("no code");
    return ObjectCode({'c', 'o', 'd', 'e'});
  }
  int calls = 0;
  bool fails = false;
};

class KernelCacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("cache", directory));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::unique_ptr<KernelCache> open() {
    return llvm::cantFail(KernelCache::open(directory));
  }

  /// Where the code of `key` is kept.
  std::string getPath(llvm::StringRef key) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, "remat-kernel-" + key);
    return path.str().str();
  }

  llvm::SmallString<128> directory;
};

} // namespace

static std::string get(KernelCache &cache, llvm::StringRef key,
                       Compiler &compiler) {
  ObjectCode code = llvm::cantFail(cache.get(key, std::ref(compiler)));
  return std::string(code.begin(), code.end());
}

static std::string getError(KernelCache &cache, llvm::StringRef key,
                            Compiler &compiler) {
  llvm::Expected<ObjectCode> code = cache.get(key, std::ref(compiler));
  return code ? "" : llvm::toString(code.takeError());
}

TEST_F(KernelCacheTest, CompilesEachKeyOnceInMemory) {
  KernelCache cache;
  Compiler compiler;
  EXPECT_EQ(get(cache, "a", compiler), "code");
  EXPECT_EQ(get(cache, "a", compiler), "code");
  EXPECT_EQ(compiler.calls, 1);
  EXPECT_EQ(get(cache, "b", compiler), "code");
  EXPECT_EQ(compiler.calls, 2);
}

TEST_F(KernelCacheTest, AnotherCacheFindsWhatIsInTheDirectory) {
  Compiler compiler;
  EXPECT_EQ(get(*open(), "a", compiler), "code");
  EXPECT_EQ(get(*open(), "a", compiler), "code");
  EXPECT_EQ(compiler.calls, 1);
}

TEST_F(KernelCacheTest, DamagedFilesCountAsNone) {
  Compiler compiler;
  get(*open(), "a", compiler);
  std::string path = getPath("a");
  for (uint64_t size : {35, 3, 0}) {
    llvm::sys::fs::file_t file =
        llvm::cantFail(llvm::sys::fs::openNativeFileForReadWrite(
            path, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_None));
    ASSERT_FALSE(llvm::sys::fs::resize_file(file, size));
    llvm::sys::fs::closeFile(file);
    int calls = compiler.calls;
    EXPECT_EQ(get(*open(), "a", compiler), "code");
    EXPECT_EQ(compiler.calls, calls + 1);
  }
}

TEST_F(KernelCacheTest, FilesOfOtherKeysCountAsNone) {
  Compiler compiler;
  get(*open(), "a", compiler);
  ASSERT_FALSE(llvm::sys::fs::copy_file(getPath("a"), getPath("b")));
  EXPECT_EQ(get(*open(), "b", compiler), "code");
  EXPECT_EQ(compiler.calls, 2);
  EXPECT_EQ(get(*open(), "b", compiler), "code");
  EXPECT_EQ(compiler.calls, 2);
}

TEST_F(KernelCacheTest, SeveralMayWriteAtATime) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Compiler compiler;
        EXPECT_EQ(get(*open(), std::to_string(i), compiler), "code");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  // No temporary file is left.
  std::error_code error;
  int files = 0;
  for (llvm::sys::fs::directory_iterator it(directory, error), end; it != end;
       it.increment(error))
    ++files;
  EXPECT_EQ(files, 50);
}

/// What is in the way of an entry costs the entry, not the code: it is said
/// once, and then no more is written.
TEST_F(KernelCacheTest, WhatCannotBeWrittenIsAWarning) {
  ASSERT_FALSE(llvm::sys::fs::create_directory(getPath("a")));
  // To open it would be to wait for another process.
  ASSERT_EQ(mkfifo(getPath("b").c_str(), 0600), 0);
  for (llvm::StringRef key : {"a", "b"}) {
    std::unique_ptr<KernelCache> cache = open();
    EXPECT_EQ(cache->takeWarning(), "");
    Compiler compiler;
    EXPECT_EQ(get(*cache, key, compiler), "code");
    std::string warning = cache->takeWarning();
    EXPECT_NE(warning.find("'" + getPath(key) + "': is no regular file"),
              std::string::npos)
        << warning;
    EXPECT_EQ(get(*cache, key, compiler), "code");
    EXPECT_EQ(compiler.calls, 1);
    EXPECT_EQ(get(*cache, "c", compiler), "code");
    EXPECT_EQ(cache->takeWarning(), "");
    EXPECT_FALSE(llvm::sys::fs::exists(getPath("c")));
  }
}

static void writeOld(const std::string &path, int days) {
  int descriptor;
  ASSERT_FALSE(llvm::sys::fs::openFileForWrite(path, descriptor));
  auto then = std::chrono::system_clock::now() - std::chrono::hours(24 * days);
  EXPECT_FALSE(
      llvm::sys::fs::setLastAccessAndModificationTime(descriptor, then));
  close(descriptor);
}

/// A week is how long an entry waits for a reader. Other programs' files, those
/// of LLVM's own caches among them, are not the cache's to delete.
TEST_F(KernelCacheTest, PrunesItsOwnFilesOnly) {
  auto inDirectory = [&](llvm::StringRef name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  std::pair<std::string, bool> files[] = {
      {getPath("new"), true},
      {getPath("old"), false},
      // A process was killed while it wrote this one.
      {inDirectory(".remat-12.tmp"), false},
      {inDirectory("llvmcache-1234"), true},
      {inDirectory("notes"), true}};
  for (const auto &[path, stays] : files)
    writeOld(path, path == getPath("new") ? 6 : 8);
  open();
  for (const auto &[path, stays] : files)
    EXPECT_EQ(llvm::sys::fs::exists(path), stays) << path;
}

/// What is in the cache is run, so nobody else may put anything there.
TEST_F(KernelCacheTest, RefusesDirectoriesThatOthersCanWrite) {
  for (mode_t mode : {0777, 01777, 0775, 0702}) {
    ASSERT_EQ(chmod(directory.c_str(), mode), 0);
    auto cache = KernelCache::open(directory);
    ASSERT_FALSE(cache);
    std::string message = llvm::toString(cache.takeError());
    EXPECT_NE(message.find("others can write to this directory"),
              std::string::npos)
        << message;
  }
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  open();
  // Only root can give a directory away.
  if (chown(directory.c_str(), 4711, -1) == 0) {
    auto cache = KernelCache::open(directory);
    ASSERT_FALSE(cache);
    std::string message = llvm::toString(cache.takeError());
    EXPECT_NE(message.find("belongs to user 4711"), std::string::npos)
        << message;
  }
  // What the cache makes itself is good, whatever the mask.
  mode_t mask = umask(0);
  llvm::SmallString<128> inner(directory);
  llvm::sys::path::append(inner, "a", "b");
  EXPECT_TRUE(bool(KernelCache::open(inner)));
  umask(mask);
}

TEST_F(KernelCacheTest, FailuresAreReportedAndNotKept) {
  std::unique_ptr<KernelCache> cache = open();
  Compiler compiler;
  compiler.fails = true;
  EXPECT_EQ(getError(*cache, "a", compiler), "no code");
  compiler.fails = false;
  EXPECT_EQ(get(*cache, "a", compiler), "code");
  llvm::sys::fs::remove_directories(directory);
  EXPECT_EQ(get(*cache, "b", compiler), "code");
  EXPECT_NE(cache->takeWarning(), "");
}
