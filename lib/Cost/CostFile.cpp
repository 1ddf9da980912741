//===- CostFile.cpp - measured costs of kernels ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/CostFile.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Support/OutputFiles.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;

static constexpr StringLiteral schema = "remat.costs/2";

std::string remat::getKernelKey(mlir::FunctionOpInterface kernel) {
  mlir::OwningOpRef<mlir::FunctionOpInterface> copy(
      cast<mlir::FunctionOpInterface>(kernel->clone()));
  mlir::SymbolTable::setSymbolName(copy.get(), "kernel");
  (*copy)->removeAttr(RematDialect::implementationAttrName);
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

/// The cost of `implementation`, if the entry of a kernel has one.
static Error readCost(const json::Object &entry, Implementation implementation,
                      std::optional<int64_t> &cost) {
  StringRef name = stringifyImplementation(implementation);
  const json::Value *value = entry.get(name);
  if (!value)
    return Error::success();
  cost = value->getAsInteger();
  if (!cost || *cost < 0)
    return createStringError("has no cost in nanoseconds as '" + name + "'");
  return Error::success();
}

static Expected<KernelCosts> readKernel(const json::Value &value) {
  const json::Object *entry = value.getAsObject();
  if (!entry)
    return createStringError("has no costs");
  KernelCosts costs;
  if (Error error = readCost(*entry, Implementation::Library, costs.library))
    return std::move(error);
  if (Error error =
          readCost(*entry, Implementation::Generated, costs.generated))
    return std::move(error);
  if (!costs.library && !costs.generated)
    return createStringError(
        "has no costs as '" + stringifyImplementation(Implementation::Library) +
        "' or '" + stringifyImplementation(Implementation::Generated) + "'");
  return costs;
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
  if (!kernels || !threads || *threads < 0)
    return makeError(path, "has no 'kernels' or no number of 'threads'");
  CostFile file;
  file.threads = *threads;
  for (const auto &[key, cost] : *kernels) {
    Expected<KernelCosts> costs = readKernel(cost);
    if (!costs)
      return makeError(path, "kernel '" + StringRef(key) + "' " +
                                 toString(costs.takeError()));
    file.kernels[key.str()] = *costs;
  }
  return file;
}

Error CostFile::save(StringRef path) const {
  json::Object costs;
  for (const auto &[key, known] : kernels) {
    json::Object entry;
    if (known.library)
      entry[stringifyImplementation(Implementation::Library)] = *known.library;
    if (known.generated)
      entry[stringifyImplementation(Implementation::Generated)] =
          *known.generated;
    costs[key] = std::move(entry);
  }
  json::Value value = json::Object{
      {"schema", schema}, {"threads", threads}, {"kernels", std::move(costs)}};
  return writeOutputFile(
      path, [&](raw_ostream &os) { os << formatv("{0:2}", value) << '\n'; });
}
