//===- CostFile.cpp - measured costs of kernels ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/CostFile.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Support/OutputFiles.h"
#include "remat/Utils/JsonFiles.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;

static constexpr StringLiteral schema = "remat.costs/3";

std::string remat::getKernelKey(mlir::FunctionOpInterface kernel) {
  mlir::OwningOpRef<mlir::FunctionOpInterface> copy(
      cast<mlir::FunctionOpInterface>(kernel->clone()));
  mlir::SymbolTable::setSymbolName(copy.get(), "kernel");
  (*copy)->removeAttr(RematDialect::implementationAttrName);
  (*copy)->removeAttr(RematDialect::plansAttrName);
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

static Error readLink(const json::Value &value,
                      std::optional<LinkCosts> &link) {
  const json::Object *object = value.getAsObject();
  LinkCosts costs;
  std::pair<StringLiteral, int64_t *> members[] = {
      {"to_host", &costs.toHost}, {"to_device", &costs.toDevice}};
  for (auto [name, member] : members) {
    std::optional<int64_t> speed;
    if (object)
      speed = object->getInteger(name);
    if (!speed || *speed <= 0)
      return createStringError("has a 'link' without bytes per second as '" +
                               name + "'");
    *member = *speed;
  }
  link = costs;
  return Error::success();
}

static Error readAlgorithms(const json::Value &value, std::string &algorithms) {
  std::optional<StringRef> text = value.getAsString();
  std::vector<char> bytes;
  if (text)
    if (Error error = decodeBase64(*text, bytes)) {
      consumeError(std::move(error));
      text = std::nullopt;
    }
  if (!text)
    return createStringError("has 'algorithms' that are not in base64");
  algorithms.assign(bytes.begin(), bytes.end());
  return Error::success();
}

/// Fails if the file has another schema, with what to do about an older one.
static Error checkSchema(const json::Object *object) {
  std::optional<StringRef> given;
  if (object)
    given = object->getString("schema");
  if (given == schema)
    return Error::success();
  if (given == "remat.costs/1" || given == "remat.costs/2")
    return createStringError(
        "has the schema '" + *given +
        "', which does not say what the costs were measured on, expected '" +
        schema +
        "'; measure them again with 'remat-run --profile-costs' and a new "
        "file");
  return createStringError("is no cost file, expected schema '" + schema + "'");
}

static Expected<MachineFacts> readMachine(const json::Object &object) {
  const json::Object *target = object.getObject("target");
  if (!target)
    return createStringError("has no 'target' that the costs were measured on");
  MachineFacts facts;
  for (const auto &[name, value] : *target) {
    std::optional<StringRef> text = value.getAsString();
    if (!text)
      return createStringError("has a 'target' whose '" + StringRef(name) +
                               "' is no string");
    facts[name.str()] = text->str();
  }
  if (!facts.count("name"))
    return createStringError("has a 'target' without a 'name'");
  return facts;
}

Expected<CostFile> CostFile::load(StringRef path) {
  Expected<json::Value> value = readJsonFile(path);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (Error error = checkSchema(object))
    return makeError(path, toString(std::move(error)));
  CostFile file;
  if (Error error = readMachine(*object).moveInto(file.target))
    return makeError(path, toString(std::move(error)));
  const json::Object *kernels = object->getObject("kernels");
  if (!kernels)
    return makeError(path, "has no 'kernels'");
  if (const json::Value *link = object->get("link"))
    if (Error error = readLink(*link, file.link))
      return makeError(path, toString(std::move(error)));
  if (const json::Value *algorithms = object->get("algorithms"))
    if (Error error = readAlgorithms(*algorithms, file.algorithms))
      return makeError(path, toString(std::move(error)));
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
  json::Object machine;
  for (const auto &[name, text] : target)
    machine[name] = text;
  json::Object object{{"schema", schema},
                      {"target", std::move(machine)},
                      {"kernels", std::move(costs)}};
  if (link)
    object["link"] =
        json::Object{{"to_host", link->toHost}, {"to_device", link->toDevice}};
  if (!algorithms.empty())
    object["algorithms"] = encodeBase64(algorithms);
  json::Value value = std::move(object);
  return writeOutputFile(
      path, [&](raw_ostream &os) { os << formatv("{0:2}", value) << '\n'; });
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// How a fact of the file differs from what is expected; of a list, the names
/// that do.
static std::string describeDifference(StringRef name, StringRef actual,
                                      StringRef expected) {
  if (!actual.contains(',') || !expected.contains(','))
    return ("'" + name + "' is '" + actual + "', expected '" + expected + "'")
        .str();
  SmallVector<StringRef> given, wanted, missing, extra;
  actual.split(given, ',');
  expected.split(wanted, ',');
  copy_if(wanted, std::back_inserter(missing),
          [&](StringRef word) { return !is_contained(given, word); });
  copy_if(given, std::back_inserter(extra),
          [&](StringRef word) { return !is_contained(wanted, word); });
  std::string text = ("'" + name + "'").str();
  if (!missing.empty())
    text += " lacks the expected " + join(missing, ", ");
  if (!extra.empty())
    text += (missing.empty() ? " has also " : " and has ") + join(extra, ", ");
  return text;
}

int CostFile::getThreads() const {
  auto known = target.find("threads");
  int threads = 0;
  if (known != target.end() && to_integer(known->second, threads, 10) &&
      threads > 0)
    return threads;
  return 0;
}

Error CostFile::checkMachine(StringRef path,
                             const MachineFacts &machine) const {
  SmallVector<std::string> differences;
  // The facts of another target have other names.
  bool isOther = machine.at("name") != target.at("name");
  for (const auto &[name, expected] : machine) {
    if (isOther && name != "name")
      continue;
    auto known = target.find(name);
    if (known == target.end())
      differences.push_back("'" + name + "' is not known, expected '" +
                            expected + "'");
    else if (known->second != expected)
      differences.push_back(describeDifference(name, known->second, expected));
  }
  if (differences.empty())
    return Error::success();
  return makeError(
      path, "has the costs of another target: " + join(differences, "; ") +
                "; compile for that target, or measure this one "
                "with 'remat-run --profile-costs' and a new file");
}

Expected<MachineFacts> remat::describeMachine(mlir::ModuleOp module,
                                              const EmitOptions &options,
                                              int threads) {
  Expected<const Target *> target =
      lookupTarget(getTargetFacts(module).getName());
  if (!target)
    return target.takeError();
  Expected<MachineFacts> facts = (*target)->describeMachine(options, threads);
  if (facts)
    (*facts)["name"] = (*target)->getName().str();
  return facts;
}

Expected<CostFile> remat::loadCosts(StringRef path, mlir::ModuleOp module,
                                    const EmitOptions &options, int threads) {
  if (path.empty())
    return CostFile();
  Expected<CostFile> file = CostFile::load(path);
  if (!file)
    return file.takeError();
  Expected<MachineFacts> machine = describeMachine(module, options, threads);
  if (!machine)
    return machine.takeError();
  if (Error error = file->checkMachine(path, *machine))
    return std::move(error);
  return file;
}
