//===- CostFile.cpp - measured costs of kernels ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/CostFile.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;

static constexpr StringLiteral schema = "remat.costs/1";

std::string remat::getKernelKey(mlir::FunctionOpInterface kernel) {
  mlir::OwningOpRef<mlir::FunctionOpInterface> copy(
      cast<mlir::FunctionOpInterface>(kernel->clone()));
  mlir::SymbolTable::setSymbolName(copy.get(), "kernel");
  std::string text;
  raw_string_ostream stream(text);
  (*copy)->print(stream,
                 mlir::OpPrintingFlags().printGenericOpForm().useLocalScope());
  MD5 hash;
  hash.update(text);
  MD5::MD5Result digest;
  hash.final(digest);
  return digest.digest().str().str();
}

static Error makeError(StringRef path, const Twine &message) {
  return createStringError(path + ": " + message);
}

Expected<CostFile> CostFile::load(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path, buffer.getError().message());
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return makeError(path, toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("schema") != schema)
    return makeError(path, "is no cost file, expected schema '" + schema + "'");
  const json::Object *kernels = object->getObject("kernels");
  std::optional<int64_t> threads = object->getInteger("threads");
  if (!kernels || !threads)
    return makeError(path, "has no 'kernels' or no 'threads'");
  CostFile file;
  file.threads = *threads;
  for (const auto &[key, cost] : *kernels) {
    std::optional<int64_t> nanoseconds = cost.getAsInteger();
    if (!nanoseconds || *nanoseconds < 0)
      return makeError(path, "kernel '" + StringRef(key) +
                                 "' has no cost in nanoseconds");
    file.kernels[key.str()] = *nanoseconds;
  }
  return file;
}

Error CostFile::save(StringRef path) const {
  json::Object costs;
  for (const auto &[key, nanoseconds] : kernels)
    costs[key] = nanoseconds;
  json::Value value = json::Object{
      {"schema", schema}, {"threads", threads}, {"kernels", std::move(costs)}};
  return writeToOutput(path, [&](raw_ostream &os) -> Error {
    os << formatv("{0:2}", value) << '\n';
    return Error::success();
  });
}
