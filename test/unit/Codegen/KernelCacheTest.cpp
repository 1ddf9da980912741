//===- KernelCacheTest.cpp - compiled kernels, kept -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelCache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <thread>

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
    llvm::sys::path::append(path, "llvmcache-" + key);
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
    files += !llvm::StringRef(it->path()).ends_with("timestamp");
  EXPECT_EQ(files, 50);
}

TEST_F(KernelCacheTest, ErrorsNameTheFile) {
  ASSERT_FALSE(llvm::sys::fs::create_directory(getPath("a")));
  Compiler compiler;
  std::string error = getError(*open(), "a", compiler);
  EXPECT_NE(error.find(getPath("a")), std::string::npos) << error;
}

TEST_F(KernelCacheTest, FailuresAreReportedAndNotKept) {
  std::unique_ptr<KernelCache> cache = open();
  Compiler compiler;
  compiler.fails = true;
  EXPECT_EQ(getError(*cache, "a", compiler), "no code");
  compiler.fails = false;
  EXPECT_EQ(get(*cache, "a", compiler), "code");
  llvm::sys::fs::remove_directories(directory);
  EXPECT_NE(getError(*cache, "b", compiler), "");
}
